/*
 * columns_node.c: Custom Scan (GpuColumns), which answers aggregates and groups from resident columns, and rows with
 * what windows give: these are counted as groups, each of which is returned as often as it has rows.
 *
 * The rows of its scan are groups, their keys and aggregates' values, above which it projects what the query wants;
 * without keys there is one.  They come from columns, or from its child, PostgreSQL's own aggregate, if they cannot:
 * for whatever reason, since the first row is given out only when all of them are there.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "executor/nodeSubplan.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "utils/syscache.h"

#include "src/base/guc.h"
#include "columns_arrays.h"
#include "columns_node.h"
#include "columns_result.h"
#include "columns_strings.h"

/* Takes the plan's expressions of one kind; all but members are hidden in a NullTest. */
static List *
take_part(List **left, const CustomScan *scan, ColumnsCounts kind)
{
	int			count = list_nth_int(list_nth(scan->custom_private, COLUMNS_PRIVATE_COUNTS), kind);
	List	   *part = NIL;

	for (; count > 0; count--)
	{
		Expr	   *expr = linitial_node(TargetEntry, *left)->expr;

		part = lappend(part, kind == COLUMNS_MEMBERS ? expr : castNode(NullTest, expr)->arg);
		*left = list_delete_first(*left);
	}
	return part;
}

/* Takes the query's parts from the plan. */
static void
take_parts(ColumnsParts *parts, const CustomScan *scan)
{
	List	   *left = list_copy(scan->custom_scan_tlist);

	(void) take_part(&left, scan, COLUMNS_MEMBERS);
	parts->keys = take_part(&left, scan, COLUMNS_KEYS);
	parts->aggregates = take_part(&left, scan, COLUMNS_AGGREGATES);
	parts->conditions = take_part(&left, scan, COLUMNS_CONDITIONS);
	parts->window_keys = take_part(&left, scan, COLUMNS_WINDOW_KEYS);
	parts->above = take_part(&left, scan, COLUMNS_ABOVE);
	parts->having = take_part(&left, scan, COLUMNS_HAVING);
	parts->limits = take_part(&left, scan, COLUMNS_LIMITS);
	parts->checks = take_part(&left, scan, COLUMNS_CHECKS);
	parts->kinds = list_nth(scan->custom_private, COLUMNS_PRIVATE_KINDS);
	parts->orders = list_nth(scan->custom_private, COLUMNS_PRIVATE_ORDERS);
	parts->windows = list_copy_tail(list_nth(scan->custom_private, COLUMNS_PRIVATE_SUBQUERY), 1);
}

/* BeginCustomScan */
static void
begin_node(CustomScanState *css, EState *estate, int eflags)
{
	GpuColumnsState *node = (GpuColumnsState *) css;
	const CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	const List *subquery = list_nth(scan->custom_private, COLUMNS_PRIVATE_SUBQUERY);

	node->child = ExecInitNode(linitial(scan->custom_plans), estate, eflags);
	css->custom_ps = list_make1(node->child);
	node->leaves = list_nth(scan->custom_private, COLUMNS_PRIVATE_LEAVES);
	node->counted = list_nth_int(list_nth(scan->custom_private, COLUMNS_PRIVATE_COUNTS), COLUMNS_COUNTED) != 0;
	node->repeated = list_nth_int(list_nth(scan->custom_private, COLUMNS_PRIVATE_COUNTS), COLUMNS_REPEATED) != 0;
	node->table = css->ss.ss_currentRelation;
	/* the node's rows are none of the table, as a cursor's are that can be updated (execCurrent.c: search_plan_tree) */
	css->ss.ss_currentRelation = NULL;
	node->opened = node->table == NULL;
	/* the plan of the subquery, which is below, has its lock and checks who may read it */
	if (node->opened)
		node->table = table_open(linitial_oid(linitial(subquery)), NoLock);
	take_parts(&node->parts, scan);
	node->parts.repeated = node->repeated;
	node->context = AllocSetContextCreate(estate->es_query_cxt, "gpusort columns", ALLOCSET_SMALL_SIZES);
	node->some = AllocSetContextCreate(estate->es_query_cxt, "gpusort groups", ALLOCSET_SMALL_SIZES);
}

/* Returns true for types whose values are read, written and passed without anybody's code or catalogs. */
static bool
is_plain(Oid type)
{
	static const Oid plain[] = {BOOLOID, INT2OID, INT4OID, INT8OID, OIDOID, FLOAT4OID, FLOAT8OID, NUMERICOID, DATEOID,
		TIMEOID, TIMETZOID, TIMESTAMPOID, TIMESTAMPTZOID, INTERVALOID, UUIDOID, CHAROID, NAMEOID, TEXTOID, VARCHAROID,
	BPCHAROID, CSTRINGOID};

	for (int i = 0; i < (int) lengthof(plain); i++)
		if (plain[i] == type)
			return true;
	return false;
}

