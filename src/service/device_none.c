/*
 * device_none.c: replaces device_cuda.c in a build without CUDA.
 */
#include "service.h"

/* Returns no devices, and why. */
int
gsd_cuda_count(const char **why)
{
	*why = "this gpusortd was built without CUDA";
	return 0;
}

bool
gsd_cuda_memory(uint32_t number, uint64_t *total, uint64_t *available)
{
	(void) number;
	*total = *available = 0;
	return false;
}

gs_status
gsd_cuda_open(uint32_t number, const gs_host *host, gs_engine **engine)
{
	(void) number;
	(void) host;
	*engine = NULL;
	return GS_DEVICE;
}

const char *
gsd_cuda_why(void)
{
	return "this gpusortd was built without CUDA";
}

void
gsd_cuda_trim(uint32_t number)
{
	(void) number;
}

/* Does nothing: the CPU reads any memory. */
bool
gsd_pin(void *block, size_t bytes)
{
	(void) block;
	(void) bytes;
	return true;
}

void
gsd_unpin(void *block)
{
	(void) block;
}
