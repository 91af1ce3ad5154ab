/*
 * keys.cu: passes over keys and their values: integers.
 */
#include "../launch.cuh"

gs_status
gs_radix_pass_keys(gs_cuda_engine *e, size_t key_bytes, size_t value_width, bool floats, bool atomics, gs_radix_args &a)
{
	if (floats)
		return gs_radix_pass_floats(e, key_bytes, value_width, a);
	if (key_bytes == 4)
		return value_width == 8 ? gs_radix_launch<8, GS_KEYS4, GS_KEYS4, false, 8>(e, a)
			   : atomics		? gs_radix_launch<8, GS_KEYS4, GS_KEYS4, true>(e, a)
								: gs_radix_launch<8, GS_KEYS4, GS_KEYS4, false>(e, a);
	return value_width == 4	  ? gs_radix_launch<8, GS_KEYS8, GS_KEYS8, false, 4>(e, a)
		   : value_width == 8 ? gs_radix_launch<8, GS_KEYS8, GS_KEYS8, false, 8>(e, a)
		   : atomics		  ? gs_radix_launch<8, GS_KEYS8, GS_KEYS8, true>(e, a)
							  : gs_radix_launch<8, GS_KEYS8, GS_KEYS8, false>(e, a);
}

gs_status
gs_radix_pass_pairs(gs_cuda_engine *e, bool floats, bool first, bool last, gs_radix_args &a)
{
	if (floats)
		return gs_radix_pass_float_pairs(e, first, last, a);
	if (first)
		return last ? gs_radix_launch<8, GS_PAIRS4, GS_PAIRS4, false>(e, a)
					: gs_radix_launch<8, GS_PAIRS4, GS_KEYS8, false>(e, a);
	return last ? gs_radix_launch<8, GS_KEYS8, GS_PAIRS4, false>(e, a)
				: gs_radix_launch<8, GS_KEYS8, GS_KEYS8, false>(e, a);
}
