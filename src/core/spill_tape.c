/*
 * spill_tape.c: a sequence of rows in a temporary file.  A row is written as tuplesort writes it: its length and what
 * follows that in a MinimalTuple, and on tapes that go both ways the length once more.  Of uniform rows only the data
 * are written.  Rows cross the ends of pieces.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "spill_tape.h"

/* Bytes of a row behind its length and the padding there. */
#define ROW_BODY_BYTES(row_bytes) ((row_bytes) - MINIMAL_TUPLE_DATA_OFFSET)

/* Bytes of the data of uniform rows, which begin behind a whole MinimalTupleData. */
static inline uint32
data_bytes(const RowTape *tape)
{
	return tape->header.t_len - sizeof(MinimalTupleData);
}

RowTape *
rowtape_create(SpillFile *file, const MinimalTupleData *header, bool both_ways)
{
	RowTape    *tape = palloc0(sizeof(RowTape));

	tape->file = file;
	tape->piece_bytes = spillfile_piece_bytes(file);
	tape->both_ways = both_ways;
	tape->pieces_size = 16;
	tape->pieces = palloc(sizeof(uint32) * tape->pieces_size);
	tape->buffer = spillfile_buffer(file);
	if (header == NULL)
		return tape;
	tape->uniform = true;
	memcpy(&tape->header, header, sizeof(MinimalTupleData));
	tape->room = header->t_len;
	tape->row = palloc(tape->room);
	memcpy(tape->row, header, sizeof(MinimalTupleData));
	return tape;
}

/* Writes what the buffer holds. */
static void
write_piece(RowTape *tape)
{
	if (tape->npieces == tape->pieces_size)
	{
		tape->pieces_size *= 2;
		tape->pieces = repalloc(tape->pieces, sizeof(uint32) * tape->pieces_size);
	}
	tape->pieces[tape->npieces++] = spillfile_write(tape->file, tape->buffer, tape->at);
	tape->last_bytes = tape->at;
	tape->at = 0;
}

/* Writes bytes that the buffer has no room for. */
static void
write_across(RowTape *tape, const char *from, Size bytes)
{
	while (bytes > 0)
	{
		Size		part = Min(bytes, tape->piece_bytes - tape->at);

		memcpy(tape->buffer + tape->at, from, part);
		tape->at += part;
		from += part;
		bytes -= part;
		if (tape->at == tape->piece_bytes)
			write_piece(tape);
	}
}

/* Writes bytes, which mostly fit into the piece. */
static inline void
write_bytes(RowTape *tape, const void *from, Size bytes)
{
	if (unlikely(tape->at + bytes > tape->piece_bytes))
	{
		write_across(tape, from, bytes);
		return;
	}
	memcpy(tape->buffer + tape->at, from, bytes);
	tape->at += bytes;
}

void
rowtape_write(RowTape *tape, MinimalTuple row)
{
	tape->rows++;
	if (tape->uniform)
	{
		write_bytes(tape, (char *) row + sizeof(MinimalTupleData), data_bytes(tape));
		return;
	}
	write_bytes(tape, &row->t_len, sizeof(row->t_len));
	write_bytes(tape, (char *) row + MINIMAL_TUPLE_DATA_OFFSET, ROW_BODY_BYTES(row->t_len));
	/* for rowtape_back */
	if (tape->both_ways)
		write_bytes(tape, &row->t_len, sizeof(row->t_len));
}

void
rowtape_end(RowTape *tape)
{
	if (tape->at > 0)
		write_piece(tape);
	tape->buffer = NULL;
}

/* Bytes of a piece of a tape that has been written. */
static inline Size
bytes_of(const RowTape *tape, uint32 piece)
{
	return piece + 1 < tape->npieces ? tape->piece_bytes : tape->last_bytes;
}

