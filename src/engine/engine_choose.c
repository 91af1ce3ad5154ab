/*
 * engine_choose.c: which engine a job gets.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "engine_choose.h"
#include "src/base/guc.h"
#include "stat.h"
#include "worker.h"

/* Does the service run, or may it come; ENGINE_OK: try it. */
static EngineFailure
judge_service(void)
{
	EngineFailure why = service_verdict();

	/* nothing is known where sessions share no memory */
	if (why != ENGINE_OK || !gpusort_shared_by_all() || service_state().state == SERVICE_RUNNING)
		return why;
	return ENGINE_STARTING;
}

/*
 * What the GPU saves per row grows with the key, while a job costs the same.  Measured on an H200
 * (bench/results/queries-gpu.txt, a million rows): 14 ns a row with a key of 4 bytes, 17 with 8, 25 with two of 8, 48
 * and 69 with strings of 16 and 48, which the planner takes for 32.
 */
double
engine_work(double rows, double key_bytes)
{
	return rows * (key_bytes + 4) / 12;
}

/*
 * Where a GPU is, sorts use it if they are large and the service is warm; one that is not is started for the next sort.
 */
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
