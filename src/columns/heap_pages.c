/*
 * heap_pages.c: reads the pages that resident columns do not have, each under the query's own snapshot.
 *
 * As heapam.c's page-at-a-time mode does: the visibility of all tuples is decided under one hold of the page's share
 * lock, and they are read under the pin alone, which keeps them where they are (README in access/heap, "pruning").
 */
#include "postgres.h"

#include "access/heapam.h"
#include "miscadmin.h"

#include "heap_pages.h"

/*
 * Returns true if a snapshot sees a tuple by its hint bits alone, as most are seen.  HeapTupleSatisfiesMVCC
 * (heapam_visibility.c) answers the same: its inserter is known as committed and ended before the oldest transaction
 * that ran (snapmgr.c: XidInMVCCSnapshot), and nobody deleted it.
 */
static inline bool
is_plainly_visible(HeapTupleHeader tuple, TransactionId xmin)
{
	const uint16 bits = HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID;

	return (tuple->t_infomask & bits) == bits &&
		(HeapTupleHeaderXminFrozen(tuple) || TransactionIdPrecedes(HeapTupleHeaderGetRawXmin(tuple), xmin));
}

/* Returns true if the snapshot sees a tuple of a page that is locked. */
static bool
is_visible(Relation rel, Snapshot snapshot, Buffer buffer, ItemId item, BlockNumber block, OffsetNumber line)
{
	HeapTupleData tuple;

	tuple.t_tableOid = RelationGetRelid(rel);
	tuple.t_data = (HeapTupleHeader) PageGetItem(BufferGetPage(buffer), item);
	tuple.t_len = ItemIdGetLength(item);
	ItemPointerSet(&tuple.t_self, block, line);
	return HeapTupleSatisfiesVisibility(&tuple, snapshot, buffer);
}

/* Fetches a page into the processor's cache: tuples lie in no order that it would foresee. */
static inline void
prefetch_page(Page page)
{
	for (int at = 0; at < BLCKSZ; at += PG_CACHE_LINE_SIZE / 2)
		__builtin_prefetch(page + at);
}

/* Collects the visible rows of a page that is locked. */
static void
collect_visible(Relation rel, Snapshot snapshot, Buffer buffer, HeapPageRows *rows)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	bool		all_visible = PageIsAllVisible(page) && !snapshot->takenDuringRecovery;
	bool		by_hints = snapshot->snapshot_type == SNAPSHOT_MVCC;
	int			count = 0;

	prefetch_page(page);
	for (OffsetNumber line = FirstOffsetNumber; line <= last; line++)
	{
		ItemId		item = PageGetItemId(page, line);
		HeapTupleHeader tuple;

		if (!ItemIdIsNormal(item))
			continue;
		tuple = (HeapTupleHeader) PageGetItem(page, item);
		if (!all_visible && !(by_hints && is_plainly_visible(tuple, snapshot->xmin)) &&
			!is_visible(rel, snapshot, buffer, item, rows->block, line))
			continue;
		rows->lines[count] = line;
		rows->tuples[count++] = tuple;
	}
	rows->count = count;
}

/* Hands a page's visible rows to take, and counts it if it is in use.  Returns false if no more are wanted. */
static bool
take_page(Relation rel, Snapshot snapshot, BlockNumber block, BufferAccessStrategy strategy, HeapRowsTaker take,
		  void *arg, BlockNumber *used)
{
	Buffer		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
	HeapPageRows rows;
	bool		more;

	rows.block = block;
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	*used += !PageIsNew(BufferGetPage(buffer));
	collect_visible(rel, snapshot, buffer, &rows);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	more = take(&rows, arg);
	ReleaseBuffer(buffer);
	return more;
}

BlockNumber
heap_unproved_rows(Relation rel, Snapshot snapshot, BlockNumber nblocks, const uint64 *proved, HeapRowsTaker take,
				   void *arg)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	BlockNumber pages = 0;

	for (BlockNumber block = 0; block < nblocks; block++)
	{
		if (proved[block / 64] == PG_UINT64_MAX)
		{
			block |= 63;		/* on to the next word */
			continue;
		}
		if (proved[block / 64] >> block % 64 & 1)
			continue;
		CHECK_FOR_INTERRUPTS();
		if (!take_page(rel, snapshot, block, strategy, take, arg, &pages))
			break;
	}
	FreeAccessStrategy(strategy);
	return pages;
}
