/*
 * plan.c: which sorts are ours, and the walk that takes them over in finished plans.
 *
 * The server plans ordinary Sorts.  Its finished plan is walked and every Sort that the predicate accepts becomes a
 * CustomScan, wherever it stands.  plan_paths.c makes the planner see the lower cost; it asks the same predicate, so
 * that no Sort that stays PostgreSQL's is ever planned at our price.
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
#include "src/core/node.h"
#include "src/core/plan_junk.h"
#include "src/core/plan_nodes.h"
#include "src/core/sorter.h"
#include "src/cost/sort_choice.h"
#include "src/cost/sort_cost.h"
#include "src/parallel/plan_gather.h"
#include "src/parallel/plan_merge.h"
#include "src/shares/plan_share_node.h"
#include "src/shares/share_node.h"
#include "plan.h"
#include "plan_paths.h"

static planner_hook_type prev_planner;

/*
 * Makes the node that takes a Sort's place.  It keeps id, parameters, InitPlans and costs: rescans and EXPLAIN need
 * them.
 */
static Plan *
make_gpusort(const PlannedStmt *stmt, Sort *sort)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *attnos = NIL;
	List	   *sortops = NIL;
	List	   *collations = NIL;
	List	   *nulls_first = NIL;

	for (int i = 0; i < sort->numCols; i++)
	{
		attnos = lappend_int(attnos, sort->sortColIdx[i]);
		sortops = lappend_oid(sortops, sort->sortOperators[i]);
		collations = lappend_oid(collations, sort->collations[i]);
		nulls_first = lappend_int(nulls_first, sort->nullsFirst[i]);
	}
	scan->scan.plan = sort->plan;
	scan->scan.plan.type = T_CustomScan;
	scan->scan.scanrelid = 0;
	scan->scan.plan.targetlist = number_columns(sort->plan.targetlist, INDEX_VAR);
	scan->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_MARK_RESTORE;
	scan->custom_plans = children_for_explain(outerPlan(sort));
	scan->custom_scan_tlist = resolve_columns(stmt, &sort->plan);
	scan->custom_private = list_make5(attnos, sortops, collations, nulls_first, list_copy(attnos));
	scan->methods = &gpusort_scan_methods;
	return (Plan *) scan;
}

/*
 * Makes the node that takes the place of a Sort and of the node above it, which says that it is to sort a share.
 * Costs, rows, id and parameters are the upper one's, which the Gather knows.
 */
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

/* Says why a sort stays. */
static void
leave_sort(const char *why)
{
	ereport(DEBUG1, (errmsg_internal("gpusort leaves a sort to PostgreSQL: %s", why)));
}

/* Is a bound one that leaves a sort to PostgreSQL?  Workers do not hear of it. */
static SortBound
bound_that_counts(const Sort *sort, SortBound bound)
{
	const SortColumns columns = {sort->numCols, sort->sortColIdx, sort->sortOperators, sort->collations,
		sort->nullsFirst};

	if (bound.kind == BOUND_CONSTANT && bound.rows > 0 && !bound.in_workers &&
		!bound_goes_to_heap(&columns, bound.rows, sort->plan.plan_rows))
		return UNBOUNDED;
	return bound;
}

/* Replaces a Sort if it is to be ours, else says why not. */
static Plan *
take_sort(const PlannedStmt *stmt, Sort *sort, SortBound bound)
{
	const char *why;

	bound = bound_that_counts(sort, bound);
	if (sort_is_ours(sort->plan.plan_rows, bound, &why))
		return make_gpusort(stmt, sort);
	leave_sort(why);
	return (Plan *) sort;
}

/* Says which sorts happen inside an Agg, where no node of the plan can take their place. */
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

/* Says why an Incremental Sort stays. */
static void
leave_incremental_sort(IncrementalSort *sort)
{
	leave_sort(psprintf("rows come in the order of the first %d of %d keys, and an Incremental Sort does the rest",
						sort->nPresortedCols, sort->sort.numCols));
}

/* The bound of a Limit, which changes if it comes of what is around the Limit, or of what it computes anew. */
static SortBound
bound_of(const Limit *limit)
{
	SortBound	bound = bound_of_limit(limit->limitCount, limit->limitOffset, limit->limitOption);

	bound.changes = bound.kind == BOUND_AT_RUN_TIME &&
		(!bms_is_empty(limit->plan.extParam) || contain_mutable_functions(limit->limitCount) ||
		 contain_mutable_functions(limit->limitOffset));
	return bound;
}

/* The bound that the executor would pass from a node to its children; see ExecSetTupleBound and stop_bound. */
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
			/* another extension's node may know how to pass it on, as appends over chunks of a table do */
			bound.known_above = true;
			return bound;
		case T_SubqueryScan:
			return plan->qual == NIL ? bound : UNBOUNDED;
		default:
			return UNBOUNDED;
	}
}

static Plan *walk(PlannedStmt *stmt, Plan *plan, SortBound bound);

/* Walks every member of a list of plans in place; members of PlannedStmt.subplans may be NULL. */
static void
walk_list(PlannedStmt *stmt, List *plans, SortBound bound)
{
	ListCell   *lc;

	foreach(lc, plans)
		lfirst(lc) = walk(stmt, lfirst(lc), bound);
}

/*
 * Replaces the Sorts in a finished plan tree.  Agg.chain stays as it is: its Sorts only describe keys to nodeAgg.c,
 * which casts to Sort.
 */
static Plan *
walk(PlannedStmt *stmt, Plan *plan, SortBound bound)
{
	SortBound	below;

	if (plan == NULL)
		return NULL;
	check_stack_depth();
	if (is_share(plan))
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
			break;
		case T_Sort:
			return take_sort(stmt, (Sort *) plan, bound);
		case T_Gather:
			return stop_bound(stmt, take_gather(stmt, (Gather *) plan, bound), bound);
		case T_GatherMerge:
			return stop_bound(stmt, take_gather_merge(stmt, (GatherMerge *) plan), bound);
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

/* Lets the server, or the next hook, plan, with our aggregates, and with our costs if the walk is to follow. */
static PlannedStmt *
plan_with_costs(PLANNER_PARAMETERS)
{
	bool		outer = plan_will_be_walked;
	bool		outer_replaced = plan_has_replaced_aggregates;
	List	   *replaced;
	PlannedStmt *stmt;

	parse = replace_aggregates(parse, &replaced);
	/* planning may run a function, which plans queries of its own under its own settings */
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

/* planner_hook: takes the Sorts of a finished plan over. */
static PlannedStmt *
plan_query(PLANNER_PARAMETERS)
{
	bool		enabled = gpusort_enabled;
	PlannedStmt *stmt;

	/* planning may run a function, which plans queries of its own, or changes settings */
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
