/*
 * append_node.c: Custom Scan (GpuMergeAppend), which merges the rows of several sorted nodes.  Like nodeMergeAppend.c,
 * but the keys of a row are computed once, and a loser tree (merge/merge_tree.h) takes half the comparisons of a heap.
 * Equal rows are in the order of the nodes.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "src/base/guc.h"
#include "src/nodes/limits.h"
#include "src/core/node.h"
#include "src/rows/rowcompare.h"
#include "src/merge/merge_tree.h"
#include "append_node.h"

typedef struct GpuMergeAppendState
{
	CustomScanState css;
	SortColumns columns;
	PlanState **sources;
	TupleTableSlot **slots;		/* their rows */
	LimitState *limit;			/* the Limit above, or NULL */

	SortSupport comparators;	/* NULL until the first row is asked for */
	KeyPrefix	prefix;

	bool		started;
	MergeTree	tree;
} GpuMergeAppendState;

/* Compares the rows of two sources, as a MergeCompare. */
static int
compare_sources(void *arg, uint32 a, uint32 b)
{
	GpuMergeAppendState *node = arg;

	return compare_slots(node->comparators, node->columns.nkeys, node->slots[a], node->slots[b]);
}

/* BeginCustomScan */
static void
begin_node(CustomScanState *css, EState *estate, int eflags)
{
	GpuMergeAppendState *node = (GpuMergeAppendState *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	int			n = list_length(scan->custom_plans);

	node->sources = palloc(sizeof(PlanState *) * n);
	node->slots = palloc0(sizeof(TupleTableSlot *) * n);
	for (int i = 0; i < n; i++)
	{
		node->sources[i] = ExecInitNode(list_nth(scan->custom_plans, i), estate, eflags);
		css->custom_ps = lappend(css->custom_ps, node->sources[i]);
	}
	/* rows leave in the slots of the nodes below, which may be of any kind */
	css->ss.ps.resultopsset = true;
	css->ss.ps.resultopsfixed = false;
	css->ss.ps.ps_ProjInfo = NULL;
	gpusort_read_columns(&node->columns, scan);
	mergetree_open(&node->tree, n, compare_sources, node);
	/* indexes and foreign servers that give rows in a wrong order are believed, as by PostgreSQL, unless asked for */
	node->tree.proves = gpusort_verify == VERIFY_WORDS || gpusort_verify == VERIFY_FULL;
}

/* Opens what rows are compared by. */
static void
open_keys(GpuMergeAppendState *node)
{
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);

	node->comparators = open_comparators(&node->columns);
	keyprefix_open(&node->prefix, &node->columns, NULL);
	if (gpusort_enabled)
		keyprefix_encode(&node->prefix);
	MemoryContextSwitchTo(old);
}

/* Lets the nodes below know how many rows will be wanted, as ExecLimit does through a MergeAppend. */
static void
pass_limit(GpuMergeAppendState *node)
{
	int64		bound = limit_rows(node->limit);

	if (node->limit == NULL)
		return;
	for (uint32 i = 0; i < node->tree.nsources; i++)
		ExecSetTupleBound(bound > 0 ? bound : -1, node->sources[i]);
}

/* Has an entry's source give out its next row. */
static inline void
fetch(GpuMergeAppendState *node, MergeEntry *entry)
{
	TupleTableSlot *slot = ExecProcNode(node->sources[entry->source]);

	node->slots[entry->source] = slot;
	if (unlikely(TupIsNull(slot)))
	{
		mergeentry_end(entry);
		return;
	}
	keyprefix_set_slot(&node->prefix, slot);
	entry->whole = keyprefix_take(&node->prefix, entry->words);
}

/* Fetches the first row of each source. */
static void
start(GpuMergeAppendState *node)
{
	if (node->comparators == NULL)
		open_keys(node);
	pass_limit(node);
	for (uint32 i = 0; i < node->tree.nsources; i++)
		fetch(node, &node->tree.entries[i]);
	mergetree_start(&node->tree);
	node->started = true;
}

/* ExecCustomScan */
static TupleTableSlot *
exec_node(CustomScanState *css)
{
	GpuMergeAppendState *node = (GpuMergeAppendState *) css;
	MergeTree  *tree = &node->tree;

	CHECK_FOR_INTERRUPTS();
	if (unlikely(!node->started))
		start(node);
	/* a source that has ended is not asked again: it might begin anew */
	else if (likely(!mergeentry_has_ended(tree->winner)))
	{
		fetch(node, tree->winner);
		mergetree_advance(tree);
	}
	if (unlikely(mergeentry_has_ended(tree->winner)))
		return ExecClearTuple(css->ss.ps.ps_ResultTupleSlot);
	return node->slots[tree->winner->source];
}

/* EndCustomScan */
static void
end_node(CustomScanState *css)
{
	GpuMergeAppendState *node = (GpuMergeAppendState *) css;

	for (uint32 i = 0; i < node->tree.nsources; i++)
		ExecEndNode(node->sources[i]);
}

/* ReScanCustomScan: as ExecReScanMergeAppend. */
static void
rescan_node(CustomScanState *css)
{
	GpuMergeAppendState *node = (GpuMergeAppendState *) css;

	/* a Sort that is to begin again looks whether its bound is another one */
	pass_limit(node);
	for (uint32 i = 0; i < node->tree.nsources; i++)
	{
		PlanState  *source = node->sources[i];

		if (css->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(source, css->ss.ps.chgParam);
		if (source->chgParam == NULL)
			ExecReScan(source);
	}
	node->started = false;
}

/* ExplainCustomScan */
static void
explain_node(CustomScanState *css, List *ancestors, ExplainState *es)
{
	explain_keys(css, &((GpuMergeAppendState *) css)->columns, ancestors, es);
}

/* Tells the node of the Limit above, for Sorts of the server below it. */
static void
set_limit(CustomScanState *css, LimitState *limit)
{
	((GpuMergeAppendState *) css)->limit = limit;
}

const CustomScanMethods gpumergeappend_scan_methods = {
	.CustomName = GPUMERGEAPPEND_NODE_NAME,
	.CreateCustomScanState = create_node_state,
};

const OurNode gpumergeappend_node = {
	.scan = &gpumergeappend_scan_methods,
	.exec = {
		.CustomName = GPUMERGEAPPEND_NODE_NAME,
		.BeginCustomScan = begin_node,
		.ExecCustomScan = exec_node,
		.EndCustomScan = end_node,
		.ReScanCustomScan = rescan_node,
		.ExplainCustomScan = explain_node,
	},
	.state_bytes = sizeof(GpuMergeAppendState),
	.passes_limit = true,
	.limit = set_limit,
};
