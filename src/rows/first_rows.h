/*
 * first_rows.h: keeps the first rows of an order while others pass, in heaps.  A row that does not belong to them is
 * told by a comparison with the last one that does, before it is copied.
 */
#ifndef GPUSORT_FIRST_ROWS_H
#define GPUSORT_FIRST_ROWS_H

#include "executor/tuptable.h"
#include "utils/sortsupport.h"

#include "src/keys/sortcolumns.h"

/* As few rows as these give way, of so many kept ones, if all come in no order: their number times a logarithm. */
#define FIRST_ROWS_AGAINST_ORDER(kept) (2048 + 8 * (uint64) (kept))

/* A row that is kept. */
typedef struct FirstRow
{
	MinimalTuple tuple;
	Size		room;			/* bytes that it may take where it lies */
	Datum		key;			/* the first one; points into the tuple if by reference */
	bool		isnull;
	uint64		number;			/* in order of arrival, which breaks ties */
} FirstRow;

/* The first rows of one set of rows: of all, or of a group.  Begins as zeros. */
typedef struct FirstHeap
{
	FirstRow   *rows;			/* a heap with the last row on top; after firstrows_finish in order */
	int64		count;
	int64		room;
	Datum		last;			/* once it is full, the first key of the row on top */
	bool		last_isnull;
} FirstHeap;

/* What becomes of a row. */
typedef enum FirstFate
{
	FIRST_KEPT,					/* it is one of the first so far */
	FIRST_BEHIND,				/* as many are before it, or equal and came earlier */
	FIRST_TIED,					/* it is equal to the last one that is kept; only with ties */
	FIRST_TIED_OUT				/* it is kept, and the row that gave way is equal to the one that is last now */
} FirstFate;

/* An order, and what heaps by it have in common. */
typedef struct FirstRows
{
	SortSupport keys;
	int			nkeys;
	int64		bound;			/* rows that a heap keeps */
	bool		ties;			/* whether rows equal to the last one are told from those behind it */
	Size		limit;			/* bytes from which on no more are taken in */
	Size		bytes;			/* of rows */
	bool		key_by_value;	/* the first key */
	MemoryContext cxt;			/* of all this, with what comparison functions keep */
	FirstRow	out;			/* the row that gave way last, whose memory the next one gets */
	uint64		passed;			/* rows that have come */
	uint64		gave_way;		/* rows that were kept for a while */
	bool		sampled;		/* a sample has been taken, or was not worth while */
	TupleTableSlot *slots[2];	/* for comparisons of two rows by later keys */
} FirstRows;

/* Begins to keep the first bound rows of sets of rows, in the current context. */
extern FirstRows *firstrows_open(const SortColumns *columns, TupleDesc desc, int64 bound, bool ties, Size limit);

/*
 * Keeps a copy of a row if it is one of the first of its set.  With the first rows of a sample of the set, which must
 * be as many as the heap keeps, no row is kept that is behind these, once the heap is full; else the sample is NULL.
 */
extern FirstFate firstrows_put(FirstRows *rows, FirstHeap *heap, const FirstHeap *sample, TupleTableSlot *slot);

/* Ends input of a set: puts its rows in order. */
extern void firstrows_finish(FirstRows *rows, FirstHeap *heap);

/* Frees everything, with all heaps; slots that hold rows must have been cleared. */
extern void firstrows_close(FirstRows *rows);

/*
 * Returns true, until a sample has been taken, if row after row is kept for a while: they come in the reverse of the
 * order.  All heaps together hold this number of rows.
 */
static inline bool
firstrows_need_sample(const FirstRows *rows, int64 kept)
{
	return !rows->sampled && rows->gave_way > FIRST_ROWS_AGAINST_ORDER(kept);
}

/* Begins a sample: returns the fraction of rows, of an expected number, that it should have; 0: it is no use. */
extern double firstrows_begin_sample(FirstRows *rows, int64 kept, double expected);

/* Returns true if memory has been used up. */
static inline bool
firstrows_is_full(const FirstRows *rows)
{
	return rows->bytes >= rows->limit;
}

#endif
