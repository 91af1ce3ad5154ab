/*
 * plan_share_node.h: the sort of a share, as path and plan node.
 */
#ifndef GPUSORT_PLAN_SHARE_NODE_H
#define GPUSORT_PLAN_SHARE_NODE_H

#include "share_build.h"

/* Returns an unsorted path for the sort of a share. */
extern Path *make_share_path(const ShareBuild *build, List *pathkeys);

/* Returns the share keys of such a path, NIL for any other. */
extern List *keys_of_share_path(const Path *path);

/* Returns true for a node above a Sort of shares. */
extern bool is_share_sort(const Plan *plan);

/* Returns the node's PRIVATE_DETAILS for the sort that replaces it and the Sort. */
extern List *share_description(const Plan *plan);

#endif
