/*
 * plan_columns_windows.c: aggregates over a subquery with windows.
 *
 * The subquery has been planned when its rows are aggregated: the conditions of its table are those that its planner
 * has, with what was pushed down to them.  Expressions above it are rewritten in terms of its table's columns and
 * window functions, which the server's plan never sees.
 */
#include "postgres.h"

#include <limits.h>

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "columns_terms.h"
#include "columns_windows.h"
#include "plan_columns_windows.h"

/*
 * Returns true if a query has all rows of its table that pass conditions, with window functions, or would have had, if
 * one were asked for.
 */
static bool
is_plain(const Query *query)
{
	return query->windowClause != NIL && !query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL &&
		query->havingQual == NULL && query->distinctClause == NIL && query->setOperations == NULL &&
		query->limitCount == NULL && query->limitOffset == NULL && query->rowMarks == NIL && !query->hasTargetSRFs;
}

RelOptInfo *
plan_windows_table(const RelOptInfo *input, PlannerInfo **below)
{
	PlannerInfo *root = input->subroot;
	RelOptInfo *table;
	int			relid;

	if (input->rtekind != RTE_SUBQUERY || root == NULL || !is_plain(root->parse) || root->init_plans != NIL ||
		input->lateral_relids != NULL || !bms_get_singleton_member(root->all_baserels, &relid) ||
		contain_volatile_functions((Node *) root->processed_tlist))
		return NULL;
	table = root->simple_rel_array[relid];
	*below = root;
	return table->rtekind == RTE_RELATION ? table : NULL;
}

/* ---------------------------------------------------------------- windows */

/* Reads a bound of ROWS.  Returns false if it is not known. */
static bool
read_bound(const Node *offset, int sign, int *bound)
{
	const Const *constant = (const Const *) offset;
	int64		rows;

	if (offset == NULL || !IsA(offset, Const) || constant->constisnull || constant->consttype != INT8OID)
		return false;
	rows = DatumGetInt64(constant->constvalue);
	*bound = sign * (int) rows;
	return rows >= 0 && rows < INT_MAX;
}

/* Reads the bounds of a frame of ROWS. */
static bool
read_rows(const WindowClause *clause, int *from, int *to)
{
	int			options = clause->frameOptions;

	*from = INT_MIN;
	*to = INT_MAX;
	if (options & FRAMEOPTION_START_CURRENT_ROW)
		*from = 0;
	else if (options & FRAMEOPTION_START_OFFSET)
	{
		if (!read_bound(clause->startOffset, options & FRAMEOPTION_START_OFFSET_PRECEDING ? -1 : 1, from))
			return false;
	}
	if (options & FRAMEOPTION_END_CURRENT_ROW)
		*to = 0;
	else if (options & FRAMEOPTION_END_OFFSET)
		return read_bound(clause->endOffset, options & FRAMEOPTION_END_OFFSET_PRECEDING ? -1 : 1, to);
	return true;
}

/* Finds a window's frame: a gs_frame, or WINDOW_OTHER_FRAME. */
static int
frame_of(const WindowClause *clause, int *from, int *to)
{
	int			options = clause->frameOptions;
	bool		from_first = (options & FRAMEOPTION_START_UNBOUNDED_PRECEDING) != 0;

	*from = *to = 0;
	if (options & FRAMEOPTION_EXCLUSION)
		return WINDOW_OTHER_FRAME;
	if (from_first && (options & FRAMEOPTION_END_UNBOUNDED_FOLLOWING))
		return GS_FRAME_PARTITION;
	if (options & FRAMEOPTION_ROWS)
		return read_rows(clause, from, to) ? GS_FRAME_ROWS : WINDOW_OTHER_FRAME;
	if (!from_first || !(options & FRAMEOPTION_END_CURRENT_ROW))
		return WINDOW_OTHER_FRAME;
	return clause->orderClause == NIL ? GS_FRAME_PARTITION : GS_FRAME_PEERS;
}

/* Adds the keys of a window, constants left out, to *orders as well.  Returns their number; -1: one is not known. */
static int
add_keys(const PlannerInfo *root, List *clauses, ColumnsParts *parts, List **orders)
{
	int			count = 0;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Expr	   *key = (Expr *) get_sortgroupclause_expr(clause, root->processed_tlist);
		const TypeCacheEntry *type = lookup_type_cache(exprType((Node *) key), TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR |
													   TYPECACHE_GT_OPR);

		if (terms_is_value(key))
			continue;
		if (orders == NULL ? clause->eqop != type->eq_opr :
			clause->sortop != type->lt_opr && clause->sortop != type->gt_opr)
			return -1;
		parts->window_keys = lappend(parts->window_keys, key);
		if (orders != NULL)
			*orders = lappend_int(lappend_int(*orders, clause->sortop == type->gt_opr), clause->nulls_first);
		count++;
	}
	return count;
}

/* Adds a window. */
static const char *
add_window(const PlannerInfo *root, const WindowClause *clause, ColumnsParts *parts)
{
	List	   *orders = NIL;
	int			from;
	int			to;
	int			frame = frame_of(clause, &from, &to);
	int			npartition = add_keys(root, clause->partitionClause, parts, NULL);
	int			norders = add_keys(root, clause->orderClause, parts, &orders);
	List	   *spec = list_make5_int((int) clause->winref, npartition, norders, frame, from);

	parts->windows = lappend(parts->windows, list_concat(lappend_int(spec, to), orders));
	return npartition < 0 || norders < 0 ? "a window's order is not its type's own" : NULL;
}

/* ---------------------------------------------------------------- above the windows */

/* Mutator: replaces columns of the subquery by what they are. */
static Node *
define(Node *node, void *context)
{
	const ColumnsParts *parts = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == 0 && ((Var *) node)->varattno > 0 &&
		((Var *) node)->varattno <= list_length(parts->defined))
		return copyObject(list_nth(parts->defined, ((Var *) node)->varattno - 1));
	return expression_tree_mutator(node, define, context);
}

void *
plan_defined(const ColumnsParts *parts, void *expr)
{
	return parts->defined == NIL ? expr : define(expr, unconstify(ColumnsParts *, parts));
}

/* Adds the conditions that are tested of the subquery's rows. */
static const char *
add_conditions(const RelOptInfo *input, ColumnsParts *parts)
{
	ListCell   *lc;

	foreach(lc, input->baserestrictinfo)
	{
		const RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		if (info->security_level > 0)
			return "a condition is evaluated before others";
		parts->above = lappend(parts->above, plan_defined(parts, info->clause));
	}
	return NULL;
}

const char *
plan_windows(const RelOptInfo *input, PlannerInfo *below, ColumnsParts *parts)
{
	const char *why = NULL;
	ListCell   *lc;

	foreach(lc, below->processed_tlist)
		parts->defined = lappend(parts->defined, lfirst_node(TargetEntry, lc)->expr);
	foreach(lc, below->parse->windowClause)
	{
		const WindowClause *clause = lfirst_node(WindowClause, lc);

		if (why == NULL)
			why = add_window(below, clause, parts);
	}
	if (why == NULL)
		why = add_conditions(input, parts);
	parts->above = list_concat(parts->above, window_run_conditions(below));
	return why;
}
