/*
 * block_merge.h: the rows of all participants in one order, from blocks that come in the order of their first keys.
 */
#ifndef GPUSORT_BLOCK_MERGE_H
#define GPUSORT_BLOCK_MERGE_H

#include "blocks.h"

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
 * Takes the next block: the value of a tuple's last column.  The tuple must stay until the merge has given out all its
 * rows; owned says that the merge is to free it then.
 */
extern void blockmerge_add(BlockMerge *merge, MinimalTuple tuple, bool owned, Datum block);

/* Tells that there are no more blocks. */
extern void blockmerge_finish(BlockMerge *merge);

/*
 * Puts rows in order that no row still to come can precede; false if there are none, and then, before the end, the next
 * block is needed.  What was given out before is gone.
 */
extern bool blockmerge_prepare(BlockMerge *merge);

/* The next of the rows that were prepared, valid until the next call; NULL after the last one. */
extern MinimalTuple blockmerge_next(BlockMerge *merge);

/* Forgets all blocks. */
extern void blockmerge_reset(BlockMerge *merge);
extern void blockmerge_close(BlockMerge *merge);
extern const BlockMergeStats *blockmerge_stats(const BlockMerge *merge);

#endif
