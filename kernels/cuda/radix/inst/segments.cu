/*
 * segments.cu: passes over separately sorted segments of integer keys with or without values.
 */
#include "../array_pass.cuh"

/* gs_radix_pass_keys over the tiles of all segments. */
gs_status
gs_radix_pass_segments(gs_cuda_engine *e, size_t key_bytes, size_t value_width, bool floats, gs_radix_args &a)
{
	if (floats)
		return gs_radix_pass_segments_floats(e, key_bytes, value_width, a);
	if (key_bytes == 4)
		return value_width == 8 ? launch_array<GS_KEYS4, GS_KEYS4, 8, 0, true>(e, a)
								: launch_array<GS_KEYS4, GS_KEYS4, 0, 0, true>(e, a);
	return value_width == 4	  ? launch_array<GS_KEYS8, GS_KEYS8, 4, 0, true>(e, a)
		   : value_width == 8 ? launch_array<GS_KEYS8, GS_KEYS8, 8, 0, true>(e, a)
							  : launch_array<GS_KEYS8, GS_KEYS8, 0, 0, true>(e, a);
}

/* gs_radix_pass_pairs over the tiles of all segments. */
gs_status
gs_radix_pass_segments_pairs(gs_cuda_engine *e, bool floats, bool first, bool last, gs_radix_args &a)
{
	if (floats)
		return gs_radix_pass_segments_float_pairs(e, first, last, a);
	if (first)
		return last ? launch_array<GS_PAIRS4, GS_PAIRS4, 0, 0, true>(e, a)
					: launch_array<GS_PAIRS4, GS_KEYS8, 0, 0, true>(e, a);
	return last ? launch_array<GS_KEYS8, GS_PAIRS4, 0, 0, true>(e, a)
				: launch_array<GS_KEYS8, GS_KEYS8, 0, 0, true>(e, a);
}
