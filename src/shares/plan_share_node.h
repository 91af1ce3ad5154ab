/*
 * plan_share_node.h: the sort of a share, as path and plan.
 */
#ifndef GPUSORT_PLAN_SHARE_NODE_H
#define GPUSORT_PLAN_SHARE_NODE_H

#include "share_build.h"

/* The sort of a share, as a path without order. */
extern Path *make_share_path(const ShareBuild *build, List *pathkeys);

/* The share keys of such a path, NIL of others. */
extern List *keys_of_share_path(const Path *path);

/*
 * Is it the node that stands above a Sort of which each participant does a share?
 */
extern bool is_share(const Plan *plan);

/* What such a node tells the sort that takes its place, and the Sort's. */
extern List *share_description(const Plan *plan);

#endif
