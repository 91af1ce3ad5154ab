/*
 * block_merge.h: the rows of all participants in one order, from blocks that come in the order of their first keys.
 */
#ifndef GPUSORT_BLOCK_MERGE_H
#define GPUSORT_BLOCK_MERGE_H

#include "blocks.h"

/* Added to the place of a row that has no header. */
#define MERGED_BARE 1

/* So many rows ahead of their turn rows are loaded. */
#define MERGED_AHEAD 8

typedef struct BlockMerge BlockMerge;

/* What a merge did, for EXPLAIN. */
typedef struct BlockMergeStats
{
	uint64		blocks;
} BlockMergeStats;

/*
 * Begins a merge of rows of that descriptor, sorted by those columns, from so many participants at most.  Memory comes
 * from the current context.
 */
extern BlockMerge *blockmerge_open(const SortColumns *columns, TupleDesc desc, int participants);

/*
 * Takes the next block: the value of a tuple's last column, in a slot that knows the values of all.  The tuple must
 * stay until the merge has given out all its rows; owned says that the merge is to free it then.
 */
extern void blockmerge_add(BlockMerge *merge, MinimalTuple tuple, bool owned, const TupleTableSlot *slot);

/* Tells that there are no more blocks. */
extern void blockmerge_finish(BlockMerge *merge);

/* Rows in order, to be given out; all NULL: none. */
typedef struct MergedRows
{
	const char **next;			/* where the next row lies; one more if it has no header */
	const char **end;
	MinimalTuple bare;			/* the header of rows without, and room for one of them */
	uint32		stride;			/* bytes of theirs */
} MergedRows;

/*
 * Puts rows in order that no row still to come can precede; false if there are none, and then, before the end, the next
 * block is needed.  What was given out before is gone.
 */
extern bool blockmerge_prepare(BlockMerge *merge, MergedRows *rows);

/* The next row, valid until the next call; NULL after the last one. */
static inline MinimalTuple
merged_next(MergedRows *rows)
{
	const char *row;

	if (unlikely(rows->next == rows->end))
		return NULL;
	row = *rows->next;
	__builtin_prefetch(rows->next[MERGED_AHEAD]);
	__builtin_prefetch(rows->next[MERGED_AHEAD] + CACHE_LINE);
	rows->next++;
	if (((uintptr_t) row & MERGED_BARE) == 0)
		return (MinimalTuple) row;
	rowstore_copy_bare((char *) rows->bare + ROW_HEADER_BYTES, row - MERGED_BARE, rows->stride);
	return rows->bare;
}

/* Forgets all blocks. */
extern void blockmerge_reset(BlockMerge *merge);
extern void blockmerge_close(BlockMerge *merge);
extern const BlockMergeStats *blockmerge_stats(const BlockMerge *merge);

#endif
