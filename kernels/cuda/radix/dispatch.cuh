/*
 * dispatch.cuh: from arguments to one of the pass kernels; included by the .cu files that compile them.
 */
#ifndef GS_CUDA_RADIX_DISPATCH_CUH
#define GS_CUDA_RADIX_DISPATCH_CUH

#include "launch.cuh"

/*
 * The one pass that a row order of few bits takes is ranked by ballots: nothing is gained by more kernels.
 */
template <int BITS, bool ATOMICS>
static gs_status
radix_dispatch(gs_cuda_engine *e, gs_radix_io in, gs_radix_io out, gs_radix_args &a)
{
	if (in == GS_WORDS)
		return out == GS_ROWS ? gs_radix_launch<BITS, GS_WORDS, GS_ROWS, ATOMICS>(e, a)
							  : gs_radix_launch<BITS, GS_WORDS, GS_WORDS, ATOMICS>(e, a);
	if (out == GS_ROWS)
	{
		if constexpr (ATOMICS)
			return gs_radix_pass_ballots(e, BITS, in, out, a);
		else
			return in == GS_COLUMN8 ? gs_radix_launch<BITS, GS_COLUMN8, GS_ROWS, false>(e, a)
									: gs_radix_launch<BITS, GS_COLUMN4, GS_ROWS, false>(e, a);
	}
	return in == GS_COLUMN8 ? gs_radix_launch<BITS, GS_COLUMN8, GS_WORDS, ATOMICS>(e, a)
							: gs_radix_launch<BITS, GS_COLUMN4, GS_WORDS, ATOMICS>(e, a);
}

#endif
