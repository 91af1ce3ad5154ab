/*
 * plan_columns_groups.c: the groups of a query, as columns answer them: keys, aggregates, HAVING, and how many of them
 * are wanted.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "columns_aggregates.h"
#include "columns_terms.h"
#include "plan_columns_groups.h"
#include "plan_columns_windows.h"

/* ---------------------------------------------------------------- keys and aggregates */

bool
plan_aggregates(const PlannerInfo *root)
{
	return root->parse->hasAggs || root->parse->groupClause != NIL;
}

bool
plan_is_distinct(const PlannerInfo *root)
{
	return !plan_aggregates(root);
}

/* Returns the clauses that say what the groups are. */
static List *
clauses_of(const PlannerInfo *root)
{
	return plan_is_distinct(root) ? root->parse->distinctClause : root->parse->groupClause;
}

/* Moves expressions of other keys alone, which divide no group, to those that are only checked. */
static void
check_dependent(ColumnsParts *parts)
{
	List	   *keys = parts->keys;
	ListCell   *lc;

	foreach(lc, keys)
	{
		List	   *vars = pull_var_clause(lfirst(lc), PVC_RECURSE_WINDOWFUNCS | PVC_RECURSE_PLACEHOLDERS);

		if (IsA(lfirst(lc), Var) || list_difference(vars, keys) != NIL)
			continue;
		parts->keys = list_delete(list_copy(parts->keys), lfirst(lc));
		parts->checks = lappend(parts->checks, lfirst(lc));
	}
}

/* Adds the expressions of these clauses: columns, and what is computed of columns.  Values divide no group. */
static const char *
add_keys(PlannerInfo *root, ColumnsParts *parts)
{
	ListCell   *lc;

	foreach(lc, clauses_of(root))
	{
		const SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Node	   *key = get_sortgroupclause_expr((SortGroupClause *) clause, root->processed_tlist);

		if (terms_is_value(plan_defined(parts, key)))
			continue;
		if (clause->eqop != lookup_type_cache(exprType(key), TYPECACHE_EQ_OPR)->eq_opr)
			return "a key is not a column";
		parts->keys = list_append_unique(parts->keys, key);
	}
	check_dependent(parts);
	return parts->keys == NIL && clauses_of(root) != NIL ? "no key is a column" : NULL;
}

/* Returns true if an expression is the number of a gpu_rle's runs. */
static bool
is_length(const Node *node)
{
	const FuncExpr *function = (const FuncExpr *) node;
	const Aggref *runs;

	if (!IsA(node, FuncExpr) || function->funcid != F_CARDINALITY)
		return false;
	runs = linitial(function->args);
	return IsA(runs, Aggref) && columns_aggregate_kind(runs) == QUERY_RUN_ARRAY;
}

/* Mutator: takes numbers of runs out of expressions, as aggregates. */
static Node *
take_lengths(Node *node, void *context)
{
	ColumnsParts *parts = context;

	if (node == NULL)
		return NULL;
	if (!is_length(node))
		return expression_tree_mutator(node, take_lengths, context);
	parts->aggregates = list_append_unique(parts->aggregates, node);
	return (Node *) makeNullConst(INT4OID, -1, InvalidOid);
}

/* Mutator: an expression without keys that are none of columns, of which nothing else is taken. */
static Node *
without_computed(Node *node, void *keys)
{
	/* what an aggregate takes stays as it is: aggregates are compared with the target's */
	if (node == NULL || IsA(node, Aggref) || IsA(node, Var))
		return node;
	if (list_member(keys, node))
		return (Node *) makeNullConst(exprType(node), -1, InvalidOid);
	return expression_tree_mutator(node, without_computed, keys);
}

/*
 * Adds the aggregates, and as further keys those columns that depend on the keys by a constraint: they divide no group.
 */
static const char *
add_members(const List *exprs, bool grouped, ColumnsParts *parts)
{
	Node	   *others = take_lengths(without_computed((Node *) exprs, parts->keys), parts);
	List	   *found = pull_var_clause(others, PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
										PVC_RECURSE_PLACEHOLDERS);
	ListCell   *lc;

	foreach(lc, found)
	{
		if (IsA(lfirst(lc), Aggref))
			parts->aggregates = list_append_unique(parts->aggregates, lfirst(lc));
		else if (!grouped)
			return "it returns a column";
		else
			parts->keys = list_append_unique(parts->keys, lfirst(lc));
	}
	return NULL;
}

