/*
 * columns_computed.h: expressions that are computed of columns, row by row, before anything else is done with them.
 */
#ifndef GPUSORT_COLUMNS_COMPUTED_H
#define GPUSORT_COLUMNS_COMPUTED_H

#include "query_members.h"
#include "steps_writer.h"

/* Finds a computed column, a new one if necessary.  Returns NULL, or why it cannot be computed. */
extern const char *computed_add(ColumnsQuery *query, Expr *expr, int *index);

/* Adds the keys of groups, columns or computed of them.  Returns NULL, or why one is neither. */
extern const char *computed_add_keys(ColumnsQuery *query, List *keys);

/* Adds expressions whose values are checked alone.  Returns NULL, or why one cannot be computed. */
extern const char *computed_add_checks(ColumnsQuery *query, const List *checks);

/* Writes the types of the computed columns; returns their number. */
extern uint32 computed_put_types(const ColumnsQuery *query, uint8 *types);

/* Writes COMPUTE, if the query has such columns.  Returns NULL, or why it cannot. */
extern const char *computed_put(StepsWriter *writer, const ColumnsQuery *query, const QueryValues *values);

#endif
