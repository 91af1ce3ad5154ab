/*
 * sorter_job.c: the job of a sort: writes keys into chunks, has the engine sort, and restarts.
 *
 * Invariant: rows stay in the row store until they are returned, and all engines give one order, ties included. So
 * sorter_restart() can replace a job at any moment, also after a part of the order has been used.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "sorter_job.h"
#include "src/engine/feed.h"
#include "src/engine/stat.h"
#include "src/base/guc.h"
#include "src/rows/neighbours.h"
#include "src/rows/verify.h"

/* Why a job is replaced by another one, which begins with the first row in memory. */
typedef enum RestartReason
{
	RESTART_NONE,
	RESTART_FIRST,				/* there was no job before, as rows were few or came in order */
	RESTART_WIDENED,			/* a value did not fit its key's form, which has been widened */
	RESTART_SAMPLED,			/* a sample shows that the engine has to see more of the keys */
	RESTART_TIES_DECIDE,		/* a key of a GS_TOPK job became coarse: comparisons decide which rows are first */
	RESTART_FAILED				/* the engine failed */
} RestartReason;

/* Memory of the keys themselves. */
static Size
own_bytes(const Sorter *sorter)
{
	Size		bytes = 0;

	for (int i = 0; i < sorter->columns.nkeys; i++)
		bytes += sortkey_bytes(&sorter->keys[i]);
	return bytes;
}

/* Notes the most memory that was held. */
static void
note_memory(Sorter *sorter)
{
	uint64		bytes = rowstore_bytes(sorter->rows) + sorter->order.room * sizeof(uint32) + own_bytes(sorter);

	if (sorter->job && sorter->job->kind == ENGINE_CPU)
		bytes += sorter->engine->host_bytes(sorter->job);
	sorter->stats.memory_bytes = Max(sorter->stats.memory_bytes, bytes);
}

/* Ends the job, if there is one. */
void
sorter_end_job(Sorter *sorter)
{
	sorter_note_job(sorter, &sorter->stats);
	if (sorter->job)
		sorter->job->ops->end(sorter->job);
	rowmarks_free(&sorter->adaptive.marks);
	sorter->job = NULL;
	sorter->writer.chunk = NULL;
}

/* Is any key coarse, in its present form? */
static bool
is_coarse(const Sorter *sorter)
{
	for (int i = 0; i < sorter->columns.nkeys; i++)
		if (sorter->keys[i].coarse)
			return true;
	return false;
}

/*
 * Do marks show all rows that have to be compared?  They do for prefixes and deferred keys.  Those of other coarse keys
 * may be wrong, which a draft may be, too.
 */
static bool
marks_suffice(const Sorter *sorter)
{
	if (sorter->draft)
		return true;
	for (int i = 0; i < sorter->ncolumns; i++)
		if (sorter->keys[i].coarse && sorter->keys[i].leading == 0 && (i == 0 || !sorter->keys[i].empty))
			return false;
	return true;
}

/* The rows' marks if they show all rows that may be tied, else NULL. */
static const RowMarks *
marks_of(const Sorter *sorter)
{
	return sorter->adaptive.marked && marks_suffice(sorter) ? &sorter->adaptive.marks : NULL;
}

/* Bytes reserved for the items of tied runs: with an empty key all rows may be one run. */
static Size
reserved_items(const Sorter *sorter)
{
	return sorter->keys[sorter->ncolumns - 1].empty ? (Size) sorter->rows->rows * TIED_RUN_BYTES : 0;
}

/* Gets an empty chunk with room for a string of that many bytes. */
static gs_status
next_chunk(Sorter *sorter, Size heap_bytes)
{
	return feed_next(sorter->job, &sorter->writer, sorter->keys, heap_bytes);
}

/* Hands the chunk over if it has rows. */
static gs_status
close_chunk(Sorter *sorter)
{
	bool		empty = sorter->writer.row == 0;
	gs_status	status;

	MemoryContextReset(sorter->scratch);
	status = feed_close(sorter->job, &sorter->writer);
	if (empty || status != GS_OK)
		return status;
	sorter->held = sorter->engine->host_bytes(sorter->job) + own_bytes(sorter);
	if (sorter->random_access || is_coarse(sorter))
		sorter->held += (Size) sorter->rows->rows * sizeof(uint32);
	sorter->held += reserved_items(sorter) + (Size) sorter->adaptive.marks.rows * sizeof(uint32);
	sorter->rows_limit = sorter->limit > sorter->held ? sorter->limit - sorter->held : 0;
	/* max_rows is many chunks, so a look after each of them is enough */
	if (sorter->rows->rows >= sorter->job->max_rows / 8 * 7)
		sorter->rows_limit = 0;
	return GS_OK;
}

