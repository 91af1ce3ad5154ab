/*
 * reduce8.cu: reduce-by-key with keys of 8 bytes.
 */
#include "../reduce_run.cuh"

/* Keys of 8 bytes.  Each width has its own file, for parallel compilation. */
gs_status
gs_cuda_reduce8(gs_cuda_engine *e, const gs_reduce_request *r, gs_reduce_args &a, void *temp)
{
	return run_reduce<8>(e, r, a, temp);
}
