/*
 * plan_paths.c: sorts at their true cost in the planner's choice.
 *
 * The server's own cost of a sort cannot be changed, so cheaper SortPaths are offered beside the server's, through
 * create_upper_paths_hook. They are ordinary SortPaths; the walk in plan.c replaces what they become.  Sorts that merge
 * joins make for themselves are replaced without influence on the choice of the join.
 *
 * The model is linear: a row is taken, kept and given out for gpusort.cpu_row_cost, and every eight bytes of key add
 * gpusort.cpu_key_cost; past the memory limit all rows are written and read once.  The server's is 2 cpu_operator_cost
 * N log2 N.  Measured in memory on one core, where a sequential scan costs 0.02 and takes 70 ns a row: 85 ns with a key
 * of eight bytes (0.025; the server's sort took 334), 110 ns with a second key, 180 ns with 32-character strings
 * (650).  Comparisons of keys that have no exact encoding cost what the server takes for them, which is little for
 * strings: but so it is on both sides.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "src/compat.h"
#include "src/guc.h"
#include "src/keys/dictionary.h"
#include "src/keys/sortkey.h"
#include "plan.h"

/* As the server counts comparisons. */
#define LOG2(x) (log(Max(x, 2.0)) / 0.693147180559945)

static create_upper_paths_hook_type prev_upper_paths;

static const SortBound unbounded = {BOUND_NONE, 0, false};

/* What the planner may sort by: eight-byte words of all keys together, and comparisons by the types' own functions. */
typedef struct PathSortKeys
{
	int			words;
	double		compares;		/* of each row */
} PathSortKeys;

/* Words of a key of some type: strings are sorted by a prefix of about two. */
static int
words_of_type(Oid type)
{
	return get_typlen(type) > 0 && get_typlen(type) <= 8 ? 1 : 2;
}

/*
 * How often a row is compared because of a key that has no exact encoding: never if its values are few, else once with
 * the next one, and as often as by the server's sort where nothing orders rows but comparisons.
 */
static double
compares_of_key(PlannerInfo *root, const EquivalenceMember *member, Oid sortop, bool first, double rows)
{
	double		values = rows;

	/* columns of a set operation belong to no relation that there are statistics of */
	if (root->parse->setOperations == NULL)
		values = estimate_num_groups(root, list_make1(member->em_expr), rows, NULL, NULL);
	if (values <= DICTIONARY_VALUES && values < rows / 2)
		return 0;
	return first && !sortkey_tells(sortop) ? LOG2(rows) : 1;
}

/*
 * Collects what a plan's Sort may be given for these pathkeys.  Which member of an equivalence class that will be is
 * not known yet, so the dearest counts.
 */
static PathSortKeys
collect_keys(PlannerInfo *root, List *pathkeys, double rows)
{
	PathSortKeys keys = {0, 0};
	ListCell   *lc;
	ListCell   *cell;

	foreach(lc, pathkeys)
	{
		PathKey    *pathkey = lfirst_node(PathKey, lc);
		int			words = 1;
		double		compares = 0;
		const char *why;

		foreach(cell, pathkey->pk_eclass->ec_members)
		{
			EquivalenceMember *member = lfirst(cell);
			Oid			sortop = pathkey_operator(pathkey, member->em_datatype);

			if (!OidIsValid(sortop))
				continue;
			words = Max(words, words_of_type(member->em_datatype));
			/* members may be as many as there are partitions */
			if (compares == 0 && !sortkey_is_exact(sortop, pathkey->pk_eclass->ec_collation, &why))
				compares = compares_of_key(root, member, sortop, keys.words == 0, rows);
		}
		keys.words += words;
		keys.compares += compares;
	}
	return keys;
}

/* The cost of a sort of ours, above that of its input and without what the server charges for giving rows out. */
static Cost
our_cost(double rows, int width, const PathSortKeys *keys)
{
	Cost		cost = rows * (gpusort_cpu_row_cost + gpusort_cpu_key_cost * keys->words);
	double		row_bytes = MAXALIGN(SizeofMinimalTupleHeader) + MAXALIGN(width) +
		keys->words * sizeof(uint64) + sizeof(uint32);

	/* at the server's price */
	cost += rows * keys->compares * 2 * cpu_operator_cost;
	/* runs are written in sequence, and read in turns */
	if (rows * row_bytes > gpusort_memory_limit())
		cost += 2 * ceil(rows * row_bytes / BLCKSZ) * (0.75 * seq_page_cost + 0.25 * random_page_cost);
	return cost;
}