/* Hands the chunk over and gets an empty one. */
static gs_status
change_chunk(Sorter *sorter)
{
	gs_status	status = close_chunk(sorter);

	return status == GS_OK ? next_chunk(sorter, 0) : status;
}

/* Makes the job's columns of the keys in their present forms, up to the first empty key. */
static void
make_columns(Sorter *sorter)
{
	SortKey    *key;

	sorter->stats.strings = 0;
	sorter->ncolumns = 0;
	sorter->adaptive.marked = false;
	do
	{
		key = &sorter->keys[sorter->ncolumns];
		sortkey_restart(key);
		sorter->adaptive.marked |= key->leading > 0 || (sorter->draft && key->coarse);
		sorter->stats.strings += key->spec.type == GS_BYTES;
		sorter->specs[sorter->ncolumns++] = key->spec;
	} while (!key->empty && sorter->ncolumns < sorter->columns.nkeys);
	/* a mark costs less than a comparison of the keys before a deferred one */
	sorter->adaptive.marked |= key->empty && marks_suffice(sorter);
}

/* Begins a job of the engine with an empty chunk. */
static gs_status
try_begin(Sorter *sorter)
{
	gs_job_spec spec = {.columns = sorter->specs};
	gs_status	status;

	sorter_defer_long_keys(sorter);
	make_columns(sorter);
	spec.ncolumns = sorter->ncolumns;
	/* comparisons of rows that coarse keys leave tied may decide which rows are first */
	spec.op = sorter->op = sorter->job_bound > 0 && !is_coarse(sorter) ? GS_TOPK : GS_ORDER;
	spec.limit = (uint64) sorter->job_bound;
	if (sorter->rows_expected > 0)
		spec.rows_hint = (uint64) Min(sorter->rows_expected, (double) GS_MAX_ROWS);
	status = sorter->engine->begin(&spec, sorter->mem, &sorter->job);
	sorter->held = 0;
	sorter->rows_limit = sorter->keys[0].theirs ? 0 : sorter->limit;
	sorter->writer.row = 0;
	return status == GS_OK ? next_chunk(sorter, 0) : status;
}

void
sorter_find_key_access(Sorter *sorter)
{
	sorter->access = KEYS_COPIED;
	for (int i = 0; i < sorter->columns.nkeys; i++)
		if (sorter->places[i].kind == PLACE_VARIES)
			sorter->access = KEYS_BY_SLOT;
		else if (sorter->keys[i].plain == 0 || sorter->places[i].kind == PLACE_STRING)
			sorter->access = Min(sorter->access, KEYS_IN_PLACE);
}

/* A key's value: from the row's data if that is given and the key has a place there, else from the slot. */
static inline Datum
key_value(Sorter *sorter, int key, TupleTableSlot *slot, const char *data, Size data_bytes, bool *isnull)
{
	const KeyPlace *place = &sorter->places[key];

	*isnull = false;
	if (likely(data != NULL && place->kind != PLACE_VARIES))
		return keyplace_value(place, data, data_bytes);
	return slot_getattr(slot, sorter->columns.attnos[key], isnull);
}

/* Writes the keys of one row.  data is the row's data, NULL if it holds NULLs or lacks columns. */
static gs_status
encode_row(Sorter *sorter, TupleTableSlot *slot, const char *data, Size data_bytes, RestartReason *reason)
{
	KeyWriter  *writer = &sorter->writer;
	gs_status	status = GS_OK;

	for (int i = 0; i < sorter->ncolumns; i++)
	{
		KeyColumn  *column = &writer->columns[i];
		bool		isnull;
		Datum		value = key_value(sorter, i, slot, data, data_bytes, &isnull);
		KeyResult	result = sortkey_put(&sorter->keys[i], value, isnull, column, writer->row);

		if (likely(result == KEY_OK))
			continue;
		if (result == KEY_WIDEN)
		{
			sorter_defer_again(sorter, i);
			*reason = RESTART_WIDENED;
			return GS_OK;
		}
		status = result == KEY_FULL ? change_chunk(sorter) : next_chunk(sorter, column->wanted);
		if (status != GS_OK)
			return status;
		i = -1;					/* the row is written from its first key again, to the new chunk */
	}
	if (sorter->adaptive.marked && !rowmarks_put(&sorter->adaptive.marks, sorter->keys, writer, sorter->ncolumns))
		return GS_NOMEM;
	return ++writer->row == writer->capacity ? change_chunk(sorter) : GS_OK;
}

