/*
 * sorter.c: one sort from its first row to its last, whichever way it goes.
 *
 * Rows go into the row store and their keys through the encoders into the engine's chunks.  At the end the engine answers with the order
 * and rows are given out by number.  Past the memory limit what is there leaves as a sorted run (runs.c).  What our own way cannot do
 * goes to PostgreSQL's tuplesort (coresort.c), rows that are already here included.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "bigmem.h"
#include "coresort.h"
#include "engine.h"
#include "gpusort.h"
#include "roworder.h"
#include "rowstore.h"
#include "runs.h"
#include "sorter.h"
#include "sortkey.h"
#include "verify.h"

/* How far ahead of the output rows, and the places of rows, are loaded. */
#define PREFETCH_ROWS 16
#define PREFETCH_PLACES 32
#define CACHE_LINE 64

/* A run has at least so many rows. */
#define MIN_RUN_ROWS 4096

struct Sorter
{
	SortColumns columns;
	TupleDesc	desc;
	bool		random_access;
	double		rows_expected;
	MemoryContext cxt;			/* everything of this sort */
	MemoryContext scratch;		/* for encoding, reset with every chunk */
	Size		limit;

	BigMem	   *mem;
	RowStore   *rows;
	TupleTableSlot *row_slot;	/* to read rows back */
	SortKey    *keys;
	gs_column_spec *specs;
	KeyWriter	writer;
	const EngineOps *engine;
	EngineJob  *job;
	Size		rows_limit;		/* bytes of rows at which the memory limit is looked at */

	Runs	   *runs;			/* once memory did not suffice */
	CoreSort   *core;			/* once PostgreSQL's own sort took over */

	RowOrder	order;			/* of the rows in memory, once input has ended */
	uint64		merged;			/* rows in memory that the merge has taken */
	uint64		current;		/* rows before the next one */
	bool		eof;
	uint64		mark;
	bool		mark_eof;

	instr_time	started;
	instr_time	sorted;
	SorterStats stats;
};

static void go_core(Sorter *sorter, SorterFallback why, int64 bound);
static void fail_over(Sorter *sorter, gs_status status);

/* Milliseconds since an instant. */
static double
ms_since(instr_time then)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, then);
	return INSTR_TIME_GET_MILLISEC(now);
}

/* Notes the most memory that was held. */
static void
note_memory(Sorter *sorter)
{
	uint64		bytes = rowstore_bytes(sorter->rows) + sorter->order.room * sizeof(uint32);

	if (sorter->job)
		bytes += sorter->engine->host_bytes(sorter->job);
	sorter->stats.memory_bytes = Max(sorter->stats.memory_bytes, bytes);
}

/* Ends the job, if there is one. */
static void
end_job(Sorter *sorter)
{
	if (sorter->job)
	{
		sorter->engine->info(sorter->job, &sorter->stats.job);
		sorter->engine->end(sorter->job);
	}
	sorter->job = NULL;
	sorter->writer.chunk = NULL;
}

/* Gets an empty chunk with room for a string of that many bytes. */
static gs_status
next_chunk(Sorter *sorter, Size heap_bytes)
{
	gs_chunk   *chunk;
	gs_status	status = sorter->engine->chunk(sorter->job, heap_bytes, &chunk);

	sorter->writer.chunk = NULL;
	if (status == GS_OK)
		keywriter_begin(&sorter->writer, chunk, sorter->keys);
	return status;
}

/* Hands the chunk over if it has rows. */
static gs_status
close_chunk(Sorter *sorter)
{
	gs_status	status;
	Size		held;

	MemoryContextReset(sorter->scratch);
	if (sorter->writer.row == 0)
		return GS_OK;
	keywriter_close(&sorter->writer);
	sorter->writer.row = 0;
	sorter->writer.chunk = NULL;
	status = sorter->engine->add(sorter->job);
	if (status != GS_OK)
		return status;
	held = sorter->engine->host_bytes(sorter->job);
	if (sorter->random_access)
		held += (Size) sorter->rows->rows * sizeof(uint32);
	sorter->rows_limit = sorter->limit > held ? sorter->limit - held : 0;
	return GS_OK;
}

/* Begins a job with an empty chunk. */
static gs_status
begin_job(Sorter *sorter)
{
	gs_job_spec spec = {.op = GS_ORDER, .ncolumns = sorter->columns.nkeys, .columns = sorter->specs};
	gs_status	status;

	for (int i = 0; i < sorter->columns.nkeys; i++)
		sorter->specs[i] = sorter->keys[i].spec;
	if (sorter->rows_expected > 0)
		spec.rows_hint = (uint64) Min(sorter->rows_expected, (double) GS_MAX_ROWS);
	status = sorter->engine->begin(&spec, sorter->mem, &sorter->job);
	sorter->rows_limit = sorter->limit;
	sorter->writer.row = 0;
	return status == GS_OK ? next_chunk(sorter, 0) : status;
}

