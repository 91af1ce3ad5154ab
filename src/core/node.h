/*
 * node.h: the CustomScan that takes a Sort's place, as the planner makes it and EXPLAIN shows it.
 */
#ifndef GPUSORT_NODE_H
#define GPUSORT_NODE_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "src/shares/shares.h"
#include "sorter.h"

#define GPUSORT_NODE_NAME "GpuSort"

/* The methods a CustomScan made by plan.c points to. */
extern const CustomScanMethods gpusort_scan_methods;
extern void gpusort_node_init(void);

/* Tells the node how many rows the Limit above will fetch, as core would have told a Sort. */
extern void gpusort_node_limit(CustomScanState *node, LimitState *limit);

/* What plan.c puts into CustomScan.custom_private, in this order: all must survive copyObject and nodeToString. */
typedef enum GpusortPrivate
{
	PRIVATE_ATTNOS,				/* integer list */
	PRIVATE_SORTOPS,			/* OID list */
	PRIVATE_COLLATIONS,			/* OID list */
	PRIVATE_NULLS_FIRST,		/* integer list of booleans */
	PRIVATE_SHOWN,				/* integer list: the keys in custom_scan_tlist, for EXPLAIN */
	PRIVATE_OUTPUT,				/* integer list of a GpusortOutput */
	PRIVATE_SHARE				/* NIL, or by what participants share rows, as shares.h has it */
} GpusortPrivate;

/* What a GpuSort gives out. */
typedef enum GpusortOutput
{
	OUTPUT_ROWS,
	OUTPUT_BLOCKS,				/* blocks behind the normalised key of the first row; see blocks.h */
	OUTPUT_COMPARED_BLOCKS		/* blocks behind the columns of the first row's keys */
} GpusortOutput;

/* The state of a node of ours: zeros behind its methods. */
extern Node *gpusort_make_state(Size bytes, const CustomExecMethods *methods);

/* Reads the columns that a node of ours sorts by; in the current memory context. */
extern void gpusort_read_columns(SortColumns *columns, const CustomScan *scan);

/* What a sort took, in kilobytes. */
typedef struct SortSpace
{
	int64		memory;
	int64		disk;
} SortSpace;

/* explain.c: in a parallel worker, what a sort took is told for EXPLAIN, beyond what was told before in this loop. */
extern void gpusort_tell_space(PlanState *node, Sorter *sorter, SortSpace *told);

/* explain.c: what a sort of shares says of them. */
extern void gpusort_explain_shares(CustomScanState *node, const Shares *shares, List *ancestors,
								   struct ExplainState *es);

/*
 * explain.c: ExplainCustomScan of the node, whose sorter is NULL if it has not run; before are the stages of its
 * earlier sorts
 */
extern void gpusort_explain(CustomScanState *node, const SortColumns *columns, Sorter *sorter,
							const SorterStages *before, List *ancestors, struct ExplainState *es);

/* The same of a GpuMergeAppend. */
extern void gpumergeappend_explain(CustomScanState *node, const SortColumns *columns, List *ancestors,
								   struct ExplainState *es);

/* The same of a GpuMerge, with the number of blocks that it has read. */
extern void gpumerge_explain(CustomScanState *node, const SortColumns *columns, uint64 blocks, List *ancestors,
							 struct ExplainState *es);

#endif
