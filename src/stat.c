/*
 * stat.c: counters and the state of the service in shared memory, and the functions behind the views.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "gpusort.h"
#include "link.h"
#include "stat.h"
#include "trust.h"

PG_FUNCTION_INFO_V1(gpusort_stat_get);
PG_FUNCTION_INFO_V1(gpusort_stat_reset);
PG_FUNCTION_INFO_V1(gpusort_devices_get);

static GpusortShared *shared;
static GpusortShared own;
static shmem_request_hook_type prev_shmem_request;
static shmem_startup_hook_type prev_shmem_startup;

/* Sets everything to the beginning. */
static void
init_shared(GpusortShared *fresh)
{
	memset(fresh, 0, sizeof(*fresh));
	SpinLockInit(&fresh->mutex);
	pg_atomic_init_u64(&fresh->broken_until, 0);
	for (int op = 0; op < JOB_OPS; op++)
	{
		for (int kind = 0; kind < ENGINE_KINDS; kind++)
		{
			JobCounters *done = &fresh->done[op][kind];

			pg_atomic_init_u64(&done->jobs, 0);
			pg_atomic_init_u64(&done->rows, 0);
			pg_atomic_init_u64(&done->bytes, 0);
			pg_atomic_init_u64(&done->device_us, 0);
		}
		for (int why = 0; why < ENGINE_FAILURES; why++)
			pg_atomic_init_u64(&fresh->left[op][why], 0);
	}
}

/* Finds the structure, or makes it where it is the first time. */
static void
attach(void)
{
	bool		found;
	GpusortShared *result;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	PG_TRY();
	{
		result = ShmemInitStruct("gpusort", sizeof(GpusortShared), &found);
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();		/* the error took away what LWLockRelease gives back */
		LWLockRelease(AddinShmemInitLock);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (!found)
		init_shared(result);
	LWLockRelease(AddinShmemInitLock);
	shared = result;
}

/*
 * Not preloaded: the server keeps some shared memory spare for those who come late.  Where that is used up too, the session keeps its
 * own counters.
 */
static void
attach_late(void)
{
	MemoryContext old = CurrentMemoryContext;

	PG_TRY();
	{
		attach();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(old);
		FlushErrorState();
		init_shared(&own);
		shared = &own;
	}
	PG_END_TRY();
}

GpusortShared *
gpusort_shared(void)
{
	if (unlikely(shared == NULL))
	{
		if (IsUnderPostmaster)
			attach_late();
		else
		{
			init_shared(&own);
			shared = &own;
		}
	}
	return shared;
}

bool
gpusort_shared_by_all(void)
{
	return gpusort_shared() != &own;
}

/* Asks for memory. */
static void
shmem_request(void)
{
	if (prev_shmem_request)
		prev_shmem_request();
	RequestAddinShmemSpace(sizeof(GpusortShared));
}

/* Takes it. */
static void
shmem_startup(void)
{
	if (prev_shmem_startup)
		prev_shmem_startup();
	shared = NULL;				/* after a crash of a backend everything begins anew */
	attach();
}

void
gpusort_stat_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	prev_shmem_request = shmem_request_hook;
	shmem_request_hook = shmem_request;
	prev_shmem_startup = shmem_startup_hook;
	shmem_startup_hook = shmem_startup;
}

void
stat_count_job(gs_op op, EngineKind kind, const gs_job_info *info, uint64 rows)
{
	JobCounters *done = &gpusort_shared()->done[op][kind];

	pg_atomic_fetch_add_u64(&done->jobs, 1);
	pg_atomic_fetch_add_u64(&done->rows, (int64) rows);
	pg_atomic_fetch_add_u64(&done->bytes, (int64) info->upload_bytes);
	pg_atomic_fetch_add_u64(&done->device_us, (int64) (info->device_ns / 1000));
}

