/*
 * plan_shares.c: windows and groups in parallel, where each participant does whole groups.
 *
 *		Gather
 *		  -> WindowAgg
 *		       -> Custom Scan (GpuSort)		Share Key: what all windows partition by
 *		            -> Seq Scan				all of it, in every participant
 *
 * Rows with the same share key are of one participant (sort/shares.h), so the union of what the participants give out is
 * what one process would.  That is what the server calls a partial path: subqueries, joins and aggregates may stand on
 * it, below a Gather or a Gather Merge.
 *
 * Every participant reads the same rows only if the input is a matter of nothing but the snapshot.  The order in which
 * they come may differ, and so must not matter: no LIMIT, no window or aggregate below.
 *
 * Prices.  The server's model takes a WindowAgg for a few comparisons; in truth it costs more than a sort of ours.  So a
 * process alone and several are compared by what they take in truth, and the price of several is that part of the
 * server's price of one.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_class_d.h"
#include "catalog/pg_proc_d.h"
#include "catalog/pg_statistic.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "src/compat.h"
#include "src/guc.h"
#include "plan_paths.h"

/* What a row in a WindowAgg takes beside the server's price, in its units: it goes through a tuplestore. */
#define WINDOW_ROW_COST 0.1

/* What a row takes from a worker to this process: half of what the server takes it for. */
#define TRAVEL_PART 0.5

/* What looking at a row of others takes, in operators. */
#define PASSED_ROW_OPERATORS 1.0

/* A key of so many values for each participant falls into even shares. */
#define VALUES_PER_PARTICIPANT 32

static Plan *plan_share(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses,
						List *plans);
static Node *no_state(CustomScan *scan);

static const CustomPathMethods path_methods = {
	.CustomName = "GpuShare",
	.PlanCustomPath = plan_share,
};

static const CustomScanMethods scan_methods = {
	.CustomName = "GpuShare",
	.CreateCustomScanState = no_state,
};

/* A plan that shares are made like, and what they are made of. */
typedef struct ShareBuild
{
	PlannerInfo *root;
	RelOptInfo *output;
	Path	   *input;			/* that every participant reads */
	List	   *keys;			/* SortGroupClauses */
	int			workers;
	double		divisor;		/* of rows, as the server counts participants */
	double		fraction;		/* of all work that the busiest participant does */
	double		scale;			/* from what is taken in truth to a price */
} ShareBuild;

bool
is_share(const Plan *plan)
{
	return IsA(plan, CustomScan) && ((const CustomScan *) plan)->methods == &scan_methods;
}

List *
share_description(const Plan *plan)
{
	return ((const CustomScan *) plan)->custom_private;
}

/* CreateCustomScanState: the node is gone when a plan is run. */
static Node *
no_state(CustomScan *scan)
{
	elog(ERROR, "a share was planned that no sort does");
	return NULL;
}

/* PlanCustomPath: a node over the planned Sort, which the walk makes one. */
static Plan *
plan_share(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses, List *plans)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan	   *sort = linitial(plans);
	List	   *attnos = NIL;
	List	   *equals = NIL;
	List	   *collations = NIL;
	ListCell   *lc;

	foreach(lc, path->custom_private)
	{
		SortGroupClause *key = lfirst_node(SortGroupClause, lc);
		TargetEntry *entry = get_sortgroupclause_tle(key, sort->targetlist);

		attnos = lappend_int(attnos, entry->resno);
		equals = lappend_oid(equals, key->eqop);
		collations = lappend_oid(collations, exprCollation((Node *) entry->expr));
	}
	scan->scan.plan.targetlist = copyObject(sort->targetlist);
	scan->scan.plan.lefttree = sort;
	scan->custom_scan_tlist = copyObject(sort->targetlist);
	scan->custom_private = list_make3(attnos, equals, collations);
	scan->methods = &scan_methods;
	return (Plan *) scan;
}

/* Does a query give out all rows that its tables have, whatever order these come in? */
static bool
is_plain_query(const Query *query)
{
	return !query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs && query->groupClause == NIL &&
		query->groupingSets == NIL && query->havingQual == NULL && query->distinctClause == NIL &&
		query->limitCount == NULL && query->limitOffset == NULL && query->setOperations == NULL &&
		query->rowMarks == NIL;
}

/* Is a table read alike by all participants? */
static bool
is_same_for_all(const RangeTblEntry *entry)
{
	switch (entry->rtekind)
	{
		case RTE_RELATION:
			return entry->relkind != RELKIND_FOREIGN_TABLE && entry->tablesample == NULL;
		case RTE_SUBQUERY:
			return is_plain_query(entry->subquery);
		case RTE_JOIN:
		case RTE_FUNCTION:
		case RTE_VALUES:
		case RTE_RESULT:
			return true;
		default:
			return false;
	}
}

