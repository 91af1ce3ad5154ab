/*
 * block_merge.c: merges the rows of all participants from sorted blocks.
 *
 * Invariant: blocks arrive in order of their first keys.  Rows up to the newest block's first key can be returned as
 * soon as it arrives, so each participant has at most one block with rows left.  A search finds the end of these rows
 * in each block.  They are merged, and returned from where they lie.  If key prefixes are whole keys, the CPU engine
 * merges, otherwise parts are merged in pairs, without branches on the order of prefixes.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "block_merge.h"
#include "prefix_merge.h"
#include "src/merge/merge_proof.h"
#include "src/rows/rowcompare.h"

/* A block with rows that have not been returned. */
typedef struct OpenBlock
{
	MinimalTuple owned;			/* the tuple around it, to be freed; NULL: not owned */
	const BlockHeader *header;	/* valid until all rows have been returned, if not owned */
	uint32		count;			/* rows of the block */
	const char *rows;
	const uint64 *prefixes;		/* NULL if rows are compared */
	const uint32 *offsets;		/* NULL if rows are bare */
	char	   *expanded;		/* allocated copy of its rows: bare ones with headers added, or one with its keys */
	uint32		at;				/* next row */
	uint32		end;			/* first row that must wait */
} OpenBlock;

/* The blocks of a participant, oldest first. */
typedef struct Stream
{
	OpenBlock	blocks[2];
	int			nblocks;
} Stream;

/* A row to merge. */
typedef struct MergeRow
{
	uint64		prefix;
	const char *row;			/* as in MergedRows */
} MergeRow;

/* A sorted sequence of rows to merge. */
typedef struct Part
{
	MergeRow   *items;
	uint32		count;
} Part;

struct BlockMerge
{
	MemoryContext cxt;
	SortColumns columns;
	SortSupport comparators;
	TupleTableSlot *slots[2];	/* the rows compared last, if rows are compared */
	const char *in_slots[2];
	bool		any;			/* a block has arrived */
	BlockKeys	how;
	MinimalTuple uniform;		/* the header of bare rows, and room for the one returned last */
	uint32		stride;			/* of bare rows */

	int			nstreams;
	Stream	   *streams;
	Part	   *parts;			/* one per participant */
	MergeRow   *items[2];		/* input and output of a merge pass, unless prefixes are the whole keys */
	uint32		items_room;
	PrefixMerge *by_engine;		/* the merge if prefixes are the whole keys */
	uint32		ready_room;
	MergeProof	proof;			/* that prefixes ascend */

	const char **ready;			/* merged rows, as in MergedRows */
	BlockMergeStats stats;
};

BlockMerge *
blockmerge_open(const SortColumns *columns, TupleDesc desc, int participants)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort merge", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	BlockMerge *merge = palloc0(sizeof(BlockMerge));

	merge->cxt = cxt;
	merge->columns = *columns;
	merge->comparators = open_comparators(columns);
	for (int i = 0; i < 2; i++)
		merge->slots[i] = MakeSingleTupleTableSlot(CreateTupleDescCopy(desc), &TTSOpsMinimalTuple);
	merge->nstreams = participants;
	merge->streams = palloc0(sizeof(Stream) * participants);
	merge->parts = palloc0(sizeof(Part) * participants);
	merge->uniform = palloc0(ROW_HEADER_BYTES + BARE_BYTES);
	merge->proof.rank = -1;
	MemoryContextSwitchTo(old);
	return merge;
}

/* Returns a row of a block, as in MergeRow. */
static inline const char *
row_of(const BlockMerge *merge, const OpenBlock *block, uint32 n)
{
	return block->offsets ? block->rows + block->offsets[n] : block->rows + (Size) n * merge->stride + MERGED_BARE;
}

/* Returns the prefix of a row of a block, or 0 in a block without prefixes. */
static inline uint64
prefix_of(const OpenBlock *block, uint32 n)
{
	return block->prefixes ? block->prefixes[n] : 0;
}

/* Returns a slot with a row that is not bare.  Each slot caches the row compared last. */
static TupleTableSlot *
slot_of(BlockMerge *merge, int side, const char *row)
{
	if (merge->in_slots[side] != row)
	{
		ExecStoreMinimalTuple((MinimalTuple) row, merge->slots[side], false);
		merge->in_slots[side] = row;
	}
	return merge->slots[side];
}

/* Compares two rows with equal prefixes. */
static int
compare_tied(BlockMerge *merge, BlockKeys how, const char *a, const char *b)
{
	if (how == BLOCK_BYTES_BEHIND)
	{
		const BlockTail *x = block_tail((MinimalTuple) a);
		const BlockTail *y = block_tail((MinimalTuple) b);

		return memcmp(x->data, y->data, Min(x->bytes, y->bytes));
	}
	if (how == BLOCK_COMPARED)
		return compare_slots(merge->comparators, merge->columns.nkeys, slot_of(merge, 0, a), slot_of(merge, 1, b));
	return 0;
}

