/*
 * plan_paths.c: offers paths over gpusort's sorts to the planner.
 *
 * The cost of the server's own sorts cannot be changed, so create_upper_paths_hook adds cheaper SortPaths beside them.
 * These are ordinary SortPaths; the walk in plan.c replaces the Sorts they become.  Sorts that merge joins create are
 * replaced, too, but do not influence the choice of the join.
 *
 * Each stage is offered sorts of its cheapest input, in this process and in workers, and copies of the server's paths
 * over cheaper sorts (cost/path_copies.c).  cost/sort_cost.c has the costs.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"

#include "src/aggregates/plan_aggregates.h"
#include "src/aggregates/plan_presort.h"
#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/columns/plan_columns.h"
#include "src/columns/plan_columns_rows.h"
#include "src/cost/cores.h"
#include "src/cost/path_copies.h"
#include "src/cost/sort_cost.h"
#include "src/cost/undercut.h"
#include "src/shares/plan_share_rules.h"
#include "src/shares/plan_shares.h"
#include "src/topn/plan_topn.h"
#include "src/totals/plan_totals.h"
#include "plan_paths.h"

static create_upper_paths_hook_type prev_upper_paths;
static set_rel_pathlist_hook_type prev_rel_pathlist;

/*
 * Returns true if a path is at least as good as another in every way, given the order that is needed.  The startup cost
 * may not matter.
 */
static bool
is_as_good(const Path *path, const Path *other, List *order, bool startup_counts)
{
	int			disabled = disabled_nodes(path) - disabled_nodes(other);

	if (disabled > 0 || path->rows > other->rows || path->parallel_safe < other->parallel_safe ||
		!pathkeys_contained_in(order, path->pathkeys))
		return false;
	return disabled < 0 || (path->total_cost <= other->total_cost &&
							(!startup_counts || path->startup_cost <= other->startup_cost));
}

/* Returns the number of leading pathkeys that a wanted order uses. */
static int
useful_keys(List *wanted, List *pathkeys)
{
	int			common;

	pathkeys_count_contained_in(wanted, pathkeys, &common);
	return common;
}

/* Returns the prefix of an order that later stages of the query use. */
static List *
useful_order(PlannerInfo *root, UpperRelationKind stage, List *pathkeys)
{
	int			useful = useful_keys(root->sort_pathkeys, pathkeys);

	if (stage != UPPERREL_DISTINCT)
		useful = Max(useful, useful_keys(root->distinct_pathkeys, pathkeys));
	if (stage == UPPERREL_GROUP_AGG)
		useful = Max(useful, useful_keys(root->window_pathkeys, pathkeys));
	return list_copy_head(pathkeys, useful);
}

/*
 * Returns true if parallel workers may do more above a query, such as a join or a filter by its rows.  That is
 * impossible if the outer queries read only subqueries that were not pulled up.
 */
static bool
may_be_needed_in_workers(PlannerInfo *root)
{
	for (PlannerInfo *outer = root->parent_root; outer != NULL; outer = outer->parent_root)
	{
		ListCell   *lc;

		if (outer->parse->hasSubLinks || outer->parse->cteList || outer->parse->setOperations)
			return true;
		foreach(lc, outer->parse->rtable)
		{
			RangeTblEntry *entry = lfirst(lc);

			if (entry->rtekind != RTE_JOIN && (entry->rtekind != RTE_SUBQUERY || entry->inh))
				return true;
		}
	}
	return false;
}

/* Returns true if one of the paths is parallel safe. */
static bool
has_parallel_safe(List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		if (((Path *) lfirst(lc))->parallel_safe)
			return true;
	}
	return false;
}

/*
 * Adds a path to a list sorted by cost, as add_path does, but drops only paths that it dominates in every way.
 * add_path also drops paths that cost up to 1 % less, for a better order.  If gpusort's path were then dropped in turn
 * for one that costs more, a cheaper plan that PostgreSQL finds without gpusort would be lost.
 *
 * A more expensive path with an order that the query does not need is not added beside a cheaper one, since a later
 * stage's add_path might prefer it.  A subquery keeps both if their costs differ by more than FUZZ, since the outer
 * query may need the order; with closer costs it would see only one of the two.
 *
 * A path that is not parallel safe is not added beside a parallel-safe one that an outer query may need.  The planner
 * ignores a join's partial paths while it has cheaper others, although they might win in the end.
 */
