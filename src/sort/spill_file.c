/*
 * spill_file.c: a temporary file of pieces that are used again.
 *
 * One of the server's temporary files: it obeys temp_tablespaces and temp_file_limit, is logged by log_temp_files, and
 * is gone after an abort.  A BufFile over it would read and write 8 kB at a time; in pieces of a quarter of a megabyte
 * the kernel takes half of the time.
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "utils/wait_event.h"

#include "spill_file.h"

struct SpillFile
{
	File		file;
	Size		piece_bytes;
	uint32		pieces;			/* that the file has */
	uint64		bytes;			/* up to the end of the last one */
	uint32	   *free;			/* those that may be written again */
	uint32		nfree;
	uint32		free_size;
	char	   *buffer;
};

SpillFile *
spillfile_open(Size piece_bytes)
{
	SpillFile  *file = palloc0(sizeof(SpillFile));

	file->file = OpenTemporaryFile(false);
	file->piece_bytes = piece_bytes;
	file->free_size = 64;
	file->free = palloc(sizeof(uint32) * file->free_size);
	file->buffer = palloc(piece_bytes);
	return file;
}

void
spillfile_close(SpillFile *file)
{
	FileClose(file->file);
	pfree(file->free);
	pfree(file->buffer);
	pfree(file);
}

Size
spillfile_piece_bytes(const SpillFile *file)
{
	return file->piece_bytes;
}

char *
spillfile_buffer(SpillFile *file)
{
	return file->buffer;
}

/* Where a piece begins. */
static inline off_t
place_of(const SpillFile *file, uint32 piece)
{
	return (off_t) piece * file->piece_bytes;
}

/* Begins to take the time of a read or write, if anybody wants to know it. */
static inline void
begin_io(instr_time *start)
{
	INSTR_TIME_SET_ZERO(*start);
	if (track_io_timing)
		INSTR_TIME_SET_CURRENT(*start);
}

/* Ends it. */
static inline void
end_io(instr_time start, instr_time *sum)
{
	instr_time	now;

	if (!track_io_timing)
		return;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_ACCUM_DIFF(*sum, now, start);
}

uint32
spillfile_write(SpillFile *file, char *from, Size bytes)
{
	uint32		piece = file->nfree > 0 ? file->free[--file->nfree] : file->pieces++;
	off_t		place = place_of(file, piece);
	instr_time	start;

	begin_io(&start);
	if (FileWrite(file->file, from, bytes, place, WAIT_EVENT_BUFFILE_WRITE) != (int) bytes)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write to file \"%s\": %m", FilePathName(file->file))));
	end_io(start, &pgBufferUsage.temp_blk_write_time);
	pgBufferUsage.temp_blks_written += (bytes + BLCKSZ - 1) / BLCKSZ;
	file->bytes = Max(file->bytes, (uint64) place + bytes);
	return piece;
}

void
spillfile_read(SpillFile *file, uint32 piece, char *to, Size bytes)
{
	instr_time	start;
	int			got;

	begin_io(&start);
	got = FileRead(file->file, to, bytes, place_of(file, piece), WAIT_EVENT_BUFFILE_READ);
	if (got < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", FilePathName(file->file))));
	if (got != (int) bytes)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("could not read file \"%s\": read only %d of %zu bytes",
						FilePathName(file->file), got, bytes)));
	end_io(start, &pgBufferUsage.temp_blk_read_time);
	pgBufferUsage.temp_blks_read += (bytes + BLCKSZ - 1) / BLCKSZ;
}

void
spillfile_expect(SpillFile *file, uint32 piece, Size bytes)
{
	(void) FilePrefetch(file->file, place_of(file, piece), bytes, WAIT_EVENT_BUFFILE_READ);
}

void
spillfile_free(SpillFile *file, uint32 piece)
{
	if (file->nfree == file->free_size)
	{
		file->free_size *= 2;
		file->free = repalloc(file->free, sizeof(uint32) * file->free_size);
	}
	file->free[file->nfree++] = piece;
}

uint64
spillfile_bytes(const SpillFile *file)
{
	return file->bytes;
}