/* The same of all tables of a query and of subqueries in FROM that are still apart. */
static bool
tables_are_same_for_all(PlannerInfo *root)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RangeTblEntry *entry = root->simple_rte_array[i];
		RelOptInfo *rel = root->simple_rel_array[i];

		/* joins, and subqueries that have been pulled up */
		if (rel == NULL)
			continue;
		/* the members of UNION ALL stand in the array, too */
		if (!(entry->rtekind == RTE_SUBQUERY && entry->inh) && !is_same_for_all(entry))
			return false;
		if (rel->subroot && !tables_are_same_for_all(rel->subroot))
			return false;
	}
	return true;
}

/* Is there a volatile function anywhere, be it that workers could call it? */
static bool
is_volatile(PlannerInfo *root)
{
	ListCell   *lc;

	if (contain_volatile_functions((Node *) root->parse))
		return true;
	foreach(lc, root->glob->subroots)
	{
		if (contain_volatile_functions((Node *) lfirst_node(PlannerInfo, lc)->parse))
			return true;
	}
	return false;
}

/* The cheapest path of a relation that every participant could run in full; NULL if there is none. */
static Path *
path_for_all(const RelOptInfo *rel)
{
	Path	   *best = NULL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (path->parallel_safe && path->param_info == NULL &&
			(best == NULL || path->total_cost < best->total_cost))
			best = path;
	}
	return best;
}

/* Is a window function called that may not run in workers?  Others are replaced by constants. */
static Node *
check_windows(Node *node, void *context)
{
	bool	   *unsafe = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, WindowFunc))
	{
		WindowFunc *window = (WindowFunc *) node;

		*unsafe = *unsafe || func_parallel(window->winfnoid) != PROPARALLEL_SAFE;
		/* its arguments stay to be looked at */
		return (Node *) list_make2(window->args, window->aggfilter);
	}
	return expression_tree_mutator(node, check_windows, context);
}

bool
safe_in_shares(PlannerInfo *root, List *exprs)
{
	bool		unsafe = false;
	Node	   *rest = check_windows((Node *) exprs, &unsafe);

	return !unsafe && is_parallel_safe(root, rest);
}

/* The same of all that a stage of planning computes. */
static bool
output_is_safe(PlannerInfo *root, const RelOptInfo *output)
{
	const Path *path = linitial(output->pathlist);

	return safe_in_shares(root, path->pathtarget->exprs) && safe_in_shares(root, root->parse->windowClause);
}

/*
 * What every participant would read of a relation to sort its share of; NULL if they cannot, or if there are no
 * workers to be had.
 */
static Path *
input_of_shares(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output)
{
	Path	   *path;

	if (!gpusort_parallel_windows || !input->consider_parallel || input->partial_pathlist == NIL ||
		IS_OTHER_REL(output) || !output_is_safe(root, output))
		return NULL;
	path = path_for_all(input);
	if (path == NULL || !sort_is_ours(path->rows, UNBOUNDED, NULL) || !tables_are_same_for_all(root) ||
		is_volatile(root))
		return NULL;
	return path;
}

/* The share of the most common value of an expression, NULL included; 0 if it is not known. */
static double
most_common(PlannerInfo *root, Node *expr)
{
	VariableStatData variable;
	AttStatsSlot slot;
	double		share = 0;

	examine_variable(root, expr, 0, &variable);
	if (HeapTupleIsValid(variable.statsTuple))
	{
		share = ((Form_pg_statistic) GETSTRUCT(variable.statsTuple))->stanullfrac;
		if (get_attstatsslot(&slot, variable.statsTuple, STATISTIC_KIND_MCV, InvalidOid, ATTSTATSSLOT_NUMBERS))
		{
			if (slot.nnumbers > 0)
				share = Max(share, slot.numbers[0]);
			free_attstatsslot(&slot);
		}
	}
	ReleaseVariableStats(variable);
	return share;
}

/* The part of all rows that falls to the busiest participant by keys of so many values. */
static double
busiest(double values, double common, double divisor)
{
	double		even = (1 + 1.2 * sqrt(divisor / Max(values, 1))) / divisor;

	return Min(1, common + (1 - common) * even);
}

/* Has each participant values enough of a key? */
static bool
is_fine(double values, const ShareBuild *build)
{
	return values >= VALUES_PER_PARTICIPANT * (build->workers + 1);
}

/*
 * Chooses the share keys among those that rows of one group have in common: one alone if it makes even shares, because
 * it is hashed sooner and serves more queries above.  False if there are none, or one that cannot be hashed.
 */
