/*
 * columns_expressions.h: expressions of aggregates as code, with the constants of one scan.
 */
#ifndef GPUSORT_COLUMNS_EXPRESSIONS_H
#define GPUSORT_COLUMNS_EXPRESSIONS_H

#include "query_members.h"
#include "steps_writer.h"

/* What is known of an expression that was written. */
typedef struct PutExpression
{
	int			scale;			/* decimals of its integers */
	bool		all_null;		/* a constant of it is NULL: there is no code */
} PutExpression;

/* Writes a request's expression as that of an aggregate.  Returns NULL, or why it cannot be. */
extern const char *expressions_put(StepsWriter *writer, const ColumnsQuery *query, const QueryValues *values,
								   const QueryRequest *request, gs_aggregate *aggregate, PutExpression *put);

#endif
