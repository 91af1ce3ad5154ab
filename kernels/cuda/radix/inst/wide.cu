/*
 * wide.cu: passes over digits of 10 bits, by ballots and by atomics.
 */
#include "../dispatch.cuh"

gs_status
gs_radix_pass_wide(gs_cuda_engine *e, bool atomics, gs_radix_io in, gs_radix_io out, gs_radix_args &a)
{
	return atomics ? radix_dispatch<10, true>(e, in, out, a) : radix_dispatch<10, false>(e, in, out, a);
}
