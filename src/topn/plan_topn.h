/*
 * plan_topn.h: plans the first rows of each group, without sorting the others.
 */
#ifndef GPUSORT_PLAN_TOPN_H
#define GPUSORT_PLAN_TOPN_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* Returns paths for a window function of which a query wants the first numbers or ranks, or NIL for other windows. */
extern List *topn_windows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *window);

/* Returns paths for DISTINCT ON over this order, with this many rows; NIL for another DISTINCT. */
extern List *topn_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *distinct, List *pathkeys, double rows);

/* Has a finished plan, if it is a GpuTopN, show columns that windows below it compute without these windows. */
extern void show_topn(CustomScan *scan);

#endif