static bool
choose_keys(ShareBuild *build, List *keys, List *targets)
{
	double		rows = build->input->rows;
	double		common = 1;
	ListCell   *lc;

	build->fraction = 1;
	foreach(lc, keys)
	{
		SortGroupClause *key = lfirst_node(SortGroupClause, lc);
		Node	   *expr = get_sortgroupclause_expr(key, targets);
		double		values = estimate_num_groups(build->root, list_make1(expr), rows, NULL, NULL);
		double		most = most_common(build->root, expr);
		double		fraction = busiest(values, most, build->divisor);

		if (!key->hashable)
			continue;
		common *= most;
		build->keys = lappend(build->keys, key);
		if (is_fine(values, build) && fraction < build->fraction)
		{
			build->fraction = fraction;
			keys = list_make1(key);
		}
	}
	if (build->keys == NIL)
		return false;
	if (build->fraction < 1)
		build->keys = keys;
	else
		build->fraction = busiest(estimate_num_groups(build->root, get_sortgrouplist_exprs(build->keys, targets), rows,
													  NULL, NULL), common, build->divisor);
	return build->fraction < 1;
}

/* How many participants the server counts. */
static double
divisor_of(int workers)
{
	double		divisor = workers;

	if (parallel_leader_participation)
		divisor += Max(0, 1.0 - 0.3 * workers);
	return divisor;
}

/* Makes a path what a participant does of it, over what it does below. */
static Path *
take_part(const ShareBuild *build, Path *path, const Path *pattern, const Path *below, Cost own)
{
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

/* The sort of a share. */
static Path *
make_share_path(const ShareBuild *build, List *pathkeys)
{
	CustomPath *share = makeNode(CustomPath);
	Path	   *input = build->input;
	SortPath   *sort = create_sort_path(build->root, build->output, input, pathkeys, -1.0);
	Cost		passing = input->rows * PASSED_ROW_OPERATORS * cpu_operator_cost * list_length(build->keys);
	Cost		sorting = sort_price(build->root, input, pathkeys, input->rows * build->fraction);

	share->path.pathtype = T_CustomScan;
	share->path.parent = build->output;
	share->path.pathtarget = sort->path.pathtarget;
	share->path.parallel_aware = true;
	share->path.parallel_safe = true;
	share->path.parallel_workers = build->workers;
	share->path.rows = clamp_row_est(input->rows / build->divisor);
	share->path.total_cost = (input->total_cost + passing + sorting) * build->scale;
	share->path.startup_cost = share->path.total_cost;
	add_disabled_nodes(&share->path, disabled_nodes(input));
	share->custom_paths = list_make1(sort);
	share->custom_private = build->keys;
	share->methods = &path_methods;
	return &share->path;
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
	Path	   *below = windows == 1 ? make_share_path(build, pathkeys) :
		build_windows(build, pattern->subpath, windows - 1, pathkeys);
	WindowAggPath *window = makeNode(WindowAggPath);

	*window = *pattern;
	window->subpath = below;
	return take_part(build, &window->path, &pattern->path, below,
					 own_cost(pattern) + build->input->rows * WINDOW_ROW_COST);
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

/* Those paths of all participants together, and a Gather over them; the rows are those of one process. */
static List *
with_gather(const ShareBuild *build, Path *shares, double rows)
{
	GatherPath *gather = create_gather_path(build->root, build->output, shares, shares->pathtarget, NULL, &rows);

	gather->path.total_cost = shares->total_cost + parallel_setup_cost +
		rows * parallel_tuple_cost * TRAVEL_PART * build->scale;
	return list_make2(shares, gather);
}

List *
share_windows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *window)
{
	ShareBuild	build = {.root = root, .output = window, .input = input_of_shares(root, input, window)};
	List	   *windows = NIL;
	List	   *pathkeys = NIL;
	Path	   *pattern = NULL;
	ListCell   *lc;

	/* groups are another participant's, perhaps */
	if (build.input == NULL || root->parse->hasAggs || root->parse->groupClause || root->parse->groupingSets)
		return NIL;
	foreach(lc, window->pathlist)
	{
		pattern = lfirst(lc);
		windows = windows_of(pattern, &pathkeys);
		if (windows != NIL && pathkeys != NIL && can_sort_by(root, input, pathkeys))
			break;
		windows = NIL;
	}
	if (windows == NIL)
		return NIL;
	build.workers = ((Path *) linitial(input->partial_pathlist))->parallel_workers;
	build.divisor = divisor_of(build.workers);
	if (!choose_keys(&build, common_keys(windows), root->processed_tlist))
		return NIL;
	find_scale(&build, windows, pathkeys);
	return with_gather(&build, build_windows(&build, pattern, list_length(windows), pathkeys), pattern->rows);
}
