/*
 * sorter.c: one sort, from its first row to its last.  Rows are copied into the row store, and their keys into the
 * engine's chunks (sorter_job.c).  At the end of input the engine returns the order, as row numbers.  When rows and
 * keys exceed the memory limit, they are sorted and written to disk as a run; runs are merged at the end
 * (spill_runs.c).  A sort that cannot go on so is handed over to tuplesort.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "src/engine/engine_choose.h"
#include "src/engine/feed.h"
#include "src/base/guc.h"
#include "sorter_job.h"

/* A run has at least this number of rows. */
#define MIN_RUN_ROWS 4096

/* Keys whose average size is larger come from values out of line, of which a row holds only a pointer. */
#define LARGE_KEY_BYTES 2048

/* Milliseconds since an instant. */
static double
ms_since(instr_time then)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, then);
	return INSTR_TIME_GET_MILLISEC(now);
}

/* The row in memory at a position, as a tuple; prefetches one behind it. */
static inline MinimalTuple
row_at(Sorter *sorter, uint64 position)
{
	RowOrder   *order = &sorter->order;
	uint32		row = roworder_at(order, position);

	rowstore_prefetch(sorter->rows, order->numbers, position - order->base, order->have, roworder_ahead(order));
	return rowstore_get(sorter->rows, row);
}

/* The memory of rows, their keys and the job. */
static Size
memory_wanted(const Sorter *sorter)
{
	return rowstore_bytes(sorter->rows) + sorter->held;
}

/* Forgets the rows in memory and their order; keep: their memory is kept for other rows. */
static void
forget_rows(Sorter *sorter, bool keep)
{
	roworder_end(&sorter->order);
	sorter_end_job(sorter);
	if (sorter->comparer)
		rowcompare_forget(sorter->comparer);
	rowstore_reset(sorter->rows, keep);
}

/* Writes the wanted rows in memory, whose order is known, as a sorted run. */
static void
write_run(Sorter *sorter)
{
	if (sorter->runs == NULL)
		sorter->runs = spill_create(&sorter->columns, sorter->desc, sorter->draft ? sorter->kept : sorter->limit);
	sorter->state = SS_LOADING_RUNS;
	sorter_report(sorter, PROGRESS_WRITING, sorter->stats.rows);
	spill_begin(sorter->runs, rowstore_header(sorter->rows));
	for (uint64 i = 0; i < sorter->order.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		spill_append(sorter->runs, row_at(sorter, i));
	}
	spill_end(sorter->runs);
	sorter->left_out += sorter->rows->rows - sorter->order.count;
}

/* Hands the sort over to tuplesort if no engine can go on with it. */
static inline void
expect_ok(Sorter *sorter, gs_status status)
{
	if (likely(status == GS_OK))
		return;
	if (sorter->stats.fallback == SORTER_CONTRADICTION)
		sorter_go_tuplesort(sorter, SORTER_CONTRADICTION);
	else
		sorter_go_tuplesort(sorter, status == GS_WRONG_ORDER ? SORTER_WRONG_ORDER : SORTER_NO_MEMORY);
}

/* Moves the rows in memory to disk, as a run; hands the sort over to tuplesort if that fails. */
static void
empty_memory(Sorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->cxt);
	gs_status	status;

	sorter->run_bytes += memory_wanted(sorter);
	sorter->limit_no_help |= memory_wanted(sorter) <= sorter->limit;
	sorter_report(sorter, PROGRESS_ORDERING, sorter->stats.rows);
	status = sorter_finish_job(sorter);
	if (status == GS_OK)
	{
		write_run(sorter);
		bigmem_hold(sorter->mem, true);
		forget_rows(sorter, true);
		sorter_report(sorter, PROGRESS_READING, sorter->stats.rows);
		status = sorter_begin_job(sorter);
	}
	expect_ok(sorter, status);
	MemoryContextSwitchTo(old);
}

/* About how many bytes the keys of a row have. */
static double
key_bytes(const SortColumns *columns, TupleDesc desc)
{
	double		bytes = 0;

	for (int i = 0; i < columns->nkeys; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, columns->attnos[i] - 1);

		bytes += get_typavgwidth(attribute->atttypid, attribute->atttypmod);
	}
	return bytes;
}