/* Writes the keys of one row; widened tells that all rows have to be encoded again. */
static gs_status
encode_row(Sorter *sorter, TupleTableSlot *slot, bool *widened)
{
	KeyWriter  *writer = &sorter->writer;
	gs_status	status = GS_OK;

	for (int i = 0; i < sorter->columns.nkeys; i++)
	{
		KeyColumn  *column = &writer->columns[i];
		bool		isnull;
		Datum		value = slot_getattr(slot, sorter->columns.attnos[i], &isnull);
		KeyResult	result = sortkey_put(&sorter->keys[i], value, isnull, column, writer->row);

		if (likely(result == KEY_OK))
			continue;
		if (result == KEY_WIDEN)
		{
			*widened = true;
			return GS_OK;
		}
		if (result == KEY_FULL)
		{
			status = close_chunk(sorter);
			if (status == GS_OK)
				status = next_chunk(sorter, 0);
		}
		else
			status = next_chunk(sorter, column->wanted);
		if (status != GS_OK)
			return status;
		i = -1;					/* the row's keys begin anew in the new chunk */
	}
	if (++writer->row == writer->capacity)
	{
		status = close_chunk(sorter);
		if (status == GS_OK)
			status = next_chunk(sorter, 0);
	}
	return status;
}

/* Encodes the rows of the store again, from the first: after a key has widened. */
static gs_status
replay(Sorter *sorter)
{
	gs_status	status;
	bool		widened;

	do
	{
		widened = false;
		end_job(sorter);
		status = begin_job(sorter);
		for (uint32 row = 0; status == GS_OK && !widened && row < sorter->rows->rows; row++)
		{
			CHECK_FOR_INTERRUPTS();
			ExecStoreMinimalTuple(rowstore_get(sorter->rows, row), sorter->row_slot, false);
			status = encode_row(sorter, sorter->row_slot, &widened);
		}
	} while (status == GS_OK && widened);
	ExecClearTuple(sorter->row_slot);
	return status;
}

/* Writes the keys of a row that is the last one in the store. */
static void
put_keys(Sorter *sorter, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->scratch);
	bool		widened = false;
	gs_status	status = encode_row(sorter, slot, &widened);

	if (unlikely(widened))
		status = replay(sorter);
	MemoryContextSwitchTo(old);
	if (unlikely(status != GS_OK))
		fail_over(sorter, status);
}

/* Has the engine sort what it was given; the first rows of the order are here and checked then. */
static gs_status
finish_job(Sorter *sorter)
{
	bool		keep_all = sorter->random_access || gpusort_verify != VERIFY_OFF;
	gs_status	status = close_chunk(sorter);

	if (status == GS_OK)
		status = sorter->engine->finish(sorter->job, sorter->rows->rows);
	if (status == GS_OK)
		status = roworder_begin(&sorter->order, sorter->mem, sorter->job, sorter->rows->rows, keep_all);
	if (status == GS_OK && gpusort_verify != VERIFY_OFF &&
		!verify_order(&sorter->columns, sorter->desc, sorter->rows, &sorter->order, gpusort_verify))
		status = GS_WRONG_ORDER;
	note_memory(sorter);
	return status;
}

/* The row at a position as a tuple, while the ones behind it are being loaded. */
static inline MinimalTuple
row_at(Sorter *sorter, uint64 position)
{
	RowOrder   *order = &sorter->order;
	uint32		row = roworder_at(order, position);
	uint64		index = position - order->base;
	const char *rows_ahead;

	if (likely(index + PREFETCH_PLACES < order->have))
	{
		__builtin_prefetch(rowstore_offset_address(sorter->rows, order->numbers[index + PREFETCH_PLACES]));
		rows_ahead = rowstore_address(sorter->rows, order->numbers[index + PREFETCH_ROWS]);
		__builtin_prefetch(rows_ahead);
		if (!sorter->rows->bare)
			__builtin_prefetch(rows_ahead + CACHE_LINE);
	}
	return rowstore_get(sorter->rows, row);
}

/* Gives the rows in memory back, with their order. */
static void
forget_rows(Sorter *sorter)
{
	roworder_end(&sorter->order);
	end_job(sorter);
	rowstore_reset(sorter->rows);
}

