/*
 * merge24.cu: merge sort of keys of 24 bytes.  The kernels are in merge.cuh.
 */
#include "../merge.cuh"

/* Keys of 24 bytes.  Each width has its own file, for parallel compilation. */
gs_merge_kernels
gs_merge_kernels24(bool places)
{
	return gs_merge_kernels_of<24>(places);
}
