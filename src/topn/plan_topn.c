/*
 * plan_topn.c: plans the first rows of each group, "row_number() OVER (PARTITION BY … ORDER BY …) <= n" above a query,
 * and DISTINCT ON.  The server sorts all rows.  A GpuTopN keeps those that may be among the first ones of their group:
 *
 *		WindowAgg						WindowAgg
 *		  -> Sort						  -> Sort
 *		       -> GpuTopN				       -> Gather
 *		            -> any plan			            -> GpuTopN
 *										                 -> any partial plan
 *
 * Rows that are left out have as many rows before them in their group as are wanted, or more, all of which remain.  So
 * do the numbers and ranks of the rows that are wanted, and the others remain behind.
 */
#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "src/base/compat.h"
#include "src/base/costs.h"
#include "src/base/guc.h"
#include "src/core/node.h"
#include "src/cost/sort_cost.h"
#include "src/cost/undercut.h"
#include "src/nodes/plan_nodes.h"
#include "plan_topn.h"
#include "topn_node.h"

/* More rows of a group than this are not kept. */
#define MOST_ROWS 10000

/* The first rows of each group. */
typedef struct TopN
{
	PlannerInfo *root;
	RelOptInfo *output;
	List	   *groups;			/* expressions */
	double		ngroups;
	List	   *order;			/* SortGroupClauses within a group; if there are none, one of a group's */
	int64		rows;			/* wanted of a group */
	bool		ties;			/* and those that are equal to the last */
} TopN;

static Plan *plan_topn(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses,
					   List *plans);

static const CustomPathMethods topn_path_methods = {
	.CustomName = GPUTOPN_NODE_NAME,
	.PlanCustomPath = plan_topn,
};

/* Returns the expression of a clause. */
static Expr *
expression_of(PlannerInfo *root, const SortGroupClause *clause)
{
	return (Expr *) get_sortgroupclause_expr((SortGroupClause *) clause, root->processed_tlist);
}

/* Returns the number of the column of a target list that has an expression. */
static AttrNumber
column_of(Expr *expr, List *targets)
{
	return tlist_member(expr, targets)->resno;
}

/* PlanCustomPath.  The path's custom_private is the groups, the order, and integers: rows of a group, ties. */
static Plan *
plan_topn(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses, List *plans)
{
	CustomScan *scan = make_scan_over(targets, copyObject(targets), linitial(plans), &gputopn_scan_methods);
	List	   *groups = NIL;
	ListCell   *lc;

	foreach(lc, linitial(path->custom_private))
		groups = lappend_int(groups, column_of(lfirst(lc), targets));
	scan->custom_private = gpusort_write_order(root, lsecond(path->custom_private), targets);
	scan->custom_private = lappend(lappend(scan->custom_private, NULL),
								   list_make2(groups, lthird(path->custom_private)));
	return &scan->scan.plan;
}

void
show_topn(CustomScan *scan)
{
	if (scan->methods == &gputopn_scan_methods)
		scan->custom_scan_tlist = (List *) name_windows((Node *) scan->custom_scan_tlist, NULL);
}

/* Returns true if a path has columns for all groups and the order. */
static bool
has_columns(const TopN *topn, const PathTarget *target)
{
	ListCell   *lc;

	foreach(lc, topn->groups)
	{
		if (!list_member(target->exprs, lfirst(lc)))
			return false;
	}
	foreach(lc, topn->order)
	{
		if (!list_member(target->exprs, expression_of(topn->root, lfirst(lc))))
			return false;
	}
	return true;
}

