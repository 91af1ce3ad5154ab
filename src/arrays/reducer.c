/*
 * reducer.c: sum, minimum, maximum and average of SQL values.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "catalog/pg_type_d.h"
#include "utils/builtins.h"
#include "utils/cash.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "reducer.h"
#include "vectorengine.h"

/* 2^27 values, the most an array can hold, cannot overflow a float's range if each is below this fraction of it. */
#define SUM_ROOM 0x1p-40

/* The limit for avg(), which also sums squares, for the aggregates that share its state. */
#define LARGEST_SQUARED 1e140

/* Returns how a type's values are added, and the function for it. */
static ReducerSum
sum_of(Oid type, PGFunction *add)
{
	*add = NULL;
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return SUM_INTEGER;
		case FLOAT4OID:
			return SUM_FLOAT4;
		case FLOAT8OID:
			return SUM_FLOAT8;
		case NUMERICOID:
			*add = numeric_add;
			return SUM_BY_FUNCTION;
		case INTERVALOID:
			*add = interval_pl;
			return SUM_BY_FUNCTION;
		case CASHOID:
			*add = cash_pl;
			return SUM_BY_FUNCTION;
		default:
			return SUM_NONE;
	}
}

/* Raises the error for types without a sum.  Domains have none, as their constraints would apply. */
static void
no_sum(Oid type)
{
	Oid			base = getBaseType(type);

	if (base != type)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("values of domain %s cannot be added", format_type_be(type)),
				 errhint("Cast the array to %s[].", format_type_be(base))));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_FUNCTION),
			 errmsg("values of type %s cannot be added", format_type_be(type)),
			 errhint("The operations \"min\" and \"max\" work for every type that can be ordered.")));
}

/* Returns a float's absolute value; 0 for NULL. */
static inline double
float_size(const Vector *values, uint32 row)
{
	if (values->type->len == sizeof(float4))
		return fabsf(((const float4 *) values->data)[row]);
	return fabs(((const float8 *) values->data)[row]);
}

/* Returns true if a finite value exceeds a limit. */
static bool
any_beyond(const Vector *values, double limit)
{
	bool		found = false;

	for (uint32 i = 0; i < values->rows; i++)
		found |= float_size(values, i) > limit;
	/* infinities are rare, and searched for only here */
	for (uint32 i = 0; found && i < values->rows; i++)
		if (float_size(values, i) > limit && !isinf(float_size(values, i)))
			return true;
	return false;
}

/* Decides how floats are added: one by one if sums may overflow, as PostgreSQL's do in arrival order. */
static void
open_floats(Reducer *reducer, const Vector *values)
{
	double		largest = values->type->len == sizeof(float4) ? FLT_MAX * SUM_ROOM : DBL_MAX * SUM_ROOM;

	reducer->one_by_one = any_beyond(values, reducer->average ? LARGEST_SQUARED : largest);
	if (reducer->average)
		reducer->how = reducer->one_by_one ? SUM_ACCUMULATED : SUM_FLOAT8;
}

void
reducer_open(Reducer *reducer, const VectorColumn *column, gs_operation operation, bool average)
{
	const VectorType *type = column->values->type;

	memset(reducer, 0, sizeof(*reducer));
	reducer->operation = operation;
	reducer->average = average;
	reducer->len = type->len;
	reducer->byval = type->byval;
	if (operation == GS_SUM)
	{
		reducer->how = sum_of(type->type, &reducer->add);
		if (reducer->how == SUM_NONE)
			no_sum(type->type);
		reducer->one_by_one = reducer->how == SUM_BY_FUNCTION;
		if (reducer->how == SUM_FLOAT4 || reducer->how == SUM_FLOAT8)
			open_floats(reducer, column->values);
	}
	else
	{
		VectorComparer comparer;

		vectorcompare_open(&comparer, column, 1);
		reducer->key = comparer.keys[0];
	}
}

/* Adds a float.  Raises PostgreSQL's error on overflow. */
static inline void
add_float(Reducer *reducer, double value, bool single)
{
	double		sum = reducer->real + value;

	if (reducer->count == 0)
		sum = value;			/* the first value, kept as it is: -0 stays -0 */
	if (single)
		sum = (double) (float) sum;
	if (unlikely(isinf(sum)) && !isinf(reducer->real) && !isinf(value))
		float_overflow_error();
	reducer->real = sum;
}

/* Returns an integer of the type's width. */
static inline int64
integer_of(const Reducer *reducer, Datum value)
{
	if (reducer->len == sizeof(int64))
		return DatumGetInt64(value);
	return reducer->len == sizeof(int32) ? DatumGetInt32(value) : DatumGetInt16(value);
}

