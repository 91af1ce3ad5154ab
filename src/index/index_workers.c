/*
 * index_workers.c: parallel workers, each of which scans and sorts a part of a table.
 *
 * PostgreSQL has the leader scan and sort, too.  If the settings allow one more worker, that takes the leader's part
 * of the table: what the leader does alone, passing rows on, takes longest, so others should do the rest.  So the first
 * worker merges the rows of all others with its own, and the leader gets them from it.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "index_choice.h"
#include "index_merge.h"
#include "index_workers.h"
#include "src/base/compat.h"

/* Entries of the segment's table of contents. */
#define KEY_SHARED		UINT64CONST(0x6770750000000001)
#define KEY_QUEUES		UINT64CONST(0x6770750000000002)
#define KEY_QUERY		UINT64CONST(0x6770750000000003)
#define KEY_BUFFERS		UINT64CONST(0x6770750000000004)
#define KEY_WAL			UINT64CONST(0x6770750000000005)

/* A worker's queue. */
#define QUEUE_BYTES ((Size) 256 * 1024)

/* How often the leader looks how far they have scanned, if nothing wakes it. */
#define LOOK_MS 100

/* What all participants see. */
typedef struct Shared
{
	Oid			heap;
	Oid			index;
	bool		concurrent;
	int			participants;	/* that scan and sort */
	int			kilobytes;		/* maintenance_work_mem */
	slock_t		mutex;			/* for all below: */
	int			launched;		/* workers that were started; 0: not yet */
	int			scanned;		/* workers that have scanned their parts */
	uint64		rows;
	double		tuples;
	bool		broken_chain;	/* a HOT chain without an entry that old snapshots need */
	EngineKind	kind;			/* what has sorted a worker's rows */
} Shared;

/* The parallel scan behind it. */
#define SHARED_SCAN(shared) ((ParallelTableScanDesc) ((char *) (shared) + BUFFERALIGN(sizeof(Shared))))

struct IndexWorkers
{
	Relation	heap;
	const IndexForm *form;
	ParallelContext *pcxt;
	Shared	   *shared;
	Snapshot	snapshot;
	BufferUsage *buffers;		/* of each worker */
	WalUsage   *wal;
	shm_mq_handle *queue;		/* of the first worker, which has the rows of all */
	IndexMerge *merge;
};

PGDLLEXPORT void gpusort_index_worker(dsm_segment *segment, shm_toc *toc);

/* The text of the query, for pg_stat_activity. */
static const char *
query_text(void)
{
	return debug_query_string ? debug_query_string : "";
}

/* Makes room for all that workers need. */
static void
estimate(IndexWorkers *w, int workers)
{
	shm_toc_estimator *e = &w->pcxt->estimator;

	shm_toc_estimate_chunk(e, add_size(BUFFERALIGN(sizeof(Shared)), table_parallelscan_estimate(w->heap, w->snapshot)));
	shm_toc_estimate_chunk(e, mul_size(QUEUE_BYTES, workers));
	shm_toc_estimate_chunk(e, strlen(query_text()) + 1);
	shm_toc_estimate_chunk(e, mul_size(sizeof(BufferUsage), workers));
	shm_toc_estimate_chunk(e, mul_size(sizeof(WalUsage), workers));
	shm_toc_estimate_keys(e, 5);
}

/* Allocates a part of the segment. */
static void *
allocate(IndexWorkers *w, uint64 key, Size bytes)
{
	void	   *part = shm_toc_allocate(w->pcxt->toc, bytes);

	memset(part, 0, bytes);
	shm_toc_insert(w->pcxt->toc, key, part);
	return part;
}

/* Fills the segment in with what describes the build. */
static void
describe(IndexWorkers *w, Relation index, const IndexInfo *info, int participants, int workers)
{
	Size		scan_bytes = table_parallelscan_estimate(w->heap, w->snapshot);
	Shared	   *shared = allocate(w, KEY_SHARED, BUFFERALIGN(sizeof(Shared)) + scan_bytes);

	shared->heap = RelationGetRelid(w->heap);
	shared->index = RelationGetRelid(index);
	shared->concurrent = info->ii_Concurrent;
	shared->participants = participants;
	shared->kilobytes = maintenance_work_mem;
	SpinLockInit(&shared->mutex);
	table_parallelscan_initialize(w->heap, SHARED_SCAN(shared), w->snapshot);
	/* from the first block on: each participant's blocks ascend */
	SHARED_SCAN(shared)->phs_syncscan = false;
	w->shared = shared;
	w->buffers = allocate(w, KEY_BUFFERS, mul_size(sizeof(BufferUsage), workers));
	w->wal = allocate(w, KEY_WAL, mul_size(sizeof(WalUsage), workers));
	strcpy(allocate(w, KEY_QUERY, strlen(query_text()) + 1), query_text());
}

