/*
 * sort_choice.h: which sorts gpusort takes over: the one predicate behind plans and costs.
 */
#ifndef GPUSORT_SORT_CHOICE_H
#define GPUSORT_SORT_CHOICE_H

#include "nodes/pathnodes.h"

/* How much a Limit above lets a sort know of the rows that will be wanted. */
typedef enum BoundKind
{
	BOUND_NONE,
	BOUND_CONSTANT,				/* while planning */
	BOUND_AT_RUN_TIME			/* only in the process that runs the Limit */
} BoundKind;

typedef struct SortBound
{
	BoundKind	kind;
	double		rows;			/* if constant */
	bool		in_workers;		/* the sort runs in parallel workers, below the Limit */
	bool		changes;		/* from one scan to the next; PostgreSQL's workers keep the first that they are told */
	bool		known_above;	/* by a node of another extension, which may know the nodes below it by kind */
} SortBound;

#define UNBOUNDED ((SortBound) {BOUND_NONE, 0, false, false, false})

/* What a sort learns from LIMIT and OFFSET, as planned expressions. */
extern SortBound bound_of_limit(Node *count, Node *offset, LimitOption option);

/*
 * Will this sort be ours?  The one predicate behind plans and costs.  If not, *why says it in a few words, unless why
 * is NULL.
 */
extern bool sort_is_ours(double rows, SortBound bound, const char **why);

/* Returns the aggregates in expressions that sort their input themselves, each once. */
extern List *sorting_aggregates(List *exprs);

/* True while a plan is made that the walk is certain to see.  Only then are costs lowered. */
extern bool plan_will_be_walked;

#endif
