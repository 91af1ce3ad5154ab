/*
 * limits.c: how nodes of ours hear of the Limit above them.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "src/append/append_node.h"
#include "limits.h"
#include "src/parallel/merge_node.h"
#include "node.h"

static ExecutorStart_hook_type prev_executor_start;

/* Was a node made of a plan with such methods? */
static bool
is_ours(PlanState *state, const CustomScanMethods *methods)
{
	return IsA(state, CustomScanState) && ((CustomScan *) state->plan)->methods == methods;
}

/* Tells every GpuSort that core would have told a bound where it comes from; as ExecSetTupleBound would walk. */
static void
set_limit(LimitState *limit, PlanState *child)
{
	ListCell   *lc;

	while (child != NULL && (IsA(child, ResultState) ||
							 (IsA(child, SubqueryScanState) && child->qual == NULL)))
		child = IsA(child, ResultState) ? outerPlanState(child) : ((SubqueryScanState *) child)->subplan;
	if (child == NULL)
		return;
	if (is_ours(child, &gpusort_scan_methods))
		gpusort_node_limit((CustomScanState *) child, limit);
	else if (IsA(child, AppendState))
		for (int i = 0; i < ((AppendState *) child)->as_nplans; i++)
			set_limit(limit, ((AppendState *) child)->appendplans[i]);
	else if (IsA(child, MergeAppendState))
		for (int i = 0; i < ((MergeAppendState *) child)->ms_nplans; i++)
			set_limit(limit, ((MergeAppendState *) child)->mergeplans[i]);
	else if (is_ours(child, &gpumergeappend_scan_methods))
	{
		gpumergeappend_node_limit((CustomScanState *) child, limit);
		foreach(lc, ((CustomScanState *) child)->custom_ps)
			set_limit(limit, lfirst(lc));
	}
	else if (IsA(child, GatherState) || IsA(child, GatherMergeState) || is_ours(child, &gpumerge_scan_methods))
		set_limit(limit, outerPlanState(child));
}

/* Looks for Limits in a tree of plan states. */
static bool
find_limits(PlanState *state, void *context)
{
	if (state == NULL)
		return false;
	if (IsA(state, LimitState))
		set_limit((LimitState *) state, outerPlanState(state));
	return planstate_tree_walker(state, find_limits, context);
}

/* ExecutorStart hook: core passes bounds on to Sorts only, so the way up to the Limit is remembered here. */
static void
executor_start(QueryDesc *query, int eflags)
{
	if (prev_executor_start)
		prev_executor_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		(void) find_limits(query->planstate, NULL);
}

void
gpusort_limits_init(void)
{
	prev_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
}
