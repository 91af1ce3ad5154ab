/*
 * plan_columns_groups.h: the groups of a query, as columns answer them: keys, aggregates, HAVING, and how many of them
 * are wanted.
 */
#ifndef GPUSORT_PLAN_COLUMNS_GROUPS_H
#define GPUSORT_PLAN_COLUMNS_GROUPS_H

#include "nodes/pathnodes.h"

#include "columns_query.h"

/* Returns true if a query has groups of GROUP BY, or aggregates. */
extern bool plan_aggregates(const PlannerInfo *root);

/* Returns true if the groups of a query are those of its DISTINCT: without GROUP BY and aggregates. */
extern bool plan_is_distinct(const PlannerInfo *root);

/* Collects keys and aggregates of the groups' target.  Returns NULL, or why columns cannot answer them. */
extern const char *plan_groups(PlannerInfo *root, const PathTarget *target, ColumnsParts *parts);

/*
 * Has groups chosen where they are made, as far as that can be done: by conditions of HAVING, and by the ORDER BY with
 * LIMIT that stands right above.  Returns the conditions that are left.
 */
extern List *plan_chosen_groups(PlannerInfo *root, ColumnsParts *parts);

/* Has rows that are counted as groups chosen by the ORDER BY with LIMIT above, if nothing else is between. */
extern void plan_chosen_rows(const PlannerInfo *root, const RelOptInfo *input, ColumnsParts *parts);

/* Returns the number of groups of LIMIT and OFFSET, as far as it is known; 0: it is not. */
extern double plan_wanted_groups(const ColumnsParts *parts);

/* Returns PostgreSQL's path that computes a target from the rows of a table, or NULL. */
extern Path *plan_groups_child(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped, PathTarget *target);

#endif
