/*
 * spill_tape.h: rows on a logical tape of the server's.
 */
#ifndef GPUSORT_SPILL_TAPE_H
#define GPUSORT_SPILL_TAPE_H

#include "access/htup_details.h"
#include "utils/logtape.h"

#include "src/compat.h"

/* Rows written one after another, then read.  A tape that ends within a row is an error, XX001. */
typedef struct RowTape
{
	LogicalTape *tape;
	bool		uniform;		/* all rows have one header, and are written without it */
	MinimalTupleData header;	/* then */
	bool		frozen;			/* can be read in both directions, and more than once */
	uint64		rows;			/* in all */
	uint64		next;			/* of them to be read next */
	MinimalTuple row;			/* read last */
	Size		room;			/* for it */
} RowTape;

/* A place on a frozen tape. */
typedef struct TapePlace
{
	tape_block	block;
	int			offset;
	uint64		next;
} TapePlace;

/*
 * Begins a tape.  header, unless it is NULL, is that of all rows; both_ways says whether it will be frozen.  Memory
 * comes from the current context.
 */
extern RowTape *rowtape_create(LogicalTapeSet *set, const MinimalTupleData *header, bool both_ways);

extern void rowtape_write(RowTape *tape, MinimalTuple row);

/* Ends writing: the tape is read once, and gives its space back as it is read; or it is frozen. */
extern void rowtape_rewind(RowTape *tape, Size buffer_bytes);

/* The next row, valid until the next call; NULL at the end. */
extern MinimalTuple rowtape_read(RowTape *tape);

/* Frozen tapes: goes to the first row; to the row before, false if there is none; to a place where one has been. */
extern void rowtape_restart(RowTape *tape);
extern bool rowtape_back(RowTape *tape);
extern void rowtape_tell(RowTape *tape, TapePlace *place);
extern void rowtape_seek(RowTape *tape, const TapePlace *place);

extern void rowtape_close(RowTape *tape);

#endif
