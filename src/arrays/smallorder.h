/*
 * smallorder.h: the stable order of a few values, for groups so small that there is no time for a job.
 */
#ifndef GPUSORT_SMALLORDER_H
#define GPUSORT_SMALLORDER_H

#include "utils/sortsupport.h"

#include "kernels/gs.h"

#include "vectorjob.h"

/* The most values that are put in order here. */
#define SMALL_ORDER 32

/* What the groups of a call share. */
typedef struct SmallOrder
{
	SortSupport full;			/* compares values */
	SortSupport abbreviated;	/* compares what stands for them; NULL: not this type, or not these values */
	int64		converted;		/* values for which something stands */
	int64		look;			/* so many of them, and the type is asked whether that helps */
	bool		known;			/* the rest is */
	bool		numbers;
	gs_type		type;			/* of numbers */
} SmallOrder;

/* In the memory context, where all of it stays. */
extern void smallorder_open(SmallOrder *small, Oid sortop, Oid collation, MemoryContext cxt);

/* The rows of a column in ascending order, NULLs last; there are at most SMALL_ORDER. */
extern void smallorder_of(SmallOrder *small, const VectorColumn *column, uint32 *order);

#endif
