/*
 * plan_combine.c: replaces aggregates that sort in a Citus coordinator's finished plans, where rows are combined.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "plan_aggregates.h"
#include "plan_combine.h"
#include "plan_elsewhere.h"

/* The custom scan by which Citus receives rows from other nodes. */
#define CITUS_NODE "Citus Adaptive"

typedef struct Combining
{
	List	   *aggregates;		/* of the plan node */
	List	   *functions;		/* that it no longer calls, or calls now */
} Combining;

/* Returns true if a plan reads rows from other Citus nodes, sorted or not. */
static bool
reads_from_citus(const Plan *plan)
{
	while (plan && (IsA(plan, Sort) || IsA(plan, CustomScan)))
	{
		if (IsA(plan, CustomScan) && strcmp(((const CustomScan *) plan)->methods->CustomName, CITUS_NODE) == 0)
			return true;
		plan = plan->lefttree;
	}
	return false;
}

/* Returns true if another aggregate shares the state. */
static bool
shares_state(const Combining *combining, const Aggref *aggregate)
{
	ListCell   *lc;

	foreach(lc, combining->aggregates)
	{
		const Aggref *other = lfirst_node(Aggref, lc);

		if (other->aggtransno == aggregate->aggtransno && other->aggno != aggregate->aggno)
			return true;
	}
	return false;
}

/* Mutator: replaces the aggregates in an expression. */
static Node *
replace_in(Node *node, void *context)
{
	Combining  *combining = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref) && !aggregate_is_presorted((Aggref *) node) && !shares_state(combining, (Aggref *) node))
	{
		Aggref	   *result = replace_planned_aggregate((Aggref *) node, &combining->functions);

		if (result != (Aggref *) node)
		{
			/* the state type of all replacements */
			result->aggtranstype = INTERNALOID;
			return (Node *) result;
		}
	}
	return expression_tree_mutator(node, replace_in, context);
}

void
replace_combined(PlannedStmt *stmt, Agg *agg)
{
	Combining	combining = {NIL, NIL};

	if (!gpusort_aggregates || agg->aggsplit != AGGSPLIT_SIMPLE || agg->groupingSets != NIL ||
		!reads_from_citus(agg->plan.lefttree) || functions_are_watched())
		return;
	collect_aggregates((Node *) agg->plan.targetlist, &combining.aggregates);
	collect_aggregates((Node *) agg->plan.qual, &combining.aggregates);
	agg->plan.targetlist = (List *) replace_in((Node *) agg->plan.targetlist, &combining);
	agg->plan.qual = (List *) replace_in((Node *) agg->plan.qual, &combining);
	depend_on_aggregates(stmt, combining.functions);
}
