/*
 * heap_pages.h: the rows of single pages of a table that a snapshot sees.
 */
#ifndef GPUSORT_HEAP_PAGES_H
#define GPUSORT_HEAP_PAGES_H

#include "access/htup_details.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "proof.h"

/* A page's visible rows, in the order of their line pointers. */
typedef struct HeapPageRows
{
	BlockNumber block;
	int			count;
	OffsetNumber lines[MaxHeapTuplesPerPage];
	HeapTupleHeader tuples[MaxHeapTuplesPerPage];
} HeapPageRows;

/* Takes a page's rows.  The page is pinned, and not locked, meanwhile.  Returns false to have no more. */
typedef bool (*HeapRowsTaker) (const HeapPageRows *rows, void *arg);

/*
 * Hands the visible rows of all pages that are not proved to take, in order, serving interrupts.  Pages are looked for
 * where the map, unless it is NULL, says that they were seen last.  Returns the number of pages in use: a table that
 * grew by several at a time has many that were never used, and without an LSN they cannot be held.
 */
extern BlockNumber heap_unproved_rows(Relation rel, Snapshot snapshot, const PageProof *proof, const PageMap *map,
									  HeapRowsTaker take, void *arg);

#endif
