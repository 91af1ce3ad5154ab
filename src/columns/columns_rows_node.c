/*
 * columns_rows_node.c: Custom Scan (GpuColumns) that finds rows of a table by its resident columns: those that pass
 * conditions, in the order of the table, or those of a page of an order.
 *
 * The service gives their TIDs, all before the first row leaves; then the rows come from the table, and the conditions
 * that columns do not know are tested.  If columns cannot answer, TIDs come from its child, PostgreSQL's own scan, or a
 * sort over it.  So whichever it is, what the node returns is made of a row of the table.
 *
 * Rows of an order are compared with the one before as they come; the first ones, before one of them leaves.
 *
 * A Limit right above it does not have to take the rows that it passes over: they are not fetched, and its position
 * says that they are done.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"

#include "src/base/guc.h"
#include "src/nodes/limits.h"
#include "columns_rows_node.h"
#include "row_fetch.h"
#include "rows_proof.h"

/* Rows of an order that are compared before the first one leaves. */
#define PROVED_FIRST 256

typedef struct GpuRowsState
{
	GpuColumnsState columns;
	LimitState *limit;			/* right above; NULL: none */
	RowPlaces	places;
	RowFetch	fetch;
	RowsProof  *proof;			/* of their order; NULL: they have none, or it is believed */
	uint64		passed;			/* rows before the page that were asked for, */
	uint64		most;			/* of which this many are wanted; 0: all */
	bool		left;			/* a row of this scan has left */
	bool		copied;			/* its rows were found by the CPU, not by the device on which columns lie */
} GpuRowsState;

/* BeginCustomScan */
static void
begin_node(CustomScanState *css, EState *estate, int eflags)
{
	GpuRowsState *node = (GpuRowsState *) css;
	const CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	ColumnsParts *parts = &node->columns.parts;
	int			nconditions = linitial_int(list_nth(scan->custom_private, COLUMNS_ROWS_CONDITIONS));
	Relation	rel = css->ss.ss_currentRelation;

	node->columns.child = ExecInitNode(linitial(scan->custom_plans), estate, eflags);
	css->custom_ps = list_make1(node->columns.child);
	parts->rows = true;
	parts->conditions = list_truncate(list_copy(scan->custom_exprs), nconditions);
	parts->sorted = list_copy_tail(scan->custom_exprs, nconditions);
	parts->orders = list_nth(scan->custom_private, COLUMNS_ROWS_ORDERS);
	node->columns.context = AllocSetContextCreate(estate->es_query_cxt, "gpusort columns", ALLOCSET_SMALL_SIZES);
	/* the scan's rows are the table's, with their system columns; the server has made a slot of values alone */
	css->ss.ss_ScanTupleSlot = ExecInitExtraTupleSlot(estate, RelationGetDescr(rel), table_slot_callbacks(rel));
	css->ss.ps.scanops = css->ss.ss_ScanTupleSlot->tts_ops;
	ExecAssignScanProjectionInfo(&css->ss);
	css->ss.ps.qual = ExecInitQual(css->ss.ps.plan->qual, &css->ss.ps);
	if (parts->sorted != NIL && gpusort_verify != VERIFY_OFF)
		node->proof = rowsproof_open(parts->sorted, parts->orders, RelationGetDescr(rel));
}

/* OurNode.limit: keeps a Limit that takes the node's own rows. */
static void
set_limit(CustomScanState *css, LimitState *limit)
{
	if (outerPlanState(limit) == &css->ss.ps && ((GpuColumnsState *) css)->parts.sorted != NIL)
		((GpuRowsState *) css)->limit = limit;
}

/* Returns true if a Limit above has not taken a row of this scan, and passes over rows or ends by their number. */
static bool
has_fresh_limit(const GpuRowsState *node)
{
	const LimitState *limit = node->limit;

	return limit != NULL && limit->limitOption == LIMIT_OPTION_COUNT && limit->lstate == LIMIT_RESCAN &&
		limit->position == 0 && limit->offset >= 0 && (limit->noCount || limit->count > 0);
}

/* Returns how many rows the Limit passes over. */
static uint64
rows_passed(const GpuRowsState *node)
{
	return has_fresh_limit(node) ? (uint64) node->limit->offset : 0;
}

/* Returns how many rows the Limit takes; 0: all. */
static uint64
rows_wanted(const GpuRowsState *node)
{
	return has_fresh_limit(node) && !node->limit->noCount ? (uint64) node->limit->count : 0;
}

