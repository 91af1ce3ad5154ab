/*
 * within.c: the ordered-set aggregates gpu_percentile_cont_within, gpu_percentile_disc_within and gpu_mode_within.
 * Their syntax is that of PostgreSQL's, percentile_cont(0.5) WITHIN GROUP (ORDER BY x), with one fraction, or an array
 * of them, per group.  All aggregates of a query over equal arguments share one state.  They do not combine.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "percentile.h"
#include "src/base/compat.h"
#include "src/arrays/vectordirect.h"

PG_FUNCTION_INFO_V1(gpusort_collect_within);
PG_FUNCTION_INFO_V1(gpusort_percentile_cont_within);
PG_FUNCTION_INFO_V1(gpusort_percentile_disc_within);
PG_FUNCTION_INFO_V1(gpusort_percentiles_cont_within);
PG_FUNCTION_INFO_V1(gpusort_percentiles_disc_within);
PG_FUNCTION_INFO_V1(gpusort_mode_within);

/* Up to this many positions, selecting each is cheaper than sorting. */
#define FEW_PLACES 4

/* Raises an error for an order other than the one in which values are sorted. */
static void
check_order(FunctionCallInfo fcinfo, const Collected *state)
{
	const Aggref *aggref = AggGetAggref(fcinfo);

	if (aggref == NULL || list_length(aggref->aggorder) != 1 ||
		linitial_node(SortGroupClause, aggref->aggorder)->sortop != state->call->sortop)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only the ascending order of a type is supported here"),
				 errhint("Use PostgreSQL's aggregate of this kind.")));
}

