/*
 * plan_totals.c: plans pages with totals, "SELECT …, count(*) OVER () FROM … ORDER BY … LIMIT …".  The server stores
 * all rows in a WindowAgg, sorts them and cuts.  A GpuFirst lets them pass to an Agg and keeps the first ones:
 *
 *		Limit							Limit
 *		  -> Custom Scan (GpuTotal)		  -> Custom Scan (GpuTotal)
 *		       -> Aggregate				       -> Finalize Aggregate
 *		            -> GpuFirst			            -> GpuFirst
 *		                 -> any plan	                 -> Gather
 *										                      -> Parallel GpuTotal
 *										                           -> Partial Aggregate
 *										                                -> GpuFirst
 *										                                     -> any partial plan
 *
 * Expressions of the result that are not sorted by are computed in the GpuTotal, of the rows that are given out.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_collation_d.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"

#include "src/base/compat.h"
#include "src/base/costs.h"
#include "src/base/guc.h"
#include "src/core/node.h"
#include "src/core/sorter.h"
#include "src/cost/cores.h"
#include "src/cost/sort_choice.h"
#include "src/cost/undercut.h"
#include "src/nodes/plan_nodes.h"
#include "first_node.h"
#include "plan_totals.h"
#include "total_node.h"
#include "total_rules.h"

/* What a page with totals is planned of. */
typedef struct Totals
{
	PlannerInfo *root;
	PlannerInfo aggregating;	/* a copy that knows of the totals as aggregates, and of no others */
	RelOptInfo *ordered;
	RelOptInfo *input;			/* of the windows */
	PathTarget *result;			/* of the windows */
	PathTarget *kept;			/* the columns of rows, the input's and those to sort by */
	List	   *functions;		/* WindowFuncs, and the aggregates in their place */
	List	   *aggregates;
	double		bound;			/* rows that are kept */
} Totals;

static Plan *plan_first(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses,
						List *plans);
static Plan *plan_total(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses,
						List *plans);

static const CustomPathMethods first_path_methods = {
	.CustomName = GPUFIRST_NODE_NAME,
	.PlanCustomPath = plan_first,
};

static const CustomPathMethods total_path_methods = {
	.CustomName = GPUTOTAL_NODE_NAME,
	.PlanCustomPath = plan_total,
};

/* PlanCustomPath of a GpuFirst.  The path's custom_private is the number of columns in front of states, or NIL. */
static Plan *
plan_first(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses, List *plans)
{
	CustomScan *scan = make_scan_over(targets, copyObject(targets), linitial(plans), &gpufirst_scan_methods);

	scan->custom_private = gpusort_write_order(root, root->parse->sortClause, targets);
	if (path->custom_private != NIL)
		make_variant(scan, FIRST_COMBINES, path->custom_private);
	return &scan->scan.plan;
}

/* PlanCustomPath of a GpuTotal.  The path's custom_private is the expressions of rows and those of totals. */
static Plan *
plan_total(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses, List *plans)
{
	List	   *columns = NIL;
	CustomScan *scan;
	ListCell   *lc;

	foreach(lc, path->custom_private)
		columns = lappend(columns, makeTargetEntry(copyObject(lfirst(lc)),
												   (AttrNumber) (foreach_current_index(lc) + 1), NULL, false));
	scan = make_scan_over(targets, columns, linitial(plans), &gputotal_scan_methods);
	scan->flags = path->flags;
	return &scan->scan.plan;
}

void
show_totals(CustomScan *scan)
{
	ListCell   *lc;

	if (scan->methods != &gputotal_scan_methods)
		return;
	foreach(lc, scan->custom_scan_tlist)
	{
		TargetEntry *column = lfirst_node(TargetEntry, lc);

		if (IsA(column->expr, WindowFunc))
			column->expr = (Expr *) aggregate_of_window((WindowFunc *) column->expr);
	}
}

/* Returns the path below the windows of a path, or NULL if there are none. */
static Path *
path_below_windows(Path *path)
{
	Path	   *below = NULL;

	while (path != NULL)
	{
		if (IsA(path, WindowAggPath))
			path = below = ((WindowAggPath *) path)->subpath;
		else
			path = IsA(path, ProjectionPath) ? ((ProjectionPath *) path)->subpath : NULL;
	}
	return below;
}

/* Adds the expressions to sort by to the columns of rows; false if one cannot be computed below the aggregates. */
static bool
add_sort_keys(Totals *totals)
{
	PlannerInfo *root = totals->root;
	ListCell   *lc;

	foreach(lc, root->parse->sortClause)
	{
		Expr	   *key = (Expr *) get_sortgroupclause_expr(lfirst_node(SortGroupClause, lc), root->processed_tlist);

		if (contain_window_function((Node *) key))
			return false;
		if (!list_member(totals->kept->exprs, key))
			add_column_to_pathtarget(totals->kept, key, 0);
	}
	set_pathtarget_cost_width(root, totals->kept);
	return true;
}

