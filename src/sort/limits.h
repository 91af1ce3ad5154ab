/*
 * limits.h: how nodes of ours hear of the Limit above them.
 */
#ifndef GPUSORT_LIMITS_H
#define GPUSORT_LIMITS_H

extern void gpusort_limits_init(void);

#endif
