/*
 * plan_presort.c: lets aggregates with an order of their own take their values from a sort below them.  Before
 * PostgreSQL 16, string_agg(x ORDER BY y) sorts each group in tuplesort.  With groups, a Sort has put the rows
 * together: if gpusort takes that Sort, it may as well sort by y.  Without groups, a path over a sort by y is offered.
 * 16 and later plan this themselves.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/nodes/plan_nodes.h"
#include "src/cost/path_copies.h"
#include "src/cost/sort_choice.h"
#include "src/cost/sort_cost.h"
#include "src/cost/undercut.h"
#include "src/keys/sortcolumns.h"
#include "src/keys/sortkey.h"
#include "src/shares/plan_share_node.h"
#include "plan_aggregates.h"
#include "plan_presort.h"

/* Returns the column that an expression is, through relabelling, or NULL. */
static const Var *
variable_of(const Expr *expr)
{
	while (IsA(expr, RelabelType))
		expr = ((const RelabelType *) expr)->arg;
	return IsA(expr, Var) ? (const Var *) expr : NULL;
}

/* Returns the number of a column of the input; 0 if the expression is none. */
static AttrNumber
column_of(const Expr *expr)
{
	const Var  *var = variable_of(expr);

	return var && var->varno == OUTER_VAR ? var->varattno : 0;
}

/* Allocates the arrays of an order. */
static SortColumns
make_order(int nkeys)
{
	return (SortColumns) {nkeys, palloc(nkeys * sizeof(AttrNumber)), palloc(nkeys * sizeof(Oid)),
						  palloc(nkeys * sizeof(Oid)), palloc(nkeys * sizeof(bool))};
}

/* Returns true if an aggregate takes its values in an order, and only that. */
static bool
only_orders(const Aggref *aggregate)
{
	return aggregate->aggorder && !aggregate->aggdistinct && !AGGKIND_IS_ORDERED_SET(aggregate->aggkind);
}

/* Returns the order that an aggregate needs, if all keys are columns.  Otherwise no keys. */
static SortColumns
order_of(const Aggref *aggregate)
{
	const SortColumns none = {0};
	SortColumns order;
	int			n = list_length(aggregate->aggorder);

	if (!only_orders(aggregate))
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
		if (order.attnos[i] <= 0)
			return none;
	}
	return order;
}

/* Returns true if all keys have exact encodings. */
static bool
is_exact(const SortColumns *order)
{
	for (int i = 0; i < order->nkeys; i++)
		if (!sortkey_is_exact(order->sortops[i], order->collations[i]))
			return false;
	return true;
}

