/*
 * merge_node.c: Custom Scan (GpuMerge), which merges the rows of the blocks that a Gather Merge returns.  Rows are
 * returned from where they lie in the blocks, each copied once, out of a worker's queue.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/extensible.h"

#include "src/core/node.h"
#include "src/out/output.h"
#include "block_merge.h"
#include "merge_node.h"

typedef struct GpuMergeState
{
	CustomScanState css;
	SortColumns columns;
	BlockMerge *merge;			/* NULL until the first row is requested */
	MergedRows	rows;			/* to return next */
	bool		ended;			/* the last block has arrived */
} GpuMergeState;

/* BeginCustomScan */
static void
begin_node(CustomScanState *css, EState *estate, int eflags)
{
	GpuMergeState *node = (GpuMergeState *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;

	eflags &= ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK);
	outerPlanState(css) = ExecInitNode(outerPlan(scan), estate, eflags);
	ExecInitResultTupleSlotTL(&css->ss.ps, &TTSOpsMinimalTuple);
	css->ss.ps.ps_ProjInfo = NULL;
	gpusort_read_columns(&node->columns, scan);
}

/* Opens the merge. */
static void
open_merge(GpuMergeState *node)
{
	EState	   *estate = node->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	GatherMerge *gather = (GatherMerge *) outerPlan(node->css.ss.ps.plan);

	node->merge = blockmerge_open(&node->columns, ExecGetResultType(&node->css.ss.ps), gather->num_workers + 1);
	MemoryContextSwitchTo(old);
}

/* Reads the next block; false at the end.  Takes a worker's block over; this process's stays where it was written. */
static bool
read_block(GpuMergeState *node)
{
	TupleTableSlot *slot = ExecProcNode(outerPlanState(node));
	MinimalTuple tuple;
	bool		owned;

	if (TupIsNull(slot))
	{
		blockmerge_finish(node->merge);
		return false;
	}
	Assert(TTS_IS_MINIMALTUPLE(slot));
	owned = TTS_SHOULDFREE(slot);
	tuple = ((MinimalTupleTableSlot *) slot)->mintuple;
	slot_getallattrs(slot);
	slot->tts_flags &= ~TTS_FLAG_SHOULDFREE;
	blockmerge_add(node->merge, tuple, owned, slot);
	return true;
}

/* Fetches blocks until rows are ready; returns false at the end. */
static bool
prepare_rows(GpuMergeState *node)
{
	if (node->merge == NULL)
		open_merge(node);
	while (!blockmerge_prepare(node->merge, &node->rows))
	{
		if (node->ended)
			return false;
		node->ended = !read_block(node);
	}
	return true;
}

/* The next row as it lies in its block. */
static inline MinimalTuple
next_row(CustomScanState *css)
{
	GpuMergeState *node = (GpuMergeState *) css;
	MinimalTuple row = merged_next(&node->rows);

	if (unlikely(row == NULL) && prepare_rows(node))
		row = merged_next(&node->rows);
	return row;
}

/* ExecCustomScan: returns the next row. */
static TupleTableSlot *
exec_node(CustomScanState *css)
{
	MinimalTuple row = next_row(css);

	if (unlikely(row == NULL))
		return ExecClearTuple(css->ss.ps.ps_ResultTupleSlot);
	return ExecStoreMinimalTuple(row, css->ss.ps.ps_ResultTupleSlot, false);
}

/* EndCustomScan */
static void
end_node(CustomScanState *css)
{
	GpuMergeState *node = (GpuMergeState *) css;

	ExecClearTuple(css->ss.ps.ps_ResultTupleSlot);
	if (node->merge)
		blockmerge_close(node->merge);
	node->merge = NULL;
	ExecEndNode(outerPlanState(css));
}

/* ReScanCustomScan.  Like ExecReScanGatherMerge, leaves the child to be rescanned if its parameters have changed. */
static void
rescan_node(CustomScanState *css)
{
	GpuMergeState *node = (GpuMergeState *) css;
	PlanState  *outer = outerPlanState(css);

	ExecClearTuple(css->ss.ps.ps_ResultTupleSlot);
	if (node->merge)
		blockmerge_reset(node->merge);
	memset(&node->rows, 0, sizeof(node->rows));
	node->ended = false;
	if (outer->chgParam == NULL)
		ExecReScan(outer);
}

/* ExplainCustomScan */
static void
explain_node(CustomScanState *css, List *ancestors, ExplainState *es)
{
	GpuMergeState *node = (GpuMergeState *) css;

	explain_keys(css, &node->columns, ancestors, es);
	/* report the rows of the Gather Merge below */
	if (es->analyze)
		ExplainPropertyInteger("Blocks", NULL, (int64) (node->merge ? blockmerge_stats(node->merge)->blocks : 0), es);
	explain_output(css, es);
}

const CustomScanMethods gpumerge_scan_methods = {
	.CustomName = GPUMERGE_NODE_NAME,
	.CreateCustomScanState = create_node_state,
};

const OurNode gpumerge_node = {
	.scan = &gpumerge_scan_methods,
	.exec = {
		.CustomName = GPUMERGE_NODE_NAME,
		.BeginCustomScan = begin_node,
		.ExecCustomScan = exec_node,
		.EndCustomScan = end_node,
		.ReScanCustomScan = rescan_node,
		.ExplainCustomScan = explain_node,
	},
	.state_bytes = sizeof(GpuMergeState),
	.passes_limit = true,
	.next_row = next_row,
};
