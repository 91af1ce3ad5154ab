/*
 * sorter_job.c: the engine's half of a sort: keys into chunks, the job, the way from the service to the CPU.
 *
 * The rows stay in the row store until they have been given out, so a job can begin again at any moment: with keys in a
 * wider form, or on the CPU after the service failed, also when part of the order has been used.  Both engines give the
 * same order, ties included.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "sorter_job.h"
#include "src/engine/stat.h"
#include "src/engine/trust.h"
#include "src/base/guc.h"
#include "verify.h"

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

void
note_job(Sorter *sorter, SorterStats *stats)
{
	EngineJob  *job = sorter->job;

	if (job == NULL)
		return;
	sorter->engine->info(job, &stats->job);
	stats->kind = job->kind;
	stats->engine = job->name;
	if (job->kind == ENGINE_CPU)
		return;
	sorter_add_stages(&stats->stages, &(SorterStages) {
		.wait_in_ms = job->wait_in_ms,
		.wait_sort_ms = job->wait_sort_ms,
		.wait_out_ms = job->wait_out_ms,
		.upload_bytes = stats->job.upload_bytes,
		.upload_ns = stats->job.upload_ns,
		.device_ns = stats->job.device_ns});
}

/* Ends the job, if there is one. */
void
end_job(Sorter *sorter)
{
	note_job(sorter, &sorter->stats);
	if (sorter->job)
		sorter->engine->end(sorter->job);
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

/* The rows' marks if they tell where all coarse keys tie, else NULL. */
static const RowMarks *
marks_of(const Sorter *sorter)
{
	for (int i = 0; i < sorter->columns.nkeys; i++)
		if (sorter->keys[i].coarse && sorter->keys[i].leading == 0)
			return NULL;
	return sorter->adaptive.marked ? &sorter->adaptive.marks : NULL;
}

/* Bytes kept for items of runs: where a key tells nothing all rows may be one run. */
static Size
reserved_items(const Sorter *sorter)
{
	return sorter->keys[sorter->ncolumns - 1].empty ? (Size) sorter->rows->rows * TIED_RUN_BYTES : 0;
}

/* Gets an empty chunk with room for a string of that many bytes. */
static gs_status
next_chunk(Sorter *sorter, Size heap_bytes)
{
	gs_chunk   *chunk;
	char	   *memory;
	gs_status	status = sorter->engine->chunk(sorter->job, heap_bytes, &chunk, &memory);

	sorter->writer.chunk = NULL;
	if (status == GS_OK)
		keywriter_begin(&sorter->writer, chunk, memory, sorter->keys);
	return status;
}

/* Hands the chunk over if it has rows. */
static gs_status
close_chunk(Sorter *sorter)
{
	gs_status	status;

	MemoryContextReset(sorter->scratch);
	if (sorter->writer.row == 0)
		return GS_OK;
	keywriter_close(&sorter->writer);
	sorter->writer.row = 0;
	sorter->writer.chunk = NULL;
	status = sorter->engine->add(sorter->job);
	if (status != GS_OK)
		return status;
	sorter->held = sorter->engine->host_bytes(sorter->job) + own_bytes(sorter);
	if (sorter->random_access || is_coarse(sorter))
		sorter->held += (Size) sorter->rows->rows * sizeof(uint32);
	sorter->held += reserved_items(sorter) + (Size) sorter->adaptive.marks.rows * sizeof(uint32);
	sorter->rows_limit = sorter->limit > sorter->held ? sorter->limit - sorter->held : 0;
	/* chunks are small against what a job may take, so that looking after each is often enough */
	if (sorter->rows->rows >= sorter->job->max_rows / 8 * 7)
		sorter->rows_limit = 0;
	return GS_OK;
}

/* Begins a job of the engine with an empty chunk. */
static gs_status
try_begin(Sorter *sorter)
{
	gs_job_spec spec = {.columns = sorter->specs};
	gs_status	status;

	defer_long_keys(sorter);
	sorter->stats.strings = 0;
	sorter->ncolumns = 0;
	sorter->adaptive.marked = false;
	do
	{
		sorter->adaptive.marked |= sorter->keys[sorter->ncolumns].leading > 0;
		sortkey_restart(&sorter->keys[sorter->ncolumns]);
		sorter->specs[sorter->ncolumns] = sorter->keys[sorter->ncolumns].spec;
		if (sorter->specs[sorter->ncolumns].type == GS_BYTES)
			sorter->stats.strings++;
	} while (!sorter->keys[sorter->ncolumns++].empty && sorter->ncolumns < sorter->columns.nkeys);
	spec.ncolumns = sorter->ncolumns;
	/* rows that coarse keys tie are compared later, and these comparisons decide which rows are first */
	spec.op = sorter->op = sorter->job_bound > 0 && !is_coarse(sorter) ? GS_TOPK : GS_ORDER;
	spec.limit = (uint64) sorter->job_bound;
	if (sorter->rows_expected > 0)
		spec.rows_hint = (uint64) Min(sorter->rows_expected, (double) GS_MAX_ROWS);
	status = sorter->engine->begin(&spec, sorter->mem, &sorter->job);
	sorter->held = 0;
	sorter->rows_limit = sorter->limit;
	sorter->writer.row = 0;
	return status == GS_OK ? next_chunk(sorter, 0) : status;
}

void
find_key_places(Sorter *sorter)
{
	sorter->places = keyplaces_find(&sorter->columns, sorter->desc);
	sorter->access = KEYS_COPIED;
	for (int i = 0; i < sorter->columns.nkeys; i++)
		if (sorter->places[i].kind == PLACE_VARIES)
			sorter->access = KEYS_BY_SLOT;
		else if (sorter->keys[i].plain == 0 || sorter->places[i].kind == PLACE_STRING)
			sorter->access = Min(sorter->access, KEYS_IN_PLACE);
}

/* A key's value: straight from the row's data where that is at hand, without taking the slot's tuple apart. */
static inline Datum
key_value(Sorter *sorter, int key, TupleTableSlot *slot, const char *data, Size data_bytes, bool *isnull)
{
	const KeyPlace *place = &sorter->places[key];

	*isnull = false;
	if (likely(data != NULL && place->kind != PLACE_VARIES))
		return keyplace_value(place, data, data_bytes);
	return slot_getattr(slot, sorter->columns.attnos[key], isnull);
}

/*
 * Writes the keys of one row; widened tells that all rows have to be encoded again.  data is the row's data, NULL if it
 * holds NULLs or lacks columns.
 */
static gs_status
encode_row(Sorter *sorter, TupleTableSlot *slot, const char *data, Size data_bytes, bool *widened)
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
	if (sorter->adaptive.marked && !rowmarks_put(&sorter->adaptive.marks, sorter->keys, writer, sorter->ncolumns))
		return GS_NOMEM;
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
		status = try_begin(sorter);
		for (uint32 row = 0; status == GS_OK && !widened && row < sorter->rows->rows; row++)
		{
			CHECK_FOR_INTERRUPTS();
			ExecStoreMinimalTuple(rowstore_get(sorter->rows, row), sorter->row_slot, false);
			status = encode_row(sorter, sorter->row_slot, NULL, 0, &widened);
		}
	} while (status == GS_OK && widened);
	ExecClearTuple(sorter->row_slot);
	return status;
}