/*
 * Returns true for a function that may hold something when it raises an error, such as a snapshot or a place on SPI's
 * stack: any but the server's own immutable ones of plain types.
 */
static bool
may_hold(Oid function, void *context)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc proc;
	bool		holds;

	if (!HeapTupleIsValid(tuple))
		return true;
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	holds = function >= FirstNormalObjectId || proc->prolang != INTERNALlanguageId ||
		proc->provolatile != PROVOLATILE_IMMUTABLE || !is_plain(proc->prorettype);
	for (int i = 0; i < proc->pronargs; i++)
		holds = holds || !is_plain(proc->proargtypes.values[i]);
	ReleaseSysCache(tuple);
	return holds;
}

/* Walker: returns true for expressions with such functions, or of kinds that may run any code. */
static bool
value_may_hold(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Const:
		case T_Param:
		case T_RelabelType:
		case T_FuncExpr:
		case T_OpExpr:
		case T_CoerceViaIO:
		case T_BoolExpr:
		case T_NullTest:
		case T_CoalesceExpr:
			return check_functions_in_node(node, may_hold, context) ||
				expression_tree_walker(node, value_may_hold, context);
		default:
			return true;
	}
}

/* Walker: adds subqueries' parameters to a set. */
static bool
add_params(Node *node, void *context)
{
	Bitmapset **params = context;

	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		*params = bms_add_member(*params, ((Param *) node)->paramid);
	return expression_tree_walker(node, add_params, context);
}

/* Notes which values' errors are caught, and the parameters of all. */
static void
describe_values(GpuColumnsState *node)
{
	ListCell   *lc;

	foreach(lc, node->query->values)
		if (!value_may_hold(lfirst(lc), NULL))
			node->values_caught = bms_add_member(node->values_caught, foreach_current_index(lc));
	(void) add_params((Node *) node->query->values, &node->values_params);
}

const char *
columns_translate(GpuColumnsState *node)
{
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);
	const char *why = NULL;

	if (node->query == NULL)
	{
		node->query = palloc(sizeof(ColumnsQuery));
		why = columns_query(&node->parts, node->query);
		node->values = ExecInitExprList(node->query->values, &node->css.ss.ps);
		describe_values(node);
	}
	MemoryContextSwitchTo(old);
	return why;
}

/* A value being evaluated. */
typedef struct Evaluating
{
	const GpuColumnsState *node;
	QueryValues *values;
	int			at;
} Evaluating;

/* Evaluates it. */
static void
evaluate(void *arg)
{
	const Evaluating *evaluating = arg;
	QueryValues *result = evaluating->values;
	int			i = evaluating->at;

	result->values[i] = ExecEvalExprSwitchContext(list_nth(evaluating->node->values, i),
												  evaluating->node->css.ss.ps.ps_ExprContext, &result->nulls[i]);
}

/*
 * PostgreSQL's scans evaluate conditions for rows, so that an error of theirs is none where there is no row, as it is
 * here; its index scans evaluate theirs as they begin, as is done here with values that may hold something.
 */
