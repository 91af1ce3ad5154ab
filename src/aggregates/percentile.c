/*
 * percentile.c: aggregates that select by position or frequency.  gpu_median, gpu_percentile_cont and
 * gpu_percentile_disc take their fraction with each value, and so combine.  The ..._within have the syntax of
 * PostgreSQL's, percentile_cont(0.5) WITHIN GROUP (ORDER BY x), with one fraction, or an array, per group. Those over
 * equal arguments of a query share one state and do not combine.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "collect.h"
#include "src/base/compat.h"
#include "src/base/sql_function.h"
#include "src/arrays/vectordirect.h"

PG_FUNCTION_INFO_V1(gpusort_median_final);
PG_FUNCTION_INFO_V1(gpusort_collect_fractions);
PG_FUNCTION_INFO_V1(gpusort_collect_within);
PG_FUNCTION_INFO_V1(gpusort_mode_within);

/* Up to this many positions, selecting each is cheaper than sorting. */
#define FEW_PLACES 4

/* ---------------------------------------------------------------- percentiles */

/* A requested percentile. */
typedef struct Percentile
{
	uint64		place;			/* position in the order */
	double		part;			/* weight of the next value */
	int			number;			/* index in the array of fractions */
	Datum		low;			/* values at the position and at the next one (or the last) */
	Datum		high;
} Percentile;

/* Sets a fraction's position: discrete, that of the first value at or behind that fraction of all rows. */
static void
set_place(Percentile *asked, double fraction, uint64 rows, bool continuous)
{
	double		exact = continuous ? fraction * (double) (rows - 1) : Max(ceil(fraction * (double) rows), 1) - 1;

	asked->place = (uint64) floor(exact);
	asked->part = exact - floor(exact);
}

/* Reads values at ascending positions of a spilled state. */
static void
read_places(Collected *state, Percentile *asked, int count)
{
	const VectorType *vtype = &state->call->types[0];
	int			done = 0;

	vectorsort_rewind(state->spill);
	for (uint64 row = 0; done < count; row++)
	{
		TupleTableSlot *slot = vectorsort_next(state->spill);

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

/* Copies the values of two rows in memory. */
static void
take_values(const Collected *state, Percentile *asked, uint32 low, uint32 high)
{
	const VectorType *vtype = &state->call->types[0];
	bool		isnull;

	asked->low = datumCopy(vector_get(&state->columns[0], low, &isnull), vtype->byval, vtype->len);
	asked->high = datumCopy(vector_get(&state->columns[0], high, &isnull), vtype->byval, vtype->len);
}

/* Takes values at positions of a known order. */
static void
take_in_order(const Collected *state, const uint32 *order, Percentile *asked, int count)
{
	uint64		last = state->columns[0].rows - 1;

	for (int i = 0; i < count; i++)
		take_values(state, &asked[i], order[asked[i].place], order[Min(asked[i].place + 1, last)]);
}

/* Takes values at positions of a large group: selects few, sorts for many.  keep: as in find_values. */
static void
take_with_job(Collected *state, Percentile *asked, int count, bool keep)
{
	BigMem	   *mem = collect_begin_work();
	VectorColumn column = collect_column(state, 0);
	Size		bytes = sizeof(uint32) * (Size) state->columns[0].rows;

	if (count <= FEW_PLACES && vectordirect_can(&column))
	{
		for (int i = 0; i < count; i++)
		{
			uint32		rows[2];

			vectordirect_at(mem, &column, asked[i].place, rows);
			take_values(state, &asked[i], rows[0], rows[1]);
		}
	}
	else
	{
		const uint32 *order = vectorjob_order(mem, &column, 1);

		take_in_order(state, order, asked, count);
		if (keep)
			state->order = memcpy(MemoryContextAllocHuge(state->columns[0].context, bytes), order, bytes);
	}
	collect_end_work(mem);
}

/* Finds the values of percentiles in ascending positions.  keep: other aggregates share the state. */
static void
find_values(Collected *state, Percentile *asked, int count, bool keep)
{
	uint32		small[COLLECT_SMALL];

	if (state->spill)
		read_places(state, asked, count);
	else if (collect_small_order(state, small))
		take_in_order(state, small, asked, count);
	else if (keep && state->order)
		take_in_order(state, state->order, asked, count);
	else
		take_with_job(state, asked, count, keep);
}

/* Returns a percentile whose values are known, interpolated as PostgreSQL's percentile_cont does. */
static Datum
value_of(Oid type, const Percentile *asked)
{
	Datum		difference;

	if (asked->part == 0)
		return asked->low;
	if (type == FLOAT8OID)
		return Float8GetDatum(DatumGetFloat8(asked->low) +
							  asked->part * (DatumGetFloat8(asked->high) - DatumGetFloat8(asked->low)));
	Assert(type == INTERVALOID);
	difference = DirectFunctionCall2(interval_mi, asked->high, asked->low);
	difference = DirectFunctionCall2(interval_mul, difference, Float8GetDatum(asked->part));
	return DirectFunctionCall2(interval_pl, difference, asked->low);
}

/* Returns the percentile of a single fraction. */
static Datum
percentile(Collected *state, double fraction, bool continuous, bool keep)
{
	Percentile	asked;

	set_place(&asked, fraction, collect_rows(state), continuous);
	find_values(state, &asked, 1, keep);
	return value_of(state->call->types[0].type, &asked);
}

/* gpu_median(value): the middle value, or the mean of the two middle ones, of non-NULL values. */
Datum
gpusort_median_final(PG_FUNCTION_ARGS)
{
	Collected  *state = collect_final(fcinfo);

	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(percentile(state, 0.5, true, false));
}

/* Computes the percentile of the fraction that came with the values. */
static Datum
own_percentile(FunctionCallInfo fcinfo, bool continuous)
{
	Collected  *state = collect_final(fcinfo);

	if (state == NULL || isnan(state->fraction))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(percentile(state, state->fraction, continuous, false));
}

/* gpu_percentile_cont(value, fraction): as percentile_cont. */
SQL_FUNCTION(gpusort_percentile_cont_final, own_percentile(fcinfo, true));

/* gpu_percentile_disc(value, fraction): as percentile_disc. */
SQL_FUNCTION(gpusort_percentile_disc_final, own_percentile(fcinfo, false));

/*
 * Transition function of gpu_percentile_cont for an array of fractions: raises an error.  The parser's own, without
 * this aggregate, does not name those that take an array.
 */
Datum
gpusort_collect_fractions(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("several fractions need an aggregate with WITHIN GROUP"),
			 errhint("Use gpu_percentile_cont_within(fractions) WITHIN GROUP (ORDER BY value).")));
}

