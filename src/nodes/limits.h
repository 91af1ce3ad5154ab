/*
 * limits.h: passes Limits on to gpusort's nodes.
 */
#ifndef GPUSORT_LIMITS_H
#define GPUSORT_LIMITS_H

#include "nodes/execnodes.h"

/* In _PG_init: a hook where execution starts. */
extern void gpusort_limits_init(void);

/* Returns the largest number of rows that a running Limit can fetch; 0 if it is unbounded or NULL. */
extern int64 limit_rows(const LimitState *limit);

#endif
