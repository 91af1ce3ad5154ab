/*
 * columns_query.h: a query's filter and aggregates, as questions about columns.
 *
 * The planner and the executor make it from the expressions, which they both have: the planner to see that columns can
 * answer, the executor to have the service do so.
 */
#ifndef GPUSORT_COLUMNS_QUERY_H
#define GPUSORT_COLUMNS_QUERY_H

#include "query_members.h"

/* The parts of a query that columns answer. */
typedef struct ColumnsParts
{
	List	   *keys;			/* columns of the table, or what windows give, or what is computed of columns */
	List	   *aggregates;
	List	   *kinds;			/* of aggregates: QueryKinds */
	List	   *conditions;		/* ANDed, as are those of above and having */
	List	   *windows;		/* WindowSpecs, */
	List	   *window_keys;	/* and their keys */
	List	   *above;			/* conditions of rows with what windows give */
	List	   *having;			/* of groups */
	List	   *limits;			/* LIMIT and, if there is one, OFFSET; NIL: all groups are wanted */
	List	   *orders;			/* of limits, three integers each: QueryOrders of keys and aggregates, or of sorted */
	bool		repeated;		/* groups stand for their rows */
	bool		rows;			/* rows are wanted that pass the conditions, not groups: */
	List	   *sorted;			/* Vars that they are ordered by */
	List	   *checks;			/* expressions of keys alone, which PostgreSQL computes for each row */
	/* The planner alone: */
	List	   *members;		/* keys and aggregates as the plan above has them */
	List	   *defined;		/* what the columns of the subquery are; NIL: the rows are the table's */
} ColumnsParts;

/* Makes a query of its parts.  Returns NULL, or why columns cannot answer it. */
extern const char *columns_query(const ColumnsParts *parts, ColumnsQuery *query);

#endif
