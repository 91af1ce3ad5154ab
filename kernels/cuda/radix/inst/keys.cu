/*
 * keys.cu: passes over integer keys with or without values.
 */
#include "../array_pass.cuh"

/* Keys, of floats by their own file. */
gs_status
gs_radix_pass_keys(gs_cuda_engine *e, size_t key_bytes, size_t value_width, bool floats, gs_radix_args &a)
{
	return floats ? gs_radix_pass_floats(e, key_bytes, value_width, a)
				  : launch_keys<false, false>(e, key_bytes, value_width, a);
}

/* Pairs, of floats by their own file. */
gs_status
gs_radix_pass_pairs(gs_cuda_engine *e, bool floats, bool first, bool last, gs_radix_args &a)
{
	return floats ? gs_radix_pass_float_pairs(e, first, last, a) : launch_pairs<false, false>(e, first, last, a);
}
