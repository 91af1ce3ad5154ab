/*
 * percentile.c: aggregates that select by position: gpu_median, gpu_percentile_cont and gpu_percentile_disc.  They take
 * their fraction with each value, which makes them ordinary aggregates that combine.  within.c has those with a direct
 * argument, which may be an array.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "collect.h"
#include "percentile.h"
#include "src/base/compat.h"
#include "src/arrays/vectordirect.h"

PG_FUNCTION_INFO_V1(gpusort_median_final);
PG_FUNCTION_INFO_V1(gpusort_percentile_cont_final);
PG_FUNCTION_INFO_V1(gpusort_percentile_disc_final);

/* Finds the rows at a position of the order and at the next one (or the last).  order may be NULL. */
static void
rows_at(const Collected *state, const uint32 *order, uint64 place, uint32 rows[2])
{
	uint64		next = Min(place + 1, state->columns[0].rows - 1);
	uint32		small[COLLECT_SMALL];
	BigMem	   *mem;
	VectorColumn column;

	if (order == NULL && collect_small_order(state, small))
		order = small;
	if (order)
	{
		rows[0] = order[place];
		rows[1] = order[next];
		return;
	}
	mem = collect_begin_work();
	column = collect_column(state, 0);
	if (vectordirect_can(&column))
		vectordirect_at(mem, &column, place, rows);
	else
	{
		order = vectorjob_order(mem, &column, 1);
		rows[0] = order[place];
		rows[1] = order[next];
	}
	collect_end_work(mem);
}

void
percentile_values_at(Collected *state, const uint32 *order, uint64 place, Datum *value, Datum *next)
{
	const VectorType *vtype = &state->call->types[0];
	bool		isnull;

	if (state->spill)
	{
		TupleTableSlot *slot;

		collect_rewind(state);
		for (uint64 i = 0; i <= place; i++)
			slot = collect_next(state);
		*value = *next = datumCopy(slot_getattr(slot, 1, &isnull), vtype->byval, vtype->len);
		slot = collect_next(state);
		if (!TupIsNull(slot))
			*next = datumCopy(slot_getattr(slot, 1, &isnull), vtype->byval, vtype->len);
	}
	else
	{
		uint32		rows[2];

		rows_at(state, order, place, rows);
		*value = datumCopy(vector_get(&state->columns[0], rows[0], &isnull), vtype->byval, vtype->len);
		*next = datumCopy(vector_get(&state->columns[0], rows[1], &isnull), vtype->byval, vtype->len);
	}
}

Datum
percentile_between(Oid type, Datum low, Datum high, double part)
{
	Datum		difference;

	if (type == FLOAT8OID)
		return Float8GetDatum(DatumGetFloat8(low) + part * (DatumGetFloat8(high) - DatumGetFloat8(low)));
	Assert(type == INTERVALOID);
	difference = DirectFunctionCall2(interval_mi, high, low);
	difference = DirectFunctionCall2(interval_mul, difference, Float8GetDatum(part));
	return DirectFunctionCall2(interval_pl, difference, low);
}

Datum
percentile_cont(Collected *state, const uint32 *order, double fraction)
{
	double		exact = fraction * (double) (collect_rows(state) - 1);
	uint64		place = (uint64) floor(exact);
	Datum		low;
	Datum		high;

	percentile_values_at(state, order, place, &low, &high);
	if (place == (uint64) ceil(exact))
		return low;
	return percentile_between(state->call->types[0].type, low, high, exact - (double) place);
}

/* gpu_median(value): the middle value, or the mean of the two middle ones, of non-NULL values. */
Datum
gpusort_median_final(PG_FUNCTION_ARGS)
{
	Collected  *state = collect_final(fcinfo);

	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(percentile_cont(state, NULL, 0.5));
}

/* gpu_percentile_cont(value, fraction): as percentile_cont. */
Datum
gpusort_percentile_cont_final(PG_FUNCTION_ARGS)
{
	Collected  *state = collect_final(fcinfo);

	if (state == NULL || isnan(state->fraction))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(percentile_cont(state, NULL, state->fraction));
}

Datum
percentile_disc(Collected *state, const uint32 *order, double fraction)
{
	uint64		place = (uint64) ceil(fraction * (double) collect_rows(state));
	Datum		value;
	Datum		next;

	percentile_values_at(state, order, place > 0 ? place - 1 : 0, &value, &next);
	return value;
}

/* gpu_percentile_disc(value, fraction): as percentile_disc. */
Datum
gpusort_percentile_disc_final(PG_FUNCTION_ARGS)
{
	Collected  *state = collect_final(fcinfo);

	if (state == NULL || isnan(state->fraction))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(percentile_disc(state, NULL, state->fraction));
}