/* Makes a GpuTopN over a path, or returns NULL if it leaves too few rows out, or memory does not hold the others. */
static Path *
topn_path(const TopN *topn, Path *below)
{
	double		groups = Min(topn->ngroups, below->rows);
	double		rows = clamp_row_est(groups * Min((double) topn->rows, below->rows / groups));
	double		bytes = groups * TOPN_GROUP_BYTES + rows * (below->pathtarget->width + TOPN_ROW_BYTES);
	CustomPath *path;

	if (below->param_info != NULL || rows > below->rows / 2 || bytes > gpusort_memory_limit() ||
		!has_columns(topn, below->pathtarget))
		return NULL;
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = topn->output;
	path->path.pathtarget = below->pathtarget;
	path->path.parallel_safe = below->parallel_safe;
	path->path.parallel_workers = below->parallel_workers;
	path->path.rows = rows;
	path->path.startup_cost = below->total_cost + below->rows * TOPN_ROW_COST + rows * TOPN_KEPT_ROW_COST;
	if (groups * TOPN_GROUP_BYTES > CACHE_BYTES)
		path->path.startup_cost += below->rows * TOPN_FAR_ROW_COST;
	path->path.total_cost = path->path.startup_cost + rows * cpu_tuple_cost;
	add_disabled_nodes(&path->path, disabled_nodes(below));
	path->custom_paths = list_make1(below);
	path->custom_private = list_make3(topn->groups, topn->order, list_make2_int((int) topn->rows, topn->ties));
	path->methods = &topn_path_methods;
	return &path->path;
}

/* Makes a Gather over the rows that several processes keep, or returns NULL. */
static Path *
gathered_path(const TopN *topn, RelOptInfo *input)
{
	Path	   *part;
	double		rows;

	if (input->partial_pathlist == NIL)
		return NULL;
	part = topn_path(topn, linitial(input->partial_pathlist));
	if (part == NULL)
		return NULL;
	rows = part->rows * (part->parallel_workers + 1);
	return (Path *) create_gather_path(topn->root, topn->output, part, part->pathtarget, NULL, &rows);
}

/* Returns sorts of the rows that are kept, by one process and by several. */
static List *
sorted_paths(TopN *topn, RelOptInfo *input, List *pathkeys)
{
	Path	   *all = input->cheapest_total_path;
	Path	   *paths[2];
	List	   *result = NIL;

	if (all->rows < gpusort_min_rows)
		return NIL;
	topn->ngroups = topn->groups == NIL ? 1 : estimate_num_groups(topn->root, topn->groups, all->rows, NULL, NULL);
	paths[0] = topn_path(topn, all);
	paths[1] = gathered_path(topn, input);
	for (int i = 0; i < 2; i++)
	{
		Path	   *sort;

		if (paths[i] == NULL)
			continue;
		sort = cheap_sort(topn->root, topn->output, paths[i], pathkeys, UNBOUNDED);
		if (sort == NULL)
			sort = (Path *) create_sort_path(topn->root, topn->output, paths[i], pathkeys, -1.0);
		result = lappend(result, sort);
	}
	return result;
}

/* Sets groups and the order within them from the clauses of a query: keys of groups order nothing within one. */
static void
set_order(TopN *topn, List *groups, List *order)
{
	ListCell   *lc;

	foreach(lc, groups)
		topn->groups = lappend(topn->groups, expression_of(topn->root, lfirst(lc)));
	foreach(lc, order)
	{
		if (!list_member(topn->groups, expression_of(topn->root, lfirst(lc))))
			topn->order = lappend(topn->order, lfirst(lc));
	}
	if (topn->order == NIL)
		topn->order = list_make1(linitial(groups != NIL ? groups : order));
}

/* Returns the bound of a window function in a condition, such as 3 of row_number() OVER … <= 3; 0: none. */
static int64
bound_of_condition(const OpExpr *condition, WindowFunc **function)
{
	Node	   *left = linitial(condition->args);
	Node	   *right = lsecond(condition->args);
	Const	   *constant = (Const *) (IsA(left, WindowFunc) ? right : left);
	int64		value;

	*function = (WindowFunc *) (IsA(left, WindowFunc) ? left : right);
	if (!IsA(*function, WindowFunc) || !IsA(constant, Const) || constant->constisnull)
		return 0;
	switch (get_opcode(condition->opno))
	{
		case F_INT8LE:
		case F_INT8GE:
			value = DatumGetInt64(constant->constvalue);
			break;
		case F_INT8LT:
		case F_INT8GT:
			value = DatumGetInt64(constant->constvalue) - 1;
			break;
		case F_INT84LE:
		case F_INT48GE:
			value = DatumGetInt32(constant->constvalue);
			break;
		case F_INT84LT:
		case F_INT48GT:
			value = (int64) DatumGetInt32(constant->constvalue) - 1;
			break;
		default:
			return 0;
	}
	return value >= 1 && value <= MOST_ROWS ? value : 0;
}