/* Walker: finds the longest order with exact encodings that an aggregate needs.  context is a SortColumns. */
static bool
find_order(Node *node, void *context)
{
	SortColumns *longest = context;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		SortColumns order = order_of((Aggref *) node);

		if (order.nkeys > longest->nkeys && is_exact(&order))
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

/* Sorts groups by the longest order that aggregates need within them.  Returns that order, or no keys. */
static SortColumns
order_within_groups(const Agg *agg)
{
	const SortColumns none = {0};
	SortColumns order = {0};

	find_order((Node *) agg->plan.targetlist, &order);
	find_order((Node *) agg->plan.qual, &order);
	return order.nkeys > 0 && sort_within_groups(agg, &order) ? order : none;
}

/* Returns the order of a Sort or a Gather Merge.  Otherwise no keys. */
static SortColumns
order_of_plan(const Plan *plan)
{
	if (IsA(plan, Sort))
		return (SortColumns) SORT_COLUMNS_OF((const Sort *) plan);
	if (IsA(plan, GatherMerge))
		return (SortColumns) SORT_COLUMNS_OF((const GatherMerge *) plan);
	return (SortColumns) {0};
}

void
presort_aggregates(Agg *agg)
{
	SortColumns order;

	if (aggregates_are_presorted || !gpusort_aggregates || agg->aggstrategy == AGG_HASHED ||
		agg->aggstrategy == AGG_MIXED || agg->chain || agg->groupingSets || agg->aggsplit != AGGSPLIT_SIMPLE)
		return;
	order = agg->aggstrategy == AGG_PLAIN ? order_of_plan(outerPlan(agg)) : order_within_groups(agg);
	drop_orders((Node *) agg->plan.targetlist, &order);
	drop_orders((Node *) agg->plan.qual, &order);
}

/* Returns the order that an aggregate needs, NIL if a key is no column, or adds nothing to others. */
static List *
pathkeys_of(PlannerInfo *root, const Aggref *aggregate)
{
	List	   *pathkeys;
	ListCell   *lc;

	if (!only_orders(aggregate))
		return NIL;
	foreach(lc, aggregate->aggorder)
	{
		const Var  *var = variable_of(get_sortgroupclause_tle(lfirst_node(SortGroupClause, lc), aggregate->args)->expr);

		if (var == NULL || var->varlevelsup > 0)
			return NIL;
	}
	pathkeys = make_pathkeys_for_sortclauses(root, aggregate->aggorder, aggregate->args);
	/* the finished Sort would lack the key, and the aggregate's order would not be found in it */
	return list_length(pathkeys) == list_length(aggregate->aggorder) ? pathkeys : NIL;
}

/* Returns true if equal values of an expression are the same bytes. */
static bool
is_equal_image(const Node *expr)
{
	const TypeCacheEntry *entry = lookup_type_cache(exprType(expr), TYPECACHE_BTREE_OPFAMILY);
	Oid			function;

	if (!OidIsValid(entry->btree_opf))
		return false;
	function = get_opfamily_proc(entry->btree_opf, entry->btree_opintype, entry->btree_opintype, BTEQUALIMAGE_PROC);
	return OidIsValid(function) && DatumGetBool(OidFunctionCall1Coll(function, exprCollation(expr),
																	 ObjectIdGetDatum(entry->btree_opintype)));
}

/*
 * Returns true if the order of rows does not show in an aggregate's answer, to the bit: the server may split it between
 * workers, and its values neither round nor differ in looks while they are equal.  A user's own aggregate may number
 * its values.
 */
static bool
ignores_order(PlannerInfo *root, const Aggref *aggregate)
{
	/* no Node before PostgreSQL 16 */
	const AggTransInfo *transition = list_nth(root->aggtransinfos, aggregate->aggtransno);
	bool		distinct;
	ListCell   *lc;

	if (aggregate->aggorder || aggregate->aggdistinct)
		return true;
	if (!aggregate_is_ours(aggregate, &distinct) &&
		(aggregate->aggfnoid >= FirstGenbkiObjectId || !OidIsValid(transition->combinefn_oid)))
		return false;
	if (aggregate->aggfnoid == F_COUNT_ANY || aggregate->aggfnoid == F_SUM_NUMERIC ||
		aggregate->aggfnoid == F_AVG_NUMERIC)
		return true;
	foreach(lc, aggregate->args)
	{
		const Node *value = (Node *) lfirst_node(TargetEntry, lc)->expr;

		if (!IsA(value, Const) && !is_equal_image(value))
			return false;
	}
	return true;
}

/* Finds the longest order that aggregates need.  Returns NIL if that of the rows shows in what others do with them. */
static List *
order_of_aggregates(PlannerInfo *root)
{
	List	   *longest = NIL;
	ListCell   *lc;

	foreach(lc, root->agginfos)
	{
		const Aggref *aggregate = aggregate_of_info(lfirst(lc));
		List	   *pathkeys;

		/* a subplan may be volatile within */
		if (!ignores_order(root, aggregate) || contain_volatile_functions((Node *) aggregate) ||
			contain_subplans((Node *) aggregate))
			return NIL;
		pathkeys = pathkeys_of(root, aggregate);
		if (list_length(pathkeys) > list_length(longest))
			longest = pathkeys;
	}
	return longest;
}

/* Returns what the sorts inside aggregates cost that an order replaces.  The server leaves them out. */
static Cost
omitted_sort_cost(PlannerInfo *root, RelOptInfo *grouped, Path *input, List *order)
{
	const SortPath *sort = create_sort_path(root, grouped, input, order, -1.0);
	Cost		cost = sort->path.total_cost - input->total_cost;
	double		sorts = 0;
	ListCell   *lc;

	foreach(lc, root->agginfos)
	{
		const Aggref *aggregate = aggregate_of_info(lfirst(lc));
		List	   *pathkeys = pathkeys_of(root, aggregate);

		if (pathkeys != NIL && pathkeys_contained_in(pathkeys, order))
			sorts += aggregate->aggfilter == NULL ? 1 :
				clause_selectivity(root, (Node *) aggregate->aggfilter, 0, JOIN_INNER, NULL);
	}
	return sorts * cost;
}

/* Returns the cheapest of the server's paths of an aggregate without groups, or NULL. */
static AggPath *
plain_aggregate(const RelOptInfo *grouped)
{
	Path	   *path = cheapest(grouped->pathlist);

	return path && IsA(path, AggPath) && ((AggPath *) path)->aggstrategy == AGG_PLAIN &&
		((AggPath *) path)->aggsplit == AGGSPLIT_SIMPLE ? (AggPath *) path : NULL;
}

List *
presorted_aggregates(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped)
{
	AggPath    *theirs = plain_aggregate(grouped);
	AggClauseCosts costs;
	List	   *result = NIL;
	List	   *order;
	ListCell   *lc;

	if (aggregates_are_presorted || !gpusort_aggregates || root->numOrderedAggs == 0 || IS_OTHER_REL(grouped) ||
		theirs == NULL)
		return NIL;
	order = order_of_aggregates(root);
	if (order == NIL || !can_sort_by(root, input, order))
		return NIL;
	memset(&costs, 0, sizeof(costs));
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	foreach(lc, cheap_sorts(root, grouped, input, order))
		result = lappend(result, create_agg_path(root, grouped, lfirst(lc), theirs->path.pathtarget, AGG_PLAIN,
												 AGGSPLIT_SIMPLE, NIL, theirs->qual, &costs, 1));
	if (result == NIL || cheapest(result)->total_cost >= theirs->path.total_cost +
		omitted_sort_cost(root, grouped, input->cheapest_total_path, order))
		return NIL;
	scale_below(result, &theirs->path);
	return result;
}