/* Returns true if row n of a block sorts after a row. */
static inline bool
is_behind(BlockMerge *merge, const OpenBlock *block, uint32 n, const MergeRow *row)
{
	uint64		prefix = prefix_of(block, n);

	if (prefix != row->prefix)
		return prefix > row->prefix;
	return compare_tied(merge, merge->how, row->row, row_of(merge, block, n)) < 0;
}

/* Finds the first remaining row of a block that sorts after a row. */
static uint32
find_behind(BlockMerge *merge, const OpenBlock *block, const MergeRow *row)
{
	uint32		low = block->at;
	uint32		high = block->count;
	uint32		step = 8;

	/* it is usually near */
	while (low + step < high && !is_behind(merge, block, low + step, row))
	{
		low += step + 1;
		step *= 2;
	}
	high = Min(high, low + step);
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (is_behind(merge, block, middle, row))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Frees a block's memory. */
static void
close_block(OpenBlock *block)
{
	if (block->owned)
		pfree(block->owned);
	if (block->expanded)
		pfree(block->expanded);
}

/* Frees the blocks whose rows have all been returned, or all blocks. */
static void
close_blocks(BlockMerge *merge, bool all)
{
	for (int i = 0; i < merge->nstreams; i++)
	{
		Stream	   *stream = &merge->streams[i];

		while (stream->nblocks > 0 && (all || stream->blocks[0].at == stream->blocks[0].count))
		{
			close_block(&stream->blocks[0]);
			stream->blocks[0] = stream->blocks[1];
			stream->nblocks--;
		}
	}
	merge->in_slots[0] = merge->in_slots[1] = NULL;
}

/* Adds headers to a block of bare rows, if these headers differ from those of earlier blocks. */
static void
expand_block(BlockMerge *merge, OpenBlock *block)
{
	const BlockHeader *header = block->header;
	Size		bytes = ROW_HEADER_BYTES + header->stride;
	char	   *memory = MemoryContextAlloc(merge->cxt, header->rows * (bytes + sizeof(uint32)));
	uint32	   *offsets = (uint32 *) (memory + header->rows * bytes);

	for (uint32 i = 0; i < header->rows; i++)
	{
		memcpy(memory + i * bytes, &header->uniform, ROW_HEADER_BYTES);
		memcpy(memory + i * bytes + ROW_HEADER_BYTES, block->rows + (Size) i * header->stride, header->stride);
		offsets[i] = (uint32) (i * bytes);
	}
	block->rows = block->expanded = memory;
	block->offsets = offsets;
}

/* Locates the parts of a block. */
static void
open_block(BlockMerge *merge, OpenBlock *block, const BlockHeader *header)
{
	const char *lists = (const char *) (header + 1) + header->rows_bytes;

	memset(block, 0, sizeof(*block));
	block->header = header;
	block->count = header->rows;
	block->rows = (const char *) (header + 1);
	if (block_has_prefixes((BlockKeys) header->keys))
	{
		block->prefixes = (const uint64 *) lists;
		lists += header->rows * sizeof(uint64);
	}
	if (header->stride == 0)
		block->offsets = (const uint32 *) lists;
	else if (merge->stride == 0)
	{
		memcpy(merge->uniform, &header->uniform, ROW_HEADER_BYTES);
		merge->stride = header->stride;
	}
	else if (memcmp(merge->uniform, &header->uniform, ROW_HEADER_BYTES) != 0)
		expand_block(merge, block);
}

/* Allows rows to be returned that do not sort after the first row of the newest block. */
static void
move_ends(BlockMerge *merge, const Stream *last)
{
	const OpenBlock *newest = &last->blocks[last->nblocks - 1];
	MergeRow		first = {prefix_of(newest, 0), row_of(merge, newest, 0)};

	for (int i = 0; i < merge->nstreams; i++)
	{
		Stream	   *stream = &merge->streams[i];
		OpenBlock  *block = &stream->blocks[0];

		if (stream->nblocks == 0 || block == newest)
			continue;
		if (stream == last || block->header->rank < newest->header->rank)
			block->end = block->count;
		else if (block->header->rank == newest->header->rank)
			block->end = find_behind(merge, block, &first);
	}
}

void
blockmerge_add(BlockMerge *merge, MinimalTuple tuple, bool owned, const TupleTableSlot *slot)
{
	static const uint32 first_place = 0;
	const BlockHeader *header = block_header(slot->tts_values[slot->tts_tupleDescriptor->natts - 1]);
	Stream	   *stream;
	OpenBlock  *block;

	if (!merge->any)
		merge->how = (BlockKeys) header->keys;
	merge->any = true;
	close_blocks(merge, false);
	if (header->keys != merge->how || header->participant >= merge->nstreams || header->rows == 0)
		elog(ERROR, "unexpected block of sorted rows");
	stream = &merge->streams[header->participant];
	if (stream->nblocks == lengthof(stream->blocks))
		elog(ERROR, "blocks of sorted rows come out of order");
	block = &stream->blocks[stream->nblocks];
	open_block(merge, block, header);
	block->owned = owned ? tuple : NULL;
	if (header->without_keys)
	{
		block->rows = block->expanded = (char *) block_row_with_keys(header, &merge->columns, slot, merge->slots[0],
																	  merge->cxt);
		block->offsets = &first_place;
	}
	stream->nblocks++;
	merge->stats.blocks++;
	move_ends(merge, stream);
}

void
blockmerge_finish(BlockMerge *merge)
{
	close_blocks(merge, false);
	for (int i = 0; i < merge->nstreams; i++)
		if (merge->streams[i].nblocks > 0)
			merge->streams[i].blocks[0].end = merge->streams[i].blocks[0].count;
}

/* Returns the lowest rank among the rows that can be returned, and their number; -1 if there are none. */
static int
lowest_rank(const BlockMerge *merge, uint32 *count)
{
	int			rank = -1;

	for (int i = 0; i < merge->nstreams; i++)
	{
		const Stream *stream = &merge->streams[i];
		const OpenBlock *block = &stream->blocks[0];

		if (stream->nblocks == 0 || block->at == block->end)
			continue;
		if (rank < 0 || block->header->rank < rank)
		{
			rank = block->header->rank;
			*count = 0;
		}
		if (block->header->rank == rank)
			*count += block->end - block->at;
	}
	return rank;
}

/* Replaces an array by a zeroed one in the merge's context. */
static void *
other_array(BlockMerge *merge, void *array, Size bytes)
{
	if (array)
		pfree(array);
	return MemoryContextAllocZero(merge->cxt, bytes);
}

/* Enlarges the arrays for a number of rows. */
static void
make_room(BlockMerge *merge, uint32 count)
{
	if (count > merge->ready_room)
	{
		merge->ready_room = Max(count, merge->ready_room * 2);
		/* prefetches read beyond the end */
		merge->ready = other_array(merge, merge->ready, sizeof(char *) * (merge->ready_room + MERGED_AHEAD));
	}
	if (merge->how == BLOCK_PREFIXES)
		prefixmerge_room(&merge->by_engine, merge->cxt, merge->nstreams, count);
	else if (count > merge->items_room)
	{
		merge->items_room = merge->ready_room;
		for (int i = 0; i < 2; i++)
			merge->items[i] = other_array(merge, merge->items[i], sizeof(MergeRow) * merge->items_room);
	}
}

/* Takes the rows of a block that can be returned. */
static void
take_items(const BlockMerge *merge, OpenBlock *block, MergeRow *to)
{
	for (uint32 i = block->at; i < block->end; i++)
	{
		to->prefix = prefix_of(block, i);
		to->row = row_of(merge, block, i);
		to++;
	}
	block->at = block->end;
}

/* Takes the rows of a block that can be returned as input of the engine, starting at place. */
static void
take_words(const BlockMerge *merge, OpenBlock *block, uint32 place)
{
	const char **rows = merge->by_engine->rows + place;

	memcpy(merge->by_engine->prefixes + place, block->prefixes + block->at, (block->end - block->at) * sizeof(uint64));
	for (uint32 i = block->at; i < block->end; i++)
		*rows++ = row_of(merge, block, i);
	block->at = block->end;
}

/* Returns true if an item sorts before one of an earlier part. */
static pg_attribute_always_inline bool
goes_before(BlockMerge *merge, BlockKeys how, const MergeRow *item, const MergeRow *earlier)
{
	if (how == BLOCK_BYTES_BEHIND && likely(item->prefix != earlier->prefix))
		return item->prefix < earlier->prefix;
	return compare_tied(merge, how, item->row, earlier->row) < 0;
}

/* Merges two parts into items.  If ready is set, writes only their rows, to ready, and proves their order. */
static pg_attribute_always_inline void
merge_two(BlockMerge *merge, BlockKeys how, const Part *left, const Part *right, MergeRow *items, const char **ready)
{
	const MergeRow *a = left->items;
	const MergeRow *b = right->items;
	const MergeRow *a_end = a + left->count;
	const MergeRow *b_end = b + right->count;
	uint64		before = merge->proof.word;
	bool		descends = false;

	while (a < a_end && b < b_end)
	{
		bool		second = goes_before(merge, how, b, a);
		const MergeRow *from = second ? b : a;

		if (ready)
			*ready++ = from->row;
		else
			*items++ = *from;
		descends |= before > from->prefix;
		before = from->prefix;
		a += !second;
		b += second;
	}
	if (a == a_end)
	{
		a = b;
		a_end = b_end;
	}
	while (a < a_end)
	{
		descends |= before > a->prefix;
		before = a->prefix;
		if (ready)
			*ready++ = (a++)->row;
		else
			*items++ = *a++;
	}
	if (ready)
		mergeproof_leave(&merge->proof, before, descends);
}

/* Specialises merge_two for each kind of output. */
static pg_attribute_always_inline void
merge_by(BlockMerge *merge, BlockKeys how, const Part *left, const Part *right, MergeRow *items, const char **ready)
{
	if (ready)
		merge_two(merge, how, left, right, NULL, ready);
	else
		merge_two(merge, how, left, right, items, NULL);
}

/* Specialises merge_by for each kind of key. */
static void
merge_parts(BlockMerge *merge, const Part *left, const Part *right, MergeRow *items, const char **ready)
{
	switch (merge->how)
	{
		case BLOCK_BYTES_BEHIND:
			merge_by(merge, BLOCK_BYTES_BEHIND, left, right, items, ready);
			break;
		case BLOCK_COMPARED:
			merge_by(merge, BLOCK_COMPARED, left, right, items, ready);
			break;
		case BLOCK_PREFIXES:		/* merged by the engine */
		case BLOCK_UNORDERED:
			elog(ERROR, "blocks of rows in no order cannot be merged");
	}
}

/* Merges neighbouring parts in pairs until two become the result.  Each part keeps its position in the other array. */
static void
merge_all(BlockMerge *merge, int nparts)
{
	Part	   *parts = merge->parts;
	int			to = 1;

	for (; nparts > 2; to = 1 - to)
	{
		uint32		place = 0;
		int			merged = 0;

		for (int i = 0; i + 1 < nparts; i += 2)
		{
			Part		part = {merge->items[to] + place, parts[i].count + parts[i + 1].count};

			merge_parts(merge, &parts[i], &parts[i + 1], part.items, NULL);
			place += part.count;
			parts[merged++] = part;
		}
		if (nparts % 2 != 0)
			parts[merged++] = parts[nparts - 1];
		nparts = merged;
	}
	merge_parts(merge, &parts[0], &parts[1], NULL, merge->ready);
}

/* Returns the rows of a single block, which need no merge. */
static void
take_ready(BlockMerge *merge, OpenBlock *block)
{
	const char **to = merge->ready;

	if (block->prefixes)
		mergeproof_words(&merge->proof, block->prefixes + block->at, block->end - block->at);
	for (uint32 i = block->at; i < block->end; i++)
		*to++ = row_of(merge, block, i);
	block->at = block->end;
}

bool
blockmerge_prepare(BlockMerge *merge, MergedRows *rows)
{
	uint32		count = 0;
	int			rank;
	int			nparts = 0;
	uint32		place = 0;
	OpenBlock  *alone = NULL;

	rank = lowest_rank(merge, &count);
	if (rank < 0)
		return false;
	make_room(merge, count);
	mergeproof_enter(&merge->proof, rank);
	for (int i = 0; i < merge->nstreams; i++)
	{
		Stream	   *stream = &merge->streams[i];
		OpenBlock  *block = &stream->blocks[0];
		Part	   *part = &merge->parts[nparts];

		if (stream->nblocks == 0 || block->at == block->end || block->header->rank != rank)
			continue;
		if (block->end - block->at == count)
		{
			alone = block;
			break;
		}
		part->count = block->end - block->at;
		if (merge->how == BLOCK_PREFIXES)
		{
			merge->by_engine->starts[nparts] = place;
			take_words(merge, block, place);
		}
		else
		{
			part->items = merge->items[0] + place;
			take_items(merge, block, part->items);
		}
		place += part->count;
		nparts++;
	}
	if (alone)
		take_ready(merge, alone);
	else if (merge->how == BLOCK_PREFIXES)
	{
		merge->by_engine->starts[nparts] = place;
		prefixmerge_run(merge->by_engine, nparts, merge->ready);
		mergeproof_words(&merge->proof, merge->by_engine->merged, count);
	}
	else
		merge_all(merge, nparts);
	rows->next = merge->ready;
	rows->end = merge->ready + count;
	rows->bare = merge->uniform;
	rows->stride = merge->stride;
	return true;
}

void
blockmerge_reset(BlockMerge *merge)
{
	close_blocks(merge, true);
	merge->any = false;
	merge->stride = 0;
	merge->proof.rank = -1;
}

void
blockmerge_close(BlockMerge *merge)
{
	close_blocks(merge, true);
	for (int i = 0; i < 2; i++)
		ExecDropSingleTupleTableSlot(merge->slots[i]);
	MemoryContextDelete(merge->cxt);
}

const BlockMergeStats *
blockmerge_stats(const BlockMerge *merge)
{
	return &merge->stats;
}
