/*
 * plan_presort.c: extends the sort below a grouping aggregate by the order that aggregates need within groups.  Before
 * PostgreSQL 16, string_agg(x ORDER BY y) sorts each group in tuplesort, although a Sort has grouped the rows.  If
 * gpusort takes that Sort, it may as well sort by y.  16 and later plan this themselves.
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
#include "src/keys/sortcolumns.h"
#include "src/keys/sortkey.h"
#include "src/shares/plan_share_node.h"
#include "plan_presort.h"

/* Returns the column that an expression refers to, through relabelling; 0 if it is none. */
static AttrNumber
column_of(const Expr *expr)
{
	while (IsA(expr, RelabelType))
		expr = ((const RelabelType *) expr)->arg;
	return IsA(expr, Var) && ((const Var *) expr)->varno == OUTER_VAR ? ((const Var *) expr)->varattno : 0;
}

/* Allocates the arrays of an order. */
static SortColumns
make_order(int nkeys)
{
	return (SortColumns) {nkeys, palloc(nkeys * sizeof(AttrNumber)), palloc(nkeys * sizeof(Oid)),
						  palloc(nkeys * sizeof(Oid)), palloc(nkeys * sizeof(bool))};
}

/* Returns the order that an aggregate needs, if all keys are columns with exact encodings.  Otherwise no keys. */
static SortColumns
order_of(const Aggref *aggregate)
{
	const SortColumns none = {0};
	SortColumns order;
	int			n = list_length(aggregate->aggorder);

	if (AGGKIND_IS_ORDERED_SET(aggregate->aggkind) || aggregate->aggdistinct)
		return none;
	order = make_order(n);
	for (int i = 0; i < n; i++)
	{
		SortGroupClause *clause = list_nth_node(SortGroupClause, aggregate->aggorder, i);
		const TargetEntry *entry = get_sortgroupclause_tle(clause, aggregate->args);

		order.attnos[i] = column_of(entry->expr);
		order.sortops[i] = clause->sortop;
		order.collations[i] = exprCollation((Node *) entry->expr);
		order.nulls_first[i] = clause->nulls_first;
		if (order.attnos[i] <= 0 || !sortkey_is_exact(order.sortops[i], order.collations[i]))
			return none;
	}
	return order;
}

/* Walker: finds the longest order that an aggregate needs.  context is a SortColumns. */
static bool
find_order(Node *node, void *context)
{
	SortColumns *longest = context;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		SortColumns order = order_of((Aggref *) node);

		if (order.nkeys > longest->nkeys)
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
		SortColumns order = order_of(aggregate);

		if (order.nkeys > 0 && sortcolumns_begin(context, &order))
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
sorts_by_groups(const Sort *sort, const Agg *agg)
{
	for (int i = 0; i < sort->numCols; i++)
	{
		bool		found = false;

		for (int j = 0; j < agg->numCols; j++)
			found = found || agg->grpColIdx[j] == sort->sortColIdx[i];
		if (!found)
			return false;
	}
	return true;
}

/* Returns two orders one after the other. */
static SortColumns
join_orders(const SortColumns a, const SortColumns *b)
{
	SortColumns order = make_order(a.nkeys + b->nkeys);

#define JOIN(member) \
	(memcpy(order.member, a.member, a.nkeys * sizeof(*a.member)), \
	 memcpy(order.member + a.nkeys, b->member, b->nkeys * sizeof(*a.member)))

	JOIN(attnos);
	JOIN(sortops);
	JOIN(collations);
	JOIN(nulls_first);
#undef JOIN
	return order;
}

/* Returns true if gpusort will take over an aggregate's input, as it does any sort of a share of groups. */
static bool
will_be_ours(const Plan *below, bool share)
{
	const Sort *sort = (const Sort *) below;

	return IsA(below, Sort) && (share || sort_is_ours(below->plan_rows, sort->sortOperators[0], sort->collations[0],
													  UNBOUNDED, NULL));
}

/* Appends an order to that of a Sort or a Gather Merge. */
#define APPEND_ORDER(node, more) \
	do { \
		SortColumns joined = join_orders((SortColumns) SORT_COLUMNS_OF(node), more); \
		\
		(node)->numCols = joined.nkeys; \
		(node)->sortColIdx = joined.attnos; \
		(node)->sortOperators = joined.sortops; \
		(node)->collations = joined.collations; \
		(node)->nullsFirst = joined.nulls_first; \
	} while (0)

/* Extends the sort below an aggregate by an order within groups.  Returns false if there is no such sort. */
static bool
sort_within_groups(const Agg *agg, const SortColumns *order)
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
	share = is_share_sort(below);
	if (share)
		below = outerPlan(below);
	if (!will_be_ours(below, share) || !sorts_by_groups((const Sort *) below, agg))
		return false;
	APPEND_ORDER((Sort *) below, order);
	if (gather)
		APPEND_ORDER(gather, order);
	return true;
}

void
presort_aggregates(Agg *agg)
{
	SortColumns order = {0};

	if (aggregates_are_presorted || !gpusort_aggregates || agg->aggstrategy != AGG_SORTED || agg->chain ||
		agg->groupingSets || agg->aggsplit != AGGSPLIT_SIMPLE)
		return;
	find_order((Node *) agg->plan.targetlist, &order);
	find_order((Node *) agg->plan.qual, &order);
	if (order.nkeys > 0 && sort_within_groups(agg, &order))
	{
		drop_orders((Node *) agg->plan.targetlist, &order);
		drop_orders((Node *) agg->plan.qual, &order);
	}
}