/* Writes the keys of the rows of the store from one on, row by row. */
static gs_status
encode_rows(Sorter *sorter, uint32 from, RestartReason *reason)
{
	gs_status	status = GS_OK;

	for (uint32 row = from; status == GS_OK && *reason == RESTART_NONE && row < sorter->rows->rows; row++)
	{
		Size		bytes = 0;
		const char *data = rowstore_data(sorter->rows, row, &bytes);

		CHECK_FOR_INTERRUPTS();
		if (sorter->access == KEYS_BY_SLOT || data == NULL)
			ExecStoreMinimalTuple(rowstore_get(sorter->rows, row), sorter->row_slot, false);
		status = encode_row(sorter, sorter->row_slot, data, bytes, reason);
	}
	ExecClearTuple(sorter->row_slot);
	return status;
}

/* Replaces a failed engine by its fallback; false if there is none, or if the fault is not the engine's. */
static bool
leave_engine(Sorter *sorter, gs_status status)
{
	if (sorter->engine->fallback == NULL || sorter->stats.fallback == SORTER_CONTRADICTION)
		return false;
	sorter->stats.left = feed_fail_over(&sorter->engine, sorter->op, sorter->job, status);
	return true;
}

/*
 * Replaces the job by one that takes the rows in memory from the first, and that one too if a reason comes up.  status:
 * what a failed engine returned.  Returns GS_OK with all rows encoded, or the status that no engine can go on with.
 *
 * The loop ends: a key only widens, samples are taken only when rows come, and the last engine has no fallback.
 */
static pg_noinline gs_status
sorter_restart(Sorter *sorter, RestartReason reason, gs_status status)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->scratch);

	while (reason != RESTART_NONE && (reason != RESTART_FAILED || leave_engine(sorter, status)))
	{
		if (reason == RESTART_TIES_DECIDE)
			sorter->job_bound = 0;
		sorter_end_job(sorter);
		reason = RESTART_NONE;
		status = try_begin(sorter);
		if (status == GS_OK)
			status = encode_rows(sorter, 0, &reason);
		if (status != GS_OK)
			reason = RESTART_FAILED;
	}
	MemoryContextSwitchTo(old);
	return status;
}

/* Goes on after a step of the job; restarts if there is a failure or a reason. */
static inline gs_status
go_on(Sorter *sorter, gs_status status, RestartReason reason)
{
	if (unlikely(status != GS_OK))
		reason = RESTART_FAILED;
	return likely(reason == RESTART_NONE) ? GS_OK : sorter_restart(sorter, reason, status);
}

gs_status
sorter_begin_job(Sorter *sorter)
{
	return go_on(sorter, try_begin(sorter), RESTART_NONE);
}

gs_status
sorter_encode_all(Sorter *sorter)
{
	sorter->state = SS_LOADING;
	return go_on(sorter, GS_OK, RESTART_FIRST);
}

/* Takes the samples that are due at this number of rows. */
static inline RestartReason
look_at_samples(Sorter *sorter)
{
	AdaptiveKeys *keys = &sorter->adaptive;

	if (unlikely(keys->deferred < sorter->columns.nkeys && sorter->rows->rows >= keys->defer_check) &&
		sorter_resume_deferred(sorter))
		return RESTART_SAMPLED;
	if (unlikely(keys->marks.rows >= keys->lead_check) && sorter_lengthen_prefixes(sorter))
		return RESTART_SAMPLED;
	return RESTART_NONE;
}

/* Ends a put, whose keys have been written unless there is a failure or a reason. */
static inline gs_status
end_put(Sorter *sorter, gs_status status, RestartReason reason)
{
	if (likely(status == GS_OK && reason == RESTART_NONE))
		reason = look_at_samples(sorter);
	return go_on(sorter, status, reason);
}

