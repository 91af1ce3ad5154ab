/*
 * node.c: Custom Scan (GpuSort), the executor node that replaces a Sort.  Does all that nodeSort.c does; results are
 * always MinimalTuples.  The sorter begins with the first row that is fetched, because EXPLAIN and EvalPlanQual
 * initialise trees that never run.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/nodes/limits.h"
#include "src/out/output.h"
#include "node.h"

List *
gpusort_write_columns(const SortColumns *columns)
{
	List	   *attnos = NIL;
	List	   *sortops = NIL;
	List	   *collations = NIL;
	List	   *nulls_first = NIL;

	for (int i = 0; i < columns->nkeys; i++)
	{
		attnos = lappend_int(attnos, columns->attnos[i]);
		sortops = lappend_oid(sortops, columns->sortops[i]);
		collations = lappend_oid(collations, columns->collations[i]);
		nulls_first = lappend_int(nulls_first, columns->nulls_first[i]);
	}
	return list_make5(attnos, sortops, collations, nulls_first, list_copy(attnos));
}

List *
gpusort_write_order(PlannerInfo *root, const List *clauses, List *targets)
{
	SortColumns columns = {0};
	int			most = list_length(clauses);
	ListCell   *lc;

	columns.attnos = palloc(sizeof(AttrNumber) * most);
	columns.sortops = palloc(sizeof(Oid) * most);
	columns.collations = palloc(sizeof(Oid) * most);
	columns.nulls_first = palloc(sizeof(bool) * most);
	foreach(lc, clauses)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Expr	   *key = (Expr *) get_sortgroupclause_expr(clause, root->processed_tlist);
		int			i = columns.nkeys++;

		columns.attnos[i] = tlist_member(key, targets)->resno;
		columns.sortops[i] = clause->sortop;
		columns.collations[i] = exprCollation((Node *) key);
		columns.nulls_first[i] = clause->nulls_first;
	}
	return gpusort_write_columns(&columns);
}

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

void
sortnode_begin(CustomScanState *css, EState *estate, int eflags)
{
	SortNode   *node = (SortNode *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;

	node->random_access = (eflags & (EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK)) != 0;
	eflags &= ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK);
	outerPlanState(css) = ExecInitNode(outerPlan(scan), estate, eflags);

	/* the server prepared a projection from a virtual scan slot; a sort does not project */
	ExecInitResultSlot(&css->ss.ps, &TTSOpsMinimalTuple);
	css->ss.ps.ps_ProjInfo = NULL;
	gpusort_read_columns(&node->columns, scan);
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		node->pages = pagescan_open(outerPlanState(css));
}

void
sortnode_read_all(SortNode *node)
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
		if (node->bound_done > 0)
			sorter_recheck_bound(node->sorter);
	}
}

void
sortnode_load(SortNode *node, void (*read) (SortNode *node))
{
	EState	   *estate = node->css.ss.ps.state;
	ScanDirection direction = estate->es_direction;
	int64		bound = limit_rows(node->limit);
	SorterFallback fallback = gpusort_enabled ? SORTER_OURS : SORTER_DISABLED;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	node->sorter = sorter_begin(&node->columns, ExecGetResultType(outerPlanState(node)), node->random_access,
								node->css.ss.ps.plan->plan_rows, fallback, bound);
	MemoryContextSwitchTo(old);
	node->bound_done = bound;

	estate->es_direction = ForwardScanDirection;
	read(node);
	sorter_finish(node->sorter);
	estate->es_direction = direction;
	explain_report_space(&node->css.ss.ps, node->sorter, &node->reported);
}

void
sortnode_drop(SortNode *node)
{
	ExecClearTuple(node->css.ss.ps.ps_ResultTupleSlot);
	if (node->sorter)
	{
		sorter_add_stages(&node->before, &sorter_stats(node->sorter)->stages);
		sorter_end(node->sorter);
	}
	node->sorter = NULL;
}

/* ExecCustomScan: the next row in the current direction. */
static TupleTableSlot *
exec_node(CustomScanState *css)
{
	SortNode   *node = (SortNode *) css;

	CHECK_FOR_INTERRUPTS();
	if (unlikely(node->sorter == NULL))
		sortnode_load(node, sortnode_read_all);
	return sorter_get(node->sorter, ScanDirectionIsForward(css->ss.ps.state->es_direction),
					  css->ss.ps.ps_ResultTupleSlot);
}

/* The next row as it lies in memory. */
static MinimalTuple
next_row(CustomScanState *css)
{
	SortNode   *node = (SortNode *) css;

	if (unlikely(node->sorter == NULL))
		sortnode_load(node, sortnode_read_all);
	return sorter_next(node->sorter);
}

void
sortnode_end(CustomScanState *css)
{
	sortnode_drop((SortNode *) css);
	ExecEndNode(outerPlanState(css));
}

/* As ExecReScanSort: sorts again if anything may have changed, else rewinds. */
void
sortnode_rescan(CustomScanState *css)
{
	SortNode   *node = (SortNode *) css;
	PlanState  *outer = outerPlanState(css);

	node->reported = (SortSpace) {0, 0};
	if (node->sorter == NULL)
		return;
	if (outer->chgParam != NULL || !node->random_access ||
		(node->bound_done != limit_rows(node->limit) && sorter_ends_at_bound(node->sorter)))
	{
		sortnode_drop(node);
		if (outer->chgParam == NULL)
			ExecReScan(outer);
	}
	else
	{
		ExecClearTuple(css->ss.ps.ps_ResultTupleSlot);
		sorter_rewind(node->sorter);
	}
}

/* MarkPosCustomScan */
static void
mark_node(CustomScanState *css)
{
	SortNode   *node = (SortNode *) css;

	if (node->sorter)
		sorter_mark(node->sorter);
}

/* RestrPosCustomScan */
static void
restore_node(CustomScanState *css)
{
	SortNode   *node = (SortNode *) css;

	if (node->sorter)
		sorter_restore(node->sorter);
}

void
sortnode_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	SortNode   *node = (SortNode *) css;

	explain_sort(css, &node->columns, node->sorter, &node->before, ancestors, es);
	explain_output(css, es);
}

void
sortnode_limit(CustomScanState *css, LimitState *limit)
{
	((SortNode *) css)->limit = limit;
}

const CustomScanMethods gpusort_scan_methods = {
	.CustomName = GPUSORT_NODE_NAME,
	.CreateCustomScanState = create_node_state,
};

const OurNode gpusort_node = {
	.scan = &gpusort_scan_methods,
	.exec = {
		.CustomName = GPUSORT_NODE_NAME,
		.BeginCustomScan = sortnode_begin,
		.ExecCustomScan = exec_node,
		.EndCustomScan = sortnode_end,
		.ReScanCustomScan = sortnode_rescan,
		.MarkPosCustomScan = mark_node,
		.RestrPosCustomScan = restore_node,
		.ExplainCustomScan = sortnode_explain,
	},
	.state_bytes = sizeof(SortNode),
	.sorts = true,
	.next_row = next_row,
	.limit = sortnode_limit,
};