/* How much less a SortPath of ours costs than it says, 0 if it is not to be ours. */
static Cost
saving(PlannerInfo *root, SortPath *sort, SortBound bound)
{
	PathSortKeys keys;
	Cost		theirs = sort->path.startup_cost - sort->subpath->total_cost;
	Cost		ours;
	const char *why;

	if (!sort_is_ours(sort->path.rows, bound, &why))
		return 0;
	keys = collect_keys(root, sort->path.pathkeys, sort->path.rows);
	ours = our_cost(sort->path.rows, sort->path.pathtarget->width, &keys);
	return Max(theirs - ours, 0);
}

/* A full sort of some path at our price, NULL if that is no lower. */
static Path *
cheap_sort(PlannerInfo *root, RelOptInfo *rel, Path *input, List *pathkeys, SortBound bound)
{
	SortPath   *sort;
	Cost		saved;

	if (pathkeys == NIL || input->param_info != NULL || pathkeys_contained_in(pathkeys, input->pathkeys))
		return NULL;
	sort = create_sort_path(root, rel, input, pathkeys, -1.0);
	saved = saving(root, sort, bound);
	if (saved <= 0)
		return NULL;
	sort->path.startup_cost -= saved;
	sort->path.total_cost -= saved;
	return (Path *) sort;
}

/*
 * The strictest bound that a Limit may pass to a sort on top of this query, seen from the query itself and from all
 * around it.  May be stricter than what comes true, never looser.
 */
static SortBound
bound_from_above(PlannerInfo *root, bool in_workers)
{
	SortBound	result = unbounded;

	for (; root != NULL; root = root->parent_root)
	{
		Query	   *query = root->parse;
		SortBound	bound = bound_of_limit(query->limitCount, query->limitOffset, query->limitOption);

		bound.in_workers = in_workers;
		if (bound.kind == BOUND_AT_RUN_TIME && in_workers)
			return bound;
		if (bound.kind == BOUND_CONSTANT && (result.kind == BOUND_NONE || bound.rows < result.rows))
			result = bound;
	}
	return result;
}

/* Adds a path to an ordered relation, with the output it must have. */
static void
add_ordered(PlannerInfo *root, RelOptInfo *ordered, Path *path, PathTarget *target)
{
	if (path->pathtarget != target)
		path = apply_projection_to_path(root, ordered, path, target);
	add_path(ordered, path);
}

/* A Gather Merge over sorts at our price in workers, NULL if there is nothing to win. */
static Path *
cheap_parallel_sort(PlannerInfo *root, RelOptInfo *ordered, RelOptInfo *input)
{
	Path	   *partial;
	Path	   *sort;
	double		rows;

	if (!ordered->consider_parallel || input->partial_pathlist == NIL)
		return NULL;
	partial = linitial(input->partial_pathlist);
	sort = cheap_sort(root, ordered, partial, root->sort_pathkeys, bound_from_above(root, true));
	if (sort == NULL)
		return NULL;
	rows = partial->rows * partial->parallel_workers;
	return (Path *) create_gather_merge_path(root, ordered, sort, sort->pathtarget, root->sort_pathkeys, NULL, &rows);
}

/*
 * ORDER BY: the server's own sort may have lost against an index and be gone from the list, so ours are made from the
 * input.
 */
static void
offer_ordered(PlannerInfo *root, RelOptInfo *input, RelOptInfo *ordered)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	Path	   *sort = cheap_sort(root, ordered, input->cheapest_total_path, root->sort_pathkeys,
								  bound_from_above(root, false));
	Path	   *merge = cheap_parallel_sort(root, ordered, input);

	/* set operations leave their output as it is */
	if (target == NULL)
		target = input->cheapest_total_path->pathtarget;
	if (sort)
		add_ordered(root, ordered, sort, target);
	if (merge)
		add_ordered(root, ordered, merge, target);
}

/* Copies of a chain of paths, each of which reads one input in its order. */
typedef struct ChainCopy
{
	PlannerInfo *root;
	RelOptInfo *rel;
	Path	   *window_input;	/* what window functions may sort instead of reading an ordered path, or NULL */
	Cost		startup;		/* saved so far */
	Cost		total;
	int			disabled;		/* disabled nodes that are gone */
} ChainCopy;

static Path *copy_chain(ChainCopy *chain, Path *path);

/* Takes what has been saved off a copied path. */
static Path *
reprice(ChainCopy *chain, Path *copy)
{
	copy->startup_cost -= chain->startup;
	copy->total_cost -= chain->total;
	add_disabled_nodes(copy, -chain->disabled);
	return copy;
}

