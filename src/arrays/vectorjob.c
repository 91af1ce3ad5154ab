/*
 * vectorjob.c: questions about vectors, answered by engines or by comparisons.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "vectorengine.h"

/* Fewer rows are compared, since opening an engine takes longer. */
#define TINY_ROWS 64

/* Fewer rows are compared where the alternative is a sort of rows. */
#define FEW_ROWS 1000

/* Rows between checks for interrupts. */
#define BLOCK_ROWS 65536

/* Allocates an answer. */
static void *
answer_room(BigMem *mem, uint64 count, Size width)
{
	void	   *room = bigmem_alloc(mem, Max(count, 1) * width);

	if (room == NULL)
		question_raise(GS_NOMEM);
	return room;
}

/* Lets an engine answer.  Returns false if comparisons are faster or no engine can. */
static bool
asked(VectorQuestion *q, BigMem *mem)
{
	if (q->rows < TINY_ROWS && q->engine == &engine_cpu)
		return false;
	return question_ask(q, mem);
}

uint32 *
vectorjob_order(BigMem *mem, const VectorColumn *columns, int ncolumns)
{
	VectorQuestion q;

	question_begin(&q, GS_ORDER, columns, ncolumns);
	if (!asked(&q, mem))
	{
		q.answer = answer_room(mem, q.rows, sizeof(uint32));
		if (q.rows < FEW_ROWS || !sortkey_pays(vectorcompare_operator(columns), columns->collation, (double) q.rows))
			vectorcompare_order(columns, ncolumns, q.answer);
		else
			vectorsort_order(columns, ncolumns, q.answer);
	}
	return q.answer;
}

/* So many rows ahead in an order values are loaded, and twice as many where they lie. */
#define AHEAD 16

/*
 * Loads values ahead of their turn: those of neighbours in an order lie anywhere in memory.  (Not inlined, a call that
 * only loads would be dropped.)
 */
static pg_attribute_always_inline void
load_ahead(const Vector *values, const uint32 *order, uint64 place)
{
	if (order == NULL || place + 2 * AHEAD >= values->rows)
		return;
	if (values->offsets)
		__builtin_prefetch(&values->offsets[order[place + 2 * AHEAD]]);
	__builtin_prefetch(vector_address(values, order[place + AHEAD]));
}

/* Finds runs by comparisons, with the rows in an order or as they arrived. */
static gs_run *
compare_runs(BigMem *mem, const VectorColumn *columns, int ncolumns, int key_columns, const uint32 *order,
			 uint64 *nruns)
{
	uint64		rows = columns[0].values->rows;
	gs_run	   *runs = answer_room(mem, rows, sizeof(gs_run));
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort comparisons", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	VectorComparer comparer;
	uint64		count = 0;
	uint32		last = 0;

	vectorcompare_open(&comparer, columns, ncolumns);
	for (uint64 i = 0; i < rows; i++)
	{
		uint32		row = order ? order[i] : (uint32) i;

		if (i % BLOCK_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		load_ahead(columns[ncolumns - key_columns].values, order, i);
		if (i > 0 && vectorcompare_rows(&comparer, ncolumns - key_columns, ncolumns, last, row) == 0)
			runs[count - 1].length++;
		else
			runs[count++] = (gs_run) {row, 1};
		last = row;
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	*nruns = count;
	return runs;
}

gs_run *
vectorjob_runs(BigMem *mem, const VectorColumn *columns, int ncolumns, int order_columns, int key_columns,
			   uint64 *nruns)
{
	VectorQuestion q;
	uint32	   *order = NULL;
	gs_run	   *runs;

	question_begin(&q, GS_RUNS, columns, ncolumns);
	q.spec.order_columns = (uint32) order_columns;
	q.spec.key_columns = (uint32) key_columns;
	if (asked(&q, mem))
	{
		*nruns = q.count;
		return q.answer;
	}
	if (order_columns > 0)
		order = vectorjob_order(mem, columns, order_columns);
	runs = compare_runs(mem, columns, ncolumns, key_columns, order, nruns);
	if (order)
		bigmem_free(mem, order);
	return runs;
}

uint32 *
vectorjob_select(BigMem *mem, const VectorColumn *column, gs_comparison comparison, Datum value, uint64 *selected)
{
	VectorQuestion q;
	FilterConstant constant = {.value = value};
	MemoryContext cxt;
	MemoryContext old;
	VectorComparer comparer;
	uint32	   *rows;
	uint64		count = 0;

	question_begin(&q, GS_SELECT, column, 1);
	q.spec.filter.comparison = comparison;
	q.constant = &constant;
	if (asked(&q, mem))
	{
		*selected = q.count;
		return q.answer;
	}
	rows = answer_room(mem, q.rows, sizeof(uint32));
	cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort comparisons", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(cxt);
	vectorcompare_open(&comparer, column, 1);
	for (uint64 i = 0; i < q.rows; i++)
	{
		bool		isnull;
		Datum		mine = vector_get(column->values, i, &isnull);

		if (i % BLOCK_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		if (!isnull && vectorcompare_holds(comparer.keys[0].comparator(mine, value, &comparer.keys[0]), comparison))
			rows[count++] = (uint32) i;
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	*selected = count;
	return rows;
}

uint32 *
vectorjob_partition(BigMem *mem, const Vector *flags, bool all, uint64 *selected)
{
	VectorColumn column = {flags, InvalidOid, false, false};
	VectorQuestion q;
	uint32	   *rows;
	uint64		count = 0;
	uint64		others;

	Assert(flags->type->type == BOOLOID);
	question_begin(&q, all ? GS_PARTITION : GS_SELECT, &column, 1);
	q.spec.filter.by_flags = true;
	if (asked(&q, mem))
	{
		*selected = all ? q.selected : q.count;
		return q.answer;
	}
	rows = answer_room(mem, q.rows, sizeof(uint32));
	for (uint64 i = 0; i < q.rows; i++)
		if (vector_is_true(flags, i))
			rows[count++] = (uint32) i;
	others = count;
	for (uint64 i = 0; all && i < q.rows; i++)
		if (!vector_is_true(flags, i))
			rows[others++] = (uint32) i;
	*selected = count;
	return rows;
}

/* Returns true for types that engines compute with: unencoded integers and floats. */
static bool
computable(const VectorColumn *column)
{
	Oid			op = vectorcompare_operator(column);
	const char *why;
	SortKey		key;

	if (!sortkey_is_exact(op, column->collation, &why))
		return false;
	sortkey_open(&key, op, column->collation, false, false);
	return key.plain != 0;
}

void *
vectorjob_scan(BigMem *mem, const VectorColumn *column, gs_operation operation, bool exclusive)
{
	VectorQuestion q;

	question_begin(&q, GS_SCAN, column, 1);
	q.spec.operation = operation;
	q.spec.exclusive = exclusive;
	if (!computable(column) || !question_ask(&q, mem))
		return NULL;
	return q.answer;
}

gs_group *
vectorjob_reduce(BigMem *mem, const VectorColumn *columns, int ncolumns, bool presorted, gs_operation operation,
				 uint64 *ngroups)
{
	VectorQuestion q;

	question_begin(&q, GS_REDUCE, columns, ncolumns);
	q.spec.order_columns = presorted ? 0 : (uint32) ncolumns - 1;
	q.spec.key_columns = (uint32) ncolumns - 1;
	q.spec.operation = operation;
	if (!computable(&columns[ncolumns - 1]) || !question_ask(&q, mem))
		return NULL;
	*ngroups = q.count;
	return q.answer;
}
