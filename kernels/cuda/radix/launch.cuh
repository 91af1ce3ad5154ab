/*
 * launch.cuh: one digit pass over any number of tiles; for the files that say which passes there are (inst/).
 */
#ifndef GS_CUDA_RADIX_LAUNCH_CUH
#define GS_CUDA_RADIX_LAUNCH_CUH

#include "array_pass.cuh"
#include "order_pass.cuh"
#include "radix.cuh"

/* A pass over keys, or over segments of them. */
template <gs_radix_io IN, gs_radix_io OUT, int VALUE = 0, int FLOATS = 0, bool SEGMENTS = false>
static gs_status
launch_array(gs_cuda_engine *e, gs_radix_args &a)
{
	return gs_radix_launch(e, gs_radix_shape_of(*e->tuning, GS_KEY_BITS, IN, VALUE),
						   array_pass<IN, OUT, VALUE, FLOATS, SEGMENTS>, a);
}

template <int BITS, gs_radix_io IN, gs_radix_io OUT>
static gs_status
launch_order(gs_cuda_engine *e, gs_radix_args &a)
{
	return gs_radix_launch(e, gs_radix_shape_of(*e->tuning, BITS, IN, 0), order_pass<BITS, IN, OUT>, a);
}

/* A pass over a row order, by digits of so many bits. */
template <int BITS>
static gs_status
launch_order_of(gs_cuda_engine *e, gs_radix_io in, gs_radix_io out, gs_radix_args &a)
{
	if (in == GS_WORDS)
		return out == GS_ROWS ? launch_order<BITS, GS_WORDS, GS_ROWS>(e, a)
							  : launch_order<BITS, GS_WORDS, GS_WORDS>(e, a);
	if (in == GS_COLUMN8)
		return out == GS_ROWS ? launch_order<BITS, GS_COLUMN8, GS_ROWS>(e, a)
							  : launch_order<BITS, GS_COLUMN8, GS_WORDS>(e, a);
	return out == GS_ROWS ? launch_order<BITS, GS_COLUMN4, GS_ROWS>(e, a)
						  : launch_order<BITS, GS_COLUMN4, GS_WORDS>(e, a);
}

#endif
