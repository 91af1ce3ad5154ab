/*
 * share_build.h: a plan in shares while it is being made.
 */
#ifndef GPUSORT_SHARE_BUILD_H
#define GPUSORT_SHARE_BUILD_H

#include "nodes/pathnodes.h"

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

#endif
