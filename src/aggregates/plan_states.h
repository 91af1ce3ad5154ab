/*
 * plan_states.h: decides which replaced aggregates are split between workers.
 */
#ifndef GPUSORT_PLAN_STATES_H
#define GPUSORT_PLAN_STATES_H


/* Installs set_rel_pathlist_hook, in _PG_init. */
extern void gpusort_states_init(void);

#endif
