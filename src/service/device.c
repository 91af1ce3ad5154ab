/*
 * device.c: the devices and the reservations of their memory.  A job reserves memory when it begins and never waits
 * while holding some, so jobs cannot deadlock.  A job that gets none is refused, and the backend sorts on the CPU.
 */
#include "service.h"
#include "kernels/gs_arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static device devices[GSD_MAX_DEVICES];
static uint32_t device_count;

/* Percentage of a GPU's free memory that jobs may reserve by default. */
#define USUAL_PERCENT 80

/* Consecutive failures of an operation's jobs after which a device gets no more of them. */
#define MOST_FAILURES 2

/* Why the first unusable device was rejected. */
static char refusal[160];

uint32_t
gsd_device_count(void)
{
	return device_count;
}

/* A device's bit in a set, by its number, which is stable across restarts even if fewer devices can be opened. */
static uint32_t
bit_of(const device *d)
{
	return (uint32_t) 1 << d->number;
}

uint32_t
gsd_all_devices(void)
{
	uint32_t all = 0;

	for (uint32_t i = 0; i < device_count; i++)
		all |= bit_of(&devices[i]);
	return all;
}

device *
gsd_device_at(uint32_t index)
{
	return &devices[index];
}

gs_status
gsd_engine_open(const device *d, const gs_host *host, gs_engine **engine)
{
	if (options.gpu)
		return gsd_cuda_open(d->number, host, engine);
	return gs_cpu_open(options.threads > 0 ? options.threads : 1, host, engine);
}

/* Opens and inspects one device.  Keeps an engine open, so that the device stays warm. */
static bool
open_device(uint32_t number)
{
	device *d = &devices[device_count];
	uint64_t available = 0;
	gs_status status;

	memset(d, 0, sizeof(*d));
	d->number = number;
	pthread_mutex_init(&d->mutex, NULL);
	status = gsd_engine_open(d, NULL, &d->engine);
	if (status != GS_OK)
	{
		const char *why = options.gpu ? gsd_cuda_why() : gs_status_text(status);

		gsd_log("WARNING", "device %u cannot be used: %s", number, why);
		if (refusal[0] == '\0')
			snprintf(refusal, sizeof(refusal), "device %u cannot be used: %s", number, why);
		return false;
	}
	if (options.gpu)
	{
		(void) gsd_cuda_memory(number, &d->memory_bytes, &available);
		available = available / 100 * USUAL_PERCENT;
	}
	else
		d->memory_bytes = available = (uint64_t) sysconf(_SC_PHYS_PAGES) * (uint64_t) sysconf(_SC_PAGESIZE) / 2;
	d->limit_bytes = options.device_memory > 0 && options.device_memory < available ? options.device_memory : available;
	strncpy(d->name, gs_engine_name(d->engine), GSD_NAME_BYTES - 1);
	gsd_log("LOG", "device %u: %s, %llu MB, of which %llu MB for sorting", number, d->name,
			(unsigned long long) (d->memory_bytes >> 20), (unsigned long long) (d->limit_bytes >> 20));
	device_count++;
	return true;
}

/* Returns true if a device is listed in the options, or if there is no list. */
static bool
device_wanted(uint32_t number)
{
	const char *at = options.devices;

	while (at != NULL && *at != '\0')
	{
		char *end;
		unsigned long n = strtoul(at, &end, 10);

		if (end != at && n == number)
			return true;
		at = *end != '\0' ? end + 1 : end;
	}
	return options.devices == NULL;
}

/* Opens all devices.  Returns 0, or an exit status if there are none. */
int
gsd_devices_open(void)
{
	const char *why = "none of those chosen can be used";
	int count = options.gpu ? gsd_cuda_count(&why) : options.devices != NULL ? atoi(options.devices) : 1;

	for (int i = 0; i < count && i < GSD_MAX_DEVICES; i++)
		if (!options.gpu || device_wanted((uint32_t) i))
			(void) open_device((uint32_t) i);
	if (device_count > 0)
		return 0;
	gsd_log("LOG", "no device to sort on: %s", refusal[0] != '\0' ? refusal : why);
	return GSD_EXIT_NO_DEVICE;
}

bool
gsd_device_reserve_more(device *d, uint64_t bytes)
{
	bool room;

	pthread_mutex_lock(&d->mutex);
	room = bytes <= d->limit_bytes && d->reserved_bytes <= d->limit_bytes - bytes;
	if (room)
		d->reserved_bytes += bytes;
	pthread_mutex_unlock(&d->mutex);
	return room;
}