/* Reads a piece into the buffer, and moves to its beginning. */
static void
load_piece(RowTape *tape, uint32 piece)
{
	if (piece >= tape->npieces)
		elog(ERROR, "gpusort temporary file ends within a row");
	if (tape->buffer == NULL)
		tape->buffer = MemoryContextAlloc(GetMemoryChunkContext(tape), tape->piece_bytes);
	tape->piece = piece;
	tape->have = bytes_of(tape, piece);
	tape->at = 0;
	spillfile_read(tape->file, tape->pieces[piece], tape->buffer, tape->have);
	if (!tape->both_ways)
		spillfile_free(tape->file, tape->pieces[piece]);
	if (piece + 1 < tape->npieces)
		spillfile_expect(tape->file, tape->pieces[piece + 1], bytes_of(tape, piece + 1));
}

/* Reads bytes of which the buffer does not have all. */
static void
read_across(RowTape *tape, char *to, Size bytes)
{
	while (bytes > 0)
	{
		Size		part;

		if (tape->at == tape->have)
			load_piece(tape, tape->buffer == NULL ? 0 : tape->piece + 1);
		part = Min(bytes, tape->have - tape->at);
		memcpy(to, tape->buffer + tape->at, part);
		tape->at += part;
		to += part;
		bytes -= part;
	}
}

/* Reads bytes, which mostly are in the piece. */
static inline void
read_bytes(RowTape *tape, void *to, Size bytes)
{
	if (unlikely(tape->at + bytes > tape->have))
	{
		read_across(tape, to, bytes);
		return;
	}
	memcpy(to, tape->buffer + tape->at, bytes);
	tape->at += bytes;
}

/* Makes room for a row, in place of the one before. */
static void
make_room(RowTape *tape, Size bytes)
{
	if (bytes <= tape->room)
		return;
	if (tape->row)
		pfree(tape->row);
	tape->room = Max(bytes, tape->room * 2);
	tape->row = MemoryContextAllocHuge(GetMemoryChunkContext(tape), tape->room);
	memset(tape->row, 0, MINIMAL_TUPLE_DATA_OFFSET);
}

MinimalTuple
rowtape_read(RowTape *tape)
{
	uint32		len;

	if (tape->next == tape->rows)
		return NULL;
	tape->next++;
	if (tape->uniform)
	{
		read_bytes(tape, (char *) tape->row + sizeof(MinimalTupleData), data_bytes(tape));
		return tape->row;
	}
	read_bytes(tape, &len, sizeof(len));
	make_room(tape, len);
	tape->row->t_len = len;
	read_bytes(tape, (char *) tape->row + MINIMAL_TUPLE_DATA_OFFSET, ROW_BODY_BYTES(len));
	if (tape->both_ways)
		read_bytes(tape, &len, sizeof(len));
	return tape->row;
}

/* Moves back by a number of bytes. */
static void
back_bytes(RowTape *tape, Size bytes)
{
	uint64		place = tape->piece * (uint64) tape->piece_bytes + tape->at;

	if (bytes > place)
		elog(ERROR, "gpusort temporary file does not begin with a row");
	place -= bytes;
	if (place / tape->piece_bytes != tape->piece)
		load_piece(tape, (uint32) (place / tape->piece_bytes));
	tape->at = place % tape->piece_bytes;
}

bool
rowtape_back(RowTape *tape)
{
	uint32		len;

	if (tape->next == 0)
		return false;
	tape->next--;
	if (tape->uniform)
	{
		back_bytes(tape, data_bytes(tape));
		return true;
	}
	back_bytes(tape, sizeof(len));
	read_bytes(tape, &len, sizeof(len));
	back_bytes(tape, ROW_BODY_BYTES(len) + 2 * sizeof(len));
	return true;
}

void
rowtape_tell(const RowTape *tape, TapePlace *place)
{
	place->piece = tape->piece;
	place->at = tape->at;
	place->next = tape->next;
}

void
rowtape_seek(RowTape *tape, const TapePlace *place)
{
	if (tape->buffer == NULL || place->piece != tape->piece)
		load_piece(tape, place->piece);
	tape->at = place->at;
	tape->next = place->next;
}

void
rowtape_close(RowTape *tape)
{
	if (tape->buffer && tape->buffer != spillfile_buffer(tape->file))
		pfree(tape->buffer);
	if (tape->row)
		pfree(tape->row);
	pfree(tape->pieces);
	pfree(tape);
}