/* Copies a Sort whose price is lower, or whose input's is. */
static Path *
copy_sort(ChainCopy *chain, SortPath *sort)
{
	Path	   *below = copy_chain(chain, sort->subpath);
	Cost		own = saving(chain->root, sort, unbounded);
	SortPath   *copy;

	if (below == NULL && own <= 0)
		return NULL;
	copy = makeNode(SortPath);
	*copy = *sort;
	if (below)
		copy->subpath = below;
	/* a sort reads all its input before its first row */
	chain->total += own;
	chain->startup = chain->total;
	return reprice(chain, (Path *) copy);
}

/* Does a relation's output hold what it takes to sort by all pathkeys? */
static bool
can_sort_by(PlannerInfo *root, RelOptInfo *rel, List *pathkeys)
{
	ListCell   *lc;

	foreach(lc, pathkeys)
	{
		if (!relation_can_be_sorted_early(root, rel, lfirst_node(PathKey, lc)->pk_eclass, false))
			return false;
	}
	return true;
}

/*
 * What a WindowAgg can read instead of a path that came in its order: the cheapest input, sorted at our price.  By all
 * of the path's order, be it more than the window needs: what is above may have counted on the rest.
 */
static Path *
sort_for_window(ChainCopy *chain, WindowAggPath *window)
{
	List	   *pathkeys = window->subpath->pathkeys;
	Path	   *below = window->subpath;
	Path	   *sort;

	if (IsA(below, IncrementalSortPath))
		below = ((IncrementalSortPath *) below)->spath.subpath;
	/* another window function may be below */
	if (chain->window_input == NULL || below->parent != chain->window_input->parent ||
		!can_sort_by(chain->root, below->parent, pathkeys))
		return NULL;
	sort = cheap_sort(chain->root, chain->rel, chain->window_input, pathkeys, unbounded);
	if (sort == NULL || sort->total_cost >= window->subpath->total_cost)
		return NULL;
	chain->startup = window->subpath->startup_cost - sort->startup_cost;
	chain->total = window->subpath->total_cost - sort->total_cost;
	chain->disabled = disabled_nodes(window->subpath) - disabled_nodes(sort);
	return sort;
}

/* Copies a path over a cheaper copy of what is below it. */
#define COPY_LINK(chain, type, path, below) \
	do { \
		Path	   *input = (below); \
		type	   *copy; \
		\
		if (input == NULL) \
			return NULL; \
		copy = makeNode(type); \
		*copy = *(type *) (path); \
		copy->subpath = input; \
		return reprice((chain), (Path *) copy); \
	} while (0)

/* Copies a WindowAgg over a cheaper input. */
static Path *
copy_window(ChainCopy *chain, WindowAggPath *window)
{
	Path	   *below = copy_chain(chain, window->subpath);

	if (below == NULL)
		below = sort_for_window(chain, window);
	COPY_LINK(chain, WindowAggPath, window, below);
}

/* Copies an IncrementalSort, between two window functions, over a cheaper input. */
static Path *
copy_incremental_sort(ChainCopy *chain, IncrementalSortPath *sort)
{
	Path	   *below = copy_chain(chain, sort->spath.subpath);
	IncrementalSortPath *copy;

	if (below == NULL)
		return NULL;
	copy = makeNode(IncrementalSortPath);
	*copy = *sort;
	copy->spath.subpath = below;
	return reprice(chain, (Path *) copy);
}

/* Flat copies of a path and what is below it, down to the sorts; NULL if nothing gets cheaper. */
static Path *
copy_chain(ChainCopy *chain, Path *path)
{
	chain->startup = chain->total = chain->disabled = 0;
	switch (nodeTag(path))
	{
		case T_SortPath:
			return copy_sort(chain, (SortPath *) path);
		case T_IncrementalSortPath:
			return copy_incremental_sort(chain, (IncrementalSortPath *) path);
		case T_WindowAggPath:
			return copy_window(chain, (WindowAggPath *) path);
		case T_ProjectionPath:
			COPY_LINK(chain, ProjectionPath, path, copy_chain(chain, ((ProjectionPath *) path)->subpath));
		case T_UpperUniquePath:
			COPY_LINK(chain, UpperUniquePath, path, copy_chain(chain, ((UpperUniquePath *) path)->subpath));
		case T_GroupPath:
			COPY_LINK(chain, GroupPath, path, copy_chain(chain, ((GroupPath *) path)->subpath));
		case T_GatherMergePath:
			COPY_LINK(chain, GatherMergePath, path, copy_chain(chain, ((GatherMergePath *) path)->subpath));
		case T_GroupingSetsPath:
			COPY_LINK(chain, GroupingSetsPath, path, copy_chain(chain, ((GroupingSetsPath *) path)->subpath));
		case T_AggPath:
			if (((AggPath *) path)->aggstrategy != AGG_SORTED)
				return NULL;
			COPY_LINK(chain, AggPath, path, copy_chain(chain, ((AggPath *) path)->subpath));
		default:
			return NULL;
	}
}

