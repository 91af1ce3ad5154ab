/*
 * vectorvalues.c: arrays made of a vector's values: sorted, without duplicates, or repeated.  The engine returns
 * numbers of 4 and 8 bytes in the form of array elements.  A single pass over fixed-width values is the CPU engine's,
 * as sending them would take longer.  Other types are gathered by row numbers.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "kernels/gs_arrays.h"

#include "vectorengine.h"

/* Fewer values are compared, since opening an engine takes longer. */
#define TINY_ROWS 64

/* Elements between checks for interrupts. */
#define BLOCK_ROWS 65536

bool
vectorjob_numbers(const VectorColumn *column, gs_type *type)
{
	const Vector *values = column->values;
	Oid			op = vectorcompare_operator(column);
	SortKey		key;

	if (values->offsets || !values->type->byval || !sortkey_is_exact(op, column->collation))
		return false;
	sortkey_open(&key, op, column->collation, false, false);
	*type = key.spec.type;
	return key.plain != 0 && key.plain == values->type->stride;
}

/* Removes NULLs: *dense becomes a vector of the other values, in memory of mem. */
static bool
make_dense(BigMem *mem, const Vector *values, Vector *dense)
{
	Size		stride = values->type->stride;
	uint32		count = 0;
	char	   *data;

	*dense = *values;
	if (values->nulls == NULL)
		return true;
	data = bigmem_alloc(mem, (Size) values->rows * stride);
	if (data == NULL)
		return false;

#define TAKE(element) \
	for (uint32 i = 0; i < values->rows; i++) \
	{ \
		((element *) data)[count] = ((const element *) values->data)[i]; \
		count += !vector_is_null(values, i); \
	}

	if (stride == 8)
		TAKE(uint64)
	else
		TAKE(uint32)
#undef TAKE
	dense->data = data;
	dense->nulls = NULL;
	dense->rows = count;
	return true;
}

/* Lets an engine sort the values alone.  Returns NULL if they are few or unsuited. */
static ArrayType *
sorted_alone(BigMem *mem, const VectorColumn *column, bool distinct, int lower_bound, MemoryContext cxt)
{
	Vector		dense;
	VectorColumn values = *column;
	VectorQuestion q;
	ArrayAnswer answer = {.cxt = cxt, .lower_bound = lower_bound, .nulls_first = column->nulls_first};
	gs_type		type;

	if (column->values->rows < TINY_ROWS || !vectorjob_numbers(column, &type) || gs_type_width(type) < 4)
		return NULL;
	if (!make_dense(mem, column->values, &dense))
		question_raise(GS_NOMEM);
	if (dense.rows < TINY_ROWS)
		return NULL;
	values.values = &dense;
	answer.nulls = column->values->rows - dense.rows;
	if (distinct)
		answer.nulls = Min(answer.nulls, 1);
	question_begin(&q, GS_VALUES, &values, 1);
	q.spec.order_columns = 1;
	q.spec.key_columns = distinct ? 1 : 0;
	q.array = &answer;
	return question_ask(&q, mem) ? answer.array : NULL;
}

ArrayType *
vectorjob_sorted_array(BigMem *mem, const VectorColumn *column, bool distinct, int lower_bound, MemoryContext cxt)
{
	ArrayType  *array = sorted_alone(mem, column, distinct, lower_bound, cxt);
	uint64		count = column->values->rows;
	uint32	   *rows;
	MemoryContext old;

	if (array)
		return array;
	rows = distinct ? vectorjob_first_rows(mem, column, true, &count) : vectorjob_order(mem, column, 1);
	old = MemoryContextSwitchTo(cxt);
	array = vector_to_array(column->values, rows, count, lower_bound);
	MemoryContextSwitchTo(old);
	return array;
}

/* Opens the CPU engine, for a call or two. */
static gs_engine *
open_engine(BigMem *mem)
{
	gs_host		host = bigmem_host(mem);
	gs_engine  *engine;

	question_raise(gs_cpu_open(1, &host, &engine));
	return engine;
}