static void
offer_path(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *rel, List **paths, Path *path)
{
	List	   *order = useful_order(root, stage, path->pathkeys);
	int			place = 0;
	ListCell   *lc;

	if (!path->parallel_safe && has_parallel_safe(*paths) && may_be_needed_in_workers(root))
		return;
	foreach(lc, *paths)
	{
		Path	   *other = lfirst(lc);
		bool		order_may_pass = root->parent_root && path->total_cost > other->total_cost * FUZZ;

		if (is_as_good(other, path, order_may_pass ? path->pathkeys : order, rel->consider_startup))
			return;
	}
	foreach(lc, *paths)
	{
		Path	   *other = lfirst(lc);
		int			disabled = disabled_nodes(other) - disabled_nodes(path);

		if (is_as_good(path, other, other->pathkeys, true))
			*paths = foreach_delete_current(*paths, lc);
		else if (disabled < 0 || (disabled == 0 && other->total_cost <= path->total_cost))
			place++;
	}
	*paths = list_insert_nth(*paths, place, path);
}

/* Offers a list of paths to a stage. */
static void
offer_all(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *rel, List **list, List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
		offer_path(root, stage, rel, list, lfirst(lc));
}

/*
 * Returns true if a query returns the rows it reads, so that a bound may pass.  Of set operations, only UNION ALL does.
 */
static bool
passes_bound(const Query *query)
{
	const SetOperationStmt *operation = (const SetOperationStmt *) query->setOperations;

	return !query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs && query->groupClause == NIL &&
		query->groupingSets == NIL && query->distinctClause == NIL &&
		(operation == NULL || (operation->op == SETOP_UNION && operation->all));
}

/*
 * Returns the strictest bound that a Limit of this query or an outer one may pass to a sort on top of this query.  The
 * actual bound may be looser, never stricter.  A bound known at run time counts as the strictest.
 */
static SortBound
bound_from_above(PlannerInfo *root, bool in_workers)
{
	SortBound	result = UNBOUNDED;

	for (PlannerInfo *around = root; around != NULL; around = around->parent_root)
	{
		Query	   *query = around->parse;
		SortBound	bound = bound_of_limit(query->limitCount, query->limitOffset, query->limitOption);

		if (around != root && !passes_bound(query))
			break;
		bound.in_workers = in_workers;
		if (bound.kind == BOUND_AT_RUN_TIME)
			return bound;
		if (bound.kind == BOUND_CONSTANT && (result.kind == BOUND_NONE || bound.rows < result.rows))
			result = bound;
	}
	return result;
}

/* Offers a path, if not NULL, to an ordered relation, projected to the target. */
static void
offer_with_target(PlannerInfo *root, RelOptInfo *ordered, Path *path, PathTarget *target)
{
	if (path == NULL)
		return;
	if (path->pathtarget != target)
		path = apply_projection_to_path(root, ordered, path, target);
	offer_path(root, UPPERREL_ORDERED, ordered, &ordered->pathlist, path);
}

/*
 * Returns the cheapest path of the input of ORDER BY, or NULL if it is sorted already.  A sorted one was passed to
 * add_path for the ordered relation, which may have freed it; then the memory may hold another relation's path, or no
 * path.
 */
static Path *
unordered_input(PlannerInfo *root, const RelOptInfo *input)
{
	Path	   *path = input->cheapest_total_path;

	return path->parent != input || pathkeys_contained_in(root->sort_pathkeys, path->pathkeys) ? NULL : path;
}

/*
 * Offers sorts for ORDER BY.  They are made from the input, as the server's own sort may have lost against an index.
 * The number of rows comes from the input if that can be read; the server's Gather Merge omits the leader's rows.
 */
