/*
 * vectorcheck.c: verifies an engine's answer to a question about vectors.
 *
 * The check of form makes one pass over the answer: numbers are in range and distinct, positions ascend, runs adjoin,
 * values are the column's.  The check of content compares it with the vectors by the types' comparators, at all places
 * or at a sample.
 *
 * Not checked are running results of floats, which depend on the order of additions, and the results of groups.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "vectorcheck.h"
#include "src/rows/roworder.h"
#include "src/rows/verify.h"

/* ---------------------------------------------------------------- form */

/* Allocates a bitmap of rows. */
static uint64 *
row_bits(const VectorQuestion *q)
{
	return MemoryContextAllocExtended(q->cxt, (q->rows + 63) / 64 * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* Checks that these are all rows, each once. */
static bool
order_formed(const VectorQuestion *q)
{
	const uint32 *numbers = q->answer;
	uint64	   *seen = row_bits(q);

	if (q->count != q->rows)
		return false;
	for (uint64 i = 0; i < q->count; i++)
		if (!row_is_new(seen, numbers[i], q->rows))
			return false;
	return true;
}

/* Checks that these rows are in arrival order. */
static bool
selection_formed(const VectorQuestion *q)
{
	const uint32 *numbers = q->answer;

	for (uint64 i = 0; i < q->count; i++)
		if (numbers[i] >= q->rows || (i > 0 && numbers[i] <= numbers[i - 1]))
			return false;
	return true;
}

/* Checks for two lists of rows in arrival order that together contain each row once. */
static bool
partition_formed(const VectorQuestion *q)
{
	const uint32 *numbers = q->answer;
	uint64		kept = 0;
	uint64		other = q->selected;

	if (q->count != q->rows || q->selected > q->rows)
		return false;
	for (uint64 row = 0; row < q->rows; row++)
	{
		if (kept < q->selected && numbers[kept] == row)
			kept++;
		else if (other < q->rows && numbers[other] == row)
			other++;
		else
			return false;
	}
	return true;
}

/* Compares two rows in the column that is equal within a run of RUNS or REDUCE. */
static int
compare_keys(const VectorQuestion *q, const VectorComparer *comparer, uint64 a, uint64 b)
{
	int			key = q->spec.op == GS_REDUCE ? 0 : comparer->ncolumns - 1;

	return vectorcompare_rows(comparer, key, key + 1, a, b);
}

/* Returns true if runs compare exactly the order column.  Equal rows are then all in one run. */
static inline bool
whole_runs(const VectorQuestion *q)
{
	return q->spec.order_columns > 0 && (q->spec.op == GS_REDUCE || q->spec.ncolumns == 1);
}

/* Returns a run of RUNS or REDUCE. */
static inline gs_run
run_at(const VectorQuestion *q, uint64 i)
{
	const gs_group *group;

	if (q->spec.op == GS_RUNS)
		return ((const gs_run *) q->answer)[i];
	group = &((const gs_group *) q->answer)[i];
	return (gs_run) {group->row, group->length};
}

/* Checks that the runs cover all rows: each where its predecessor ends, or in sorted order with distinct first rows. */
static bool
runs_formed(const VectorQuestion *q)
{
	bool		as_they_came = q->spec.order_columns == 0;
	uint64	   *seen = as_they_came ? NULL : row_bits(q);
	uint64		sum = 0;

	for (uint64 i = 0; i < q->count; i++)
	{
		gs_run		run = run_at(q, i);

		if (run.length == 0)
			return false;
		if (as_they_came ? run.row != sum : !row_is_new(seen, run.row, q->rows))
			return false;
		if (whole_runs(q) && (uint64) run.row + run.length > q->rows)
			return false;
		sum += run.length;
	}
	return sum == q->rows;
}

/* Computes a checksum of values that does not depend on their order and detects nearly any change. */
static uint64
mixed_sum(const char *values, Size width, uint64 count)
{
	const uint64 factor = UINT64CONST(0x9e3779b97f4a7c15);
	uint64		sum = 0;

	for (uint64 i = 0; i < count; i++)
	{
		uint64		value = width == 4 ? ((const uint32 *) values)[i] : ((const uint64 *) values)[i];

		value *= factor;
		sum += (value ^ value >> 32) * factor;
	}
	return sum;
}

/* Checks that these are the column's values or, for distinct ones, that their number is possible. */
static bool
values_formed(const VectorQuestion *q)
{
	Size		width = gs_job_result_bytes(&q->spec);

	if (q->spec.key_columns > 0)
		return q->count > 0 && q->count <= q->rows;
	return q->count == q->rows &&
		mixed_sum(q->answer, width, q->count) == mixed_sum(q->columns[0].values->data, width, q->rows);
}

/* Checks the form of an answer. */
static bool
well_formed(const VectorQuestion *q)
{
	switch (q->spec.op)
	{
		case GS_ORDER:
			return order_formed(q);
		case GS_SELECT:
			return selection_formed(q);
		case GS_PARTITION:
			return partition_formed(q);
		case GS_RUNS:
		case GS_REDUCE:
			return runs_formed(q);
		case GS_SCAN:
			return q->count == q->rows;
		case GS_VALUES:
			return values_formed(q);
		case GS_TOPK:			/* not used */
			break;
	}
	return false;
}

/* ---------------------------------------------------------------- content */

/* Checks an answer at one place, as far as that place and the next one show. */
typedef bool (*PlaceCheck) (const VectorQuestion *q, const VectorComparer *comparer, uint64 place);

/* Checks that two neighbours of an order are in order. */
static bool
order_right(const VectorQuestion *q, const VectorComparer *comparer, uint64 place)
{
	const uint32 *numbers = (const uint32 *) q->answer + place;
	int			order = vectorcompare_rows(comparer, 0, comparer->ncolumns, numbers[0], numbers[1]);

	return order < 0 || (order == 0 && numbers[0] < numbers[1]);
}

/* Checks that two adjacent runs differ, and are in order. */
static bool
neighbours_right(const VectorQuestion *q, const VectorComparer *comparer, uint64 place)
{
	gs_run		run = run_at(q, place);
	gs_run		next = run_at(q, place + 1);
	int			order;

	if (compare_keys(q, comparer, run.row, next.row) == 0)
		return false;
	if (q->spec.order_columns == 0)
		return true;			/* their form implies the order */
	order = vectorcompare_rows(comparer, 0, 1, run.row, next.row);
	return order < 0 || (order == 0 && run.row < next.row);
}

/* Checks that a row equals its run's first: the last run that begins no later, or in sorted order is not greater. */
static bool
member_right(const VectorQuestion *q, const VectorComparer *comparer, uint64 row)
{
	bool		as_they_came = q->spec.order_columns == 0;
	uint64		low = 0;
	uint64		high = q->count;

	while (low + 1 < high)
	{
		uint64		middle = (low + high) / 2;
		uint64		begin = run_at(q, middle).row;

		if (as_they_came ? begin <= row : vectorcompare_rows(comparer, 0, 1, begin, row) <= 0)
			low = middle;
		else
			high = middle;
	}
	low = run_at(q, low).row;
	return low <= row && compare_keys(q, comparer, low, row) == 0;
}

/* Returns true if the filter keeps a row. */
static bool
keeps(const VectorQuestion *q, const VectorComparer *comparer, uint64 row)
{
	const Vector *values = q->columns[0].values;
	bool		isnull;
	Datum		value;

	if (q->spec.filter.by_flags)
		return vector_is_true(values, row);
	value = vector_get(values, row, &isnull);
	return !isnull && vectorcompare_holds(comparer->keys[0].comparator(value, q->constant->value, &comparer->keys[0]),
										  q->spec.filter.comparison);
}

/* Checks that a row is among the kept ones, which ascend, if and only if the filter keeps it. */
static bool
filter_right(const VectorQuestion *q, const VectorComparer *comparer, uint64 row)
{
	const uint32 *numbers = q->answer;
	uint64		low = 0;
	uint64		high = q->spec.op == GS_PARTITION ? q->selected : q->count;
	uint64		end = high;

	while (low < high)
	{
		uint64		middle = (low + high) / 2;

		if (numbers[middle] < row)
			low = middle + 1;
		else
			high = middle;
	}
	return (low < end && numbers[low] == row) == keeps(q, comparer, row);
}

/* Returns true for integers of at most 64 bits. */
static bool
integers(gs_type type)
{
	return type < GS_F32 && type != GS_U128;
}

/* Returns true for signed integers. */
static bool
is_signed(gs_type type)
{
	return type == GS_I16 || type == GS_I32 || type == GS_I64;
}

/* Loads an integer and widens it to 64 bits as engines do. */
static uint64
integer_at(const Vector *values, gs_type type, uint64 row)
{
	int			unused = 64 - 8 * (int) gs_type_width(type);
	bool		isnull;
	uint64		value = (uint64) vector_get(values, row, &isnull) << unused;

	return is_signed(type) ? (uint64) ((int64) value >> unused) : value >> unused;
}

/* Checks that a running result follows from its predecessor and the value between. */
static bool
scan_right(const VectorQuestion *q, const VectorComparer *comparer, uint64 place)
{
	const uint64 *results = (const uint64 *) q->answer + place;
	const Vector *values = q->columns[0].values;
	uint64		row = q->spec.exclusive ? place : place + 1;
	gs_type		type = q->specs[0].type;
	uint64		value;
	bool		less;

	if (vector_is_null(values, row))
		return results[1] == results[0];
	value = integer_at(values, type, row);
	if (q->spec.operation == GS_SUM)
		return results[1] == results[0] + value;
	less = is_signed(type) ? (int64) value < (int64) results[0] : value < results[0];
	return results[1] == (less == (q->spec.operation == GS_MIN) ? value : results[0]);
}

/* Returns a value of an answer that consists of values. */
static inline Datum
answer_value(const VectorQuestion *q, uint64 place)
{
	const VectorType *vtype = q->columns[0].values->type;

	return fetch_att((const char *) q->answer + place * vtype->stride, true, vtype->len);
}

/* Checks a value and its successor, and one farther away, as most neighbours of few distinct values are equal. */
static bool
values_right(const VectorQuestion *q, const VectorComparer *comparer, uint64 place)
{
	const uint64 later[] = {place + 1, Min(place + VERIFY_SAMPLE_ROWS, q->count - 1)};
	int			most = q->spec.key_columns > 0 ? -1 : 0;

	for (int i = 0; i < 2; i++)
		if (ApplySortComparator(answer_value(q, place), false, answer_value(q, later[i]), false,
								&comparer->keys[0]) > most)
			return false;
	return true;
}

/* Checks that a row's value occurs in an answer of distinct values. */
static bool
value_there(const VectorQuestion *q, const VectorComparer *comparer, uint64 row)
{
	bool		isnull;
	Datum		value = vector_get(q->columns[0].values, row, &isnull);
	uint64		low = 0;
	uint64		high = q->count;

	while (low < high)
	{
		uint64		middle = (low + high) / 2;
		int			order = ApplySortComparator(answer_value(q, middle), false, value, false, &comparer->keys[0]);

		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Applies a check to all places of an answer, or to a sample. */
static bool
places_right(const VectorQuestion *q, GpusortVerify how, PlaceCheck right, const VectorComparer *comparer,
			 uint64 places)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort verify", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	bool		good = true;

	for (uint64 i = 0; good && i < places; i += how == VERIFY_FULL ? 1 : VERIFY_SAMPLE_ROWS)
	{
		CHECK_FOR_INTERRUPTS();
		good = right(q, comparer, how == VERIFY_FULL ? i : verify_sample(i, places + 1));
		MemoryContextReset(scratch);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
	return good;
}

/* Checks runs, at all places or at a sample. */
static bool
runs_right(const VectorQuestion *q, GpusortVerify how, const VectorComparer *comparer)
{
	if (q->count > 0 && !places_right(q, how, neighbours_right, comparer, q->count - 1))
		return false;
	/* if the order and the runs have different columns, a row's run depends on all rows before it */
	return (q->spec.order_columns > 0 && !whole_runs(q)) || places_right(q, how, member_right, comparer, q->rows);
}

/* Checks the content of an answer, at all places or at a sample. */
static bool
content_right(const VectorQuestion *q, GpusortVerify how)
{
	uint64		pairs = q->count > 0 ? q->count - 1 : 0;
	VectorComparer comparer;

	vectorcompare_open(&comparer, q->columns, (int) q->spec.ncolumns);
	switch (q->spec.op)
	{
		case GS_ORDER:
			return places_right(q, how, order_right, &comparer, pairs);
		case GS_SELECT:
		case GS_PARTITION:
			return places_right(q, how, filter_right, &comparer, q->rows);
		case GS_RUNS:
		case GS_REDUCE:
			return runs_right(q, how, &comparer);
		case GS_SCAN:
			return !integers(q->specs[0].type) || places_right(q, how, scan_right, &comparer, pairs);
		case GS_VALUES:
			return places_right(q, how, values_right, &comparer, pairs) &&
				(q->spec.key_columns == 0 || places_right(q, how, value_there, &comparer, q->rows));
		case GS_TOPK:
			break;
	}
	return false;
}

bool
vectorcheck(const VectorQuestion *q)
{
	GpusortVerify how = verify_answer_how(q->job->kind);
	MemoryContext old;
	bool		good;

	if (q->job->kind != ENGINE_CPU && !well_formed(q))
		return false;
	if (how == VERIFY_OFF)
		return true;
	old = MemoryContextSwitchTo(q->cxt);
	good = content_right(q, how);
	MemoryContextSwitchTo(old);
	return good;
}
