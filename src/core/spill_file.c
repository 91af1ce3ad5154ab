/*
 * spill_file.c: a temporary file of pieces whose space is reused.  It consists of the server's temporary files, one per
 * gigabyte like a BufFile.  So it obeys temp_tablespaces and temp_file_limit, is logged by log_temp_files, and is
 * deleted after an abort.  A BufFile reads and writes 8 kB at a time; with pieces of 256 kB system calls take half of
 * the time.  The checksum of each piece is kept in memory.
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "src/base/checksum.h"
#include "spill_file.h"

/* Bytes of one of the server's files. */
#define SEGMENT_BYTES ((Size) 1024 * 1024 * 1024)

struct SpillFile
{
	ResourceOwner owner;		/* of all segments */
	File	   *segments;
	uint32		nsegments;
	uint32		segment_pieces; /* pieces of each */
	Size		piece_bytes;
	uint32		pieces;			/* in the file, free ones included */
	pg_crc32c  *sums;			/* their checksums */
	uint32		sums_size;
	uint64		bytes;			/* up to the end of the last one */
	uint32	   *free;			/* pieces whose place may be written again */
	uint32		nfree;
	uint32		free_size;
	char	   *buffer;
};

SpillFile *
spillfile_open(Size piece_bytes)
{
	SpillFile  *file = palloc0(sizeof(SpillFile));

	file->owner = CurrentResourceOwner;
	file->piece_bytes = piece_bytes;
	file->segment_pieces = (uint32) (SEGMENT_BYTES / piece_bytes);
	file->segments = palloc(sizeof(File));
	file->segments[file->nsegments++] = OpenTemporaryFile(false);
	file->free_size = 64;
	file->free = palloc(sizeof(uint32) * file->free_size);
	file->sums_size = 64;
	file->sums = palloc(sizeof(pg_crc32c) * file->sums_size);
	file->buffer = palloc(piece_bytes);
	return file;
}

void
spillfile_close(SpillFile *file)
{
	for (uint32 i = 0; i < file->nsegments; i++)
		FileClose(file->segments[i]);
	pfree(file->segments);
	pfree(file->free);
	pfree(file->sums);
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

/* The segment of a piece. */
static inline File
segment_of(const SpillFile *file, uint32 piece)
{
	return file->segments[piece / file->segment_pieces];
}

/* Where in its segment a piece begins. */
static inline off_t
place_of(const SpillFile *file, uint32 piece)
{
	return (off_t) (piece % file->segment_pieces) * file->piece_bytes;
}

/* Appends a piece to the file, in one more segment if the last one is full. */
static uint32
new_piece(SpillFile *file)
{
	if (file->pieces == file->nsegments * file->segment_pieces)
	{
		ResourceOwner old = CurrentResourceOwner;

		file->segments = repalloc(file->segments, sizeof(File) * (file->nsegments + 1));
		CurrentResourceOwner = file->owner;
		file->segments[file->nsegments] = OpenTemporaryFile(false);
		file->nsegments++;
		CurrentResourceOwner = old;
	}
	if (file->pieces == file->sums_size)
	{
		file->sums_size *= 2;
		file->sums = repalloc(file->sums, sizeof(pg_crc32c) * file->sums_size);
	}
	return file->pieces++;
}

/* Starts the clock of a read or write, if track_io_timing is on. */
static inline void
begin_io(instr_time *start)
{
	INSTR_TIME_SET_ZERO(*start);
	if (track_io_timing)
		INSTR_TIME_SET_CURRENT(*start);
}

/* Stops it. */
static inline void
end_io(instr_time start, instr_time *sum)
{
	instr_time	now;

	if (!track_io_timing)
		return;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_ACCUM_DIFF(*sum, now, start);
}

/* Writes bytes, in several calls if the system takes fewer at a time. */
static void
write_all(File file, char *from, Size bytes, off_t place)
{
	while (bytes > 0)
	{
		int			done = FileWrite(file, from, bytes, place, WAIT_EVENT_BUFFILE_WRITE);

		if (done <= 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not write to file \"%s\": %m", FilePathName(file))));
		from += done;
		place += done;
		bytes -= done;
	}
}

/* Reads bytes, fewer only at the end of the file; returns how many. */
static Size
read_all(File file, char *to, Size bytes, off_t place)
{
	Size		got = 0;

	while (got < bytes)
	{
		int			done = FileRead(file, to + got, bytes - got, place + got, WAIT_EVENT_BUFFILE_READ);

		if (done < 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read file \"%s\": %m", FilePathName(file))));
		if (done == 0)
			break;
		got += done;
	}
	return got;
}

uint32
spillfile_write(SpillFile *file, char *from, Size bytes)
{
	uint32		piece = file->nfree > 0 ? file->free[--file->nfree] : new_piece(file);
	instr_time	start;

	begin_io(&start);
	write_all(segment_of(file, piece), from, bytes, place_of(file, piece));
	end_io(start, &pgBufferUsage.temp_blk_write_time);
	pgBufferUsage.temp_blks_written += (bytes + BLCKSZ - 1) / BLCKSZ;
	file->bytes = Max(file->bytes, (uint64) piece * file->piece_bytes + bytes);
	file->sums[piece] = checksum_of(0, from, bytes);
	return piece;
}

void
spillfile_read(SpillFile *file, uint32 piece, char *to, Size bytes)
{
	instr_time	start;
	Size		got;

	begin_io(&start);
	got = read_all(segment_of(file, piece), to, bytes, place_of(file, piece));
	end_io(start, &pgBufferUsage.temp_blk_read_time);
	if (got != bytes)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("could not read file \"%s\": read only %zu of %zu bytes",
						FilePathName(segment_of(file, piece)), got, bytes)));
	if (!EQ_CRC32C(checksum_of(0, to, bytes), file->sums[piece]))
		checksum_failed(FilePathName(segment_of(file, piece)));
	pgBufferUsage.temp_blks_read += (bytes + BLCKSZ - 1) / BLCKSZ;
}

void
spillfile_expect(SpillFile *file, uint32 piece, Size bytes)
{
	(void) FilePrefetch(segment_of(file, piece), place_of(file, piece), bytes, WAIT_EVENT_BUFFILE_READ);
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
