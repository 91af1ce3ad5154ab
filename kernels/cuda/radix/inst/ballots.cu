/*
 * ballots.cu: passes that rank by ballots: documented behaviour only, the default.
 */
#include "../dispatch.cuh"

gs_status
gs_radix_pass_ballots(gs_cuda_engine *e, int bits, gs_radix_io in, gs_radix_io out, gs_radix_args &a)
{
	if (bits > GS_PLACE_BITS)
		return gs_radix_pass_wide(e, false, in, out, a);
	return bits == 8 ? radix_dispatch<8, false>(e, in, out, a) : radix_dispatch<9, false>(e, in, out, a);
}
