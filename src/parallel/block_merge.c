/*
 * block_merge.c: the rows of all participants in one order, from blocks that come in the order of their first keys.
 *
 * All blocks still to come begin at the first key of the block that came last, or behind it.  So rows up to that key
 * may leave as soon as it is known, and then each participant has one block at most with rows left, whatever the number
 * of rows or of ties.  Where these rows end in each block is found by a search; what lies before is merged, and given
 * out from where it lies: where words are the keys, by the CPU engine, else two blocks at a time, without branches on
 * the keys' order as far as words tell it.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "block_merge.h"
#include "src/core/rowcompare.h"
#include "word_merge.h"

/* A block of which not all rows have left. */
typedef struct OpenBlock
{
	MinimalTuple owned;			/* the tuple around it, to be freed with it; NULL: somebody else's */
	const BlockHeader *header;	/* gone with somebody else's tuple as soon as all rows have left */
	uint32		count;			/* of rows */
	const char *rows;
	const uint64 *words;		/* NULL where rows are compared */
	const uint32 *offsets;		/* NULL where rows are bare */
	char	   *expanded;		/* its rows with their headers, where they came bare and now are not; or with keys */
	uint32		at;				/* the next row */
	uint32		end;			/* from here on rows have to wait */
} OpenBlock;

/* The blocks of a participant, the older one first. */
typedef struct Stream
{
	OpenBlock	blocks[2];
	int			nblocks;
} Stream;

/* A row to be merged. */
typedef struct MergeRow
{
	uint64		word;
	const char *row;			/* as in MergedRows */
} MergeRow;

/* A sorted part of the rows to be merged. */
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
	TupleTableSlot *slots[2];	/* of the rows compared last, where rows are compared */
	const char *in_slots[2];
	bool		any;			/* a block has come */
	BlockKeys	how;
	MinimalTuple uniform;		/* the header of bare rows, and room for the one given out last */
	uint32		stride;			/* of bare rows */

	int			nstreams;
	Stream	   *streams;
	Part	   *parts;			/* one per stream */
	MergeRow   *items[2];		/* all rows to be merged, and as much room; not where words are the keys */
	uint32		items_room;
	WordMerge  *words;			/* merges those */
	uint32		ready_room;

	const char **ready;			/* rows in order, as in MergedRows */
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
	MemoryContextSwitchTo(old);
	return merge;
}

/* A row of a block, as in MergeRow */
static inline const char *
row_of(const BlockMerge *merge, const OpenBlock *block, uint32 n)
{
	return block->offsets ? block->rows + block->offsets[n] : block->rows + (Size) n * merge->stride + MERGED_BARE;
}

/* The word that a row of a block is compared by; without words all are alike. */
static inline uint64
word_of(const OpenBlock *block, uint32 n)
{
	return block->words ? block->words[n] : 0;
}

/* A row that is not bare in a slot; the slots keep the rows that were compared last. */
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

/* Compares two rows whose words are the same. */
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

/* Is row n of a block behind a row? */
static inline bool
is_behind(BlockMerge *merge, const OpenBlock *block, uint32 n, const MergeRow *row)
{
	uint64		word = word_of(block, n);

	if (word != row->word)
		return word > row->word;
	return compare_tied(merge, merge->how, row->row, row_of(merge, block, n)) < 0;
}

