/*
 * share_build.h: state of planning shares.
 */
#ifndef GPUSORT_SHARE_BUILD_H
#define GPUSORT_SHARE_BUILD_H

#include "nodes/pathnodes.h"

/* Inputs and estimates of a plan in shares. */
typedef struct ShareBuild
{
	PlannerInfo *root;
	RelOptInfo *output;
	Path	   *input;			/* read by every participant, or by a single process */
	Path	   *partial;		/* of which each participant reads a part, to exchange rows */
	Path	   *shared;			/* NULL, or a partial path with whole groups in each participant already */
	List	   *keys;			/* SortGroupClauses */
	int			workers;		/* may be fewer than the partial path has */
	double		divisor;		/* of rows, by the server's count of participants */
	double		fraction;		/* of all work, done by the busiest participant */
	double		scale;			/* from actual cost to the server's cost */
} ShareBuild;

#endif