gs_status
sorter_put_keys(Sorter *sorter, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->scratch);
	RestartReason reason = RESTART_NONE;
	Size		bytes = 0;
	/* a virtual slot has its values at hand, while a row just written would be read before the stores are through */
	const char *data = TTS_IS_VIRTUAL(slot) ? NULL : rowstore_data(sorter->rows, sorter->rows->rows - 1, &bytes);
	gs_status	status = encode_row(sorter, slot, data, bytes, &reason);

	status = end_put(sorter, status, reason);
	MemoryContextSwitchTo(old);
	return status;
}

/* Copies one plain key of count uniform rows into its column. */
static void
copy_plain(char *to, const char *from, Size stride, uint32 count, uint8 width)
{
	switch (width)
	{
		case 8:
			for (uint32 i = 0; i < count; i++)
				((uint64 *) to)[i] = *(const uint64 *) (from + i * stride);
			break;
		case 4:
			for (uint32 i = 0; i < count; i++)
				((uint32 *) to)[i] = *(const uint32 *) (from + i * stride);
			break;
		case 2:
			for (uint32 i = 0; i < count; i++)
				((uint16 *) to)[i] = *(const uint16 *) (from + i * stride);
			break;
		default:
			for (uint32 i = 0; i < count; i++)
				((uint8 *) to)[i] = *(const uint8 *) (from + i * stride);
			break;
	}
}

/* Writes the keys of uniform rows column by column. */
static gs_status
copy_keys(Sorter *sorter, const char *data, uint32 count)
{
	KeyWriter  *writer = &sorter->writer;

	for (int i = 0; i < sorter->columns.nkeys; i++)
	{
		const KeyPlace *place = &sorter->places[i];
		uint8		width = sorter->keys[i].plain;
		int			offset = place->offset;

		if (place->kind == PLACE_FROM_END)
			offset = (int) rowstore_data_bytes(sorter->rows) - offset;
		copy_plain(writer->columns[i].values + (Size) writer->row * width, data + offset, sorter->rows->stride, count,
				   width);
	}
	/* sorter_put_page takes no more rows than the chunk has room for */
	writer->row += count;
	return writer->row == writer->capacity ? change_chunk(sorter) : GS_OK;
}

gs_status
sorter_put_page_keys(Sorter *sorter, uint32 count)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->scratch);
	RestartReason reason = RESTART_NONE;
	gs_status	status;

	if (sorter->access == KEYS_COPIED && sorter->rows->stride != 0)
		status = copy_keys(sorter, rowstore_last_data(sorter->rows, count), count);
	else
		status = encode_rows(sorter, sorter->rows->rows - count, &reason);
	status = end_put(sorter, status, reason);
	MemoryContextSwitchTo(old);
	return status;
}

RowComparer *
sorter_comparer(Sorter *sorter)
{
	if (sorter->comparer == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(sorter->cxt);

		sorter->comparer = rowcompare_open(&sorter->columns, sorter->desc, sorter->rows, sorter->places);
		MemoryContextSwitchTo(old);
	}
	return sorter->comparer;
}

/* Hands the last chunk over and has the engine sort. */
static gs_status
sort_rows(Sorter *sorter)
{
	gs_status	status = close_chunk(sorter);

	if (sorter->state == SS_FINISHING)
		rowstore_end(sorter->rows);
	if (status != GS_OK)
		return status;
	note_memory(sorter);
	return sorter->engine->finish(sorter->job, sorter->rows->rows);
}

/* As a RowOrder's recover: after a failure amid the order sorts again, unless rows returned may have been wrong. */
static bool
recover_order(void *arg, gs_status status)
{
	Sorter	   *sorter = arg;
	MemoryContext old = MemoryContextSwitchTo(sorter->cxt);

	if (sorter->order.misordered)
		(void) leave_engine(sorter, status);	/* which counts the fault */
	else
		status = go_on(sorter, status, RESTART_NONE);
	if (status == GS_OK)
		status = sort_rows(sorter);
	if (status == GS_OK)
		status = roworder_resume(&sorter->order, sorter->job);
	MemoryContextSwitchTo(old);
	return status == GS_OK;
}