void
note_left(Sorter *sorter, EngineFailure why)
{
	sorter->stats.left = why;
	stat_count_left(sorter->op, why);
	if (why == ENGINE_WRONG_ORDER)
		trust_lose(sorter->job);
	ereport(DEBUG1, (errmsg_internal("gpusort sorts on the CPU: %s", engine_failure_text(why))));
}

/*
 * Goes on with the CPU engine after another one failed, with all rows that have come so far; the status if there is no
 * such way.
 */
static gs_status
leave_service(Sorter *sorter, gs_status status)
{
	MemoryContext old;

	if (sorter->engine->why == NULL)
		return status;
	note_left(sorter, sorter->engine->why(status));
	old = MemoryContextSwitchTo(sorter->scratch);
	end_job(sorter);
	sorter->engine = &engine_cpu;
	status = replay(sorter);
	MemoryContextSwitchTo(old);
	return status;
}

gs_status
settle_keys(Sorter *sorter, gs_status status, bool widened)
{
	if (unlikely(sorter->adaptive.deferred < sorter->columns.nkeys && sorter->rows->rows >= sorter->adaptive.defer_check) &&
		status == GS_OK && !widened)
		widened = take_deferred(sorter);
	if (unlikely(sorter->adaptive.marks.rows >= sorter->adaptive.lead_check) && status == GS_OK && !widened)
		widened = take_longer(sorter);
	if (unlikely(widened))
		status = replay(sorter);
	if (unlikely(status != GS_OK))
		status = leave_service(sorter, status);
	return status;
}

