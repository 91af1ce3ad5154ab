/*
 * path_copies.h: copies of the server's paths over cheaper sorts.
 */
#ifndef GPUSORT_PATH_COPIES_H
#define GPUSORT_PATH_COPIES_H

#include "nodes/pathnodes.h"

/* Paths like those of a list, over cheaper sorts; window functions may sort the input anew, if given. */
extern List *copy_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *input, List *paths);

/* Does a relation's output hold what it takes to sort by all pathkeys? */
extern bool can_sort_by(PlannerInfo *root, RelOptInfo *rel, List *pathkeys);

#endif
