/*
 * loader.c: a background worker that reads a part of a table's pages into the service.
 *
 * It works in short transactions, so that nobody waits long for the table.  Who waits goes first: the next transaction
 * then does not get its lock.  A waiter cannot be seen earlier: LockHasWaiters (lock.c) does not know locks that were
 * taken on the fast path.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "src/base/compat.h"
#include "load_job.h"

PGDLLEXPORT void gpusort_loader_main(Datum arg);

/* A transaction's length, and the pause when others have the table. */
#define TRANSACTION_MS 50
#define PAUSE_MS 50

/* Words of pages that a loader takes at once: a segment has few ranges of pages, each of which is work for queries. */
#define WORDS_AT_ONCE 8

/* A loader's state. */
typedef struct Loader
{
	LoadShared *shared;
	ServiceLink *link;
	SegmentWriter writer;
	DictionaryMaps dictionaries;
	Relation	rel;
	TransactionId horizon;
	BufferAccessStrategy strategy;
	uint32		word;			/* of pages, being read */
	uint32		end;			/* of the words that it has taken */
	uint64		left;			/* its pages that are not read yet */
	bool		over;			/* all pages are read, or nobody wants them */
} Loader;

/* Records the pages of a segment. */
static void
record(Loader *loader, uint32 segment, uint32 npages)
{
	uint32		at = pg_atomic_fetch_add_u32(&loader->shared->records, npages);
	LoadRecord *records = load_records(loader->shared) + at;

	for (uint32 i = 0; i < npages; i++)
	{
		records[i].page = loader->writer.loaded[i];
		pg_write_barrier();
		pg_atomic_write_u32(&records[i].segment, segment);
	}
}

/* Sends the segment. */
static void
flush(Loader *loader)
{
	uint32		segment;
	uint32		npages;
	EngineFailure why;

	if (loader->writer.npages == 0)
		return;
	if (segment_store(&loader->writer, &segment, &npages, &why))
	{
		record(loader, segment, npages);
		return;
	}
	loader->over = true;
	if (why == ENGINE_NO_MEMORY)
		pg_atomic_write_u32(&loader->shared->no_memory, 1);
}

/* Ends the job if a column is not held in this way. */
static void
end_if_outgrown(Loader *loader)
{
	if (loader->writer.outgrown < 0)
		return;
	loader->over = true;
	pg_atomic_write_u32(&loader->shared->outgrown, LOAD_OUTGROWN(loader->writer.outgrown, loader->writer.no_strings));
}

/* Takes the next word that has pages to read.  Returns false if there is none. */
static bool
next_word(Loader *loader)
{
	uint32		words = (loader->shared->nblocks + 63) / 64;

	while (loader->left == 0)
	{
		if (++loader->word >= loader->end)
		{
			loader->word = pg_atomic_fetch_add_u32(&loader->shared->next, WORDS_AT_ONCE);
			loader->end = loader->word + WORDS_AT_ONCE;
		}
		if (loader->word >= words || pg_atomic_read_u32(&loader->shared->stop) ||
			pg_atomic_read_u32(&loader->shared->no_memory))
			return false;
		loader->left = load_pages(loader->shared)[loader->word];
	}
	return true;
}

/* Reads the pages of a word. */
static void
read_word(Loader *loader)
{
	uint64		visible = load_visible(loader->shared)[loader->word];

	for (; loader->left != 0 && !loader->over; loader->left &= loader->left - 1)
	{
		int			bit = pg_rightmost_one_pos64(loader->left);
		BlockNumber block = loader->shared->first + loader->word * 64 + (BlockNumber) bit;

		while (segment_add(&loader->writer, loader->rel, block, (visible >> bit) & 1, loader->horizon,
						   loader->strategy) == PAGE_NO_ROOM)
			flush(loader);
	}
}

/* Returns true if the relation still is what the keeper loads. */
static bool
is_current(Loader *loader)
{
	const LoadShared *shared = loader->shared;

	if (relation_filenode(loader->rel) != shared->key.filenode ||
		relation_tablespace(loader->rel) != shared->key.tablespace)
		return false;
	for (uint32 i = 0; i < shared->ncolumns; i++)
	{
		ColumnDescription now;

		if (column_describe(loader->rel, shared->columns[i].number, false, &now) != NULL ||
			!column_same(&now, &shared->columns[i]))
			return false;
	}
	return true;
}

/* Returns true if some column is one of strings. */
static bool
has_strings(const LoadShared *shared)
{
	for (uint32 i = 0; i < shared->ncolumns; i++)
		if (shared->columns[i].form == COLUMN_CODES)
			return true;
	return false;
}

/* Reads pages until the time is over. */
static void
read_some(Loader *loader)
{
	int64		begun = gsd_now_ms();
	BlockNumber nblocks = RelationGetNumberOfBlocks(loader->rel);

	/* a table that was truncated is no longer what the keeper has seen */
	if (!is_current(loader) || nblocks < loader->shared->first + loader->shared->nblocks ||
		!segment_init(&loader->writer, loader->rel, loader->shared->columns, (int) loader->shared->ncolumns,
					  loader->link, loader->shared->table, &loader->dictionaries))
	{
		loader->over = true;
		return;
	}
	/* keeps strings out of line until they are read */
	if (has_strings(loader->shared))
		PushActiveSnapshot(GetTransactionSnapshot());
	loader->horizon = GetOldestNonRemovableTransactionId(loader->rel);
	loader->strategy = GetAccessStrategy(BAS_BULKREAD);
	while (!loader->over && next_word(loader))
	{
		CHECK_FOR_INTERRUPTS();
		read_word(loader);
		end_if_outgrown(loader);
		if (gsd_now_ms() - begun > TRANSACTION_MS)
			break;
	}
	flush(loader);
	end_if_outgrown(loader);
	if (has_strings(loader->shared))
		PopActiveSnapshot();
	if (loader->left == 0 && loader->word >= (loader->shared->nblocks + 63) / 64)
		loader->over = true;
	FreeAccessStrategy(loader->strategy);
}

/* One transaction.  Returns false if the table is locked. */
static bool
transact(Loader *loader)
{
	const Oid	relation = loader->shared->key.relation;
	bool		locked;

	StartTransactionCommand();
	locked = ConditionalLockRelationOid(relation, AccessShareLock);
	loader->rel = locked ? try_relation_open(relation, NoLock) : NULL;
	if (loader->rel != NULL)
	{
		read_some(loader);
		relation_close(loader->rel, NoLock);
	}
	else if (locked)
		loader->over = true;
	CommitTransactionCommand();
	return locked;
}

/* Waits a moment for those who have locked the table. */
static void
give_way(void)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, PAUSE_MS,
					 compat_wait_event("GpusortLoader"));
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* Main function of the worker. */
void
gpusort_loader_main(Datum arg)
{
	Loader		loader = {0};
	EngineFailure why;
	dsm_segment *segment;
	Oid			database;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	memcpy(&database, MyBgworkerEntry->bgw_extra, sizeof(Oid));
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	CurrentResourceOwner = ResourceOwnerCreate(NULL, "gpusort loader");
	segment = dsm_attach(DatumGetUInt32(arg));
	if (segment == NULL)
		proc_exit(0);			/* the keeper has given up */
	dsm_pin_mapping(segment);
	loader.shared = dsm_segment_address(segment);
	loader.link = store_open_internal(true, &why);
	while (loader.link != NULL && !loader.over && !pg_atomic_read_u32(&loader.shared->stop))
		if (!transact(&loader))
			give_way();
	if (loader.link != NULL)
		store_close(loader.link);
	proc_exit(0);
}
