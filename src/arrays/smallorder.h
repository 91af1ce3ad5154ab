/*
 * smallorder.h: stable order of a few values, for groups too small for a job.
 */
#ifndef GPUSORT_SMALLORDER_H
#define GPUSORT_SMALLORDER_H

#include "utils/sortsupport.h"

#include "kernels/gs.h"

#include "vectorjob.h"

/* Maximal number of values. */
#define SMALL_ORDER 32

/* State shared by the groups of a call. */
typedef struct SmallOrder
{
	SortSupport full;			/* compares values */
	SortSupport abbreviated;	/* compares abbreviated keys; NULL: not used */
	int64		converted;		/* values abbreviated so far */
	int64		look;			/* when the type is next asked whether abbreviation helps */
	bool		known;			/* the members below are set */
	bool		numbers;
	gs_type		type;			/* type of numbers */
} SmallOrder;

/* Initializes the state in a memory context. */
extern void smallorder_open(SmallOrder *small, Oid sortop, Oid collation, MemoryContext cxt);

/* Sorts the rows of a column, ascending, NULLs last.  At most SMALL_ORDER rows. */
extern void smallorder_of(SmallOrder *small, const VectorColumn *column, uint32 *order);

#endif
