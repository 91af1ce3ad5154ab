/*
 * plan_append.h: replaces a Merge Append by a GpuMergeAppend.
 */
#ifndef GPUSORT_PLAN_APPEND_H
#define GPUSORT_PLAN_APPEND_H

#include "src/cost/sort_choice.h"

/* Returns the replacement of a Merge Append whose children have been walked, or the Merge Append itself. */
extern Plan *take_merge_append(const PlannedStmt *stmt, MergeAppend *append, SortBound bound);

#endif
