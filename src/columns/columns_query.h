/*
 * columns_query.h: a query's filter and aggregates, as questions about columns.
 *
 * The planner and the executor make it from the expressions, which they both have: the planner to see that columns can
 * answer, the executor to have the service do so.
 */
#ifndef GPUSORT_COLUMNS_QUERY_H
#define GPUSORT_COLUMNS_QUERY_H

#include "nodes/primnodes.h"

#include "kernels/gs_steps.h"
#include "column.h"

/* A test of a column.  Tests of GS_TEST_IN are against an array. */
typedef struct QueryTerm
{
	int			column;
	gs_test		test;			/* not BETWEEN or NEVER */
	int			value;			/* what it is compared with; -1: nothing, or with true */
	Oid			type;			/* of the value, or of the array's elements */
	bool		truth;			/* value is -1: compared with this */
} QueryTerm;

/* An element of an expression in postfix, with the type of its value. */
typedef struct QueryItem
{
	gs_code		code;
	int			operand;		/* a column or a value */
	Oid			type;
} QueryItem;

/* An aggregate of the service.  Several of the query's may need one. */
typedef struct QueryRequest
{
	gs_operation operation;
	Expr	   *argument;		/* NULL: rows are counted */
	Oid			type;			/* of the argument */
	int			nitems;
	QueryItem  *items;
} QueryRequest;

/* An aggregate of the query, and the requests that answer it; -1: none. */
typedef struct QueryAnswer
{
	const Aggref *aggregate;
	int			request;
	int			least;			/* avg of doubles: its smallest and greatest value */
	int			greatest;
} QueryAnswer;

typedef struct ColumnsQuery
{
	int			ncolumns;
	ColumnDescription columns[GS_STEPS_MAX_COLUMNS];	/* by type alone, and their numbers */
	List	   *values;			/* expressions without columns, evaluated for each scan */
	int			nterms;
	QueryTerm  *terms;
	int			nrequests;
	QueryRequest requests[GS_STEPS_MAX_AGGREGATES];
	int			nanswers;
	QueryAnswer *answers;		/* in the order of the aggregates */
} ColumnsQuery;

/*
 * Makes a query of conditions, which are ANDed, and aggregates.  Returns NULL, or why columns cannot answer it.
 */
extern const char *columns_query(List *conditions, List *aggregates, ColumnsQuery *query);

#endif
