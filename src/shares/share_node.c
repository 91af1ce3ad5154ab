/*
 * share_node.c: Custom Scan (GpuSort) where each participant sorts shares of the groups.  It claims a share, sorts and
 * returns its rows, and claims the next one.  It scans the whole input for them, or reads them from the exchange.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "src/base/compat.h"
#include "src/core/node.h"
#include "share_node.h"
#include "shares.h"

/* How far a scan of the node is.  A rescan begins anew. */
typedef enum ShareState
{
	SHARE_BEGUN,				/* no row has been read */
	SHARE_CLAIMING,				/* rows to exchange, if any, have been sent; shares are claimed */
	SHARE_ENDED					/* no share is left */
} ShareState;

typedef struct ShareNode
{
	SortNode	sort;
	Shares	   *shares;
	ShareState	state;
	uint64		passed;			/* rows of other shares, skipped in the last scan */
	TupleTableSlot *received;	/* slot for rows of the exchange; NULL until needed */
} ShareNode;

/* Passes the table columns of the share keys to the Shares. */
static void
locate_keys(ShareNode *node)
{
	int			n;
	const AttrNumber *columns = shares_columns(node->shares, &n);
	AttrNumber *attnos = palloc(sizeof(AttrNumber) * n);

	for (int i = 0; i < n; i++)
		attnos[i] = pagescan_column(node->sort.pages, columns[i]);
	shares_locate(node->shares, attnos);
	pfree(attnos);
}

