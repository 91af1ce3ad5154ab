/*
 * reduce16.cu: reduce-by-key with keys of 16 bytes.
 */
#include "../reduce_run.cuh"

/* Keys of 16 bytes.  Each width has its own file, for parallel compilation. */
gs_status
gs_cuda_reduce16(gs_cuda_engine *e, const gs_reduce_request *r, gs_reduce_args &a, void *temp)
{
	return run_reduce<16>(e, r, a, temp);
}
