/*
 * node.c: Custom Scan (GpuSort), the executor's side of a replaced Sort.
 *
 * Keeps every promise that nodeSort.c makes: mark and restore, rewind, backward scans, rescans with changed parameters,
 * and MinimalTuples as its only kind of result.  Nothing large is taken before the first row is asked for, because
 * EXPLAIN and EvalPlanQual initialise trees that never run.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"

#include "src/compat.h"
#include "src/guc.h"
#include "blocks.h"
#include "node.h"
#include "pagescan.h"
#include "sorter.h"

typedef struct GpuSortState
{
	CustomScanState css;
	SortColumns columns;
	bool		random_access;
	LimitState *limit;			/* the Limit whose bound core would have passed to the Sort, or NULL */
	PageScan   *pages;			/* to read the child by the page, or NULL */
	Sorter	   *sorter;			/* NULL until the first row is asked for */
	bool		sorted;
	int64		bound_done;		/* the bound that the sorter was begun with */
	SorterStages before;		/* of the sorts that rescans have ended */
	GpusortOutput output;
	BlockWriter *writer;		/* NULL until the first block is asked for */
} GpuSortState;

static Node *create_state(CustomScan *scan);

const CustomScanMethods gpusort_scan_methods = {
	.CustomName = GPUSORT_NODE_NAME,
	.CreateCustomScanState = create_state,
};

void
gpusort_read_columns(SortColumns *columns, const CustomScan *scan)
{
	List	   *attnos = list_nth(scan->custom_private, PRIVATE_ATTNOS);
	List	   *sortops = list_nth(scan->custom_private, PRIVATE_SORTOPS);
	List	   *collations = list_nth(scan->custom_private, PRIVATE_COLLATIONS);
	List	   *nulls_first = list_nth(scan->custom_private, PRIVATE_NULLS_FIRST);

	columns->nkeys = list_length(attnos);
	columns->attnos = palloc(sizeof(AttrNumber) * columns->nkeys);
	columns->sortops = palloc(sizeof(Oid) * columns->nkeys);
	columns->collations = palloc(sizeof(Oid) * columns->nkeys);
	columns->nulls_first = palloc(sizeof(bool) * columns->nkeys);
	for (int i = 0; i < columns->nkeys; i++)
	{
		columns->attnos[i] = (AttrNumber) list_nth_int(attnos, i);
		columns->sortops[i] = list_nth_oid(sortops, i);
		columns->collations[i] = list_nth_oid(collations, i);
		columns->nulls_first[i] = list_nth_int(nulls_first, i) != 0;
	}
}

/* BeginCustomScan: initialises the child, whose own rewinding is never needed, and the result slot. */
static void
begin_node(CustomScanState *css, EState *estate, int eflags)
{
	GpuSortState *node = (GpuSortState *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;

	node->random_access = (eflags & (EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK)) != 0;
	eflags &= ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK);
	outerPlanState(css) = ExecInitNode(outerPlan(scan), estate, eflags);

	/* core prepared a projection from a virtual scan slot; like a Sort this node gives its rows out as they are */
	ExecInitResultTupleSlotTL(&css->ss.ps, &TTSOpsMinimalTuple);
	css->ss.ps.ps_ProjInfo = NULL;
	gpusort_read_columns(&node->columns, scan);
	node->output = (GpusortOutput) linitial_int(list_nth(scan->custom_private, PRIVATE_OUTPUT));
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		node->pages = pagescan_open(outerPlanState(css));
}

/* The number of rows that the Limit above will fetch at most, 0 if it does not say. */
static int64
current_bound(GpuSortState *node)
{
	LimitState *limit = node->limit;

	if (limit == NULL || limit->noCount || limit->limitOption == LIMIT_OPTION_WITH_TIES)
		return 0;
	/* a sum past the range is no bound */
	if (limit->count < 0 || limit->offset < 0 || limit->count > PG_INT64_MAX - limit->offset)
		return 0;
	return limit->count + limit->offset;
}

/* Is the bound small enough that keeping only the first rows beats sorting all? */
static bool
bound_is_small(GpuSortState *node, int64 bound)
{
	return bound > 0 && bound < GPUSORT_BOUND_FRACTION * node->css.ss.ps.plan->plan_rows;
}

/* Reads all rows of the child into a new sort. */
static void
load(GpuSortState *node)
{
	PlanState  *outer = outerPlanState(node);
	EState	   *estate = node->css.ss.ps.state;
	ScanDirection direction = estate->es_direction;
	int64		bound = current_bound(node);
	SorterFallback fallback = SORTER_OURS;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Sorter	   *sorter;

	if (!gpusort_enabled)
		fallback = SORTER_DISABLED;
	else if (bound_is_small(node, bound))
		fallback = SORTER_BOUND;
	sorter = sorter_begin(&node->columns, ExecGetResultType(outer), node->random_access, outer->plan->plan_rows,
						  fallback, bound);
	MemoryContextSwitchTo(old);
	node->sorter = sorter;
	node->bound_done = bound;

	estate->es_direction = ForwardScanDirection;
	for (;;)
	{
		TupleTableSlot *slot = ExecProcNode(outer);

		if (TupIsNull(slot))
			break;
		sorter_put(sorter, slot);
		if (node->pages)
			pagescan_take(node->pages, sorter);
		if (bound > 0)
			sorter_bound(sorter, bound);
	}
	sorter_finish(sorter);
	estate->es_direction = direction;
	node->sorted = true;
}

