/*
 * merge16.cu: merge sort of keys of 16 bytes.  The kernels are in merge.cuh.
 */
#include "../merge.cuh"

/* Keys of 16 bytes.  Each width has its own file, for parallel compilation. */
gs_merge_kernels
gs_merge_kernels16(bool places)
{
	return gs_merge_kernels_of<16>(places);
}
