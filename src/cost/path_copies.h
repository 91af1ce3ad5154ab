/*
 * path_copies.h: copies of the server's paths over cheaper sorts.
 */
#ifndef GPUSORT_PATH_COPIES_H
#define GPUSORT_PATH_COPIES_H

#include "nodes/pathnodes.h"

/* Returns copies of the paths that gpusort's sorts make cheaper.  Window functions may sort input, if it is given. */
extern List *copy_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *input, List *paths);

/* Returns true if a relation's output has the columns to sort by all pathkeys. */
extern bool can_sort_by(PlannerInfo *root, RelOptInfo *rel, List *pathkeys);

#endif
