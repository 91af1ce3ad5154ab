/*
 * plan.h: the walk over finished plans.
 */
#ifndef GPUSORT_PLAN_H
#define GPUSORT_PLAN_H


/* In _PG_init: the planner's hooks. */
extern void gpusort_plan_init(void);

#endif
