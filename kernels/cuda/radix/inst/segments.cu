/*
 * segments.cu: passes over separately sorted segments of integer keys with or without values.
 */
#include "../array_pass.cuh"

/* gs_radix_pass_keys over the tiles of all segments. */
gs_status
gs_radix_pass_segments(gs_cuda_engine *e, size_t key_bytes, size_t value_width, bool floats, gs_radix_args &a)
{
	return floats ? gs_radix_pass_segments_floats(e, key_bytes, value_width, a)
				  : launch_keys<false, true>(e, key_bytes, value_width, a);
}

/* gs_radix_pass_pairs over the tiles of all segments. */
gs_status
gs_radix_pass_segments_pairs(gs_cuda_engine *e, bool floats, bool first, bool last, gs_radix_args &a)
{
	return floats ? gs_radix_pass_segments_float_pairs(e, first, last, a)
				  : launch_pairs<false, true>(e, first, last, a);
}
