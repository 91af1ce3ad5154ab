/*
 * hog.c: a function for tests that takes all shared memory that a server keeps spare, and returns how much that was.
 */
#include "postgres.h"

#include "fmgr.h"
#include "storage/shmem.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(hog_shared_memory);

Datum
hog_shared_memory(PG_FUNCTION_ARGS)
{
	int64		taken = 0;

	for (Size bytes = 1024 * 1024; bytes >= 64; bytes /= 2)
		while (ShmemAllocNoError(bytes) != NULL)
			taken += (int64) bytes;
	PG_RETURN_INT64(taken);
}
