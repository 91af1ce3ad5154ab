/*
 * limits.h: how nodes of ours hear of the Limit above them.
 */
#ifndef GPUSORT_LIMITS_H
#define GPUSORT_LIMITS_H

/* In _PG_init: a hook where execution starts. */
extern void gpusort_limits_init(void);

#endif
