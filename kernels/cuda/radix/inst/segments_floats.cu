/*
 * segments_floats.cu: passes over separately sorted segments of float keys.  Digits are taken from their order.
 */
#include "../array_pass.cuh"

/* gs_radix_pass_floats over the tiles of all segments. */
gs_status
gs_radix_pass_segments_floats(gs_cuda_engine *e, size_t key_bytes, size_t value_width, gs_radix_args &a)
{
	return launch_keys<true, true>(e, key_bytes, value_width, a);
}

/* gs_radix_pass_float_pairs over the tiles of all segments. */
gs_status
gs_radix_pass_segments_float_pairs(gs_cuda_engine *e, bool first, bool last, gs_radix_args &a)
{
	return launch_pairs<true, true>(e, first, last, a);
}