/* Writes all rows in memory as a sorted run and begins again with none. */
static void
spill(Sorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->cxt);
	gs_status	status = finish_job(sorter);

	if (status != GS_OK)
	{
		fail_over(sorter, status);
		MemoryContextSwitchTo(old);
		return;
	}
	if (sorter->runs == NULL)
		sorter->runs = runs_create(&sorter->columns, sorter->desc, sorter->limit);
	runs_begin(sorter->runs);
	for (uint64 i = 0; i < sorter->rows->rows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		runs_append(sorter->runs, row_at(sorter, i));
	}
	runs_end(sorter->runs);
	forget_rows(sorter);
	status = begin_job(sorter);
	if (status != GS_OK)
		fail_over(sorter, status);
	MemoryContextSwitchTo(old);
}

/* Takes a row out of a run for PostgreSQL's sort. */
static void
put_core(void *arg, MinimalTuple tuple)
{
	Sorter	   *sorter = arg;

	ExecStoreMinimalTuple(tuple, sorter->row_slot, false);
	coresort_put(sorter->core, sorter->row_slot);
}

/* Hands the sort over to PostgreSQL's own, with all rows that have come so far. */
static void
go_core(Sorter *sorter, SorterFallback why, int64 bound)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->cxt);

	sorter->stats.fallback = why;
	ereport(DEBUG1, (errmsg_internal("gpusort leaves a sort to PostgreSQL: %s", sorter_fallback_text(why))));
	roworder_end(&sorter->order);
	end_job(sorter);
	sorter->core = coresort_begin(&sorter->columns, sorter->desc, sorter->random_access, bound);
	if (sorter->runs)
	{
		runs_drain(sorter->runs, put_core, sorter);
		runs_close(sorter->runs);
		sorter->runs = NULL;
	}
	for (uint32 row = 0; row < sorter->rows->rows; row++)
	{
		CHECK_FOR_INTERRUPTS();
		put_core(sorter, rowstore_get(sorter->rows, row));
	}
	ExecClearTuple(sorter->row_slot);
	rowstore_reset(sorter->rows);
	MemoryContextSwitchTo(old);
}

/* Hands the sort over after an engine failed. */
static void
fail_over(Sorter *sorter, gs_status status)
{
	go_core(sorter, status == GS_WRONG_ORDER ? SORTER_WRONG_ORDER : SORTER_NO_MEMORY, 0);
}

/* Opens the keys and begins the first job. */
static void
begin_ours(Sorter *sorter)
{
	int			nkeys = sorter->columns.nkeys;
	gs_status	status;

	sorter->keys = palloc0(sizeof(SortKey) * nkeys);
	sorter->specs = palloc0(sizeof(gs_column_spec) * nkeys);
	sorter->writer.columns = palloc0(sizeof(KeyColumn) * nkeys);
	for (int i = 0; i < nkeys; i++)
		sortkey_open(&sorter->keys[i], sorter->columns.sortops[i], sorter->columns.collations[i],
					 sorter->columns.nulls_first[i], false);
	status = begin_job(sorter);
	if (status != GS_OK)
		fail_over(sorter, status);
}

Sorter *
sorter_begin(const SortColumns *columns, TupleDesc desc, bool random_access, double rows_expected,
			 SorterFallback fallback, int64 bound)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Sorter	   *sorter = palloc0(sizeof(Sorter));

	sorter->columns = *columns;
	/* a copy of our own: slots would pin a relation's descriptor in whichever resource owner is current */
	sorter->desc = CreateTupleDescCopy(desc);
	sorter->random_access = random_access;
	sorter->rows_expected = rows_expected;
	sorter->cxt = cxt;
	sorter->scratch = AllocSetContextCreate(cxt, "gpusort keys", ALLOCSET_DEFAULT_SIZES);
	sorter->limit = gpusort_memory_limit();
	sorter->mem = bigmem_create(cxt);
	sorter->rows = rowstore_create(sorter->mem);
	sorter->row_slot = MakeSingleTupleTableSlot(sorter->desc, &TTSOpsMinimalTuple);
	sorter->engine = &engine_cpu;
	sorter->stats.engine = sorter->engine->name;
	INSTR_TIME_SET_CURRENT(sorter->started);
	if (fallback == SORTER_OURS)
		begin_ours(sorter);
	else
		go_core(sorter, fallback, bound);
	MemoryContextSwitchTo(old);
	return sorter;
}

/* Has the sort outgrown its memory?  Runs of a few rows help nobody, unless the rows themselves are that large. */
static inline bool
over_limit(Sorter *sorter)
{
	Size		bytes = rowstore_bytes(sorter->rows);

	return unlikely(bytes > sorter->rows_limit) && (sorter->rows->rows >= MIN_RUN_ROWS || bytes > sorter->limit);
}