/* Finds rows by columns.  Returns NULL, or why that is impossible. */
static const char *
find_rows(GpuColumnsState *columns)
{
	GpuRowsState *node = (GpuRowsState *) columns;
	ColumnsQuestion *question = palloc0(sizeof(ColumnsQuestion));
	ColumnsFigures figures = columns->figures;
	const char *why = columns_translate(columns);

	if (why != NULL)
		return why;
	node->places = (RowPlaces) {.ordered = columns->parts.sorted != NIL};
	columns->query->first_row = node->passed;
	columns->query->most_rows = node->most;
	question->table = columns->css.ss.ss_currentRelation;
	question->snapshot = columns->css.ss.ps.state->es_snapshot;
	question->query = columns->query;
	question->explained = columns->css.ss.ps.instrument != NULL;
	question->figures = &figures;
	question->places = &node->places;
	why = columns_evaluate(columns, &question->values);
	if (why == NULL)
		why = columns_answer(question);
	if (why != NULL)
		return why;
	columns->figures = figures;
	node->copied = question->copied;
	columns->ngroups += question->groups;
	columns->scans++;
	row_fetch_begin(&node->fetch, question->table, question->snapshot, node->places.tids, node->places.count);
	return NULL;
}

/* Has the Limit know that rows have been passed over. */
static void
pass_over(const GpuRowsState *node)
{
	if (node->passed > 0)
		node->limit->position = node->limit->offset;
}

/* Has a sort below know the Limit, before it begins. */
static void
bound_child(const GpuRowsState *node)
{
	if (has_fresh_limit(node))
		ExecSetTupleBound(limit_rows(node->limit) > 0 ? limit_rows(node->limit) : -1, node->columns.child);
}

/* Begins the child's scan: passes over its rows. */
static void
begin_child(GpuRowsState *node)
{
	PlanState  *child = node->columns.child;

	node->passed = rows_passed(node);
	bound_child(node);
	for (uint64 i = 0; i < node->passed; i++)
	{
		TupleTableSlot *row = ExecProcNode(child);

		if (TupIsNull(row))
			return;
	}
	pass_over(node);
}

/* Begins a scan.  A node that has once used its child goes on with it. */
static void
begin_scan(GpuRowsState *node)
{
	GpuColumnsState *columns = &node->columns;
	bool		same = columns->begun && node->passed == rows_passed(node) && node->most == rows_wanted(node);

	columns->returned = true;
	node->passed = rows_passed(node);
	node->most = rows_wanted(node);
	if (!same)
		columns->answered = columns->why == NULL && columns_try(columns, find_rows);
	columns->begun = true;
	if (!columns->answered)
		begin_child(node);
}

/* Ends the fetching of rows, or has it begin again. */
static void
rewind_fetch(GpuRowsState *node)
{
	if (node->proof != NULL)
		rowsproof_rewind(node->proof);
	row_fetch_rewind(&node->fetch);
}

/* Leaves the scan to the child, as rows are wrong.  Too late if some have left. */
static void
leave_to_child(GpuRowsState *node, const char *why)
{
	GpuColumnsState *columns = &node->columns;
	Relation	rel = columns->css.ss.ss_currentRelation;

	rewind_fetch(node);
	columns->why = why;
	columns_gave_wrong_rows(rel, node->copied);
	if (node->left || gpusort_columns == COLUMNS_FORCE)
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
						errmsg("columns found wrong rows in table \"%s\"", RelationGetRelationName(rel)),
						errdetail("Reason: %s.", why),
						errhint("Do not use the rows returned so far. Repeat the query with gpusort.columns set to "
								"off.")));
	columns->answered = false;
	begin_child(node);
}

/* Fetches the next row of the child.  Returns false at the end. */
static bool
next_of_child(const GpuRowsState *node)
{
	const ScanState *scan = &node->columns.css.ss;
	TupleTableSlot *row = ExecProcNode(node->columns.child);
	bool		isnull;
	Datum		tid;

	if (TupIsNull(row))
		return false;
	tid = slot_getattr(row, 1, &isnull);
	if (!table_tuple_fetch_row_version(scan->ss_currentRelation, (ItemPointer) DatumGetPointer(tid),
									   scan->ps.state->es_snapshot, scan->ss_ScanTupleSlot))
		elog(ERROR, "a row that was just read is not there");
	return true;
}

