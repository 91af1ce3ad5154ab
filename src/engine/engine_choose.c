/*
 * engine_choose.c: chooses the engine of a job.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "engine_choose.h"
#include "src/base/costs.h"
#include "src/base/guc.h"
#include "stat.h"
#include "worker.h"

/* Tests whether the service runs or may be started.  ENGINE_OK: try it. */
static EngineFailure
judge_service(void)
{
	EngineFailure why = service_verdict();

	/* without shared memory, nothing is known of the service */
	if (why != ENGINE_OK || !gpusort_shared_by_all() || service_state().state == SERVICE_RUNNING)
		return why;
	return ENGINE_STARTING;
}

/* Weighs rows by their keys. */
double
engine_work(double rows, double key_bytes)
{
	return rows * (key_bytes + GPU_ROW_BYTES) / GPU_UNIT_BYTES;
}

/* Chooses the service for large sorts if it is running.  Otherwise starts it for later sorts. */
static const EngineOps *
choose_auto(double rows, EngineFailure *why)
{
	if (rows < gpusort_gpu_min_rows || !gpu_likely())
		return &engine_cpu;
	*why = judge_service();
	if (*why == ENGINE_OK)
		return &engine_service;
	if (*why == ENGINE_STARTING)
	{
		EngineFailure demand = service_demand();

		if (demand != ENGINE_OK)
			*why = demand;
	}
	return &engine_cpu;
}

const EngineOps *
engine_choose(double rows, EngineFailure *why)
{
	*why = ENGINE_OK;
	if (gpusort_engine == ENGINE_CHOICE_CPU || !IsUnderPostmaster)
		return &engine_cpu;
	if (gpusort_engine == ENGINE_CHOICE_GPU)
		return &engine_service;
	return choose_auto(rows, why);
}
