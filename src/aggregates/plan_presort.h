/*
 * plan_presort.h: lets aggregates with an order of their own take their values from a sort below them.
 */
#ifndef GPUSORT_PLAN_PRESORT_H
#define GPUSORT_PLAN_PRESORT_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * Removes from an Agg the orders that a sort below it provides.  A sort of groups is extended by such an order first,
 * before it is replaced.
 */
extern void presort_aggregates(Agg *agg);

/* Returns aggregates without groups over gpusort's sorts by the longest order that they need, if these are cheaper. */
extern List *presorted_aggregates(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped);

#endif
