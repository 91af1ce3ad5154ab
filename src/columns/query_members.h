/*
 * query_members.h: what a query asks of columns: filter, keys, requests of aggregates, and which groups are wanted.
 */
#ifndef GPUSORT_COLUMNS_QUERY_MEMBERS_H
#define GPUSORT_COLUMNS_QUERY_MEMBERS_H

#include "nodes/primnodes.h"

#include "kernels/gs_steps.h"
#include "codes.h"

#define QUERY_MAX_ARGUMENTS 4

/* A function of a column's strings. */
typedef struct QueryCall
{
	const FuncExpr *expr;
	int			values[QUERY_MAX_ARGUMENTS];	/* by argument, but for the first, which is the string */
} QueryCall;

/*
 * A test of a column; of HAVING, of a key, or, behind the keys, of a request.  Tests of GS_TEST_IN are against an
 * array, those of GS_TEST_IN_BITS are of strings, by a function of the string, or of what another one returns for it,
 * and the value.
 */
typedef struct QueryTerm
{
	int			column;
	gs_test		test;			/* not BETWEEN or NEVER */
	int			value;			/* what it is compared with; -1: nothing, or with true; of two columns, the other one */
	Oid			type;			/* of the value, or of the array's elements */
	bool		truth;			/* value is -1: compared with this */
	Oid			function;		/* of GS_TEST_IN_BITS */
	const QueryCall *call;		/* gives its argument; NULL: that is the string */
	Oid			collation;
	bool		judged;			/* of a question that is open: what does not pass is not possible (codes.h) */
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
	QUERY_MODE,
	QUERY_RUNS,					/* gpu_rle, of whose array the number of elements is wanted */
	QUERY_RUN_ARRAY,			/* the array */
	QUERY_SORTED_ARRAY			/* gpu_sort_agg */
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
	int64		addend;			/* of a sum: added to each of the request's values */
} QueryAnswer;

/* An order of groups: by a key, or, behind the keys, by a request; an order of rows: by a column. */
typedef struct QueryOrder
{
	int			member;
	bool		descending;
	bool		nulls_first;
} QueryOrder;

/* A difference of dates or times, which PostgreSQL computes only of finite ones: those of its smallest and greatest. */
typedef struct QueryGuard
{
	int			least;			/* requests */
	int			greatest;
} QueryGuard;

/* Columns from here on are given by steps: by COMPUTE, or, in a query with windows, by WINDOW. */
#define QUERY_GIVEN ((int) GS_STEPS_MAX_COLUMNS)

#define QUERY_MAX_COMPUTED ((int) GS_STEPS_MAX_KEYS)

/* An instruction of a computed column, as in gs_instruction. */
typedef struct QueryInstruction
{
	gs_code		code;
	gs_number	result;
	int64		operand;		/* a column, a constant, a divisor, or the least of GS_CODE_WITHIN */
	int64		most;			/* of GS_CODE_WITHIN */
} QueryInstruction;

/* What a computed column is for rows that pass these tests, and those of no choice before. */
typedef struct QueryChoice
{
	QueryTerms	terms;
	int			column;			/* -1: a value */
	int			value;
	Oid			type;			/* of the value */
} QueryChoice;

/* A column that is computed of others, by code or by choices.  Number i of a query is column QUERY_GIVEN + i. */
typedef struct QueryComputed
{
	Expr	   *expr;
	int			ncode;
	QueryInstruction code[GS_STEPS_MAX_CODE];
	int			nchoices;
	QueryChoice choices[GS_STEPS_MAX_CHOICES];
	int			strings;		/* of choices that are strings, the column whose codes they have; -1: none */
} QueryComputed;

/* A function by whose results the service is to know a column's strings. */
typedef struct QueryMapping
{
	const QueryCall *call;
	/* Of a question that is open: */
	uint32		count;
	uint32	   *numbers;		/* by code */
	StringCodes *results;		/* whose codes they are; NULL: they are the results */
} QueryMapping;

