/*
 * plan_columns.h: offers answers from resident columns to the planner.
 */
#ifndef GPUSORT_PLAN_COLUMNS_H
#define GPUSORT_PLAN_COLUMNS_H

#include "nodes/pathnodes.h"

#include "query_members.h"

/* Offers an answer of a query's aggregates, groups or DISTINCT from columns, at the stage that makes them. */
extern void offer_columns(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *grouped);

/*
 * Offers the rows of a query with windows over a table, or, if input is output, those of a subquery with windows.
 */
extern void offer_window_rows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output);

/*
 * Returns the cost of a question about a relation whose columns are held, with its pages that have to be read in the
 * table.  nvalues: values that are looked at for each row.
 */
extern Cost columns_held_cost(const RelOptInfo *rel, Oid relation, int nvalues);

/*
 * Returns true if all columns of a table that a query needs are chosen in a relation, it or a partition, and are not
 * known to be too much to be held.
 */
extern bool columns_are_chosen(Oid relation, Oid table, const ColumnsQuery *query);

#endif
