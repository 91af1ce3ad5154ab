/*
 * merge8.cu: merge sort of keys of 8 bytes.  The kernels are in merge.cuh.
 */
#include "../merge.cuh"

/* Keys of 8 bytes.  Each width has its own file, for parallel compilation. */
gs_merge_kernels
gs_merge_kernels8(bool places)
{
	return gs_merge_kernels_of<8>(places);
}
