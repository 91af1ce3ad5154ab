/*
 * columns_memory.c: where columns lie, within the limits of gsd_settings: host memory, and each device.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "columns.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Blocks from this size on are mapped, so that they leave the process when they are freed. */
#define MAPPED_BYTES ((uint64_t) 128 << 10)

/* The quota of directories, masks and lists: a fraction of the limit of columns, and its least bytes. */
#define WORK_FRACTION 8
#define LEAST_WORK ((uint64_t) 16 << 20)

/* Jobs that a device does at once: one prepares while another's kernels run, and few threads wait for it busily. */
#define DEVICE_TURNS 4

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t host_limit, device_limit; /* 0: not known, or the usual one; protected by the mutex */
static uint64_t work_taken; /* of the quota of directories, masks and lists */
static uint64_t scratch_taken; /* by questions with groups */
static place host = {.mutex = PTHREAD_MUTEX_INITIALIZER, .turns = {.left = 1}};
static place host_scratch = {.mutex = PTHREAD_MUTEX_INITIALIZER}; /* has no jobs, and so no turns */
static place on_devices[GSD_MAX_DEVICES] = {
	[0 ... GSD_MAX_DEVICES - 1] = {.mutex = PTHREAD_MUTEX_INITIALIZER, .turns = {.left = DEVICE_TURNS}}};

void
gsd_columns_limits(const gsd_settings *settings)
{
	pthread_mutex_lock(&mutex);
	host_limit = settings->host_bytes > 0 ? settings->host_bytes : gsd_memory() / 4;
	device_limit = settings->device_bytes;
	pthread_mutex_unlock(&mutex);
	gsd_copies_drop();
	gsd_pool_threads((int) settings->threads);
}

place *
gsd_place_host(void)
{
	return &host;
}

/*
 * Returns a device's place.  Devices that tests made up take columns only if they were asked for by number.
 */
static place *
place_at(uint32_t index)
{
	place *p = &on_devices[index];

	if (!options.gpu && options.devices == NULL)
		return NULL;
	p->dev = gsd_device_at(index);
	p->engine = p->dev->engine;
	return p;
}

/*
 * Returns the limit of a place.  The mutex is held.
 */
static uint64_t
limit_of(const place *p)
{
	if (p->dev == NULL)
		return host_limit = host_limit > 0 ? host_limit : gsd_memory() / 4;
	return device_limit > 0 ? device_limit : p->dev->limit_bytes / 2;
}

/*
 * Returns the room that a device has within the limits of columns and of all jobs.
 */
static uint64_t
room_of(const place *p)
{
	uint64_t limit = limit_of(p), room = p->taken < limit ? limit - p->taken : 0, free_bytes;

	pthread_mutex_lock(&p->dev->mutex);
	free_bytes = p->dev->limit_bytes - p->dev->reserved_bytes;
	pthread_mutex_unlock(&p->dev->mutex);
	return room < free_bytes ? room : free_bytes;
}

place *
gsd_place_choose(uint64_t bytes)
{
	place *best = &host;
	uint64_t most = bytes;

	pthread_mutex_lock(&mutex);
	for (uint32_t i = 0; i < gsd_device_count(); i++)
	{
		place *p = place_at(i);
		uint64_t room = p != NULL ? room_of(p) : 0;

		if (room > most)
		{
			most = room;
			best = p;
		}
	}
	pthread_mutex_unlock(&mutex);
	return best;
}

/*
 * Returns the quota of each use beside that of columns in host memory.  The mutex is held.
 */
static uint64_t
quota(void)
{
	uint64_t part = limit_of(&host) / WORK_FRACTION;

	return part > LEAST_WORK ? part : LEAST_WORK;
}

uint64_t
gsd_scratch_quota(void)
{
	uint64_t bytes;

	pthread_mutex_lock(&mutex);
	bytes = quota();
	pthread_mutex_unlock(&mutex);
	return bytes;
}

/*
 * Scratch has a quota, and what columns leave.
 */
bool
gsd_scratch_count(uint64_t bytes)
{
	uint64_t limit;
	bool room;

	pthread_mutex_lock(&mutex);
	limit = quota() + (host.taken < limit_of(&host) ? limit_of(&host) - host.taken : 0);
	room = bytes <= limit && scratch_taken <= limit - bytes;
	if (room)
		scratch_taken += bytes;
	pthread_mutex_unlock(&mutex);
	return room;
}

void
gsd_scratch_give(uint64_t bytes)
{
	pthread_mutex_lock(&mutex);
	scratch_taken -= bytes;
	pthread_mutex_unlock(&mutex);
}

place *
gsd_place_scratch(place *p)
{
	return p->dev != NULL ? p : &host_scratch;
}

/*
 * Counts bytes within the limits of a place.  Returns false if there is no room.  Scratch beyond its quota takes room
 * from columns.
 */
