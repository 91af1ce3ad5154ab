/*
 * plan_gather.h: sends rows through a Gather in blocks.
 */
#ifndef GPUSORT_PLAN_GATHER_H
#define GPUSORT_PLAN_GATHER_H

#include "src/cost/sort_choice.h"

/* Returns the replacement of a Gather whose child has been walked, or the Gather itself if no GpuSort is below it. */
extern Plan *gather_in_blocks(PlannedStmt *stmt, Gather *gather, SortBound bound);

/* Keeps a bound that changes between scans from the replacement of a Gather or Gather Merge. */
extern Plan *stop_bound(const PlannedStmt *stmt, Plan *plan, SortBound bound);

#endif
