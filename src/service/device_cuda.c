/*
 * device_cuda.c: calls of the CUDA runtime: devices, their memory, and pinned host memory.
 */
#include "service.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

/* Returns the number of devices, or 0 with the reason.  They are numbered as nvidia-smi does, unless set otherwise. */
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

/* Makes the device's pool keep memory that jobs free: allocating it again costs more than a small job. */
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

/* Returns the unused memory of the device's pool to the system. */
void
gsd_cuda_trim(uint32_t number)
{
	cudaMemPool_t pool;

	if (cudaDeviceGetDefaultMemPool(&pool, (int) number) != cudaSuccess || cudaMemPoolTrimTo(pool, 0) != cudaSuccess)
		(void) cudaGetLastError();
}

/* Registers memory for faster copies, if possible.  Sets the device: a thread without one would initialize GPU 0. */
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