/* Chooses the engine of the sort's jobs. */
static void
choose_engine(Sorter *sorter)
{
	EngineFailure why;

	sorter->engine = engine_choose(engine_work(sorter->rows_expected, key_bytes(&sorter->columns, sorter->desc)), &why);
	sorter->stats.engine = sorter->engine->name;
	if (why == ENGINE_OK)
		return;
	sorter->stats.left = why;
	feed_left(sorter->op, NULL, why);
}

/* Opens the keys and begins the first job, for the rows that have come and more. */
static void
begin_ours(Sorter *sorter)
{
	int			nkeys = sorter->columns.nkeys;
	MemoryContext old = MemoryContextSwitchTo(sorter->cxt);

	choose_engine(sorter);
	rowstore_expect(sorter->rows, sorter->rows_expected);
	sorter->scratch = AllocSetContextCreate(sorter->cxt, "gpusort keys", ALLOCSET_DEFAULT_SIZES);
	sorter->keys = palloc0(sizeof(SortKey) * nkeys);
	sorter->specs = palloc0(sizeof(gs_column_spec) * nkeys);
	sorter->writer.columns = palloc0(sizeof(KeyColumn) * nkeys);
	for (int i = 0; i < nkeys; i++)
	{
		sortkey_open(&sorter->keys[i], sorter->columns.sortops[i], sorter->columns.collations[i],
					 sorter->columns.nulls_first[i], false);
		sortkey_expect(&sorter->keys[i], sorter->rows_expected);
		sortkey_let_lead(&sorter->keys[i]);
	}
	sorter_find_key_access(sorter);
	sorter_begin_adaptive(sorter);
	/* another sort compares the rows of a draft that are in order */
	if (!sorter->draft && sorter_expect_order(sorter))
		expect_ok(sorter, sorter_put_in_order(sorter, sorter->rows->rows));
	else
		expect_ok(sorter, sorter_encode_all(sorter));
	MemoryContextSwitchTo(old);
}

/* Makes a sort and begins it, within a memory limit; kept: that of a draft while rows are returned, 0: it is none. */
static Sorter *
begin_within(const SortColumns *columns, TupleDesc desc, bool random_access, double rows_expected,
			 SorterFallback fallback, int64 bound, Size limit, Size kept)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Sorter	   *sorter = palloc0(sizeof(Sorter));

	sorter->columns = *columns;
	/* a copy: slots would pin a relation's descriptor in whichever resource owner is current */
	sorter->desc = CreateTupleDescCopy(desc);
	sorter->random_access = random_access;
	sorter->rows_expected = rows_expected;
	sorter_note_bound(sorter, bound);
	if (fallback == SORTER_OURS && bound_goes_to_heap(columns, (double) bound, rows_expected))
		fallback = SORTER_BOUND;
	sorter->cxt = cxt;
	sorter->limit = limit;
	sorter->kept = kept;
	sorter->draft = kept > 0;
	sorter->mem = bigmem_create(cxt);
	sorter->adaptive.marks.mem = sorter->mem;
	sorter->rows = rowstore_create(sorter->mem, desc->natts);
	sorter->places = keyplaces_find(columns, sorter->desc);
	sorter->row_slot = MakeSingleTupleTableSlot(sorter->desc, &TTSOpsMinimalTuple);
	INSTR_TIME_SET_CURRENT(sorter->started);
	if (fallback != SORTER_OURS)
		sorter_go_tuplesort(sorter, fallback);
	else if (!sorter_begin_few(sorter))
		begin_ours(sorter);
	sorter_report_begin(sorter);
	MemoryContextSwitchTo(old);
	return sorter;
}

Sorter *
sorter_begin(const SortColumns *columns, TupleDesc desc, bool random_access, double rows_expected,
			 SorterFallback fallback, int64 bound)
{
	return begin_within(columns, desc, random_access, rows_expected, fallback, bound, gpusort_memory_limit(), 0);
}

Sorter *
sorter_begin_draft(const SortColumns *columns, TupleDesc desc, double rows_expected, Size limit, Size kept)
{
	return begin_within(columns, desc, false, rows_expected, SORTER_OURS, 0, limit, kept);
}

