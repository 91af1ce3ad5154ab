/*
 * first_node.c: Custom Scan (GpuFirst), which lets rows pass to the aggregates above it and keeps the first ones of an
 * order: in a heap if they are few, else in a sorter, which has disks and engines.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/core/node.h"
#include "src/core/scansample.h"
#include "first_node.h"
#include "src/rows/first_rows.h"

/* A sort of fewer rows takes no time to speak of. */
#define SMALL_SORT_ROWS 10000.0

typedef struct GpuFirstState
{
	CustomScanState css;
	SortColumns columns;
	bool		random_access;
	int			states_from;	/* columns in front of partial states; -1: rows have none */
	int64		bound;			/* rows to keep; 0: all */
	bool		begun;
	FirstRows  *first;			/* what keeps rows: this … */
	FirstHeap	heap;			/* … in which they are … */
	FirstHeap	sample;			/* the first rows of some pages, if rows come in an order against the one wanted */
	uint64		sampled_rows;
	Sorter	   *sorter;			/* … or this */
	int64		at;				/* in first: the row that was returned last, counted from 1 */
	SorterStages before;		/* of the sorters that rescans have ended */
} GpuFirstState;

/* BeginCustomScan: rows leave in the slots of the child. */
static void
begin_node(CustomScanState *css, EState *estate, int eflags)
{
	GpuFirstState *node = (GpuFirstState *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	PlanState  *child;

	eflags &= ~EXEC_FLAG_REWIND;
	outerPlanState(css) = child = ExecInitNode(outerPlan(scan), estate, eflags);
	css->ss.ps.resultops = ExecGetResultSlotOps(child, &css->ss.ps.resultopsfixed);
	css->ss.ps.resultopsset = true;
	css->ss.ps.ps_ProjInfo = NULL;
	gpusort_read_columns(&node->columns, scan);
	node->states_from = -1;
}

/* BeginCustomScan above a Gather */
static void
begin_combining(CustomScanState *css, EState *estate, int eflags)
{
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;

	begin_node(css, estate, eflags);
	((GpuFirstState *) css)->states_from = linitial_int(list_nth(scan->custom_private, PRIVATE_DETAILS));
}

/* Begins a sorter for the rows to keep. */
static void
begin_sorter(GpuFirstState *node)
{
	node->sorter = sorter_begin(&node->columns, ExecGetResultType(outerPlanState(node)), node->random_access,
								node->css.ss.ps.plan->plan_rows, gpusort_enabled ? SORTER_OURS : SORTER_DISABLED,
								node->bound);
}

/* Are so few rows wanted that a heap is better than a sort?  The rows of a Gather are the first ones already. */
static bool
heap_is_good(const GpuFirstState *node)
{
	return node->bound > 0 &&
		bound_is_small((double) node->bound, Max(node->css.ss.ps.plan->plan_rows, SMALL_SORT_ROWS));
}

/* Begins to keep rows, in the memory of the query. */
static void
begin_rows(GpuFirstState *node)
{
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);

	if (gpusort_enabled && heap_is_good(node))
		node->first = firstrows_open(&node->columns, ExecGetResultType(outerPlanState(node)), node->bound, false,
									 (Size) work_mem * 1024);
	else
		begin_sorter(node);
	MemoryContextSwitchTo(old);
	node->begun = true;
}

/* Frees the heap. */
static void
close_heap(GpuFirstState *node)
{
	firstrows_close(node->first);
	memset(&node->heap, 0, sizeof(FirstHeap));
	memset(&node->sample, 0, sizeof(FirstHeap));
	node->first = NULL;
}

/* Hands the rows that are kept over to a sorter, which needs no memory for all of them. */
static void
leave_heap(GpuFirstState *node)
{
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(ExecGetResultType(outerPlanState(node)), &TTSOpsMinimalTuple);

	begin_sorter(node);
	/* to the sorter the order in which rows are put is that of their arrival */
	firstrows_finish(node->first, &node->heap);
	for (int64 i = 0; i < node->heap.count; i++)
		sorter_put(node->sorter, ExecStoreMinimalTuple(node->heap.rows[i].tuple, slot, false));
	ExecDropSingleTupleTableSlot(slot);
	close_heap(node);
	MemoryContextSwitchTo(old);
}

/* Keeps a row if it may be among the first.  Comparison functions may leak, into the memory of one row. */
static void
keep_row(GpuFirstState *node, TupleTableSlot *slot)
{
	ExprContext *context = node->css.ss.ps.ps_ExprContext;
	MemoryContext old;

	if (node->first == NULL)
	{
		sorter_put(node->sorter, slot);
		if (node->bound > 0)
			sorter_recheck_bound(node->sorter);
		return;
	}
	ResetExprContext(context);
	old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	(void) firstrows_put(node->first, &node->heap, node->sample.count == node->bound ? &node->sample : NULL, slot);
	MemoryContextSwitchTo(old);
	if (unlikely(firstrows_is_full(node->first) && node->heap.count < node->bound))
		leave_heap(node);
}

/* SampledRow: keeps a row if it is among the first of the sample. */
static void
keep_sampled(void *arg, TupleTableSlot *slot)
{
	GpuFirstState *node = arg;

	(void) firstrows_put(node->first, &node->sample, NULL, slot);
	node->sampled_rows++;
}

