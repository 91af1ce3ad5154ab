/*
 * plan_totals.h: plans pages with totals: the first rows of an order, each with aggregates of all rows.
 */
#ifndef GPUSORT_PLAN_TOTALS_H
#define GPUSORT_PLAN_TOTALS_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * Returns a path for ORDER BY that replaces those over window functions, or NULL: for a query whose windows are all
 * rows and of which a Limit wants few.
 */
extern Path *page_path(PlannerInfo *root, const RelOptInfo *windows, RelOptInfo *ordered);

/* Has a finished plan, if it is a GpuTotal, show its aggregates without the windows that no node below it has. */
extern void show_totals(CustomScan *scan);

#endif
