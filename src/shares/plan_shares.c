/*
 * plan_shares.c: plans windows and groups in shares: each participant computes whole groups.
 *
 * The server calls the result a partial path: subqueries, joins and aggregates may be above it, below a Gather or a
 * Gather Merge.  plan_share_rules.c tells which inputs can be read, and by which keys they are divided.
 *
 * The server charges a WindowAgg a few comparisons, but it takes longer than a sort by gpusort.  Therefore a single
 * process and shares are compared by their actual cost, and shares cost the server's single process in that proportion.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"

#include "src/base/compat.h"
#include "src/base/costs.h"
#include "src/base/guc.h"
#include "src/cost/cores.h"
#include "src/cost/path_copies.h"
#include "src/cost/sort_cost.h"
#include "plan_share_node.h"
#include "plan_share_rules.h"
#include "plan_shares.h"

/* Turns a path into a participant's, over the participant's path below. */
static Path *
take_part(const ShareBuild *build, Path *path, const Path *pattern, const Path *below, Cost own)
{
	add_disabled_nodes(path, disabled_nodes(below) - disabled_nodes(path));
	path->startup_cost = below->startup_cost;
	path->total_cost = below->total_cost + own * build->fraction * build->scale;
	path->rows = clamp_row_est(pattern->rows / build->divisor);
	path->parallel_aware = false;
	path->parallel_safe = true;
	path->parallel_workers = build->workers;
	/* a participant may sort several shares one after another, so its rows have no order */
	path->pathkeys = NIL;
	return path;
}

/* Begins with an input that is divided into shares by these keys already, or with one that all participants read. */
static bool
begin_shares(ShareBuild *build, PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, List *keys,
			 const List *pathkeys)
{
	return share_begin_shared(build, root, input, output, keys) ||
		(share_begin(build, root, input, output, pathkeys) && share_choose_keys(build, keys));
}

/* Sorts a participant's rows.  The path does not claim an order. */
static Path *
sort_share(const ShareBuild *build, List *pathkeys)
{
	Path	   *sort;

	if (build->shared == NULL)
		return make_share_path(build, pathkeys);
	sort = cheap_sort(build->root, build->output, build->shared, pathkeys, UNBOUNDED);
	if (sort == NULL)
		sort = (Path *) create_sort_path(build->root, build->output, build->shared, pathkeys, -1.0);
	sort->parallel_safe = true;
	return sort;
}

/* Returns the input of a path that participants can copy, or NULL for other paths. */
static Path *
path_below(Path *path)
{
	switch (nodeTag(path))
	{
		case T_WindowAggPath:
			return ((WindowAggPath *) path)->subpath;
		case T_ProjectionPath:
			return ((ProjectionPath *) path)->subpath;
		case T_SortPath:
		case T_IncrementalSortPath:
			return ((SortPath *) path)->subpath;
		case T_GatherMergePath:
			return ((GatherMergePath *) path)->subpath;
		default:
			return NULL;
	}
}

/* Appends the windows of a path, lowest last, and returns the order below the lowest in *pathkeys. */
static List *
windows_of(Path *path, List **pathkeys)
{
	List	   *windows = NIL;

	for (; path != NULL; path = path_below(path))
	{
		if (IsA(path, WindowAggPath))
		{
			windows = lappend(windows, path);
			*pathkeys = ((WindowAggPath *) path)->subpath->pathkeys;
		}
	}
	return windows;
}

/* Returns the keys by which all windows partition. */
static List *
common_keys(List *windows)
{
	List	   *result = NIL;
	ListCell   *lc;
	ListCell   *cell;

	foreach(lc, ((WindowAggPath *) linitial(windows))->winclause->partitionClause)
	{
		SortGroupClause *key = lfirst_node(SortGroupClause, lc);
		bool		everywhere = true;

		foreach(cell, windows)
		{
			WindowClause *window = ((WindowAggPath *) lfirst(cell))->winclause;

			everywhere = everywhere && get_sortgroupref_clause_noerr(key->tleSortGroupRef, window->partitionClause);
		}
		if (everywhere)
			result = lappend(result, key);
	}
	return result;
}

/* Returns the server's cost of a window without its input. */
static Cost
own_cost(const WindowAggPath *window)
{
	return window->path.total_cost - window->subpath->total_cost;
}

/* Sets the factor from actual cost to the server's cost. */
static void
find_scale(ShareBuild *build, List *windows, List *pathkeys)
{
	Cost		cost = build->input->total_cost + sort_cost_of(build->root, build->input, pathkeys, build->input->rows);
	Cost		truth;
	ListCell   *lc;

	foreach(lc, windows)
		cost += own_cost(lfirst(lc));
	truth = cost + list_length(windows) * build->input->rows * WINDOW_ROW_COST;
	build->scale = cost / truth;
}

static Path *build_windows(const ShareBuild *build, Path *pattern, int windows, List *pathkeys);

/* Builds a WindowAgg for a participant's share. */
static Path *
build_window(const ShareBuild *build, WindowAggPath *pattern, int windows, List *pathkeys)
{
	Path	   *below = windows == 1 ? sort_share(build, pathkeys) :
		build_windows(build, pattern->subpath, windows - 1, pathkeys);
	WindowAggPath *window = makeNode(WindowAggPath);

	*window = *pattern;
	window->subpath = below;
	return take_part(build, &window->path, &pattern->path, below,
					 own_cost(pattern) + (build->shared ? 0 : build->input->rows * WINDOW_ROW_COST));
}

