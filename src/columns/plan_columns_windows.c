/*
 * plan_columns_windows.c: aggregates over a subquery with windows, and rows with what windows give.
 *
 * The subquery has been planned when its rows are aggregated: the conditions of its table are those that its planner
 * has, with what was pushed down to them.  Expressions above it are rewritten in terms of its table's columns and
 * window functions, which the server's plan never sees.
 */
#include "postgres.h"

#include <limits.h>

#include "access/stratnum.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_opfamily_d.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "src/nodes/plan_nodes.h"
#include "columns_node.h"
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

/* Adds the windows of a query. */
static const char *
add_windows(const PlannerInfo *root, ColumnsParts *parts)
{
	const char *why = NULL;
	ListCell   *lc;

	foreach(lc, root->parse->windowClause)
	{
		const WindowClause *clause = lfirst_node(WindowClause, lc);

		if (why == NULL)
			why = add_window(root, clause, parts);
	}
	return why;
}

const char *
plan_windows(const RelOptInfo *input, PlannerInfo *below, ColumnsParts *parts)
{
	const char *why = add_windows(below, parts);
	ListCell   *lc;

	foreach(lc, below->processed_tlist)
		parts->defined = lappend(parts->defined, lfirst_node(TargetEntry, lc)->expr);
	if (why == NULL)
		why = add_conditions(input, parts);
	parts->above = list_concat(parts->above, window_run_conditions(below));
	return why;
}

/* ---------------------------------------------------------------- rows */

/* Returns an aggregate that counts rows. */
static Aggref *
row_count(void)
{
	Aggref	   *count = makeNode(Aggref);

	count->aggfnoid = F_COUNT_;
	count->aggtype = INT8OID;
	count->aggtranstype = INT8OID;
	count->aggstar = true;
	count->aggkind = AGGKIND_NORMAL;
	count->aggsplit = AGGSPLIT_SIMPLE;
	count->aggno = count->aggtransno = -1;
	count->location = -1;
	return count;
}

/* Returns true if windows have other keys than columns: WindowAgg's input has these, and not the columns in them. */
static bool
has_computed_keys(const ColumnsParts *parts)
{
	ListCell   *lc;

	foreach(lc, parts->window_keys)
		if (!IsA(lfirst(lc), Var))
			return true;
	return false;
}

/* Rows are counted as groups of their columns: that keeps how often each comes, which is what PostgreSQL promises. */
const char *
plan_window_rows(const PlannerInfo *root, const PathTarget *target, ColumnsParts *parts)
{
	bool		subquery = parts->defined != NIL;
	const char *why = subquery ? NULL : add_windows(root, parts);
	List	   *columns = pull_var_clause((Node *) target->exprs, PVC_INCLUDE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS);
	ListCell   *lc;

	parts->repeated = true;
	if (!subquery && has_computed_keys(parts))
		return "a window's key is not a column";
	foreach(lc, columns)
	{
		Expr	   *column = lfirst(lc);
		Expr	   *key = plan_defined(parts, column);

		if (!terms_is_column(key) || (IsA(column, Var) && ((Var *) column)->varattno <= 0))
			return "it returns what is no column";
		if (list_member(parts->members, column))
			continue;
		if (list_member(parts->keys, key))
			return "it returns a column twice";
		parts->members = lappend(parts->members, column);
		parts->keys = lappend(parts->keys, key);
	}
	/* WindowAgg tests what conditions above a subquery have become */
	if (!subquery)
		parts->above = window_run_conditions(root);
	parts->aggregates = list_make1(row_count());
	parts->kinds = list_make1_int(QUERY_PLAIN);
	return parts->keys == NIL ? "it returns no columns" : why;
}

/* Returns how many rows of a partition a condition on a rank lets pass, where each has another; 0: it is not one. */
static double
passed_of_partition(const OpExpr *condition)
{
	const WindowFunc *function;
	const Const *value;
	int			strategy;

	if (!IsA(condition, OpExpr) || list_length(condition->args) != 2)
		return 0;
	function = linitial(condition->args);
	value = lsecond(condition->args);
	if (!IsA(function, WindowFunc) || !IsA(value, Const) || value->constisnull ||
		(function->winfnoid != F_ROW_NUMBER && function->winfnoid != F_RANK_ &&
		 function->winfnoid != F_DENSE_RANK_))
		return 0;
	strategy = get_op_opfamily_strategy(condition->opno, INTEGER_BTREE_FAM_OID);
	if (strategy == BTEqualStrategyNumber)
		return 1;
	return strategy != BTLessStrategyNumber && strategy != BTLessEqualStrategyNumber ? 0 :
		Max(value->consttype == INT8OID ? (double) DatumGetInt64(value->constvalue) :
			value->consttype == INT4OID ? DatumGetInt32(value->constvalue) : 0, 0);
}

double
plan_window_rows_passed(PlannerInfo *below, const ColumnsParts *parts, double table_rows, double rows)
{
	ListCell   *lc;

	foreach(lc, parts->above)
	{
		const OpExpr *condition = lfirst(lc);
		double		passed = passed_of_partition(condition);
		ListCell   *window;

		foreach(window, below->parse->windowClause)
		{
			const WindowClause *clause = lfirst_node(WindowClause, window);
			List	   *keys = get_sortgrouplist_exprs(clause->partitionClause, below->processed_tlist);

			if (passed > 0 && clause->winref == linitial_node(WindowFunc, condition->args)->winref)
				rows = Min(rows, passed * (keys == NIL ? 1 : estimate_num_groups(below, keys, table_rows, NULL, NULL)));
		}
	}
	return clamp_row_est(rows);
}

Path *
plan_window_rows_child(const RelOptInfo *rel, PathTarget *target)
{
	const Path *best = NULL;
	Size		bytes = rel->reloptkind == RELOPT_BASEREL ? sizeof(SubqueryScanPath) : sizeof(WindowAggPath);
	Path	   *child;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);

		if ((IsA(path, SubqueryScanPath) || IsA(path, WindowAggPath)) && path->param_info == NULL &&
			(best == NULL || path->total_cost < best->total_cost))
			best = path;
	}
	if (best == NULL)
		return NULL;
	child = palloc(bytes);
	memcpy(child, best, bytes);
	child->pathtarget = target;
	return child;
}

/* Other parts of the query are the node's own, which needs to know their windows. */
void
plan_name_window_rows(CustomScan *scan)
{
	ListCell   *lc;

	if (scan->methods != &columns_scan_methods || our_node(&scan->scan.plan)->variant != NULL)
		return;
	foreach(lc, scan->custom_scan_tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);

		if (!entry->resjunk && IsA(entry->expr, WindowFunc))
			entry->expr = (Expr *) make_window_call((const WindowFunc *) entry->expr);
	}
}
