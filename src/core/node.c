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
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/parallel/blocks.h"
#include "limit_rows.h"
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
	Shares	   *shares;			/* NULL: all rows are this node's */
	bool		read;			/* the child has been read since its last rescan */
	bool		ended;			/* of shares: none is left */
	bool		came;			/* of an exchange: this participant has brought its rows, or was too late */
	TupleTableSlot *brought;	/* for rows of it; NULL until there are some */
	SortSpace	told;			/* in this loop, for EXPLAIN */
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
	if (list_nth(scan->custom_private, PRIVATE_SHARE) != NIL)
	{
		node->shares = shares_open(list_nth(scan->custom_private, PRIVATE_SHARE),
								   ExecGetResultType(outerPlanState(css)));
		/* the next time this participant may have another share */
		node->random_access = false;
	}
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		node->pages = pagescan_open(outerPlanState(css));
	if (node->shares && node->pages)
		pagescan_share(node->pages, node->shares);
}

/* Is the bound small enough that keeping only the first rows beats sorting all? */
static bool
bound_is_small(GpuSortState *node, int64 bound)
{
	return sorter_leaves_bound(&node->columns, (double) bound, node->css.ss.ps.plan->plan_rows);
}

/* Reads the rows of the child into a sort, of which no more than bound are wanted, if that is not 0. */
static void
read_rows(GpuSortState *node, int64 bound)
{
	PlanState  *outer = outerPlanState(node);

	for (;;)
	{
		TupleTableSlot *slot = ExecProcNode(outer);

		if (TupIsNull(slot))
			break;
		sorter_put(node->sorter, slot);
		if (node->pages)
			pagescan_take(node->pages, node->sorter);
		if (bound > 0)
			sorter_bound(node->sorter);
	}
}

/* Reads the rows of this participant's share; returns how many others there were. */
static uint64
read_share(GpuSortState *node)
{
	PlanState  *outer = outerPlanState(node);
	uint64		passed = 0;

	for (;;)
	{
		TupleTableSlot *slot = ExecProcNode(outer);

		if (TupIsNull(slot))
			return passed;
		if (shares_keep(node->shares, slot))
			sorter_put(node->sorter, slot);
		else
			passed++;
		if (node->pages)
			passed += pagescan_take_share(node->pages, node->sorter);
	}
}

/* Reads the part of the rows that falls to this participant, and brings them to those whose share they are. */
static void
bring_rows(GpuSortState *node)
{
	PlanState  *outer = outerPlanState(node);
	EState	   *estate = node->css.ss.ps.state;
	ScanDirection direction = estate->es_direction;
	uint64		rows = 0;

	if (node->brought == NULL)
		node->brought = ExecInitExtraTupleSlot(estate, ExecGetResultType(outer), &TTSOpsMinimalTuple);
	if (!shares_begin_bringing(node->shares))
		return;
	node->read = true;
	estate->es_direction = ForwardScanDirection;
	for (;;)
	{
		TupleTableSlot *slot = ExecProcNode(outer);

		if (TupIsNull(slot))
			break;
		shares_bring(node->shares, slot);
		rows++;
	}
	estate->es_direction = direction;
	shares_end_bringing(node->shares);
	shares_note(node->shares, rows, 0, 0);
}

