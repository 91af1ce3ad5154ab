/*
 * plan_elsewhere.h: queries that may be computed where gpusort is not known.
 */
#ifndef GPUSORT_PLAN_ELSEWHERE_H
#define GPUSORT_PLAN_ELSEWHERE_H

#include "nodes/parsenodes.h"

/* Does a module watch which functions are executed? */
extern bool functions_are_watched(void);

/* May a query be computed where PostgreSQL's aggregates are known and gpusort's are not? */
extern bool is_computed_elsewhere(Query *query);

#endif
