/*
 * columns_node.h: Custom Scan (GpuColumns), which answers aggregates and groups from resident columns, and rows with
 * what windows give.  Its variant for rows of tables is in columns_rows_node.h.
 */
#ifndef GPUSORT_COLUMNS_NODE_H
#define GPUSORT_COLUMNS_NODE_H

#include "nodes/execnodes.h"

#include "utils/tuplestore.h"

#include "src/nodes/our_node.h"
#include "columns_answer.h"

#define COLUMNS_NODE_NAME "GpuColumns"

/* The members of a plan's custom_private, before its variant. */
typedef enum ColumnsPrivate
{
	COLUMNS_PRIVATE_LEAVES,		/* OID list: the partitions to read; NIL: the table itself */
	COLUMNS_PRIVATE_COUNTS,		/* int list by ColumnsCounts: members of custom_scan_tlist, in this order */
	COLUMNS_PRIVATE_KINDS,		/* int list: ColumnsParts' */
	COLUMNS_PRIVATE_ORDERS,		/* int list: ColumnsParts' */
	COLUMNS_PRIVATE_SUBQUERY	/* the table, an OID list, then ColumnsParts' windows */
} ColumnsPrivate;

typedef enum ColumnsCounts
{
	COLUMNS_MEMBERS,			/* keys and aggregates, as the plan above has them */
	COLUMNS_KEYS,
	COLUMNS_AGGREGATES,
	COLUMNS_CONDITIONS,
	COLUMNS_WINDOW_KEYS,
	COLUMNS_ABOVE,
	COLUMNS_HAVING,
	COLUMNS_LIMITS,
	COLUMNS_CHECKS,
	COLUMNS_COUNTED,			/* not a number, but whether that of groups is returned, and not the groups */
	COLUMNS_REPEATED			/* likewise, whether groups stand for their rows, which are returned */
} ColumnsCounts;

typedef struct GpuColumnsState
{
	CustomScanState css;
	PlanState  *child;			/* PostgreSQL's aggregate over the table, windows, or scan */
	Relation	table;			/* whose columns the query names */
	bool		counted;		/* the number of groups is returned, and not the groups */
	bool		repeated;		/* each group is returned as the rows that it has */
	bool		opened;			/* by the node: it scans a subquery's table */
	ColumnsParts parts;
	List	   *leaves;			/* OIDs, or NIL */
	ColumnsQuery *query;		/* NULL until the first answer */
	List	   *values;			/* ExprStates of the query's values */
	Bitmapset  *values_caught;	/* of them, those that hold nothing when they raise errors */
	Bitmapset  *values_params;	/* of subqueries, which may hold something */
	MemoryContext context;		/* of an answer */
	MemoryContext some;			/* of some groups while they become rows */
	ColumnsQuestion *question;	/* while groups come */
	struct ColumnsArrays *arrays;	/* which they become */
	bool		begun;			/* this scan has an answer, or runs the child */
	bool		returned;		/* the row of this scan */
	bool		answered;		/* from columns: it lies in the scan's slot, or groups in their store */
	Tuplestorestate *groups;
	TupleTableSlot *group;		/* of that store */
	const char *why;			/* the child runs; NULL: it does not */
	ColumnsFigures figures;		/* of all scans */
	uint64		scans;			/* answered from columns, */
	uint64		ngroups;		/* with groups, or rows, in all */
	uint64		nrows;			/* that the groups of this answer have stood for */
} GpuColumnsState;

extern const CustomScanMethods columns_scan_methods;
extern const OurNode columns_node;

/* What nodes that ask about groups and about rows have in common. */

/* Translates the query, once.  Returns NULL, or why that is impossible. */
extern const char *columns_translate(GpuColumnsState *node);

/* Evaluates the query's values for this scan.  Returns NULL, or why PostgreSQL has to. */
extern const char *columns_evaluate(GpuColumnsState *node, QueryValues *values);

/*
 * Answers from columns, by a function that returns NULL, or why that is impossible; its memory stays until the next
 * time.  Returns false if the child has to do it.
 */
extern bool columns_try(GpuColumnsState *node, const char *(*answer) (GpuColumnsState *node));

/* EXPLAIN (columns_explain.c). */
struct ExplainState;
extern void columns_explain(CustomScanState *css, List *ancestors, struct ExplainState *es);

#endif
