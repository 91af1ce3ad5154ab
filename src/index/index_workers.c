/*
 * index_workers.c: parallel workers, each of which scans and sorts a part of a table, and sends its rows to the leader.
 *
 * PostgreSQL has the leader scan and sort, too.  If the settings allow one more worker, that takes the leader's part
 * of the table: what the leader does alone, passing rows on, takes longest, so others should do the rest.
 *
 * Rows are sent in chunks, each behind the first words of its keys (../merge/key_prefix.h), which the leader merges by.
 * All sources are in the order of keys and numbers, in which no two rows are equal.
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
#include "index_workers.h"
#include "src/base/compat.h"
#include "src/merge/merge_rows.h"
#include "src/merge/merge_tree.h"
#include "src/rows/rowcompare.h"

/* Entries of the segment's table of contents. */
#define KEY_SHARED		UINT64CONST(0x6770750000000001)
#define KEY_QUEUES		UINT64CONST(0x6770750000000002)
#define KEY_QUERY		UINT64CONST(0x6770750000000003)
#define KEY_BUFFERS		UINT64CONST(0x6770750000000004)
#define KEY_WAL			UINT64CONST(0x6770750000000005)

/* A worker's queue, and what it sends at a time. */
#define QUEUE_BYTES ((Size) 256 * 1024)
#define CHUNK_BYTES ((Size) 32 * 1024)

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
	slock_t		mutex;			/* for what workers have found: */
	int			scanned;		/* workers that have scanned their parts */
	uint64		rows;
	double		tuples;
	bool		broken_chain;	/* a HOT chain without an entry that old snapshots need */
	EngineKind	kind;			/* what has sorted a worker's rows */
} Shared;

/* The parallel scan behind it. */
#define SHARED_SCAN(shared) ((ParallelTableScanDesc) ((char *) (shared) + BUFFERALIGN(sizeof(Shared))))

/* What precedes a row in a chunk. */
typedef struct SentRow
{
	uint64		words[KEY_WORDS];
	bool		whole;			/* the words are the whole key */
	bool		weighed;		/* they have primary weights */
	uint16		nweights;		/* bytes of weights behind the row, if words do not have all */
	uint32		row_bytes;		/* of the row, aligned */
} SentRow;

StaticAssertDecl(MAXALIGN(sizeof(SentRow)) == sizeof(SentRow), "rows are aligned");

/* One participant's rows, the first of which takes part in the merge. */
typedef struct Source
{
	shm_mq_handle *queue;		/* NULL: the leader's own */
	const char *at;				/* the rest of a chunk */
	const char *end;
	MergeRow	row;
	bool		weighed;		/* its rows' words have primary weights */
} Source;

struct IndexWorkers
{
	Relation	heap;
	const IndexForm *form;
	ParallelContext *pcxt;
	Shared	   *shared;
	Snapshot	snapshot;
	BufferUsage *buffers;		/* of each worker */
	WalUsage   *wal;
	shm_mq_handle **queues;
	IndexRows  *rows;			/* the leader's */
	SortColumns columns;		/* the keys and the number */
	KeyPrefix	prefix;			/* of the leader's rows */
	KeyPrefix	exact;			/* of all rows, if some have words with primary weights and others do not */
	bool		differ;
	MergeOrder	order;
	Source	   *sources;
	MergeTree	tree;
	bool		fresh;			/* the winner's row has not been given out */
};

PGDLLEXPORT void gpusort_index_worker(dsm_segment *segment, shm_toc *toc);

/* What the number makes of an index's keys: an order without ties. */
static SortColumns
with_number(const IndexForm *form)
{
	SortColumns columns = form->columns;

	columns.nkeys++;
	return columns;
}

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

