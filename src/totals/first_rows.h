/*
 * first_rows.h: keeps the first rows of an order while others pass, in a heap.  A row that does not belong to them is
 * told by a comparison with the last one that does, before it is copied.
 */
#ifndef GPUSORT_FIRST_ROWS_H
#define GPUSORT_FIRST_ROWS_H

#include "executor/tuptable.h"
#include "utils/sortsupport.h"

#include "src/keys/sortcolumns.h"

/* A row that is kept. */
typedef struct FirstRow
{
	MinimalTuple tuple;
	Size		room;			/* bytes that it may take where it lies */
	Datum		key;			/* the first one; points into the tuple if by reference */
	bool		isnull;
	uint64		number;			/* in order of arrival, which breaks ties */
} FirstRow;

typedef struct FirstRows
{
	SortSupport keys;
	int			nkeys;
	int64		bound;			/* rows that are kept */
	Size		limit;			/* bytes from which on no more are taken in */
	Size		bytes;			/* of rows */
	bool		key_by_value;	/* the first key */
	MemoryContext cxt;			/* of all this, with what comparison functions keep */
	FirstRow   *rows;			/* a heap with the last row on top; after firstrows_finish in order */
	int64		count;
	int64		room;
	uint64		passed;			/* rows that have come */
	TupleTableSlot *slots[2];	/* for comparisons of two rows by later keys */
} FirstRows;

/* Begins to keep the first bound rows, in the current context. */
extern FirstRows *firstrows_open(const SortColumns *columns, TupleDesc desc, int64 bound, Size limit);

/* Keeps a copy of a row if it is one of the first; returns false if memory was exceeded before they were complete. */
extern bool firstrows_put(FirstRows *rows, TupleTableSlot *slot);

/* Ends input: puts the rows in order. */
extern void firstrows_finish(FirstRows *rows);

/* Frees everything; slots that hold rows must have been cleared. */
extern void firstrows_close(FirstRows *rows);

#endif
