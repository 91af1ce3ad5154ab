/*
 * feed.h: the input of a job, written as keys chunk by chunk, and the way from an engine that fails to its fallback.
 */
#ifndef GPUSORT_FEED_H
#define GPUSORT_FEED_H

#include "engine.h"
#include "src/keys/sortkey.h"

/* Gives the writer an empty chunk of the job, with room for a string of this size. */
extern gs_status feed_next(EngineJob *job, KeyWriter *writer, const SortKey *keys, Size heap_bytes);

/* Adds the writer's chunk to the job, unless no row was written, and takes it from the writer. */
extern gs_status feed_close(EngineJob *job, KeyWriter *writer);

/* Counts a job, NULL if it did not begin, that the CPU does instead of the service. */
extern void feed_left(gs_op op, const EngineJob *job, EngineFailure why);

/* Replaces a failed job's engine by its fallback, and counts that unless the input overflowed.  Returns the reason. */
extern EngineFailure feed_fail_over(const EngineOps **engine, gs_op op, const EngineJob *job, gs_status status);

#endif