/* Takes the bound of a condition above a query if it is one of numbers or ranks and the strictest so far. */
static void
take_condition(TopN *topn, Node *condition)
{
	WindowFunc *function;
	int64		bound = IsA(condition, OpExpr) ? bound_of_condition((OpExpr *) condition, &function) : 0;

	if (bound == 0 || (function->winfnoid != F_ROW_NUMBER && function->winfnoid != F_RANK_) ||
		(topn->rows > 0 && topn->rows < bound))
		return;
	topn->rows = bound;
	topn->ties = function->winfnoid == F_RANK_;
}

/* Returns true if the functions of a query's windows depend on nothing but the rows before a row. */
static bool
functions_look_back(PlannerInfo *root)
{
	List	   *functions = pull_var_clause((Node *) root->processed_tlist, PVC_INCLUDE_AGGREGATES |
											PVC_INCLUDE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS);
	ListCell   *lc;

	foreach(lc, functions)
	{
		const WindowFunc *function = lfirst(lc);

		if (IsA(function, WindowFunc) && function->winfnoid != F_ROW_NUMBER && function->winfnoid != F_RANK_ &&
			function->winfnoid != F_DENSE_RANK_)
			return false;
	}
	return true;
}

/* Returns the window of a path if that is the only one, else NULL. */
static WindowAggPath *
only_window(Path *path)
{
	Path	   *below;

	if (!IsA(path, WindowAggPath))
		return NULL;
	below = ((WindowAggPath *) path)->subpath;
	while (IsA(below, SortPath) || IsA(below, IncrementalSortPath))
		below = ((SortPath *) below)->subpath;
	return IsA(below, WindowAggPath) ? NULL : (WindowAggPath *) path;
}

/*
 * Copies a window over another input, with the rows that the server expects, as paths above are planned for these, and
 * with a cost that wins against other paths if it costs less in truth.
 */
static Path *
copy_window(List *others, const WindowAggPath *window, Path *below)
{
	WindowAggPath *copy = makeNode(WindowAggPath);
	Cost		own = window->path.total_cost - window->subpath->total_cost;

	*copy = *window;
	copy->subpath = below;
	copy->path.startup_cost = below->startup_cost;
	copy->path.total_cost = below->total_cost + own * Min(1, below->rows / window->subpath->rows);
	copy->path.parallel_safe = copy->path.parallel_safe && below->parallel_safe;
	add_disabled_nodes(&copy->path, disabled_nodes(below) - disabled_nodes(&copy->path));
	(void) undercut_windows(&copy->path, copy->path.total_cost + below->rows * WINDOW_ROW_COST, others,
							window->subpath->rows);
	return &copy->path;
}

List *
topn_windows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *window)
{
	TopN		topn = {.root = root, .output = window};
	WindowAggPath *pattern = only_window(linitial(window->pathlist));
	List	   *conditions = window_run_conditions(root);
	List	   *result = NIL;
	ListCell   *lc;

	/* without keys of its own a window takes rows as they come, in an order that the query may need above it */
	if (conditions == NIL || pattern == NULL || pattern->subpath->pathkeys == NIL ||
		(pattern->winclause->partitionClause == NIL && pattern->winclause->orderClause == NIL) ||
		!functions_look_back(root) || contain_volatile_functions((Node *) root->processed_tlist))
		return NIL;
	foreach(lc, conditions)
		take_condition(&topn, lfirst(lc));
	if (topn.rows == 0)
		return NIL;
	set_order(&topn, pattern->winclause->partitionClause, pattern->winclause->orderClause);
	foreach(lc, sorted_paths(&topn, input, pattern->subpath->pathkeys))
		result = lappend(result, copy_window(window->pathlist, pattern, lfirst(lc)));
	return result;
}

List *
topn_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *distinct, List *pathkeys, double rows)
{
	TopN		topn = {.root = root, .output = distinct, .rows = 1};
	List	   *result = NIL;
	ListCell   *lc;

	/* columns are found by their expressions: two of a volatile one may have other values */
	if (!root->parse->hasDistinctOn || contain_volatile_functions((Node *) root->processed_tlist))
		return NIL;
	set_order(&topn, root->parse->distinctClause, root->parse->sortClause);
	foreach(lc, sorted_paths(&topn, input, pathkeys))
		result = lappend(result, create_upper_unique_path(root, distinct, lfirst(lc),
														  list_length(root->distinct_pathkeys), rows));
	return result;
}