/* Fetches the next row that columns found.  Returns false at the end, or with what is wrong. */
static bool
next_found(GpuRowsState *node, const char **why)
{
	TupleTableSlot *slot = node->columns.css.ss.ss_ScanTupleSlot;
	MemoryContext old;
	bool		proved;

	if (!row_fetch_next(&node->fetch, slot))
	{
		*why = node->fetch.missing ? "a row that columns found is not there" : NULL;
		return false;
	}
	if (node->proof == NULL)
		return true;
	old = MemoryContextSwitchTo(node->columns.css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	proved = rowsproof_take(node->proof, slot);
	MemoryContextSwitchTo(old);
	*why = proved ? NULL : "rows that columns found are in a wrong order";
	return proved;
}

/* Looks at the first rows of an order, and begins again.  Returns what is wrong with them, or NULL. */
static const char *
first_rows_wrong(GpuRowsState *node)
{
	const char *why = NULL;

	for (int i = 0; i < PROVED_FIRST && next_found(node, &why); i++)
	{
		ResetExprContext(node->columns.css.ss.ps.ps_ExprContext);
		CHECK_FOR_INTERRUPTS();
	}
	ExecClearTuple(node->columns.css.ss.ss_ScanTupleSlot);
	rewind_fetch(node);
	return why;
}

/* Fetches the next row.  Returns false at the end. */
static bool
next_row(GpuRowsState *node)
{
	if (node->columns.answered)
	{
		bool		first = node->fetch.next == 0;
		const char *why = first && node->proof != NULL ? first_rows_wrong(node) : NULL;

		if (why == NULL && next_found(node, &why))
		{
			if (first)
				pass_over(node);
			return true;
		}
		if (why == NULL)
			return false;
		leave_to_child(node, why);
	}
	return next_of_child(node);
}

/* Tests the conditions that columns do not know; the child has tested all. */
static bool
passes(const GpuRowsState *node)
{
	const PlanState *plan = &node->columns.css.ss.ps;

	return plan->qual == NULL || !node->columns.answered || ExecQual(plan->qual, plan->ps_ExprContext);
}

/* ExecCustomScan */
static TupleTableSlot *
exec_node(CustomScanState *css)
{
	GpuRowsState *node = (GpuRowsState *) css;
	ExprContext *context = css->ss.ps.ps_ExprContext;

	if (!node->columns.returned)
		begin_scan(node);
	while (next_row(node))
	{
		ResetExprContext(context);
		context->ecxt_scantuple = css->ss.ss_ScanTupleSlot;
		if (passes(node))
		{
			node->left = true;
			return css->ss.ps.ps_ProjInfo != NULL ? ExecProject(css->ss.ps.ps_ProjInfo) : css->ss.ss_ScanTupleSlot;
		}
		InstrCountFiltered1(css, 1);
		CHECK_FOR_INTERRUPTS();
	}
	return ExecClearTuple(css->ss.ss_ScanTupleSlot);
}

/* EndCustomScan */
static void
end_node(CustomScanState *css)
{
	GpuRowsState *node = (GpuRowsState *) css;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	rewind_fetch(node);
	if (node->proof != NULL)
		rowsproof_close(node->proof);
	ExecEndNode(node->columns.child);
}

/* ReScanCustomScan.  Without a changed parameter the rows stay what they were, unless the Limit wants others. */
static void
rescan_node(CustomScanState *css)
{
	GpuRowsState *node = (GpuRowsState *) css;
	PlanState  *child = node->columns.child;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	rewind_fetch(node);
	node->columns.returned = node->left = false;
	if (css->ss.ps.chgParam != NULL)
	{
		node->columns.begun = false;
		UpdateChangedParamSet(child, css->ss.ps.chgParam);
	}
	bound_child(node);
	if (child->chgParam == NULL)
		ExecReScan(child);
}

const OurNode columns_rows_node = {
	.scan = &columns_scan_methods,
	.variant = COLUMNS_ROWS_VARIANT,
	.exec = {
		.CustomName = COLUMNS_NODE_NAME,
		.BeginCustomScan = begin_node,
		.ExecCustomScan = exec_node,
		.EndCustomScan = end_node,
		.ReScanCustomScan = rescan_node,
		.ExplainCustomScan = columns_explain,
	},
	.state_bytes = sizeof(GpuRowsState),
	.passes_limit = true,
	.limit = set_limit,
};
