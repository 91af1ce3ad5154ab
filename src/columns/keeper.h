/*
 * keeper.h: the keeper of a database, a background worker that holds snapshots and keeps page maps true.
 */
#ifndef GPUSORT_COLUMNS_KEEPER_H
#define GPUSORT_COLUMNS_KEEPER_H

#include "lib/ilist.h"
#include "utils/hsearch.h"

#include "choice.h"
#include "page_map.h"
#include "segment.h"
#include "shared.h"
#include "store.h"

/* ---------------------------------------------------------------- windows (keeper_window.c) */

/* Begins a transaction that lasts for many windows, and its first. */
extern void window_open(KeeperShared *keeper);

/* Takes the next window's snapshot.  Both windows hold until window_drop_previous. */
extern void window_next(KeeperShared *keeper);

/* Drops the snapshot of the window before. */
extern void window_drop_previous(KeeperShared *keeper);

/* Ends the transaction. */
extern void window_close(KeeperShared *keeper);

/* Returns the current window's serial. */
extern uint32 window_serial(const KeeperShared *keeper);

/* Returns true if another process waits for the end of this transaction. */
extern bool window_awaited(void);

/*
 * Runs a step in a subtransaction, whose error leaves the windows as they are.  Returns false after an error, which is
 * logged.  The step closes what it opened, with its locks.
 */
typedef void (*KeeperStep) (void *arg);
extern bool keeper_try(KeeperStep step, void *arg);

/* ---------------------------------------------------------------- tables */

/* The xids of a young page. */
typedef struct PageXids
{
	TransactionId oldest;
	TransactionId newest;
} PageXids;

/* A page that was read, and the segment in which its rows are. */
typedef struct PageResult
{
	LoadedPage	page;
	uint32		segment;
} PageResult;

typedef struct LoadJob LoadJob;

/* No xid is kept for more transactions, as xids are compared modulo 2^32. */
#define MAX_XID_AGE (1 << 30)

/* Kinds of pages that a roll reads. */
#define KEPT_PASSES 4

/*
 * A table that is held.  A page is held (proved by the window), young (proved by its LSN) or neither.  All arrays of
 * pages have capacity entries.
 */
typedef struct KeptTable
{
	dlist_node	node;
	MemoryContext context;
	Oid			relation;
	bool		chosen;			/* by what was read last */
	bool		gone;			/* to be dropped: the relation is another one, or no longer there */
	uint64		number;			/* in the service; 0: it is not there */
	uint64		replaces;		/* number of the table that this one is declared instead of; 0: none */
	PageMapHeader *shown;		/* what the map shows next */
	PageMap		map;
	DictionaryMaps *dictionaries;
	bool		judged;			/* its dictionaries were small enough when it was loaded */
	BlockNumber capacity;
	BlockNumber nblocks;		/* by the last copy, within capacity */
	uint64	   *held;
	uint64	   *young;
	uint64	   *dated;			/* if young, has xids */
	uint64	   *visible;		/* the last copy of the visibility map */
	uint64	   *requested;		/* handed out to a load */
	uint64	   *spoiled;		/* requested, and not visible in a copy since */
	uint64	   *wanted;			/* read from the table by queries, or not loaded yet */
	uint64	   *changed;		/* in another segment than in the published version */
	uint64	   *refused;		/* all-visible, with values that cannot be held */
	uint64	   *compact;		/* in a sparse segment, and to be read again */
	PageXids   *xids;
	XLogRecPtr *lsns;			/* as the map's after the next version; of other pages, when last looked at */
	uint32	   *segments;
	bool		unbroken;		/* copied in the roll before, so held pages remain proved */
	HTAB	   *uses;			/* of segments: pages in use */
	bool		sparse;			/* there are segments to compact */
	int64		compacted_ms;	/* when their pages were marked */
	PageResult *results;		/* loaded, and not taken over */
	uint32		nresults;
	uint32		results_room;
	Size		cursors[KEPT_PASSES];	/* words where the next passes begin */
	bool		loading;		/* the first load is under way */
	LoadJob    *job;			/* loaders at work, or NULL */
	int64		full_ms;		/* when memory was used up; 0: it was not */
	char		reason[128];	/* why it is not held */
} KeptTable;

/* Returns a page's bit. */
static inline bool
page_bit(const uint64 *bits, BlockNumber block)
{
	return (bits[block / 64] >> (block % 64)) & 1;
}

/* Sets it. */
static inline void
set_page_bit(uint64 *bits, BlockNumber block)
{
	bits[block / 64] |= UINT64CONST(1) << (block % 64);
}

