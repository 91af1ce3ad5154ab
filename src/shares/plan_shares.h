/*
 * plan_shares.h: windows, DISTINCT and groups in shares.
 */
#ifndef GPUSORT_PLAN_SHARES_H
#define GPUSORT_PLAN_SHARES_H

#include "nodes/pathnodes.h"

/* What the server's ways of grouping all input rows have in common. */
typedef struct Grouping
{
	List	   *clause;
	List	   *qual;
	double		groups;
	PathTarget *target;
	int			ours;			/* aggregates of ours in the target */
} Grouping;

/*
 * Like the window functions of one of the server's paths, those of a participant for a share of the
 * groups, as a partial path, and a Gather over it; NIL if that cannot be.
 */
extern List *share_windows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *window);

/* The same of DISTINCT, over that order, with so many rows. */
extern List *share_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *distinct, List *pathkeys, double rows);

/* The same of GROUP BY. */
extern List *share_groups(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped, const Grouping *grouping,
						  const AggClauseCosts *costs);

#endif
