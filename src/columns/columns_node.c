/*
 * columns_node.c: Custom Scan (GpuColumns), which answers aggregates from resident columns.
 *
 * Its scan has one row, the aggregates' values, above which it projects what the query wants.  The values come from
 * columns, or from its child, PostgreSQL's own aggregate, if they cannot: for whatever reason, since the row is given
 * out only when all of it is there.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"

#include "src/base/guc.h"
#include "columns_node.h"
#include "columns_result.h"

/* BeginCustomScan */
static void
begin_node(CustomScanState *css, EState *estate, int eflags)
{
	GpuColumnsState *node = (GpuColumnsState *) css;
	const CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	int			naggregates = intVal(list_nth(scan->custom_private, COLUMNS_PRIVATE_AGGREGATES));
	ListCell   *lc;

	node->child = ExecInitNode(linitial(scan->custom_plans), estate, eflags);
	css->custom_ps = list_make1(node->child);
	node->leaves = list_nth(scan->custom_private, COLUMNS_PRIVATE_LEAVES);
	foreach(lc, scan->custom_scan_tlist)
	{
		Expr	   *expr = lfirst_node(TargetEntry, lc)->expr;

		if (foreach_current_index(lc) < naggregates)
			node->aggregates = lappend(node->aggregates, expr);
		else
			node->conditions = lappend(node->conditions, expr);
	}
	node->context = AllocSetContextCreate(estate->es_query_cxt, "gpusort columns", ALLOCSET_SMALL_SIZES);
}

/* Translates the query, once. */
static const char *
translate(GpuColumnsState *node)
{
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);
	const char *why = NULL;

	if (node->query == NULL)
	{
		node->query = palloc(sizeof(ColumnsQuery));
		why = columns_query(node->conditions, node->aggregates, node->query);
		node->values = ExecInitExprList(node->query->values, &node->css.ss.ps);
	}
	MemoryContextSwitchTo(old);
	return why;
}

/* Evaluates the query's values for this scan. */
static QueryValues
evaluate(GpuColumnsState *node)
{
	int			count = list_length(node->values);
	QueryValues result = {palloc_array(Datum, count + 1), palloc_array(bool, count + 1)};
	ListCell   *lc;

	foreach(lc, node->values)
	{
		int			i = foreach_current_index(lc);

		result.values[i] = ExecEvalExprSwitchContext(lfirst(lc), node->css.ss.ps.ps_ExprContext, &result.nulls[i]);
	}
	return result;
}

/* Returns why a node does not try columns, or NULL. */
static const char *
not_tried(const GpuColumnsState *node)
{
	const EState *estate = node->css.ss.ps.state;

	if (!gpusort_enabled)
		return "gpusort.enabled is off";
	if (gpusort_columns == COLUMNS_OFF)
		return "gpusort.columns is off";
	if (estate->es_epq_active != NULL)
		return "a row is checked again after a concurrent update";
	return NULL;
}

/* Answers from columns, into the slot's values.  Returns NULL, or why that is impossible. */
static const char *
answer_from_columns(GpuColumnsState *node, Datum *values, bool *nulls)
{
	ColumnsQuestion *question;
	ColumnsFigures figures = node->figures;
	const char *why = translate(node);

	if (why != NULL)
		return why;
	question = palloc0(sizeof(ColumnsQuestion));
	question->table = node->css.ss.ss_currentRelation;
	question->leaves = node->leaves;
	question->snapshot = node->css.ss.ps.state->es_snapshot;
	question->query = node->query;
	question->values = evaluate(node);
	question->explained = node->css.ss.ps.instrument != NULL;
	question->figures = &figures;
	why = columns_answer(question);
	if (why == NULL)
		why = columns_result(node->query, &question->steps, question->reduced, question->rows, values, nulls);
	if (why == NULL)
	{
		node->figures = figures;
		node->scans++;
	}
	return why;
}

/* Fills the scan's row from columns.  Returns false if the child has to do it. */
static bool
fill_from_columns(GpuColumnsState *node, TupleTableSlot *slot)
{
	MemoryContext old;
	const char *why = not_tried(node);

	if (why == NULL)
	{
		MemoryContextReset(node->context);
		ResetExprContext(node->css.ss.ps.ps_ExprContext);
		old = MemoryContextSwitchTo(node->context);
		why = answer_from_columns(node, slot->tts_values, slot->tts_isnull);
		MemoryContextSwitchTo(old);
		if (why != NULL && gpusort_columns == COLUMNS_FORCE)
			ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
							errmsg("the query cannot be answered from columns"),
							errdetail("Reason: %s.", why)));
	}
	/* reasons may lie in the context of an answer */
	if (why != NULL)
		node->why = MemoryContextStrdup(node->css.ss.ps.state->es_query_cxt, why);
	return why == NULL;
}

/* Fills the scan's row from the child. */
static void
fill_from_child(GpuColumnsState *node, TupleTableSlot *slot)
{
	TupleTableSlot *row = ExecProcNode(node->child);

	if (TupIsNull(row))
		elog(ERROR, "an aggregate without groups returned no row");
	slot_getallattrs(row);
	for (int i = 0; i < row->tts_tupleDescriptor->natts; i++)
	{
		slot->tts_values[i] = row->tts_values[i];
		slot->tts_isnull[i] = row->tts_isnull[i];
	}
}

/* Fills the scan's row.  A node that has once used its child goes on with it. */
static void
fill(GpuColumnsState *node, TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, sizeof(bool) * (Size) slot->tts_tupleDescriptor->natts);
	node->answered = node->why == NULL && fill_from_columns(node, slot);
	if (!node->answered)
		fill_from_child(node, slot);
	ExecStoreVirtualTuple(slot);
}

/* ExecCustomScan */
static TupleTableSlot *
exec_node(CustomScanState *css)
{
	GpuColumnsState *node = (GpuColumnsState *) css;
	TupleTableSlot *slot = css->ss.ss_ScanTupleSlot;

	if (node->returned)
		return NULL;
	if (!node->answered)
		fill(node, slot);
	node->returned = true;
	if (css->ss.ps.ps_ProjInfo == NULL)
		return slot;
	ResetExprContext(css->ss.ps.ps_ExprContext);
	css->ss.ps.ps_ExprContext->ecxt_scantuple = slot;
	return ExecProject(css->ss.ps.ps_ProjInfo);
}

/* EndCustomScan */
static void
end_node(CustomScanState *css)
{
	ExecEndNode(((GpuColumnsState *) css)->child);
}

/* ReScanCustomScan.  Without a changed parameter the answer stays what it was: the snapshot is the scan's. */
static void
rescan_node(CustomScanState *css)
{
	GpuColumnsState *node = (GpuColumnsState *) css;

	node->returned = false;
	if (css->ss.ps.chgParam != NULL)
	{
		node->answered = false;
		UpdateChangedParamSet(node->child, css->ss.ps.chgParam);
	}
	if (node->child->chgParam == NULL)
		ExecReScan(node->child);
}

const CustomScanMethods columns_scan_methods = {
	.CustomName = COLUMNS_NODE_NAME,
	.CreateCustomScanState = create_node_state,
};

const OurNode columns_node = {
	.scan = &columns_scan_methods,
	.exec = {
		.CustomName = COLUMNS_NODE_NAME,
		.BeginCustomScan = begin_node,
		.ExecCustomScan = exec_node,
		.EndCustomScan = end_node,
		.ReScanCustomScan = rescan_node,
		.ExplainCustomScan = columns_explain,
	},
	.state_bytes = sizeof(GpuColumnsState),
};
