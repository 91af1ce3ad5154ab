/*
 * columns_result.c: the service's answers as PostgreSQL's aggregates give them, to the digit and the display scale.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/uuid.h"

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
	int64		addend;			/* of each value of a sum */
	const ColumnDescription *column;	/* of strings, */
	const StringCodes *codes;	/* NULL: it is none of them */
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
average(int128 sum, int scale, int128 count)
{
	return DirectFunctionCall2(numeric_div, decimal_numeric(sum, scale), decimal_numeric(count, 0));
}

/* Writes a sum or average of integers or numerics. */
static const char *
put_sum(const Answer *answer, Datum *value)
{
	int128		sum = integer_of(answer->reduced) + (int128) answer->addend * (int128) answer->reduced->count;
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
			*value = average(sum, answer->scale, (int128) answer->reduced->count);
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
		case BOOLOID:
			*value = BoolGetDatum(narrow != 0);
			return integer == 0 || integer == 1;
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

/* Writes a uuid, whose bytes an answer has in order. */
static const char *
put_uuid(const gs_reduced *reduced, Datum *value)
{
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));

	memcpy(uuid->data, reduced->value, UUID_LEN);
	*value = UUIDPGetDatum(uuid);
	return NULL;
}

/* Writes a string. */
static const char *
put_string(const Answer *answer, Datum *value)
{
	const gs_reduced *reduced = answer->reduced;

	if (reduced->value[1] != 0 ||
		!codes_datum(answer->codes, getBaseType(answer->column->type), answer->column->typmod,
					 codes_of_held(answer->codes, reduced->value[0]), value))
		return wrong;
	return NULL;
}

