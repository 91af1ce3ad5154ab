/*
 * spill_file.c: reading what was written to a temporary file.
 */
#include "postgres.h"

#include "spill_file.h"

void
rewind_file(BufFile *file)
{
	if (BufFileSeek(file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not rewind gpusort temporary file: %m")));
}

/* A record is cut off. */
static void
unexpected_end(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("could not read gpusort temporary file: unexpected end of file")));
}

void
read_exact(BufFile *file, void *to, Size bytes)
{
	if (BufFileRead(file, to, bytes) != bytes)
		unexpected_end();
}

MinimalTuple
read_row(BufFile *file, char *place, uint32 len)
{
	MinimalTuple row = (MinimalTuple) place;

	memset(row, 0, MINIMAL_TUPLE_DATA_OFFSET);
	row->t_len = len;
	read_exact(file, place + MINIMAL_TUPLE_DATA_OFFSET, len - MINIMAL_TUPLE_DATA_OFFSET);
	return row;
}

bool
read_start(BufFile *file, void *to, Size bytes)
{
	size_t		got = BufFileRead(file, to, bytes);

	if (got != 0 && got != bytes)
		unexpected_end();
	return got != 0;
}
