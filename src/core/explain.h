/*
 * explain.h: what EXPLAIN shows of nodes that sort.
 */
#ifndef GPUSORT_EXPLAIN_H
#define GPUSORT_EXPLAIN_H

#include "nodes/execnodes.h"

#include "sorter.h"

struct ExplainState;

/* What a sort took, in kilobytes. */
typedef struct SortSpace
{
	int64		memory;
	int64		disk;
} SortSpace;

/* Indents a line of text output. */
extern void explain_indent(struct ExplainState *es);

/* Returns a column's expression as PostgreSQL writes it, and a Var of its type. */
extern char *explain_column(CustomScanState *node, int attno, Node **expr, List *ancestors, struct ExplainState *es);

/* Prints the sort keys as PostgreSQL does. */
extern void explain_keys(CustomScanState *node, const SortColumns *columns, List *ancestors, struct ExplainState *es);

/* Prints a sort's keys and what it did (sorter NULL: has not run); before has the stages of earlier sorts. */
extern void explain_sort(CustomScanState *node, const SortColumns *columns, Sorter *sorter, const SorterStages *before,
						 List *ancestors, struct ExplainState *es);

/* In a parallel worker: reports to EXPLAIN what a sort took beyond what was reported before in this loop. */
extern void explain_report_space(PlanState *node, Sorter *sorter, SortSpace *reported);

#endif
