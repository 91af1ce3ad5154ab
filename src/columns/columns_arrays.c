/*
 * columns_arrays.c: arrays whose elements come from columns as groups: the runs of gpu_rle, by their numbers, and the
 * different values of gpu_sort_agg, each as often as it is there.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "columns_arrays.h"

/* Members of a run's composite value: gpu_rle_TYPE. */
#define RUN_MEMBERS 3

static const char *const too_many = "its arrays are more than gpusort.work_mem has room for";
static const char *const wrong = "the service's answer is impossible";

/* Returns the number of members of a group: its keys, its number of rows, of runs also their value. */
static int
members_of(const ColumnsArrays *arrays)
{
	return arrays->query->nkeys + (arrays->query->array_runs ? 2 : 1);
}

/* Returns a group. */
static const gs_reduced *
group_at(const ColumnsArrays *arrays, uint64 i)
{
	return arrays->groups + i * (uint64) members_of(arrays);
}

/* Returns how many rows an element has. */
static uint64
rows_at(const ColumnsArrays *arrays, uint64 i)
{
	return group_at(arrays, i)[arrays->query->nkeys].count;
}

/* Writes an element's value. */
static const char *
put_value(const ColumnsArrays *arrays, uint64 i, Datum *value, bool *isnull)
{
	const ColumnsQuery *query = arrays->query;
	int			member = query->array_runs ? query->nkeys + 1 : query->nkeys - 1;

	return columns_value(query, query->array_column, &group_at(arrays, i)[member], value, isnull);
}

const char *
arrays_take(ColumnsArrays *arrays, const gs_reduced *groups, uint64 n)
{
	Size		bytes = sizeof(gs_reduced) * (Size) members_of(arrays);

	if (arrays->count + n > arrays->room)
	{
		arrays->room = Max(2 * arrays->room, arrays->count + n);
		if (arrays->room * bytes > gpusort_memory_limit())
			return too_many;
		arrays->groups = arrays->groups == NULL ? palloc(arrays->room * bytes) :
			repalloc_huge(arrays->groups, arrays->room * bytes);
	}
	memcpy(arrays->groups + arrays->count * (bytes / sizeof(gs_reduced)), groups, n * bytes);
	arrays->count += n;
	return NULL;
}

/* Compares values as their type does, NULL last. */
static int
compare_values(const gs_reduced *a, const gs_reduced *b, gs_type type)
{
	double		x;
	double		y;

	if (a->count == 0 || b->count == 0)
		return (b->count > a->count) - (b->count < a->count);
	if (type == GS_F32 || type == GS_F64)
	{
		memcpy(&x, &a->value[0], sizeof(x));
		memcpy(&y, &b->value[0], sizeof(y));
		return float8_cmp_internal(x, y);
	}
	if (a->value[1] != b->value[1])
		return (int64) a->value[1] < (int64) b->value[1] ? -1 : 1;
	return (a->value[0] > b->value[0]) - (a->value[0] < b->value[0]);
}

/* Orders groups: by their keys, in any order that keeps equal ones together, then by the run's number, or the value. */
static int
compare_groups(const void *a, const void *b, void *arg)
{
	const ColumnsQuery *query = arg;
	int			keys = query->array_keys;
	int			order = memcmp(a, b, sizeof(gs_reduced) * (Size) keys);

	return order != 0 ? order : compare_values((const gs_reduced *) a + keys, (const gs_reduced *) b + keys,
											   (gs_type) query->columns[query->keys[keys]].gs);
}

const char *
arrays_order(ColumnsArrays *arrays, uint64 rows)
{
	uint64		sum = 0;

	for (uint64 i = 0; i < arrays->count; i++)
		sum += rows_at(arrays, i);
	if (sum > rows)
		return wrong;
	if (sum * sizeof(Datum) > gpusort_memory_limit() && !arrays->query->array_runs)
		return too_many;
	qsort_arg(arrays->groups, arrays->count, sizeof(gs_reduced) * (Size) members_of(arrays), compare_groups,
			  unconstify(ColumnsQuery *, arrays->query));
	return NULL;
}

