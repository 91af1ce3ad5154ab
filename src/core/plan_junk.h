/*
 * plan_junk.h: removes sort keys that only repeat a column.
 */
#ifndef GPUSORT_PLAN_JUNK_H
#define GPUSORT_PLAN_JUNK_H

#include "nodes/plannodes.h"

/*
 * Removes columns that only repeat another one, to sort by, from a GpuSort at the top of a finished plan, or below a
 * Gather Merge there (NULL: none) that is about to be replaced.
 */
extern void drop_key_copies(PlannedStmt *stmt, GatherMerge *gather);

#endif
