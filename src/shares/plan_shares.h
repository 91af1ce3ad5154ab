/*
 * plan_shares.h: windows, DISTINCT and groups in shares.
 */
#ifndef GPUSORT_PLAN_SHARES_H
#define GPUSORT_PLAN_SHARES_H

#include "nodes/pathnodes.h"

/* The grouping of all input rows, common to the server's paths. */
typedef struct Grouping
{
	List	   *clause;
	List	   *qual;
	double		groups;
	PathTarget *target;
	int			ours;			/* gpusort's aggregates in the target */
} Grouping;

/* Copies the window functions of a path for shares.  Returns a partial path and a Gather over it, or NIL. */
extern List *share_windows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *window);

/* Returns paths for DISTINCT in shares, like share_windows, over this order, with this many rows. */
extern List *share_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *distinct, List *pathkeys, double rows);

/* Returns paths for GROUP BY in shares, like share_windows. */
extern List *share_groups(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped, const Grouping *grouping,
						  const AggClauseCosts *costs);

#endif
