/*
 * plan_columns_windows.h: aggregates over a subquery with windows, and rows with what windows give.
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

/*
 * Collects the columns of a target as those of rows: of a query with windows over a table, or over a subquery with
 * windows.  Returns NULL, or why columns cannot give them.
 */
extern const char *plan_window_rows(const PlannerInfo *root, const PathTarget *target, ColumnsParts *parts);

/*
 * Returns how many rows pass the conditions above, of those that the server expects: it knows no better than that some
 * pass a condition on a rank.
 */
extern double plan_window_rows_passed(PlannerInfo *below, const ColumnsParts *parts, double table_rows, double rows);

/* Has what windows give stand in a finished plan without them: from 18 on EXPLAIN finds windows only in their nodes. */
extern void plan_name_window_rows(CustomScan *scan);

/* Returns a copy of PostgreSQL's cheapest path of a relation that gives such rows, with a target, or NULL. */
extern Path *plan_window_rows_child(const RelOptInfo *rel, PathTarget *target);

#endif