void
gsd_device_reserve_less(device *d, uint64_t bytes)
{
	pthread_mutex_lock(&d->mutex);
	d->reserved_bytes -= bytes;
	pthread_mutex_unlock(&d->mutex);
}

/* Returns true if d is better: by fewer jobs, then by an engine that is open, then by more free memory. */
static bool
better(device *d, device *other, const device *open)
{
	uint32_t jobs[2];
	uint64_t room[2];

	for (int i = 0; i < 2; i++)
	{
		device *one = i == 0 ? d : other;

		pthread_mutex_lock(&one->mutex);
		jobs[i] = one->jobs;
		room[i] = one->limit_bytes - one->reserved_bytes;
		pthread_mutex_unlock(&one->mutex);
	}
	if (jobs[0] != jobs[1])
		return jobs[0] < jobs[1];
	if (d == open || other == open)
		return d == open;
	return room[0] > room[1];
}

device *
gsd_device_reserve(uint64_t bytes, uint32_t avoid, const device *open)
{
	uint32_t tried = avoid;

	for (uint32_t attempt = 0; attempt < device_count; attempt++)
	{
		uint32_t best = GSD_MAX_DEVICES;

		for (uint32_t i = 0; i < device_count; i++)
			if (!(tried & bit_of(&devices[i])) &&
				(best == GSD_MAX_DEVICES || better(&devices[i], &devices[best], open)))
				best = i;
		if (best == GSD_MAX_DEVICES)
			break;
		tried |= bit_of(&devices[best]);
		if (gsd_device_reserve_more(&devices[best], bytes))
		{
			pthread_mutex_lock(&devices[best].mutex);
			devices[best].jobs++;
			devices[best].idle_since = 0;
			pthread_mutex_unlock(&devices[best].mutex);
			return &devices[best];
		}
	}
	return NULL;
}

void
gsd_device_give_back(device *d, uint64_t bytes)
{
	pthread_mutex_lock(&d->mutex);
	d->reserved_bytes -= bytes;
	d->jobs--;
	d->jobs_done++;
	if (d->jobs == 0)
		d->idle_since = gsd_now_ns();
	pthread_mutex_unlock(&d->mutex);
}

/* Records failures of a device.  After two in a row it gets no more jobs of that operation, which would fail again. */
void
gsd_device_note(device *d, gs_op op, gs_status status)
{
	bool enough = false;

	pthread_mutex_lock(&d->mutex);
	if (status == GS_OK && d->failed[op] < MOST_FAILURES)
		d->failed[op] = 0;
	else if (status == GS_DEVICE && d->failed[op] < MOST_FAILURES)
		enough = ++d->failed[op] == MOST_FAILURES;
	pthread_mutex_unlock(&d->mutex);
	if (enough)
		gsd_log("WARNING",
				"device %u failed two jobs of operation %d in a row, and works otherwise: it gets no more of them",
				d->number, (int) op);
}

uint32_t
gsd_devices_failing(gs_op op)
{
	uint32_t failing = 0;

	/* the client's operation has not been validated yet */
	if ((uint32_t) op >= GS_OPS)
		return 0;
	for (uint32_t i = 0; i < device_count; i++)
	{
		pthread_mutex_lock(&devices[i].mutex);
		failing |= devices[i].failed[op] >= MOST_FAILURES ? bit_of(&devices[i]) : 0;
		pthread_mutex_unlock(&devices[i].mutex);
	}
	return failing;
}

void
gsd_devices_rest(void)
{
	uint64_t now = gsd_now_ns();

	for (uint32_t i = 0; i < device_count; i++)
	{
		device *d = &devices[i];
		bool rest;

		pthread_mutex_lock(&d->mutex);
		rest = d->idle_since != 0 && now > d->idle_since + (uint64_t) options.idle_seconds * 1000000000u;
		if (rest)
			d->idle_since = 0;
		pthread_mutex_unlock(&d->mutex);
		if (rest)
			(void) gsd_fault_here(true, FAULT_HANG, STAGE_REST);
		if (rest && options.gpu)
			gsd_cuda_trim(d->number);
	}
}

/* Tests whether a device works at all, in a separate engine. */
bool
gsd_device_alive(const device *d)
{
	gs_engine *engine;
	void *block = NULL;
	bool alive;

	if (options.fault == FAULT_DEAD)
		return false;
	if (gsd_engine_open(d, NULL, &engine) != GS_OK)
		return false;
	alive = gs_alloc(engine, 4096, &block) != GS_DEVICE;
	if (block != NULL)
	{
		alive = gs_fill(engine, block, 0, 4096) == GS_OK && gs_sync(engine) == GS_OK;
		gs_free(engine, block);
	}
	gs_engine_close(engine);
	return alive;
}