/* Transition function: collects non-NULL values. */
Datum
gpusort_collect_within(PG_FUNCTION_ARGS)
{
	bool		first = PG_ARGISNULL(0);
	Collected  *state;

	if (PG_ARGISNULL(1))
	{
		if (first)
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	state = collect_state(fcinfo, 1, 0, 0);
	if (first)
		check_order(fcinfo, state);
	collect_put(fcinfo, state, &fcinfo->args[1]);
	PG_RETURN_POINTER(state);
}

/*
 * Returns the order of the rows, or NULL if positions are selected without it.  A small group's order is written to
 * small; that of a large one is kept for other aggregates of the group.
 */
static const uint32 *
known_order(Collected *state, int places, uint32 small[COLLECT_SMALL])
{
	VectorColumn column = collect_column(state, 0);
	Size		bytes = sizeof(uint32) * (Size) state->columns[0].rows;
	BigMem	   *mem;

	if (state->spill)
		return NULL;
	if (collect_small_order(state, small))
		return small;
	if (state->order || (places <= FEW_PLACES && vectordirect_can(&column)))
		return state->order;
	mem = collect_begin_work();
	state->order = memcpy(MemoryContextAllocHuge(state->columns[0].context, bytes),
						  vectorjob_order(mem, &column, 1), bytes);
	collect_end_work(mem);
	return state->order;
}

/* Returns a call's state and its single fraction; NULL if the result is NULL. */
static Collected *
with_fraction(FunctionCallInfo fcinfo, double *fraction)
{
	Collected  *state = collect_final(fcinfo);

	if (PG_ARGISNULL(1))
		return NULL;
	*fraction = collect_checked_fraction(PG_GETARG_DATUM(1));
	return state;
}

/* Percentiles of one fraction, interpolated. */
Datum
gpusort_percentile_cont_within(PG_FUNCTION_ARGS)
{
	uint32		small[COLLECT_SMALL];
	double		fraction;
	Collected  *state = with_fraction(fcinfo, &fraction);

	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(percentile_cont(state, known_order(state, 1, small), fraction));
}

/* Percentiles of one fraction, discrete. */
Datum
gpusort_percentile_disc_within(PG_FUNCTION_ARGS)
{
	uint32		small[COLLECT_SMALL];
	double		fraction;
	Collected  *state = with_fraction(fcinfo, &fraction);

	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(percentile_disc(state, known_order(state, 1, small), fraction));
}

/* One of several requested percentiles. */
typedef struct Asked
{
	uint64		place;			/* position in the order */
	double		part;			/* weight of the next value */
	int			number;			/* index in the array */
	Datum		low;			/* values at the position and at the next one */
	Datum		high;
} Asked;

/* qsort comparator by position, so that spilled rows are read once, in order. */
static int
compare_asked(const void *a, const void *b)
{
	uint64		x = ((const Asked *) a)->place;
	uint64		y = ((const Asked *) b)->place;

	return (x > y) - (x < y);
}

/* Computes the positions of fractions among rows, in order.  Returns how many are not NULL. */
static int
find_places(Asked *asked, const Datum *fractions, const bool *nulls, int count, uint64 rows, bool continuous)
{
	int			found = 0;

	for (int i = 0; i < count; i++)
	{
		double		fraction;
		double		exact;

		if (nulls[i])
			continue;
		fraction = collect_checked_fraction(fractions[i]);
		exact = continuous ? fraction * (double) (rows - 1) : Max(ceil(fraction * (double) rows), 1) - 1;
		asked[found].place = (uint64) floor(exact);
		asked[found].part = exact - floor(exact);
		asked[found++].number = i;
	}
	qsort(asked, found, sizeof(Asked), compare_asked);
	return found;
}

/* Reads values at positions of a spilled state. */
static void
read_places(Collected *state, Asked *asked, int count)
{
	const VectorType *vtype = &state->call->types[0];
	int			done = 0;

	collect_rewind(state);
	for (uint64 row = 0; done < count; row++)
	{
		TupleTableSlot *slot = collect_next(state);

		if (TupIsNull(slot))
			break;
		for (int i = done; i < count && asked[i].place <= row; i++)
		{
			bool		isnull;

			asked[i].high = datumCopy(slot_getattr(slot, 1, &isnull), vtype->byval, vtype->len);
			if (asked[i].place == row)
				asked[i].low = asked[i].high;
			else
				done = i + 1;
		}
	}
}

/* Finds values at positions of a state in memory. */
static void
look_up_places(Collected *state, Asked *asked, int count)
{
	uint32		small[COLLECT_SMALL];
	const uint32 *order = known_order(state, count, small);

	for (int i = 0; i < count; i++)
		percentile_values_at(state, order, asked[i].place, &asked[i].low, &asked[i].high);
}

/* Computes percentiles for an array of fractions, as an array of that shape. */
static Datum
percentiles(FunctionCallInfo fcinfo, bool continuous)
{
	Collected  *state = collect_final(fcinfo);
	ArrayType  *array;
	Datum	   *values;
	bool	   *nulls;
	int			count;
	Asked	   *asked;
	int			found;
	const VectorType *vtype;

	if (state == NULL || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	vtype = &state->call->types[0];
	array = PG_GETARG_ARRAYTYPE_P(1);
	deconstruct_array(array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &values, &nulls, &count);
	if (count == 0)
		PG_RETURN_POINTER(construct_empty_array(vtype->type));
	asked = palloc(count * sizeof(Asked));
	found = find_places(asked, values, nulls, count, collect_rows(state), continuous);
	if (state->spill)
		read_places(state, asked, found);
	else
		look_up_places(state, asked, found);
	for (int i = 0; i < found; i++)
		values[asked[i].number] = asked[i].part == 0 ? asked[i].low :
			percentile_between(vtype->type, asked[i].low, asked[i].high, asked[i].part);
	PG_RETURN_POINTER(construct_md_array(values, nulls, ARR_NDIM(array), ARR_DIMS(array), ARR_LBOUND(array),
										 vtype->type, vtype->len, vtype->byval, vtype->align));
}

/* Percentiles of an array of fractions, interpolated. */
Datum
gpusort_percentiles_cont_within(PG_FUNCTION_ARGS)
{
	return percentiles(fcinfo, true);
}

/* Percentiles of an array of fractions, discrete. */
Datum
gpusort_percentiles_disc_within(PG_FUNCTION_ARGS)
{
	return percentiles(fcinfo, false);
}

/* Returns a spilled state's most frequent value, the least one of several. */
static Datum
spilled_mode(Collected *state)
{
	const VectorType *vtype = &state->call->types[0];
	CollectDistinct distinct;
	uint64		most = 0;
	uint64		begin = 0;
	Datum		mode = (Datum) 0;
	Datum		last = (Datum) 0;
	bool		more;

	collect_distinct_begin(&distinct, state);
	do
	{
		uint64		end;

		more = collect_distinct_next(&distinct, state);
		end = more ? distinct.read - 1 : state->spill->rows;
		if (end - begin > most)
		{
			most = end - begin;
			mode = last;
		}
		else if (begin < end && !vtype->byval)
			pfree(DatumGetPointer(last));
		begin = end;
		if (more)
			last = datumCopy(distinct.last, vtype->byval, vtype->len);
	} while (more);
	return mode;
}

/* Returns the row of the most frequent value of few rows in a known order. */
static uint32
mode_of_few(const Collected *state, const uint32 *order)
{
	const Vector *values = &state->columns[0];
	uint32		begin = 0;
	uint32		most = 0;
	uint32		best = 0;

	for (uint32 i = 1; i <= values->rows; i++)
	{
		bool		isnull;

		if (i < values->rows && equality_holds(&state->call->equality, vector_get(values, order[begin], &isnull),
											   vector_get(values, order[i], &isnull)))
			continue;
		if (i - begin > most)
		{
			most = i - begin;
			best = order[begin];
		}
		begin = i;
	}
	return best;
}

/* Returns the row of the most frequent value of a state in memory, the first in order of several. */
static uint32
mode_row(const Collected *state)
{
	uint32		small[COLLECT_SMALL];
	BigMem	   *mem;
	VectorColumn column = collect_column(state, 0);
	uint64		count;
	const gs_run *runs;
	gs_run		best;

	if (collect_small_order(state, small))
		return mode_of_few(state, small);
	mem = collect_begin_work();
	runs = vectorjob_runs(mem, &column, 1, 1, 1, &count);
	best = runs[0];
	for (uint64 i = 1; i < count; i++)
	{
		if (runs[i].length > best.length)
			best = runs[i];
	}
	collect_end_work(mem);
	return best.row;
}

/* gpu_mode_within() WITHIN GROUP (ORDER BY value): like mode. */
Datum
gpusort_mode_within(PG_FUNCTION_ARGS)
{
	Collected  *state = collect_final(fcinfo);
	const VectorType *vtype;
	bool		isnull;

	if (state == NULL)
		PG_RETURN_NULL();
	if (state->spill)
		PG_RETURN_DATUM(spilled_mode(state));
	vtype = &state->call->types[0];
	PG_RETURN_DATUM(datumCopy(vector_get(&state->columns[0], mode_row(state), &isnull), vtype->byval, vtype->len));
}
