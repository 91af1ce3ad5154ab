/*
 * shared_struct.c: structures in the server's shared memory.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "shared_struct.h"

static SharedStruct *preloaded;
static shmem_request_hook_type prev_shmem_request;
static shmem_startup_hook_type prev_shmem_startup;

/* Size of the whole structure; MaxBackends is set by the time of shmem_request. */
static Size
bytes_of(const SharedStruct *one)
{
	return one->by_backend ? mul_size(one->bytes, MaxBackends) : one->bytes;
}

/* Attaches to the structure, or creates it. */
static void
attach(SharedStruct *one)
{
	bool		found;
	void	   *place;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	PG_TRY();
	{
		place = ShmemInitStruct(one->name, bytes_of(one), &found);
	}
	PG_CATCH();
	{
		LWLockReleaseAll();		/* 19 acquires another lock here */
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (!found)
	{
		memset(place, 0, bytes_of(one));
		if (one->init)
			one->init(place);
	}
	LWLockRelease(AddinShmemInitLock);
	one->place = place;
}

/* Requests the memory of all structures. */
static void
shmem_request(void)
{
	if (prev_shmem_request)
		prev_shmem_request();
	for (SharedStruct *one = preloaded; one != NULL; one = one->next)
		RequestAddinShmemSpace(bytes_of(one));
}

/* Creates all structures: at the start, and again after a backend has crashed. */
static void
shmem_startup(void)
{
	if (prev_shmem_startup)
		prev_shmem_startup();
	for (SharedStruct *one = preloaded; one != NULL; one = one->next)
		attach(one);
}

void
shared_struct_init(SharedStruct *one)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	if (preloaded == NULL)
	{
		prev_shmem_request = shmem_request_hook;
		shmem_request_hook = shmem_request;
		prev_shmem_startup = shmem_startup_hook;
		shmem_startup_hook = shmem_startup;
	}
	one->next = preloaded;
	preloaded = one;
}

bool
shared_struct_attach_late(SharedStruct *one)
{
	MemoryContext old = CurrentMemoryContext;

	PG_TRY();
	{
		attach(one);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(old);
		FlushErrorState();
	}
	PG_END_TRY();
	return one->place != NULL;
}
