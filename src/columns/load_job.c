/*
 * load_job.c: the keeper's side of loaders: starts them, and takes what they have read.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "port/pg_bitutils.h"
#include "storage/dsm.h"
#include "utils/memutils.h"

#include "src/base/background_worker.h"
#include "src/base/compat.h"
#include "keeper.h"
#include "load_job.h"

/* Pages that are worth a loader, and the most of one job. */
#define LOADER_PAGES 2048
#define JOB_PAGES 131072
#define MAX_LOADERS 64

/* When no worker was free, they are asked for again after this time. */
#define RETRY_MS 1000

struct LoadJob
{
	dsm_segment *segment;
	LoadShared *shared;
	uint32		taken;			/* records */
	int			nloaders;
	BackgroundWorkerHandle *loaders[MAX_LOADERS];
};

static int64 refused_ms;		/* when no worker was free */

/* Lays out the dynamic segment.  Returns its size. */
static Size
lay_out(LoadShared *shared, uint32 ncolumns, BlockNumber nblocks)
{
	Size		bits = page_words(nblocks) * sizeof(uint64);

	shared->pages_at = MAXALIGN(offsetof(LoadShared, columns) + ncolumns * sizeof(ColumnDescription));
	shared->visible_at = shared->pages_at + bits;
	shared->records_at = shared->visible_at + bits;
	return shared->records_at + nblocks * sizeof(LoadRecord);
}

/* Fills in the dynamic segment: the pages from first on that are to be read, by their words. */
static void
fill_in(LoadShared *shared, const LoadShared *layout, KeptTable *table, BlockNumber first, BlockNumber nblocks)
{
	memset(shared, 0, layout->records_at + nblocks * sizeof(LoadRecord));
	shared->pages_at = layout->pages_at;
	shared->visible_at = layout->visible_at;
	shared->records_at = layout->records_at;
	shared->key = table->shown->key;
	shared->table = table->number;
	shared->first = first;
	shared->nblocks = nblocks;
	shared->ncolumns = table->shown->ncolumns;
	pg_atomic_init_u32(&shared->next, 0);
	pg_atomic_init_u32(&shared->records, 0);
	pg_atomic_init_u32(&shared->stop, 0);
	pg_atomic_init_u32(&shared->no_memory, 0);
	pg_atomic_init_u32(&shared->outgrown, 0);
	memcpy(shared->columns, table->shown->columns, shared->ncolumns * sizeof(ColumnDescription));
	for (Size word = 0; word < page_words(nblocks); word++)
	{
		load_pages(shared)[word] = kept_table_candidates(table, first / 64 + word);
		load_visible(shared)[word] = table->visible[first / 64 + word];
	}
	for (BlockNumber i = 0; i < nblocks; i++)
		pg_atomic_init_u32(&load_records(shared)[i].segment, 0);
}

/* Registers loaders.  Returns their number. */
static int
start_loaders(LoadJob *job, int wanted)
{
	BackgroundWorker worker;

	background_worker_describe(&worker, "gpusort columns loader", "gpusort_loader_main");
	worker.bgw_flags |= BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_notify_pid = MyProcPid;
	worker.bgw_main_arg = UInt32GetDatum(dsm_segment_handle(job->segment));
	memcpy(worker.bgw_extra, &MyDatabaseId, sizeof(Oid));
	while (job->nloaders < wanted && RegisterDynamicBackgroundWorker(&worker, &job->loaders[job->nloaders]))
		job->nloaders++;
	return job->nloaders;
}

/* Chooses the pages of the next job: from the first candidate on.  Returns how many there are to read. */
static BlockNumber
choose_pages(KeptTable *table, BlockNumber *first, BlockNumber *nblocks)
{
	Size		words = page_words(table->nblocks);
	Size		begin = 0;
	BlockNumber count = 0;

	while (begin < words && kept_table_candidates(table, begin) == 0)
		begin++;
	*first = (BlockNumber) begin * 64;
	*nblocks = begin < words ? Min(table->nblocks - *first, JOB_PAGES) : 0;
	for (Size word = 0; word < page_words(*nblocks); word++)
		count += (BlockNumber) pg_popcount64(kept_table_candidates(table, begin + word));
	return count;
}

/* Marks a job's pages as handed out. */
static void
hand_out(KeptTable *table, LoadShared *shared)
{
	for (Size word = 0; word < page_words(shared->nblocks); word++)
	{
		Size		there = shared->first / 64 + word;

		table->requested[there] |= load_pages(shared)[word];
		table->spoiled[there] &= ~load_pages(shared)[word];
		table->wanted[there] &= ~load_pages(shared)[word];
	}
}

LoadJob *
load_job_start(KeptTable *table)
{
	BlockNumber first;
	BlockNumber nblocks;
	int			wanted = Min((int) (choose_pages(table, &first, &nblocks) / LOADER_PAGES), MAX_LOADERS);
	LoadShared	layout;
	Size		bytes = lay_out(&layout, table->shown->ncolumns, nblocks);
	MemoryContext old;
	LoadJob    *job;

	wanted = Min(wanted, max_parallel_maintenance_workers);
	if (wanted == 0 || gsd_now_ms() - refused_ms < RETRY_MS)
		return NULL;
	old = MemoryContextSwitchTo(table->context);
	job = palloc0(sizeof(LoadJob));
	job->segment = dsm_create(bytes, 0);
	dsm_pin_mapping(job->segment);
	job->shared = dsm_segment_address(job->segment);
	fill_in(job->shared, &layout, table, first, nblocks);
	if (start_loaders(job, wanted) == 0)
	{
		refused_ms = gsd_now_ms();
		dsm_detach(job->segment);
		pfree(job);
		job = NULL;
	}
	else
		hand_out(table, job->shared);
	MemoryContextSwitchTo(old);
	return job;
}

/* Takes the records that are written. */
static void
take_records(KeptTable *table)
{
	LoadJob    *job = table->job;
	LoadRecord *records = load_records(job->shared);

	for (; job->taken < job->shared->nblocks; job->taken++)
	{
		uint32		segment = pg_atomic_read_u32(&records[job->taken].segment);

		if (segment == 0)
			return;
		pg_read_barrier();
		kept_table_result(table, &records[job->taken].page, segment);
	}
}

bool
load_job_poll(KeptTable *table, bool *no_memory)
{
	LoadJob    *job = table->job;
	bool		running = false;
	uint32		outgrown;

	for (int i = 0; i < job->nloaders; i++)
	{
		pid_t		pid;

		running = running || GetBackgroundWorkerPid(job->loaders[i], &pid) != BGWH_STOPPED;
	}
	/* after the look: a loader writes its last record before it ends */
	take_records(table);
	outgrown = pg_atomic_read_u32(&job->shared->outgrown);
	if (outgrown != 0)
		kept_table_outgrown(table, (int) (outgrown & ~LOAD_NO_STRINGS) - 1, (outgrown & LOAD_NO_STRINGS) != 0);
	*no_memory = pg_atomic_read_u32(&job->shared->no_memory) != 0;
	return running;
}

void
load_job_stop(KeptTable *table)
{
	if (table->job != NULL)
		pg_atomic_write_u32(&table->job->shared->stop, 1);
}

void
load_job_end(KeptTable *table)
{
	LoadJob    *job = table->job;

	if (job == NULL)
		return;
	load_job_stop(table);
	dsm_detach(job->segment);
	for (int i = 0; i < job->nloaders; i++)
		pfree(job->loaders[i]);
	pfree(job);
	table->job = NULL;
}