/* ---------------------------------------------------------------- WITHIN GROUP */

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
		return collect_nothing(fcinfo);
	state = collect_state(fcinfo, 1, 0, 0);
	if (first)
		check_order(fcinfo, state);
	collect_put(fcinfo, state, &fcinfo->args[1]);
	PG_RETURN_POINTER(state);
}

/* Computes the percentile of a single fraction, argument 1. */
static Datum
percentile_within(FunctionCallInfo fcinfo, bool continuous)
{
	Collected  *state = collect_final(fcinfo);
	double		fraction;

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	fraction = collect_checked_fraction(PG_GETARG_DATUM(1));
	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(percentile(state, fraction, continuous, true));
}

/* Percentiles of one fraction. */
SQL_FUNCTION(gpusort_percentile_cont_within, percentile_within(fcinfo, true));
SQL_FUNCTION(gpusort_percentile_disc_within, percentile_within(fcinfo, false));

/* qsort comparator by position, so that spilled rows are read once, in order. */
static int
compare_places(const void *a, const void *b)
{
	uint64		x = ((const Percentile *) a)->place;
	uint64		y = ((const Percentile *) b)->place;

	return (x > y) - (x < y);
}

/* Sets the positions of fractions among rows, in order.  Returns how many are not NULL. */
static int
set_places(Percentile *asked, const Datum *fractions, const bool *nulls, int count, uint64 rows, bool continuous)
{
	int			found = 0;

	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			continue;
		set_place(&asked[found], collect_checked_fraction(fractions[i]), rows, continuous);
		asked[found++].number = i;
	}
	qsort(asked, found, sizeof(Percentile), compare_places);
	return found;
}

/* Computes percentiles for an array of fractions, as an array of that shape. */
static Datum
percentiles_within(FunctionCallInfo fcinfo, bool continuous)
{
	Collected  *state = collect_final(fcinfo);
	ArrayType  *array;
	Datum	   *values;
	bool	   *nulls;
	int			count;
	Percentile *asked;
	int			found;
	const VectorType *vtype;

	if (state == NULL || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	vtype = &state->call->types[0];
	array = PG_GETARG_ARRAYTYPE_P(1);
	deconstruct_array(array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &values, &nulls, &count);
	if (count == 0)
		PG_RETURN_POINTER(construct_empty_array(vtype->type));
	asked = palloc(count * sizeof(Percentile));
	found = set_places(asked, values, nulls, count, collect_rows(state), continuous);
	find_values(state, asked, found, true);
	for (int i = 0; i < found; i++)
		values[asked[i].number] = value_of(vtype->type, &asked[i]);
	PG_RETURN_POINTER(construct_md_array(values, nulls, ARR_NDIM(array), ARR_DIMS(array), ARR_LBOUND(array),
										 vtype->type, vtype->len, vtype->byval, vtype->align));
}

/* Percentiles of an array of fractions. */
SQL_FUNCTION(gpusort_percentiles_cont_within, percentiles_within(fcinfo, true));
SQL_FUNCTION(gpusort_percentiles_disc_within, percentiles_within(fcinfo, false));

/* ---------------------------------------------------------------- mode */

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

/* Returns the row of the most frequent value of a state in memory, the first in order of several. */
static uint32
mode_row(const Collected *state)
{
	CollectRuns found;
	gs_run		best = {0, 0};

	collect_runs_begin(&found, state, false);
	for (uint64 i = 0; i < found.count; i++)
		if (found.runs[i].length > best.length)
			best = found.runs[i];
	collect_runs_end(&found);
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
