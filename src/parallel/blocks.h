/*
 * blocks.h: blocks that carry rows from a parallel participant to the leader, many in one tuple.  The tuple's last
 * column is the block, a bytea.  Before it is the key of the block's first row, by which Gather Merge orders blocks:
 * the normalised form, one bytea, if all encoded keys are process-independent, else the values of the sort's keys.
 * Unordered rows, as a Gather passes them, have no keys.
 */
#ifndef GPUSORT_BLOCKS_H
#define GPUSORT_BLOCKS_H

#include "access/htup_details.h"
#include "nodes/execnodes.h"

#include "src/rows/rowstore.h"
#include "src/keys/sortcolumns.h"

/* Rows of a participant's first block.  It is small, as the leader may be waiting for it. */
#define BLOCK_FIRST_ROWS 64

/* How rows of blocks are compared. */
typedef enum BlockKeys
{
	BLOCK_PREFIXES,				/* by key prefixes, which are the whole keys */
	BLOCK_BYTES_BEHIND,			/* by key prefixes, then by the bytes behind the row */
	BLOCK_COMPARED,				/* by the server's comparison functions, without prefixes */
	BLOCK_UNORDERED				/* not at all */
} BlockKeys;

/* Returns true if each row has a key prefix. */
static inline bool
block_has_prefixes(BlockKeys keys)
{
	return keys == BLOCK_PREFIXES || keys == BLOCK_BYTES_BEHIND;
}

/*
 * The header of a block, followed by its rows and two lists: if rows are compared by key prefixes, eight bytes of each
 * row's normalised key after its first one; unless rows are bare, a uint32 a row, its offset from the first one.
 */
typedef struct BlockHeader
{
	uint16		rows;
	uint16		participant;
	uint8		keys;			/* BlockKeys */
	uint8		rank;			/* whether the first key is NULL, equal for all rows of a block */
	bool		without_keys;	/* the only row has NULLs for its keys, which are before the block */
	uint32		rows_bytes;
	uint32		stride;			/* bytes of a bare row; 0: rows are MinimalTuples */
	MinimalTupleData uniform;	/* the header of bare rows */
} BlockHeader;

/* The bytes behind a row that order it among rows with an equal prefix. */
typedef struct BlockTail
{
	uint32		bytes;
	char		data[FLEXIBLE_ARRAY_MEMBER];
} BlockTail;

StaticAssertDecl(sizeof(BlockHeader) % MAXIMUM_ALIGNOF == 0, "rows follow the header");

/* Returns a row's tail. */
static inline BlockTail *
block_tail(MinimalTuple row)
{
	return (BlockTail *) ((char *) row + MAXALIGN(row->t_len));
}

typedef struct BlockWriter BlockWriter;

/* Returns the next row, valid until the next call, or NULL at the end. */
typedef MinimalTuple (*BlockNext) (void *arg);

/*
 * Begins to write the rows of a node's child, sorted by these columns or unordered, into blocks.  If encoded, a block
 * is preceded by a normalised key, else by key values.  Allocates in the query's memory.
 */
extern BlockWriter *blockwriter_open(PlanState *node, const SortColumns *columns, bool encoded);

/* Returns the next block in the node's result slot, empty at the end.  It is valid until the call after the next. */
extern TupleTableSlot *blockwriter_next(BlockWriter *writer, BlockNext next, void *arg);

/* Frees the writer with its blocks. */
extern void blockwriter_close(BlockWriter *writer);

/* Forms the row of a block without keys, in a memory context.  first: the block's tuple; slot: scratch, for rows. */
extern MinimalTuple block_row_with_keys(const BlockHeader *header, const SortColumns *columns,
										const TupleTableSlot *first, TupleTableSlot *slot, MemoryContext cxt);

/* Returns the header of a block from its bytea. */
static inline BlockHeader *
block_header(Datum block)
{
	return (BlockHeader *) MAXALIGN((char *) DatumGetPointer(block) + VARHDRSZ);
}

#endif
