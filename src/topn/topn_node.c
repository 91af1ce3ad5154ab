/*
 * topn_node.c: Custom Scan (GpuTopN), which keeps the first rows of each group while it reads its child, and returns
 * them in no order.  Rows for which there is no memory are passed on at once.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/core/node.h"
#include "src/core/scansample.h"
#include "group_rows.h"
#include "topn_node.h"

/* What the node does next. */
typedef enum TopNStage
{
	TOPN_BEGIN,
	TOPN_READ,					/* keeps rows of the child */
	TOPN_RETURN,				/* returns those that are kept, at the end */
	TOPN_GIVE_UP,				/* returns those that are kept, in the middle */
	TOPN_PASS,					/* passes rows on */
	TOPN_END
} TopNStage;

typedef struct GpuTopNState
{
	CustomScanState css;
	SortColumns order;
	int			ngroups;
	AttrNumber *groups;
	int64		bound;
	bool		ties;
	TopNStage	stage;
	GroupRows  *rows;
	TupleTableSlot *kept;
	uint64		left_out;		/* by scans that have ended */
	uint64		sampled;		/* for these */
} GpuTopNState;

/* Reads the columns of the groups and the bound from the plan. */
static void
read_details(GpuTopNState *node, const CustomScan *scan)
{
	List	   *details = list_nth(scan->custom_private, PRIVATE_DETAILS);
	List	   *groups = linitial(details);
	ListCell   *lc;

	node->groups = palloc(sizeof(AttrNumber) * Max(list_length(groups), 1));
	foreach(lc, groups)
		node->groups[node->ngroups++] = (AttrNumber) lfirst_int(lc);
	node->bound = linitial_int(lsecond(details));
	node->ties = lsecond_int(lsecond(details)) != 0;
}

/* BeginCustomScan: rows leave in slots of the child, or in one of the kept rows. */
static void
begin_node(CustomScanState *css, EState *estate, int eflags)
{
	GpuTopNState *node = (GpuTopNState *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;

	outerPlanState(css) = ExecInitNode(outerPlan(scan), estate, eflags);
	css->ss.ps.resultops = &TTSOpsMinimalTuple;
	css->ss.ps.resultopsfixed = false;
	css->ss.ps.resultopsset = true;
	css->ss.ps.ps_ProjInfo = NULL;
	gpusort_read_columns(&node->order, scan);
	read_details(node, scan);
	node->kept = ExecInitExtraTupleSlot(estate, ExecGetResultType(outerPlanState(css)), &TTSOpsMinimalTuple);
}

/* Begins to keep rows, in the memory of the query. */
static void
begin_rows(GpuTopNState *node)
{
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);

	node->rows = grouprows_open(&node->order, node->ngroups, node->groups, node->kept->tts_tupleDescriptor,
								node->bound, node->ties, gpusort_memory_limit());
	MemoryContextSwitchTo(old);
	node->stage = gpusort_enabled ? TOPN_READ : TOPN_PASS;
}

/* Frees the rows that are kept. */
static void
drop_rows(GpuTopNState *node)
{
	ExecClearTuple(node->kept);
	if (node->rows == NULL)
		return;
	node->left_out += grouprows_left_out(node->rows);
	node->sampled += grouprows_sampled(node->rows);
	grouprows_close(node->rows);
	node->rows = NULL;
}

/* Puts a row of the child; returns one to pass on, or NULL.  Comparisons may leak, into the memory of one row. */
static TupleTableSlot *
put_row(GpuTopNState *node, TupleTableSlot *slot)
{
	ExprContext *context = node->css.ss.ps.ps_ExprContext;
	MemoryContext old;
	TupleTableSlot *result;

	ResetExprContext(context);
	old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	result = grouprows_put(node->rows, slot, node->kept);
	MemoryContextSwitchTo(old);
	if (unlikely(grouprows_is_useless(node->rows)))
		node->stage = TOPN_GIVE_UP;
	return result;
}

/* Looks at a sample of the rows to come: those that are behind the first ones of these need not be copied. */
static void
look_ahead(GpuTopNState *node)
{
	PlanState  *child = outerPlanState(node);
	double		fraction = grouprows_begin_sample(node->rows, child->plan->plan_rows);

	if (fraction > 0)
		scansample_read(child, fraction, node->css.ss.ps.ps_ExprContext, grouprows_put_sampled, node->rows);
}

