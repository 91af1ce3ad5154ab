/*
 * plan.h: the walk over finished plans.
 */
#ifndef GPUSORT_PLAN_H
#define GPUSORT_PLAN_H


/* Installs the planner's hooks, in _PG_init. */
extern void gpusort_plan_init(void);

#endif