/* Looks at a sample of the rows to come: those that are behind the first ones of these need not be copied. */
static void
look_ahead(GpuFirstState *node)
{
	PlanState  *child = outerPlanState(node);
	double		fraction = firstrows_begin_sample(node->first, node->bound, child->plan->plan_rows);

	if (fraction > 0)
		scansample_read(child, fraction, node->css.ss.ps.ps_ExprContext, keep_sampled, node);
}

/* All rows have come: puts those that are kept in order. */
static void
end_input(GpuFirstState *node)
{
	if (node->first)
		firstrows_finish(node->first, &node->heap);
	else
		sorter_finish(node->sorter);
	node->at = 0;
}

/* Does a row bring partial states?  A process sends them with one of its rows.  A state of nothing may be NULL. */
static bool
brings_states(const GpuFirstState *node, TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	for (int i = node->states_from; i < slot->tts_tupleDescriptor->natts; i++)
		if (!slot->tts_isnull[i])
			return true;
	return false;
}

/* ExecCustomScan: the child's next row for the aggregates. */
static TupleTableSlot *
exec_node(CustomScanState *css)
{
	GpuFirstState *node = (GpuFirstState *) css;
	TupleTableSlot *slot;

	CHECK_FOR_INTERRUPTS();
	if (unlikely(!node->begun))
		begin_rows(node);
	do
	{
		if (node->first && unlikely(firstrows_need_sample(node->first, node->bound)))
			look_ahead(node);
		slot = ExecProcNode(outerPlanState(css));
		if (unlikely(TupIsNull(slot)))
		{
			end_input(node);
			return NULL;
		}
		keep_row(node, slot);
	} while (node->states_from >= 0 && !brings_states(node, slot));
	return slot;
}

void
firstnode_expect(CustomScanState *css, int64 bound, bool random_access)
{
	((GpuFirstState *) css)->bound = bound;
	((GpuFirstState *) css)->random_access = random_access;
}

TupleTableSlot *
firstnode_get(CustomScanState *css, bool forward, TupleTableSlot *slot)
{
	GpuFirstState *node = (GpuFirstState *) css;

	if (node->first == NULL)
		return sorter_get(node->sorter, forward, slot);
	/* as in tuplesort, the first fetch backward from behind the end returns the last row */
	node->at = forward ? Min(node->at + 1, node->heap.count + 1) : Max(node->at - 1, 0);
	if (node->at < 1 || node->at > node->heap.count)
		return ExecClearTuple(slot);
	return ExecStoreMinimalTuple(node->heap.rows[node->at - 1].tuple, slot, false);
}

void
firstnode_rewind(CustomScanState *css)
{
	GpuFirstState *node = (GpuFirstState *) css;

	node->at = 0;
	if (node->sorter)
		sorter_rewind(node->sorter);
}

/* Drops the rows that are kept. */
static void
drop_rows(GpuFirstState *node)
{
	if (node->first)
		close_heap(node);
	if (node->sorter)
	{
		sorter_add_stages(&node->before, &sorter_stats(node->sorter)->stages);
		sorter_end(node->sorter);
	}
	node->sorter = NULL;
	node->begun = false;
}

/* EndCustomScan */
static void
end_node(CustomScanState *css)
{
	drop_rows((GpuFirstState *) css);
	ExecEndNode(outerPlanState(css));
}

/* ReScanCustomScan: the aggregates need all rows again. */
static void
rescan_node(CustomScanState *css)
{
	drop_rows((GpuFirstState *) css);
	if (outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
}

/* ExplainCustomScan */
static void
explain_node(CustomScanState *css, List *ancestors, ExplainState *es)
{
	GpuFirstState *node = (GpuFirstState *) css;

	if (node->sorter)
	{
		explain_sort(css, &node->columns, node->sorter, &node->before, ancestors, es);
		return;
	}
	explain_keys(css, &node->columns, ancestors, es);
	if (es->analyze && node->first)
	{
		ExplainPropertyInteger("Rows Kept", NULL, node->heap.count, es);
		if (node->sampled_rows > 0)
			ExplainPropertyInteger("Rows Sampled", NULL, (int64) node->sampled_rows, es);
	}
}

const CustomScanMethods gpufirst_scan_methods = {
	.CustomName = GPUFIRST_NODE_NAME,
	.CreateCustomScanState = create_node_state,
};

const OurNode gpufirst_node = {
	.scan = &gpufirst_scan_methods,
	.exec = {
		.CustomName = GPUFIRST_NODE_NAME,
		.BeginCustomScan = begin_node,
		.ExecCustomScan = exec_node,
		.EndCustomScan = end_node,
		.ReScanCustomScan = rescan_node,
		.ExplainCustomScan = explain_node,
	},
	.state_bytes = sizeof(GpuFirstState),
};

const OurNode gpufirst_combining_node = {
	.scan = &gpufirst_scan_methods,
	.variant = FIRST_COMBINES,
	.exec = {
		.CustomName = GPUFIRST_NODE_NAME,
		.BeginCustomScan = begin_combining,
		.ExecCustomScan = exec_node,
		.EndCustomScan = end_node,
		.ReScanCustomScan = rescan_node,
		.ExplainCustomScan = explain_node,
	},
	.state_bytes = sizeof(GpuFirstState),
};