void
sorter_put(Sorter *sorter, TupleTableSlot *slot)
{
	sorter->stats.rows++;
	if (sorter->core == NULL && over_limit(sorter))
		spill(sorter);
	if (likely(sorter->core == NULL))
	{
		bool		stored = rowstore_put(sorter->rows, slot);

		if (unlikely(!stored && sorter->rows->rows > 0))
		{
			spill(sorter);
			stored = sorter->core == NULL && rowstore_put(sorter->rows, slot);
		}
		if (likely(stored))
		{
			put_keys(sorter, slot);
			return;
		}
		if (sorter->core == NULL)
			go_core(sorter, SORTER_NO_MEMORY, 0);
	}
	coresort_put(sorter->core, slot);
}

/* The rows still in memory, in order, for the merge. */
static MinimalTuple
next_in_memory(void *arg)
{
	Sorter	   *sorter = arg;

	return sorter->merged < sorter->rows->rows ? row_at(sorter, sorter->merged++) : NULL;
}

/* Ends input on our own way: sorts what is in memory, and merges it with the runs on disk if there are any. */
static void
finish_ours(Sorter *sorter)
{
	gs_status	status = finish_job(sorter);

	if (status != GS_OK)
		fail_over(sorter, status);
	else if (sorter->runs)
	{
		runs_merge(sorter->runs, sorter->random_access, next_in_memory, sorter);
		if (sorter->random_access)
			forget_rows(sorter);	/* they are in the merge's result now */
	}
}

void
sorter_finish(Sorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->cxt);
	instr_time	ended;

	sorter->stats.in_ms = ms_since(sorter->started);
	INSTR_TIME_SET_CURRENT(ended);
	if (sorter->core == NULL)
		finish_ours(sorter);
	if (sorter->core)
		coresort_finish(sorter->core);
	MemoryContextSwitchTo(old);
	sorter->stats.sort_ms = ms_since(ended);
	INSTR_TIME_SET_CURRENT(sorter->sorted);
}

/* The next row from memory or runs; NULL past either end. */
static inline MinimalTuple
get_ours(Sorter *sorter, bool forward)
{
	if (unlikely(sorter->runs != NULL))
		return runs_get(sorter->runs, forward);
	if (forward)
	{
		if (likely(sorter->current < sorter->rows->rows))
			return row_at(sorter, sorter->current++);
		sorter->eof = true;
		return NULL;
	}
	if (sorter->current == 0)
		return NULL;
	if (sorter->eof)
		sorter->eof = false;
	else if (--sorter->current == 0)
		return NULL;
	return row_at(sorter, sorter->current - 1);
}

TupleTableSlot *
sorter_get(Sorter *sorter, bool forward, TupleTableSlot *slot)
{
	MinimalTuple row;

	if (unlikely(sorter->core != NULL))
		return coresort_get(sorter->core, forward, slot);
	row = get_ours(sorter, forward);
	if (likely(row != NULL))
		return ExecStoreMinimalTuple(row, slot, false);
	if (forward && sorter->stats.out_ms == 0)
		sorter->stats.out_ms = ms_since(sorter->sorted);
	return ExecClearTuple(slot);
}

void
sorter_mark(Sorter *sorter)
{
	if (sorter->core)
		coresort_mark(sorter->core);
	else if (sorter->runs)
		runs_mark(sorter->runs);
	sorter->mark = sorter->current;
	sorter->mark_eof = sorter->eof;
}

void
sorter_restore(Sorter *sorter)
{
	if (sorter->core)
		coresort_restore(sorter->core);
	else if (sorter->runs)
		runs_restore(sorter->runs);
	sorter->current = sorter->mark;
	sorter->eof = sorter->mark_eof;
}

void
sorter_rewind(Sorter *sorter)
{
	if (sorter->core)
		coresort_rewind(sorter->core);
	else if (sorter->runs)
		runs_rewind(sorter->runs);
	sorter->current = sorter->mark = 0;
	sorter->eof = sorter->mark_eof = false;
}

void
sorter_end(Sorter *sorter)
{
	if (sorter->core)
		coresort_end(sorter->core);
	if (sorter->runs)
		runs_close(sorter->runs);
	ExecDropSingleTupleTableSlot(sorter->row_slot);
	MemoryContextDelete(sorter->cxt);
}

const SorterStats *
sorter_stats(Sorter *sorter)
{
	if (sorter->job)
		sorter->engine->info(sorter->job, &sorter->stats.job);
	if (sorter->runs)
	{
		sorter->stats.runs = runs_count(sorter->runs);
		sorter->stats.disk_bytes = runs_disk_bytes(sorter->runs);
	}
	return &sorter->stats;
}

struct CoreSort *
sorter_core(Sorter *sorter)
{
	return sorter->core;
}
