/*
 * blocks.h: rows on their way from a parallel participant to the leader, many of them in one tuple.
 *
 * The tuple's last column is the block, a bytea.  The columns before it are the key of the block's first row, by which
 * Gather Merge puts the blocks of all participants in order: where every key may travel encoded its normalised form,
 * one bytea; else the values of the sort's keys themselves, compared by the server's operators.  Rows in no order, as a
 * Gather passes them on, have no keys, and their block is the only column.
 */
#ifndef GPUSORT_BLOCKS_H
#define GPUSORT_BLOCKS_H

#include "access/htup_details.h"
#include "nodes/execnodes.h"

#include "src/core/rowstore.h"
#include "src/keys/sortcolumns.h"

/* Rows of a participant's first block, for which somebody may be waiting. */
#define BLOCK_FIRST_ROWS 64

/* How rows of blocks are compared. */
typedef enum BlockKeys
{
	BLOCK_WORDS,				/* by their words: they are the keys */
	BLOCK_BYTES_BEHIND,			/* by their words, and then by the bytes that follow the row */
	BLOCK_COMPARED,				/* by the server's comparison functions; there are no words */
	BLOCK_UNORDERED				/* not at all */
} BlockKeys;

/* Does each row have a word? */
static inline bool
block_has_words(BlockKeys keys)
{
	return keys == BLOCK_WORDS || keys == BLOCK_BYTES_BEHIND;
}

/*
 * What a block begins with; its rows follow.  Behind them lie, where rows go by words, a word for each row (order-
 * preserving, of the key without its first byte), and unless rows are bare, a uint32 for each row: its place in bytes
 * from the first.
 */
typedef struct BlockHeader
{
	uint16		rows;
	uint16		participant;
	uint8		keys;			/* BlockKeys */
	uint8		rank;			/* of the first key, the same in all rows of a block: whether it is NULL */
	bool		without_keys;	/* in the only row, keys that stand before the block are NULL */
	uint32		rows_bytes;
	uint32		stride;			/* bare rows: bytes from one to the next; 0: rows are MinimalTuples */
	MinimalTupleData uniform;	/* bare rows: the header of all */
} BlockHeader;

/* The bytes behind a row that say how it compares with one whose word is the same. */
typedef struct BlockTail
{
	uint32		bytes;
	char		data[FLEXIBLE_ARRAY_MEMBER];
} BlockTail;

StaticAssertDecl(sizeof(BlockHeader) % MAXIMUM_ALIGNOF == 0, "rows follow the header");

/* Where a row's tail lies. */
static inline BlockTail *
block_tail(MinimalTuple row)
{
	return (BlockTail *) ((char *) row + MAXALIGN(row->t_len));
}

typedef struct BlockWriter BlockWriter;

/* Gives out rows, NULL at their end; a row is valid until the next call. */
typedef MinimalTuple (*BlockNext) (void *arg);

/*
 * Begins to write blocks of a node's child's rows, sorted by those columns, or in no order if there are none; encoded
 * says whether a normalised key goes before each block.  Memory is the query's.
 */
extern BlockWriter *blockwriter_open(PlanState *node, const SortColumns *columns, bool encoded);

/*
 * The next block in the node's result slot, empty when there are no more.  It stays where it is until two more have
 * been asked for.
 */
extern TupleTableSlot *blockwriter_next(BlockWriter *writer, BlockNext next, void *arg);

/* Ends it, with the blocks that it gave out. */
extern void blockwriter_close(BlockWriter *writer);

/*
 * The row of a block without keys, formed anew in a memory context with those that stand before the block: first has
 * the values of all columns of the block's tuple, slot is one for rows.
 */
extern MinimalTuple block_row_with_keys(const BlockHeader *header, const SortColumns *columns,
										const TupleTableSlot *first, TupleTableSlot *slot, MemoryContext cxt);

/* The header of a block that came as a column's value. */
static inline BlockHeader *
block_header(Datum block)
{
	return (BlockHeader *) MAXALIGN((char *) DatumGetPointer(block) + VARHDRSZ);
}

#endif
