/*
 * path_copies.c: copies of the server's paths over cheaper sorts.  A node above a sort is copied flat, and its cost is
 * reduced by what was saved below it.  Where the server avoided a sort, by an index or an Incremental Sort, a full sort
 * at gpusort's cost may replace that path.
 */
#include "postgres.h"

#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "src/base/compat.h"
#include "path_copies.h"
#include "sort_cost.h"

/* State of copying a chain of paths, each of which reads one input in its order. */
typedef struct ChainCopy
{
	PlannerInfo *root;
	RelOptInfo *rel;
	RelOptInfo *input;			/* alternative input for window functions, to be sorted, or NULL */
	Cost		startup;		/* saved so far, as is total */
	Cost		total;
	int			disabled;		/* disabled nodes removed */
} ChainCopy;

static Path *copy_chain(ChainCopy *chain, Path *path);

/* Subtracts the savings from a copied path.  The copy is parallel safe only if its input is, too. */
static Path *
subtract_savings(ChainCopy *chain, Path *copy, const Path *input)
{
	copy->startup_cost -= chain->startup;
	copy->total_cost -= chain->total;
	copy->parallel_safe = copy->parallel_safe && input->parallel_safe;
	add_disabled_nodes(copy, -chain->disabled);
	return copy;
}

/* Records the savings of a path that replaces another one in the chain. */
static Path *
replace(ChainCopy *chain, Path *path, const Path *replaced)
{
	chain->startup = replaced->startup_cost - path->startup_cost;
	chain->total = replaced->total_cost - path->total_cost;
	chain->disabled = disabled_nodes(replaced) - disabled_nodes(path);
	return path;
}

/* Copies a Sort if it or its input gets cheaper. */
static Path *
copy_sort(ChainCopy *chain, SortPath *sort)
{
	Path	   *below = copy_chain(chain, sort->subpath);
	Cost		own = sort_saving(chain->root, sort, UNBOUNDED);
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
	return subtract_savings(chain, (Path *) copy, copy->subpath);
}

/* Copies an Incremental Sort over a cheaper input, or replaces it by a full sort if that costs less. */
static Path *
copy_incremental_sort(ChainCopy *chain, IncrementalSortPath *sort)
{
	Path	   *path = &sort->spath.path;
	Path	   *below = copy_chain(chain, sort->spath.subpath);
	Path	   *full = cheap_sort(chain->root, path->parent, below ? below : sort->spath.subpath, path->pathkeys,
								  UNBOUNDED);
	IncrementalSortPath *copy;

	if (full && full->total_cost < path->total_cost - chain->total)
		return replace(chain, full, path);
	if (below == NULL)
		return NULL;
	copy = makeNode(IncrementalSortPath);
	*copy = *sort;
	copy->spath.subpath = below;
	return subtract_savings(chain, (Path *) copy, below);
}

/* Copies a Gather Merge if its input gets cheaper or if its rows can arrive in blocks. */
static Path *
copy_gather_merge(ChainCopy *chain, GatherMergePath *merge)
{
	Path	   *below = copy_chain(chain, merge->subpath);
	GatherMergePath *copy = makeNode(GatherMergePath);
	Cost		own;

	*copy = *merge;
	if (below)
		copy->subpath = below;
	subtract_savings(chain, &copy->path, copy->subpath);
	own = merge_saving(copy, UNBOUNDED);
	if (below == NULL && own <= 0)
		return NULL;
	own -= merge_doubt(chain->root, copy);
	copy->path.total_cost -= own;
	chain->total += own;
	return &copy->path;
}

bool
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

/* Returns the cheapest sort that costs less than a WindowAgg's input, or NULL.  Nodes above may need all its keys. */
static Path *
sort_for_window(ChainCopy *chain, WindowAggPath *window)
{
	List	   *pathkeys = window->subpath->pathkeys;
	Path	   *below = window->subpath;
	Cost		total = window->subpath->total_cost - chain->total;
	Path	   *best = NULL;
	ListCell   *lc;

	if (IsA(below, SortPath) || IsA(below, IncrementalSortPath))
		below = ((SortPath *) below)->subpath;
	/* the node below may be another window function */
	if (chain->input == NULL || below->parent != chain->input || !can_sort_by(chain->root, below->parent, pathkeys))
		return NULL;
	foreach(lc, cheap_sorts(chain->root, chain->rel, chain->input, pathkeys))
	{
		Path	   *sort = lfirst(lc);

		if (sort->total_cost >= total)
			continue;
		total = sort->total_cost;
		best = sort;
	}
	return best ? replace(chain, best, window->subpath) : NULL;
}

/* Returns a copy of a path over a cheaper input, or NULL if there is no such input. */
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
		return subtract_savings((chain), (Path *) copy, input); \
	} while (0)

/* Copies a WindowAgg over a cheaper input, or over a sort of chain->input. */
static Path *
copy_window(ChainCopy *chain, WindowAggPath *window)
{
	Path	   *below = copy_chain(chain, window->subpath);
	Path	   *sort = sort_for_window(chain, window);

	COPY_LINK(chain, WindowAggPath, window, sort ? sort : below);
}

/* Copies a path and those below it, down to the sorts.  Returns NULL if nothing gets cheaper. */
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
			return copy_gather_merge(chain, (GatherMergePath *) path);
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

List *
copy_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *input, List *paths)
{
	ChainCopy	chain = {root, rel, input, 0, 0, 0};
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
