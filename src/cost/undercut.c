/*
 * undercut.c: lets paths win against one whose cost leaves something out.  The cost of the server's own path cannot be
 * raised, so that of the others is lowered.
 */
#include "postgres.h"

#include "src/base/compat.h"
#include "src/base/costs.h"
#include "undercut.h"

Path *
cheapest(List *paths)
{
	Path	   *result = NULL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);
		int			disabled = result ? disabled_nodes(path) - disabled_nodes(result) : -1;

		if (disabled < 0 || (disabled == 0 && path->total_cost < result->total_cost))
			result = path;
	}
	return result;
}

/* Scales the costs of an aggregate and the paths below it, down to the sort. */
static void
scale_costs(Path *path, double scale)
{
	for (;;)
	{
		path->startup_cost *= scale;
		path->total_cost *= scale;
		switch (nodeTag(path))
		{
			case T_AggPath:
				path = ((AggPath *) path)->subpath;
				break;
			case T_UpperUniquePath:
				path = ((UpperUniquePath *) path)->subpath;
				break;
			case T_ProjectionPath:
				path = ((ProjectionPath *) path)->subpath;
				break;
			case T_GatherPath:
				path = ((GatherPath *) path)->subpath;
				break;
			case T_GatherMergePath:
				path = ((GatherMergePath *) path)->subpath;
				break;
			default:
				return;
		}
	}
}

void
scale_below(List *paths, const Path *other)
{
	double		scale = other->total_cost / cheapest(paths)->total_cost / (FUZZ * FUZZ);
	ListCell   *lc;

	foreach(lc, paths)
		scale_costs(lfirst(lc), scale);
}

bool
undercut_windows(Path *path, Cost truth, List *others, double rows)
{
	Cost		total = path->total_cost;
	ListCell   *lc;

	foreach(lc, others)
	{
		const Path *other = lfirst(lc);

		if (disabled_nodes(other) < disabled_nodes(path) ||
			truth >= other->total_cost + rows * WINDOW_ROW_COST)
			return false;
		total = Min(total, other->total_cost / FUZZ);
	}
	path->total_cost = total;
	path->startup_cost = Min(path->startup_cost, total);
	return true;
}
