/*
 * string_functions.h: functions of strings in expressions: PostgreSQL's own, called once for each string of a
 * dictionary.
 */
#ifndef GPUSORT_COLUMNS_STRING_FUNCTIONS_H
#define GPUSORT_COLUMNS_STRING_FUNCTIONS_H

#include "query_members.h"

/*
 * Returns true for a call of a function of a column of strings and values, which may be called for strings of rows that
 * nobody asked about, and returns an integer that is not negative, or text.
 */
extern bool string_function_is(const Expr *expr);

/* Makes a call of a query's. */
extern QueryCall *string_function_call(ColumnsQuery *query, const FuncExpr *expr);

/* Finds the column of a call's results, a new one if necessary.  Returns NULL, or why there is none. */
extern const char *string_function_add(ColumnsQuery *query, const FuncExpr *call, int *index);

/*
 * Calls the functions for all possible strings of an open question, whose codes are begun.  Sets their results, and
 * codes of computed columns of strings.  Returns NULL, or why PostgreSQL has to do it.
 */
extern const char *string_functions_call(ColumnsQuery *query, const QueryValues *values);

#endif