/* Cheaper copies of the paths of a list; all are made before any is added, because add_path frees what it drops. */
static List *
copy_paths(PlannerInfo *root, RelOptInfo *rel, Path *window_input, List *paths)
{
	ChainCopy	chain = {root, rel, window_input, 0, 0, 0};
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *copy = copy_chain(&chain, lfirst(lc));

		if (copy)
			result = lappend(result, copy);
	}
	return result;
}

/*
 * DISTINCT over a sort, which the server drops early where a hash table seems cheaper; NULL if there is nothing to win.
 */
static Path *
cheap_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *distinct)
{
	List	   *pathkeys = root->distinct_pathkeys;
	Path	   *known = distinct->pathlist ? linitial(distinct->pathlist) : NULL;
	Path	   *sort;

	if (known == NULL || pathkeys == NIL || !grouping_is_sortable(root->parse->distinctClause))
		return NULL;
	/* one is a prefix of the other, and DISTINCT ON needs the longer one */
	if (list_length(root->sort_pathkeys) > list_length(pathkeys))
		pathkeys = root->sort_pathkeys;
	sort = cheap_sort(root, distinct, input->cheapest_total_path, pathkeys, unbounded);
	if (sort == NULL)
		return NULL;
	return (Path *) create_upper_unique_path(root, distinct, sort, list_length(root->distinct_pathkeys), known->rows);
}

/*
 * GROUP BY over a sort, after the pattern of a hashed aggregate that beat the server's; NULL if there is nothing to
 * win.
 */
static Path *
cheap_group(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped)
{
	AggClauseCosts costs;
	AggPath    *hashed = NULL;
	Path	   *sort;
	ListCell   *lc;

	foreach(lc, grouped->pathlist)
	{
		AggPath    *path = lfirst(lc);

		if (IsA(path, AggPath) && path->aggstrategy == AGG_HASHED && path->aggsplit == AGGSPLIT_SIMPLE &&
			path->subpath == input->cheapest_total_path)
			hashed = path;
	}
	if (hashed == NULL || root->parse->groupingSets || !grouping_is_sortable(hashed->groupClause))
		return NULL;
	sort = cheap_sort(root, grouped, input->cheapest_total_path, root->group_pathkeys, unbounded);
	if (sort == NULL)
		return NULL;
	memset(&costs, 0, sizeof(costs));
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	return (Path *) create_agg_path(root, grouped, sort, hashed->path.pathtarget, AGG_SORTED, AGGSPLIT_SIMPLE,
									hashed->groupClause, hashed->qual, &costs, hashed->numGroups);
}

/* Adds paths to a relation; NULLs are left out. */
static void
add_all(RelOptInfo *rel, List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		if (lfirst(lc) != NULL)
			add_path(rel, lfirst(lc));
	}
}

/* Adds partial paths to a relation. */
static void
add_all_partial(RelOptInfo *rel, List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
		add_partial_path(rel, lfirst(lc));
}

/* Offers what a stage of planning can do with cheaper sorts. */
static void
offer(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output)
{
	switch (stage)
	{
		case UPPERREL_ORDERED:
			offer_ordered(root, input, output);
			break;
		case UPPERREL_WINDOW:
			add_all(output, copy_paths(root, output, input->cheapest_total_path, output->pathlist));
			break;
		case UPPERREL_DISTINCT:
			add_all(output, lappend(copy_paths(root, output, NULL, output->pathlist),
									cheap_distinct(root, input, output)));
			break;
		case UPPERREL_PARTIAL_DISTINCT:
			add_all_partial(output, copy_paths(root, output, NULL, output->partial_pathlist));
			break;
		case UPPERREL_GROUP_AGG:
			add_all(output, lappend(copy_paths(root, output, NULL, output->pathlist),
									cheap_group(root, input, output)));
			break;
		default:
			break;
	}
}

/*
 * create_upper_paths_hook.  A forbidden sort stays as dear as the server made it, and columns with set-returning
 * functions are split only later.
 */
static void
offer_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output, void *extra)
{
	if (prev_upper_paths)
		prev_upper_paths(root, stage, input, output, extra);
	if (plan_will_be_walked && enable_sort && !root->parse->hasTargetSRFs)
		offer(root, stage, input, output);
}

void
gpusort_paths_init(void)
{
	prev_upper_paths = create_upper_paths_hook;
	create_upper_paths_hook = offer_paths;
}