/* Do few, small rows have keys that fill the memory?  tuplesort detoasts a value only when it compares it. */
static bool
keys_too_large(Sorter *sorter)
{
	return sorter->rows->rows < MIN_RUN_ROWS && rowstore_bytes(sorter->rows) <= sorter->limit &&
		sorter->held > Max(sorter->limit, (Size) MIN_RUN_ROWS * LARGE_KEY_BYTES);
}

/* Has the sort outgrown its memory, or is it tuplesort's?  A run needs many rows, or large ones; few have no keys. */
static inline bool
over_limit(Sorter *sorter)
{
	Size		bytes = rowstore_bytes(sorter->rows);

	return unlikely(bytes > sorter->rows_limit) &&
		(sorter->rows->rows >= MIN_RUN_ROWS || bytes > sorter->limit || sorter->keys == NULL ||
		 sorter->keys[0].theirs || keys_too_large(sorter));
}

/* Makes room after the sort has outgrown its memory, or hands it over to tuplesort. */
static void
leave_memory(Sorter *sorter)
{
	if (sorter->state == SS_LOADING_FEW)
		begin_ours(sorter);
	if (sorter->state == SS_LOADING_IN_ORDER && over_limit(sorter))
		expect_ok(sorter, sorter_encode_all(sorter));
	if (sorter->state == SS_LOADING_TUPLESORT || !over_limit(sorter))
		return;
	if (sorter->keys[0].theirs)
		sorter_go_tuplesort(sorter, sorter->keys[0].theirs == THEIRS_BY_LENGTH ? SORTER_LONG_TEXT : SORTER_THEIR_KEYS);
	else if (keys_too_large(sorter))
		sorter_go_tuplesort(sorter, SORTER_LARGE_KEYS);
	else
		empty_memory(sorter);
}

/* Counts rows that have come. */
static inline void
count_rows(Sorter *sorter, uint64 rows)
{
	uint64		before = sorter->stats.rows;

	sorter->stats.rows = before + rows;
	if (unlikely((before ^ sorter->stats.rows) >= PROGRESS_ROWS))
		sorter_report(sorter, PROGRESS_READING, sorter->stats.rows);
}

/* Stores a copy of a row; false if tuplesort has the sort, which it gets if memory does not suffice. */
static inline bool
store_row(Sorter *sorter, TupleTableSlot *slot)
{
	if (over_limit(sorter))
		leave_memory(sorter);
	if (likely(sorter->state != SS_LOADING_TUPLESORT && rowstore_put(sorter->rows, slot)))
		return true;
	/* runs of a few rows each would be slower than tuplesort */
	if (sorter->rows->rows >= MIN_RUN_ROWS)
	{
		empty_memory(sorter);
		if (sorter->state != SS_LOADING_TUPLESORT && rowstore_put(sorter->rows, slot))
			return true;
	}
	if (sorter->state != SS_LOADING_TUPLESORT)
		sorter_go_tuplesort(sorter, SORTER_NO_MEMORY);
	return false;
}

/* Goes on after rows were stored whose keys are not encoded so far. */
static gs_status
put_keyless(Sorter *sorter, uint32 count)
{
	if (sorter->state == SS_LOADING_IN_ORDER)
		return sorter_put_in_order(sorter, count);
	if (sorter->rows->rows > sorter->few)
		begin_ours(sorter);
	return GS_OK;
}

void
sorter_put(Sorter *sorter, TupleTableSlot *slot)
{
	Assert(sorter->state < SS_FINISHING);
	count_rows(sorter, 1);
	if (likely(sorter->state != SS_LOADING_TUPLESORT && store_row(sorter, slot)))
		expect_ok(sorter, sorter->state <= SS_LOADING_IN_ORDER
				  ? put_keyless(sorter, 1) : sorter_put_keys(sorter, slot));
	else
		tuplesort_puttupleslot(sorter->tuplesort, slot);
}

/* Takes one tuple of a heap page. */
static void
put_tuple(Sorter *sorter, Page page, OffsetNumber offset)
{
	ItemId		item = PageGetItemId(page, offset);
	HeapTupleData tuple;

	if (sorter->page_slot == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(sorter->cxt);

		sorter->page_slot = MakeSingleTupleTableSlot(sorter->desc, &TTSOpsHeapTuple);
		MemoryContextSwitchTo(old);
	}
	tuple.t_len = ItemIdGetLength(item);
	tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple.t_tableOid = InvalidOid;
	ItemPointerSetInvalid(&tuple.t_self);
	ExecStoreHeapTuple(&tuple, sorter->page_slot, false);
	sorter_put(sorter, sorter->page_slot);
	ExecClearTuple(sorter->page_slot);
}

