/*
 * columns_node.h: Custom Scan (GpuColumns), which answers aggregates from resident columns.
 */
#ifndef GPUSORT_COLUMNS_NODE_H
#define GPUSORT_COLUMNS_NODE_H

#include "nodes/execnodes.h"

#include "src/nodes/our_node.h"
#include "columns_answer.h"

#define COLUMNS_NODE_NAME "GpuColumns"

/* The members of a plan's custom_private. */
typedef enum ColumnsPrivate
{
	COLUMNS_PRIVATE_LEAVES,		/* OID list: the partitions to read; NIL: the table itself */
	COLUMNS_PRIVATE_AGGREGATES	/* Integer: columns of custom_scan_tlist that are aggregates; conditions follow */
} ColumnsPrivate;

typedef struct GpuColumnsState
{
	CustomScanState css;
	PlanState  *child;			/* PostgreSQL's aggregate over the table */
	List	   *conditions;
	List	   *aggregates;
	List	   *leaves;			/* OIDs, or NIL */
	ColumnsQuery *query;		/* NULL until the first answer */
	List	   *values;			/* ExprStates of the query's values */
	MemoryContext context;		/* of an answer */
	bool		returned;		/* the row of this scan */
	bool		answered;		/* it lies in the scan's slot, from columns */
	const char *why;			/* the child runs; NULL: it does not */
	ColumnsFigures figures;		/* of all scans */
	uint64		scans;			/* answered from columns */
} GpuColumnsState;

extern const CustomScanMethods columns_scan_methods;
extern const OurNode columns_node;

/* EXPLAIN (columns_explain.c). */
struct ExplainState;
extern void columns_explain(CustomScanState *css, List *ancestors, struct ExplainState *es);

#endif
