/*
 * spill_tape.h: rows in a temporary file, one after another.
 */
#ifndef GPUSORT_SPILL_TAPE_H
#define GPUSORT_SPILL_TAPE_H

#include "access/htup_details.h"

#include "spill_file.h"

/* Rows that are written, and then read. */
typedef struct RowTape
{
	SpillFile  *file;
	bool		uniform;		/* all rows have one header, below, and are written without it */
	bool		both_ways;		/* can be read in both directions, and more than once */
	uint64		rows;			/* in all */
	uint64		next;			/* of them to be read next */
	MinimalTuple row;			/* read last */
	Size		room;			/* for it */

	uint32	   *pieces;			/* of the file */
	uint32		npieces;
	uint32		pieces_size;
	Size		last_bytes;		/* of the last piece */
	char	   *buffer;			/* the piece being written or read, which is number piece of the tape */
	uint32		piece;
	Size		have;			/* bytes there */
	Size		at;				/* of them, the next one */
	MinimalTupleData header;	/* uniform; at the end since its bits may go on */
} RowTape;

/* Where reading a tape has come to. */
typedef struct TapePlace
{
	uint32		piece;
	Size		at;
	uint64		next;
} TapePlace;

/*
 * Begins a tape; only one of a file is written at a time.  header, unless it is NULL, is that of all rows.  Memory
 * comes from the current context.
 */
extern RowTape *rowtape_create(SpillFile *file, const MinimalTupleData *header, bool both_ways);

/* Appends a row; of rows with one header only what follows it. */
extern void rowtape_write(RowTape *tape, MinimalTuple row);

/* Ends writing.  Unless it goes both ways, the tape gives its space back as it is read. */
extern void rowtape_end(RowTape *tape);

/* The next row, valid until the next call; NULL at the end. */
extern MinimalTuple rowtape_read(RowTape *tape);

/* Of tapes that go both ways: goes back to the row before, false if there is none; to a place where one has been. */
extern bool rowtape_back(RowTape *tape);
extern void rowtape_tell(const RowTape *tape, TapePlace *place);
extern void rowtape_seek(RowTape *tape, const TapePlace *place);

/* Forgets the tape; its pieces stay the file's. */
extern void rowtape_close(RowTape *tape);

#endif
