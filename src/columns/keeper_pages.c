/*
 * keeper_pages.c: what a roll does with a table's pages.
 *
 * At a roll both windows hold.  The visibility map is copied under the new one, and each page compared:
 *
 *     held, and set                                 stays held: the chain of copies is unbroken
 *     held, and clear                               changed
 *     read for a load, clear in a copy since        proved by its LSN alone, as a young page
 *     read for a load, and set in all copies since  held
 *     young, set, and its LSN unchanged             held (proof.c: all-visible now, with the tuples of its load)
 *
 * Rules of young pages, each where it is kept: visibility, values and LSN in one hold of the lock, by a horizon taken
 * before (segment.c: take_page); rows left out, pages in progress (judge); no invalid LSN (take_page, break_chain);
 * oldest and newest xid (note_xid), which are cleared once before the horizon, and never 2^30 transactions old
 * (keeper_read.c: age_young); the version that queries pin has the LSN that they compare (kept_table_publish: rows,
 * then the map); the look (page_look.c); promotion (promote); another file is another table (kept_table_current).
 */
#include "postgres.h"

#include "access/relation.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"

#include "src/base/compat.h"
#include "keeper.h"
#include "proof.h"

/* When memory was used up, new pages are tried again after this time. */
#define FULL_MS 10000

/* A broken chain of copies: what was held is proved by its LSN from now on, as a young page without xids. */
static void
break_chain(KeptTable *table)
{
	for (Size word = 0; word < page_words(table->nblocks); word++)
		for (uint64 left = table->held[word]; left != 0; left &= left - 1)
		{
			BlockNumber block = (BlockNumber) (word * 64) + (BlockNumber) pg_rightmost_one_pos64(left);

			if (XLogRecPtrIsInvalid(table->lsns[block]))
				kept_table_release(table, block);
			else
				kept_table_set_young(table, block, (PageXids) {0, 0});
		}
	memset(table->held, 0, page_words(table->capacity) * sizeof(uint64));
	memcpy(table->spoiled, table->requested, page_words(table->capacity) * sizeof(uint64));
}

/* Lets go of pages that the table no longer has. */
static void
cut_off(KeptTable *table, BlockNumber nblocks)
{
	for (BlockNumber block = nblocks; block < table->nblocks; block++)
	{
		kept_table_release(table, block);
		set_page_bit(table->wanted, block);
		if (page_bit(table->requested, block))
			set_page_bit(table->spoiled, block);
		clear_page_bit(table->visible, block);
	}
}

/* Copies the visibility map, and lets go of held pages whose bit is clear. */
static void
compare(KeptTable *table, Relation rel)
{
	copy_all_visible(rel, table->nblocks, table->visible);
	for (Size word = 0; word < page_words(table->nblocks); word++)
	{
		table->spoiled[word] |= table->requested[word] & ~table->visible[word];
		table->refused[word] &= table->visible[word];
		for (uint64 left = table->held[word] & ~table->visible[word]; left != 0; left &= left - 1)
			kept_table_release(table, (BlockNumber) (word * 64) + (BlockNumber) pg_rightmost_one_pos64(left));
	}
}

void
kept_table_result(KeptTable *table, const LoadedPage *page, uint32 segment)
{
	if (table->nresults == table->results_room)
	{
		uint32		room = Max(table->results_room * 2, 1024);
		PageResult *larger = MemoryContextAllocExtended(table->context, room * sizeof(PageResult), MCXT_ALLOC_HUGE);

		if (table->results != NULL)
		{
			memcpy(larger, table->results, table->nresults * sizeof(PageResult));
			pfree(table->results);
		}
		table->results = larger;
		table->results_room = room;
	}
	table->results[table->nresults++] = (PageResult) {*page, segment};
}

/* Takes over what loads have read, after a copy of the map. */
static void
take_results(KeptTable *table)
{
	for (uint32 i = 0; i < table->nresults; i++)
	{
		const LoadedPage *page = &table->results[i].page;
		BlockNumber block = page->block;
		bool		proved = page->all_visible && !page_bit(table->spoiled, block);

		clear_page_bit(table->requested, block);
		clear_page_bit(table->spoiled, block);
		if (block >= table->nblocks || (!proved && XLogRecPtrIsInvalid(page->lsn)))
			continue;
		kept_table_release(table, block);
		kept_table_place(table, block, table->results[i].segment);
		table->lsns[block] = page->lsn;
		table->map.buffers[block] = page->buffer;
		if (proved)
			set_page_bit(table->held, block);
		else
			kept_table_set_young(table, block, (PageXids) {page->oldest, page->newest});
	}
	table->nresults = 0;
	if (table->job != NULL)
		return;
	/* what was handed out and not stored, for want of memory or after an error */
	for (Size word = 0; word < page_words(table->nblocks); word++)
		table->wanted[word] |= table->requested[word];
	memset(table->requested, 0, page_words(table->capacity) * sizeof(uint64));
}

/* Fetches which pages queries had to read from the table. */
static bool
fetch_wanted(TableRoll *roll)
{
	KeptTable  *table = roll->table;
	Size		words = page_words(table->nblocks);
	uint64	   *wanted = palloc_extended((words + 1) * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	if (!store_wanted(roll->link, table->number, table->nblocks, wanted, &roll->why))
		return false;
	/* an older version lacked pages that are held now */
	for (Size word = 0; word < words; word++)
		table->wanted[word] = (table->wanted[word] | wanted[word]) & ~table->held[word];
	pfree(wanted);
	return true;
}

/* Lets go of pages that the table no longer has, and makes room for those it has now. */
static bool
follow_size(TableRoll *roll, Relation rel)
{
	KeptTable  *table = roll->table;
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);

	/* results of loads that were not published would be lost */
	if (nblocks > table->capacity && table->job == NULL && table->nresults == 0 &&
		!kept_table_grow(table, nblocks, roll->link, &roll->why))
		return false;
	nblocks = Min(nblocks, table->capacity);
	cut_off(table, nblocks);
	table->nblocks = nblocks;
	return true;
}

/* A roll of a table that is locked and open. */
static void
roll_table(TableRoll *roll, Relation rel)
{
	KeptTable  *table = roll->table;

	if (!table->unbroken)
		break_chain(table);
	table->unbroken = false;	/* until the end, lest an error comes */
	if (!follow_size(roll, rel))
		return;
	compare(table, rel);
	if (!fetch_wanted(roll))
		return;
	if (table->full_ms != 0 && gsd_now_ms() - table->full_ms > FULL_MS)
		table->full_ms = 0;
	kept_table_read(roll, rel);
	if (roll->why != ENGINE_OK)
		return;
	/* a copy after what was read */
	if (table->nresults > 0)
		compare(table, rel);
	take_results(table);
	if (kept_table_publish(table, roll->window, roll->link, &roll->why))
		table->unbroken = true;
}

/* A roll of a table, as a step. */
void
kept_table_roll(void *arg)
{
	TableRoll  *roll = arg;
	KeptTable  *table = roll->table;
	Relation	rel;

	/* whoever changes the table's definition, or drops it, goes first */
	if (!ConditionalLockRelationOid(table->relation, AccessShareLock))
	{
		table->unbroken = false;
		return;
	}
	rel = try_relation_open(table->relation, NoLock);
	if (rel == NULL || !kept_table_current(table, rel))
		table->gone = true;
	else
		roll_table(roll, rel);
	if (rel != NULL)
		relation_close(rel, NoLock);
	UnlockRelationOid(table->relation, AccessShareLock);
}
