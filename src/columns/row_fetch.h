/*
 * row_fetch.h: fetches rows by their TIDs, several of a page at once.
 */
#ifndef GPUSORT_ROW_FETCH_H
#define GPUSORT_ROW_FETCH_H

#include "access/htup_details.h"
#include "executor/tuptable.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

typedef struct RowFetch
{
	Relation	rel;
	Snapshot	snapshot;
	const uint64 *tids;			/* block above 16 bits of line pointer */
	uint64		count;
	uint64		next;
	bool		missing;		/* the snapshot does not see the next row */
	/* row_fetch.c alone */
	uint64		seen;			/* rows before this one are known to be visible */
	Buffer		buffer;			/* of the row before, pinned */
	uint64		ahead;			/* rows before this one are asked for */
	int			distance;		/* pages that are asked for in advance, at most, */
	int			asked;			/* and now */
	HeapTupleData tuple;		/* in the slot */
} RowFetch;

/* Begins. */
extern void row_fetch_begin(RowFetch *fetch, Relation rel, Snapshot snapshot, const uint64 *tids, uint64 count);

/* Stores the next row in a slot for tuples of buffers.  Returns false at the end, or if the row is missing. */
extern bool row_fetch_next(RowFetch *fetch, TupleTableSlot *slot);

/* Begins again from the first row, or ends. */
extern void row_fetch_rewind(RowFetch *fetch);

#endif
