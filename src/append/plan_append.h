/*
 * plan_append.h: a Merge Append becomes a GpuMergeAppend.
 */
#ifndef GPUSORT_PLAN_APPEND_H
#define GPUSORT_PLAN_APPEND_H

#include "src/cost/sort_choice.h"

/* Returns what takes the place of a Merge Append whose children have been walked: itself if that is to stay. */
extern Plan *take_merge_append(const PlannedStmt *stmt, MergeAppend *append, SortBound bound);

#endif