/* Clears it. */
static inline void
clear_page_bit(uint64 *bits, BlockNumber block)
{
	bits[block / 64] &= ~(UINT64CONST(1) << (block % 64));
}

/* Words of the bits of pages. */
static inline Size
page_words(BlockNumber nblocks)
{
	return ((Size) nblocks + 63) / 64;
}

/* keeper_table.c: what is held of a table. */
extern KeptTable *kept_table_new(Oid relation);
extern void kept_table_free(KeptTable *table, ServiceLink *link);

/* Declares a table to the service, or takes over what it has of it.  Returns false with table->reason. */
extern bool kept_table_declare(KeptTable *table, Relation rel, const ColumnDescription *columns, int ncolumns,
							   ServiceLink *link, uint64 generation, EngineFailure *why);

/* Makes room for more pages.  Returns false if the service does not answer. */
extern bool kept_table_grow(KeptTable *table, BlockNumber nblocks, ServiceLink *link, EngineFailure *why);

/*
 * Has a table be declared anew, as a column's codes have outgrown their width, or its dictionary the memory: with wider
 * ones, or without that column.
 */
extern void kept_table_outgrown(KeptTable *table, int column, bool no_memory);

/*
 * Has a table be declared anew if a dictionary has entries for more than half of the rows: without that column, unless
 * the entries came since, most of them of strings that are gone.
 */
extern void kept_table_judge_dictionaries(KeptTable *table, ServiceLink *link, EngineFailure *why);

/* Takes over what is known of the columns of a table that is to be declared anew. */
extern void kept_table_inherit(KeptTable *table, const KeptTable *before);

/* Chooses the widths of codes, and leaves out columns that are not held.  Returns how many columns are left. */
extern int	kept_table_limit(const KeptTable *table, Relation rel, ColumnDescription *columns, int ncolumns);

/* Returns true if a relation still is what the table was declared as. */
extern bool kept_table_current(KeptTable *table, Relation rel);

/* Puts a page's rows in a segment, or (0) nowhere. */
extern void kept_table_place(KeptTable *table, BlockNumber block, uint32 segment);

/* Lets go of a page. */
extern void kept_table_release(KeptTable *table, BlockNumber block);

/* Has a page be proved by its LSN, and xids if they are valid. */
extern void kept_table_set_young(KeptTable *table, BlockNumber block, PageXids xids);

/* Has the pages of segments be read again of which less than half are in use. */
extern void kept_table_mark_sparse(KeptTable *table);

/* Publishes what has changed, under a window. */
extern bool kept_table_publish(KeptTable *table, uint32 window, ServiceLink *link, EngineFailure *why);

/* keeper_pages.c: what a roll does with a table's pages. */
typedef struct TableRoll
{
	KeptTable  *table;
	ServiceLink *link;
	uint32		window;
	int64		budget_us;		/* for reading pages */
	EngineFailure why;			/* the service failed */
} TableRoll;

extern void kept_table_roll(void *roll);

/* Records the result of a load. */
extern void kept_table_result(KeptTable *table, const LoadedPage *page, uint32 segment);

/* keeper_read.c: reads pages in the order of their worth, and has loaders read many. */
extern void kept_table_read(TableRoll *roll, Relation rel);

/*
 * Returns a word's pages that are to be read: what is not held and either all-visible or wanted, and what is in sparse
 * segments.
 */
extern uint64 kept_table_candidates(const KeptTable *table, Size word);

/* ---------------------------------------------------------------- loaders (load_job.c) */

/* Starts loaders for a table's wanted pages.  NULL: there is no worker slot, or too little to do. */
extern LoadJob *load_job_start(KeptTable *table);

/* Takes results.  Returns false when all loaders have ended. */
extern bool load_job_poll(KeptTable *table, bool *no_memory);
extern void load_job_end(KeptTable *table);

/* Tells loaders to end. */
extern void load_job_stop(KeptTable *table);

/* ---------------------------------------------------------------- choices (keeper_choice.c) */

/* The tables that this keeper holds, or tries to. */
extern dlist_head kept_tables;

/* Registers for invalidations. */
extern void keeper_choice_init(void);

/* Reads choices and requests if they may have changed.  Returns false if there are none. */
extern bool keeper_choose(ServiceLink *link, ColumnsShared *all);

/* Tells requesters how far their tables are. */
extern void keeper_report(ColumnsShared *all);

/* Has all tables be declared again, as the service is another one. */
extern void keeper_forget_service(void);

#endif