/* Reads the rows that were brought for the share that was claimed. */
static void
read_brought(GpuSortState *node)
{
	MinimalTuple row;

	while ((row = shares_next_brought(node->shares)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		sorter_put(node->sorter, ExecStoreMinimalTuple(row, node->brought, false));
	}
	ExecClearTuple(node->brought);
}

/* Reads all rows of the child, or those of the share that was claimed, into a new sort. */
static void
load(GpuSortState *node)
{
	PlanState  *outer = outerPlanState(node);
	EState	   *estate = node->css.ss.ps.state;
	ScanDirection direction = estate->es_direction;
	int64		bound = limit_rows(node->limit);
	SorterFallback fallback = SORTER_OURS;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	uint64		passed = 0;
	Sorter	   *sorter;

	if (!gpusort_enabled)
		fallback = SORTER_DISABLED;
	else if (bound_is_small(node, bound))
		fallback = SORTER_BOUND;
	sorter = sorter_begin(&node->columns, ExecGetResultType(outer), node->random_access,
						  node->css.ss.ps.plan->plan_rows, fallback, bound);
	MemoryContextSwitchTo(old);
	node->sorter = sorter;
	node->bound_done = bound;

	estate->es_direction = ForwardScanDirection;
	if (node->shares && shares_are_exchanged(node->shares))
		read_brought(node);
	else if (node->shares && !shares_keep_all(node->shares))
		passed = read_share(node);
	else
		read_rows(node, bound);
	sorter_finish(sorter);
	estate->es_direction = direction;
	node->sorted = node->read = true;
	gpusort_tell_space(&node->css.ss.ps, sorter, &node->told);
	if (node->shares)
		shares_note(node->shares, node->came ? 0 : sorter_stats(sorter)->rows + passed, sorter_stats(sorter)->rows, 1);
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
	if (node->writer == NULL)
		node->writer = blockwriter_open(&node->css.ss.ps, &node->columns, node->output == OUTPUT_BLOCKS);
	return blockwriter_next(node->writer, next_row, node->sorter);
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

/* Has the rows of the next share in order; false if there is none. */
static bool
load_share(GpuSortState *node)
{
	bool		exchanged = shares_are_exchanged(node->shares);

	if (exchanged && !node->came)
	{
		MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);

		node->came = true;
		bring_rows(node);
		MemoryContextSwitchTo(old);
	}
	node->ended = node->ended || !shares_claim(node->shares);
	if (node->ended)
		return false;
	if (node->sorted)
		drop_sort(node);
	if (node->read && !exchanged)
		ExecReScan(outerPlanState(node));
	load(node);
	return true;
}

/* The next row of the shares that this participant claims, one after the other. */
static TupleTableSlot *
next_of_shares(GpuSortState *node)
{
	TupleTableSlot *result = node->css.ss.ps.ps_ResultTupleSlot;

	for (;;)
	{
		if (node->sorted)
			sorter_get(node->sorter, true, result);
		if (!TupIsNull(result))
			return result;
		if (!load_share(node))
			return ExecClearTuple(result);
	}
}

/* ExecCustomScan: the next row in the current direction. */
static TupleTableSlot *
exec_node(CustomScanState *css)
{
	GpuSortState *node = (GpuSortState *) css;

	CHECK_FOR_INTERRUPTS();
	if (node->shares)
		return next_of_shares(node);
	if (unlikely(!node->sorted))
		load(node);
	if (node->output != OUTPUT_ROWS)
		return next_block(node);
	return sorter_get(node->sorter, ScanDirectionIsForward(css->ss.ps.state->es_direction),
					  css->ss.ps.ps_ResultTupleSlot);
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

	if (node->shares)
	{
		shares_rescan(node->shares);
		node->ended = false;
	}
	if (node->came && !node->sorted && node->read && outer->chgParam == NULL)
		ExecReScan(outer);
	node->came = false;
	node->told = (SortSpace) {0, 0};
	if (!node->sorted)
		return;
	if (outer->chgParam != NULL || !node->random_access ||
		(node->bound_done != limit_rows(node->limit) && sorter_bounded(node->sorter)))
	{
		drop_sort(node);
		if (outer->chgParam == NULL)
			ExecReScan(outer);
		node->read = false;
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

	if (node->shares)
		gpusort_explain_shares(css, node->shares, ancestors, es);
	gpusort_explain(css, &node->columns, node->sorted ? node->sorter : NULL, &node->before, ancestors, es);
}

/* EstimateDSMCustomScan: only of a node with shares, which alone is parallel-aware; so are all of the next four. */
static Size
estimate_shared(CustomScanState *css, ParallelContext *parallel)
{
	return shares_shared_bytes(((GpuSortState *) css)->shares, parallel);
}

/* InitializeDSMCustomScan */
static void
init_shared(CustomScanState *css, ParallelContext *parallel, void *memory)
{
	shares_init_shared(((GpuSortState *) css)->shares, parallel, memory);
}

/* ReInitializeDSMCustomScan: the plan is to be run again. */
static void
reset_shared(CustomScanState *css, ParallelContext *parallel, void *memory)
{
	shares_reset_shared(((GpuSortState *) css)->shares, parallel, memory);
}

/* InitializeWorkerCustomScan */
static void
attach_shared(CustomScanState *css, shm_toc *toc, void *memory)
{
	shares_attach(((GpuSortState *) css)->shares, memory);
}

/* ShutdownCustomScan: shared memory is about to go. */
static void
shut_down(CustomScanState *css)
{
	if (((GpuSortState *) css)->shares)
		shares_detach(((GpuSortState *) css)->shares);
}

static const CustomExecMethods exec_methods = {
	.CustomName = GPUSORT_NODE_NAME,
	.BeginCustomScan = begin_node,
	.ExecCustomScan = exec_node,
	.EndCustomScan = end_node,
	.ReScanCustomScan = rescan_node,
	.MarkPosCustomScan = mark_node,
	.RestrPosCustomScan = restore_node,
	.EstimateDSMCustomScan = estimate_shared,
	.InitializeDSMCustomScan = init_shared,
	.ReInitializeDSMCustomScan = reset_shared,
	.InitializeWorkerCustomScan = attach_shared,
	.ShutdownCustomScan = shut_down,
	.ExplainCustomScan = explain_node,
};

Node *
gpusort_make_state(Size bytes, const CustomExecMethods *methods)
{
	CustomScanState *css = (CustomScanState *) newNode(bytes, T_CustomScanState);

	css->methods = methods;
	return (Node *) css;
}

/* CreateCustomScanState */
static Node *
create_state(CustomScan *scan)
{
	return gpusort_make_state(sizeof(GpuSortState), &exec_methods);
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
