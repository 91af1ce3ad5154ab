/*
 * total_node.c: Custom Scan (GpuTotal), over an Agg over a GpuFirst.  The Agg reads all rows through the GpuFirst,
 * which keeps the first ones; then these are returned, and behind their columns the Agg's.
 *
 * In parallel plans, participants run a GpuTotal of partial aggregates, whose states go with the first row of each.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "src/nodes/limits.h"
#include "first_node.h"
#include "total_node.h"

typedef struct GpuTotalState
{
	CustomScanState css;
	LimitState *limit;			/* the Limit above, in its process; or NULL */
	int64		published;		/* the bound that the leader has published, in a worker */
	bool		partial;		/* below a Gather */
	bool		random_access;
	bool		loaded;
	int64		bound;			/* of the load */
	bool		returned;		/* a row has been */
	TupleTableSlot *row;
	TupleTableSlot *totals;
} GpuTotalState;

/* The node below the aggregates. */
static CustomScanState *
first_of(GpuTotalState *node)
{
	return castNode(CustomScanState, outerPlanState(outerPlanState(node)));
}

/* BeginCustomScan */
static void
begin_node(CustomScanState *css, EState *estate, int eflags)
{
	GpuTotalState *node = (GpuTotalState *) css;
	Plan	   *plan = css->ss.ps.plan;

	node->random_access = (eflags & (EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD)) != 0;
	eflags &= ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD);
	outerPlanState(css) = ExecInitNode(outerPlan(plan), estate, eflags);
	node->partial = plan->parallel_aware;
	node->row = ExecInitExtraTupleSlot(estate, ExecGetResultType(&first_of(node)->ss.ps), &TTSOpsMinimalTuple);
	node->totals = ExecInitExtraTupleSlot(estate, ExecGetResultType(outerPlanState(css)), &TTSOpsMinimalTuple);
}

/* The number of first rows that are wanted; 0: all. */
static int64
bound_of(const GpuTotalState *node)
{
	return node->limit ? limit_rows(node->limit) : node->published;
}

/* Has all rows pass, and keeps the aggregates. */
static void
load(GpuTotalState *node)
{
	EState	   *estate = node->css.ss.ps.state;
	ScanDirection direction = estate->es_direction;

	node->bound = bound_of(node);
	firstnode_expect(first_of(node), node->bound, node->random_access);
	estate->es_direction = ForwardScanDirection;
	ExecCopySlot(node->totals, ExecProcNode(outerPlanState(node)));
	estate->es_direction = direction;
	slot_getallattrs(node->totals);
	node->loaded = true;
}

/* Fills the scan slot with the columns of a row, and the aggregates; NULLs if states have been sent already. */
static void
fill_slot(GpuTotalState *node)
{
	TupleTableSlot *slot = node->css.ss.ss_ScanTupleSlot;
	int			ntotals = node->totals->tts_tupleDescriptor->natts;
	int			ncolumns = slot->tts_tupleDescriptor->natts - ntotals;

	ExecClearTuple(slot);
	slot_getsomeattrs(node->row, ncolumns);
	memcpy(slot->tts_values, node->row->tts_values, sizeof(Datum) * ncolumns);
	memcpy(slot->tts_isnull, node->row->tts_isnull, sizeof(bool) * ncolumns);
	memcpy(slot->tts_values + ncolumns, node->totals->tts_values, sizeof(Datum) * ntotals);
	if (node->partial && node->returned)
		memset(slot->tts_isnull + ncolumns, true, sizeof(bool) * ntotals);
	else
		memcpy(slot->tts_isnull + ncolumns, node->totals->tts_isnull, sizeof(bool) * ntotals);
	ExecStoreVirtualTuple(slot);
}

