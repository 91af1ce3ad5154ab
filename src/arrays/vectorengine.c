/*
 * vectorengine.c: executes questions about vectors as jobs of an engine.  The vectors stay in place, so a job can start
 * again: with wider keys, or on the CPU.  An answer is fetched completely and checked before it is used.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "src/engine/engine_choose.h"
#include "src/engine/feed.h"
#include "src/engine/stat.h"
#include "src/base/guc.h"
#include "vectorcheck.h"
#include "vectorengine.h"

/* Results fetched at a time. */
#define PART_RESULTS 65536

/* Ends the job, if any. */
static void
end_job(VectorQuestion *q)
{
	/* by the engine that began it: after a failure q->engine is the other one */
	if (q->job)
		q->job->ops->end(q->job);
	q->job = NULL;
}

/* Copies null bits, from a row that begins a word on. */
static void
copy_nulls(const Vector *vector, KeyColumn *column, uint64 from, uint32 rows)
{
	const uint64 *nulls = vector->nulls + from / 64;
	Size		words = (rows + 63) / 64;
	uint64		any = 0;

	for (Size i = 0; i < words; i++)
		any |= nulls[i];
	if (any == 0)
		return;
	memcpy(column->nulls, nulls, words * sizeof(uint64));
	column->has_nulls = true;
}

/* Returns true if the engine can use a column's values as they are. */
static inline bool
as_they_are(const VectorQuestion *q, int c)
{
	const Vector *vector = q->columns[c].values;

	return q->keys[c].plain != 0 && vector->offsets == NULL && vector->type->stride == q->keys[c].plain;
}

/* Encodes up to *rows values of a column from a row on, in bulk or one by one.  Sets *rows to the number done. */
static KeyResult
fill_column(VectorQuestion *q, int c, uint64 from, uint32 *rows)
{
	const Vector *vector = q->columns[c].values;
	SortKey    *key = &q->keys[c];
	KeyColumn  *column = &q->writer.columns[c];

	if (as_they_are(q, c) && (vector->nulls == NULL || from % 64 == 0))
	{
		memcpy(column->values, vector->data + from * key->plain, (Size) *rows * key->plain);
		if (vector->nulls)
			copy_nulls(vector, column, from, *rows);
		return KEY_OK;
	}
	for (uint32 i = 0; i < *rows; i++)
	{
		bool		isnull;
		Datum		value = vector_get(vector, from + i, &isnull);
		KeyResult	result = sortkey_put(key, value, isnull, column, i);

		if (unlikely(result != KEY_OK))
		{
			*rows = i;
			return result;
		}
	}
	return KEY_OK;
}

/* Adds a chunk with the rows from `from` on.  Sets *rows to their number, 0 if the first needs a larger chunk. */
static gs_status
feed_chunk(VectorQuestion *q, uint64 from, uint32 *rows, bool *widened)
{
	Size		wanted = 0;
	gs_status	status;

	*rows = (uint32) Min(q->rows - from, (uint64) q->writer.capacity);
	for (uint32 c = 0; c < q->spec.ncolumns && *rows > 0; c++)
	{
		KeyResult	result = fill_column(q, (int) c, from, rows);

		if (result == KEY_WIDEN)
		{
			*widened = true;
			return GS_OK;
		}
		if (result == KEY_TOO_LARGE)
			wanted = q->writer.columns[c].wanted;
	}
	MemoryContextReset(q->scratch);
	q->writer.row = *rows;
	status = feed_close(q->job, &q->writer);
	return status == GS_OK ? feed_next(q->job, &q->writer, q->keys, *rows > 0 ? 0 : wanted) : status;
}

