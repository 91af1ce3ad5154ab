/*
 * orders_wide.cu: passes over row orders: digits of 10 bits.
 */
#include "../order_pass.cuh"

/* Digits of 10 bits, in a separate file for parallel compilation. */
gs_status
gs_radix_pass_order_wide(gs_cuda_engine *e, gs_radix_io in, gs_radix_io out, gs_radix_args &a)
{
	return launch_order_of<10>(e, in, out, a);
}