/* ExecCustomScan: the next row in the current direction. */
static TupleTableSlot *
exec_node(CustomScanState *css)
{
	GpuTotalState *node = (GpuTotalState *) css;
	ExprContext *context = css->ss.ps.ps_ExprContext;

	CHECK_FOR_INTERRUPTS();
	if (unlikely(!node->loaded))
		load(node);
	firstnode_get(first_of(node), ScanDirectionIsForward(css->ss.ps.state->es_direction), node->row);
	if (TupIsNull(node->row))
		return ExecClearTuple(css->ss.ps.ps_ResultTupleSlot);
	fill_slot(node);
	node->returned = true;
	if (css->ss.ps.ps_ProjInfo == NULL)
		return css->ss.ss_ScanTupleSlot;
	ResetExprContext(context);
	context->ecxt_scantuple = css->ss.ss_ScanTupleSlot;
	return ExecProject(css->ss.ps.ps_ProjInfo);
}

/* Clears the slots that may point to rows of the GpuFirst. */
static void
clear_slots(GpuTotalState *node)
{
	ExecClearTuple(node->css.ss.ps.ps_ResultTupleSlot);
	ExecClearTuple(node->css.ss.ss_ScanTupleSlot);
	ExecClearTuple(node->row);
}

/* EndCustomScan */
static void
end_node(CustomScanState *css)
{
	clear_slots((GpuTotalState *) css);
	ExecEndNode(outerPlanState(css));
}

/* ReScanCustomScan: reads all rows again if anything has changed, else goes back. */
static void
rescan_node(CustomScanState *css)
{
	GpuTotalState *node = (GpuTotalState *) css;
	PlanState  *aggregate = outerPlanState(css);

	clear_slots(node);
	node->returned = false;
	if (!node->loaded)
		return;
	if (aggregate->chgParam == NULL && node->random_access && node->bound == bound_of(node))
	{
		firstnode_rewind(first_of(node));
		return;
	}
	ExecClearTuple(node->totals);
	node->loaded = false;
	if (aggregate->chgParam == NULL)
		ExecReScan(aggregate);
}

/* EstimateDSMCustomScan: workers read the bound, which may be known at run time only. */
static Size
estimate_shared(CustomScanState *css, ParallelContext *parallel)
{
	return sizeof(int64);
}

/* InitializeDSMCustomScan and ReInitializeDSMCustomScan: the Limit knows its rows before it asks for the first. */
static void
publish_bound(CustomScanState *css, ParallelContext *parallel, void *memory)
{
	*(int64 *) memory = bound_of((GpuTotalState *) css);
}

/* InitializeWorkerCustomScan */
static void
read_bound(CustomScanState *css, shm_toc *toc, void *memory)
{
	((GpuTotalState *) css)->published = *(const int64 *) memory;
}

static void set_limit(CustomScanState *css, LimitState *limit);

/* Sets the Limit, the context, of the GpuTotal below a Gather. */
static bool
pass_limit(PlanState *state, void *context)
{
	if (our_node(state->plan) == &gputotal_node)
	{
		set_limit((CustomScanState *) state, context);
		return true;
	}
	return planstate_tree_walker(state, pass_limit, context);
}

/* Sets the Limit above, also of the partial node if that is in a parallel plan. */
static void
set_limit(CustomScanState *css, LimitState *limit)
{
	GpuTotalState *node = (GpuTotalState *) css;
	PlanState  *below = outerPlanState(first_of(node));

	node->limit = limit;
	if (our_node(first_of(node)->ss.ps.plan) == &gpufirst_combining_node)
		(void) pass_limit(below, limit);
}

const CustomScanMethods gputotal_scan_methods = {
	.CustomName = GPUTOTAL_NODE_NAME,
	.CreateCustomScanState = create_node_state,
};

const OurNode gputotal_node = {
	.scan = &gputotal_scan_methods,
	.exec = {
		.CustomName = GPUTOTAL_NODE_NAME,
		.BeginCustomScan = begin_node,
		.ExecCustomScan = exec_node,
		.EndCustomScan = end_node,
		.ReScanCustomScan = rescan_node,
		.EstimateDSMCustomScan = estimate_shared,
		.InitializeDSMCustomScan = publish_bound,
		.ReInitializeDSMCustomScan = publish_bound,
		.InitializeWorkerCustomScan = read_bound,
	},
	.state_bytes = sizeof(GpuTotalState),
	.limit = set_limit,
};