#define QUERY_MAX_WINDOWS 8

/* A window: its partition's columns, in no order, then the order of its rows. */
typedef struct QueryWindow
{
	int			npartition;
	int			norders;
	bool		positions;		/* its rows are in the order of the table */
	QueryOrder	keys[GS_STEPS_MAX_KEYS];
} QueryWindow;

/* A function over a window.  Number i of a query gives column QUERY_GIVEN + i. */
typedef struct QueryFunction
{
	const Expr *expr;			/* WindowFunc, or the Aggref of gpu_rle; NULL: a part of an average */
	int			window;
	gs_window_function function;	/* its column is the query's; its constant: there is one */
	gs_constant constant;
} QueryFunction;

/* An average over a window, of rows with what windows give: a sum and a number of values, each a column of a step. */
typedef struct QueryAverage
{
	const WindowFunc *expr;
	int			sum;
	int			count;
} QueryAverage;

/* The values of a query's expressions without columns. */
typedef struct QueryValues
{
	Datum	   *values;
	bool	   *nulls;
} QueryValues;

typedef struct ColumnsQuery
{
	int			ncolumns;
	ColumnDescription columns[2 * GS_STEPS_MAX_COLUMNS];	/* by type alone, and their numbers; then those given */
	StringCodes *codes[2 * GS_STEPS_MAX_COLUMNS];	/* of a question that is open, by column; NULL: not of strings */
	Oid			ranked[GS_STEPS_MAX_COLUMNS];	/* the collation that strings are ranked by; InvalidOid: they are not */
	QueryMapping *mapped[GS_STEPS_MAX_COLUMNS]; /* results of a function of the column's strings; NULL: its own */
	bool		needs_strings;	/* all of them: functions take them, or they are ranked */
	int			ncomputed;
	QueryComputed *computed;	/* room for QUERY_MAX_COMPUTED; NULL: there are none */
	List	   *values;			/* expressions without columns, evaluated for each scan */
	QueryTerms	where;
	int			nwindows;
	QueryWindow windows[QUERY_MAX_WINDOWS];
	int			nfunctions;
	QueryFunction *functions;	/* room for GS_STEPS_MAX_COLUMNS; NULL: there are none */
	QueryTerms	above;			/* of rows with the windows' columns */
	bool		subquery;		/* the windows are those of a subquery */
	bool		positions;		/* some window needs a column of where rows are, which is behind all others */
	bool		repeated;		/* groups stand for their rows */
	int			naverages;
	QueryAverage averages[GS_STEPS_MAX_KEYS];
	int			nkeys;
	int			nmembers;		/* of the keys, those that the plan has; */
	int			keys[GS_STEPS_MAX_KEYS];	/* columns */
	int			counts[GS_STEPS_MAX_KEYS];	/* by key: behind the members, the one that divides it; 0: none */
	int			nrequests;
	QueryRequest requests[GS_STEPS_MAX_AGGREGATES];
	int			nanswers;
	QueryAnswer *answers;		/* in the order of the aggregates */
	int			nguards;
	QueryGuard	guards[GS_STEPS_MAX_AGGREGATES];
	QueryTerms	having;
	int			norders;
	QueryOrder	orders[GS_STEPS_MAX_KEYS];
	int			limit;			/* values; -1: none */
	int			offset;
	const Aggref *array;		/* the only aggregate, whose elements come as groups; NULL: there is none */
	bool		array_runs;		/* of gpu_rle */
	int			array_keys;		/* of nkeys, those of its groups; the last one is a run's number, or a value */
	int			array_column;	/* of its values; of runs, the second aggregate, behind their number of rows */
	bool		rows;			/* rows are wanted, not groups: */
	uint64		first_row;		/* of those in an order, from this one on, */
	uint64		most_rows;		/* this many; 0: all */
} ColumnsQuery;

#endif
