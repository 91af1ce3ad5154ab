/*
 * radix_dispatch.cuh: from arguments to one of the pass kernels; included by the .cu files that compile them.
 */
#ifndef GS_RADIX_DISPATCH_CUH
#define GS_RADIX_DISPATCH_CUH

#include "sort.cuh"

template <int BITS, bool ATOMICS>
static gs_status
radix_dispatch(gs_cuda_engine *e, gs_radix_io in, gs_radix_io out, gs_radix_args &a)
{
	if (in == GS_WORDS)
		return out == GS_ROWS ? gs_radix_launch<BITS, GS_WORDS, GS_ROWS, ATOMICS>(e, a)
							  : gs_radix_launch<BITS, GS_WORDS, GS_WORDS, ATOMICS>(e, a);
	if (out == GS_ROWS)
		return in == GS_COLUMN8 ? gs_radix_launch<BITS, GS_COLUMN8, GS_ROWS, ATOMICS>(e, a)
								: gs_radix_launch<BITS, GS_COLUMN4, GS_ROWS, ATOMICS>(e, a);
	return in == GS_COLUMN8 ? gs_radix_launch<BITS, GS_COLUMN8, GS_WORDS, ATOMICS>(e, a)
							: gs_radix_launch<BITS, GS_COLUMN4, GS_WORDS, ATOMICS>(e, a);
}

#endif
