/*
 * spill_tape.h: a sequence of rows in a temporary file.
 */
#ifndef GPUSORT_SPILL_TAPE_H
#define GPUSORT_SPILL_TAPE_H

#include "access/htup_details.h"

#include "spill_file.h"

/* A sequence of rows, which is first written and then read. */
typedef struct RowTape
{
	SpillFile  *file;
	Size		piece_bytes;	/* of the file */
	bool		uniform;		/* all rows have one header, below, and are written without it */
	bool		both_ways;		/* read in both directions, and more than once */
	uint64		rows;			/* in all */
	uint64		next;			/* number of the row that is read next, from 0 */
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
	MinimalTupleData header;	/* uniform; last, because it ends with a flexible array */
} RowTape;

/* A place between two rows of a tape. */
typedef struct TapePlace
{
	uint32		piece;
	Size		at;
	uint64		next;
} TapePlace;

/* Begins the only tape written at a time, in the current context.  header, unless NULL, is that of all rows. */
extern RowTape *rowtape_create(SpillFile *file, const MinimalTupleData *header, bool both_ways);

/* Appends a row; of uniform rows only what follows the header. */
extern void rowtape_write(RowTape *tape, MinimalTuple row);

/* Ends writing.  Unless it goes both ways, reading frees the tape's pieces. */
extern void rowtape_end(RowTape *tape);

/* The next row, valid until the next call; NULL at the end. */
extern MinimalTuple rowtape_read(RowTape *tape);

/* Of tapes that go both ways: moves to the row before, false if there is none; to a place that rowtape_tell gave. */
extern bool rowtape_back(RowTape *tape);
extern void rowtape_tell(const RowTape *tape, TapePlace *place);
extern void rowtape_seek(RowTape *tape, const TapePlace *place);

/* Frees the tape; pieces that have not been read stay in the file. */
extern void rowtape_close(RowTape *tape);

#endif