const char *
columns_evaluate(GpuColumnsState *node, QueryValues *values)
{
	int			count = list_length(node->values);
	const char *why = NULL;

	*values = (QueryValues) {palloc_array(Datum, count + 1), palloc_array(bool, count + 1)};
	ExecSetParamPlanMulti(node->values_params, node->css.ss.ps.ps_ExprContext);
	for (int i = 0; i < count && why == NULL; i++)
	{
		Evaluating	evaluating = {node, values, i};

		if (bms_is_member(i, node->values_caught))
			why = strings_call(evaluate, &evaluating, "a value raises an error");
		else
			evaluate(&evaluating);
	}
	return why;
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

/* ---------------------------------------------------------------- answers from columns */

/* Writes a group to the scan's slot. */
static const char *
put_group(const GpuColumnsState *node, const gs_reduced *group)
{
	const ColumnsQuestion *question = node->question;
	TupleTableSlot *slot = node->css.ss.ss_ScanTupleSlot;

	return columns_result(node->query, &question->values, &question->steps, group, question->rows, slot->tts_values,
						  slot->tts_isnull);
}

/* Writes the number of groups to the scan's slot. */
static void
put_count(const GpuColumnsState *node)
{
	node->css.ss.ss_ScanTupleSlot->tts_values[0] = Int64GetDatum((int64) node->question->groups);
	node->css.ss.ss_ScanTupleSlot->tts_isnull[0] = false;
}

/* Adds the group in the scan's slot to the store; one that stands for its rows as often as its count says. */
static const char *
store_group(GpuColumnsState *node, const gs_reduced *group)
{
	const TupleTableSlot *slot = node->css.ss.ss_ScanTupleSlot;
	uint64		copies = 1;

	if (node->repeated)
	{
		copies = group[node->query->nkeys].count;
		if (copies == 0 || copies > node->question->rows - node->nrows)
			return "the service's answer is impossible";
		node->nrows += copies;
		/* the count stands where the scan has another column, which is not read */
		slot->tts_isnull[node->query->nmembers] = true;
	}
	for (; copies > 0; copies--)
	{
		CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(node->groups, slot->tts_tupleDescriptor, slot->tts_values, slot->tts_isnull);
	}
	return NULL;
}

/* ColumnsQuestion.take: adds groups to their store. */
static const char *
take_groups(void *arg, const gs_reduced *groups, uint64 n)
{
	GpuColumnsState *node = arg;
	Size		members = gs_steps_result_bytes(node->question->steps.steps) / sizeof(gs_reduced);
	MemoryContext old = MemoryContextSwitchTo(node->some);
	const char *why = NULL;

	for (uint64 i = 0; i < n && why == NULL; i++)
	{
		why = put_group(node, groups + i * members);
		if (why == NULL)
			why = store_group(node, groups + i * members);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(node->some);
	return why;
}

/* ColumnsQuestion.take: keeps the elements of arrays. */
static const char *
take_elements(void *arg, const gs_reduced *groups, uint64 n)
{
	return arrays_take(((GpuColumnsState *) arg)->arrays, groups, n);
}

/* Makes arrays of all elements, and adds them to the store. */
static const char *
put_arrays(GpuColumnsState *node)
{
	const TupleTableSlot *slot = node->css.ss.ss_ScanTupleSlot;
	const char *why = arrays_order(node->arrays, node->question->rows);
	bool		done = false;

	while (why == NULL && !done)
	{
		MemoryContext old = MemoryContextSwitchTo(node->some);

		why = arrays_next(node->arrays, slot->tts_values, slot->tts_isnull, &done);
		if (why == NULL && !done)
			tuplestore_putvalues(node->groups, slot->tts_tupleDescriptor, slot->tts_values, slot->tts_isnull);
		MemoryContextSwitchTo(old);
		MemoryContextReset(node->some);
	}
	return why;
}

/* Opens the store of groups. */
static void
open_store(GpuColumnsState *node)
{
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);

	node->groups = tuplestore_begin_heap(false, false, work_mem);
	if (node->group == NULL)
		node->group = MakeSingleTupleTableSlot(node->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor,
											   &TTSOpsMinimalTuple);
	MemoryContextSwitchTo(old);
}

/* Frees the store of groups. */
static void
close_store(GpuColumnsState *node)
{
	if (node->groups == NULL)
		return;
	ExecClearTuple(node->group);
	tuplestore_end(node->groups);
	node->groups = NULL;
}

/* Answers from columns, into the scan's slot or the store.  Returns NULL, or why that is impossible. */
static const char *
answer_from_columns(GpuColumnsState *node)
{
	ColumnsQuestion *question = palloc0(sizeof(ColumnsQuestion));
	ColumnsFigures figures = node->figures;
	const char *why = columns_translate(node);

	if (why != NULL)
		return why;
	if (node->query->nkeys > 0 && !node->counted)
		open_store(node);
	node->nrows = 0;
	node->question = question;
	question->table = node->table;
	question->leaves = node->leaves;
	question->snapshot = node->css.ss.ps.state->es_snapshot;
	question->query = node->query;
	question->explained = node->css.ss.ps.instrument != NULL;
	question->figures = &figures;
	question->take = node->counted ? NULL : node->query->array != NULL ? take_elements : take_groups;
	question->arg = node;
	node->arrays = palloc0(sizeof(ColumnsArrays));
	node->arrays->query = node->query;
	why = columns_evaluate(node, &question->values);
	if (why == NULL)
		why = columns_answer(question);
	if (why == NULL && node->query->array != NULL && !node->counted)
		why = put_arrays(node);
	if (why == NULL && node->counted)
		put_count(node);
	else if (why == NULL && node->query->nkeys == 0)
		why = put_group(node, question->reduced);
	if (why != NULL)
		return why;
	node->figures = figures;
	node->ngroups += node->repeated ? node->nrows : question->groups;
	node->scans++;
	return NULL;
}

/* Walker: has scans below, which are PostgreSQL's plan, not ask for their rows. */
static bool
leave_scans(PlanState *state, void *why)
{
	const OurNode *kind = our_node(state->plan);

	if (kind != NULL && kind->scan == &columns_scan_methods &&
		(kind->variant != NULL || ((GpuColumnsState *) state)->repeated))
		((GpuColumnsState *) state)->why = why;
	return planstate_tree_walker(state, leave_scans, why);
}

bool
columns_try(GpuColumnsState *node, const char *(*answer) (GpuColumnsState *node))
{
	MemoryContext old;
	const char *why = not_tried(node);

	if (why == NULL)
	{
		MemoryContextReset(node->context);
		ResetExprContext(node->css.ss.ps.ps_ExprContext);
		old = MemoryContextSwitchTo(node->context);
		why = answer(node);
		MemoryContextSwitchTo(old);
		if (why != NULL && gpusort_columns == COLUMNS_FORCE)
			ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
							errmsg("the query cannot be answered from columns"),
							errdetail("Reason: %s.", why)));
	}
	if (why == NULL)
		return true;
	/* reasons may lie in the context of an answer */
	node->why = MemoryContextStrdup(node->css.ss.ps.state->es_query_cxt, why);
	(void) leave_scans(node->child, unconstify(char *, node->why));
	return false;
}

