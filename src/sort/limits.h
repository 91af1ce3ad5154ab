/*
 * limits.h: how nodes of ours hear of the Limit above them.
 */
#ifndef GPUSORT_LIMITS_H
#define GPUSORT_LIMITS_H

#include "nodes/execnodes.h"

extern void gpusort_limits_init(void);

/* The number of rows that a Limit will fetch at most, once it runs; 0 if it does not say, or is NULL. */
extern int64 limit_rows(const LimitState *limit);

#endif
