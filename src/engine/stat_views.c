/*
 * stat_views.c: the functions behind gpusort_stat and gpusort_devices.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "link.h"
#include "stat.h"
#include "trust.h"
#include "worker.h"

PG_FUNCTION_INFO_V1(gpusort_stat_get);
PG_FUNCTION_INFO_V1(gpusort_stat_reset);
PG_FUNCTION_INFO_V1(gpusort_devices_get);

/* Version 0.1.0 of the extension declares all but the last three. */
#define STAT_COLUMNS 10

/* Emits a row of gpusort_stat.  done is NULL for jobs that could not use the service. */
static void
put_stat(ReturnSetInfo *result, int op, EngineKind kind, EngineFailure why, uint64 jobs, pg_atomic_uint64 *done)
{
	static const char *const names[] = {
		"order", "topk", "select", "partition", "runs", "scan", "reduce", "values", "columns",
		"index"
	};
	Datum		values[STAT_COLUMNS] = {0};
	bool		nulls[STAT_COLUMNS] = {false};

	StaticAssertStmt(lengthof(names) == JOB_OPS, "every operation needs its name");
	values[0] = CStringGetTextDatum(names[op]);
	values[1] = CStringGetTextDatum(engine_kind_text(kind));
	nulls[2] = why == ENGINE_OK;
	values[2] = nulls[2] ? (Datum) 0 : CStringGetTextDatum(engine_failure_text(why));
	values[3] = Int64GetDatum((int64) jobs);
	for (int column = 4; column < STAT_COLUMNS; column++)
	{
		JobCount	count = (JobCount) (COUNT_ROWS + column - 4);

		nulls[column] = done == NULL || (count >= COUNT_COARSE && op != GS_ORDER);
		if (nulls[column])
			continue;
		values[column] = Int64GetDatum((int64) pg_atomic_read_u64(&done[count]));
		if (count == COUNT_DEVICE_US)
			values[column] = Float8GetDatum((double) DatumGetInt64(values[column]) / 1000.0);
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* gpusort_stat: jobs executed by each engine, and jobs that could not use the service, by reason. */
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
			uint64		jobs = pg_atomic_read_u64(&all->done[op][kind][COUNT_JOBS]);

			if (jobs > 0 || (op == GS_ORDER && kind != ENGINE_CPU_SERVICE))
				put_stat(result, op, kind, ENGINE_OK, jobs, all->done[op][kind]);
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

/* gpusort_stat_reset(): resets all counters.  Access is controlled by GRANT. */
Datum
gpusort_stat_reset(PG_FUNCTION_ARGS)
{
	GpusortShared *all = gpusort_shared();

	for (int op = 0; op < JOB_OPS; op++)
	{
		for (int kind = 0; kind < ENGINE_KINDS; kind++)
		{
			for (int count = 0; count < JOB_COUNTS; count++)
				pg_atomic_write_u64(&all->done[op][kind][count], 0);
		}
		for (int why = 0; why < ENGINE_FAILURES; why++)
			pg_atomic_write_u64(&all->left[op][why], 0);
	}
	PG_RETURN_VOID();
}

/* Version 0.1.0 of the extension declares all but the last two. */
#define DEVICE_COLUMNS 14

/* Returns why no service is running.  NULL if one is, or if that is unknown. */
static const char *
service_reason(const ServiceShared *service)
{
	if (service->state == SERVICE_RUNNING)
		return NULL;
	if (service->reason[0] != '\0')
		return service->reason;
	if (service->state != SERVICE_NONE || !gpusort_shared_by_all())
		return NULL;
	return gpu_likely() ? "no sort has asked for it yet" : "this machine shows no GPU";
}

/* Fills in the columns about the service.  Pids are visible to those who may see others' activity. */
static void
describe_service(const ServiceShared *service, Datum *values, bool *nulls)
{
	static const char *const states[] = {"not started", "starting", "running", "restarting", "no device", "gave up",
	"columns only"};
	const char *reason = service_reason(service);
	bool		may_see = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);

	values[7] = CStringGetTextDatum(states[service->state]);
	nulls[8] = service->since == 0;
	values[8] = TimestampTzGetDatum(service->since);
	values[9] = Int32GetDatum(service->restarts);
	nulls[10] = service->service_pid <= 0 || !may_see;
	values[10] = Int32GetDatum(service->service_pid);
	nulls[11] = true;
	nulls[12] = service->next_attempt == 0;
	values[12] = TimestampTzGetDatum(service->next_attempt);
	nulls[13] = reason == NULL;
	values[13] = reason ? CStringGetTextDatum(reason) : (Datum) 0;
}

/* Queries the service for its devices.  Returns false without an answer. */
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

/* gpusort_devices: lists the service's devices.  One row without a device if there is none or no answer. */
Datum
gpusort_devices_get(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ServiceShared service = service_state();
	gsd_message answer;

	InitMaterializedSRF(fcinfo, 0);
	if (IsUnderPostmaster && ask_devices(&answer) && answer.devices.count > 0)
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
			if (trust_aside_since(device->device) != 0)
			{
				values[7] = CStringGetTextDatum("set aside");
				values[8] = TimestampTzGetDatum(trust_aside_since(device->device));
			}
			tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
		}
	}
	else
	{
		Datum		values[DEVICE_COLUMNS] = {0};
		bool		nulls[DEVICE_COLUMNS] = {true, true, true, true, true, true, true};

		describe_service(&service, values, nulls);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
