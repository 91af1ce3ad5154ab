/*
 * feed.c: the input of a job, written as keys chunk by chunk, and the way from an engine that fails to its fallback.
 */
#include "postgres.h"

#include "feed.h"
#include "stat.h"
#include "trust.h"

gs_status
feed_next(EngineJob *job, KeyWriter *writer, const SortKey *keys, Size heap_bytes)
{
	gs_chunk   *chunk;
	char	   *memory;
	gs_status	status = job->ops->chunk(job, heap_bytes, &chunk, &memory);

	writer->chunk = NULL;
	if (status == GS_OK)
		keywriter_begin(writer, chunk, memory, keys);
	return status;
}

gs_status
feed_close(EngineJob *job, KeyWriter *writer)
{
	if (writer->row == 0)
		return GS_OK;
	keywriter_close(writer);
	writer->row = 0;
	writer->chunk = NULL;
	return job->ops->add(job);
}

void
feed_left(gs_op op, const EngineJob *job, EngineFailure why)
{
	stat_count_left(op, why);
	if (why == ENGINE_WRONG_ORDER)
		trust_lose(job->device, job->name);
	ereport(DEBUG1, (errmsg_internal("gpusort uses the CPU: %s", engine_failure_text(why))));
}

EngineFailure
feed_fail_over(const EngineOps **engine, gs_op op, const EngineJob *job, gs_status status)
{
	EngineFailure why = ENGINE_OK;

	if (status != GS_OVERFLOW)
	{
		why = (*engine)->why(status);
		feed_left(op, job, why);
	}
	*engine = (*engine)->fallback;
	return why;
}
