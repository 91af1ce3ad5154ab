/*
 * plan_walk.c: looks through each plan that is started as extensions do that read conditions out of running plans, and
 * raises an error where one of them would fall.
 *
 * Such an extension resolves a column through the states of a plan's nodes, from list to list, until it comes to a
 * table.  So each child in a plan has a state, each column leads to one of its node's lists and from there on, and what
 * a scan has in custom_scan_tlist and fdw_scan_tlist names tables only.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

static ExecutorStart_hook_type prev_start;

static bool check_columns(Node *node, void *context);

/* Raises an error about a node of a plan. */
static void
refuse(const PlanState *state, const char *what)
{
	const Plan *plan = state->plan;
	const char *name = IsA(plan, CustomScan) ? ((const CustomScan *) plan)->methods->CustomName : "";

	ereport(ERROR, (errmsg_internal("plan_walk: node %d (tag %d %s) %s", plan->plan_node_id, (int) nodeTag(plan), name,
									what)));
}

/* The state whose node's list has a node's OUTER_VARs. */
static PlanState *
outer_of(PlanState *state)
{
	switch (nodeTag(state))
	{
		case T_AppendState:
			return ((AppendState *) state)->as_nplans > 0 ? ((AppendState *) state)->appendplans[0] : NULL;
		case T_MergeAppendState:
			return ((MergeAppendState *) state)->ms_nplans > 0 ? ((MergeAppendState *) state)->mergeplans[0] : NULL;
		default:
			return outerPlanState(state);
	}
}

/* The list that has a scan's INDEX_VARs. */
static List *
index_list(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_IndexOnlyScan:
			return ((const IndexOnlyScan *) plan)->indextlist;
		case T_ForeignScan:
			return ((const ForeignScan *) plan)->fdw_scan_tlist;
		case T_CustomScan:
			return ((const CustomScan *) plan)->custom_scan_tlist;
		default:
			return NIL;
	}
}

/* Follows a column from list to list down to a table. */
static void
check_column(const Var *var, PlanState *state)
{
	PlanState  *next = state;
	List	   *list;
	const TargetEntry *entry;

	check_stack_depth();
	switch (var->varno)
	{
		case OUTER_VAR:
			next = outer_of(state);
			/* a pruned Append has no node left, and gives no rows */
			if (next == NULL && (IsA(state, AppendState) || IsA(state, MergeAppendState)))
				return;
			break;
		case INNER_VAR:
			next = innerPlanState(state);
			break;
		case INDEX_VAR:
			break;
		default:
			return;
	}
	if (next == NULL)
		refuse(state, "has a column of a child without a state");
	list = var->varno == INDEX_VAR ? index_list(state->plan) : next->plan->targetlist;
	entry = get_tle_by_resno(list, var->varattno);
	if (entry == NULL)
		refuse(state, "has a column that is in no list");
	/* a block travels as a bytea, and is shown as the row of its columns */
	if (exprType((Node *) entry->expr) != var->vartype && !IsA(entry->expr, RowExpr))
		refuse(state, "has a column of another type than the list that it comes from");
	check_columns((Node *) entry->expr, next);
}

/* The same of all columns in an expression of a node, whose state is the context. */
static bool
check_columns(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		check_column((Var *) node, context);
		return false;
	}
	return expression_tree_walker(node, check_columns, context);
}

/* Is there a column in an expression that names no table? */
static bool
names_a_list(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return IS_SPECIAL_VARNO(((Var *) node)->varno);
	return expression_tree_walker(node, names_a_list, context);
}

/* Checks the conditions that stand beside a join's own. */
static void
check_join(PlanState *state)
{
	Plan	   *plan = state->plan;

	check_columns((Node *) ((Join *) plan)->joinqual, state);
	if (IsA(plan, MergeJoin))
		check_columns((Node *) ((MergeJoin *) plan)->mergeclauses, state);
	if (IsA(plan, HashJoin))
		check_columns((Node *) ((HashJoin *) plan)->hashclauses, state);
}

/* Checks a node and what is below it. */
static bool
check_node(PlanState *state, void *context)
{
	Plan	   *plan = state->plan;

	check_stack_depth();
	if ((plan->lefttree == NULL) != (state->lefttree == NULL) ||
		(plan->righttree == NULL) != (state->righttree == NULL))
		refuse(state, "has a child without a state");
	/* ON CONFLICT and RETURNING of a ModifyTable have lists of their own */
	if (!IsA(plan, ModifyTable))
		check_columns((Node *) plan->targetlist, state);
	check_columns((Node *) plan->qual, state);
	if (IsA(plan, NestLoop) || IsA(plan, MergeJoin) || IsA(plan, HashJoin))
		check_join(state);
	if ((IsA(plan, CustomScan) || IsA(plan, ForeignScan)) && names_a_list((Node *) index_list(plan), NULL))
		refuse(state, "has a scan's list that names no table");
	return planstate_tree_walker(state, check_node, context);
}

/* ExecutorStart_hook: checks the plan once it has its states. */
static void
check_plan(QueryDesc *desc, int eflags)
{
	if (prev_start)
		prev_start(desc, eflags);
	else
		standard_ExecutorStart(desc, eflags);
	if (desc->planstate != NULL)
		check_node(desc->planstate, NULL);
}

void
_PG_init(void)
{
	prev_start = ExecutorStart_hook;
	ExecutorStart_hook = check_plan;
}
