/*
 * runs.c: rows in temporary files (src/core/spill_tape.c), against what was written there.
 *
 * An input chooses rows, the sizes of pieces, and in which order tapes are written and read.  Half of them break the
 * file then: what is read is what was written, or there is an error.
 */
#include "server.h"

#include "commands/tablespace.h"

#include "src/core/spill_tape.h"
/* what it keeps to itself is where the bytes are that inputs break */
#include "src/core/spill_file.c"

#define MOST_ROWS 60
#define MOST_STEPS 200

/* What was written to a tape. */
typedef struct Written
{
	RowTape    *tape;
	int			rows;
	uint32		len[MOST_ROWS];
	uint8		seed[MOST_ROWS];
	int			next;			/* of the row that is read next */
} Written;

/* Makes a row again. */
static MinimalTuple
row_of(uint32 len, uint8 seed, bool uniform)
{
	MinimalTuple row = palloc0(len);

	row->t_len = len;
	for (uint32 i = uniform ? sizeof(MinimalTupleData) : MINIMAL_TUPLE_DATA_OFFSET; i < len; i++)
		((uint8 *) row)[i] = (uint8) (seed + i * 7);
	return row;
}

/* Is this the row that was written? */
static void
check_row(const Written *written, int i, MinimalTuple row)
{
	MinimalTuple right = row_of(written->len[i], written->seed[i], written->tape->uniform);

	if (row == NULL || row->t_len != right->t_len ||
		memcmp((char *) row + MINIMAL_TUPLE_DATA_OFFSET, (char *) right + MINIMAL_TUPLE_DATA_OFFSET,
			   right->t_len - MINIMAL_TUPLE_DATA_OFFSET) != 0)
		elog(ERROR, "row %d of %d is another than was written", i, written->rows);
	pfree(right);
}

/* How long a row is: some go over several pieces. */
static uint32
take_row_length(Input *input)
{
	uint8		how = take_byte(input);

	return (uint32) sizeof(MinimalTupleData) + (how < 0xf0 ? how & 31 : (how & 15) * 100 + take_byte(input));
}

/* Reads the next row of a tape, and of the last tape perhaps as well. */
static void
read_next(Written *written)
{
	MinimalTuple row = rowtape_read(written->tape);

	if ((row == NULL) != (written->next == written->rows))
		elog(ERROR, "a tape of %d rows ends at row %d, or does not", written->rows, written->next);
	if (row != NULL)
		check_row(written, written->next++, row);
}

/* Writes a tape; between its rows others are read. */
static void
write_tape(SpillFile *file, Input *input, Written *written, Written *before)
{
	uint8		how = take_byte(input);
	bool		uniform = how & 1;
	/* rows with one header have at least their key behind it */
	MinimalTuple first = row_of(take_row_length(input) + uniform, 0, true);

	memset(written, 0, sizeof(*written));
	written->tape = rowtape_create(file, uniform ? first : NULL, how & 2);
	written->rows = take_byte(input) % (MOST_ROWS + 1);
	for (int i = 0; i < written->rows; i++)
	{
		MinimalTuple row;

		written->len[i] = uniform ? first->t_len : take_row_length(input);
		written->seed[i] = take_byte(input);
		row = row_of(written->len[i], written->seed[i], uniform);
		rowtape_write(written->tape, row);
		pfree(row);
		if (before && how & 4 && before->next < before->rows)
			read_next(before);
	}
	rowtape_end(written->tape);
}

/* Goes through a tape that goes both ways. */
static void
walk(Input *input, Written *written)
{
	TapePlace	place;
	int			mark = -1;

	if (written->rows == 0)
		return;
	for (int i = 0; i < MOST_STEPS && bytes_left(input) > 0; i++)
	{
		uint8		how = take_byte(input);

		if (how < 0x80)
			read_next(written);
		else if (how < 0xc0)
		{
			if (rowtape_back(written->tape) != (written->next > 0))
				elog(ERROR, "a tape does not go back from row %d", written->next);
			written->next = Max(written->next - 1, 0);
		}
		/* a tape that has not been read has no place yet */
		else if (how < 0xe0 && written->tape->buffer != NULL)
		{
			rowtape_tell(written->tape, &place);
			mark = written->next;
		}
		else if (mark >= 0)
		{
			rowtape_seek(written->tape, &place);
			written->next = mark;
		}
	}
}

/* Breaks a file: other bits, a hole, or its end. */
static void
break_file(SpillFile *file, Input *input)
{
	uint8		how = take_byte(input);
	uint64		place = file->bytes == 0 ? 0 : (take_byte(input) | (uint64) take_byte(input) << 8) % file->bytes;
	char		bytes[64] = {0};
	int			count = 1 + take_byte(input) % 64;

	if (file->bytes == 0)
		return;
	if (how & 1)
	{
		if (FileTruncate(file->segments[0], (off_t) place, WAIT_EVENT_BUFFILE_WRITE) < 0)
			elog(ERROR, "a file is not cut");
		return;
	}
	count = (int) Min((uint64) count, file->bytes - place);
	if (how & 2)
	{
		(void) FileRead(file->segments[0], bytes, count, (off_t) place, WAIT_EVENT_BUFFILE_READ);
		for (int i = 0; i < count; i++)
			bytes[i] ^= (char) take_byte(input);
	}
	if (FileWrite(file->segments[0], bytes, count, (off_t) place, WAIT_EVENT_BUFFILE_WRITE) != count)
		elog(ERROR, "a file is not written");
}

/* Reads what is left of all tapes. */
static void
read_rest(Written *written, int count)
{
	for (int i = 0; i < count; i++)
	{
		while (written[i].next < written[i].rows)
			read_next(&written[i]);
		read_next(&written[i]);
		rowtape_close(written[i].tape);
	}
}

/* Reads them after the file was broken: an error that says so is right. */
static void
read_broken(Written *written, int count)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		read_rest(written, count);
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_DATA_CORRUPTED)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
}

void
check_runs(const uint8 *bytes, Size n)
{
	Input		input = {bytes, bytes + n};
	uint8		how = take_byte(&input);
	Written		written[3];
	int			count = 1 + (how >> 1) % 3;
	SpillFile  *file;

	PrepareTempTablespaces();
	file = spillfile_open(64 + (Size) take_byte(&input) * 3);
	for (int i = 0; i < count; i++)
		write_tape(file, &input, &written[i], i > 0 ? &written[i - 1] : NULL);
	for (int i = 0; i < count; i++)
		if (written[i].tape->both_ways)
			walk(&input, &written[i]);
	if (how & 1)
	{
		break_file(file, &input);
		read_broken(written, count);
	}
	else
		read_rest(written, count);
	spillfile_close(file);
}