/* Returns the number of first rows that are kept if they are few, else 0. */
static double
rows_to_keep(const Query *query, const Path *input)
{
	SortBound	bound = bound_of_limit(query->limitCount, query->limitOffset, query->limitOption);

	if (bound.kind == BOUND_AT_RUN_TIME)
		return Min(PAGE_ROWS, input->rows);
	if (bound.kind == BOUND_NONE || bound.rows < 1 || !bound_is_small(bound.rows, input->rows) ||
		bound.rows * (input->pathtarget->width + MAXALIGN(SizeofMinimalTupleHeader)) > work_mem * 1024.0)
		return 0;
	return bound.rows;
}

/* Returns true if a query is one whose windows may be totals. */
static bool
query_allows(PlannerInfo *root)
{
	const Query *query = root->parse;

	return query->hasWindowFuncs && query->setOperations == NULL && query->distinctClause == NIL &&
		query->groupingSets == NIL && query->rowMarks == NIL && root->sort_pathkeys != NIL;
}

/*
 * Makes the aggregate of a window function, equal to none of the groups below, of which setrefs.c would have it be the
 * column: count(*) OVER () counts groups, count(*) their rows.  Nothing reads the collation that tells them apart.
 */
static Aggref *
total_of(const WindowFunc *function)
{
	Aggref	   *total = aggregate_of_window(function);

	total->aggcollid = OidIsValid(total->aggcollid) ? InvalidOid : DEFAULT_COLLATION_OID;
	return total;
}

/* Turns the window functions of the result into aggregates, which a copy of the planner's data knows. */
static void
find_aggregates(Totals *totals)
{
	ListCell   *lc;

	foreach(lc, totals->functions)
		totals->aggregates = lappend(totals->aggregates, total_of(lfirst(lc)));
	totals->aggregating = *totals->root;
	totals->aggregating.agginfos = totals->aggregating.aggtransinfos = NIL;
	totals->aggregating.numOrderedAggs = 0;
	totals->aggregating.hasNonPartialAggs = totals->aggregating.hasNonSerialAggs = false;
	preprocess_aggrefs(&totals->aggregating, (Node *) totals->aggregates);
}

/* Looks whether a query asks for a page with totals, and of what. */
static bool
find_totals(Totals *totals, PlannerInfo *root, const RelOptInfo *windows, RelOptInfo *ordered)
{
	Path	   *path = linitial(windows->pathlist);
	Path	   *input = path_below_windows(path);

	if (input == NULL || input->rows < gpusort_min_rows)
		return false;
	memset(totals, 0, sizeof(Totals));
	totals->root = root;
	totals->ordered = ordered;
	totals->input = input->parent;
	totals->result = path->pathtarget;
	totals->kept = copy_pathtarget(input->pathtarget);
	totals->functions = pull_var_clause((Node *) totals->result->exprs, PVC_INCLUDE_AGGREGATES |
										PVC_INCLUDE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS);
	for (int i = list_length(totals->functions) - 1; i >= 0; i--)
		if (!IsA(list_nth(totals->functions, i), WindowFunc))
			totals->functions = list_delete_nth_cell(totals->functions, i);
	if (totals->functions == NIL || !windows_are_totals(root, totals->functions) ||
		contain_volatile_functions((Node *) totals->result->exprs) || !add_sort_keys(totals))
		return false;
	totals->bound = rows_to_keep(root->parse, input);
	if (totals->bound > 0)
		find_aggregates(totals);
	return totals->bound > 0;
}

/* Makes a path of a CustomScan over another path, with its costs. */
static CustomPath *
make_path(const Totals *totals, Path *below, PathTarget *target, const CustomPathMethods *methods)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = totals->ordered;
	path->path.pathtarget = target;
	path->path.parallel_safe = below->parallel_safe;
	path->path.parallel_workers = below->parallel_workers;
	path->path.rows = below->rows;
	path->path.startup_cost = below->startup_cost;
	path->path.total_cost = below->total_cost;
	add_disabled_nodes(&path->path, disabled_nodes(below));
	path->custom_paths = list_make1(below);
	path->methods = methods;
	return path;
}

/* Makes a GpuFirst.  A row is compared with the last one that is kept, and few enter. */
static Path *
first_path(const Totals *totals, Path *below, List *details)
{
	CustomPath *first = make_path(totals, below, below->pathtarget, &first_path_methods);

	first->path.total_cost += below->rows * 2 * cpu_operator_cost;
	first->custom_private = details;
	return &first->path;
}

/* Makes an Agg of all rows of a GpuFirst. */
static Path *
aggregate_path(Totals *totals, Path *below, List *aggregates, AggSplit split)
{
	PathTarget *target = create_empty_pathtarget();
	AggClauseCosts costs = {0};
	Path	   *path;
	ListCell   *lc;

	foreach(lc, aggregates)
		add_column_to_pathtarget(target, lfirst(lc), 0);
	set_pathtarget_cost_width(totals->root, target);
	get_agg_clause_costs(&totals->aggregating, split, &costs);
	path = (Path *) create_agg_path(totals->root, totals->ordered, below, target, AGG_PLAIN, split, NIL, NIL, &costs,
									1);
	path->parallel_safe = below->parallel_safe;
	return path;
}