/* Encodes the filter's constant as a value of the column. */
static KeyResult
encode_constant(VectorQuestion *q)
{
	FilterConstant *constant = q->constant;
	SortKey    *key = &q->keys[0];
	KeyColumn	column = {.values = constant->element};
	KeyResult	result;

	if (constant->bytes == NULL)
	{
		/* kept, as a restarted job needs it again */
		MemoryContext old = MemoryContextSwitchTo(q->cxt);

		constant->bytes = makeStringInfo();
		MemoryContextSwitchTo(old);
	}
	memset(constant->element, 0, sizeof(constant->element));
	for (;;)
	{
		column.heap = (uint8 *) constant->bytes->data;
		column.heap_bytes = (uint32) constant->bytes->maxlen;
		result = sortkey_put(key, constant->value, false, &column, 0);
		if (result != KEY_TOO_LARGE)
			break;
		enlargeStringInfo(constant->bytes, (int) column.wanted);
	}
	q->spec.filter.value = key->width > 0 ? constant->element : constant->bytes->data;
	q->spec.filter.value_bytes = key->width > 0 ? key->width : ((uint32 *) constant->element)[1];
	return result;
}

/* Lends the engine all columns, if it can read them in place.  GS_INVALID if it needs chunks. */
static gs_status
lend(VectorQuestion *q)
{
	gs_column  *columns;

	if (q->engine->lend == NULL)
		return GS_INVALID;
	columns = palloc0(sizeof(gs_column) * q->spec.ncolumns);
	for (uint32 c = 0; c < q->spec.ncolumns; c++)
	{
		if (!as_they_are(q, (int) c))
			return GS_INVALID;
		columns[c] = (gs_column) {q->specs[c], q->columns[c].values->data, q->columns[c].values->nulls, NULL};
	}
	return q->engine->lend(q->job, columns, q->rows);
}

/* Begins a job.  The forms of its keys are fixed from here on. */
static gs_status
begin_job(VectorQuestion *q)
{
	while (q->constant && encode_constant(q) == KEY_WIDEN)
		;
	for (uint32 c = 0; c < q->spec.ncolumns; c++)
		q->specs[c] = q->keys[c].spec;
	return q->engine->begin(&q->spec, q->mem, &q->job);
}

/* Begins a job and adds all rows.  Starts again when a key widens. */
static gs_status
feed(VectorQuestion *q)
{
	bool		widened;
	gs_status	status;

	do
	{
		widened = false;
		end_job(q);
		status = begin_job(q);
		if (status == GS_OK)
		{
			status = lend(q);
			if (status != GS_INVALID)
				return status;
			status = feed_next(q->job, &q->writer, q->keys, 0);
		}
		for (uint64 row = 0; status == GS_OK && !widened && row < q->rows;)
		{
			uint32		rows;

			CHECK_FOR_INTERRUPTS();
			status = feed_chunk(q, row, &rows, &widened);
			row += rows;
		}
	} while (status == GS_OK && widened);
	return status;
}

/* Allocates the array for this many values, replacing one that an engine has not completed. */
static void *
array_room(ArrayAnswer *answer, const VectorType *vtype, uint64 values)
{
	uint64		count = values + answer->nulls;
	uint64		first = answer->nulls_first ? answer->nulls : 0;
	MemoryContext old = MemoryContextSwitchTo(answer->cxt);

	if (answer->array)
		pfree(answer->array);
	answer->array = array_begin(vtype->type, count, values * vtype->stride, false, answer->nulls > 0,
								answer->lower_bound);
	MemoryContextSwitchTo(old);
	if (answer->nulls > 0)
		for (uint64 i = first; i < first + values; i++)
			ARR_NULLBITMAP(answer->array)[i / 8] |= 1 << (i % 8);
	return array_elements(answer->array);
}