static bool
count(place *p, uint64_t bytes)
{
	uint64_t limit, taken;
	bool room;

	if (p == &host_scratch)
		return gsd_scratch_count(bytes);
	pthread_mutex_lock(&mutex);
	limit = limit_of(p);
	taken = p->taken + (p->dev == NULL && scratch_taken > quota() ? scratch_taken - quota() : 0);
	room = bytes <= limit && taken <= limit - bytes && (p->dev == NULL || gsd_device_reserve_more(p->dev, bytes));
	if (room)
		p->taken += bytes;
	pthread_mutex_unlock(&mutex);
	return room;
}

/*
 * Likewise; where memory of the host is short, that of questions which have ended is given back, copies last.
 */
static bool
take(place *p, uint64_t bytes)
{
	if (count(p, bytes))
		return true;
	if (p->dev != NULL)
		return false;
	gsd_scratch_drop();
	if (count(p, bytes))
		return true;
	gsd_copies_drop();
	return count(p, bytes);
}

/*
 * Gives them back.
 */
static void
give(place *p, uint64_t bytes)
{
	if (p == &host_scratch)
	{
		gsd_scratch_give(bytes);
		return;
	}
	pthread_mutex_lock(&mutex);
	p->taken -= bytes;
	if (p->dev != NULL)
		gsd_device_reserve_less(p->dev, bytes);
	pthread_mutex_unlock(&mutex);
}

bool
gsd_work_take(uint64_t bytes)
{
	uint64_t limit;
	bool room;

	pthread_mutex_lock(&mutex);
	limit = quota();
	room = bytes <= limit && work_taken <= limit - bytes;
	if (room)
		work_taken += bytes;
	pthread_mutex_unlock(&mutex);
	return room;
}

void
gsd_work_give(uint64_t bytes)
{
	pthread_mutex_lock(&mutex);
	work_taken -= bytes;
	pthread_mutex_unlock(&mutex);
}

bool
gsd_host_take(uint64_t bytes)
{
	return take(&host, bytes);
}

void
gsd_host_give(uint64_t bytes)
{
	give(&host, bytes);
}

/*
 * Allocates a block of host memory.
 */
static void *
alloc_block(void *arg, size_t bytes)
{
	void *block;

	(void) arg;
	if (bytes < MAPPED_BYTES)
		return posix_memalign(&block, GS_ALIGN, bytes) == 0 ? block : NULL;
	block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		return NULL;
	(void) madvise(block, bytes, MADV_DONTDUMP);
	return block;
}

void *
gsd_host_alloc(void *(*alloc)(void *arg, size_t bytes), size_t bytes)
{
	void *block = alloc(NULL, bytes);

	if (block != NULL)
		return block;
	gsd_scratch_drop();
	block = alloc(NULL, bytes);
	if (block != NULL)
		return block;
	gsd_copies_drop();
	return alloc(NULL, bytes);
}

gs_status
gsd_place_alloc(place *p, uint64_t bytes, char **block)
{
	gs_status status = GS_OK;
	void *memory = NULL;

	*block = NULL;
	if (!take(p, bytes))
		return GS_NOMEM;
	if (p->dev == NULL)
		memory = gsd_host_alloc(alloc_block, bytes);
	else
	{
		pthread_mutex_lock(&p->mutex);
		status = gs_alloc(p->engine, bytes, &memory);
		pthread_mutex_unlock(&p->mutex);
	}
	*block = memory;
	if (memory != NULL)
		return GS_OK;
	give(p, bytes);
	return status == GS_OK ? GS_NOMEM : status;
}

void
gsd_place_free(place *p, char *block, uint64_t bytes)
{
	if (block == NULL)
		return;
	if (p->dev != NULL)
	{
		pthread_mutex_lock(&p->mutex);
		gs_free(p->engine, block);
		pthread_mutex_unlock(&p->mutex);
	}
	else if (bytes < MAPPED_BYTES)
	{
		explicit_bzero(block, bytes);
		free(block);
	}
	else
		(void) munmap(block, bytes);
	give(p, bytes);
}

/*
 * Copies to a place or from it; on a device by a function of its engine.
 */
static gs_status
copy(place *p, gs_status (*by)(gs_engine *, void *, const void *, size_t), char *to, const char *from, uint64_t bytes)
{
	gs_status status = GS_OK;

	if (p->dev == NULL)
		memcpy(to, from, bytes);
	else
	{
		pthread_mutex_lock(&p->mutex);
		status = by(p->engine, to, from, bytes);
		pthread_mutex_unlock(&p->mutex);
	}
	return status;
}

gs_status
gsd_place_put(place *p, char *to, const char *from, uint64_t bytes)
{
	return copy(p, gs_upload, to, from, bytes);
}

gs_status
gsd_place_get(place *p, char *to, const char *from, uint64_t bytes)
{
	return copy(p, gs_download, to, from, bytes);
}

gs_status
gsd_place_done(place *p)
{
	gs_status status;

	if (p->dev == NULL)
		return GS_OK;
	pthread_mutex_lock(&p->mutex);
	status = gs_sync(p->engine);
	pthread_mutex_unlock(&p->mutex);
	return status;
}
