/*
 * columns_arrays.h: arrays whose elements come from columns as groups.
 */
#ifndef GPUSORT_COLUMNS_ARRAYS_H
#define GPUSORT_COLUMNS_ARRAYS_H

#include "columns_result.h"

/* Groups that become arrays.  Begins as zeros, with the query. */
typedef struct ColumnsArrays
{
	const ColumnsQuery *query;
	uint64		count;
	uint64		room;
	gs_reduced *groups;			/* in the context of the first ones */
	uint64		next;			/* of the next array */
} ColumnsArrays;

/* Takes groups.  Returns NULL, or why there is no room. */
extern const char *arrays_take(ColumnsArrays *arrays, const gs_reduced *groups, uint64 n);

/* Puts all groups in the order of their arrays.  rows: all rows that were looked at. */
extern const char *arrays_order(ColumnsArrays *arrays, uint64 rows);

/*
 * Writes the keys and the array of the next group of the query; without keys there is one, which may be of no rows.
 * *done: there is none.  Returns NULL, or why PostgreSQL has to make it.
 */
extern const char *arrays_next(ColumnsArrays *arrays, Datum *values, bool *nulls, bool *done);

#endif