uint32
sorter_put_page(Sorter *sorter, Page page, const OffsetNumber *items, uint32 count, RowGather *gather)
{
	uint32		done = 0;

	while (done < count && sorter->state < SS_LOADING_TUPLESORT)
	{
		uint32		room = Min(count - done, sorter->writer.capacity - sorter->writer.row);
		uint32		taken = 0;

		if (!over_limit(sorter))
			taken = gather ? rowgather_put_page(gather, sorter->rows, page, items + done, room) :
				rowstore_put_page(sorter->rows, page, items + done, room);
		if (taken > 0)
		{
			count_rows(sorter, taken);
			expect_ok(sorter, sorter->state <= SS_LOADING_IN_ORDER ? put_keyless(sorter, taken) :
					  sorter_put_page_keys(sorter, taken));
		}
		else if (gather == NULL)
		{
			put_tuple(sorter, page, items[done]);
			taken = 1;
		}
		else
			break;
		done += taken;
	}
	return done;
}

/* The next of the rows in memory, in order, for the merge; a SpillNext. */
static MinimalTuple
next_in_memory(void *arg)
{
	Sorter	   *sorter = arg;

	return sorter->merged < sorter->order.count ? row_at(sorter, sorter->merged++) : NULL;
}

/* Moves the last rows of a draft to disk if they are more than it may keep in memory; true: none are left there. */
static bool
move_last_rows(Sorter *sorter)
{
	if (!sorter->draft || memory_wanted(sorter) <= sorter->kept)
		return false;
	write_run(sorter);
	forget_rows(sorter, false);
	return true;
}

/* Merges the runs on disk, and the rows in memory unless these have been moved. */
static void
merge_runs(Sorter *sorter, bool moved)
{
	sorter_report(sorter, PROGRESS_MERGING, 0);
	if (sorter->draft)
		spill_add_weights(sorter->runs, sorter->keys);
	spill_merge(sorter->runs, sorter->random_access, rowstore_header(sorter->rows), moved ? NULL : next_in_memory,
				sorter_report_merged, sorter);
	if (sorter->random_access)
		forget_rows(sorter, false); /* they are in the result on disk now */
}

/* Sorts the rows in memory, and merges them with the runs on disk if there are any. */
static void
finish_ours(Sorter *sorter)
{
	gs_status	status = sorter_finish_job(sorter);
	bool		moved;

	bigmem_hold(sorter->mem, false);
	expect_ok(sorter, status);
	if (sorter->tuplesort)
		return;
	if (sorter->runs)
		sorter->run_bytes += memory_wanted(sorter);
	moved = move_last_rows(sorter);
	if (sorter->runs)
		merge_runs(sorter, moved);
}

void
sorter_finish(Sorter *sorter)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->cxt);
	instr_time	ended;

	Assert(sorter->state < SS_FINISHING);
	sorter->stats.stages.in_ms = ms_since(sorter->started);
	INSTR_TIME_SET_CURRENT(ended);
	sorter->state = SS_FINISHING;
	sorter_report(sorter, PROGRESS_ORDERING, sorter->stats.rows);
	if (sorter->tuplesort == NULL)
		finish_ours(sorter);
	if (sorter->tuplesort)
		tuplesort_performsort(sorter->tuplesort);
	sorter->state = sorter->tuplesort ? SS_SORTED_BY_TUPLESORT : sorter->runs ? SS_SORTED_ON_DISK : SS_SORTED_IN_MEMORY;
	sorter_report(sorter, PROGRESS_OUT, 0);
	MemoryContextSwitchTo(old);
	sorter->stats.stages.sort_ms = ms_since(ended);
}

/* The row at a position of the result in memory or on disk; NULL behind the last one. */
static inline MinimalTuple
result_at(Sorter *sorter, uint64 position)
{
	if (unlikely(sorter->state == SS_SORTED_ON_DISK))
		return spill_get(sorter->runs, position);
	return likely(position < sorter->order.count) ? row_at(sorter, position) : NULL;
}