/* Adds with the type's function. */
static void
add_by_function(Reducer *reducer, Datum value)
{
	Datum		old = reducer->value;

	if (reducer->count == 0)
	{
		reducer->value = value;
		return;
	}
	reducer->value = DirectFunctionCall2(reducer->add, old, value);
	/* the first value belongs to the caller */
	if (!reducer->byval && !reducer->keep && reducer->count > 1)
		pfree(DatumGetPointer(old));
}

/* Adds with the transition function of avg(), which allocates a new state when called outside an aggregate. */
static void
accumulate(Reducer *reducer, Datum value)
{
	Datum		zeros[3] = {Float8GetDatum(0), Float8GetDatum(0), Float8GetDatum(0)};
	Datum		old = reducer->value;

	if (reducer->count == 0)
		old = PointerGetDatum(construct_array(zeros, lengthof(zeros), FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
											  TYPALIGN_DOUBLE));
	reducer->value = DirectFunctionCall2(float8_accum, old, value);
	pfree(DatumGetPointer(old));
}

void
reducer_add(Reducer *reducer, Datum value)
{
	if (reducer->operation != GS_SUM)
	{
		int			order = reducer->count == 0 ? 0 : reducer->key.comparator(value, reducer->value, &reducer->key);

		/* of equal values the first one is kept */
		if (reducer->count == 0 || (reducer->operation == GS_MIN ? order < 0 : order > 0))
			reducer->value = value;
	}
	else if (reducer->how == SUM_INTEGER)
		reducer->integer += integer_of(reducer, value);
	else if (reducer->how == SUM_BY_FUNCTION)
		add_by_function(reducer, value);
	else if (reducer->how == SUM_ACCUMULATED)
		accumulate(reducer, value);
	else
		add_float(reducer, reducer->len == sizeof(float4) ? DatumGetFloat4(value) : DatumGetFloat8(value),
				  reducer->how == SUM_FLOAT4);
	reducer->count++;
}

void
reducer_set(Reducer *reducer, const gs_group *group)
{
	reducer_reset(reducer);
	reducer->count = group->valid;
	if (reducer->operation != GS_SUM)
		reducer->value = fetch_att(group->value, true, reducer->len);
	else if (reducer->how == SUM_INTEGER)
		reducer->integer = (int128) ((uint128) group->value[1] << 64 | group->value[0]);
	else if (reducer->how == SUM_FLOAT4)
	{
		float4		real;

		memcpy(&real, group->value, sizeof(real));
		reducer->real = real;
	}
	else
		memcpy(&reducer->real, group->value, sizeof(float8));
}

/* Converts a 128-bit integer to numeric. */
static Datum
numeric_of(int128 integer)
{
	Datum		high;
	Datum		low;

	if (integer == (int64) integer)
		return NumericGetDatum(int64_to_numeric((int64) integer));
	/* in two factors of 2^62, which fit 64 bits */
	high = numeric_of(integer >> 62);
	low = numeric_of((int64) (integer & ((INT64CONST(1) << 62) - 1)));
	high = DirectFunctionCall2(numeric_mul, high, NumericGetDatum(int64_to_numeric(INT64CONST(1) << 62)));
	return DirectFunctionCall2(numeric_add, high, low);
}

/* Computes the average. */
static Datum
average(const Reducer *reducer)
{
	Datum		sum;

	if (reducer->how == SUM_ACCUMULATED)
		return DirectFunctionCall1(float8_avg, reducer->value);
	/* the sum starts at 0, so it is 0 even for values of -0 */
	if (reducer->how == SUM_FLOAT8)
		return Float8GetDatum((reducer->real + 0.0) / (double) reducer->count);
	sum = reducer->how == SUM_INTEGER ? numeric_of(reducer->integer) : reducer->value;
	return DirectFunctionCall2(numeric_div, sum, NumericGetDatum(int64_to_numeric((int64) reducer->count)));
}

Datum
reducer_result(const Reducer *reducer, bool *isnull)
{
	*isnull = reducer->count == 0;
	if (*isnull)
		return (Datum) 0;
	if (reducer->average)
		return average(reducer);
	if (reducer->operation != GS_SUM || reducer->how == SUM_BY_FUNCTION)
		return reducer->value;
	if (reducer->how == SUM_FLOAT4)
		return Float4GetDatum((float4) reducer->real);
	if (reducer->how == SUM_FLOAT8)
		return Float8GetDatum(reducer->real);
	if (reducer->integer != (int64) reducer->integer)
		question_raise(GS_OVERFLOW);
	return Int64GetDatum((int64) reducer->integer);
}
