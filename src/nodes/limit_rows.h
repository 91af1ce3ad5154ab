/*
 * limit_rows.h: how many rows a Limit will fetch.
 */
#ifndef GPUSORT_LIMIT_ROWS_H
#define GPUSORT_LIMIT_ROWS_H

#include "nodes/execnodes.h"

/* The number of rows that a Limit will fetch at most, once it runs; 0 if it does not say, or is NULL. */
static inline int64
limit_rows(const LimitState *limit)
{
	if (limit == NULL || limit->noCount || limit->limitOption == LIMIT_OPTION_WITH_TIES)
		return 0;
	/* a sum past the range is no bound */
	if (limit->count < 0 || limit->offset < 0 || limit->count > PG_INT64_MAX - limit->offset)
		return 0;
	return limit->count + limit->offset;
}

#endif
