/*
 * plan.h: what the plan walk (plan.c) and the path hook (plan_paths.c) agree on.
 */
#ifndef GPUSORT_PLAN_H
#define GPUSORT_PLAN_H

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

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

/* The aggregates in expressions that sort their input themselves, each once. */
extern List *sorting_aggregates(List *exprs);

/* Is the walk certain to see the plan that is being made?  Only then are costs lowered. */
extern bool plan_will_be_walked;

/* How many rows of some width make a block. */
extern double rows_of_block(int width);

/*
 * What takes the place of a Gather Merge whose child has been walked; itself if that is no GpuSort.
 */
extern Plan *take_gather_merge(PlannedStmt *stmt, GatherMerge *gather);

/*
 * plan_append.c: what takes the place of a Merge Append whose children have been walked; itself if that is to stay.
 */
extern Plan *take_merge_append(const PlannedStmt *stmt, MergeAppend *append, SortBound bound);

/*
 * plan_presort.c: lets the sort below an aggregate, which is yet to be replaced, bring the order that this one wants.
 */
extern void presort_aggregates(Agg *agg);

/*
 * plan_gather.c: what takes the place of a Gather whose child has been walked; itself if no sort of ours is below it.
 */
extern Plan *take_gather(PlannedStmt *stmt, Gather *gather, SortBound bound);

/* The same file: lets no bound that changes pass through what has taken the place of a Gather or Gather Merge. */
extern Plan *stop_bound(const PlannedStmt *stmt, Plan *plan, SortBound bound);

/*
 * plan_junk.c: takes columns that only repeat another one to sort by out of a sort of ours at the top of a finished
 * plan, or below a Gather Merge there (NULL: none) that is about to be replaced.
 */
extern void drop_key_copies(PlannedStmt *stmt, GatherMerge *gather);

/* plan_price.c: forgets what it remembers of a query, before its memory is another one's. */
extern void forget_query(void);

/*
 * plan_shares.c: is it the node that stands above a Sort of which each participant does a share?
 */
extern bool is_share(const Plan *plan);

/* What such a node tells the sort that takes its place, and the Sort's. */
extern List *share_description(const Plan *plan);

/* In _PG_init: the planner's hooks. */
extern void gpusort_plan_init(void);

/* In _PG_init: the hook for paths of ours; plan_paths.c. */
extern void gpusort_paths_init(void);

#endif