const char *
plan_groups(PlannerInfo *root, const PathTarget *target, ColumnsParts *parts)
{
	bool		has_keys = clauses_of(root) != NIL;
	const char *why = add_keys(root, parts);
	ListCell   *lc;

	if (why == NULL)
		why = add_members(target->exprs, has_keys, parts);
	if (why == NULL)
		why = add_members((List *) root->parse->havingQual, has_keys, parts);
	if (why == NULL && parts->keys == NIL && parts->aggregates == NIL)
		why = "it has no aggregates";
	parts->members = list_concat_copy(parts->keys, parts->aggregates);
	parts->keys = plan_defined(parts, parts->keys);
	parts->aggregates = plan_defined(parts, parts->aggregates);
	parts->checks = plan_defined(parts, parts->checks);
	foreach(lc, parts->aggregates)
	{
		QueryKind	kind = is_length(lfirst(lc)) ? QUERY_RUNS : columns_aggregate_kind(lfirst_node(Aggref, lc));

		if (kind == QUERY_RUNS)
			lfirst(lc) = linitial(((FuncExpr *) lfirst(lc))->args);
		parts->kinds = lappend_int(parts->kinds, (int) kind);
	}
	return why;
}

/* ---------------------------------------------------------------- which groups */

/* Returns true if columns answer the query with these parts. */
static bool
is_answered(const ColumnsParts *parts)
{
	ColumnsQuery query;

	return columns_query(parts, &query) == NULL;
}

/* Adds the conditions of HAVING that choose groups as they are made.  Returns the others. */
static List *
choose_by_having(const PlannerInfo *root, ColumnsParts *parts)
{
	List	   *left = NIL;
	ListCell   *lc;

	foreach(lc, (List *) root->parse->havingQual)
	{
		ColumnsParts with = *parts;

		with.having = list_make1(plan_defined(parts, lfirst(lc)));
		if (parts->keys != NIL && is_answered(&with))
			parts->having = lappend(parts->having, linitial(with.having));
		else
			left = lappend(left, lfirst(lc));
	}
	return left;
}

/* Adds an order to three integers of each one before.  Returns false if it is not the type's own, of a member. */
static bool
add_order(const ColumnsParts *parts, const SortGroupClause *clause, const Expr *expr, List **orders)
{
	const TypeCacheEntry *type = lookup_type_cache(exprType((const Node *) expr), TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	ListCell   *lc;

	if (clause->sortop != type->lt_opr && clause->sortop != type->gt_opr)
		return false;
	foreach(lc, parts->members)
	{
		if (!equal(lfirst(lc), expr))
			continue;
		*orders = lappend_int(*orders, foreach_current_index(lc));
		*orders = lappend_int(*orders, clause->sortop == type->gt_opr);
		*orders = lappend_int(*orders, clause->nulls_first);
		return true;
	}
	return false;
}

/*
 * Returns true if LIMIT, and ORDER BY if there is one, are all that is done with groups, or with rows, and its numbers
 * are known in a scan.
 */
static bool
has_limit(const Query *parse)
{
	return parse->limitCount != NULL && parse->limitOption == LIMIT_OPTION_COUNT &&
		!parse->hasTargetSRFs && parse->setOperations == NULL &&
		terms_is_value((Expr *) parse->limitCount) &&
		(parse->limitOffset == NULL || terms_is_value((Expr *) parse->limitOffset));
}

/* Adds the LIMIT where any groups will do: those that come first by a member that has an order without strings'. */
static void
choose_any(ColumnsParts *parts, ColumnsParts with)
{
	ListCell   *lc;

	foreach(lc, parts->members)
	{
		Oid			type = exprType(lfirst(lc));

		if (terms_is_string(getBaseType(type)) || !OidIsValid(lookup_type_cache(type, TYPECACHE_LT_OPR)->lt_opr))
			continue;
		with.orders = list_make3_int(foreach_current_index(lc), false, false);
		if (!is_answered(&with))
			continue;
		*parts = with;
		return;
	}
}

/* Adds the LIMIT and its order, if they can be cut there. */
static void
choose_by_limit(const PlannerInfo *root, ColumnsParts *parts)
{
	const Query *parse = root->parse;
	ColumnsParts with = *parts;
	ListCell   *lc;

	if (!has_limit(parse))
		return;
	with.limits = list_make1(parse->limitCount);
	if (parse->limitOffset != NULL)
		with.limits = lappend(with.limits, parse->limitOffset);
	foreach(lc, parse->sortClause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);

		if (!add_order(parts, clause, (Expr *) get_sortgroupclause_expr(clause, root->processed_tlist), &with.orders))
			return;
	}
	if (parse->sortClause == NIL)
		choose_any(parts, with);
	else if (is_answered(&with))
		*parts = with;
}