/* Makes a GpuTotal over the aggregates of this many rows, of which some are kept. */
static CustomPath *
total_path(const Totals *totals, Path *below, PathTarget *target, List *columns, double rows)
{
	CustomPath *total = make_path(totals, below, target, &total_path_methods);
	Path	   *path = &total->path;

	path->rows = clamp_row_est(rows);
	path->startup_cost = below->total_cost + target->cost.startup +
		totals->bound * 2 * cpu_operator_cost * log2(totals->bound + 1);
	path->total_cost = path->startup_cost + path->rows * (cpu_tuple_cost + target->cost.per_tuple);
	total->custom_private = columns;
	return total;
}

/* Makes the GpuTotal below the Limit, over the rows and aggregates of this process or of a Gather. */
static Path *
top_path(Totals *totals, Path *below, AggSplit split, List *details)
{
	Path	   *aggregates = aggregate_path(totals, first_path(totals, below, details), totals->aggregates, split);
	List	   *columns = list_concat_copy(totals->kept->exprs, totals->functions);
	CustomPath *total = total_path(totals, aggregates, totals->result, columns,
								   totals->input->cheapest_total_path->rows);

	total->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	total->path.pathkeys = totals->root->sort_pathkeys;
	return &total->path;
}

/* Returns true if participants can compute partial aggregates, and all of them make what one process makes. */
static bool
can_be_divided(const Totals *totals)
{
	const RelOptInfo *input = totals->input;
	ListCell   *lc;

	if (!gpusort_parallel_windows || !input->consider_parallel || input->partial_pathlist == NIL ||
		totals->aggregating.hasNonPartialAggs || totals->aggregating.hasNonSerialAggs ||
		!is_parallel_safe(totals->root, (Node *) totals->kept->exprs) ||
		!is_parallel_safe(totals->root, (Node *) totals->aggregates))
		return false;
	foreach(lc, totals->aggregates)
	{
		if (!total_ignores_order(lfirst_node(Aggref, lc)))
			return false;
	}
	return workers_at_once(((Path *) linitial(input->partial_pathlist))->parallel_workers) > 0;
}

/* Makes what a participant returns: its first rows, the states of its aggregates with one of them. */
static Path *
participant_path(Totals *totals)
{
	Path	   *input = linitial(totals->input->partial_pathlist);
	PathTarget *target = copy_pathtarget(totals->kept);
	List	   *states = NIL;
	CustomPath *total;
	ListCell   *lc;

	foreach(lc, totals->aggregates)
	{
		Aggref	   *state = copyObject(lfirst_node(Aggref, lc));

		mark_partial_aggref(state, AGGSPLIT_INITIAL_SERIAL);
		states = lappend(states, state);
		add_column_to_pathtarget(target, (Expr *) state, 0);
	}
	set_pathtarget_cost_width(totals->root, target);
	input = (Path *) create_projection_path(totals->root, totals->input, input, totals->kept);
	input->parallel_safe = true;
	input = aggregate_path(totals, first_path(totals, input, NIL), states, AGGSPLIT_INITIAL_SERIAL);
	total = total_path(totals, input, target, target->exprs, totals->bound);
	/* which gives it shared memory, for the bound */
	total->path.parallel_aware = true;
	total->path.parallel_workers = ((Path *) linitial(totals->input->partial_pathlist))->parallel_workers;
	return &total->path;
}

/* Makes the path that participants share. */
static Path *
divided_path(Totals *totals)
{
	Path	   *part = participant_path(totals);
	double		rows = totals->bound * (part->parallel_workers + 1);
	GatherPath *gather = create_gather_path(totals->root, totals->ordered, part, part->pathtarget, NULL, &rows);

	return top_path(totals, &gather->path, AGGSPLIT_FINAL_DESERIAL,
					list_make1_int(list_length(totals->kept->exprs)));
}

/* Lets a path win against those over windows if it costs less in truth; returns false if it does not. */
static bool
undercut_ordered(const Totals *totals, Path *path)
{
	ListCell   *lc;

	if (!undercut_windows(path, path->total_cost, totals->ordered->pathlist, totals->input->cheapest_total_path->rows))
		return false;
	/* all of theirs need all rows before the first one, too */
	foreach(lc, totals->ordered->pathlist)
		path->startup_cost = Min(path->startup_cost, ((Path *) lfirst(lc))->startup_cost / FUZZ);
	return true;
}

Path *
page_path(PlannerInfo *root, const RelOptInfo *windows, RelOptInfo *ordered)
{
	Totals		totals;
	Path	   *input;
	List	   *paths;
	Path	   *best;

	if (!query_allows(root) || !find_totals(&totals, root, windows, ordered))
		return NULL;
	input = (Path *) create_projection_path(root, totals.input, totals.input->cheapest_total_path, totals.kept);
	paths = list_make1(top_path(&totals, input, AGGSPLIT_SIMPLE, NIL));
	if (can_be_divided(&totals))
		paths = lappend(paths, divided_path(&totals));
	best = cheapest(paths);
	return undercut_ordered(&totals, best) ? best : NULL;
}
