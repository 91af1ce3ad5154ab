/*
 * plan_shares.h: what the parts of plan_shares.c have in common.
 */
#ifndef GPUSORT_PLAN_SHARES_H
#define GPUSORT_PLAN_SHARES_H

#include "src/plan/plan_paths.h"

/* A plan that shares are made like, and what they are made of. */
typedef struct ShareBuild
{
	PlannerInfo *root;
	RelOptInfo *output;
	Path	   *input;			/* that every participant reads, or that one process alone would */
	Path	   *partial;		/* of which each participant reads a part, to hand rows on */
	Path	   *shared;			/* NULL, or a partial path whose groups are whole in each participant already */
	List	   *keys;			/* SortGroupClauses */
	int			workers;		/* perhaps fewer than the partial path is priced for */
	double		divisor;		/* of rows, as the server counts participants */
	double		fraction;		/* of all work that the busiest participant does */
	double		scale;			/* from what is taken in truth to a price */
} ShareBuild;

/*
 * plan_share_rules.c: begins to plan shares of an input for an output; false if participants could not all read it, or
 * there are no workers to be had.
 */
extern bool share_begin(ShareBuild *build, PlannerInfo *root, RelOptInfo *input, RelOptInfo *output);

/*
 * Chooses the share keys among those that rows of one group have in common: one alone if it makes even shares, because
 * it is hashed sooner and serves more queries above.  False if there are none that help.
 */
extern bool share_choose_keys(ShareBuild *build, List *keys);

/*
 * Instead of both: begins with what is in shares already, by some of these keys or what they are made of; false if
 * nothing is.
 */
extern bool share_begin_shared(ShareBuild *build, PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
							   List *keys);

/* plan_share_node.c: the sort of a share, as a path without order. */
extern Path *make_share_path(const ShareBuild *build, List *pathkeys);

/* The share keys of such a path, NIL of others. */
extern List *keys_of_share_path(const Path *path);

#endif
