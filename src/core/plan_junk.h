/*
 * plan_junk.h: removes sort keys that only repeat a column.
 */
#ifndef GPUSORT_PLAN_JUNK_H
#define GPUSORT_PLAN_JUNK_H

#include "nodes/plannodes.h"

/* Removes copies of columns from a GpuSort at the top of a plan, or below a Gather Merge there (NULL: none). */
extern void drop_key_copies(PlannedStmt *stmt, GatherMerge *gather);

#endif