/* The first row of a block that is behind a row, of those that have not left. */
static uint32
find_behind(BlockMerge *merge, const OpenBlock *block, const MergeRow *row)
{
	uint32		low = block->at;
	uint32		high = block->count;
	uint32		step = 8;

	/* mostly not far away */
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

/* Frees a block. */
static void
close_block(OpenBlock *block)
{
	if (block->owned)
		pfree(block->owned);
	if (block->expanded)
		pfree(block->expanded);
}

/* Frees the blocks that have left, all of them if so asked. */
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

/* Gives the rows of a block of bare ones their headers, which are not those of the blocks before. */
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

/* Finds out where all is in a block. */
static void
open_block(BlockMerge *merge, OpenBlock *block, const BlockHeader *header)
{
	const char *lists = (const char *) (header + 1) + header->rows_bytes;

	memset(block, 0, sizeof(*block));
	block->header = header;
	block->count = header->rows;
	block->rows = (const char *) (header + 1);
	if (block_has_words((BlockKeys) header->keys))
	{
		block->words = (const uint64 *) lists;
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

/* Lets rows leave that are not behind the first row of the block that came last. */
static void
move_ends(BlockMerge *merge, const Stream *last)
{
	const OpenBlock *newest = &last->blocks[last->nblocks - 1];
	MergeRow		first = {word_of(newest, 0), row_of(merge, newest, 0)};

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

/* The lowest rank of rows that may leave, -1 if there are none; counts the rows. */
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

/* Memory for so many elements in place of other, in the merge's context. */
static void *
other_array(BlockMerge *merge, void *array, Size bytes)
{
	if (array)
		pfree(array);
	return MemoryContextAllocZero(merge->cxt, bytes);
}

/* Makes room for rows that words tell apart. */
static void
make_room_for_words(BlockMerge *merge, uint32 count)
{
	MemoryContext old = MemoryContextSwitchTo(merge->cxt);

	if (merge->words == NULL)
		merge->words = wordmerge_open(merge->nstreams);
	wordmerge_room(merge->words, count);
	MemoryContextSwitchTo(old);
}

/* Makes room for so many rows. */
static void
make_room(BlockMerge *merge, uint32 count)
{
	if (count > merge->ready_room)
	{
		merge->ready_room = Max(count, merge->ready_room * 2);
		/* the list is read beyond its end, for rows to load */
		merge->ready = other_array(merge, merge->ready, sizeof(char *) * (merge->ready_room + MERGED_AHEAD));
	}
	if (merge->how == BLOCK_WORDS)
		make_room_for_words(merge, count);
	else if (count > merge->items_room)
	{
		merge->items_room = merge->ready_room;
		for (int i = 0; i < 2; i++)
			merge->items[i] = other_array(merge, merge->items[i], sizeof(MergeRow) * merge->items_room);
	}
}

/* Takes the rows of a block that may leave. */
static void
take_items(const BlockMerge *merge, OpenBlock *block, MergeRow *to)
{
	for (uint32 i = block->at; i < block->end; i++)
	{
		to->word = word_of(block, i);
		to->row = row_of(merge, block, i);
		to++;
	}
	block->at = block->end;
}

/* The same for the engine, to a place among what it is to merge. */
static void
take_words(const BlockMerge *merge, OpenBlock *block, uint32 place)
{
	const char **rows = merge->words->rows + place;

	memcpy(merge->words->words + place, block->words + block->at, (block->end - block->at) * sizeof(uint64));
	for (uint32 i = block->at; i < block->end; i++)
		*rows++ = row_of(merge, block, i);
	block->at = block->end;
}

/* Does an item go before one of an earlier part? */
static pg_attribute_always_inline bool
goes_before(BlockMerge *merge, BlockKeys how, const MergeRow *item, const MergeRow *earlier)
{
	if (how == BLOCK_BYTES_BEHIND && likely(item->word != earlier->word))
		return item->word < earlier->word;
	return compare_tied(merge, how, item->row, earlier->row) < 0;
}

/* Merges two parts into items, or with ready set their rows into that. */
static pg_attribute_always_inline void
merge_two(BlockMerge *merge, BlockKeys how, const Part *left, const Part *right, MergeRow *items, const char **ready)
{
	const MergeRow *a = left->items;
	const MergeRow *b = right->items;
	const MergeRow *a_end = a + left->count;
	const MergeRow *b_end = b + right->count;

	while (a < a_end && b < b_end)
	{
		bool		second = goes_before(merge, how, b, a);
		const MergeRow *from = second ? b : a;

		if (ready)
			*ready++ = from->row;
		else
			*items++ = *from;
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
		if (ready)
			*ready++ = (a++)->row;
		else
			*items++ = *a++;
	}
}

/* The same, compiled once for each kind of result. */
static pg_attribute_always_inline void
merge_by(BlockMerge *merge, BlockKeys how, const Part *left, const Part *right, MergeRow *items, const char **ready)
{
	if (ready)
		merge_two(merge, how, left, right, NULL, ready);
	else
		merge_two(merge, how, left, right, items, NULL);
}

/* The same, compiled once for each kind of keys. */
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
		case BLOCK_WORDS:		/* by the engine */
		case BLOCK_UNORDERED:
			elog(ERROR, "blocks of rows in no order cannot be merged");
	}
}

/*
 * Merges neighbouring parts two and two until the last two become the rows in order.  What is merged goes to the same
 * place in the other half of the room, so that a part without a neighbour may stay where it is.
 */
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

/* The rows of one block need no merging. */
static void
take_ready(BlockMerge *merge, OpenBlock *block)
{
	const char **to = merge->ready;

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
		if (merge->how == BLOCK_WORDS)
		{
			merge->words->starts[nparts] = place;
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
	else if (merge->how == BLOCK_WORDS)
	{
		merge->words->starts[nparts] = place;
		wordmerge_run(merge->words, nparts, merge->ready);
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
