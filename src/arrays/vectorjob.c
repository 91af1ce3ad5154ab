/*
 * vectorjob.c: questions about vectors, answered by engines or by comparisons.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "vectorengine.h"
#include "vectorsort.h"

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

/* Writes all row numbers in order, using a sort of rows, in which they break ties. */
static void
sort_rows(const VectorColumn *columns, int ncolumns, uint32 *order)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort vectors", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	uint64		rows = columns[0].values->rows;
	Oid		   *sortops = palloc(sizeof(Oid) * ncolumns);
	VectorSort *sort;

	for (int i = 0; i < ncolumns; i++)
		sortops[i] = vectorcompare_operator(&columns[i]);
	sort = vectorsort_begin(columns, ncolumns, sortops, ncolumns, true, false, (double) rows);
	vectorsort_put_vectors(sort, columns);
	vectorsort_rewind(sort);
	for (uint64 i = 0; i < rows; i++)
	{
		bool		isnull;

		order[i] = (uint32) DatumGetInt64(slot_getattr(vectorsort_next(sort), ncolumns + 1, &isnull));
	}
	vectorsort_end(sort);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
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
			sort_rows(columns, ncolumns, q.answer);
	}
	return q.answer;
}

/* Finds a column's runs by comparisons, with the rows in an order or as they arrived. */
static gs_run *
compare_runs(BigMem *mem, const VectorColumn *column, const uint32 *order, uint64 *nruns)
{
	uint64		rows = column->values->rows;
	gs_run	   *runs = answer_room(mem, rows, sizeof(gs_run));
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort comparisons", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	VectorComparer comparer;
	uint64		count = 0;
	uint32		last = 0;

	vectorcompare_open(&comparer, column, 1);
	for (uint64 i = 0; i < rows; i++)
	{
		uint32		row = order ? order[i] : (uint32) i;

		if (i % BLOCK_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		if (order && i + 2 * VECTOR_AHEAD < rows)
			vector_prefetch(column->values, order[i + VECTOR_AHEAD], order[i + 2 * VECTOR_AHEAD]);
		if (i > 0 && vectorcompare_rows(&comparer, 0, 1, last, row) == 0)
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
vectorjob_runs(BigMem *mem, const VectorColumn *columns, int ncolumns, bool in_order, uint64 *nruns)
{
	VectorQuestion q;
	uint32	   *order = NULL;
	gs_run	   *runs;

	question_begin(&q, GS_RUNS, columns, ncolumns);
	q.spec.order_columns = in_order ? 1 : 0;
	q.spec.key_columns = 1;
	if (asked(&q, mem))
	{
		*nruns = q.count;
		return q.answer;
	}
	if (in_order)
		order = vectorjob_order(mem, columns, 1);
	runs = compare_runs(mem, &columns[ncolumns - 1], order, nruns);
	if (order)
		bigmem_free(mem, order);
	return runs;
}

uint32 *
vectorjob_first_rows(BigMem *mem, const VectorColumn *column, bool in_order, uint64 *nruns)
{
	gs_run	   *runs = vectorjob_runs(mem, column, 1, in_order, nruns);
	uint32	   *rows = (uint32 *) runs;

	/* in place: writing stays behind reading */
	for (uint64 i = 0; i < *nruns; i++)
		rows[i] = runs[i].row;
	return rows;
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

void *
vectorjob_scan(BigMem *mem, const VectorColumn *column, gs_operation operation, bool exclusive)
{
	VectorQuestion q;
	gs_type		type;

	question_begin(&q, GS_SCAN, column, 1);
	q.spec.operation = operation;
	q.spec.exclusive = exclusive;
	if (!vectorjob_numbers(column, &type) || !question_ask(&q, mem))
		return NULL;
	return q.answer;
}

gs_group *
vectorjob_reduce(BigMem *mem, const VectorColumn columns[2], bool presorted, gs_operation operation, uint64 *ngroups)
{
	VectorQuestion q;
	gs_type		type;

	question_begin(&q, GS_REDUCE, columns, 2);
	q.spec.order_columns = presorted ? 0 : 1;
	q.spec.key_columns = 1;
	q.spec.operation = operation;
	if (!vectorjob_numbers(&columns[1], &type) || !question_ask(&q, mem))
		return NULL;
	*ngroups = q.count;
	return q.answer;
}
