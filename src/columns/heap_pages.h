/*
 * heap_pages.h: the rows of single pages of a table that a snapshot sees.
 */
#ifndef GPUSORT_HEAP_PAGES_H
#define GPUSORT_HEAP_PAGES_H

#include "access/htup.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/* Takes a row.  The tuple is valid during the call. */
typedef void (*HeapRowTaker) (HeapTuple tuple, void *arg);

/*
 * Hands the page's visible rows to take, in the order of their line pointers, and returns their number.  The page is
 * pinned, and not locked, meanwhile.
 */
extern int	heap_page_rows(Relation rel, Snapshot snapshot, BlockNumber block, BufferAccessStrategy strategy,
						   HeapRowTaker take, void *arg);

/*
 * Does so for all pages whose bits are clear in proved, in order, serving interrupts.  Returns the number of pages.
 */
extern BlockNumber heap_unproved_rows(Relation rel, Snapshot snapshot, BlockNumber nblocks, const uint64 *proved,
									  HeapRowTaker take, void *arg);

#endif