/* Notes that a fetch forward has returned a row, or none because it came past the end. */
static inline void
move_forward(SorterPlace *at, bool got)
{
	if (likely(got))
		at->row++;
	else
		at->eof = true;
}

/* Moves back by a row, from the end onto the last one; false if there is none. */
static bool
move_back(SorterPlace *at)
{
	if (at->row == 0)
		return false;
	if (!at->eof)
		at->row--;
	at->eof = false;
	return at->row > 0;
}

/* The next row from memory or runs; NULL past either end. */
static inline MinimalTuple
get_ours(Sorter *sorter, bool forward)
{
	MinimalTuple row;

	if (unlikely(!forward))
		return move_back(&sorter->at) ? result_at(sorter, sorter->at.row - 1) : NULL;
	row = result_at(sorter, sorter->at.row);
	move_forward(&sorter->at, row != NULL);
	if (unlikely(row == NULL || sorter->at.row % PROGRESS_ROWS == 0))
		sorter_report(sorter, PROGRESS_OUT, sorter->at.row);
	return row;
}

/* The next row of tuplesort, which raises an error if more rows than its bound are fetched. */
static TupleTableSlot *
get_from_tuplesort(Sorter *sorter, bool forward, TupleTableSlot *slot)
{
	/* callers that fill blocks or shares fetch until there is none */
	if (forward && sorter->bound > 0 && sorter->at.row >= (uint64) sorter->bound)
		ExecClearTuple(slot);
	else
	{
		(void) tuplesort_gettupleslot(sorter->tuplesort, forward, false, slot, NULL);
		if (forward)
			move_forward(&sorter->at, !TupIsNull(slot));
		else
			(void) move_back(&sorter->at);
	}
	if (TupIsNull(slot) || sorter->at.row % PROGRESS_ROWS == 0)
		sorter_report(sorter, PROGRESS_OUT, sorter->at.row);
	return slot;
}

TupleTableSlot *
sorter_get(Sorter *sorter, bool forward, TupleTableSlot *slot)
{
	MinimalTuple row;

	Assert(sorter->state > SS_FINISHING);
	if (unlikely(sorter->state == SS_SORTED_BY_TUPLESORT))
		return get_from_tuplesort(sorter, forward, slot);
	row = get_ours(sorter, forward);
	if (likely(row != NULL))
		return ExecStoreMinimalTuple(row, slot, false);
	return ExecClearTuple(slot);
}

MinimalTuple
sorter_next(Sorter *sorter)
{
	Assert(sorter->state > SS_FINISHING);
	if (unlikely(sorter->state == SS_SORTED_BY_TUPLESORT))
	{
		TupleTableSlot *slot = get_from_tuplesort(sorter, true, sorter->row_slot);

		return TupIsNull(slot) ? NULL : ((MinimalTupleTableSlot *) slot)->mintuple;
	}
	return get_ours(sorter, true);
}

void
sorter_mark(Sorter *sorter)
{
	if (sorter->tuplesort)
		tuplesort_markpos(sorter->tuplesort);
	else if (sorter->runs)
		spill_mark(sorter->runs);
	sorter->mark = sorter->at;
}

void
sorter_restore(Sorter *sorter)
{
	if (sorter->tuplesort)
		tuplesort_restorepos(sorter->tuplesort);
	else if (sorter->runs)
		spill_restore(sorter->runs);
	sorter->at = sorter->mark;
}

void
sorter_rewind(Sorter *sorter)
{
	if (sorter->tuplesort)
		tuplesort_rescan(sorter->tuplesort);
	else if (sorter->runs)
		spill_rewind(sorter->runs);
	sorter_report(sorter, PROGRESS_OUT, 0);
	sorter->at = sorter->mark = (SorterPlace) {0};
}

void
sorter_end(Sorter *sorter)
{
	if (sorter->tuplesort)
		tuplesort_end(sorter->tuplesort);
	if (sorter->runs)
		spill_close(sorter->runs);
	sorter_end_job(sorter);
	if (sorter->comparer)
		rowcompare_close(sorter->comparer);
	ExecDropSingleTupleTableSlot(sorter->row_slot);
	if (sorter->page_slot)
		ExecDropSingleTupleTableSlot(sorter->page_slot);
	MemoryContextDelete(sorter->cxt);
}
