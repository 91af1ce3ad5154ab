/*
 * plan_combine.h: replaces aggregates that sort in queries that combine rows on a Citus coordinator.
 */
#ifndef GPUSORT_PLAN_COMBINE_H
#define GPUSORT_PLAN_COMBINE_H

#include "nodes/plannodes.h"

/* Replaces the aggregates of a plan node that combines rows sent to Citus by other nodes. */
extern void replace_combined(PlannedStmt *stmt, Agg *agg);

#endif
