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
 * before (segment.c: take_page); rows left out, and pages in progress (judge); no invalid LSN (take_page, age_young);
 * oldest and newest xid (note_xid), which are cleared once before the horizon, and never 2^30 transactions old
 * (age_young); the version that queries pin has the LSN that they compare (kept_table_publish: rows, then the map); the
 * look (proof.c: page_lsn); promotion (promote); another file is another table (kept_table_current).
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"

#include "src/base/compat.h"
#include "keeper.h"
#include "proof.h"

#define MAX_XID_AGE (1 << 30)

/* Pages between two looks at the clock. */
#define LOOK_PAGES 16

/* When memory was used up, new pages are tried again after this time. */
#define FULL_MS 10000

/* The part of a roll that reads pages. */
typedef struct PageReading
{
	TableRoll  *roll;
	Relation	rel;
	TransactionId horizon;
	instr_time	begun;
	BufferAccessStrategy strategy;
	SegmentWriter writer;
	bool		prepared;		/* the writer is */
	uint32		looked;
} PageReading;

/* A broken chain of copies: what was held is proved by its LSN from now on, as a young page without xids. */
static void
break_chain(KeptTable *table)
{
	for (Size word = 0; word < page_words(table->nblocks); word++)
		for (uint64 left = table->held[word]; left != 0; left &= left - 1)
		{
			BlockNumber block = (BlockNumber) (word * 64) + (BlockNumber) pg_rightmost_one_pos64(left);

			table->xids[block] = (PageXids) {0, 0};
			set_page_bit(table->young, block);
		}
	memset(table->held, 0, page_words(table->capacity) * sizeof(uint64));
	memcpy(table->spoiled, table->requested, page_words(table->capacity) * sizeof(uint64));
}

/* Lets go of a page. */
static void
release_page(KeptTable *table, BlockNumber block)
{
	clear_page_bit(table->held, block);
	clear_page_bit(table->young, block);
	kept_table_place(table, block, 0);
}

/* Lets go of pages that the table no longer has. */
static void
cut_off(KeptTable *table, BlockNumber nblocks)
{
	for (BlockNumber block = nblocks; block < table->nblocks; block++)
	{
		release_page(table, block);
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
			release_page(table, (BlockNumber) (word * 64) + (BlockNumber) pg_rightmost_one_pos64(left));
	}
}

/* Returns true if the time for reading is over. */
static bool
over_budget(PageReading *reading)
{
	instr_time	now;

	if (reading->looked++ % LOOK_PAGES != 0)
		return false;
	CHECK_FOR_INTERRUPTS();
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, reading->begun);
	return (int64) INSTR_TIME_GET_MICROSEC(now) > reading->roll->budget_us;
}

/* Clears xids that are before the horizon, and lets go of a page whose LSN is invalid or whose xids are too old. */
static void
age_young(KeptTable *table, BlockNumber block, TransactionId horizon)
{
	PageXids   *xids = &table->xids[block];

	if (XLogRecPtrIsInvalid(table->lsns[block]))
		release_page(table, block);
	else if (TransactionIdIsNormal(xids->newest) && TransactionIdPrecedes(xids->newest, horizon))
		*xids = (PageXids) {0, 0};
	else if (TransactionIdIsNormal(xids->oldest) &&
			 (int32) (XidFromFullTransactionId(ReadNextFullTransactionId()) - xids->oldest) > MAX_XID_AGE)
		release_page(table, block);
}

/* Returns a page's LSN (proof.c has this look, too, of a query). */
static XLogRecPtr
lsn_now(PageReading *reading, BlockNumber block)
{
	Buffer		buffer = ReadBufferExtended(reading->rel, MAIN_FORKNUM, block, RBM_NORMAL, reading->strategy);
	XLogRecPtr	lsn;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	lsn = BufferGetLSNAtomic(buffer);
	UnlockReleaseBuffer(buffer);
	return lsn;
}

/* Has a young page that is all-visible by this roll's copy be held, if its LSN is that of its load. */
static void
promote(PageReading *reading, BlockNumber block)
{
	KeptTable  *table = reading->roll->table;

	if (lsn_now(reading, block) != table->lsns[block])
		release_page(table, block);
	else
	{
		clear_page_bit(table->young, block);
		set_page_bit(table->held, block);
	}
}