/* ---------------------------------------------------------------- rows */

/* Begins a scan.  A node that has once used its child goes on with it. */
static void
begin_scan(GpuColumnsState *node)
{
	TupleTableSlot *slot = node->css.ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, sizeof(bool) * (Size) slot->tts_tupleDescriptor->natts);
	close_store(node);
	node->answered = node->why == NULL && columns_try(node, answer_from_columns);
	if (!node->answered)
		close_store(node);
	node->begun = true;
}

/* Moves a row of the store or the child to the scan's slot.  Returns false at the end. */
static bool
move_row(const GpuColumnsState *node, TupleTableSlot *row)
{
	TupleTableSlot *slot = node->css.ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	if (TupIsNull(row))
		return false;
	slot_getallattrs(row);
	for (int i = 0; i < row->tts_tupleDescriptor->natts; i++)
	{
		slot->tts_values[i] = row->tts_values[i];
		slot->tts_isnull[i] = row->tts_isnull[i];
	}
	ExecStoreVirtualTuple(slot);
	return true;
}

/* Brings the scan's next row into its slot.  Returns false at the end. */
static bool
next_row(GpuColumnsState *node)
{
	bool		first = !node->returned;

	node->returned = true;
	if (!node->answered)
		return move_row(node, ExecProcNode(node->child));
	if (node->groups != NULL)
	{
		(void) tuplestore_gettupleslot(node->groups, true, false, node->group);
		return move_row(node, node->group);
	}
	if (first && TTS_EMPTY(node->css.ss.ss_ScanTupleSlot))
		ExecStoreVirtualTuple(node->css.ss.ss_ScanTupleSlot);
	return first;
}

/* ExecCustomScan */
static TupleTableSlot *
exec_node(CustomScanState *css)
{
	GpuColumnsState *node = (GpuColumnsState *) css;
	ExprContext *context = css->ss.ps.ps_ExprContext;

	if (!node->begun)
		begin_scan(node);
	while (next_row(node))
	{
		ResetExprContext(context);
		context->ecxt_scantuple = css->ss.ss_ScanTupleSlot;
		if (css->ss.ps.qual == NULL || ExecQual(css->ss.ps.qual, context))
			return css->ss.ps.ps_ProjInfo != NULL ? ExecProject(css->ss.ps.ps_ProjInfo) : css->ss.ss_ScanTupleSlot;
		InstrCountFiltered1(css, 1);
		CHECK_FOR_INTERRUPTS();
	}
	return NULL;
}

/* EndCustomScan */
static void
end_node(CustomScanState *css)
{
	GpuColumnsState *node = (GpuColumnsState *) css;

	close_store(node);
	if (node->group != NULL)
		ExecDropSingleTupleTableSlot(node->group);
	if (node->opened)
		table_close(node->table, NoLock);
	ExecEndNode(node->child);
}

/* ReScanCustomScan.  Without a changed parameter the answer stays what it was: the snapshot is the scan's. */
static void
rescan_node(CustomScanState *css)
{
	GpuColumnsState *node = (GpuColumnsState *) css;

	node->returned = false;
	if (css->ss.ps.chgParam != NULL)
	{
		node->begun = false;
		UpdateChangedParamSet(node->child, css->ss.ps.chgParam);
	}
	else if (node->groups != NULL)
		tuplestore_rescan(node->groups);
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
