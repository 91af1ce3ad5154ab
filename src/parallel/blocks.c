/*
 * blocks.c: writes rows into blocks.
 *
 * A block is written in its final place: the key of its first row, then the rows in their order, and at the end the
 * lists collected meanwhile.  It ends when it is full or when the next row is of another kind: bare rows share one
 * header, and either all rows of a block or none have a NULL as first key.
 *
 * Keys that are compared and larger than a block are stored before it only, since a tuple might not hold them twice.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "src/base/compat.h"
#include "src/rows/minimal_row.h"
#include "src/cost/sort_cost.h"
#include "src/merge/key_prefix.h"
#include "blocks.h"

/* The least that a row takes: eight bytes and a key prefix. */
#define MAX_ROWS (BLOCK_BYTES / 16)

StaticAssertDecl(MAX_ROWS <= PG_UINT16_MAX, "a block's header counts its rows in 16 bits");

/* Bytes of a normalised key that are not in the row's tail: the rank, and the prefix. */
#define HEAD_BYTES (1 + sizeof(uint64))

/* A row that is to go into a block, and its key as far as it is not in writer->key. */
typedef struct NextRow
{
	MinimalTuple tuple;			/* NULL: there is none */
	uint64		prefix;
	uint8		rank;
} NextRow;

struct BlockWriter
{
	PlanState  *node;			/* that gives them out */
	KeyPrefix	reader;			/* the keys; none is encoded where rows are compared */
	TupleDesc	desc;			/* of rows */
	TupleDesc	first_desc;		/* of the columns before a block */
	Datum	   *first_values;
	bool	   *first_nulls;
	BlockKeys	how;
	MemoryContext cxt;
	StringInfoData key;			/* normalised, of the row at hand */
	bool		whole;			/* rows go with their headers */
	bool		started;
	NextRow		row;			/* that did not go into the block before */
	MinimalTuple rest;			/* what is left of a row without its keys, while it is written */

	char	   *buffers[2];		/* written in turns */
	Size		sizes[2];
	int			buffer;
	char	   *block;			/* being written */
	BlockHeader *header;
	char	   *rows;			/* its first row */
	char	   *end;			/* behind its last one */
	char	   *limit;			/* of the buffer */
	uint64		prefixes[MAX_ROWS];
	uint32		offsets[MAX_ROWS];
};

/* Describes the columns before a block. */
static TupleDesc
describe_first(const BlockWriter *writer)
{
	bool		encoded = block_has_prefixes(writer->how);
	int			columns = encoded ? 1 : writer->reader.columns.nkeys;
	TupleDesc	desc = CreateTemplateTupleDesc(columns);

	if (encoded)
		TupleDescInitEntry(desc, 1, "key", BYTEAOID, -1, 0);
	for (int i = 0; i < columns && !encoded; i++)
		TupleDescCopyEntry(desc, (AttrNumber) (i + 1), writer->desc, writer->reader.columns.attnos[i]);
	finish_descriptor(desc);
	return desc;
}

