/*
 * limits.c: passes Limits on to gpusort's nodes.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "limits.h"
#include "our_node.h"

static ExecutorStart_hook_type prev_executor_start;

static void set_limit(LimitState *limit, PlanState *child);

/* Sets the Limit of one of gpusort's nodes, and of its children if the kind passes a limit on. */
static void
set_limit_of(const OurNode *node, LimitState *limit, CustomScanState *state)
{
	ListCell   *lc;

	if (node->limit)
		node->limit(state, limit);
	if (!node->passes_limit)
		return;
	set_limit(limit, outerPlanState(state));
	foreach(lc, state->custom_ps)
		set_limit(limit, lfirst(lc));
}

/* Sets the Limit of nodes below it, walking as ExecSetTupleBound does. */
static void
set_limit(LimitState *limit, PlanState *child)
{
	const OurNode *node;

	while (child != NULL && (IsA(child, ResultState) ||
							 (IsA(child, SubqueryScanState) && child->qual == NULL)))
		child = IsA(child, ResultState) ? outerPlanState(child) : ((SubqueryScanState *) child)->subplan;
	if (child == NULL)
		return;
	if ((node = our_node(child->plan)) != NULL)
		set_limit_of(node, limit, (CustomScanState *) child);
	else if (IsA(child, AppendState))
		for (int i = 0; i < ((AppendState *) child)->as_nplans; i++)
			set_limit(limit, ((AppendState *) child)->appendplans[i]);
	else if (IsA(child, MergeAppendState))
		for (int i = 0; i < ((MergeAppendState *) child)->ms_nplans; i++)
			set_limit(limit, ((MergeAppendState *) child)->mergeplans[i]);
	else if (IsA(child, GatherState) || IsA(child, GatherMergeState))
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

/* ExecutorStart hook: the executor passes bounds on to Sorts only, so nodes get a pointer to the Limit here. */
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

int64
limit_rows(const LimitState *limit)
{
	if (limit == NULL || limit->noCount || limit->limitOption == LIMIT_OPTION_WITH_TIES)
		return 0;
	/* a sum past the range is no bound */
	if (limit->count < 0 || limit->offset < 0 || limit->count > PG_INT64_MAX - limit->offset)
		return 0;
	return limit->count + limit->offset;
}
