/*
 * plan_aggregates.h: replaces PostgreSQL's aggregates that sort by gpusort's.
 */
#ifndef GPUSORT_PLAN_AGGREGATES_H
#define GPUSORT_PLAN_AGGREGATES_H

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/* True while planning a query with replaced aggregates. */
extern bool plan_has_replaced_aggregates;

/* Returns the query to plan: itself, or a copy with replaced aggregates.  *theirs receives replaced functions. */
extern Query *replace_aggregates(Query *query, List **theirs);

/* Walker: collects the aggregates in an expression that belong to its own query level.  context is a List **. */
extern bool collect_aggregates(Node *node, void *context);

/* Returns an aggregate's replacement in a finished plan, or itself.  All its values reach one node.  Adds functions. */
extern Aggref *replace_planned_aggregate(Aggref *aggregate, List **functions);

/* Makes a plan depend on functions it no longer names, so that changes of their privileges invalidate it. */
extern void depend_on_aggregates(PlannedStmt *stmt, const List *theirs);

/* Returns true if an aggregate is a replacement.  *distinct: it counts distinct values. */
extern bool aggregate_is_ours(const Aggref *aggregate, bool *distinct);

/* Counts the aggregates in expressions that are replacements. */
extern int	count_ours(List *exprs);

/* Initialization, in _PG_init. */
extern void gpusort_aggregates_init(void);

#endif
