/*
 * sort_choice.h: chooses the sorts that gpusort takes over, by one predicate for plans and costs.
 */
#ifndef GPUSORT_SORT_CHOICE_H
#define GPUSORT_SORT_CHOICE_H

#include "nodes/pathnodes.h"

/* When the number of rows wanted by a Limit above a sort is known. */
typedef enum BoundKind
{
	BOUND_NONE,
	BOUND_CONSTANT,				/* at plan time */
	BOUND_AT_RUN_TIME			/* at run time, in the Limit's process only */
} BoundKind;

typedef struct SortBound
{
	BoundKind	kind;
	double		rows;			/* of BOUND_CONSTANT */
	bool		in_workers;		/* the sort runs in parallel workers, below the Limit */
	bool		changes;		/* differs between scans; PostgreSQL's workers keep the first bound */
	bool		known_above;	/* by another extension's node, which may test the types of nodes below */
} SortBound;

#define UNBOUNDED ((SortBound) {BOUND_NONE, 0, false, false, false})

/* Returns the bound that planned LIMIT and OFFSET expressions set. */
extern SortBound bound_of_limit(Node *count, Node *offset, LimitOption option);

/* Returns true if gpusort takes over a sort with this first key, else false with the reason in *why, unless NULL. */
extern bool sort_is_ours(double rows, Oid sortop, Oid collation, SortBound bound, const char **why);

/* The predicate for a sort that is not in a plan yet.  Returns false if there are no pathkeys. */
extern bool path_sort_is_ours(double rows, const List *pathkeys, SortBound bound);

/* Returns the aggregates in expressions that sort their input themselves, without duplicates. */
extern List *sorting_aggregates(List *exprs);

/* True while planning a query whose plan will be walked.  Costs are lowered only then. */
extern bool plan_will_be_walked;

#endif
