/*
 * plan_presort.h: extends the sort below a grouping aggregate by the order that aggregates need within groups.
 */
#ifndef GPUSORT_PLAN_PRESORT_H
#define GPUSORT_PLAN_PRESORT_H

#include "nodes/plannodes.h"

/* Extends the sort below an aggregate, before that sort is replaced, by the order that the aggregate needs. */
extern void presort_aggregates(Agg *agg);

#endif
