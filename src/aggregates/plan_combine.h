/*
 * plan_combine.h: aggregates in what Citus combines.
 */
#ifndef GPUSORT_PLAN_COMBINE_H
#define GPUSORT_PLAN_COMBINE_H

#include "nodes/plannodes.h"

/* Replaces the aggregates of a finished plan's node if it combines what other nodes send to Citus. */
extern void replace_combined(PlannedStmt *stmt, Agg *agg);

#endif