gs_status
put_keys(Sorter *sorter, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->scratch);
	bool		widened = false;
	Size		bytes = 0;
	const char *data = rowstore_data(sorter->rows, sorter->rows->rows - 1, &bytes);
	gs_status	status = encode_row(sorter, slot, data, bytes, &widened);

	status = settle_keys(sorter, status, widened);
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
	gs_status	status;

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
	writer->row += count;
	if (writer->row < writer->capacity)
		return GS_OK;
	status = close_chunk(sorter);
	return status == GS_OK ? next_chunk(sorter, 0) : status;
}

/* Writes the keys of the count rows that were stored last, row by row. */
static gs_status
encode_rows(Sorter *sorter, uint32 count, bool *widened)
{
	gs_status	status = GS_OK;

	for (uint32 row = sorter->rows->rows - count; status == GS_OK && !*widened && row < sorter->rows->rows; row++)
	{
		Size		bytes = 0;
		const char *data = rowstore_data(sorter->rows, row, &bytes);

		if (sorter->access == KEYS_BY_SLOT || data == NULL)
			ExecStoreMinimalTuple(rowstore_get(sorter->rows, row), sorter->row_slot, false);
		status = encode_row(sorter, sorter->row_slot, data, bytes, widened);
	}
	ExecClearTuple(sorter->row_slot);
	return status;
}

gs_status
put_page_keys(Sorter *sorter, uint32 count)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->scratch);
	bool		widened = false;
	gs_status	status;

	if (sorter->access == KEYS_COPIED && sorter->rows->stride != 0)
		status = copy_keys(sorter, rowstore_last_data(sorter->rows, count), count);
	else
		status = encode_rows(sorter, count, &widened);
	status = settle_keys(sorter, status, widened);
	MemoryContextSwitchTo(old);
	return status;
}

gs_status
begin_job(Sorter *sorter)
{
	gs_status	status = try_begin(sorter);

	return status == GS_OK ? status : leave_service(sorter, status);
}

RowComparer *
comparer_of(Sorter *sorter)
{
	if (sorter->comparer == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(sorter->cxt);

		sorter->comparer = rowcompare_open(&sorter->columns, sorter->desc, sorter->rows, sorter->places);
		MemoryContextSwitchTo(old);
	}
	return sorter->comparer;
}

/* Do the rows of a piece follow each other, as far as gpusort.verify wants to know? */
static bool
rows_follow(void *arg, int64 before, const uint32 *piece, uint64 count)
{
	Sorter	   *sorter = arg;
	GpusortVerify how = verify_how(sorter->job->kind);

	if (how == VERIFY_OFF)
		return true;
	if (sorter->verifier == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(sorter->cxt);

		sorter->verifier = verify_open(comparer_of(sorter));
		MemoryContextSwitchTo(old);
	}
	return verify_part(sorter->verifier, how, before, piece, count);
}

/*
 * The order comes no further: has the CPU engine make it again, and goes on behind the rows that have been given out.
 * If these may be in a wrong order themselves, there is no way on.
 */
static bool
recover_order(void *arg, gs_status status)
{
	Sorter	   *sorter = arg;
	MemoryContext old = MemoryContextSwitchTo(sorter->cxt);

	if (sorter->engine->why != NULL && sorter->order.misordered)
		note_left(sorter, sorter->engine->why(status));
	else if (sorter->engine->why != NULL)
	{
		status = leave_service(sorter, status);
		if (status == GS_OK)
			status = close_chunk(sorter);
		if (status == GS_OK)
			status = sorter->engine->finish(sorter->job, sorter->rows->rows);
		if (status == GS_OK)
			status = roworder_resume(&sorter->order, sorter->job);
	}
	MemoryContextSwitchTo(old);
	return status == GS_OK;
}