static void
offer_ordered(PlannerInfo *root, RelOptInfo *input, RelOptInfo *ordered)
{
	const Path *known = linitial(ordered->pathlist);
	/* set operations do not project their output */
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED] ? root->upper_targets[UPPERREL_ORDERED] :
		known->pathtarget;
	Path	   *path = unordered_input(root, input);
	double		rows = path ? path->rows : known->rows;
	const Path *partial;

	if (path)
		offer_with_target(root, ordered, cheap_sort(root, ordered, path, root->sort_pathkeys,
													bound_from_above(root, false)), target);
	offer_with_target(root, ordered, page_path(root, input, ordered), target);
	if (input->partial_pathlist == NIL)
		return;
	/* above window functions, only with shares */
	ordered->consider_parallel = ordered->consider_parallel ||
		(input->consider_parallel && safe_in_shares(root, target->exprs));
	partial = linitial(input->partial_pathlist);
	if (ordered->consider_parallel)
		offer_with_target(root, ordered, cheap_merge(root, ordered, input, rows, root->sort_pathkeys,
													 bound_from_above(root, true),
													 equal(partial->pathtarget->exprs, target->exprs)), target);
}

/* Returns the order for DISTINCT.  One list is a prefix of the other, and DISTINCT ON needs the longer one. */
static List *
order_of_distinct(PlannerInfo *root)
{
	return list_length(root->sort_pathkeys) > list_length(root->distinct_pathkeys) ?
		root->sort_pathkeys : root->distinct_pathkeys;
}

/* Returns true if DISTINCT can be computed over sorted input. */
static bool
distinct_is_sortable(PlannerInfo *root, const RelOptInfo *distinct)
{
	return distinct->pathlist != NIL && root->distinct_pathkeys != NIL &&
		grouping_is_sortable(root->parse->distinctClause);
}

/* Returns DISTINCT over gpusort's sorts.  The server drops sorts early if a hash table seems cheaper. */
static List *
cheap_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *distinct)
{
	List	   *pathkeys = order_of_distinct(root);
	Path	   *known = distinct->pathlist ? linitial(distinct->pathlist) : NULL;
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, cheap_sorts(root, distinct, input, pathkeys))
		result = lappend(result, create_upper_unique_path(root, distinct, lfirst(lc),
														  list_length(root->distinct_pathkeys), known->rows));
	return result;
}

/* Reads the grouping from a path that the server has made.  Returns false if none can be made by sorting. */
static bool
find_grouping(PlannerInfo *root, RelOptInfo *grouped, Grouping *grouping)
{
	ListCell   *lc;

	if (root->parse->groupingSets)
		return false;
	foreach(lc, grouped->pathlist)
	{
		Path	   *path = lfirst(lc);

		grouping->target = path->pathtarget;
		if (IsA(path, AggPath) && ((AggPath *) path)->aggstrategy != AGG_PLAIN &&
			!DO_AGGSPLIT_SKIPFINAL(((AggPath *) path)->aggsplit))
		{
			grouping->clause = ((AggPath *) path)->groupClause;
			grouping->qual = ((AggPath *) path)->qual;
			grouping->groups = ((AggPath *) path)->numGroups;
			return true;
		}
		if (IsA(path, GroupPath))
		{
			grouping->clause = ((GroupPath *) path)->groupClause;
			grouping->qual = ((GroupPath *) path)->qual;
			grouping->groups = path->rows;
			return true;
		}
	}
	return false;
}

/*
 * Returns true if a sorted aggregate of a partition can win.  It cannot if reading and sorting the rows costs as much
 * as another whole path and no later stage needs the order.  This saves making paths for thousands of partitions.
 */
static bool
sort_may_win(PlannerInfo *root, const RelOptInfo *input, const RelOptInfo *grouped)
{
	const Path *known = grouped->pathlist ? linitial(grouped->pathlist) : NULL;
	const Path *source = input->cheapest_total_path;
	Cost		least = source->total_cost +
		source->rows * sort_row_cost(list_length(root->group_pathkeys));

	return !IS_OTHER_REL(grouped) || root->parent_root != NULL || known == NULL || least < known->total_cost ||
		disabled_nodes(known) > disabled_nodes(source) ||
		useful_order(root, UPPERREL_GROUP_AGG, root->group_pathkeys) != NIL;
}

