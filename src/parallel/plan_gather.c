/*
 * plan_gather.c: sends rows through a Gather in blocks if a plan below it contains a sort by gpusort.
 *
 *		Gather						Custom Scan (GpuUnpack)
 *		  -> any plan				  -> Gather
 *									       -> Custom Scan (GpuPack)
 *									            -> any plan
 *
 * plan_merge.c treats a Gather Merge over a sort.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "optimizer/tlist.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/core/node.h"
#include "src/nodes/plan_nodes.h"
#include "src/cost/sort_cost.h"
#include "blocks.h"
#include "pack_node.h"
#include "plan_gather.h"

static bool sorts(const Plan *plan);

/* Returns true if one of the plans contains a sort by gpusort. */
static bool
any_sorts(const List *plans)
{
	ListCell   *lc;

	foreach(lc, plans)
	{
		if (sorts(lfirst(lc)))
			return true;
	}
	return false;
}

/* Returns true if a plan that workers run contains a sort by gpusort. */
static bool
sorts(const Plan *plan)
{
	if (plan == NULL)
		return false;
	check_stack_depth();
	if (sorts(plan->lefttree) || sorts(plan->righttree))
		return true;
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			return (our_node(plan) != NULL && our_node(plan)->sorts) ||
				any_sorts(((const CustomScan *) plan)->custom_plans);
		case T_SubqueryScan:
			return sorts(((const SubqueryScan *) plan)->subplan);
		case T_Append:
			return any_sorts(((const Append *) plan)->appendplans);
		case T_MergeAppend:
			return any_sorts(((const MergeAppend *) plan)->mergeplans);
		default:
			return false;
	}
}

/* Makes the GpuPack below a Gather. */
static Plan *
make_pack(const PlannedStmt *stmt, Plan *child, int id)
{
	CustomScan *pack = make_custom_scan(child, id, &gpupack_scan_methods);
	List	   *all = NIL;

	pack->scan.plan.lefttree = child;
	pack->custom_plans = children_for_explain(child);
	pack->custom_scan_tlist = resolve_columns(stmt, child);
	for (int i = 1; i <= list_length(child->targetlist); i++)
		all = lappend_int(all, i);
	pack->scan.plan.targetlist = list_make1(make_row_column(&pack->custom_scan_tlist, all, 1, "block"));
	return &pack->scan.plan;
}

/* Makes the GpuUnpack above a Gather, while the Gather still returns rows. */
static Plan *
make_unpack(const PlannedStmt *stmt, Gather *gather, int id)
{
	CustomScan *unpack = make_custom_scan(&gather->plan, id, &gpuunpack_scan_methods);
	Plan	   *plan = &unpack->scan.plan;

	plan->lefttree = &gather->plan;
	plan->targetlist = number_columns(gather->plan.targetlist, INDEX_VAR);
	unpack->custom_plans = children_for_explain(&gather->plan);
	unpack->custom_scan_tlist = resolve_columns(stmt, &gather->plan);
	return plan;
}

Plan *
gather_in_blocks(PlannedStmt *stmt, Gather *gather, SortBound bound)
{
	Plan	   *child = outerPlan(&gather->plan);
	double		block_rows = rows_of_block(gather->plan.plan_width);
	int			id;
	Plan	   *unpack;

	/* do not wait for full blocks if only the first rows are wanted */
	if (!gpusort_parallel_blocks || gather->single_copy || gather->plan.qual != NIL || bound.kind != BOUND_NONE ||
		gather->plan.plan_rows < gpusort_min_rows || !sorts(child) ||
		!passes_through(gather->plan.targetlist, get_tlist_exprs(child->targetlist, true)))
		return &gather->plan;
	id = new_node_id(stmt);
	unpack = make_unpack(stmt, gather, id);
	gather->plan.lefttree = make_pack(stmt, child, id + 1);
	gather->plan.targetlist = number_columns(gather->plan.lefttree->targetlist, OUTER_VAR);
	gather->plan.plan_rows = Max(1, rint(gather->plan.plan_rows / block_rows));
	gather->plan.plan_width = (int) (gather->plan.plan_width * block_rows);
	return unpack;
}

/*
 * Puts a Material above a Gather to stop a bound that changes between scans: a Gather's workers return no more rows
 * than ExecSetTupleBound asked for, and keep the first bound when they are restarted.  Plans without a sort by gpusort
 * stay.
 */
Plan *
stop_bound(const PlannedStmt *stmt, Plan *plan, SortBound bound)
{
	Material   *barrier;

	if (!bound.changes || IsA(plan, CustomScan) || !sorts(outerPlan(plan)))
		return plan;
	barrier = makeNode(Material);
	fill_node(&barrier->plan, plan, new_node_id(stmt));
	barrier->plan.targetlist = number_columns(plan->targetlist, OUTER_VAR);
	barrier->plan.lefttree = plan;
	return &barrier->plan;
}