/* Looks after young pages.  Those that are not promoted in time wait for the next roll. */
static void
tend_young(PageReading *reading)
{
	KeptTable  *table = reading->roll->table;
	bool		over = false;

	for (Size word = 0; word < page_words(table->nblocks); word++)
		for (uint64 left = table->young[word]; left != 0; left &= left - 1)
		{
			BlockNumber block = (BlockNumber) (word * 64) + (BlockNumber) pg_rightmost_one_pos64(left);

			age_young(table, block, reading->horizon);
			over = over || over_budget(reading);
			if (!over && page_bit(table->young, block) && page_bit(table->visible, block))
				promote(reading, block);
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

/* Sends what was read.  Returns false if the service fails or has no memory. */
static bool
send_segment(PageReading *reading)
{
	TableRoll  *roll = reading->roll;
	uint32		npages;
	uint32		segment;

	if (!reading->prepared || reading->writer.npages == 0)
		return true;
	if (!segment_store(&reading->writer, roll->link, roll->table->number, &segment, &npages, &roll->why))
	{
		if (roll->why == ENGINE_NO_MEMORY)
		{
			roll->why = ENGINE_OK;
			roll->table->full_ms = gsd_now_ms();
		}
		return false;
	}
	for (uint32 i = 0; i < npages; i++)
		kept_table_result(roll->table, &reading->writer.loaded[i], segment);
	return true;
}

/* Reads a page into the segment.  Returns false if the service fails or has no memory. */
static bool
read_page(PageReading *reading, BlockNumber block)
{
	KeptTable  *table = reading->roll->table;
	PageOutcome outcome;

	/* a query could not use the page for its xids, and a load would find them again */
	if (page_bit(table->young, block) && page_bit(table->wanted, block) &&
		lsn_now(reading, block) == table->lsns[block])
	{
		clear_page_bit(table->wanted, block);
		return true;
	}
	for (;;)
	{
		outcome = segment_add(&reading->writer, reading->rel, block, page_bit(table->visible, block), reading->horizon,
							  reading->strategy);
		if (outcome != PAGE_NO_ROOM)
			break;
		if (!send_segment(reading))
			return false;
	}
	clear_page_bit(table->wanted, block);
	if (outcome == PAGE_TAKEN)
	{
		set_page_bit(table->requested, block);
		clear_page_bit(table->spoiled, block);
	}
	else if (page_bit(table->visible, block))
		set_page_bit(table->refused, block);
	return true;
}

uint64
kept_table_candidates(KeptTable *table, Size word)
{
	uint64		wanted = table->wanted[word] & ~table->held[word];
	uint64		fresh = table->visible[word] & ~(table->held[word] | table->young[word]);
	uint64		chosen = (wanted | fresh) & ~table->requested[word] & ~table->refused[word];
	BlockNumber first = (BlockNumber) word * 64;

	for (BlockNumber block = first; table->sparse && block < Min(first + 64, table->nblocks); block++)
		if (kept_table_sparse(table, table->segments[block]))
			chosen |= UINT64CONST(1) << (block - first);
	if (first + 64 > table->nblocks)
		chosen &= (UINT64CONST(1) << (table->nblocks - first)) - 1;
	return chosen;
}

/* Reads one word's pages.  Returns false at the end of the time, or of the service or its memory. */
static bool
read_word(PageReading *reading, Size word)
{
	KeptTable  *table = reading->roll->table;

	for (uint64 left = kept_table_candidates(table, word); left != 0; left &= left - 1)
	{
		if (over_budget(reading) ||
			!read_page(reading, (BlockNumber) (word * 64) + (BlockNumber) pg_rightmost_one_pos64(left)))
			return false;
	}
	return true;
}

/* Reads pages from the cursor on, around the table once, as long as there is time. */
static void
read_pages(PageReading *reading)
{
	KeptTable  *table = reading->roll->table;
	Size		words = page_words(table->nblocks);
	Size		begin = table->cursor / 64 < words ? table->cursor / 64 : 0;
	Size		n;

	for (n = 0; n < words && table->full_ms == 0 && reading->roll->why == ENGINE_OK; n++)
	{
		Size		word = (begin + n) % words;

		table->cursor = (BlockNumber) word * 64;
		if (!read_word(reading, word))
			break;
	}
	if (n == words)
		table->sparse = table->loading = false;
	(void) send_segment(reading);
}

/* Has loaders read what is much, and reads what is not. */
static void
load(PageReading *reading)
{
	KeptTable  *table = reading->roll->table;
	bool		no_memory = false;

	if (table->job != NULL && !load_job_poll(table, &no_memory))
		load_job_end(table);
	if (no_memory)
		table->full_ms = gsd_now_ms();
	if (table->job == NULL && table->full_ms == 0 && table->nresults == 0)
		table->job = load_job_start(table);
	if (table->job == NULL)
		read_pages(reading);
}

/* Settles what loads have read, after a copy of the map. */
static void
settle(KeptTable *table)
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
		release_page(table, block);
		kept_table_place(table, block, table->results[i].segment);
		table->lsns[block] = page->lsn;
		table->xids[block] = (PageXids) {page->oldest, page->newest};
		set_page_bit(proved ? table->held : table->young, block);
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
	for (Size word = 0; word < words; word++)
		table->wanted[word] |= wanted[word];
	pfree(wanted);
	return true;
}

/* Prepares for the pages of this roll. */
static void
begin_reading(PageReading *reading, TableRoll *roll, Relation rel)
{
	char	   *buffer;
	Size		bytes;

	memset(reading, 0, sizeof(*reading));
	reading->roll = roll;
	reading->rel = rel;
	/* for this relation, before any of its pages is read (procarray.c: ComputeXidHorizons) */
	reading->horizon = GetOldestNonRemovableTransactionId(rel);
	INSTR_TIME_SET_CURRENT(reading->begun);
	reading->strategy = GetAccessStrategy(BAS_BULKREAD);
	buffer = store_buffer(roll->link, &bytes);
	reading->prepared = segment_init(&reading->writer, rel, roll->table->shown->columns,
									 (int) roll->table->shown->ncolumns, buffer, bytes);
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
	PageReading reading;

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
	begin_reading(&reading, roll, rel);
	tend_young(&reading);
	if (reading.prepared)
		load(&reading);
	FreeAccessStrategy(reading.strategy);
	if (roll->why != ENGINE_OK)
		return;
	/* a copy after what was read */
	if (table->nresults > 0)
		compare(table, rel);
	settle(table);
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