/* The next row for a block. */
static MinimalTuple
next_row(void *arg)
{
	return sorter_next(arg);
}

/* The next block as a tuple. */
static TupleTableSlot *
next_block(GpuSortState *node)
{
	PlanState  *state = &node->css.ss.ps;
	MinimalTuple block;
	uint32		rows;

	if (node->writer == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(state->state->es_query_cxt);

		node->writer = blockwriter_open(&node->columns, ExecGetResultType(outerPlanState(node)),
										node->output == OUTPUT_BLOCKS, (uint16) (ParallelWorkerNumber + 1));
		MemoryContextSwitchTo(old);
	}
	block = blockwriter_next(node->writer, next_row, node->sorter, &rows);
	if (block == NULL)
		return ExecClearTuple(state->ps_ResultTupleSlot);
	/* EXPLAIN is to show rows */
	if (state->instrument)
		InstrUpdateTupleCount(state->instrument, rows - 1);
	return ExecStoreMinimalTuple(block, state->ps_ResultTupleSlot, false);
}

/* ExecCustomScan: the next row in the current direction. */
static TupleTableSlot *
exec_node(CustomScanState *css)
{
	GpuSortState *node = (GpuSortState *) css;

	CHECK_FOR_INTERRUPTS();
	if (unlikely(!node->sorted))
		load(node);
	if (node->output != OUTPUT_ROWS)
		return next_block(node);
	return sorter_get(node->sorter, ScanDirectionIsForward(css->ss.ps.state->es_direction),
					  css->ss.ps.ps_ResultTupleSlot);
}

/* Forgets what has been given out of the sort; the result slot may point into its rows. */
static void
drop_output(GpuSortState *node)
{
	ExecClearTuple(node->css.ss.ps.ps_ResultTupleSlot);
	if (node->writer)
		blockwriter_close(node->writer);
	node->writer = NULL;
}

/* Forgets the sort. */
static void
drop_sort(GpuSortState *node)
{
	drop_output(node);
	if (node->sorter)
	{
		sorter_add_stages(&node->before, &sorter_stats(node->sorter)->stages);
		sorter_end(node->sorter);
	}
	node->sorter = NULL;
	node->sorted = false;
}

/* EndCustomScan */
static void
end_node(CustomScanState *css)
{
	drop_sort((GpuSortState *) css);
	ExecEndNode(outerPlanState(css));
}

/* ReScanCustomScan: sorts again if anything may have changed, else starts over; as ExecReScanSort. */
static void
rescan_node(CustomScanState *css)
{
	GpuSortState *node = (GpuSortState *) css;
	PlanState  *outer = outerPlanState(css);

	if (!node->sorted)
		return;
	if (outer->chgParam != NULL || !node->random_access ||
		(node->bound_done != current_bound(node) && sorter_core(node->sorter) != NULL))
	{
		drop_sort(node);
		if (outer->chgParam == NULL)
			ExecReScan(outer);
	}
	else
	{
		drop_output(node);
		sorter_rewind(node->sorter);
	}
}

/* MarkPosCustomScan */
static void
mark_node(CustomScanState *css)
{
	GpuSortState *node = (GpuSortState *) css;

	if (node->sorted)
		sorter_mark(node->sorter);
}

/* RestrPosCustomScan */
static void
restore_node(CustomScanState *css)
{
	GpuSortState *node = (GpuSortState *) css;

	if (node->sorted)
		sorter_restore(node->sorter);
}

/* ExplainCustomScan */
static void
explain_node(CustomScanState *css, List *ancestors, ExplainState *es)
{
	GpuSortState *node = (GpuSortState *) css;

	gpusort_explain(css, &node->columns, node->sorted ? node->sorter : NULL, &node->before, ancestors, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = GPUSORT_NODE_NAME,
	.BeginCustomScan = begin_node,
	.ExecCustomScan = exec_node,
	.EndCustomScan = end_node,
	.ReScanCustomScan = rescan_node,
	.MarkPosCustomScan = mark_node,
	.RestrPosCustomScan = restore_node,
	.ExplainCustomScan = explain_node,
};

/* CreateCustomScanState */
static Node *
create_state(CustomScan *scan)
{
	GpuSortState *node = (GpuSortState *) newNode(sizeof(GpuSortState), T_CustomScanState);

	node->css.methods = &exec_methods;
	return (Node *) node;
}

void
gpusort_node_limit(CustomScanState *node, LimitState *limit)
{
	((GpuSortState *) node)->limit = limit;
}

void
gpusort_node_init(void)
{
	RegisterCustomScanMethods(&gpusort_scan_methods);
}