/* A worker's queue. */
static shm_mq *
worker_queue(char *queues, int worker)
{
	return (shm_mq *) (queues + QUEUE_BYTES * worker);
}

/* Makes the workers' queues.  The leader receives from the first one's, and the first worker from the others. */
static void
make_queues(IndexWorkers *w, int workers)
{
	char	   *queues = allocate(w, KEY_QUEUES, mul_size(QUEUE_BYTES, workers));

	for (int i = 0; i < workers; i++)
		(void) shm_mq_create(worker_queue(queues, i), QUEUE_BYTES);
	shm_mq_set_receiver(worker_queue(queues, 0), MyProc);
	w->queue = shm_mq_attach(worker_queue(queues, 0), w->pcxt->seg, NULL);
}

/* Starts the workers; returns how many. */
static int
launch(IndexWorkers *w)
{
	int			launched;

	LaunchParallelWorkers(w->pcxt);
	launched = w->pcxt->nworkers_launched;
	SpinLockAcquire(&w->shared->mutex);
	w->shared->launched = launched;
	SpinLockRelease(&w->shared->mutex);
	if (launched > 0)
		shm_mq_set_handle(w->queue, w->pcxt->worker[0].bgwhandle);
	return launched;
}

/* How many may start: one more than PostgreSQL would, which then is the leader's part, if settings allow that. */
static int
allowed_workers(Relation heap, int participants)
{
	int			of_table = RelationGetParallelWorkers(heap, -1);
	int			workers = Min(participants, max_parallel_maintenance_workers);

	return of_table < 0 ? workers : Min(workers, of_table);
}

/* Ends parallel mode. */
static void
leave(IndexWorkers *w)
{
	if (IsMVCCSnapshot(w->snapshot))
		UnregisterSnapshot(w->snapshot);
	DestroyParallelContext(w->pcxt);
	ExitParallelMode();
}

IndexWorkers *
indexworkers_begin(Relation heap, Relation index, IndexInfo *info, const IndexForm *form, int participants)
{
	IndexWorkers *w = palloc0(sizeof(IndexWorkers));
	int			workers = allowed_workers(heap, participants);

	w->heap = heap;
	w->form = form;
	EnterParallelMode();
	w->pcxt = CreateParallelContext("gpusort", "gpusort_index_worker", workers);
	/* as PostgreSQL's own build: a concurrent one indexes what is visible */
	w->snapshot = info->ii_Concurrent ? RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;
	estimate(w, workers);
	InitializeParallelDSM(w->pcxt);
	/* without a segment it has the leader's memory alone, and no workers */
	if (w->pcxt->seg != NULL)
	{
		describe(w, index, info, participants, workers);
		make_queues(w, workers);
		if (launch(w) > 0)
			return w;
	}
	leave(w);
	return NULL;
}

bool
indexworkers_take_all(const IndexWorkers *w)
{
	return w->pcxt->nworkers_launched == w->shared->participants;
}

TableScanDesc
indexworkers_scan(IndexWorkers *w)
{
	return begin_parallel_scan(w->heap, SHARED_SCAN(w->shared));
}

/* Shows how much of the table workers have scanned. */
static void
report_scan(IndexWorkers *w)
{
	ParallelBlockTableScanDesc scan = (ParallelBlockTableScanDesc) SHARED_SCAN(w->shared);
	uint64		taken = pg_atomic_read_u64(&scan->phs_nallocated);

	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, scan->phs_nblocks);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, (int64) Min(taken, scan->phs_nblocks));
}

void
indexworkers_wait(IndexWorkers *w, bool progress)
{
	bool		scanned = false;

	/* an error if one could not start, without which its part would be missing */
	WaitForParallelWorkersToAttach(w->pcxt);
	while (!scanned)
	{
		if (progress)
			report_scan(w);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, LOOK_MS,
						 WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		SpinLockAcquire(&w->shared->mutex);
		scanned = w->shared->scanned == w->pcxt->nworkers_launched;
		SpinLockRelease(&w->shared->mutex);
	}
}

void
indexworkers_merge(IndexWorkers *w, IndexRows *rows)
{
	/* an error if one could not start */
	WaitForParallelWorkersToAttach(w->pcxt);
	w->merge = indexmerge_open(w->form, rows, &w->queue, 1);
}

MinimalTuple
indexworkers_next(void *workers)
{
	return indexmerge_next(((IndexWorkers *) workers)->merge);
}

