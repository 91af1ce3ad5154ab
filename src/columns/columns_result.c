/*
 * columns_result.c: the service's answers as PostgreSQL's aggregates give them, to the digit and the display scale.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "src/base/compat.h"
#include "columns_result.h"
#include "decimal.h"

/* float8_accum keeps squares, too, which overflow beyond this amount, whatever the number of rows. */
#define SAFE_SQUARE 1e140

/* An answer, taken apart. */
typedef struct Answer
{
	const gs_reduced *reduced;
	const Aggref *aggregate;
	Oid			type;			/* of the argument */
	int			scale;
} Answer;

static const char *const wrong = "the service's answer is impossible";

/* Returns an answer that is an integer. */
static int128
integer_of(const gs_reduced *reduced)
{
	return (int128) (((uint128) reduced->value[1] << 64) | reduced->value[0]);
}

/* Returns an answer that is a double. */
static double
double_of(const gs_reduced *reduced)
{
	double		value;

	memcpy(&value, &reduced->value[0], sizeof(value));
	return value;
}

/* Returns an average as int8_avg and numeric_avg do: a numeric divided by another. */
static Datum
average(const Answer *answer, int128 sum)
{
	return DirectFunctionCall2(numeric_div, decimal_numeric(sum, answer->scale),
							   decimal_numeric((int128) answer->reduced->count, 0));
}

/* Writes a sum or average of integers or numerics. */
static const char *
put_sum(const Answer *answer, Datum *value)
{
	int128		sum = integer_of(answer->reduced);
	bool		narrow = answer->type == INT2OID || answer->type == INT4OID;

	if (narrow && (sum < PG_INT64_MIN || sum > PG_INT64_MAX))
		return "a sum leaves bigint";
	switch (answer->aggregate->aggfnoid)
	{
		case F_SUM_INT2:
		case F_SUM_INT4:
			*value = Int64GetDatum((int64) sum);
			return NULL;
		case F_SUM_INT8:
		case F_SUM_NUMERIC:
			*value = decimal_numeric(sum, answer->scale);
			return NULL;
		default:
			*value = average(answer, sum);
			return NULL;
	}
}

/* Writes an integer as a datum of a type.  Returns false if it is not one. */
static bool
put_integer(Oid type, int128 integer, Datum *value)
{
	int64		narrow = (int64) integer;

	switch (type)
	{
		case INT2OID:
			*value = Int16GetDatum((int16) narrow);
			return (int16) narrow == integer;
		case OIDOID:
			*value = ObjectIdGetDatum((Oid) narrow);
			return (Oid) narrow == integer;
		case INT4OID:
		case DATEOID:
			*value = Int32GetDatum((int32) narrow);
			return (int32) narrow == integer;
		default:
			*value = Int64GetDatum(narrow);
			return narrow == integer;
	}
}

/* Writes a smallest or greatest value. */
static const char *
put_extreme(const Answer *answer, Datum *value)
{
	double		extreme;

	if (answer->type == NUMERICOID)
	{
		*value = decimal_numeric(integer_of(answer->reduced), answer->scale);
		return NULL;
	}
	if (answer->type != FLOAT4OID && answer->type != FLOAT8OID)
		return put_integer(answer->type, integer_of(answer->reduced), value) ? NULL : wrong;
	extreme = double_of(answer->reduced);
	if (extreme == 0 && (answer->reduced->flags & GS_REDUCED_ZEROS))
		return "zeros of both signs are equal";
	*value = answer->type == FLOAT4OID ? Float4GetDatum((float4) extreme) : Float8GetDatum(extreme);
	return NULL;
}

/* Writes a sum or average of doubles.  PostgreSQL may raise an error for what is not finite. */
static const char *
put_float_sum(const Answer *answer, Datum *value)
{
	double		sum = double_of(answer->reduced);

	if (!isfinite(sum))
		return "a sum of floats is not finite";
	*value = Float8GetDatum(answer->aggregate->aggfnoid == F_AVG_FLOAT8 ? sum / (double) answer->reduced->count : sum);
	return NULL;
}

/* Returns true if squares of all values between two answers can be added up. */
static bool
has_safe_squares(const gs_reduced *least, const gs_reduced *greatest)
{
	return fabs(double_of(least)) < SAFE_SQUARE && fabs(double_of(greatest)) < SAFE_SQUARE;
}

/* Writes the value of an aggregate. */
static const char *
put_answer(const QueryAnswer *question, const ColumnsQuery *query, const ColumnsSteps *steps, const gs_reduced *reduced,
		   Datum *value, bool *isnull)
{
	const QueryRequest *request = &query->requests[question->request];
	Answer		answer = {&reduced[question->request], question->aggregate, request->type,
	steps->scales[question->request]};
	uint64		count = steps->all_null[question->request] ? 0 : answer.reduced->count;

	*isnull = request->operation != GS_COUNT && count == 0;
	if (request->operation == GS_COUNT)
		*value = Int64GetDatum((int64) count);
	if (request->operation == GS_COUNT || *isnull)
		return NULL;
	if (question->least >= 0 && !has_safe_squares(&reduced[question->least], &reduced[question->greatest]))
		return "an average of floats may overflow";
	if (request->operation != GS_SUM)
		return put_extreme(&answer, value);
	return answer.type == FLOAT8OID ? put_float_sum(&answer, value) : put_sum(&answer, value);
}

/* Returns true if the answers agree with the number of rows. */
static bool
is_possible(const ColumnsQuery *query, const gs_reduced *reduced, uint64 rows)
{
	for (int i = 0; i < query->nrequests; i++)
	{
		if (reduced[i].count > rows)
			return false;
		if (query->nterms == 0 && query->requests[i].argument == NULL && reduced[i].count != rows)
			return false;
	}
	return true;
}

const char *
columns_result(const ColumnsQuery *query, const ColumnsSteps *steps, const gs_reduced *reduced, uint64 rows,
			   Datum *values, bool *nulls)
{
	if (!is_possible(query, reduced, rows))
		return wrong;
	for (int i = 0; i < query->nanswers; i++)
	{
		const char *why = put_answer(&query->answers[i], query, steps, reduced, &values[i], &nulls[i]);

		if (why != NULL)
			return why;
	}
	return NULL;
}
