/*
 * plan_elsewhere.h: detects queries that may run where gpusort's aggregates are unknown.
 */
#ifndef GPUSORT_PLAN_ELSEWHERE_H
#define GPUSORT_PLAN_ELSEWHERE_H

#include "nodes/parsenodes.h"

/* Returns true if a module audits function calls. */
extern bool functions_are_watched(void);

/* Returns true if a query may run where gpusort's aggregates are unknown. */
extern bool is_computed_elsewhere(Query *query);

#endif