EngineKind
indexworkers_end(IndexWorkers *w, IndexInfo *info, uint64 *rows, double *tuples)
{
	int			workers = w->pcxt->nworkers_launched;
	EngineKind	kind;

	WaitForParallelWorkersToFinish(w->pcxt);
	/* from here on nobody else writes what is shared */
	kind = w->shared->kind;
	for (int i = 0; i < workers; i++)
		InstrAccumParallelQuery(&w->buffers[i], &w->wal[i]);
	*rows += w->shared->rows;
	*tuples += w->shared->tuples;
	info->ii_BrokenHotChain |= w->shared->broken_chain;
	indexmerge_close(w->merge);
	leave(w);
	return kind;
}

/* Notes what a worker has found. */
static void
note_found(Shared *shared, uint64 rows, double tuples, bool broken_chain)
{
	SpinLockAcquire(&shared->mutex);
	shared->scanned++;
	shared->rows += rows;
	shared->tuples += tuples;
	shared->broken_chain |= broken_chain;
	SpinLockRelease(&shared->mutex);
}

/* Notes what has sorted a worker's rows: that of any worker, as all sort alike. */
static void
note_sorted(Shared *shared, EngineKind kind)
{
	SpinLockAcquire(&shared->mutex);
	shared->kind = kind;
	SpinLockRelease(&shared->mutex);
}

/* How many workers there are, as soon as the leader has started them. */
static int
wait_for_launch(Shared *shared)
{
	for (;;)
	{
		int			launched;

		SpinLockAcquire(&shared->mutex);
		launched = shared->launched;
		SpinLockRelease(&shared->mutex);
		if (launched > 0)
			return launched;
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
	}
}

/* Sends a worker's rows; the first one merges those of the others with its own. */
static void
send_rows(Shared *shared, dsm_segment *segment, char *queues, shm_mq_handle *to, const IndexForm *form,
		  IndexRows *rows)
{
	int			others = ParallelWorkerNumber == 0 ? wait_for_launch(shared) - 1 : 0;
	shm_mq_handle **from = palloc(sizeof(shm_mq_handle *) * (others + 1));
	IndexMerge *merge;

	for (int i = 0; i < others; i++)
	{
		shm_mq	   *queue = worker_queue(queues, i + 1);

		shm_mq_set_receiver(queue, MyProc);
		from[i] = shm_mq_attach(queue, segment, NULL);
	}
	merge = indexmerge_open(form, rows, from, (uint32) others);
	indexmerge_send(merge, to);
	indexmerge_close(merge);
}

/* Scans and sorts a worker's part of the table, and sends its rows. */
static void
work(Shared *shared, dsm_segment *segment, char *queues, shm_mq_handle *to, Relation heap, Relation index)
{
	IndexInfo  *info = BuildIndexInfo(index);
	IndexForm	form;
	IndexRows  *rows;
	double		tuples;

	info->ii_Concurrent = shared->concurrent;
	if (!indexform_make(index, &form))
		elog(ERROR, "gpusort: rows of index \"%s\" cannot be described", RelationGetRelationName(index));
	rows = indexrows_begin(&form, index_rows_expected(heap), shared->kilobytes, shared->participants);
	tuples = table_index_build_scan(heap, index, info, false, false, indexrows_put, rows,
									begin_parallel_scan(heap, SHARED_SCAN(shared)));
	note_found(shared, indexrows_count(rows), tuples, info->ii_BrokenHotChain);
	indexrows_finish(rows);
	note_sorted(shared, sorter_stats(indexrows_sorter(rows))->kind);
	send_rows(shared, segment, queues, to, &form, rows);
	indexrows_end(rows);
}

/* A parallel worker. */
void
gpusort_index_worker(dsm_segment *segment, shm_toc *toc)
{
	Shared	   *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	BufferUsage *buffers = shm_toc_lookup(toc, KEY_BUFFERS, false);
	WalUsage   *wal = shm_toc_lookup(toc, KEY_WAL, false);
	char	   *queues = shm_toc_lookup(toc, KEY_QUEUES, false);
	shm_mq	   *queue = worker_queue(queues, ParallelWorkerNumber);
	shm_mq_handle *handle;
	Relation	heap;
	Relation	index;

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, false);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	shm_mq_set_sender(queue, MyProc);
	handle = shm_mq_attach(queue, segment, NULL);
	/* the leader's own locks */
	heap = table_open(shared->heap, shared->concurrent ? ShareUpdateExclusiveLock : ShareLock);
	index = index_open(shared->index, shared->concurrent ? RowExclusiveLock : AccessExclusiveLock);
	InstrStartParallelQuery();
	work(shared, segment, queues, handle, heap, index);
	InstrEndParallelQuery(&buffers[ParallelWorkerNumber], &wal[ParallelWorkerNumber]);
	shm_mq_detach(handle);
	index_close(index, NoLock);
	table_close(heap, NoLock);
}
