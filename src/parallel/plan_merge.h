/*
 * plan_merge.h: a Gather Merge over sorts becomes one of blocks.
 */
#ifndef GPUSORT_PLAN_MERGE_H
#define GPUSORT_PLAN_MERGE_H

#include "nodes/plannodes.h"

/* Returns what takes the place of a Gather Merge whose child has been walked: itself if that is no GpuSort. */
extern Plan *take_gather_merge(PlannedStmt *stmt, GatherMerge *gather);

#endif