/*
 * Returns GROUP BY over gpusort's sorts.  The pattern is the server's winning aggregate: hashed, of partial aggregates,
 * or over an index.
 */
static List *
cheap_group(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped, const Grouping *grouping,
			const AggClauseCosts *costs)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, cheap_sorts(root, grouped, input, root->group_pathkeys))
		result = lappend(result, create_agg_path(root, grouped, lfirst(lc), grouping->target, AGG_SORTED,
												 AGGSPLIT_SIMPLE, grouping->clause, grouping->qual, costs,
												 grouping->groups));
	return result;
}

/* Returns true if a path is cheaper than all others of a list by more than add_path's tolerance. */
static bool
is_clearly_cheapest(const Path *path, List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		const Path *other = lfirst(lc);

		if (disabled_nodes(other) <= disabled_nodes(path) && other->total_cost <= path->total_cost * FUZZ)
			return false;
	}
	return true;
}

/*
 * Offers shares of groups: the partial path to the nodes above in workers, and the gathered path to this process.  They
 * must be clearly cheaper, as later stages may prefer a path of equal cost for its order or startup cost.
 */
static void
offer_shares(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *rel, List *shares)
{
	if (shares == NIL || !is_clearly_cheapest(linitial(shares), rel->pathlist))
		return;
	/* the server plans no workers above window functions */
	rel->consider_parallel = true;
	offer_path(root, stage, rel, &rel->partial_pathlist, linitial(shares));
	if (is_clearly_cheapest(lsecond(shares), rel->pathlist))
		offer_path(root, stage, rel, &rel->pathlist, lsecond(shares));
}

/*
 * Compares sorted groups with a hashed aggregate, whose cost is incomplete.  If the cheapest sorted path would win
 * against the complete cost, scales all sorted paths so that it costs less than the hashed one.
 */
static void
undercut_hashed(PlannerInfo *root, RelOptInfo *rel, List *sorted, List *shares, const AggClauseCosts *costs)
{
	AggPath    *hashed = linitial(rel->pathlist);
	List	   *ours = shares ? lappend(list_copy(sorted), lsecond(shares)) : sorted;
	Path	   *best = cheapest(ours);

	if (best == NULL || hashed->path.total_cost <= 0 || !IsA(hashed, AggPath) || hashed->aggstrategy != AGG_HASHED ||
		hashed->aggsplit != AGGSPLIT_SIMPLE || best->total_cost < hashed->path.total_cost ||
		disabled_nodes(best) > disabled_nodes(&hashed->path) ||
		best->total_cost >= hashed->path.total_cost + omitted_hash_cost(root, hashed, costs))
		return;
	scale_below(ours, &hashed->path);
}

/* Returns true if one of the paths is a hashed aggregate. */
static bool
has_hashed(List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		if (IsA(lfirst(lc), AggPath) && ((AggPath *) lfirst(lc))->aggstrategy == AGG_HASHED)
			return true;
	}
	return false;
}

/* Offers groups made by gpusort's sorts: by one process, below a Gather Merge, and by shares. */
static void
offer_groups(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *rel, List *pathkeys,
			 List *sorted, List *shares, const AggClauseCosts *costs)
{
	if (!IS_OTHER_REL(rel))
	{
		if (has_hashed(rel->pathlist))
		{
			charge_coarse_keys(root, sorted);
			charge_coarse_keys_of_shares(root, shares, pathkeys, input->cheapest_total_path->rows);
		}
		undercut_hashed(root, rel, sorted, shares, costs);
	}
	offer_all(root, stage, rel, &rel->pathlist, sorted);
	offer_shares(root, stage, rel, shares);
}

/* Offers copies of the server's grouped paths over cheaper sorts. */
static void
offer_copies(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *rel, List *copies)
{
	if (!IS_OTHER_REL(rel) && has_hashed(rel->pathlist))
		charge_coarse_keys(root, copies);
	offer_all(root, stage, rel, &rel->pathlist, copies);
}

