/*
 * aggregates.c: gpu_sort_agg and gpu_count_distinct, and the transition functions of these and of percentiles.
 * Aggregates of a query with equal transition function, argument and serialize function share one state, as
 * gpu_percentile_cont(x, 0.5) and gpu_percentile_disc(x, 0.5) do.
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "collect.h"
#include "src/base/compat.h"
#include "src/keys/sortkey.h"
#include "src/arrays/vectordirect.h"

PG_FUNCTION_INFO_V1(gpusort_collect_all);
PG_FUNCTION_INFO_V1(gpusort_collect_values);
PG_FUNCTION_INFO_V1(gpusort_collect_fraction);
PG_FUNCTION_INFO_V1(gpusort_collect_numbers);
PG_FUNCTION_INFO_V1(gpusort_collect_numbers_fraction);
PG_FUNCTION_INFO_V1(gpusort_sort_agg_final);
PG_FUNCTION_INFO_V1(gpusort_count_distinct_final);

/* Transition function: collects every value. */
Datum
gpusort_collect_all(PG_FUNCTION_ARGS)
{
	Collected  *state = collect_state(fcinfo, 1, 0, COLLECT_STABLE);

	collect_put(fcinfo, state, &fcinfo->args[1]);
	PG_RETURN_POINTER(state);
}

/* Transition function: collects non-NULL values, for aggregates whose result is equal for equal values. */
Datum
gpusort_collect_values(PG_FUNCTION_ARGS)
{
	Collected  *state;

	if (PG_ARGISNULL(1))
		return collect_nothing(fcinfo);
	state = collect_state(fcinfo, 1, 0, 0);
	collect_put(fcinfo, state, &fcinfo->args[1]);
	PG_RETURN_POINTER(state);
}

/* Returns a percentile's fraction; NaN for NULL. */
static double
get_fraction(const NullableDatum *argument)
{
	return argument->isnull ? get_float8_nan() : collect_checked_fraction(argument->value);
}

/* Returns the state of a percentile, which remembers the fraction in argument 2. */
static Collected *
fraction_state(FunctionCallInfo fcinfo, int flags)
{
	double		fraction = get_fraction(&fcinfo->args[2]);
	Collected  *state = collect_state(fcinfo, 1, 0, flags);

	collect_set_fraction(state, fraction, PG_ARGISNULL(0));
	return state;
}

/* Transition function: collects non-NULL values.  Argument 2 is the fraction. */
Datum
gpusort_collect_fraction(PG_FUNCTION_ARGS)
{
	Collected  *state = fraction_state(fcinfo, COLLECT_STABLE);

	if (!PG_ARGISNULL(1))
		collect_put(fcinfo, state, &fcinfo->args[1]);
	PG_RETURN_POINTER(state);
}

/* Collects a numeric as double precision, converted as float8(numeric) does, including its errors. */
static void
put_number(FunctionCallInfo fcinfo, Collected *state, Datum number)
{
	NullableDatum row = {.isnull = false};
	double		value;

	if (!sortkey_numeric_as_double(PG_DETOAST_DATUM_PACKED(number), &value))
		value = DatumGetFloat8(DirectFunctionCall1(numeric_float8, number));
	row.value = Float8GetDatum(value);
	collect_put(fcinfo, state, &row);
}

/* gpusort_collect_values and gpusort_collect_fraction for numeric. */
Datum
gpusort_collect_numbers(PG_FUNCTION_ARGS)
{
	Collected  *state;

	if (PG_ARGISNULL(1))
		return collect_nothing(fcinfo);
	state = collect_state(fcinfo, 1, 0, COLLECT_DOUBLES);
	put_number(fcinfo, state, PG_GETARG_DATUM(1));
	PG_RETURN_POINTER(state);
}

/* Transition function with a fraction, which accompanies each value, even NULL. */
Datum
gpusort_collect_numbers_fraction(PG_FUNCTION_ARGS)
{
	Collected  *state = fraction_state(fcinfo, COLLECT_STABLE | COLLECT_DOUBLES);

	if (!PG_ARGISNULL(1))
		put_number(fcinfo, state, PG_GETARG_DATUM(1));
	PG_RETURN_POINTER(state);
}

/* Reads the sorted rows of a spilled state into an array. */
static ArrayType *
spilled_array(Collected *state)
{
	VectorType	vtype = state->call->types[0];
	Vector		values;
	TupleTableSlot *slot;

	/* an array cannot hold more than this either */
	vtype.limit = 2 * MaxAllocSize;
	vector_init(&values, &vtype, NULL, 0);
	vectorsort_rewind(state->spill);
	while (slot = vectorsort_next(state->spill), !TupIsNull(slot))
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, 1, &isnull);

		if (!vector_append(&values, value, isnull))
			vector_to_array(&values, NULL, MaxArraySize + 1, 1);
	}
	return vector_to_array(&values, NULL, values.rows, 1);
}

/* gpu_sort_agg(value): an array of all values in order, NULLs last. */
Datum
gpusort_sort_agg_final(PG_FUNCTION_ARGS)
{
	Collected  *state = collect_final(fcinfo);
	uint32		order[COLLECT_SMALL];
	ArrayType  *array;

	if (state == NULL)
		PG_RETURN_NULL();
	if (state->spill)
		array = spilled_array(state);
	else if (collect_small_order(state, order))
		array = vector_to_array(&state->columns[0], order, state->columns[0].rows, 1);
	else
	{
		BigMem	   *mem = collect_begin_work();
		VectorColumn column = collect_column(state, 0);

		array = vectorjob_sorted_array(mem, &column, false, 1, CurrentMemoryContext);
		collect_end_work(mem);
	}
	PG_RETURN_ARRAYTYPE_P(array);
}

/* Counts the distinct values of a spilled state. */
static uint64
count_spilled(Collected *state)
{
	CollectDistinct distinct;
	uint64		count = 0;

	collect_distinct_begin(&distinct, state);
	while (collect_distinct_next(&distinct, state))
		count++;
	return count;
}

/* Counts the distinct values of a state in memory. */
static uint64
count_collected(const Collected *state)
{
	VectorColumn column = collect_equal_column(state);
	BigMem	   *mem;
	CollectRuns found;
	uint64		count;

	if (column.values->rows <= COLLECT_SMALL || !vectordirect_can(&column))
	{
		collect_runs_begin(&found, state, true);
		collect_runs_end(&found);
		return found.count;
	}
	mem = collect_begin_work();
	count = vectordirect_distinct(mem, &column, NULL);
	collect_end_work(mem);
	return count;
}

/* gpu_count_distinct(value): the number of distinct non-NULL values. */
Datum
gpusort_count_distinct_final(PG_FUNCTION_ARGS)
{
	Collected  *state = collect_final(fcinfo);

	if (state == NULL)
		PG_RETURN_INT64(0);
	PG_RETURN_INT64((int64) (state->spill ? count_spilled(state) : count_collected(state)));
}
