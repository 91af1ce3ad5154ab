/*
 * block_merge.h: merges the rows of all participants from sorted blocks.
 */
#ifndef GPUSORT_BLOCK_MERGE_H
#define GPUSORT_BLOCK_MERGE_H

#include "blocks.h"

/* Added to the address of a bare row, which has no header. */
#define MERGED_BARE 1

/* Distance of prefetches, in rows. */
#define MERGED_AHEAD 8

typedef struct BlockMerge BlockMerge;

/* Statistics of a merge, for EXPLAIN. */
typedef struct BlockMergeStats
{
	uint64		blocks;
} BlockMergeStats;

/* Begins a merge of rows sorted by these columns, from at most this many participants, in the current context. */
extern BlockMerge *blockmerge_open(const SortColumns *columns, TupleDesc desc, int participants);

/*
 * Adds the next block.  It is the last column of a tuple, and the slot holds all of the tuple's columns.  The tuple
 * must stay valid until all its rows have been returned.  If owned, the merge frees it then.
 */
extern void blockmerge_add(BlockMerge *merge, MinimalTuple tuple, bool owned, const TupleTableSlot *slot);

/* Ends the input. */
extern void blockmerge_finish(BlockMerge *merge);

/* Merged rows to return. */
typedef struct MergedRows
{
	const char **next;			/* address of the next row, plus MERGED_BARE if it is bare */
	const char **end;
	MinimalTuple bare;			/* the header of bare rows, and room for one row */
	uint32		stride;			/* bytes of a bare row */
} MergedRows;

/* Merges the rows that no later row can precede.  Returns false if there are none, so that the next block is needed. */
extern bool blockmerge_prepare(BlockMerge *merge, MergedRows *rows);

/* Returns the next row, valid until the next call, or NULL after the last one. */
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

/* Drops all blocks. */
extern void blockmerge_reset(BlockMerge *merge);
extern void blockmerge_close(BlockMerge *merge);
extern const BlockMergeStats *blockmerge_stats(const BlockMerge *merge);

#endif