void
stat_count_left(gs_op op, EngineFailure why)
{
	pg_atomic_fetch_add_u64(&gpusort_shared()->left[op][why], 1);
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
service_set_state(ServiceState state, int service_pid)
{
	GpusortShared *all = gpusort_shared();
	TimestampTz now = GetCurrentTimestamp();

	SpinLockAcquire(&all->mutex);
	all->service.state = state;
	all->service.service_pid = service_pid;
	all->service.since = now;
	SpinLockRelease(&all->mutex);
}

/* One line of gpusort_stat. */
static void
put_stat(ReturnSetInfo *result, int op, EngineKind kind, EngineFailure why, uint64 jobs, const JobCounters *done)
{
	static const char *const names[] = {"order", "topk", "select", "partition", "runs", "scan", "reduce"};
	Datum		values[7];
	bool		nulls[7] = {false};

	StaticAssertStmt(lengthof(names) == JOB_OPS, "every operation needs its name");
	values[0] = CStringGetTextDatum(names[op]);
	values[1] = CStringGetTextDatum(engine_kind_text(kind));
	nulls[2] = why == ENGINE_OK;
	values[2] = nulls[2] ? (Datum) 0 : CStringGetTextDatum(engine_failure_text(why));
	values[3] = Int64GetDatum((int64) jobs);
	nulls[4] = nulls[5] = nulls[6] = done == NULL;
	if (done)
	{
		values[4] = Int64GetDatum((int64) pg_atomic_read_u64(&unconstify(JobCounters *, done)->rows));
		values[5] = Int64GetDatum((int64) pg_atomic_read_u64(&unconstify(JobCounters *, done)->bytes));
		values[6] = Float8GetDatum((double) pg_atomic_read_u64(&unconstify(JobCounters *, done)->device_us) / 1000.0);
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* gpusort_stat: jobs done by each engine, and jobs that left the service, by reason. */
Datum
gpusort_stat_get(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	GpusortShared *all = gpusort_shared();

	InitMaterializedSRF(fcinfo, 0);
	for (int op = 0; op < JOB_OPS; op++)
	{
		for (int kind = 0; kind < ENGINE_KINDS; kind++)
		{
			uint64		jobs = pg_atomic_read_u64(&all->done[op][kind].jobs);

			if (jobs > 0 || (op == GS_ORDER && kind != ENGINE_CPU_SERVICE))
				put_stat(result, op, kind, ENGINE_OK, jobs, &all->done[op][kind]);
		}
		for (int why = ENGINE_OK + 1; why < ENGINE_FAILURES; why++)
		{
			uint64		jobs = pg_atomic_read_u64(&all->left[op][why]);

			if (jobs > 0)
				put_stat(result, op, ENGINE_GPU, why, jobs, NULL);
		}
	}
	return (Datum) 0;
}

/* gpusort_stat_reset(): all counters to zero.  Who may call it is said with GRANT. */
Datum
gpusort_stat_reset(PG_FUNCTION_ARGS)
{
	GpusortShared *all = gpusort_shared();

	for (int op = 0; op < JOB_OPS; op++)
	{
		for (int kind = 0; kind < ENGINE_KINDS; kind++)
		{
			JobCounters *done = &all->done[op][kind];

			pg_atomic_write_u64(&done->jobs, 0);
			pg_atomic_write_u64(&done->rows, 0);
			pg_atomic_write_u64(&done->bytes, 0);
			pg_atomic_write_u64(&done->device_us, 0);
		}
		for (int why = 0; why < ENGINE_FAILURES; why++)
			pg_atomic_write_u64(&all->left[op][why], 0);
	}
	PG_RETURN_VOID();
}

#define DEVICE_COLUMNS 12

/* The part of a line of gpusort_devices that tells of the service; pids are shown to who may see others' activity. */
static void
describe_service(const ServiceShared *service, Datum *values, bool *nulls)
{
	static const char *const states[] = {"not started", "starting", "running", "restarting", "no device", "gave up"};
	bool		may_see = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);

	values[7] = CStringGetTextDatum(states[service->state]);
	nulls[8] = service->since == 0;
	values[8] = TimestampTzGetDatum(service->since);
	values[9] = Int32GetDatum(service->restarts);
	nulls[10] = service->service_pid <= 0 || !may_see;
	values[10] = Int32GetDatum(service->service_pid);
	nulls[11] = true;
}

/* Asks the service for its devices; false if there is no answer. */
static bool
ask_devices(gsd_message *answer)
{
	EngineFailure why;
	ServiceLink *link = link_open_bare(&why);
	gsd_header	question;
	volatile bool good = false;

	if (link == NULL)
		return false;
	gsd_head(&question, GSD_STATUS, sizeof(question));
	PG_TRY();
	{
		good = link_send(link, &question, &why) &&
			link_receive(link, answer, true, LINK_WAIT_START) == ENGINE_OK && answer->head.type == GSD_DEVICES;
	}
	PG_FINALLY();
	{
		link_close(link);
	}
	PG_END_TRY();
	return good;
}

/* gpusort_devices: what the service sorts on; one line without a device where there is a service, or should be, but it does not
 * answer. */
Datum
gpusort_devices_get(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ServiceShared service = service_state();
	gsd_message answer;

	InitMaterializedSRF(fcinfo, 0);
	if (IsUnderPostmaster && ask_devices(&answer))
	{
		if (service.state == SERVICE_NONE)
			service.state = SERVICE_RUNNING;	/* another session started it, and memory is not shared */
		service.service_pid = (int) answer.devices.pid;
		for (uint32 i = 0; i < answer.devices.count; i++)
		{
			const gsd_device *device = &answer.devices.devices[i];
			Datum		values[DEVICE_COLUMNS] = {0};
			bool		nulls[DEVICE_COLUMNS] = {false};

			describe_service(&service, values, nulls);
			values[0] = Int32GetDatum((int32) device->device);
			values[1] = CStringGetTextDatum(device->name);
			values[2] = Int64GetDatum((int64) device->memory_bytes);
			values[3] = Int64GetDatum((int64) device->limit_bytes);
			values[4] = Int64GetDatum((int64) device->reserved_bytes);
			values[5] = Int32GetDatum((int32) device->jobs);
			values[6] = Int64GetDatum((int64) device->jobs_done);
			nulls[11] = false;
			values[11] = Int64GetDatum((int64) answer.devices.pinned_bytes);
			if (trust_aside_since(i) != 0)
			{
				values[7] = CStringGetTextDatum("set aside");
				values[8] = TimestampTzGetDatum(trust_aside_since(i));
			}
			tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
		}
	}
	else if (service.state != SERVICE_NONE)
	{
		Datum		values[DEVICE_COLUMNS] = {0};
		bool		nulls[DEVICE_COLUMNS] = {true, true, true, true, true, true, true};

		describe_service(&service, values, nulls);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
