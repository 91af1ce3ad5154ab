/*
 * keys.cu: passes over integer keys with or without values.
 */
#include "../array_pass.cuh"

/* Keys alone, or with values of 4 or 8 bytes.  4-byte keys with 4-byte values are pairs. */
gs_status
gs_radix_pass_keys(gs_cuda_engine *e, size_t key_bytes, size_t value_width, bool floats, gs_radix_args &a)
{
	if (floats)
		return gs_radix_pass_floats(e, key_bytes, value_width, a);
	if (key_bytes == 4)
		return value_width == 8 ? launch_array<GS_KEYS4, GS_KEYS4, 8>(e, a)
								: launch_array<GS_KEYS4, GS_KEYS4>(e, a);
	return value_width == 4	  ? launch_array<GS_KEYS8, GS_KEYS8, 4>(e, a)
		   : value_width == 8 ? launch_array<GS_KEYS8, GS_KEYS8, 8>(e, a)
							  : launch_array<GS_KEYS8, GS_KEYS8>(e, a);
}

/* Pairs: two arrays in the first pass, words in between, two arrays in the last. */
gs_status
gs_radix_pass_pairs(gs_cuda_engine *e, bool floats, bool first, bool last, gs_radix_args &a)
{
	if (floats)
		return gs_radix_pass_float_pairs(e, first, last, a);
	if (first)
		return last ? launch_array<GS_PAIRS4, GS_PAIRS4>(e, a)
					: launch_array<GS_PAIRS4, GS_KEYS8>(e, a);
	return last ? launch_array<GS_KEYS8, GS_PAIRS4>(e, a)
				: launch_array<GS_KEYS8, GS_KEYS8>(e, a);
}
