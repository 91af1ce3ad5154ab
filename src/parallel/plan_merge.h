/*
 * plan_merge.h: turns a Gather Merge over sorts into one of blocks.
 */
#ifndef GPUSORT_PLAN_MERGE_H
#define GPUSORT_PLAN_MERGE_H

#include "nodes/plannodes.h"

/* Returns the replacement of a Gather Merge whose child has been walked, or itself if the child is no GpuSort. */
extern Plan *gather_merge_in_blocks(PlannedStmt *stmt, GatherMerge *gather);

#endif
