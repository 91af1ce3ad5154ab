/*
 * keeper_read.c: the pages that a roll reads, in the order of their worth, as long as there is time.
 *
 *     settled    queries wanted them, and their LSN is that of the roll before
 *     wanted     queries wanted them; they may change again soon
 *     promoted   young, and all-visible by this roll's copy: one look at the LSN
 *     rest       all-visible and never wanted, or in a segment of which less than half is in use
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"

#include "src/base/compat.h"
#include "keeper.h"
#include "page_look.h"

/* Pages between two looks at the clock. */
#define LOOK_PAGES 16

/* Segments are compacted this often. */
#define COMPACT_MS 5000

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
	bool		over;			/* the time is */
	uint32		looked;
} PageReading;

/* Returns true if the time for reading is over. */
static bool
over_budget(PageReading *reading)
{
	instr_time	now;

	if (reading->over || reading->looked++ % LOOK_PAGES != 0)
		return reading->over;
	CHECK_FOR_INTERRUPTS();
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, reading->begun);
	reading->over = (int64) INSTR_TIME_GET_MICROSEC(now) > reading->roll->budget_us;
	return reading->over;
}

/* Clears xids that are before the horizon, and lets go of pages whose xids are too old to compare. */
static void
age_young(KeptTable *table, TransactionId horizon)
{
	TransactionId next = XidFromFullTransactionId(ReadNextFullTransactionId());

	for (Size word = 0; word < page_words(table->nblocks); word++)
		for (uint64 left = table->young[word] & table->dated[word]; left != 0; left &= left - 1)
		{
			BlockNumber block = (BlockNumber) (word * 64) + (BlockNumber) pg_rightmost_one_pos64(left);
			const PageXids *xids = &table->xids[block];

			if (TransactionIdPrecedes(xids->newest, horizon))
				kept_table_set_young(table, block, (PageXids) {0, 0});
			else if ((int32) (next - xids->oldest) > MAX_XID_AGE)
				kept_table_release(table, block);
		}
}

/* Looks at a page, and notes where it is. */
static PageLook
look_at(PageReading *reading, BlockNumber block)
{
	KeptTable  *table = reading->roll->table;
	PageLook	look = page_look(reading->rel, block, page_map_buffer(&table->map, block), reading->strategy);

	table->map.buffers[block] = look.buffer;
	return look;
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
	if (!segment_store(&reading->writer, &segment, &npages, &roll->why))
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
	clear_page_bit(table->compact, block);
	if (reading->writer.outgrown >= 0)
		return false;
	if (outcome == PAGE_TAKEN)
	{
		set_page_bit(table->requested, block);
		clear_page_bit(table->spoiled, block);
	}
	else if (page_bit(table->visible, block))
		set_page_bit(table->refused, block);
	return true;
}

/* Reads a page that queries wanted, unless it has changed since the roll before; its LSN is kept for the next one. */
static bool
read_settled(PageReading *reading, BlockNumber block)
{
	KeptTable  *table = reading->roll->table;
	XLogRecPtr	known = table->lsns[block];
	XLogRecPtr	now;

	if (XLogRecPtrIsInvalid(known))
		return read_page(reading, block);	/* never seen */
	now = look_at(reading, block).lsn;
	if (page_bit(table->young, block))
	{
		if (now == known)
		{
			/* a query could not use the page for its xids, and a load would find them again */
			clear_page_bit(table->wanted, block);
			return true;
		}
		kept_table_release(table, block);
	}
	table->lsns[block] = now;
	return now != known || read_page(reading, block);
}

/*
 * Has a young page that is all-visible by this roll's copy be held, if its LSN is that of its load.  A page without the
 * flag stays young: the map's bit is stale then, and a change of the page would not clear it (heapam.c).
 */
static bool
promote(PageReading *reading, BlockNumber block)
{
	KeptTable  *table = reading->roll->table;
	PageLook	look = look_at(reading, block);

	if (look.lsn != table->lsns[block])
		kept_table_release(table, block);
	else if (look.all_visible)
	{
		clear_page_bit(table->young, block);
		set_page_bit(table->held, block);
	}
	return true;
}

/* Returns which pages of a word the table has, are not being loaded, and can be held. */
static uint64
free_pages(const KeptTable *table, Size word)
{
	uint64		pages = ~(table->requested[word] | table->refused[word]);

	if ((word + 1) * 64 > table->nblocks)
		pages &= (UINT64CONST(1) << (table->nblocks - word * 64)) - 1;
	return pages;
}

/* Returns a word's pages that are not held, and wanted. */
static uint64
wanted_pages(const KeptTable *table, Size word)
{
	return table->wanted[word] & ~table->held[word] & free_pages(table, word);
}

