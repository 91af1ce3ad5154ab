/*
 * plan.c: takes over Sorts in finished plans, anywhere.  The predicate is that of plan_paths.c, which shows the planner
 * the lower cost: a Sort that stays PostgreSQL's is never planned at gpusort's cost.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "utils/lsyscache.h"

#include "src/aggregates/plan_aggregates.h"
#include "src/aggregates/plan_combine.h"
#include "src/aggregates/plan_presort.h"
#include "src/aggregates/plan_states.h"
#include "src/append/plan_append.h"
#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/columns/plan_columns_windows.h"
#include "src/core/node.h"
#include "src/core/plan_junk.h"
#include "src/nodes/plan_nodes.h"
#include "src/core/sorter.h"
#include "src/cost/sort_choice.h"
#include "src/cost/sort_cost.h"
#include "src/parallel/plan_gather.h"
#include "src/parallel/plan_merge.h"
#include "src/shares/plan_share_node.h"
#include "src/shares/share_node.h"
#include "src/topn/plan_topn.h"
#include "src/totals/plan_totals.h"
#include "plan.h"
#include "plan_paths.h"

static planner_hook_type prev_planner;

/* Makes the node that replaces a Sort. */
static Plan *
make_gpusort(const PlannedStmt *stmt, Sort *sort)
{
	CustomScan *scan = make_replacement(stmt, &sort->plan, &gpusort_scan_methods);
	const SortColumns columns = SORT_COLUMNS_OF(sort);

	scan->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE;
	scan->custom_plans = children_for_explain(outerPlan(sort));
	scan->custom_private = gpusort_write_columns(&columns);
	return (Plan *) scan;
}

/* Makes the node for a Sort and the share node above it, with the latter's cost, rows, id and parameters. */
static Plan *
make_share(const PlannedStmt *stmt, const Plan *share)
{
	CustomScan *scan = (CustomScan *) make_gpusort(stmt, castNode(Sort, outerPlan(share)));
	Plan		sort = scan->scan.plan;

	scan->scan.plan = *share;
	scan->scan.plan.targetlist = sort.targetlist;
	scan->scan.plan.lefttree = sort.lefttree;
	scan->flags = 0;
	make_variant(scan, SHARE_VARIANT, share_description(share));
	return (Plan *) scan;
}

/* Logs why a Sort stays PostgreSQL's. */
static void
leave_sort(const char *why)
{
	ereport(DEBUG1, (errmsg_internal("gpusort leaves a sort to PostgreSQL: %s", why)));
}

/* Returns the bound if it leaves the sort to PostgreSQL, else UNBOUNDED.  Workers do not learn a bound. */
static SortBound
bound_that_counts(const Sort *sort, SortBound bound)
{
	const SortColumns columns = SORT_COLUMNS_OF(sort);

	if (bound.kind == BOUND_CONSTANT && bound.rows > 0 && !bound.in_workers &&
		!bound_goes_to_heap(&columns, bound.rows, sort->plan.plan_rows))
		return UNBOUNDED;
	return bound;
}

/* Replaces a Sort that gpusort takes over, or logs why it stays. */
static Plan *
take_sort(const PlannedStmt *stmt, Sort *sort, SortBound bound)
{
	const char *why;

	bound = bound_that_counts(sort, bound);
	if (sort_is_ours(sort->plan.plan_rows, sort->sortOperators[0], sort->collations[0], bound, &why))
		return make_gpusort(stmt, sort);
	leave_sort(why);
	return (Plan *) sort;
}

/* Logs the sorts inside an Agg, which no plan node can replace. */
static void
leave_sorts_of_agg(Agg *agg)
{
	List	   *aggregates = sorting_aggregates(list_concat_copy(agg->plan.targetlist, agg->plan.qual));
	ListCell   *lc;

	foreach(lc, aggregates)
	{
		Aggref	   *aggregate = lfirst_node(Aggref, lc);
		bool		distinct;

		if (!aggregate_is_ours(aggregate, &distinct))
			leave_sort(psprintf("the aggregate %s sorts its input itself", get_func_name(aggregate->aggfnoid)));
	}
	foreach(lc, agg->chain)
	{
		if (outerPlan(lfirst_node(Agg, lc)))
			leave_sort("further grouping sets are sorted inside the aggregate");
	}
}

/* Logs why an Incremental Sort stays. */
static void
leave_incremental_sort(IncrementalSort *sort)
{
	leave_sort(psprintf("rows come in the order of the first %d of %d keys, and an Incremental Sort does the rest",
						sort->nPresortedCols, sort->sort.numCols));
}

/* Returns the bound of a Limit.  It may change between scans if it depends on parameters or volatile functions. */
static SortBound
bound_of(const Limit *limit)
{
	SortBound	bound = bound_of_limit(limit->limitCount, limit->limitOffset, limit->limitOption);

	bound.changes = bound.kind == BOUND_AT_RUN_TIME &&
		(!bms_is_empty(limit->plan.extParam) || contain_mutable_functions(limit->limitCount) ||
		 contain_mutable_functions(limit->limitOffset));
	return bound;
}

