/*
 * merge32.cu: merge sort of keys of 32 bytes.  The kernels are in merge.cuh.
 */
#include "../merge.cuh"

/* Keys of 32 bytes.  Each width has its own file, for parallel compilation. */
gs_merge_kernels
gs_merge_kernels32(bool places)
{
	return gs_merge_kernels_of<32>(places);
}
