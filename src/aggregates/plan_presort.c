/*
 * plan_presort.c: extends the sort below a grouping aggregate by the order that aggregates need within groups.  Before
 * PostgreSQL 16, string_agg(x ORDER BY y) sorts each group separately in tuplesort, although a Sort has already grouped
 * the rows.  If gpusort takes that Sort, it may as well sort by y, and the aggregate reads its values in order.  16 and
 * later plan this themselves.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/nodes/plan_nodes.h"
#include "src/cost/sort_choice.h"
#include "src/keys/sortkey.h"
#include "src/shares/plan_share_node.h"
#include "plan_presort.h"

/* A sort key, as a column of a node's input. */
typedef struct OrderKey
{
	AttrNumber	attno;
	Oid			sortop;
	Oid			collation;
	bool		nulls_first;
} OrderKey;

/* The key arrays of a Sort or a Gather Merge. */
typedef struct NodeKeys
{
	int		   *count;
	AttrNumber **attnos;
	Oid		  **sortops;
	Oid		  **collations;
	bool	  **nulls_first;
} NodeKeys;

#define KEYS_OF(node) \
	{&(node)->numCols, &(node)->sortColIdx, &(node)->sortOperators, &(node)->collations, &(node)->nullsFirst}

/* Returns the column that an expression refers to, through relabelling; 0 if it is none. */
static AttrNumber
column_of(const Expr *expr)
{
	while (IsA(expr, RelabelType))
		expr = ((const RelabelType *) expr)->arg;
	return IsA(expr, Var) && ((const Var *) expr)->varno == OUTER_VAR ? ((const Var *) expr)->varattno : 0;
}

/*
 * Returns the order that an aggregate needs if a sort below can provide it: all keys are columns with exact encodings.
 * Without those, many small sorts may be cheaper than a large one.  Otherwise NIL.
 */
static List *
order_of(const Aggref *aggregate)
{
	List	   *order = NIL;
	ListCell   *lc;

	if (AGGKIND_IS_ORDERED_SET(aggregate->aggkind) || aggregate->aggdistinct)
		return NIL;
	foreach(lc, aggregate->aggorder)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		const TargetEntry *entry = get_sortgroupclause_tle(clause, aggregate->args);
		OrderKey   *key = palloc(sizeof(OrderKey));
		const char *why;

		key->attno = column_of(entry->expr);
		key->sortop = clause->sortop;
		key->collation = exprCollation((Node *) entry->expr);
		key->nulls_first = clause->nulls_first;
		if (key->attno <= 0 || !sortkey_is_exact(key->sortop, key->collation, &why))
			return NIL;
		order = lappend(order, key);
	}
	return order;
}

/* Returns true if one order is a prefix of another. */
static bool
is_prefix(const List *order, const List *of)
{
	if (list_length(order) > list_length(of))
		return false;
	for (int i = 0; i < list_length(order); i++)
	{
		const OrderKey *a = list_nth(order, i);
		const OrderKey *b = list_nth(of, i);

		if (a->attno != b->attno || a->sortop != b->sortop || a->collation != b->collation ||
			a->nulls_first != b->nulls_first)
			return false;
	}
	return true;
}

/* Walker: finds the longest order that an aggregate needs.  context is a List **. */
static bool
find_order(Node *node, void *context)
{
	List	  **longest = context;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		List	   *order = order_of((Aggref *) node);

		if (list_length(order) > list_length(*longest))
			*longest = order;
		return false;
	}
	return expression_tree_walker(node, find_order, context);
}

/* Walker: removes the ORDER BY of aggregates whose order, the context, the input provides. */
static bool
drop_orders(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		Aggref	   *aggregate = (Aggref *) node;
		List	   *order = order_of(aggregate);

		if (order && is_prefix(order, context))
		{
			/* arguments used only for sorting come last */
			aggregate->args = list_copy_head(aggregate->args, list_length(aggregate->aggargtypes));
			aggregate->aggorder = NIL;
		}
		return false;
	}
	return expression_tree_walker(node, drop_orders, context);
}

/* Returns true if a sort only groups rows: all its keys are grouping columns. */
static bool
sorts_by_groups(const NodeKeys *keys, const Agg *agg)
{
	for (int i = 0; i < *keys->count; i++)
	{
		bool		found = false;

		for (int j = 0; j < agg->numCols; j++)
			found = found || agg->grpColIdx[j] == (*keys->attnos)[i];
		if (!found)
			return false;
	}
	return true;
}

/* Enlarges an array. */
#define ENLARGE(array, count, more) \
	((array) = memcpy(palloc(((count) + (more)) * sizeof(*(array))), (array), (count) * sizeof(*(array))))

/* Appends an order to a node's keys. */
static void
append_order(const NodeKeys *keys, const List *order)
{
	int			count = *keys->count;
	int			more = list_length(order);

	ENLARGE(*keys->attnos, count, more);
	ENLARGE(*keys->sortops, count, more);
	ENLARGE(*keys->collations, count, more);
	ENLARGE(*keys->nulls_first, count, more);
	for (int i = 0; i < more; i++)
	{
		const OrderKey *key = list_nth(order, i);

		(*keys->attnos)[count + i] = key->attno;
		(*keys->sortops)[count + i] = key->sortop;
		(*keys->collations)[count + i] = key->collation;
		(*keys->nulls_first)[count + i] = key->nulls_first;
	}
	*keys->count = count + more;
}

/* Returns true if gpusort will take over an aggregate's input, as it does any sort of a share of groups. */
static bool
will_be_ours(const Plan *below, bool share)
{
	const Sort *sort = (const Sort *) below;

	return IsA(below, Sort) && (share || sort_is_ours(below->plan_rows, sort->sortOperators[0], sort->collations[0],
													  UNBOUNDED, NULL));
}

/* Extends the sort below an aggregate by an order within groups.  Returns false if there is no such sort. */
static bool
sort_within_groups(const Agg *agg, const List *order)
{
	Plan	   *below = outerPlan(agg);
	GatherMerge *gather = NULL;
	bool		share;

	if (IsA(below, GatherMerge))
	{
		gather = (GatherMerge *) below;
		if (!passes_through(below->targetlist, get_tlist_exprs(outerPlan(below)->targetlist, true)))
			return false;
		below = outerPlan(below);
	}
	share = is_share(below);
	if (share)
		below = outerPlan(below);
	if (will_be_ours(below, share))
	{
		NodeKeys	keys = KEYS_OF((Sort *) below);

		if (!sorts_by_groups(&keys, agg))
			return false;
		append_order(&keys, order);
		if (gather)
		{
			NodeKeys	merged = KEYS_OF(gather);

			append_order(&merged, order);
		}
		return true;
	}
	return false;
}

void
presort_aggregates(Agg *agg)
{
	List	   *order = NIL;

	if (aggregates_are_presorted || !gpusort_aggregates || agg->aggstrategy != AGG_SORTED || agg->chain ||
		agg->groupingSets || agg->aggsplit != AGGSPLIT_SIMPLE)
		return;
	find_order((Node *) agg->plan.targetlist, &order);
	find_order((Node *) agg->plan.qual, &order);
	if (order && sort_within_groups(agg, order))
	{
		drop_orders((Node *) agg->plan.targetlist, order);
		drop_orders((Node *) agg->plan.qual, order);
	}
}
