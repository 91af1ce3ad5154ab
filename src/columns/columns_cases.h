/*
 * columns_cases.h: CASE and coalesce of columns and values as choices that the service makes, row by row.
 */
#ifndef GPUSORT_COLUMNS_CASES_H
#define GPUSORT_COLUMNS_CASES_H

#include "query_members.h"
#include "steps_writer.h"

/* Returns true for a CASE or coalesce. */
extern bool cases_is(const Expr *expr);

/* Describes its choices.  Returns NULL, or why the service cannot make them. */
extern const char *cases_add(ColumnsQuery *query, const Expr *expr, QueryComputed *computed);

/*
 * Gives strings among the values of choices codes, those of the column that is the other choice, before codes are
 * ranked.  Returns NULL, or why one has none.
 */
extern const char *cases_begin_codes(ColumnsQuery *query, const QueryValues *values);

/* Writes the choices of a column that is given, and sets their place.  Returns NULL, or why it cannot. */
extern const char *cases_put(StepsWriter *writer, const ColumnsQuery *query, const QueryValues *values, int column,
							 uint32 *offset);

#endif
