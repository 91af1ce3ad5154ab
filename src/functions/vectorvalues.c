/*
 * vectorvalues.c: arrays of a vector's values in order.
 *
 * Numbers of 4 and 8 bytes are sorted alone, without row numbers, and come from the engine as they go into the array.
 * All other values stay where they are: their order is found, and they follow it.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "vectorengine.h"

/* Fewer values than this are compared: to open an engine takes longer. */
#define TINY_ROWS 64

/* Are the column's values, where they are not NULL, what engines sort by itself? */
static bool
sorts_alone(const VectorColumn *column)
{
	const Vector *values = column->values;
	Oid			op = vectorcompare_operator(column);
	const char *why;
	SortKey		key;

	if (values->offsets || !values->type->byval || !sortkey_is_exact(op, column->collation, &why))
		return false;
	sortkey_open(&key, op, column->collation, false, false);
	return key.plain >= 4 && key.plain == values->type->stride;
}

/* Takes the NULLs out: *dense becomes a vector of the other values, which it borrows from mem. */
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

/* Has an engine sort the values alone; NULL if these are few, or not for that. */
static ArrayType *
sorted_alone(BigMem *mem, const VectorColumn *column, bool distinct, int lower_bound, MemoryContext cxt)
{
	Vector		dense;
	VectorColumn values = *column;
	VectorQuestion q;
	ArrayAnswer answer = {.cxt = cxt, .lower_bound = lower_bound, .nulls_first = column->nulls_first};

	if (column->values->rows < TINY_ROWS || !sorts_alone(column))
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

/* The rows that stand first in each run of equal ones of the order. */
static uint32 *
firsts_in_order(BigMem *mem, const VectorColumn *column, uint64 *count)
{
	gs_run	   *runs = vectorjob_runs(mem, column, 1, 1, 1, count);
	uint32	   *rows = (uint32 *) runs; /* in the same memory: what is written was read before */

	for (uint64 i = 0; i < *count; i++)
		rows[i] = runs[i].row;
	return rows;
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
	rows = distinct ? firsts_in_order(mem, column, &count) : vectorjob_order(mem, column, 1);
	old = MemoryContextSwitchTo(cxt);
	array = vector_to_array(column->values, rows, count, lower_bound);
	MemoryContextSwitchTo(old);
	return array;
}