/* Makes an array of elements. */
static Datum
make_array(const ColumnsArrays *arrays, Datum *elements, bool *nulls, uint64 count)
{
	Oid			type = get_element_type(arrays->query->array->aggtype);
	int			ndims[] = {(int) count};
	int			bounds[] = {1};
	int16		length;
	bool		byval;
	char		align;

	get_typlenbyvalalign(type, &length, &byval, &align);
	return PointerGetDatum(construct_md_array(elements, nulls, 1, ndims, bounds, type, length, byval, align));
}

/* Makes the array of the runs [from, to). */
static const char *
make_runs(const ColumnsArrays *arrays, uint64 from, uint64 to, Datum *array)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(get_element_type(arrays->query->array->aggtype), -1);
	Datum	   *elements = palloc_extended(sizeof(Datum) * (to - from), MCXT_ALLOC_HUGE);
	int64		first = 1;
	const char *why = desc->natts == RUN_MEMBERS ? NULL : wrong;

	for (uint64 i = from; i < to && why == NULL; i++)
	{
		int64		length = (int64) rows_at(arrays, i);
		Datum		values[RUN_MEMBERS] = {0, Int64GetDatum(length), Int64GetDatum(first)};
		bool		nulls[RUN_MEMBERS] = {false};

		if (group_at(arrays, i)[arrays->query->nkeys - 1].value[0] != i - from + 1)
			why = wrong;
		else
			why = put_value(arrays, i, &values[0], &nulls[0]);
		if (why == NULL)
			elements[i - from] = HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
		first += length;
		CHECK_FOR_INTERRUPTS();
	}
	ReleaseTupleDesc(desc);
	if (why == NULL)
		*array = make_array(arrays, elements, NULL, to - from);
	return why;
}

/* Makes the array of the values [from, to), each as often as it is there. */
static const char *
make_values(const ColumnsArrays *arrays, uint64 from, uint64 to, Datum *array)
{
	uint64		count = 0;
	Datum	   *elements;
	bool	   *nulls;
	const char *why = NULL;

	for (uint64 i = from; i < to; i++)
		count += rows_at(arrays, i);
	elements = palloc_extended(sizeof(Datum) * count, MCXT_ALLOC_HUGE);
	nulls = palloc_extended(sizeof(bool) * count, MCXT_ALLOC_HUGE);
	count = 0;
	for (uint64 i = from; i < to && why == NULL; i++)
	{
		Datum		value = 0;
		bool		null;

		why = put_value(arrays, i, &value, &null);
		for (uint64 n = 0; n < rows_at(arrays, i); n++, count++)
		{
			elements[count] = value;
			nulls[count] = null;
		}
		CHECK_FOR_INTERRUPTS();
	}
	if (why == NULL)
		*array = make_array(arrays, elements, nulls, count);
	return why;
}

const char *
arrays_next(ColumnsArrays *arrays, Datum *values, bool *nulls, bool *done)
{
	const ColumnsQuery *query = arrays->query;
	uint64		from = arrays->next;
	uint64		to = from;
	const char *why = NULL;

	*done = from == arrays->count && (query->array_keys > 0 || arrays->count > 0);
	if (*done)
		return NULL;
	nulls[query->array_keys] = arrays->count == 0;
	if (arrays->count == 0)
	{
		/* NULL, as from no rows */
		arrays->count = arrays->next = 1;
		return NULL;
	}
	while (to < arrays->count && memcmp(group_at(arrays, from), group_at(arrays, to),
										sizeof(gs_reduced) * (Size) query->array_keys) == 0)
		to++;
	arrays->next = to;
	for (int i = 0; i < query->array_keys && why == NULL; i++)
		why = columns_value(query, query->keys[i], &group_at(arrays, from)[i], &values[i], &nulls[i]);
	if (why != NULL)
		return why;
	return query->array_runs ? make_runs(arrays, from, to, &values[query->array_keys]) :
		make_values(arrays, from, to, &values[query->array_keys]);
}
