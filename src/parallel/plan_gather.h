/*
 * plan_gather.h: rows pass a Gather in blocks.
 */
#ifndef GPUSORT_PLAN_GATHER_H
#define GPUSORT_PLAN_GATHER_H

#include "src/cost/sort_choice.h"

/* Returns what takes the place of a Gather whose child has been walked: itself if no GpuSort is below it. */
extern Plan *take_gather(PlannedStmt *stmt, Gather *gather, SortBound bound);

/* Lets no bound that changes pass through what has taken the place of a Gather or Gather Merge. */
extern Plan *stop_bound(const PlannedStmt *stmt, Plan *plan, SortBound bound);

#endif