/* Reads rows until one has to be passed on; NULL once the stage has changed. */
static TupleTableSlot *
read_rows(GpuTopNState *node)
{
	TupleTableSlot *slot;
	TupleTableSlot *passed = NULL;

	ExecClearTuple(node->kept);
	while (passed == NULL && node->stage == TOPN_READ)
	{
		CHECK_FOR_INTERRUPTS();
		if (unlikely(grouprows_need_sample(node->rows)))
			look_ahead(node);
		slot = ExecProcNode(outerPlanState(node));
		if (TupIsNull(slot))
			node->stage = TOPN_RETURN;
		else
			passed = put_row(node, slot);
	}
	return passed;
}

/* Returns the next row that is kept; NULL, and another stage, if there is none. */
static TupleTableSlot *
return_kept(GpuTopNState *node)
{
	TupleTableSlot *slot = grouprows_next(node->rows, node->kept);

	if (!TupIsNull(slot))
		return slot;
	drop_rows(node);
	node->stage = node->stage == TOPN_GIVE_UP ? TOPN_PASS : TOPN_END;
	return NULL;
}

/* ExecCustomScan */
static TupleTableSlot *
exec_node(CustomScanState *css)
{
	GpuTopNState *node = (GpuTopNState *) css;
	TupleTableSlot *slot = NULL;

	CHECK_FOR_INTERRUPTS();
	if (unlikely(node->stage == TOPN_BEGIN))
		begin_rows(node);
	if (node->stage == TOPN_READ)
		slot = read_rows(node);
	if (slot == NULL && (node->stage == TOPN_RETURN || node->stage == TOPN_GIVE_UP))
		slot = return_kept(node);
	if (slot == NULL && node->stage == TOPN_PASS)
		slot = ExecProcNode(outerPlanState(css));
	return slot;
}

/* EndCustomScan */
static void
end_node(CustomScanState *css)
{
	drop_rows((GpuTopNState *) css);
	ExecEndNode(outerPlanState(css));
}

/* ReScanCustomScan */
static void
rescan_node(CustomScanState *css)
{
	drop_rows((GpuTopNState *) css);
	((GpuTopNState *) css)->stage = TOPN_BEGIN;
	if (outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
}

/* Shows what was left out, and what was sampled for that. */
static void
explain_counts(const GpuTopNState *node, ExplainState *es)
{
	uint64		left_out = node->left_out + (node->rows ? grouprows_left_out(node->rows) : 0);
	uint64		sampled = node->sampled + (node->rows ? grouprows_sampled(node->rows) : 0);

	ExplainPropertyInteger("Rows Left Out", NULL, (int64) left_out, es);
	if (sampled > 0)
		ExplainPropertyInteger("Rows Sampled", NULL, (int64) sampled, es);
}

/* ExplainCustomScan */
static void
explain_node(CustomScanState *css, List *ancestors, ExplainState *es)
{
	GpuTopNState *node = (GpuTopNState *) css;
	List	   *groups = NIL;
	Node	   *expr;

	for (int i = 0; i < node->ngroups; i++)
		groups = lappend(groups, explain_column(css, node->groups[i], &expr, ancestors, es));
	if (groups != NIL)
		ExplainPropertyList("Group Key", groups, es);
	explain_keys(css, &node->order, ancestors, es);
	ExplainPropertyInteger("Rows per Group", NULL, node->bound, es);
	/* the leader does not know of its workers' */
	if (es->analyze && css->ss.ps.worker_instrument == NULL)
		explain_counts(node, es);
}

const CustomScanMethods gputopn_scan_methods = {
	.CustomName = GPUTOPN_NODE_NAME,
	.CreateCustomScanState = create_node_state,
};

const OurNode gputopn_node = {
	.scan = &gputopn_scan_methods,
	.exec = {
		.CustomName = GPUTOPN_NODE_NAME,
		.BeginCustomScan = begin_node,
		.ExecCustomScan = exec_node,
		.EndCustomScan = end_node,
		.ReScanCustomScan = rescan_node,
		.ExplainCustomScan = explain_node,
	},
	.state_bytes = sizeof(GpuTopNState),
};