/* BeginCustomScan */
static void
begin_node(CustomScanState *css, EState *estate, int eflags)
{
	ShareNode  *node = (ShareNode *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;

	sortnode_begin(css, estate, eflags);
	/* another scan may claim other shares */
	node->sort.random_access = false;
	node->shares = shares_open(list_nth(scan->custom_private, PRIVATE_DETAILS),
							   ExecGetResultType(outerPlanState(css)));
	if (node->sort.pages)
		locate_keys(node);
}

/* Returns true if a tuple of the table is of the claimed share. */
static bool
is_of_share(void *shares, HeapTuple tuple, TupleDesc desc)
{
	return shares_keep_tuple(shares, tuple, desc);
}

/* Scans all rows for those of the claimed share. */
static void
read_scanned(SortNode *sort)
{
	ShareNode  *node = (ShareNode *) sort;
	PlanState  *outer = outerPlanState(node);

	for (;;)
	{
		TupleTableSlot *slot = ExecProcNode(outer);

		if (TupIsNull(slot))
			return;
		if (shares_keep(node->shares, slot))
			sorter_put(sort->sorter, slot);
		else
			node->passed++;
		if (sort->pages)
			node->passed += pagescan_take_some(sort->pages, sort->sorter, is_of_share, node->shares);
	}
}

/* Reads the rows of the claimed share from the exchange. */
static void
read_received(SortNode *sort)
{
	ShareNode  *node = (ShareNode *) sort;
	MinimalTuple row;

	while ((row = shares_next_received(node->shares)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		sorter_put(sort->sorter, ExecStoreMinimalTuple(row, node->received, false));
	}
	ExecClearTuple(node->received);
}

/* Reads this participant's part of the input, and sends each row to its share. */
static void
send_rows(ShareNode *node)
{
	PlanState  *outer = outerPlanState(node);
	EState	   *estate = node->sort.css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	ScanDirection direction = estate->es_direction;
	uint64		rows = 0;

	if (node->received == NULL)
		node->received = ExecInitExtraTupleSlot(estate, ExecGetResultType(outer), &TTSOpsMinimalTuple);
	if (shares_begin_sending(node->shares))
	{
		estate->es_direction = ForwardScanDirection;
		for (;;)
		{
			TupleTableSlot *slot = ExecProcNode(outer);

			if (TupIsNull(slot))
				break;
			shares_send(node->shares, slot);
			rows++;
		}
		estate->es_direction = direction;
		shares_end_sending(node->shares);
		shares_note(node->shares, rows, 0, 0);
	}
	MemoryContextSwitchTo(old);
}

/* Sorts the rows of the claimed share. */
static void
sort_share(ShareNode *node, bool exchanged)
{
	uint64		rows;

	node->passed = 0;
	if (exchanged)
		sortnode_load(&node->sort, read_received);
	else
		sortnode_load(&node->sort, shares_keep_all(node->shares) ? sortnode_read_all : read_scanned);
	rows = sorter_stats(node->sort.sorter)->rows;
	/* rows of an exchange were counted when they were sent */
	shares_note(node->shares, exchanged ? 0 : rows + node->passed, rows, 1);
}

/* Claims and sorts the next share; returns false if none is left. */
static bool
load_share(ShareNode *node)
{
	bool		exchanged = shares_are_exchanged(node->shares);
	bool		first = node->state == SHARE_BEGUN;

	if (node->state == SHARE_ENDED)
		return false;
	node->state = SHARE_CLAIMING;
	if (first && exchanged)
		send_rows(node);
	if (!shares_claim(node->shares))
	{
		node->state = SHARE_ENDED;
		return false;
	}
	sortnode_drop(&node->sort);
	if (!first && !exchanged)
		ExecReScan(outerPlanState(node));
	sort_share(node, exchanged);
	return true;
}

/* ExecCustomScan: returns the next row of the claimed shares, one share after another. */
static TupleTableSlot *
exec_node(CustomScanState *css)
{
	ShareNode  *node = (ShareNode *) css;
	TupleTableSlot *result = css->ss.ps.ps_ResultTupleSlot;

	CHECK_FOR_INTERRUPTS();
	for (;;)
	{
		if (node->sort.sorter)
			sorter_get(node->sort.sorter, true, result);
		if (!TupIsNull(result))
			return result;
		if (!load_share(node))
			return ExecClearTuple(result);
	}
}

/* ReScanCustomScan: claims shares anew, even if no parameter has changed. */
static void
rescan_node(CustomScanState *css)
{
	ShareNode  *node = (ShareNode *) css;

	shares_rescan(node->shares);
	node->sort.reported = (SortSpace) {0, 0};
	sortnode_drop(&node->sort);
	/* a child that was not read, as all shares were claimed by others, can be rescanned as well */
	if (node->state != SHARE_BEGUN && outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
	node->state = SHARE_BEGUN;
}

/* Prints the share keys and the statistics of the shares. */
static void
explain_shares(CustomScanState *css, const Shares *shares, List *ancestors, ExplainState *es)
{
	int			n;
	const AttrNumber *columns = shares_columns(shares, &n);
	List	   *keys = NIL;
	ShareStats	stats;
	uint64		most;
	Node	   *expr;

	for (int i = 0; i < n; i++)
		keys = lappend(keys, explain_column(css, columns[i], &expr, ancestors, es));
	ExplainPropertyList("Share Key", keys, es);
	ExplainPropertyText("Share Way", shares_way(shares), es);
	if (!es->analyze)
		return;
	stats = shares_stats(shares, &most);
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		explain_indent(es);
		appendStringInfo(es->str, "Shares: " UINT64_FORMAT "  Rows Seen: " UINT64_FORMAT "  Rows Kept: " UINT64_FORMAT
						 "  Largest: " UINT64_FORMAT "\n", stats.batches, stats.seen, stats.kept, most);
		return;
	}
	ExplainPropertyInteger("Shares", NULL, (int64) stats.batches, es);
	ExplainPropertyInteger("Rows Seen", NULL, (int64) stats.seen, es);
	ExplainPropertyInteger("Rows Kept", NULL, (int64) stats.kept, es);
	ExplainPropertyInteger("Largest Share", NULL, (int64) most, es);
}

/* ExplainCustomScan */
static void
explain_node(CustomScanState *css, List *ancestors, ExplainState *es)
{
	explain_shares(css, ((ShareNode *) css)->shares, ancestors, es);
	sortnode_explain(css, ancestors, es);
}

/* EstimateDSMCustomScan */
static Size
estimate_shared(CustomScanState *css, ParallelContext *parallel)
{
	return shares_shared_bytes(((ShareNode *) css)->shares, parallel);
}

/* InitializeDSMCustomScan */
static void
init_shared(CustomScanState *css, ParallelContext *parallel, void *memory)
{
	shares_init_shared(((ShareNode *) css)->shares, parallel, memory);
}

/* ReInitializeDSMCustomScan: prepares for a rescan of the plan. */
static void
reset_shared(CustomScanState *css, ParallelContext *parallel, void *memory)
{
	shares_reset_shared(((ShareNode *) css)->shares, parallel, memory);
}

/* InitializeWorkerCustomScan */
static void
attach_shared(CustomScanState *css, shm_toc *toc, void *memory)
{
	shares_attach(((ShareNode *) css)->shares, memory);
}

/* ShutdownCustomScan: detaches before shared memory is released. */
static void
shut_down(CustomScanState *css)
{
	shares_detach(((ShareNode *) css)->shares);
}

const OurNode share_node = {
	.scan = &gpusort_scan_methods,
	.variant = SHARE_VARIANT,
	.exec = {
		.CustomName = GPUSORT_NODE_NAME,
		.BeginCustomScan = begin_node,
		.ExecCustomScan = exec_node,
		.EndCustomScan = sortnode_end,
		.ReScanCustomScan = rescan_node,
		.EstimateDSMCustomScan = estimate_shared,
		.InitializeDSMCustomScan = init_shared,
		.ReInitializeDSMCustomScan = reset_shared,
		.InitializeWorkerCustomScan = attach_shared,
		.ShutdownCustomScan = shut_down,
		.ExplainCustomScan = explain_node,
	},
	.state_bytes = sizeof(ShareNode),
	.sorts = true,
};
