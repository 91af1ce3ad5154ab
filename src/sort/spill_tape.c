/*
 * spill_tape.c: rows on a logical tape of the server's.
 *
 * Tapes share one temporary file, whose blocks are used again once they have been read.  A row is its length and what
 * follows that in a MinimalTuple, as in the server's own sort; where all rows have the same header, it is the data of
 * the row alone.
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
rowtape_create(LogicalTapeSet *set, const MinimalTupleData *header, bool both_ways)
{
	RowTape    *tape = palloc0(sizeof(RowTape));

	tape->tape = LogicalTapeCreate(set);
	tape->frozen = both_ways;
	if (header == NULL)
		return tape;
	tape->uniform = true;
	memcpy(&tape->header, header, sizeof(MinimalTupleData));
	tape->room = header->t_len;
	tape->row = palloc(tape->room);
	memcpy(tape->row, header, sizeof(MinimalTupleData));
	return tape;
}

void
rowtape_write(RowTape *tape, MinimalTuple row)
{
	tape->rows++;
	if (tape->uniform)
	{
		LogicalTapeWrite(tape->tape, (char *) row + sizeof(MinimalTupleData), data_bytes(tape));
		return;
	}
	LogicalTapeWrite(tape->tape, (void *) &row->t_len, sizeof(row->t_len));
	LogicalTapeWrite(tape->tape, (char *) row + MINIMAL_TUPLE_DATA_OFFSET, ROW_BODY_BYTES(row->t_len));
	/* to be found from behind */
	if (tape->frozen)
		LogicalTapeWrite(tape->tape, (void *) &row->t_len, sizeof(row->t_len));
}

void
rowtape_rewind(RowTape *tape, Size buffer_bytes)
{
	if (tape->frozen)
		LogicalTapeFreeze(tape->tape, NULL);
	else
		LogicalTapeRewindForRead(tape->tape, buffer_bytes);
}

/* Reads what must be there. */
static void
read_exact(RowTape *tape, void *to, Size bytes)
{
	if (LogicalTapeRead(tape->tape, to, bytes) != bytes)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("could not read gpusort temporary file: unexpected end of file")));
}

/* Makes room for a row; the one that was there is lost. */
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
		read_exact(tape, (char *) tape->row + sizeof(MinimalTupleData), data_bytes(tape));
		return tape->row;
	}
	read_exact(tape, &len, sizeof(len));
	make_room(tape, len);
	tape->row->t_len = len;
	read_exact(tape, (char *) tape->row + MINIMAL_TUPLE_DATA_OFFSET, ROW_BODY_BYTES(len));
	if (tape->frozen)
		read_exact(tape, &len, sizeof(len));
	return tape->row;
}

void
rowtape_restart(RowTape *tape)
{
	LogicalTapeRewindForRead(tape->tape, 0);
	tape->next = 0;
}

/* Moves back by bytes that are there. */
static void
back_bytes(RowTape *tape, Size bytes)
{
	if (LogicalTapeBackspace(tape->tape, bytes) != bytes)
		elog(ERROR, "gpusort temporary file does not begin with a row");
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
	read_exact(tape, &len, sizeof(len));
	back_bytes(tape, ROW_BODY_BYTES(len) + 2 * sizeof(len));
	return true;
}

void
rowtape_tell(RowTape *tape, TapePlace *place)
{
	LogicalTapeTell(tape->tape, &place->block, &place->offset);
	place->next = tape->next;
}

void
rowtape_seek(RowTape *tape, const TapePlace *place)
{
	LogicalTapeSeek(tape->tape, place->block, place->offset);
	tape->next = place->next;
}

void
rowtape_close(RowTape *tape)
{
	LogicalTapeClose(tape->tape);
	if (tape->row)
		pfree(tape->row);
	pfree(tape);
}
