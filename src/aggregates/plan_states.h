/*
 * plan_states.h: which aggregates are split between workers.
 */
#ifndef GPUSORT_PLAN_STATES_H
#define GPUSORT_PLAN_STATES_H


/* In _PG_init: a hook where relations get their paths. */
extern void gpusort_states_init(void);

#endif
