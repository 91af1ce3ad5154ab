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

/* A test of a column; of HAVING, of a key, or, behind the keys, of a request.  Tests of GS_TEST_IN are against an array. */
typedef struct QueryTerm
{
	int			column;
	gs_test		test;			/* not BETWEEN or NEVER */
	int			value;			/* what it is compared with; -1: nothing, or with true */
	Oid			type;			/* of the value, or of the array's elements */
	bool		truth;			/* value is -1: compared with this */
} QueryTerm;

/* Tests that are ANDed. */
typedef struct QueryTerms
{
	int			count;
	QueryTerm  *terms;
} QueryTerms;

/* An element of an expression in postfix, with the type of its value. */
typedef struct QueryItem
{
	gs_code		code;
	int			operand;		/* a column or a value */
	Oid			type;
} QueryItem;

/* What aggregates of the query do with their values. */
typedef enum QueryKind
{
	QUERY_UNKNOWN,
	QUERY_PLAIN,				/* count, sum, avg, min, max */
	QUERY_DISTINCT,				/* count of different values */
	QUERY_CONTINUOUS,			/* a percentile, or an array of them */
	QUERY_DISCRETE,
	QUERY_MODE
} QueryKind;

/* An aggregate of the service.  Several of the query's may need one. */
typedef struct QueryRequest
{
	int			operation;		/* gs_operation or gs_aggregation; GS_RANK_FLOOR: and GS_RANK_CEIL */
	Expr	   *argument;		/* NULL: rows are counted */
	List	   *filter;			/* conditions of its FILTER clause */
	int			fraction;		/* of ranks: a value, of this type: float8, or an array */
	Oid			fraction_type;
	Oid			type;			/* of the argument */
	int			nitems;
	QueryItem  *items;
	QueryTerms	terms;			/* the filter's */
} QueryRequest;

/* An aggregate of the query, and the requests that answer it; -1: none. */
typedef struct QueryAnswer
{
	const Aggref *aggregate;
	int			request;
	int			least;			/* avg of doubles: its smallest and greatest value */
	int			greatest;
	bool		cast;			/* ranks are cast to float8 */
} QueryAnswer;

/* An order of groups: by a key, or, behind the keys, by a request. */
typedef struct QueryOrder
{
	int			member;
	bool		descending;
	bool		nulls_first;
} QueryOrder;

typedef struct ColumnsQuery
{
	int			ncolumns;
	ColumnDescription columns[GS_STEPS_MAX_COLUMNS];	/* by type alone, and their numbers */
	List	   *values;			/* expressions without columns, evaluated for each scan */
	QueryTerms	where;
	int			nkeys;
	int			keys[GS_STEPS_MAX_KEYS];	/* columns */
	int			nrequests;
	QueryRequest requests[GS_STEPS_MAX_AGGREGATES];
	int			nanswers;
	QueryAnswer *answers;		/* in the order of the aggregates */
	QueryTerms	having;
	int			norders;
	QueryOrder	orders[GS_STEPS_MAX_KEYS];
	int			limit;			/* values; -1: none */
	int			offset;
} ColumnsQuery;

/* The parts of a query that columns answer. */
typedef struct ColumnsParts
{
	List	   *keys;			/* Vars */
	List	   *aggregates;
	List	   *kinds;			/* of aggregates: QueryKinds */
	List	   *conditions;		/* ANDed, as are those of having */
	List	   *having;			/* of groups */
	List	   *limits;			/* LIMIT and, if there is one, OFFSET; NIL: all groups are wanted */
	List	   *orders;			/* of limits: three integers each, a QueryOrder whose members are keys, then aggregates */
} ColumnsParts;

/* Returns what an aggregate does. */
extern QueryKind columns_aggregate_kind(const Aggref *aggregate);

/* Makes a query of its parts.  Returns NULL, or why columns cannot answer it. */
extern const char *columns_query(const ColumnsParts *parts, ColumnsQuery *query);

#endif
