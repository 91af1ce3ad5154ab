/*
 * stat.c: counters and the state of the service in shared memory.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

#include "src/base/shared_struct.h"
#include "src/service/protocol.h"
#include "stat.h"

/* Initializes the structure, which is zeroed. */
static void
init_shared(void *memory)
{
	GpusortShared *fresh = memory;

	SpinLockInit(&fresh->mutex);
	pg_atomic_init_u64(&fresh->broken_until, 0);
	for (int op = 0; op < JOB_OPS; op++)
	{
		for (int kind = 0; kind < ENGINE_KINDS; kind++)
		{
			for (int count = 0; count < JOB_COUNTS; count++)
				pg_atomic_init_u64(&fresh->done[op][kind][count], 0);
		}
		for (int why = 0; why < ENGINE_FAILURES; why++)
			pg_atomic_init_u64(&fresh->left[op][why], 0);
	}
}

static SharedStruct shared = {.name = "gpusort", .bytes = sizeof(GpusortShared), .init = init_shared};
static GpusortShared own;

/* Returns the shared structure, or this session's own if the library was not preloaded and no shared memory is left. */
GpusortShared *
gpusort_shared(void)
{
	if (unlikely(shared.place == NULL) && !(IsUnderPostmaster && shared_struct_attach_late(&shared)))
	{
		init_shared(&own);
		shared.place = &own;
	}
	return shared.place;
}

bool
gpusort_shared_by_all(void)
{
	return gpusort_shared() != &own;
}

void
gpusort_stat_init(void)
{
	shared_struct_init(&shared);
}

void
stat_count_job(gs_op op, const EngineJob *job, uint64 rows)
{
	pg_atomic_uint64 *done = gpusort_shared()->done[op][job->kind];
	gs_job_info info;

	job->ops->info(job, &info);
	pg_atomic_fetch_add_u64(&done[COUNT_JOBS], 1);
	pg_atomic_fetch_add_u64(&done[COUNT_ROWS], (int64) rows);
	pg_atomic_fetch_add_u64(&done[COUNT_BYTES], (int64) info.upload_bytes);
	pg_atomic_fetch_add_u64(&done[COUNT_DEVICE_US], (int64) (info.device_ns / 1000));
}

void
stat_count_coarse(EngineKind kind, uint64 compared, bool refused)
{
	pg_atomic_uint64 *done = gpusort_shared()->done[GS_ORDER][kind];

	pg_atomic_fetch_add_u64(&done[COUNT_COARSE], 1);
	pg_atomic_fetch_add_u64(&done[COUNT_COMPARED], (int64) compared);
	pg_atomic_fetch_add_u64(&done[COUNT_REFUSED], refused);
}

void
stat_count_left(int op, EngineFailure why)
{
	pg_atomic_fetch_add_u64(&gpusort_shared()->left[op][why], 1);
}

void
stat_count_index(EngineKind kind, uint64 rows)
{
	pg_atomic_uint64 *done = gpusort_shared()->done[JOB_INDEXES][kind];

	pg_atomic_fetch_add_u64(&done[COUNT_JOBS], 1);
	pg_atomic_fetch_add_u64(&done[COUNT_ROWS], (int64) rows);
}

ServiceShared
service_state(void)
{
	GpusortShared *all = gpusort_shared();
	ServiceShared copy;

	SpinLockAcquire(&all->mutex);
	copy = all->service;
	SpinLockRelease(&all->mutex);
	return copy;
}

void
service_set_state(ServiceState state, int service_pid, const char *reason, long delay)
{
	GpusortShared *all = gpusort_shared();
	TimestampTz now = GetCurrentTimestamp();
	int64		now_ms = gsd_now_ms();

	SpinLockAcquire(&all->mutex);
	all->service.state = state;
	all->service.service_pid = service_pid;
	all->service.since = now;
	all->service.since_ms = now_ms;
	all->service.next_attempt = delay > 0 ? TimestampTzPlusMilliseconds(now, delay) : 0;
	strlcpy(all->service.reason, reason ? reason : "", SERVICE_REASON_BYTES);
	SpinLockRelease(&all->mutex);
}