/* Allocates a call's temporary memory. */
static void *
call_memory(gs_engine *engine, Size bytes)
{
	void	   *memory = NULL;

	if (bytes > 0)
		question_raise(gs_alloc(engine, bytes, &memory));
	return memory;
}

/* Writes runs' first values to memory that the session keeps: an array for all would fault in new pages. */
static ArrayType *
dedup_numbers(BigMem *mem, const Vector *values, gs_type type)
{
	Size		stride = values->type->stride;
	gs_engine  *engine = open_engine(mem);
	Size		temp_bytes = gs_select_temp_bytes(engine, type, values->rows);
	void	   *firsts = call_memory(engine, values->rows * stride);
	ArrayType  *array;
	uint64		count;

	question_raise(gs_unique(engine, type, values->data, values->rows, firsts, &count, call_memory(engine, temp_bytes),
							 temp_bytes));
	array = array_begin(values->type->type, count, count * stride, false, false, 1);
	memcpy(array_elements(array), firsts, count * stride);
	gs_engine_close(engine);
	return array;
}

ArrayType *
vectorjob_dedup_array(BigMem *mem, const VectorColumn *column, MemoryContext cxt)
{
	const Vector *values = column->values;
	MemoryContext old;
	ArrayType  *array;
	uint32	   *rows;
	uint64		count;
	gs_type		type;

	if (values->rows > 0 && values->nulls == NULL && vectorjob_numbers(column, &type))
	{
		old = MemoryContextSwitchTo(cxt);
		array = dedup_numbers(mem, values, type);
		MemoryContextSwitchTo(old);
		return array;
	}
	rows = vectorjob_first_rows(mem, column, false, &count);
	old = MemoryContextSwitchTo(cxt);
	array = vector_to_array(values, rows, count, 1);
	MemoryContextSwitchTo(old);
	return array;
}

/* Repeats each value by its length.  The lengths have been checked. */
static ArrayType *
decode_numbers(BigMem *mem, const Vector *values, const Vector *lengths, uint64 count)
{
	static const gs_type types[] = {[1] = GS_U8, [2] = GS_U16, [4] = GS_U32, [8] = GS_U64};
	Size		stride = values->type->stride;
	ArrayType  *array = array_begin(values->type->type, count, count * stride, false, false, 1);
	gs_engine  *engine = open_engine(mem);
	Size		temp_bytes = gs_decode_temp_bytes(engine, GS_U64, values->rows, count);
	uint64		decoded;

	question_raise(gs_decode(engine, types[stride], values->data, GS_U64, lengths->data, values->rows,
							 array_elements(array), count, &decoded, call_memory(engine, temp_bytes), temp_bytes));
	gs_engine_close(engine);
	return array;
}

ArrayType *
vector_decoded_array(BigMem *mem, const Vector *values, const Vector *lengths, uint64 count, MemoryContext cxt)
{
	MemoryContext old;
	ArrayType  *array;
	uint32	   *rows;
	uint64		at = 0;

	if (count > 0 && values->nulls == NULL && values->offsets == NULL && values->type->byval)
	{
		old = MemoryContextSwitchTo(cxt);
		array = decode_numbers(mem, values, lengths, count);
		MemoryContextSwitchTo(old);
		return array;
	}
	rows = bigmem_alloc(mem, Max(count, 1) * sizeof(uint32));
	if (rows == NULL)
		question_raise(GS_NOMEM);
	for (uint32 run = 0; run < lengths->rows; run++)
	{
		uint64		end = at + ((const uint64 *) lengths->data)[run];

		while (at < end)
		{
			if (at % BLOCK_ROWS == 0)
				CHECK_FOR_INTERRUPTS();
			rows[at++] = run;
		}
	}
	old = MemoryContextSwitchTo(cxt);
	array = vector_to_array(values, rows, count, 1);
	MemoryContextSwitchTo(old);
	return array;
}
