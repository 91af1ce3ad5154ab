/*
 * plan_presort.h: one sort for groups and for the order within them.
 */
#ifndef GPUSORT_PLAN_PRESORT_H
#define GPUSORT_PLAN_PRESORT_H

#include "nodes/plannodes.h"

/* Lets the sort below an aggregate, which is yet to be replaced, bring the order that the aggregate wants. */
extern void presort_aggregates(Agg *agg);

#endif