/* Writes one of the values: the smallest, the greatest, the one of a rank, a key. */
static const char *
put_value(const Answer *answer, Datum *value)
{
	double		extreme;

	if (answer->codes != NULL)
		return put_string(answer, value);
	if (answer->type == UUIDOID)
		return put_uuid(answer->reduced, value);
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

/* ---------------------------------------------------------------- percentiles */

/* Writes a value as a float8, which percentile_cont's argument is cast to. */
static const char *
put_float(const Answer *answer, float8 *value)
{
	Datum		datum;
	const char *why = put_value(answer, &datum);

	if (why != NULL)
		return why;
	switch (answer->type)
	{
		case FLOAT8OID:
			*value = DatumGetFloat8(datum);
			break;
		case FLOAT4OID:
			*value = (float8) DatumGetFloat4(datum);
			break;
		case NUMERICOID:
			*value = DatumGetFloat8(DirectFunctionCall1(numeric_float8, datum));
			break;
		default:
			*value = (float8) (int64) integer_of(answer->reduced);
	}
	return NULL;
}

/*
 * Writes the percentile of a fraction as percentile_cont does, from the values of two ranks, of which the second one
 * follows.
 */
static const char *
put_between(const Answer *answer, float8 fraction, Datum *value)
{
	Answer		next = *answer;
	double		place = fraction * (double) (answer->reduced->count - 1);
	float8		low;
	float8		high;
	const char *why;

	next.reduced++;
	if (next.reduced->count != answer->reduced->count)
		return wrong;
	/* for an array of fractions PostgreSQL adds 1 first, which may round to the next rank */
	if (floor(1 + place) != 1 + floor(place) || ceil(1 + place) != 1 + ceil(place))
		return "a fraction lies next to a rank";
	why = put_float(answer, &low);
	if (why == NULL)
		why = put_float(&next, &high);
	if (why == NULL)
		*value = Float8GetDatum(floor(place) == ceil(place) ? low : low + (place - floor(place)) * (high - low));
	return why;
}

/* Writes the percentile of a fraction. */
static const char *
put_percentile(const Answer *answer, bool continuous, float8 fraction, Datum *value)
{
	return continuous ? put_between(answer, fraction, value) : put_value(answer, value);
}

/* Writes the percentiles of an array of fractions as an array of its shape. */
static const char *
put_percentiles(Answer *answer, bool continuous, Datum fractions, Datum *value)
{
	ArrayType  *array = DatumGetArrayTypeP(fractions);
	Oid			type = get_element_type(answer->aggregate->aggtype);
	uint64		count = answer->reduced->count;
	Datum	   *values;
	bool	   *nulls;
	int			n;
	int16		length;
	bool		byval;
	char		align;

	deconstruct_array(array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &values, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		const char *why = NULL;

		if (nulls[i])
			continue;
		if (answer->reduced->count != count)
			return wrong;
		why = put_percentile(answer, continuous, DatumGetFloat8(values[i]), &values[i]);
		if (why != NULL)
			return why;
		answer->reduced += continuous ? 2 : 1;
	}
	get_typlenbyvalalign(type, &length, &byval, &align);
	*value = n == 0 ? PointerGetDatum(construct_empty_array(type)) :
		PointerGetDatum(construct_md_array(values, nulls, ARR_NDIM(array), ARR_DIMS(array), ARR_LBOUND(array), type,
										   length, byval, align));
	return NULL;
}

/* Writes what an aggregate over ordered values gives. */
static const char *
put_ordered(Answer *answer, const QueryRequest *request, const QueryValues *given, Datum *value)
{
	bool		continuous = request->operation == GS_RANK_FLOOR;
	Datum		fraction;

	if (request->operation == GS_MODE)
		return put_value(answer, value);
	fraction = given->values[request->fraction];
	return OidIsValid(get_element_type(request->fraction_type)) ?
		put_percentiles(answer, continuous, fraction, value) :
		put_percentile(answer, continuous, DatumGetFloat8(fraction), value);
}

/* ---------------------------------------------------------------- groups */

/* What a group's answers are made of. */
typedef struct GroupAnswers
{
	const ColumnsQuery *query;
	const QueryValues *given;
	const ColumnsSteps *steps;
	const gs_reduced *reduced;	/* of the list's aggregates */
} GroupAnswers;

/* Returns what the service says about a request. */
static const gs_reduced *
reduced_of(const GroupAnswers *group, int request)
{
	return &group->reduced[group->steps->first[request]];
}

/* Returns the column that a request is about; -1: it has none. */
static int
column_of(const QueryRequest *request)
{
	return request->nitems == 1 && request->items[0].code == GS_CODE_COLUMN ? request->items[0].operand : -1;
}

/* Writes the value of an aggregate. */
static const char *
put_answer(const GroupAnswers *group, const QueryAnswer *question, Datum *value, bool *isnull)
{
	const QueryRequest *request = &group->query->requests[question->request];
	int			column = column_of(request);
	Answer		answer = {reduced_of(group, question->request), question->aggregate, request->type,
	group->steps->scales[question->request], question->addend, column >= 0 ? &group->query->columns[column] : NULL,
	column >= 0 ? group->query->codes[column] : NULL};
	uint64		count = group->steps->all_null[question->request] ? 0 : answer.reduced->count;
	bool		counts = request->operation == GS_COUNT || request->operation == GS_DISTINCT;

	*isnull = !counts && count == 0;
	if (counts)
		*value = Int64GetDatum((int64) count);
	if (counts || *isnull)
		return NULL;
	if (question->least >= 0 &&
		!has_safe_squares(reduced_of(group, question->least), reduced_of(group, question->greatest)))
		return "an average of floats may overflow";
	if (request->operation >= (int) GS_MODE)
		return put_ordered(&answer, request, group->given, value);
	if (request->operation != GS_SUM)
		return put_value(&answer, value);
	return answer.type == FLOAT8OID ? put_float_sum(&answer, value) : put_sum(&answer, value);
}

const char *
columns_value(const ColumnsQuery *query, int index, const gs_reduced *reduced, Datum *value, bool *isnull)
{
	const ColumnDescription *column = &query->columns[index];
	Answer		answer = {reduced, NULL, getBaseType(column->type), column_scale(column), 0, column,
	query->codes[index]};

	*isnull = reduced->count == 0;
	return *isnull ? NULL : put_value(&answer, value);
}

/* Writes a key that is an average over a window, by its sum and its number. */
static const char *
put_average(const ColumnsQuery *query, int key, const gs_reduced *group, Datum *value, bool *isnull)
{
	int128		count = integer_of(&group[query->counts[key]]);

	*isnull = group[key].count == 0;
	if (*isnull ? count != 0 : count <= 0)
		return wrong;
	if (!*isnull)
		*value = average(integer_of(&group[key]), column_scale(&query->columns[query->keys[key]]), count);
	return NULL;
}

/* Returns true if the answers agree with the number of rows. */
static bool
is_possible(const GroupAnswers *group, uint64 rows)
{
	const ColumnsQuery *query = group->query;

	for (int i = 0; i < query->nrequests; i++)
	{
		const QueryRequest *request = &query->requests[i];
		uint64		count = reduced_of(group, i)->count;

		if (count > rows)
			return false;
		if (query->where.count == 0 && query->above.count == 0 && query->nkeys == 0 && request->argument == NULL &&
			request->filter == NIL && count != rows)
			return false;
	}
	return true;
}

/* Returns true if all dates and times whose differences were computed are finite. */
static bool
are_finite(const GroupAnswers *group)
{
	const ColumnsQuery *query = group->query;

	for (int i = 0; i < query->nguards; i++)
	{
		const gs_reduced *least = reduced_of(group, query->guards[i].least);
		const gs_reduced *greatest = reduced_of(group, query->guards[i].greatest);
		bool		date = query->requests[query->guards[i].least].type == DATEOID;

		if (least->count > 0 && (integer_of(least) == (date ? DATEVAL_NOBEGIN : DT_NOBEGIN) ||
								 integer_of(greatest) == (date ? DATEVAL_NOEND : DT_NOEND)))
			return false;
	}
	return true;
}

const char *
columns_result(const ColumnsQuery *query, const QueryValues *given, const ColumnsSteps *steps, const gs_reduced *group,
			   uint64 rows, Datum *values, bool *nulls)
{
	GroupAnswers answers = {query, given, steps, group + query->nkeys};
	const char *why = is_possible(&answers, rows) ? NULL : wrong;

	if (why == NULL && !are_finite(&answers))
		why = "a date or time is infinite";
	for (int i = 0; i < query->nmembers && why == NULL; i++)
		why = query->counts[i] != 0 ? put_average(query, i, group, &values[i], &nulls[i]) :
			columns_value(query, query->keys[i], &group[i], &values[i], &nulls[i]);
	for (int i = 0; i < query->nanswers && why == NULL; i++)
		why = put_answer(&answers, &query->answers[i], &values[query->nmembers + i], &nulls[query->nmembers + i]);
	return why;
}
