/*
 * engine.c: names of engines and of their failures; errors of statuses.
 */
#include "postgres.h"

#include "engine.h"

const char *
engine_kind_text(EngineKind kind)
{
	static const char *const text[] = {"CPU", "GPU", "CPU service"};

	return text[kind];
}

const char *
engine_failure_text(EngineFailure why)
{
	static const char *const text[] = {
		"none",
		"no GPU",
		"no free background worker",
		"GPU service is starting",
		"GPU service failed too often",
		"GPU service cannot be reached",
		"GPU service was lost",
		"GPU service did not answer",
		"GPU service broke the protocol",
		"GPU service is of another version",
		"gpusort.pinned_memory is used up",
		"quota of gpusort.pinned_memory is used up",
		"no file descriptor or shared memory to be had",
		"out of device memory",
		"too large for the GPU service",
		"GPU failed",
		"GPU service gave a wrong answer",
		"GPU is set aside after wrong answers",
		"GPU service refused the job",
	};

	StaticAssertStmt(lengthof(text) == ENGINE_FAILURES, "every failure needs its words");
	return text[why];
}

EngineFailure
engine_failure_of(gs_status status)
{
	switch (status)
	{
		case GS_NOMEM:
			return ENGINE_NO_MEMORY;
		case GS_TOO_BIG:
			return ENGINE_TOO_BIG;
		case GS_DEVICE:
			return ENGINE_DEVICE;
		case GS_WRONG_ORDER:
			return ENGINE_WRONG_ORDER;
		case GS_INVALID:
			return ENGINE_INVALID;
		default:
			return ENGINE_PROTOCOL;
	}
}

void
engine_check(gs_status status)
{
	if (status == GS_NOMEM)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	if (status != GS_OK)
		elog(ERROR, "gpusort: %s", gs_status_text(status));
}