BlockWriter *
blockwriter_open(PlanState *node, const SortColumns *columns, bool encoded)
{
	MemoryContext cxt = AllocSetContextCreate(node->state->es_query_cxt, "gpusort blocks", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	BlockWriter *writer = palloc0(sizeof(BlockWriter));

	writer->node = node;
	writer->cxt = cxt;
	writer->desc = CreateTupleDescCopy(ExecGetResultType(outerPlanState(node)));
	writer->how = columns->nkeys > 0 ? BLOCK_COMPARED : BLOCK_UNORDERED;
	keyprefix_open(&writer->reader, columns, writer->desc);
	if (encoded)
	{
		keyprefix_encode(&writer->reader);
		initStringInfo(&writer->key);
		writer->how = writer->reader.single ? BLOCK_PREFIXES : BLOCK_BYTES_BEHIND;
	}
	writer->whole = writer->how == BLOCK_BYTES_BEHIND || writer->how == BLOCK_COMPARED;
	writer->first_desc = describe_first(writer);
	writer->first_values = palloc0(sizeof(Datum) * writer->first_desc->natts);
	writer->first_nulls = palloc0(sizeof(bool) * writer->first_desc->natts);
	MemoryContextSwitchTo(old);
	return writer;
}

/* Has a row all columns, without NULLs, behind the shortest header? */
static inline bool
is_plain(const BlockWriter *writer, MinimalTuple tuple)
{
	return (tuple->t_infomask & HEAP_HASNULL) == 0 && tuple->t_infomask2 == writer->desc->natts &&
		tuple->t_hoff == ROW_HEADER_BYTES + MINIMAL_TUPLE_OFFSET;
}

/* Takes the next row. */
static inline void
take_row(BlockWriter *writer, BlockNext next, void *arg)
{
	NextRow    *row = &writer->row;

	row->tuple = next(arg);
	if (unlikely(row->tuple == NULL))
		return;
	keyprefix_set_tuple(&writer->reader, row->tuple);
	switch (writer->how)
	{
		case BLOCK_PREFIXES:
			row->rank = (uint8) keyprefix_take_word(&writer->reader, &row->prefix);
			break;
		case BLOCK_BYTES_BEHIND:
			keyprefix_normalise(&writer->reader, &writer->key);
			row->rank = (uint8) writer->key.data[0];
			row->prefix = 0;
			memcpy(&row->prefix, writer->key.data + 1, Min((Size) writer->key.len - 1, sizeof(uint64)));
			row->prefix = pg_ntoh64(row->prefix);
			break;
		case BLOCK_COMPARED:
		case BLOCK_UNORDERED:
			break;
	}
}

/* Bytes of the row's key that go behind it. */
static inline Size
tail_bytes(const BlockWriter *writer)
{
	return (Size) writer->key.len > HEAD_BYTES ? (Size) writer->key.len - HEAD_BYTES : 0;
}

/* Bytes that the row at hand takes among the rows of a block. */
static inline Size
row_bytes(const BlockWriter *writer)
{
	Size		bytes = writer->row.tuple->t_len;

	if (!writer->whole)
		return MAXALIGN(bytes - ROW_HEADER_BYTES);
	bytes = MAXALIGN(bytes);
	if (writer->how == BLOCK_BYTES_BEHIND)
		bytes += MAXALIGN(offsetof(BlockTail, data) + tail_bytes(writer));
	return bytes;
}

/* Bytes that go behind the rows of a block. */
static inline Size
lists_bytes(const BlockWriter *writer, Size rows)
{
	return rows * ((block_has_prefixes(writer->how) ? sizeof(uint64) : 0) + (writer->whole ? sizeof(uint32) : 0));
}

/* Finds the values of the columns before a block, and their size. */
static Size
first_key(BlockWriter *writer)
{
	if (!block_has_prefixes(writer->how))
		for (int i = 0; i < writer->reader.columns.nkeys; i++)
			writer->first_values[i] = keyprefix_value(&writer->reader, i, &writer->first_nulls[i]);
	else
	{
		bytea	   *key;

		if (writer->how == BLOCK_PREFIXES)
			keyprefix_normalise(&writer->reader, &writer->key);
		key = palloc(VARHDRSZ + writer->key.len);
		SET_VARSIZE(key, VARHDRSZ + writer->key.len);
		memcpy(VARDATA(key), writer->key.data, writer->key.len);
		writer->first_values[0] = PointerGetDatum(key);
	}
	return heap_compute_data_size(writer->first_desc, writer->first_values, writer->first_nulls);
}

/* Turns to the other buffer and makes it as large as asked. */
static char *
turn_buffer(BlockWriter *writer, Size bytes)
{
	int			n = writer->buffer = 1 - writer->buffer;

	if (writer->sizes[n] < bytes || writer->sizes[n] > Max(bytes, BLOCK_BYTES))
	{
		if (writer->buffers[n])
			pfree(writer->buffers[n]);
		writer->buffers[n] = NULL;
		writer->sizes[n] = 0;
		writer->buffers[n] = MemoryContextAlloc(writer->cxt, Max(bytes, BLOCK_BYTES));
		writer->sizes[n] = Max(bytes, BLOCK_BYTES);
	}
	return writer->buffers[n];
}

/* Can rows like the one at hand go without their headers? */
static bool
can_be_bare(const BlockWriter *writer)
{
	MinimalTuple tuple = writer->row.tuple;

	return is_plain(writer, tuple) && tuple->t_len > ROW_HEADER_BYTES && tuple->t_len <= ROW_HEADER_BYTES + BARE_BYTES;
}

/* Leaves the keys out of the row at hand. */
static void
leave_keys_out(BlockWriter *writer)
{
	TupleTableSlot *slot = writer->reader.slot;

	ExecStoreMinimalTuple(writer->row.tuple, slot, false);
	slot_getallattrs(slot);
	for (int i = 0; i < writer->reader.columns.nkeys; i++)
		slot->tts_isnull[writer->reader.columns.attnos[i] - 1] = true;
	writer->rest = minimal_row_form(slot, writer->cxt);
	ExecClearTuple(slot);
	writer->row.tuple = writer->rest;
}

/* Begins a block with the row at hand: the tuple's header, the row's key, the block's header. */
static void
begin_block(BlockWriter *writer)
{
	int			ncolumns = writer->first_desc->natts;
	Size		key_bytes = first_key(writer);
	Size		head = MAXALIGN(SizeofMinimalTupleHeader + BITMAPLEN(ncolumns + 1));
	Size		start = INTALIGN(head + key_bytes);
	Size		rows = MAXALIGN(start + VARHDRSZ) + sizeof(BlockHeader);
	bool		without_keys = writer->how == BLOCK_COMPARED && key_bytes > BLOCK_BYTES;
	MinimalTuple tuple;
	BlockHeader *header;

	if (without_keys)
		leave_keys_out(writer);
	if (!writer->whole)
		writer->whole = !can_be_bare(writer);
	tuple = (MinimalTuple) turn_buffer(writer, rows + row_bytes(writer) + lists_bytes(writer, 1));
	memset(tuple, 0, rows);
	heap_fill_tuple(writer->first_desc, writer->first_values, writer->first_nulls, (char *) tuple + head, key_bytes,
					&tuple->t_infomask, tuple->t_bits);
	tuple->t_bits[ncolumns / 8] |= (uint8) (1 << (ncolumns % 8));
	tuple->t_infomask |= HEAP_HASNULL | HEAP_HASVARWIDTH;
	tuple->t_infomask2 = (uint16) (ncolumns + 1);
	tuple->t_hoff = (uint8) (head + MINIMAL_TUPLE_OFFSET);
	if (block_has_prefixes(writer->how))
		pfree(DatumGetPointer(writer->first_values[0]));

	header = (BlockHeader *) ((char *) tuple + rows - sizeof(BlockHeader));
	header->participant = (uint16) (ParallelWorkerNumber + 1);
	header->keys = (uint8) writer->how;
	header->rank = writer->row.rank;
	header->without_keys = without_keys;
	if (!writer->whole)
	{
		memcpy(&header->uniform, writer->row.tuple, ROW_HEADER_BYTES);
		header->stride = (uint32) row_bytes(writer);
	}
	writer->header = header;
	writer->block = (char *) tuple + start;
	writer->rows = writer->end = (char *) tuple + rows;
	writer->limit = (char *) tuple + writer->sizes[writer->buffer];
}

/* Copies a few bytes, of which there are at least eight in most rows. */
static inline void
copy_data(char *to, const char *from, Size bytes)
{
	if (unlikely(bytes < sizeof(uint64)))
	{
		memcpy(to, from, bytes);
		return;
	}
	for (Size i = 0; i + sizeof(uint64) <= bytes; i += sizeof(uint64))
		memcpy(to + i, from + i, sizeof(uint64));
	memcpy(to + bytes - sizeof(uint64), from + bytes - sizeof(uint64), sizeof(uint64));
}

/* Appends the row at hand. */
static inline void
append_row(BlockWriter *writer)
{
	BlockHeader *header = writer->header;
	MinimalTuple tuple = writer->row.tuple;
	uint32		n = header->rows++;

	writer->prefixes[n] = writer->row.prefix;
	if (!writer->whole)
		copy_data(writer->end, (char *) tuple + ROW_HEADER_BYTES, tuple->t_len - ROW_HEADER_BYTES);
	else
	{
		writer->offsets[n] = (uint32) (writer->end - writer->rows);
		memcpy(writer->end, tuple, tuple->t_len);
	}
	if (writer->how == BLOCK_BYTES_BEHIND)
	{
		BlockTail  *tail = block_tail((MinimalTuple) writer->end);

		tail->bytes = (uint32) tail_bytes(writer);
		if (tail->bytes > 0)
			memcpy(tail->data, writer->key.data + HEAD_BYTES, tail->bytes);
	}
	writer->end += row_bytes(writer);
}

/* Has the block room for the row at hand, and is the row of its kind? */
static inline bool
row_fits(BlockWriter *writer)
{
	const BlockHeader *header = writer->header;
	const NextRow *row = &writer->row;

	if (row->tuple == NULL || row->rank != header->rank || header->without_keys)
		return false;
	if (!writer->whole && memcmp(&header->uniform, row->tuple, ROW_HEADER_BYTES) != 0)
		return false;
	return header->rows < (writer->started ? MAX_ROWS : BLOCK_FIRST_ROWS) &&
		writer->end + row_bytes(writer) + lists_bytes(writer, header->rows + 1) <= writer->limit;
}

/* Completes the block. */
static MinimalTuple
end_block(BlockWriter *writer)
{
	BlockHeader *header = writer->header;
	MinimalTuple tuple = (MinimalTuple) writer->buffers[writer->buffer];

	header->rows_bytes = (uint32) (writer->end - writer->rows);
	if (block_has_prefixes(writer->how))
	{
		memcpy(writer->end, writer->prefixes, header->rows * sizeof(uint64));
		writer->end += header->rows * sizeof(uint64);
	}
	if (writer->whole)
	{
		memcpy(writer->end, writer->offsets, header->rows * sizeof(uint32));
		writer->end += header->rows * sizeof(uint32);
	}
	if (writer->rest)
		pfree(writer->rest);
	writer->rest = NULL;
	SET_VARSIZE(writer->block, writer->end - writer->block);
	tuple->t_len = (uint32) (writer->end - (char *) tuple);
	/* rows of more than one form: those that come go with their headers */
	if (!writer->whole && writer->row.tuple != NULL &&
		memcmp(&header->uniform, writer->row.tuple, ROW_HEADER_BYTES) != 0)
		writer->whole = true;
	writer->started = true;
	return tuple;
}

TupleTableSlot *
blockwriter_next(BlockWriter *writer, BlockNext next, void *arg)
{
	TupleTableSlot *slot = writer->node->ps_ResultTupleSlot;

	if (!writer->started)
		take_row(writer, next, arg);
	if (writer->row.tuple == NULL)
		return ExecClearTuple(slot);
	begin_block(writer);
	do
	{
		append_row(writer);
		take_row(writer, next, arg);
	} while (row_fits(writer));
	/* EXPLAIN is to show rows */
	if (writer->node->instrument)
		InstrUpdateTupleCount(writer->node->instrument, writer->header->rows - 1);
	return ExecStoreMinimalTuple(end_block(writer), slot, false);
}

MinimalTuple
block_row_with_keys(const BlockHeader *header, const SortColumns *columns, const TupleTableSlot *first,
					TupleTableSlot *slot, MemoryContext cxt)
{
	MinimalTuple row;

	ExecStoreMinimalTuple((MinimalTuple) (header + 1), slot, false);
	slot_getallattrs(slot);
	for (int i = 0; i < columns->nkeys; i++)
	{
		slot->tts_values[columns->attnos[i] - 1] = first->tts_values[i];
		slot->tts_isnull[columns->attnos[i] - 1] = first->tts_isnull[i];
	}
	row = minimal_row_form(slot, cxt);
	ExecClearTuple(slot);
	return row;
}

void
blockwriter_close(BlockWriter *writer)
{
	keyprefix_close(&writer->reader);
	MemoryContextDelete(writer->cxt);
}
