/*
 * floats.cu: passes over float keys with or without values.  Digits are taken from their order.
 */
#include "../array_pass.cuh"

/* Float keys, which keep their bits. */
gs_status
gs_radix_pass_floats(gs_cuda_engine *e, size_t key_bytes, size_t value_width, gs_radix_args &a)
{
	if (key_bytes == 4)
		return value_width == 8 ? launch_array<GS_KEYS4, GS_KEYS4, 8, 4>(e, a)
								: launch_array<GS_KEYS4, GS_KEYS4, 0, 4>(e, a);
	return value_width == 4	  ? launch_array<GS_KEYS8, GS_KEYS8, 4, 8>(e, a)
		   : value_width == 8 ? launch_array<GS_KEYS8, GS_KEYS8, 8, 8>(e, a)
							  : launch_array<GS_KEYS8, GS_KEYS8, 0, 8>(e, a);
}

/* Float keys of 4 bytes with values of 4 bytes. */
gs_status
gs_radix_pass_float_pairs(gs_cuda_engine *e, bool first, bool last, gs_radix_args &a)
{
	if (first)
		return last ? launch_array<GS_PAIRS4, GS_PAIRS4, 0, 4>(e, a)
					: launch_array<GS_PAIRS4, GS_KEYS8, 0, 4>(e, a);
	return last ? launch_array<GS_KEYS8, GS_PAIRS4, 0, 4>(e, a)
				: launch_array<GS_KEYS8, GS_KEYS8, 0, 4>(e, a);
}
