/*
 * plan_shares.c: windows and groups in several processes, where each participant does whole groups.
 *
 *		Gather
 *		  -> WindowAgg
 *		       -> Custom Scan (GpuSort)		Share Key: what all windows partition by
 *		            -> Seq Scan				all of it, in every participant
 *
 * Rows with the same share key are of one participant (shares/shares.h), so the union of what the participants give out
 * is what one process would.  That is what the server calls a partial path: subqueries, joins and aggregates may stand
 * on it, below a Gather or a Gather Merge.  Who may read what, and by which keys, is in plan_share_rules.c.
 *
 * Prices.  The server's model takes a WindowAgg for a few comparisons; in truth it costs more than a sort of ours.  So
 * a process alone and several are compared by what they take in truth, and the price of several is that part of the
 * server's price of one.
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
#include "src/base/guc.h"
#include "src/cost/cores.h"
#include "src/cost/path_copies.h"
#include "src/cost/sort_cost.h"
#include "plan_share_node.h"
#include "plan_share_rules.h"
#include "plan_shares.h"

/* What a row in a WindowAgg takes beside the server's price, in its units: it goes through a tuplestore. */
#define WINDOW_ROW_COST 0.1

/* What a row takes in an aggregate that sorts its input itself, beside comparisons: the server knows nothing of it. */
#define AGGREGATE_SORT_ROW_COST 0.05

/* What a group takes at its end in an aggregate of ours beside its price: 0.5 to 2 microseconds for 20 values. */
#define AGGREGATE_GROUP_COST 0.35

/* What a row alone takes from a worker to this process: half of what the server takes it for. */
#define TRAVEL_PART 0.5

/* Makes a path what a participant does of it, over what it does below. */
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
	/* a participant may claim more than one share, one sorted after the other */
	path->pathkeys = NIL;
	return path;
}

/*
 * Begins with groups by these keys that are whole in each participant already, or with an input that all of them read.
 */
static bool
begin_shares(ShareBuild *build, PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, List *keys)
{
	return share_begin_shared(build, root, input, output, keys) ||
		(share_begin(build, root, input, output) && share_choose_keys(build, keys));
}

/* A participant's rows in an order, of which the path knows nothing. */
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

/* What is below a path of the kinds that are made anew for participants, else NULL. */
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

/* Appends the windows of a path, lowest last, and finds the order below the lowest. */
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

/* The keys that all windows partition by. */
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

/* What a window costs the server's model, without what is below it. */
static Cost
own_cost(const WindowAggPath *window)
{
	return window->path.total_cost - window->subpath->total_cost;
}

/* Finds how a price in the server's model compares with what is taken in truth. */
static void
find_scale(ShareBuild *build, List *windows, List *pathkeys)
{
	Cost		price = build->input->total_cost + sort_price(build->root, build->input, pathkeys, build->input->rows);
	Cost		truth;
	ListCell   *lc;

	foreach(lc, windows)
		price += own_cost(lfirst(lc));
	truth = price + list_length(windows) * build->input->rows * WINDOW_ROW_COST;
	build->scale = price / truth;
}

static Path *build_windows(const ShareBuild *build, Path *pattern, int windows, List *pathkeys);

/* A window for a participant's share. */
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

/* The same of a path with so many windows, and of sorts between them. */
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

/* What a row takes on its way to this process: in a block, if there are many. */
static Cost
travel_cost(const Path *path, double rows)
{
	if (gpusort_parallel_blocks && rows >= gpusort_min_rows)
		return blocks_price(rows, path->pathtarget->width);
	return rows * parallel_tuple_cost * TRAVEL_PART;
}

/* Those paths of all participants together, and a Gather over them; the rows are those of one process. */
static List *
with_gather(const ShareBuild *build, Path *shares, double rows)
{
	GatherPath *gather = create_gather_path(build->root, build->output, shares, shares->pathtarget, NULL, &rows);

	gather->path.total_cost = shares->total_cost + parallel_setup_cost + travel_cost(shares, rows) * build->scale;
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

	/* groups are another participant's, perhaps */
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
	if (windows == NIL || !begin_shares(&build, root, input, window, common_keys(windows)))
		return NIL;
	if (build.shared == NULL)
		find_scale(&build, windows, pathkeys);
	return with_gather(&build, build_windows(&build, pattern, list_length(windows), pathkeys), pattern->rows);
}

/* A path made to be of participants, without an order of its own, whatever the node below goes by. */
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

	/* of windows and groups, the server's own way is to do it in workers first, and then again */
	if (query->hasAggs || query->groupClause || query->groupingSets || query->hasWindowFuncs ||
		!begin_shares(&build, root, input, distinct, query->distinctClause))
		return NIL;
	share = sort_share(&build, pathkeys);
	/* Unique finds its columns by the order of its input */
	share->pathkeys = pathkeys;
	return with_gather(&build, without_order(&build, (Path *)
											 create_upper_unique_path(root, distinct, share,
																	  list_length(root->distinct_pathkeys), rows)),
					   rows);
}

/* What aggregates take in truth that sort their input themselves or are ours, which the server's price leaves out. */
static Cost
unpriced_of_aggregates(const ShareBuild *build, const Grouping *grouping)
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

	if (!grouped->consider_parallel || !begin_shares(&build, root, input, grouped, grouping->clause))
		return NIL;
	sort = cheap_sort(root, grouped, build.input, root->group_pathkeys, UNBOUNDED);
	if (sort == NULL)
		return NIL;
	pattern = create_agg_path(root, grouped, sort, grouping->target, AGG_SORTED, AGGSPLIT_SIMPLE, grouping->clause,
							  grouping->qual, costs, grouping->groups);
	unknown = build.shared ? 0 : unpriced_of_aggregates(&build, grouping);
	own = pattern->path.total_cost - sort->total_cost + unknown;
	build.scale = pattern->path.total_cost / (pattern->path.total_cost + unknown);
	share = sort_share(&build, root->group_pathkeys);
	part = makeNode(AggPath);
	*part = *pattern;
	part->subpath = share;
	part->numGroups = clamp_row_est(grouping->groups / build.divisor);
	return with_gather(&build, take_part(&build, &part->path, &pattern->path, share, own), pattern->path.rows);
}
