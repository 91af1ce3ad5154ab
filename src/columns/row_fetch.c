/*
 * row_fetch.c: fetches rows by their TIDs, several of a page at once.
 *
 * As heapam.c's page-at-a-time mode does: visibility is decided under one hold of the page's share lock, and rows are
 * read under the pin alone, which keeps them where they are.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "utils/spccache.h"

#include "row_fetch.h"

/* Returns the block of a row. */
static inline BlockNumber
block_of(const RowFetch *fetch, uint64 row)
{
	return (BlockNumber) (fetch->tids[row] >> 16);
}

void
row_fetch_begin(RowFetch *fetch, Relation rel, Snapshot snapshot, const uint64 *tids, uint64 count)
{
	*fetch = (RowFetch) {.rel = rel, .snapshot = snapshot, .tids = tids, .count = count, .buffer = InvalidBuffer,
	.distance = get_tablespace_io_concurrency(rel->rd_rel->reltablespace)};
}

void
row_fetch_rewind(RowFetch *fetch)
{
	if (BufferIsValid(fetch->buffer))
		ReleaseBuffer(fetch->buffer);
	fetch->buffer = InvalidBuffer;
	fetch->next = fetch->seen = fetch->ahead = 0;
	fetch->asked = 0;
	fetch->missing = false;
}

/* Asks the system for pages that come next, as bitmap scans do. */
static void
ask_ahead(RowFetch *fetch)
{
	BlockNumber last = block_of(fetch, fetch->next);

	if (fetch->ahead <= fetch->next)
	{
		fetch->ahead = fetch->next + 1;
		fetch->asked = 0;
	}
	else
	{
		last = block_of(fetch, fetch->ahead - 1);
		fetch->asked--;
	}
	for (; fetch->ahead < fetch->count && fetch->asked < fetch->distance; fetch->ahead++)
	{
		BlockNumber block = block_of(fetch, fetch->ahead);

		if (block == last)
			continue;
		(void) PrefetchBuffer(fetch->rel, MAIN_FORKNUM, block);
		fetch->asked++;
		last = block;
	}
}

/* Points to a row of a page.  Returns false if there is none. */
static bool
point_to(RowFetch *fetch, Page page, uint64 row)
{
	OffsetNumber line = (OffsetNumber) (fetch->tids[row] & 0xffff);
	ItemId		item;

	if (line < FirstOffsetNumber || line > PageGetMaxOffsetNumber(page))
		return false;
	item = PageGetItemId(page, line);
	if (!ItemIdIsNormal(item))
		return false;
	fetch->tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
	fetch->tuple.t_len = ItemIdGetLength(item);
	fetch->tuple.t_tableOid = RelationGetRelid(fetch->rel);
	ItemPointerSet(&fetch->tuple.t_self, block_of(fetch, row), line);
	return true;
}

/* Looks which of the rows from the next one on that are of its page are visible, up to one that is not. */
static void
look_at_page(RowFetch *fetch)
{
	BlockNumber block = block_of(fetch, fetch->next);
	Page		page;
	bool		all_visible;

	if (fetch->distance > 0)
		ask_ahead(fetch);
	fetch->buffer = ReleaseAndReadBuffer(fetch->buffer, fetch->rel, block);
	page = BufferGetPage(fetch->buffer);
	LockBuffer(fetch->buffer, BUFFER_LOCK_SHARE);
	all_visible = PageIsAllVisible(page) && !fetch->snapshot->takenDuringRecovery;
	for (fetch->seen = fetch->next; fetch->seen < fetch->count && block_of(fetch, fetch->seen) == block; fetch->seen++)
		if (!point_to(fetch, page, fetch->seen) ||
			!(all_visible || HeapTupleSatisfiesVisibility(&fetch->tuple, fetch->snapshot, fetch->buffer)))
			break;
	LockBuffer(fetch->buffer, BUFFER_LOCK_UNLOCK);
}

bool
row_fetch_next(RowFetch *fetch, TupleTableSlot *slot)
{
	if (fetch->next == fetch->count)
		return false;
	if (fetch->next == fetch->seen)
		look_at_page(fetch);
	fetch->missing = fetch->next == fetch->seen;
	if (fetch->missing)
		return false;
	(void) point_to(fetch, BufferGetPage(fetch->buffer), fetch->next++);
	ExecStoreBufferHeapTuple(&fetch->tuple, slot, fetch->buffer);
	return true;
}