/* The memory for unpacked values while tied rows are compared: the rest of the limit, at least a quarter of it. */
static Size
copies_limit(const Sorter *sorter)
{
	Size		used = sorter->held + rowstore_bytes(sorter->rows);
	Size		left = sorter->limit > used ? sorter->limit - used : 0;

	return Max(left, sorter->limit / 4);
}

/* Sorts rows that coarse keys leave tied, and checks the order, all of which has been fetched. */
static gs_status
order_ties(Sorter *sorter)
{
	RowOrder   *order = &sorter->order;
	const RowMarks *marks = marks_of(sorter);
	uint64		compared = sorter->stats.tied.compared;
	TiedResult	result;

	sorter_fix_keys(sorter, true);
	result = tied_runs_sort(sorter_comparer(sorter), sorter->keys, marks, order->numbers, order->rows, sorter->mem,
							copies_limit(sorter) + reserved_items(sorter), copies_limit(sorter), &sorter->stats.tied);
	sorter_fix_keys(sorter, false);
	if (result == TIED_CONTRADICTION)
		sorter->stats.fallback = SORTER_CONTRADICTION;
	stat_count_coarse(sorter->job->kind, sorter->stats.tied.compared - compared, result == TIED_CONTRADICTION);
	if (result == TIED_SORTED)
		return marks == NULL || sorter_rows_follow(sorter, order->numbers, order->rows) ? GS_OK : GS_WRONG_ORDER;
	return result == TIED_NO_MEMORY ? GS_NOMEM : GS_WRONG_ORDER;
}

/* How many numbers of the order to fetch before the first row is returned.  Nobody waits for the first row of a run. */
static uint32
first_rows(const Sorter *sorter)
{
	GpusortVerify how = sorter_verify_how(sorter);

	if (is_coarse(sorter) || how == VERIFY_FULL)
		return sorter->rows->rows;
	/* a backend's own run is written as its order comes: the numbers of all rows would take memory from them */
	if (how == VERIFY_OFF || (how == VERIFY_WORDS && sorter->job->kind == ENGINE_CPU))
		return 1;
	return sorter->state == SS_FINISHING ? VERIFY_FIRST_ROWS : sorter->rows->rows;
}

/* How many rows of the order are wanted. */
static uint32
rows_wanted(const Sorter *sorter)
{
	uint32		rows = sorter->rows->rows;

	return sorter->op == GS_TOPK ? (uint32) Min((uint64) sorter->job_bound, (uint64) rows) : rows;
}

/* Has the engine sort, and fetches and checks the first rows of the order. */
static gs_status
try_finish(Sorter *sorter, RestartReason *reason)
{
	bool		coarse = is_coarse(sorter);
	gs_status	status;

	/* a key became coarse after try_begin, where coarse keys exclude GS_TOPK */
	if (sorter->op == GS_TOPK && coarse)
	{
		*reason = RESTART_TIES_DECIDE;
		return GS_OK;
	}
	status = sort_rows(sorter);
	if (status != GS_OK)
		return status;
	/* with coarse keys rows do not follow each other yet; order_ties checks them */
	sorter->order.follows = coarse ? NULL : sorter_rows_follow;
	sorter->order.window = !coarse && sorter_verify_how(sorter) == VERIFY_WORDS ? NEIGHBOURS_ROWS : 0;
	sorter->order.recover = recover_order;
	sorter->order.arg = sorter;
	status = roworder_begin(&sorter->order, sorter->mem, sorter->job, sorter->rows->rows, rows_wanted(sorter),
							sorter->random_access || coarse, first_rows(sorter));
	return status == GS_OK && coarse ? order_ties(sorter) : status;
}

gs_status
sorter_finish_job(Sorter *sorter)
{
	if (sorter->keys == NULL)
		return sorter_finish_few(sorter);
	/* there is no job if all rows came in order */
	if (sorter->job == NULL)
		return sorter_finish_in_order(sorter);
	for (;;)
	{
		RestartReason reason = RESTART_NONE;
		gs_status	status = try_finish(sorter, &reason);

		if (status == GS_OK && reason == RESTART_NONE)
			break;
		roworder_end(&sorter->order);
		status = go_on(sorter, status, reason);
		if (status != GS_OK)
			return status;
	}
	stat_count_job(sorter->op, sorter->job, sorter->rows->rows);
	note_memory(sorter);
	return GS_OK;
}