/* Fetches the complete answer. */
static gs_status
take_answer(VectorQuestion *q, BigMem *mem)
{
	Size		width = gs_job_result_bytes(&q->spec);
	uint64		room = q->rows;
	gs_job_info info;
	gs_status	status;
	uint64		got;

	if (q->array)
	{
		q->engine->info(q->job, &info);
		room = info.results;
		q->answer = array_room(q->array, q->columns[0].values->type, room);
	}
	/* untouched memory costs nothing */
	else if (q->answer == NULL)
		q->answer = bigmem_alloc(mem, Max(room, 1) * width);
	if (q->answer == NULL)
		return GS_NOMEM;
	q->count = 0;
	do
	{
		CHECK_FOR_INTERRUPTS();
		status = q->engine->next(q->job, (char *) q->answer + q->count * width, Min(room - q->count, PART_RESULTS),
								 &got);
		if (status == GS_OK)
			q->count += got;
	} while (status == GS_OK && got > 0 && q->count < room);
	q->engine->info(q->job, &info);
	q->selected = info.selected;
	if (status == GS_OK && q->array && q->count != room)
		status = GS_PROTOCOL;
	if (status == GS_OK && !vectorcheck(q))
		status = GS_WRONG_ORDER;
	return status;
}

/* Lets the current engine answer the question. */
static gs_status
try_engine(VectorQuestion *q, BigMem *mem)
{
	gs_status	status = feed(q);

	if (status == GS_OK)
		status = q->engine->finish(q->job, q->rows);
	if (status == GS_OK)
		status = take_answer(q, mem);
	if (status == GS_OK)
		stat_count_job(q->spec.op, q->job, q->rows);
	return status;
}

void
question_raise(gs_status status)
{
	if (status == GS_OVERFLOW)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("bigint out of range"),
				 errhint("Cast the array to numeric[].")));
	engine_check(status);
}

/* Looks up the ordering operators of the columns.  Returns false if one has no exact encoding. */
static bool
find_operators(const VectorQuestion *q, Oid *operators)
{
	bool		supported = true;

	for (uint32 c = 0; c < q->spec.ncolumns; c++)
	{
		operators[c] = vectorcompare_operator(&q->columns[c]);
		supported &= sortkey_is_exact(operators[c], q->columns[c].collation);
	}
	return supported;
}

/* Opens the keys in the question's memory context, which is current. */
static void
open_keys(VectorQuestion *q, const Oid *operators)
{
	uint32		ncolumns = q->spec.ncolumns;

	q->mem = bigmem_create(q->cxt);
	q->keys = palloc0(sizeof(SortKey) * ncolumns);
	q->specs = palloc0(sizeof(gs_column_spec) * ncolumns);
	q->writer.columns = palloc0(sizeof(KeyColumn) * ncolumns);
	for (uint32 c = 0; c < ncolumns; c++)
		sortkey_open(&q->keys[c], operators[c], q->columns[c].collation, q->columns[c].nulls_first, false);
	q->spec.columns = q->specs;
	q->spec.rows_hint = q->rows;
}

bool
question_ask(VectorQuestion *q, BigMem *mem)
{
	MemoryContext old;
	Oid		   *operators;
	gs_status	status;

	q->cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort vectors", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(q->cxt);
	operators = palloc(sizeof(Oid) * q->spec.ncolumns);
	if (!find_operators(q, operators))
	{
		MemoryContextSwitchTo(old);
		MemoryContextDelete(q->cxt);
		return false;
	}
	open_keys(q, operators);
	q->scratch = AllocSetContextCreate(q->cxt, "gpusort keys", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(q->scratch);
	status = try_engine(q, mem);
	if (status != GS_OK && q->engine->fallback != NULL)
	{
		(void) feed_fail_over(&q->engine, q->spec.op, q->job, status);
		end_job(q);
		status = try_engine(q, mem);
	}
	MemoryContextSwitchTo(old);
	question_raise(status);
	end_job(q);
	MemoryContextDelete(q->cxt);
	return true;
}

void
question_begin(VectorQuestion *q, gs_op op, const VectorColumn *columns, int ncolumns)
{
	EngineFailure why = ENGINE_OK;

	memset(q, 0, sizeof(*q));
	q->columns = columns;
	q->spec.op = op;
	q->spec.ncolumns = (uint32) ncolumns;
	q->rows = columns[0].values->rows;
	q->engine = &engine_cpu;
	if (q->rows >= (uint64) gpusort_min_rows)
		q->engine = engine_choose((double) q->rows, &why);
	if (why != ENGINE_OK)
		feed_left(op, NULL, why);
}
