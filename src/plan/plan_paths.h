/*
 * plan_paths.h: offers paths over gpusort's sorts to the planner.
 */
#ifndef GPUSORT_PLAN_PATHS_H
#define GPUSORT_PLAN_PATHS_H


/* Installs the hook for paths, in _PG_init. */
extern void gpusort_paths_init(void);

#endif
