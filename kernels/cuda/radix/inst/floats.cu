/*
 * floats.cu: passes over float keys with or without values.  Digits are taken from their order.
 */
#include "../array_pass.cuh"

/* Float keys, which keep their bits. */
gs_status
gs_radix_pass_floats(gs_cuda_engine *e, size_t key_bytes, size_t value_width, gs_radix_args &a)
{
	return launch_keys<true, false>(e, key_bytes, value_width, a);
}

/* Float keys of 4 bytes with values of 4 bytes. */
gs_status
gs_radix_pass_float_pairs(gs_cuda_engine *e, bool first, bool last, gs_radix_args &a)
{
	return launch_pairs<true, false>(e, first, last, a);
}
