/*
 * merge4.cu: merge sort of keys of 4 bytes.  The kernels are in merge.cuh.
 */
#include "../merge.cuh"

/* Keys of 4 bytes.  Each width has its own file, for parallel compilation. */
gs_merge_kernels
gs_merge_kernels4(bool places)
{
	return gs_merge_kernels_of<4>(places);
}
