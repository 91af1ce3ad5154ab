/*
 * columns_result.h: the service's answers as PostgreSQL's aggregates give them.
 */
#ifndef GPUSORT_COLUMNS_RESULT_H
#define GPUSORT_COLUMNS_RESULT_H

#include "columns_steps.h"

/*
 * Writes a group's keys, then the values of the query's aggregates.  group: a gs_reduced for each key, then for each
 * aggregate of the list of steps.  rows: all rows that were looked at.  Returns NULL, or why PostgreSQL has to compute
 * them: by its own aggregate they are an error, depend on the order of rows, or they are impossible.
 */
extern const char *columns_result(const ColumnsQuery *query, const QueryValues *given, const ColumnsSteps *steps,
								  const gs_reduced *group, uint64 rows, Datum *values, bool *nulls);

/* Writes one of a column's values.  Returns NULL, or why PostgreSQL has to choose it, or it is impossible. */
extern const char *columns_value(const ColumnsQuery *query, int index, const gs_reduced *reduced, Datum *value,
								 bool *isnull);

#endif
