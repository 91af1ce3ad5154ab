/*
 * node.h: the CustomScan that takes a Sort's place, as the planner makes it and EXPLAIN shows it.
 */
#ifndef GPUSORT_NODE_H
#define GPUSORT_NODE_H

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "explain.h"
#include "src/nodes/our_node.h"
#include "pagescan.h"
#include "sorter.h"

#define GPUSORT_NODE_NAME "GpuSort"

/* GpuSort.  Features have variants of it around a SortNode. */
extern const OurNode gpusort_node;
extern const CustomScanMethods gpusort_scan_methods;

/* Makes the custom_private of a node that sorts by these columns, without a variant. */
extern List *gpusort_write_columns(const SortColumns *columns);

/* Writes an order, which is SortGroupClauses, by columns of a target list, for a plan. */
extern List *gpusort_write_order(PlannerInfo *root, const List *clauses, List *targets);

/* Reads the columns that a node sorts by; in the current memory context. */
extern void gpusort_read_columns(SortColumns *columns, const CustomScan *scan);

/* The state of a node that sorts, with which the states of features' nodes begin. */
typedef struct SortNode
{
	CustomScanState css;
	SortColumns columns;
	bool		random_access;
	LimitState *limit;			/* the Limit whose bound the executor would have passed to a Sort, or NULL */
	PageScan   *pages;			/* reads the child by the page, or NULL */
	Sorter	   *sorter;			/* NULL until the first row is fetched, which begins and finishes the sort */
	int64		bound_done;		/* the bound that the sorter was begun with */
	SorterStages before;		/* of the sorts that rescans have ended */
	SortSpace	reported;		/* in this loop, for EXPLAIN */
} SortNode;

/* BeginCustomScan: initialises the child, whose own rewinding is never needed, and the result slot. */
extern void sortnode_begin(CustomScanState *css, EState *estate, int eflags);

/* Begins a sort, calls read, which puts rows of the child into it, and finishes it.  sortnode_read_all puts all. */
extern void sortnode_load(SortNode *node, void (*read) (SortNode *node));
extern void sortnode_read_all(SortNode *node);

/* Ends the sort, if there is one, and clears the result slot, which may point to one of its rows. */
extern void sortnode_drop(SortNode *node);

/* EndCustomScan, ReScanCustomScan and ExplainCustomScan of nodes that only sort. */
extern void sortnode_end(CustomScanState *css);
extern void sortnode_rescan(CustomScanState *css);
extern void sortnode_explain(CustomScanState *css, List *ancestors, struct ExplainState *es);

/* Sets the Limit above the node, whose bound the executor would have set in a Sort. */
extern void sortnode_limit(CustomScanState *css, LimitState *limit);

#endif