List *
plan_chosen_groups(PlannerInfo *root, ColumnsParts *parts)
{
	List	   *left = choose_by_having(root, parts);

	if (left == NIL && parts->keys != NIL && !root->parse->hasWindowFuncs &&
		(root->parse->distinctClause == NIL || plan_is_distinct(root)))
		choose_by_limit(root, parts);
	return left;
}

/*
 * The first groups of an order have the first rows.  Volatile functions are called for all rows, and windows above
 * those of a subquery take all of them.
 */
void
plan_chosen_rows(const PlannerInfo *root, const RelOptInfo *input, ColumnsParts *parts)
{
	if (!plan_aggregates(root) && root->parse->distinctClause == NIL && root->parse->havingQual == NULL &&
		root->parse->sortClause != NIL && (parts->defined == NIL || !root->parse->hasWindowFuncs) &&
		bms_equal(input->relids, root->all_baserels) &&
		!contain_volatile_functions((Node *) root->processed_tlist))
		choose_by_limit(root, parts);
}

double
plan_wanted_groups(const ColumnsParts *parts)
{
	double		wanted = 0;
	ListCell   *lc;

	foreach(lc, parts->limits)
	{
		const Const *number = lfirst(lc);

		if (!IsA(number, Const) || number->constisnull)
			return 0;
		wanted += (double) DatumGetInt64(number->constvalue);
	}
	return Max(wanted, 0);
}

/* ---------------------------------------------------------------- PostgreSQL's path */

/* Returns PostgreSQL's cheapest path that computes aggregates from the table's rows, or NULL. */
static const AggPath *
cheapest_aggregate(const PlannerInfo *root, const RelOptInfo *grouped)
{
	const AggPath *best = NULL;
	ListCell   *lc;

	foreach(lc, grouped->pathlist)
	{
		const AggPath *path = lfirst(lc);

		if (!IsA(path, AggPath) || DO_AGGSPLIT_SKIPFINAL(path->aggsplit) ||
			(path->aggstrategy == AGG_PLAIN) != (clauses_of(root) == NIL))
			continue;
		if (best == NULL || disabled_nodes(&path->path) < disabled_nodes(&best->path) ||
			(disabled_nodes(&path->path) == disabled_nodes(&best->path) &&
			 path->path.total_cost < best->path.total_cost))
			best = path;
	}
	return best;
}

/* Makes a path where the planner has kept none. */
static Path *
make_aggregate(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped, PathTarget *target)
{
	bool		distinct = plan_is_distinct(root);
	List	   *clause = distinct ? planned_distinct_clause(root) : planned_group_clause(root);
	List	   *having = (List *) root->parse->havingQual;
	Path	   *rows = input->cheapest_total_path;
	AggClauseCosts costs = {0};
	bool		hashed = clause != NIL && grouping_is_hashable(clause) && root->numOrderedAggs == 0;
	double		groups = 1;

	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	if (clause != NIL)
		groups = estimate_num_groups(root, get_sortgrouplist_exprs(clause, root->processed_tlist), rows->rows, NULL,
									 NULL);
	if (clause != NIL && !hashed)
		rows = (Path *) create_sort_path(root, grouped, rows,
										 distinct ? root->distinct_pathkeys : root->group_pathkeys, -1.0);
	return &create_agg_path(root, grouped, rows, target,
							hashed ? AGG_HASHED : clauses_of(root) != NIL ? AGG_SORTED : AGG_PLAIN,
							AGGSPLIT_SIMPLE, clause, having, &costs, groups)->path;
}

/*
 * A plan that reads an index, or one row, for each min and max is not taken, since it replaces these aggregates
 * wherever they stand.
 */
Path *
plan_groups_child(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped, PathTarget *target)
{
	const AggPath *best = cheapest_aggregate(root, grouped);
	AggPath    *child;

	if (best == NULL)
		return make_aggregate(root, input, grouped, target);
	child = makeNode(AggPath);
	*child = *best;
	child->path.pathtarget = target;
	return &child->path;
}