/* Returns a word's pages that may be promoted. */
static uint64
promoted_pages(const KeptTable *table, Size word)
{
	return table->young[word] & table->visible[word];
}

/* Returns a word's pages that are worth reading though nobody wants them. */
static uint64
other_pages(const KeptTable *table, Size word)
{
	uint64		fresh = table->visible[word] & ~(table->held[word] | table->young[word]);

	return (fresh | table->compact[word]) & free_pages(table, word);
}

uint64
kept_table_candidates(const KeptTable *table, Size word)
{
	return wanted_pages(table, word) | other_pages(table, word);
}

/* What is done with pages, in the order of this list.  KeptTable has a cursor for each. */
static const struct
{
	uint64		(*pages) (const KeptTable *table, Size word);
	bool		(*act) (PageReading *reading, BlockNumber block);
	bool		reads;			/* needs memory of the service */
	bool		alone;			/* loaders do this, if there are any */
}			passes[KEPT_PASSES] =
{
	{wanted_pages, read_settled, true, false},
	{wanted_pages, read_page, true, false},
	{promoted_pages, promote, false, false},
	{other_pages, read_page, true, true}
};

/* Goes around the table once, from where the time ended before.  Returns false at the end of the time. */
static bool
run_pass(PageReading *reading, int number)
{
	KeptTable  *table = reading->roll->table;
	Size		words = page_words(table->nblocks);
	Size		begin = table->cursors[number] < words ? table->cursors[number] : 0;

	for (Size n = 0; n < words; n++)
	{
		Size		word = (begin + n) % words;

		for (uint64 left = passes[number].pages(table, word); left != 0; left &= left - 1)
		{
			table->cursors[number] = word;
			if (over_budget(reading) ||
				!passes[number].act(reading, (BlockNumber) (word * 64) + (BlockNumber) pg_rightmost_one_pos64(left)))
				return false;
		}
	}
	return true;
}

/* Runs all passes.  Returns true if there is nothing left to read. */
static bool
run_passes(PageReading *reading)
{
	KeptTable  *table = reading->roll->table;
	bool		complete = true;

	for (int i = 0; i < KEPT_PASSES && reading->roll->why == ENGINE_OK; i++)
	{
		if ((passes[i].reads && (!reading->prepared || table->full_ms != 0)) || (passes[i].alone && table->job != NULL))
			complete = false;
		else
			complete = run_pass(reading, i) && complete;
	}
	return complete;
}

/* Has loaders read what is much. */
static void
start_job(KeptTable *table)
{
	if (table->job == NULL && table->full_ms == 0)
		table->job = load_job_start(table);
}

/* Takes what loaders have read. */
static void
poll_job(KeptTable *table)
{
	bool		no_memory = false;

	if (table->job != NULL && !load_job_poll(table, &no_memory))
		load_job_end(table);
	if (no_memory)
		table->full_ms = gsd_now_ms();
}

/* Has sparse segments be read again, every now and then. */
static void
compact(KeptTable *table)
{
	int64		now = gsd_now_ms();

	if (!table->sparse || now - table->compacted_ms < COMPACT_MS)
		return;
	table->compacted_ms = now;
	table->sparse = false;
	kept_table_mark_sparse(table);
}

/* Prepares for the pages of this roll. */
static void
begin_reading(PageReading *reading, TableRoll *roll, Relation rel)
{
	memset(reading, 0, sizeof(*reading));
	reading->roll = roll;
	reading->rel = rel;
	/* for this relation, before any of its pages is read (procarray.c: ComputeXidHorizons) */
	reading->horizon = GetOldestNonRemovableTransactionId(rel);
	INSTR_TIME_SET_CURRENT(reading->begun);
	reading->strategy = GetAccessStrategy(BAS_BULKREAD);
	reading->prepared = segment_init(&reading->writer, rel, roll->table->shown->columns,
									 (int) roll->table->shown->ncolumns, roll->link, roll->table->number,
									 roll->table->dictionaries);
}

void
kept_table_read(TableRoll *roll, Relation rel)
{
	KeptTable  *table = roll->table;
	PageReading reading;
	bool		complete;

	begin_reading(&reading, roll, rel);
	age_young(table, reading.horizon);
	poll_job(table);
	compact(table);
	/* a first load is the loaders'; later, what queries want does not wait for them */
	if (table->loading)
		start_job(table);
	complete = run_passes(&reading);
	if (!table->loading)
		start_job(table);
	if (complete)
		table->loading = false;
	if (roll->why == ENGINE_OK)
		(void) send_segment(&reading);
	if (reading.writer.outgrown >= 0)
		kept_table_outgrown(table, reading.writer.outgrown, reading.writer.no_strings);
	else if (roll->why == ENGINE_OK)
		kept_table_judge_dictionaries(table, roll->link, &roll->why);
	FreeAccessStrategy(reading.strategy);
}
