/*
 * vectorsort.h: a sort of rows of values, by a sorter of core/, beyond memory if necessary.
 */
#ifndef GPUSORT_VECTORSORT_H
#define GPUSORT_VECTORSORT_H

#include "src/core/sorter.h"
#include "vector.h"

typedef struct VectorSort
{
	Sorter	   *sorter;
	int			ncolumns;		/* of values */
	bool		numbered;		/* rows have their number as another column, the last key */
	bool		sorted;			/* all rows have been put */
	uint64		rows;			/* put so far */
	SortColumns keys;
	TupleTableSlot *in;
	TupleTableSlot *out;		/* the row read last */
} VectorSort;

/*
 * Begins a sort of the columns' rows by the first nkeys, with an operator for each.  numbered keeps equal rows in
 * arrival order whoever sorts.  rescan: rows are read more than once.
 */
extern VectorSort *vectorsort_begin(const VectorColumn *columns, int ncolumns, const Oid *sortops, int nkeys,
									bool numbered, bool rescan, double rows_expected);

/* Puts a copy of a row. */
extern void vectorsort_put(VectorSort *sort, const NullableDatum *row);

/* Puts all rows of vectors. */
extern void vectorsort_put_vectors(VectorSort *sort, const VectorColumn *columns);

/* Sorts the rows or, once they are sorted, goes back to the first one. */
extern void vectorsort_rewind(VectorSort *sort);

/* Returns the next row in order; an empty slot at the end. */
extern TupleTableSlot *vectorsort_next(VectorSort *sort);

/* Ends the sort and deletes its temporary files. */
extern void vectorsort_end(VectorSort *sort);

#endif