/* Returns the bound that the executor passes from a node to its children; see ExecSetTupleBound and stop_bound. */
static SortBound
bound_below(Plan *plan, SortBound bound)
{
	SortBound	none = UNBOUNDED;

	switch (nodeTag(plan))
	{
		case T_Limit:
			return bound_of((const Limit *) plan);
		case T_Gather:
		case T_GatherMerge:
			none.known_above = bound.known_above;
			bound.in_workers = true;
			return bound.changes ? none : bound;
		case T_Append:
		case T_MergeAppend:
		case T_Result:
			return bound;
		case T_CustomScan:
			/* another extension's node may pass it on, as TimescaleDB's appends of chunks do */
			bound.known_above = true;
			return bound;
		case T_SubqueryScan:
			return plan->qual == NIL ? bound : UNBOUNDED;
		default:
			return UNBOUNDED;
	}
}

static Plan *walk(PlannedStmt *stmt, Plan *plan, SortBound bound);

/* Walks the plans of a list in place.  Members of PlannedStmt.subplans may be NULL. */
static void
walk_list(PlannedStmt *stmt, List *plans, SortBound bound)
{
	ListCell   *lc;

	foreach(lc, plans)
		lfirst(lc) = walk(stmt, lfirst(lc), bound);
}

/* Replaces the Sorts in a finished plan tree, but not in Agg.chain, of which nodeAgg.c only uses the keys. */
static Plan *
walk(PlannedStmt *stmt, Plan *plan, SortBound bound)
{
	SortBound	below;

	if (plan == NULL)
		return NULL;
	check_stack_depth();
	if (is_share_sort(plan))
	{
		plan = make_share(stmt, plan);
		plan->lefttree = walk(stmt, plan->lefttree, UNBOUNDED);
		return plan;
	}
	below = bound_below(plan, bound);
	if (IsA(plan, Agg))
		presort_aggregates((Agg *) plan);
	plan->lefttree = walk(stmt, plan->lefttree, below);
	plan->righttree = walk(stmt, plan->righttree, below);
	switch (nodeTag(plan))
	{
		case T_Append:
			walk_list(stmt, ((Append *) plan)->appendplans, below);
			break;
		case T_MergeAppend:
			walk_list(stmt, ((MergeAppend *) plan)->mergeplans, below);
			return take_merge_append(stmt, (MergeAppend *) plan, bound);
		case T_SubqueryScan:
			((SubqueryScan *) plan)->subplan = walk(stmt, ((SubqueryScan *) plan)->subplan, below);
			break;
		case T_CustomScan:
			walk_list(stmt, ((CustomScan *) plan)->custom_plans, below);
			show_totals((CustomScan *) plan);
			show_topn((CustomScan *) plan);
			plan_name_window_rows((CustomScan *) plan);
			break;
		case T_Sort:
			return take_sort(stmt, (Sort *) plan, bound);
		case T_Gather:
			return stop_bound(stmt, gather_in_blocks(stmt, (Gather *) plan, bound), bound);
		case T_GatherMerge:
			return stop_bound(stmt, gather_merge_in_blocks(stmt, (GatherMerge *) plan), bound);
		case T_IncrementalSort:
			if (message_level_is_interesting(DEBUG1))
				leave_incremental_sort((IncrementalSort *) plan);
			break;
		case T_Agg:
			replace_combined(stmt, (Agg *) plan);
			if (message_level_is_interesting(DEBUG1))
				leave_sorts_of_agg((Agg *) plan);
			break;
		default:
			break;
	}
	return plan;
}

/* Calls the next planner with gpusort's aggregates, and with gpusort's costs if the plan will be walked. */
static PlannedStmt *
plan_with_costs(PLANNER_PARAMETERS)
{
	bool		outer = plan_will_be_walked;
	bool		outer_replaced = plan_has_replaced_aggregates;
	List	   *replaced;
	PlannedStmt *stmt;

	parse = replace_aggregates(parse, &replaced);
	/* planning may call a function that plans other queries under other settings */
	plan_will_be_walked = gpusort_enabled;
	plan_has_replaced_aggregates = replaced != NIL;
	PG_TRY();
	{
		stmt = prev_planner ? prev_planner(PLANNER_ARGUMENTS) : standard_planner(PLANNER_ARGUMENTS);
	}
	PG_FINALLY();
	{
		plan_will_be_walked = outer;
		plan_has_replaced_aggregates = outer_replaced;
	}
	PG_END_TRY();
	depend_on_aggregates(stmt, replaced);
	return stmt;
}

/* planner_hook: plans a query and takes over its Sorts. */
static PlannedStmt *
plan_query(PLANNER_PARAMETERS)
{
	bool		enabled = gpusort_enabled;
	PlannedStmt *stmt;

	/* planning may call a function that plans other queries or changes settings */
	forget_query();
	stmt = plan_with_costs(PLANNER_ARGUMENTS);
	forget_query();
	if (!enabled)
		return stmt;
	stmt->planTree = walk(stmt, stmt->planTree, UNBOUNDED);
	drop_key_copies(stmt, NULL);
	walk_list(stmt, stmt->subplans, UNBOUNDED);
	return stmt;
}

void
gpusort_plan_init(void)
{
	prev_planner = planner_hook;
	planner_hook = plan_query;
	gpusort_paths_init();
	gpusort_aggregates_init();
	gpusort_states_init();
}
