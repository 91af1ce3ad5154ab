/*
 * plan_aggregates.h: aggregates of PostgreSQL that sort for themselves, replaced by ours.
 */
#ifndef GPUSORT_PLAN_AGGREGATES_H
#define GPUSORT_PLAN_AGGREGATES_H

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/* Is the plan that is being made one of a query with such aggregates? */
extern bool plan_has_replaced_aggregates;

/*
 * The query as it is to be planned: itself, or a copy with aggregates of ours.  *theirs are the functions whose place
 * they took.
 */
extern Query *replace_aggregates(Query *query, List **theirs);

/* Collects the aggregates in an expression that are its own query's; context is a List **. */
extern bool collect_aggregates(Node *node, void *context);

/*
 * What takes the place of an aggregate of a finished plan, all of whose values come to one node; itself if nothing
 * does.  The functions that its place was taken by and from are added to a list.
 */
extern Aggref *replace_planned_aggregate(Aggref *aggregate, List **functions);

/* Makes a plan depend on the functions that it does not name any more, for rights on them to be looked at again. */
extern void depend_on_aggregates(PlannedStmt *stmt, const List *theirs);

/* Is this one of ours that are replacements, and does it count values? */
extern bool aggregate_is_ours(const Aggref *aggregate, bool *distinct);

/* In _PG_init. */
extern void gpusort_aggregates_init(void);

#endif
