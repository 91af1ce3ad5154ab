/*
 * plan_columns_windows.h: aggregates over a subquery with windows.
 */
#ifndef GPUSORT_PLAN_COLUMNS_WINDOWS_H
#define GPUSORT_PLAN_COLUMNS_WINDOWS_H

#include "nodes/pathnodes.h"

#include "columns_query.h"

/*
 * Returns the table of a subquery that does nothing with its rows but window functions, with the subquery's planner, or
 * NULL: it is no such subquery.
 */
extern RelOptInfo *plan_windows_table(const RelOptInfo *input, PlannerInfo **below);

/* Collects the subquery's windows, and the conditions above them.  Returns NULL, or why they are not answered. */
extern const char *plan_windows(const RelOptInfo *input, PlannerInfo *below, ColumnsParts *parts);

/* Returns an expression of a query as one of what the subquery's columns are; without a subquery, as it is. */
extern void *plan_defined(const ColumnsParts *parts, void *expr);

#endif