/* Makes the workers' queues. */
static void
make_queues(IndexWorkers *w, int workers)
{
	char	   *queues = allocate(w, KEY_QUEUES, mul_size(QUEUE_BYTES, workers));

	w->queues = palloc(sizeof(shm_mq_handle *) * workers);
	for (int i = 0; i < workers; i++)
	{
		shm_mq	   *queue = shm_mq_create(queues + QUEUE_BYTES * i, QUEUE_BYTES);

		shm_mq_set_receiver(queue, MyProc);
		w->queues[i] = shm_mq_attach(queue, w->pcxt->seg, NULL);
	}
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
	w->columns = with_number(form);
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
		LaunchParallelWorkers(w->pcxt);
		for (int i = 0; i < w->pcxt->nworkers_launched; i++)
			shm_mq_set_handle(w->queues[i], w->pcxt->worker[i].bgwhandle);
		if (w->pcxt->nworkers_launched > 0)
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

/* The first row of a chunk, which is in source->at; false if the worker has sent all. */
static bool
receive_chunk(Source *source)
{
	Size		bytes;
	void	   *data;

	if (shm_mq_receive(source->queue, &bytes, &data, false) != SHM_MQ_SUCCESS)
		return false;
	source->at = data;
	source->end = source->at + bytes;
	return true;
}

/* Moves the leader's source to its next row, with its words. */
static void
read_own_row(IndexWorkers *w, Source *source, MergeEntry *entry)
{
	mergerow_set(&source->row, indexrows_next(w->rows));
	if (source->row.tuple != NULL)
		entry->whole = mergerow_take(&source->row, &w->prefix, entry->words);
}

/* A worker's. */
static void
read_sent_row(Source *source, MergeEntry *entry)
{
	const SentRow *sent;

	mergerow_set(&source->row, NULL);
	if (source->at == source->end && !receive_chunk(source))
		return;
	sent = (const SentRow *) source->at;
	memcpy(entry->words, sent->words, sizeof(entry->words));
	entry->whole = sent->whole;
	source->weighed = sent->weighed;
	source->row.tuple = (MinimalTuple) (sent + 1);
	source->row.weights = source->at + sizeof(SentRow) + sent->row_bytes;
	source->row.nweights = sent->nweights;
	source->at = source->row.weights + MAXALIGN(sent->nweights);
}

/* Moves a source to its next row. */
static void
read_row(IndexWorkers *w, MergeEntry *entry)
{
	Source	   *source = &w->sources[entry->source];

	if (source->queue == NULL)
		read_own_row(w, source, entry);
	else
		read_sent_row(source, entry);
	if (source->row.tuple == NULL)
		mergeentry_end(entry);
	else if (unlikely(w->differ))
		entry->whole = mergerow_take(&source->row, &w->exact, entry->words);
}

/* Compares the rows of two sources, as a MergeCompare. */
static int
compare_sources(void *arg, uint32 a, uint32 b)
{
	IndexWorkers *w = arg;

	return mergerow_compare(&w->order, &w->sources[a].row, &w->sources[b].row);
}

/* Opens what gives rows the words of their keys; rows: with primary weights, if the sort has them.  True: they do. */
static bool
open_prefix(KeyPrefix *prefix, const SortColumns *columns, TupleDesc desc, IndexRows *rows)
{
	const SortKey *keys = rows ? sorter_keys(indexrows_sorter(rows)) : NULL;

	keyprefix_open(prefix, columns, desc);
	keyprefix_encode(prefix);
	return keys && keyprefix_add_weights(prefix, keys);
}

/* Reads the first rows of all sources.  Words with primary weights do not mix with others. */
static void
read_first_rows(IndexWorkers *w)
{
	bool		weighed[2] = {false, false};

	for (uint32 i = 0; i < w->tree.nsources; i++)
	{
		read_row(w, &w->tree.entries[i]);
		if (w->sources[i].row.tuple != NULL)
			weighed[w->sources[i].weighed] = true;
	}
	w->differ = weighed[false] && weighed[true];
	for (uint32 i = 0; w->differ && i < w->tree.nsources; i++)
		if (w->sources[i].row.tuple != NULL)
			w->tree.entries[i].whole = mergerow_take(&w->sources[i].row, &w->exact, w->tree.entries[i].words);
}

void
indexworkers_merge(IndexWorkers *w, IndexRows *rows)
{
	uint32		own = rows ? 1 : 0;
	uint32		nsources = (uint32) w->pcxt->nworkers_launched + own;

	/* an error if one could not start */
	WaitForParallelWorkersToAttach(w->pcxt);
	w->rows = rows;
	mergeorder_open(&w->order, &w->columns, w->form->desc, open_comparators(&w->columns));
	w->sources = palloc0(sizeof(Source) * nsources);
	if (rows)
		w->sources[0].weighed = open_prefix(&w->prefix, &w->columns, w->form->desc, rows);
	(void) open_prefix(&w->exact, &w->columns, w->form->desc, NULL);
	mergeorder_add_weights(&w->order, w->exact.nexact, &w->prefix);
	mergetree_open(&w->tree, nsources, compare_sources, w);
	for (uint32 i = 0; i < nsources; i++)
	{
		w->sources[i].queue = i < own ? NULL : w->queues[i - own];
		mergerow_open(&w->sources[i].row, &w->order);
	}
	read_first_rows(w);
	mergetree_start(&w->tree);
	w->fresh = true;
}

MinimalTuple
indexworkers_next(void *arg)
{
	IndexWorkers *w = arg;
	MergeTree  *tree = &w->tree;

	if (likely(!w->fresh) && !mergeentry_has_ended(tree->winner))
	{
		read_row(w, tree->winner);
		mergetree_advance(tree);
	}
	w->fresh = false;
	return w->sources[tree->winner->source].row.tuple;
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
	for (uint32 i = 0; i < w->tree.nsources; i++)
		mergerow_close(&w->sources[i].row);
	mergetree_close(&w->tree);
	if (w->rows)
		keyprefix_close(&w->prefix);
	keyprefix_close(&w->exact);
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

/* A worker's chunk. */
typedef struct Chunk
{
	shm_mq_handle *queue;
	char	   *data;
	Size		used;
	Size		room;
} Chunk;

/* Sends the chunk; false if the leader has gone. */
static bool
send_chunk(Chunk *chunk)
{
	bool		sent = chunk->used == 0 ||
		shm_mq_send(chunk->queue, chunk->used, chunk->data, false, true) == SHM_MQ_SUCCESS;

	chunk->used = 0;
	return sent;
}

/* Adds a row to the chunk, of which it may be the only one; false if the leader has gone. */
static bool
send_row(Chunk *chunk, MinimalTuple row, const SentRow *head, const char *weights)
{
	Size		bytes = sizeof(SentRow) + head->row_bytes + MAXALIGN(head->nweights);

	if (chunk->used + bytes > CHUNK_BYTES && !send_chunk(chunk))
		return false;
	if (bytes > chunk->room)
	{
		chunk->room = bytes;
		chunk->data = repalloc(chunk->data, bytes);
	}
	memcpy(chunk->data + chunk->used, head, sizeof(SentRow));
	memcpy(chunk->data + chunk->used + sizeof(SentRow), row, row->t_len);
	if (head->nweights > 0)
		memcpy(chunk->data + chunk->used + sizeof(SentRow) + head->row_bytes, weights, head->nweights);
	chunk->used += bytes;
	return true;
}

/* Sends a worker's rows. */
static void
send_rows(shm_mq_handle *queue, const IndexForm *form, IndexRows *rows)
{
	Chunk		chunk = {.queue = queue, .data = palloc0(CHUNK_BYTES), .room = CHUNK_BYTES};
	SortColumns columns = with_number(form);
	KeyPrefix	prefix;
	MergeOrder	order;
	MergeRow	row;
	bool		open = true;
	SentRow		head = {.weighed = open_prefix(&prefix, &columns, form->desc, rows)};

	mergeorder_open(&order, &columns, form->desc, open_comparators(&columns));
	mergeorder_add_weights(&order, prefix.nexact, &prefix);
	mergerow_open(&row, &order);
	while (open)
	{
		const char *weights;

		CHECK_FOR_INTERRUPTS();
		mergerow_set(&row, indexrows_next(rows));
		if (row.tuple == NULL)
			break;
		head.whole = mergerow_take(&row, &prefix, head.words);
		weights = mergerow_weights(&order, &row);
		head.nweights = (uint16) row.nweights;
		head.row_bytes = (uint32) MAXALIGN(row.tuple->t_len);
		open = send_row(&chunk, row.tuple, &head, weights);
	}
	if (open)
		(void) send_chunk(&chunk);
	mergerow_close(&row);
	keyprefix_close(&prefix);
}

/* Scans and sorts a worker's part of the table, and sends its rows. */
static void
work(Shared *shared, shm_mq_handle *queue, Relation heap, Relation index)
{
	IndexInfo  *info = BuildIndexInfo(index);
	IndexForm	form;
	IndexRows  *rows;
	double		tuples;

	info->ii_Concurrent = shared->concurrent;
	if (!indexform_make(index, &form))
		elog(ERROR, "gpusort: rows of index \"%s\" cannot be described", RelationGetRelationName(index));
	rows = indexrows_begin(&form, index_rows_expected(heap), shared->kilobytes, shared->participants);
	/* which allows a scan to begin elsewhere, as the server demands of parallel ones; this one says that it does not */
	tuples = table_index_build_scan(heap, index, info, true, false, indexrows_put, rows,
									begin_parallel_scan(heap, SHARED_SCAN(shared)));
	note_found(shared, indexrows_count(rows), tuples, info->ii_BrokenHotChain);
	indexrows_finish(rows);
	note_sorted(shared, sorter_stats(indexrows_sorter(rows))->kind);
	send_rows(queue, &form, rows);
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
	shm_mq	   *queue = (shm_mq *) (queues + QUEUE_BYTES * ParallelWorkerNumber);
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
	work(shared, handle, heap, index);
	InstrEndParallelQuery(&buffers[ParallelWorkerNumber], &wal[ParallelWorkerNumber]);
	shm_mq_detach(handle);
	index_close(index, NoLock);
	table_close(heap, NoLock);
}
