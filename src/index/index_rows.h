/*
 * index_rows.h: the rows that a scan finds for an index, sorted by its keys.
 */
#ifndef GPUSORT_INDEX_ROWS_H
#define GPUSORT_INDEX_ROWS_H

#include "access/htup_details.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#include "src/core/sorter.h"
#include "src/keys/sortcolumns.h"

/*
 * What a row has: its number, then the columns of the index.  The keys are those of the index, and behind these, not
 * counted, the number.
 */
typedef struct IndexForm
{
	TupleDesc	desc;
	SortColumns columns;
} IndexForm;

/* Describes the rows of an index, in the current memory context; false if a column is not stored as its own type. */
extern bool indexform_make(Relation index, IndexForm *form);

/* The number of a row: its TID, and whether it is dead to all later snapshots. Numbers order rows as TIDs do. */
static inline uint64
rownumber_make(ItemPointer tid, bool alive)
{
	return (uint64) ItemPointerGetBlockNumber(tid) << 17 | (uint64) ItemPointerGetOffsetNumber(tid) << 1 | !alive;
}

/* The block of a row. */
static inline BlockNumber
rownumber_block(uint64 number)
{
	return (BlockNumber) (number >> 17);
}

/* Its TID. */
static inline void
rownumber_tid(uint64 number, ItemPointer tid)
{
	ItemPointerSet(tid, rownumber_block(number), (OffsetNumber) (number >> 1 & 0xffff));
}

/* Is it alive? */
static inline bool
rownumber_alive(uint64 number)
{
	return (number & 1) == 0;
}

/* A row's number, its first value. */
static inline uint64
row_number(MinimalTuple row)
{
	return *(const uint64 *) ((const char *) row + row->t_hoff - MINIMAL_TUPLE_OFFSET);
}

/* The rows of one process. */
typedef struct IndexRows IndexRows;

/*
 * Begins to collect a part of a table's rows, about so many of all participants, who share kilobytes of memory among
 * themselves; in the current memory context.
 */
extern IndexRows *indexrows_begin(const IndexForm *form, double rows_expected, int kilobytes, int participants);

/* The kilobytes of these that PostgreSQL's sort may have, once it gets rows. */
extern int	confirming_kilobytes(int kilobytes);

/* Takes a row; an IndexBuildCallback. */
extern void indexrows_put(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *rows);

/* Sorts the rows; then returns the next one by keys and number, valid until the next call, NULL at the end. */
extern void indexrows_finish(IndexRows *rows);
extern MinimalTuple indexrows_next(void *rows);

/* A function like indexrows_next. */
typedef MinimalTuple (*IndexRowsNext) (void *from);

/* The sort; how many rows came. */
extern Sorter *indexrows_sorter(IndexRows *rows);
extern uint64 indexrows_count(const IndexRows *rows);
extern void indexrows_end(IndexRows *rows);

#endif