/* Offers paths for DISTINCT. */
static void
offer_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *distinct)
{
	List	   *pathkeys = order_of_distinct(root);

	offer_copies(root, UPPERREL_DISTINCT, distinct, copy_paths(root, distinct, NULL, distinct->pathlist));
	if (!distinct_is_sortable(root, distinct))
		return;
	offer_all(root, UPPERREL_DISTINCT, distinct, &distinct->pathlist,
			  topn_distinct(root, input, distinct, pathkeys, ((Path *) linitial(distinct->pathlist))->rows));
	offer_groups(root, UPPERREL_DISTINCT, input, distinct, pathkeys, cheap_distinct(root, input, distinct),
				 share_distinct(root, input, distinct, pathkeys, ((Path *) linitial(distinct->pathlist))->rows),
				 NULL);
}

/* Offers paths for GROUP BY.  A partition gets no second sorted aggregate if the server has made one. */
static void
offer_grouped(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped)
{
	List	   *copies = copy_paths(root, grouped, NULL, grouped->pathlist);
	AggClauseCosts costs;
	Grouping	grouping;

	offer_copies(root, UPPERREL_GROUP_AGG, grouped, copies);
	if (copies != NIL && IS_OTHER_REL(grouped))
		return;
	if (!find_grouping(root, grouped, &grouping) || !grouping_is_sortable(grouping.clause))
		return;
	memset(&costs, 0, sizeof(costs));
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	grouping.ours = count_ours(grouping.target->exprs);
	offer_groups(root, UPPERREL_GROUP_AGG, input, grouped, root->group_pathkeys,
				 cheap_group(root, input, grouped, &grouping, &costs),
				 share_groups(root, input, grouped, &grouping, &costs), &costs);
}

/* Offers a stage of planning its paths over cheaper sorts. */
static void
offer(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output)
{
	switch (stage)
	{
		case UPPERREL_ORDERED:
			offer_ordered(root, input, output);
			break;
		case UPPERREL_WINDOW:
			offer_all(root, stage, output, &output->pathlist, copy_paths(root, output, input, output->pathlist));
			offer_shares(root, stage, output, share_windows(root, input, output));
			offer_all(root, stage, output, &output->pathlist, topn_windows(root, input, output));
			break;
		case UPPERREL_DISTINCT:
			offer_distinct(root, input, output);
			break;
		case UPPERREL_PARTIAL_DISTINCT:
			offer_all(root, stage, output, &output->partial_pathlist,
					  copy_paths(root, output, NULL, output->partial_pathlist));
			break;
		case UPPERREL_GROUP_AGG:
			if (sort_may_win(root, input, output))
				offer_grouped(root, input, output);
			offer_all(root, stage, output, &output->pathlist, presorted_aggregates(root, input, output));
			break;
		default:
			break;
	}
}

/*
 * create_upper_paths_hook: offers paths over sorts, if these are enabled, and answers from columns.  Set-returning
 * functions in the target are excluded, because they are split off only later, but for that of groups.
 */
static void
offer_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output, void *extra)
{
	if (prev_upper_paths)
		prev_upper_paths(root, stage, input, output, extra);
	if (!plan_will_be_walked || (root->parse->hasTargetSRFs && stage != UPPERREL_GROUP_AGG))
		return;
	if (enable_sort && !root->parse->hasTargetSRFs)
		offer(root, stage, input, output);
	if (stage == UPPERREL_GROUP_AGG || stage == UPPERREL_DISTINCT)
		offer_columns(root, stage, input, output);
	else if (stage == UPPERREL_WINDOW)
		offer_window_rows(root, input, output);
}

/* set_rel_pathlist_hook: offers scans of rows that columns find, and rows of a subquery with windows. */
static void
offer_scans(PlannerInfo *root, RelOptInfo *rel, Index relid, RangeTblEntry *entry)
{
	if (prev_rel_pathlist)
		prev_rel_pathlist(root, rel, relid, entry);
	if (!plan_will_be_walked)
		return;
	offer_rows(root, rel, entry);
	if (rel->rtekind == RTE_SUBQUERY)
		offer_window_rows(root, rel, rel);
}

void
gpusort_paths_init(void)
{
	prev_rel_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = offer_scans;
	prev_upper_paths = create_upper_paths_hook;
	create_upper_paths_hook = offer_paths;
}