/*
 * How many bytes copies of values may take while rows are compared: what the sort leaves of its memory, and where that
 * is full a quarter more.
 */
static Size
copies_limit(const Sorter *sorter)
{
	Size		used = sorter->held + rowstore_bytes(sorter->rows);
	Size		left = sorter->limit > used ? sorter->limit - used : 0;

	return Max(left, sorter->limit / 4);
}

/* Puts rows in order that coarse keys do not tell apart, and checks them; the whole order is here. */
static gs_status
settle_ties(Sorter *sorter)
{
	RowOrder   *order = &sorter->order;
	const RowMarks *marks = marks_of(sorter);
	uint64		compared = sorter->stats.tied.compared;
	TiedResult	result;

	fix_keys(sorter, true);
	result = tied_runs_settle(comparer_of(sorter), sorter->keys, marks, order->numbers, order->rows, sorter->mem,
							  copies_limit(sorter) + reserved_items(sorter), copies_limit(sorter), &sorter->stats.tied);
	fix_keys(sorter, false);
	if (result == TIED_CONTRADICTION)
		sorter->stats.fallback = SORTER_CONTRADICTION;
	stat_count_coarse(sorter->job->kind, sorter->stats.tied.compared - compared, result == TIED_CONTRADICTION);
	if (result == TIED_SETTLED)
		return marks == NULL || rows_follow(sorter, -1, order->numbers, order->rows) ? GS_OK : GS_WRONG_ORDER;
	return result == TIED_NO_MEMORY ? GS_NOMEM : GS_WRONG_ORDER;
}

/* How many rows of the order are wanted before the first one is given out. */
static uint32
first_rows(const Sorter *sorter)
{
	if (is_coarse(sorter))
		return sorter->rows->rows;
	switch (verify_how(sorter->job->kind))
	{
		case VERIFY_FULL:
			return sorter->rows->rows;
		case VERIFY_SAMPLE:
			return sorter->state == SS_FINISHING ? VERIFY_FIRST_ROWS : sorter->rows->rows;
		default:
			return 1;
	}
}

/* Has the engine sort what it was given; the first rows of the order are here and checked then. */
static gs_status
try_finish(Sorter *sorter)
{
	bool		coarse = is_coarse(sorter);
	gs_status	status = GS_OK;

	/* a key that has become coarse on the way */
	if (sorter->op == GS_TOPK && coarse)
	{
		sorter->job_bound = 0;
		status = replay(sorter);
	}
	if (status == GS_OK)
		status = close_chunk(sorter);
	if (sorter->state == SS_FINISHING)
		rowstore_end(sorter->rows);
	if (status == GS_OK)
	{
		note_memory(sorter);
		status = sorter->engine->finish(sorter->job, sorter->rows->rows);
	}
	if (status != GS_OK)
		return status;
	/* coarse keys do not say how rows follow each other; they are checked once ties have been put in order */
	sorter->order.follows = coarse ? NULL : rows_follow;
	sorter->order.recover = recover_order;
	sorter->order.arg = sorter;
	status = roworder_begin(&sorter->order, sorter->mem, sorter->job, sorter->rows->rows,
							rows_wanted(sorter), sorter->random_access || coarse,
							first_rows(sorter));
	return status == GS_OK && coarse ? settle_ties(sorter) : status;
}

/* The same, on the CPU if the service fails. */
gs_status
finish_job(Sorter *sorter)
{
	gs_status	status;

	/* no job has begun as long as rows came in order */
	if (sorter->job == NULL)
		return finish_in_order(sorter);
	status = try_finish(sorter);
	if (status != GS_OK && sorter->engine->why != NULL && sorter->stats.fallback != SORTER_CONTRADICTION)
	{
		roworder_end(&sorter->order);
		status = leave_service(sorter, status);
		if (status == GS_OK)
			status = try_finish(sorter);
	}
	if (status == GS_OK)
	{
		gs_job_info info;

		sorter->engine->info(sorter->job, &info);
		stat_count_job(sorter->op, sorter->job->kind, &info, sorter->rows->rows);
	}
	note_memory(sorter);
	return status;
}
