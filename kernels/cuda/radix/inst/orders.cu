/*
 * orders.cu: passes over row orders: digits of 8 and of 9 bits.
 */
#include "../order_pass.cuh"

/* Selects the pass by the digit's width.  There are bins for 8, 9 and 10 bits. */
gs_status
gs_radix_pass_order(gs_cuda_engine *e, int bits, gs_radix_io in, gs_radix_io out, gs_radix_args &a)
{
	if (bits > GS_PLACE_BITS)
		return gs_radix_pass_order_wide(e, in, out, a);
	return bits == 8 ? launch_order_of<8>(e, in, out, a) : launch_order_of<9>(e, in, out, a);
}
