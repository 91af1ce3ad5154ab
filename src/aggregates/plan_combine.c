/*
 * plan_combine.c: aggregates of PostgreSQL that sort for themselves, in what Citus combines on its coordinator.
 *
 * Citus plans that query within its own planning, where nobody else sees it; so its plan is changed.  All values of the
 * aggregates come to this one node.
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

/* The node by which Citus takes in rows of other nodes. */
#define CITUS_NODE "Citus Adaptive"

typedef struct Combining
{
	List	   *aggregates;		/* of the node */
	List	   *functions;		/* that it calls no more, or only now */
} Combining;

/* Does a plan read what other nodes send to Citus, in order or not? */
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

/* Has another aggregate the same state? */
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

/* A copy of an expression with other aggregates in it. */
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
			/* the state of all of ours */
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