/* Builds a path with this many windows for a participant's share, including the nodes between them. */
static Path *
build_windows(const ShareBuild *build, Path *pattern, int windows, List *pathkeys)
{
	Path	   *below;
	Path	   *sort;
	ProjectionPath *projection;

	if (IsA(pattern, WindowAggPath))
		return build_window(build, (WindowAggPath *) pattern, windows, pathkeys);
	below = build_windows(build, path_below(pattern), windows, pathkeys);
	if (IsA(pattern, ProjectionPath))
	{
		projection = makeNode(ProjectionPath);
		*projection = *(ProjectionPath *) pattern;
		projection->subpath = below;
		return take_part(build, &projection->path, pattern, below,
						 pattern->total_cost - path_below(pattern)->total_cost);
	}
	sort = cheap_sort(build->root, build->output, below, pattern->pathkeys, UNBOUNDED);
	if (sort == NULL)
		sort = (Path *) create_sort_path(build->root, build->output, below, pattern->pathkeys, -1.0);
	sort->pathkeys = pattern->pathkeys;
	return sort;
}

/* Returns the cost of sending rows to this process, in blocks if there are many. */
static Cost
sending_cost(const Path *path, double rows)
{
	if (gpusort_parallel_blocks && rows >= gpusort_min_rows)
		return blocks_cost(rows, path->pathtarget->width);
	return rows * parallel_tuple_cost * SINGLE_ROW_COST;
}

/* Returns the partial path and a Gather over it, which returns this many rows. */
static List *
with_gather(const ShareBuild *build, Path *shares, double rows)
{
	GatherPath *gather = create_gather_path(build->root, build->output, shares, shares->pathtarget, NULL, &rows);

	gather->path.total_cost = shares->total_cost + parallel_setup_cost + sending_cost(shares, rows) * build->scale;
	return list_make2(shares, gather);
}

List *
share_windows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *window)
{
	ShareBuild	build;
	List	   *windows = NIL;
	List	   *pathkeys = NIL;
	Path	   *pattern = NULL;
	ListCell   *lc;

	/* one group's rows may be spread over participants below */
	if (root->parse->hasAggs || root->parse->groupClause || root->parse->groupingSets)
		return NIL;
	foreach(lc, window->pathlist)
	{
		pattern = lfirst(lc);
		windows = windows_of(pattern, &pathkeys);
		if (windows != NIL && pathkeys != NIL && can_sort_by(root, input, pathkeys))
			break;
		windows = NIL;
	}
	if (windows == NIL || !begin_shares(&build, root, input, window, common_keys(windows), pathkeys))
		return NIL;
	if (build.shared == NULL)
		find_scale(&build, windows, pathkeys);
	return with_gather(&build, build_windows(&build, pattern, list_length(windows), pathkeys), pattern->rows);
}

/* Wraps a participant's path in a projection that does not claim an order, which the node below relies on. */
static Path *
without_order(const ShareBuild *build, Path *path)
{
	ProjectionPath *result = create_projection_path(build->root, build->output, path, path->pathtarget);

	path->rows = clamp_row_est(path->rows / build->divisor);
	path->parallel_safe = true;
	result->path.rows = path->rows;
	result->path.parallel_safe = true;
	result->path.pathkeys = NIL;
	return &result->path;
}

List *
share_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *distinct, List *pathkeys, double rows)
{
	Query	   *query = root->parse;
	ShareBuild	build;
	Path	   *share;

	/* above windows and groups, the server computes DISTINCT in workers first, and then again */
	if (query->hasAggs || query->groupClause || query->groupingSets || query->hasWindowFuncs ||
		!begin_shares(&build, root, input, distinct, query->distinctClause, pathkeys))
		return NIL;
	share = sort_share(&build, pathkeys);
	/* Unique derives its columns from the order of its input */
	share->pathkeys = pathkeys;
	return with_gather(&build, without_order(&build, (Path *)
											 create_upper_unique_path(root, distinct, share,
																	  list_length(root->distinct_pathkeys), rows)),
					   rows);
}

/* Returns the cost of aggregates that sort their input themselves or are gpusort's, beyond that of the model. */
static Cost
omitted_aggregates_cost(const ShareBuild *build, const Grouping *grouping)
{
	int			n = list_length(sorting_aggregates(grouping->target->exprs));
	double		rows = build->input->rows;
	Cost		row = 2 * cpu_operator_cost * log2(Max(rows / grouping->groups, 2)) + AGGREGATE_SORT_ROW_COST;

	return n * rows * row + grouping->ours * grouping->groups * AGGREGATE_GROUP_COST;
}

List *
share_groups(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped, const Grouping *grouping,
			 const AggClauseCosts *costs)
{
	ShareBuild	build;
	Path	   *sort;
	Path	   *share;
	AggPath    *pattern;
	AggPath    *part;
	Cost		unknown;
	Cost		own;

	if (!grouped->consider_parallel ||
		!begin_shares(&build, root, input, grouped, grouping->clause, root->group_pathkeys))
		return NIL;
	sort = cheap_sort(root, grouped, build.input, root->group_pathkeys, UNBOUNDED);
	if (sort == NULL)
		return NIL;
	pattern = create_agg_path(root, grouped, sort, grouping->target, AGG_SORTED, AGGSPLIT_SIMPLE, grouping->clause,
							  grouping->qual, costs, grouping->groups);
	unknown = build.shared ? 0 : omitted_aggregates_cost(&build, grouping);
	own = pattern->path.total_cost - sort->total_cost + unknown;
	build.scale = pattern->path.total_cost / (pattern->path.total_cost + unknown);
	share = sort_share(&build, root->group_pathkeys);
	part = makeNode(AggPath);
	*part = *pattern;
	part->subpath = share;
	part->numGroups = clamp_row_est(grouping->groups / build.divisor);
	return with_gather(&build, take_part(&build, &part->path, &pattern->path, share, own), pattern->path.rows);
}
