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
#include "page_look.h"

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

/*
 * Fetches a page into the processor's cache of second level: tuples lie in no order that it would foresee, and the
 * first level has too few misses under way for all of a page.
 */
static inline void
fetch_page(const char *page)
{
	for (int at = 0; at < BLCKSZ; at += PG_CACHE_LINE_SIZE / 2)
		__builtin_prefetch(page + at, 0, 2);
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

/*
 * Hands the visible rows of a page that is pinned to take, unpins it, and counts it if it is in use.  Returns false if
 * no more are wanted.
 */
static bool
take_page(Relation rel, Snapshot snapshot, Buffer buffer, HeapRowsTaker take, void *arg, BlockNumber *used)
{
	HeapPageRows rows;
	bool		more;

	rows.block = BufferGetBlockNumber(buffer);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	*used += !PageIsNew(BufferGetPage(buffer));
	collect_visible(rel, snapshot, buffer, &rows);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	more = take(&rows, arg);
	ReleaseBuffer(buffer);
	return more;
}

/* Returns the first page from a block on whose bit is clear, or a number beyond the table. */
static BlockNumber
next_unproved(const PageProof *proof, BlockNumber block)
{
	while (block < proof->nblocks && (proof->proved[block / 64] >> block % 64 & 1))
		block = proof->proved[block / 64] == PG_UINT64_MAX ? (block | 63) + 1 : block + 1;
	return block;
}

/* Pins a page that is to be read soon, and has its memory fetched meanwhile. */
static Buffer
pin_ahead(Relation rel, BlockNumber block, const PageMap *map, BufferAccessStrategy strategy)
{
	Buffer		recent = map ? page_map_buffer(map, block) : InvalidBuffer;
	Buffer		buffer = page_pin(rel, block, recent, strategy);

	fetch_page(BufferGetPage(buffer));
	return buffer;
}

BlockNumber
heap_unproved_rows(Relation rel, Snapshot snapshot, const PageProof *proof, const PageMap *map, HeapRowsTaker take,
				   void *arg)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	BlockNumber block = next_unproved(proof, 0);
	Buffer		ahead = block < proof->nblocks ? pin_ahead(rel, block, map, strategy) : InvalidBuffer;
	BlockNumber pages = 0;

	while (BufferIsValid(ahead))
	{
		Buffer		buffer = ahead;

		CHECK_FOR_INTERRUPTS();
		block = next_unproved(proof, block + 1);
		ahead = block < proof->nblocks ? pin_ahead(rel, block, map, strategy) : InvalidBuffer;
		if (!take_page(rel, snapshot, buffer, take, arg, &pages))
			break;
	}
	if (BufferIsValid(ahead))
		ReleaseBuffer(ahead);
	FreeAccessStrategy(strategy);
	return pages;
}
