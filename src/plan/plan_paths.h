/*
 * plan_paths.h: the planner's stages, and what each is offered.
 */
#ifndef GPUSORT_PLAN_PATHS_H
#define GPUSORT_PLAN_PATHS_H


/* In _PG_init: the hook for paths. */
extern void gpusort_paths_init(void);

#endif
