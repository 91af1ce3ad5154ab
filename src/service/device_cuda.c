/*
 * device_cuda.c: what only the CUDA runtime knows: devices, their memory, memory of the host that they can read.
 */
#include "service.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

/*
 * The number of devices; 0 with the reason if there is no driver, one too old, or no GPU.  They are counted as
 * nvidia-smi does, unless the environment says otherwise: by themselves the driver's numbers begin with the fastest.
 */
int
gsd_cuda_count(const char **why)
{
	int count = 0;
	cudaError_t error;

	(void) setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
	error = cudaGetDeviceCount(&count);

	*why = error == cudaSuccess ? "no GPU" : cudaGetErrorString(error);
	return error == cudaSuccess ? count : 0;
}

bool
gsd_cuda_memory(uint32_t number, uint64_t *total, uint64_t *available)
{
	size_t free_bytes = 0, total_bytes = 0;

	if (cudaSetDevice((int) number) != cudaSuccess || cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess)
	{
		(void) cudaGetLastError();
		return false;
	}
	*total = total_bytes;
	*available = free_bytes;
	return true;
}

/*
 * The device's pool keeps what jobs give back, until it is trimmed: taking memory anew costs more than a small job.
 */
gs_status
gsd_cuda_open(uint32_t number, const gs_host *host, gs_engine **engine)
{
	uint64_t all = UINT64_MAX;
	cudaMemPool_t pool;

	if (cudaDeviceGetDefaultMemPool(&pool, (int) number) != cudaSuccess ||
		cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all) != cudaSuccess)
		(void) cudaGetLastError();
	return gs_cuda_open((int) number, host, engine);
}

const char *
gsd_cuda_why(void)
{
	return gs_cuda_open_failure();
}

/*
 * Gives the system back what the device's pool holds without use.
 */
void
gsd_cuda_trim(uint32_t number)
{
	cudaMemPool_t pool;

	if (cudaDeviceGetDefaultMemPool(&pool, (int) number) != cudaSuccess || cudaMemPoolTrimTo(pool, 0) != cudaSuccess)
		(void) cudaGetLastError();
}

/*
 * Makes memory one that devices copy from at full speed.  Where that is refused copies still work, only slower.  The
 * device is named, because a thread that has named none would begin to use the first GPU, be it one of those chosen or
 * not.
 */
bool
gsd_pin(void *block, size_t bytes)
{
	if (!options.gpu)
		return true;
	if (cudaSetDevice((int) gsd_device_at(0)->number) == cudaSuccess &&
		cudaHostRegister(block, bytes, cudaHostRegisterPortable) == cudaSuccess)
		return true;
	(void) cudaGetLastError();
	return false;
}

void
gsd_unpin(void *block)
{
	if (options.gpu && cudaHostUnregister(block) != cudaSuccess)
		(void) cudaGetLastError();
}
