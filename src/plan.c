/*
 * plan.c: which sorts are ours, in finished plans and in the planner's costs.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"

#include "compat.h"
#include "gpusort.h"
#include "sortkey.h"

static planner_hook_type prev_planner;

/* Makes the node that takes a Sort's place. */
static Plan *
make_gpusort(Sort *sort)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *attnos = NIL;
	List	   *sortops = NIL;
	List	   *collations = NIL;
	List	   *nulls_first = NIL;
	ListCell   *lc;

	scan->scan.plan = sort->plan;
	scan->scan.plan.type = T_CustomScan;
	scan->scan.scanrelid = 0;
	scan->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE;
	scan->custom_scan_tlist = sort->plan.targetlist;
	scan->scan.plan.targetlist = NIL;
	foreach(lc, sort->plan.targetlist)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst_node(TargetEntry, lc));
		Node	   *expr = (Node *) entry->expr;

		entry->expr = (Expr *) makeVar(INDEX_VAR, entry->resno, exprType(expr), exprTypmod(expr), exprCollation(expr), 0);
		scan->scan.plan.targetlist = lappend(scan->scan.plan.targetlist, entry);
	}
	for (int i = 0; i < sort->numCols; i++)
	{
		attnos = lappend_int(attnos, sort->sortColIdx[i]);
		sortops = lappend_oid(sortops, sort->sortOperators[i]);
		collations = lappend_oid(collations, sort->collations[i]);
		nulls_first = lappend_int(nulls_first, sort->nullsFirst[i]);
	}
	scan->custom_private = list_make4(attnos, sortops, collations, nulls_first);
	scan->methods = &gpusort_scan_methods;
	return (Plan *) scan;
}

/* Can all keys be encoded exactly? */
static bool
sort_supported(Sort *sort)
{
	for (int i = 0; i < sort->numCols; i++)
	{
		const char *why;

		if (!sortkey_supported(sort->sortOperators[i], sort->collations[i], &why))
			return false;
	}
	return sort->plan.plan_rows >= gpusort_min_rows;
}

/* Replaces Sorts in a finished plan tree. */
static Plan *
walk(Plan *plan)
{
	ListCell   *lc;

	if (plan == NULL)
		return NULL;
	check_stack_depth();
	plan->lefttree = walk(plan->lefttree);
	plan->righttree = walk(plan->righttree);
	switch (nodeTag(plan))
	{
		case T_Append:
			foreach(lc, ((Append *) plan)->appendplans)
				lfirst(lc) = walk(lfirst(lc));
			break;
		case T_MergeAppend:
			foreach(lc, ((MergeAppend *) plan)->mergeplans)
				lfirst(lc) = walk(lfirst(lc));
			break;
		case T_SubqueryScan:
			((SubqueryScan *) plan)->subplan = walk(((SubqueryScan *) plan)->subplan);
			break;
		case T_CustomScan:
			foreach(lc, ((CustomScan *) plan)->custom_plans)
				lfirst(lc) = walk(lfirst(lc));
			break;
		case T_Sort:
			if (sort_supported((Sort *) plan))
				return make_gpusort((Sort *) plan);
			break;
		default:
			break;
	}
	return plan;
}

/* planner_hook: lets the server plan, then takes the Sorts over. */
static PlannedStmt *
plan_query(Query *parse, const char *query_string, int cursor_options, ParamListInfo params)
{
	PlannedStmt *stmt = (prev_planner ? prev_planner : standard_planner) (parse, query_string, cursor_options, params);
	ListCell   *lc;

	if (!gpusort_enabled)
		return stmt;
	stmt->planTree = walk(stmt->planTree);
	foreach(lc, stmt->subplans)
		lfirst(lc) = walk(lfirst(lc));
	return stmt;
}

void
gpusort_plan_init(void)
{
	prev_planner = planner_hook;
	planner_hook = plan_query;
}
