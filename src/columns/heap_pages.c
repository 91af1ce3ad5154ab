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

/* Points a tuple at a line pointer's item. */
static void
point_at(HeapTuple tuple, Page page, BlockNumber block, OffsetNumber line)
{
	ItemId		item = PageGetItemId(page, line);

	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
	ItemPointerSet(&tuple->t_self, block, line);
}

/* Collects the line pointers of visible rows.  The page is locked. */
static int
visible_lines(Relation rel, Snapshot snapshot, Buffer buffer, OffsetNumber *lines)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	bool		all_visible = PageIsAllVisible(page) && !snapshot->takenDuringRecovery;
	HeapTupleData tuple = {.t_tableOid = RelationGetRelid(rel)};
	int			count = 0;

	for (OffsetNumber line = FirstOffsetNumber; line <= last; line++)
	{
		if (!ItemIdIsNormal(PageGetItemId(page, line)))
			continue;
		point_at(&tuple, page, BufferGetBlockNumber(buffer), line);
		if (all_visible || HeapTupleSatisfiesVisibility(&tuple, snapshot, buffer))
			lines[count++] = line;
	}
	return count;
}

int
heap_page_rows(Relation rel, Snapshot snapshot, BlockNumber block, BufferAccessStrategy strategy, HeapRowTaker take,
			   void *arg)
{
	Buffer		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
	OffsetNumber lines[MaxHeapTuplesPerPage];
	HeapTupleData tuple = {.t_tableOid = RelationGetRelid(rel)};
	int			count;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	count = visible_lines(rel, snapshot, buffer, lines);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	for (int i = 0; i < count; i++)
	{
		point_at(&tuple, BufferGetPage(buffer), block, lines[i]);
		take(&tuple, arg);
	}
	ReleaseBuffer(buffer);
	return count;
}

BlockNumber
heap_unproved_rows(Relation rel, Snapshot snapshot, BlockNumber nblocks, const uint64 *proved, HeapRowTaker take,
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
		(void) heap_page_rows(rel, snapshot, block, strategy, take, arg);
		pages++;
	}
	FreeAccessStrategy(strategy);
	return pages;
}
