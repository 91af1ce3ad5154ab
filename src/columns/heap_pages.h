/*
 * heap_pages.h: the rows of single pages of a table that a snapshot sees.
 */
#ifndef GPUSORT_HEAP_PAGES_H
#define GPUSORT_HEAP_PAGES_H

#include "access/htup_details.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/* A page's visible rows, in the order of their line pointers. */
typedef struct HeapPageRows
{
	BlockNumber block;
	int			count;
	OffsetNumber lines[MaxHeapTuplesPerPage];
	HeapTupleHeader tuples[MaxHeapTuplesPerPage];
} HeapPageRows;

/* Takes a page's rows.  The page is pinned, and not locked, meanwhile. */
typedef void (*HeapRowsTaker) (const HeapPageRows *rows, void *arg);

/*
 * Hands a page's visible rows to take.  Returns false for a page that was never used, of which a table has many after
 * it grew by several at a time; without an LSN such a page cannot be held.
 */
extern bool heap_page_rows(Relation rel, Snapshot snapshot, BlockNumber block, BufferAccessStrategy strategy,
						   HeapRowsTaker take, void *arg);

/*
 * Does so for all pages whose bits are clear in proved, in order, serving interrupts.  Returns the number of those in
 * use.
 */
extern BlockNumber heap_unproved_rows(Relation rel, Snapshot snapshot, BlockNumber nblocks, const uint64 *proved,
									  HeapRowsTaker take, void *arg);

#endif
