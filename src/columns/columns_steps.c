/*
 * columns_steps.c: a query over columns as a list of steps, with the constants of one scan.
 *
 * Numerics are integers scaled by a power of ten.  As in numeric.c, a sum has the greater scale of its operands, and a
 * product the sum of their scales; so an operand of a smaller scale is multiplied by a power of ten first.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "utils/builtins.h"

#include "kernels/common/steps_row.h"
#include "src/base/compat.h"
#include "columns_steps.h"
#include "decimal.h"

/* Values below this, as a double, fit 64 bits. */
#define SAFE_64 9.2e18

/* Powers of ten that fit 128 bits. */
#define MAX_POWER 38

/* The list being written. */
typedef struct StepsWriter
{
	char	   *data;
	Size		bytes;
	bool		full;
} StepsWriter;

/* A part of an expression.  A constant has no instructions until it meets something else. */
typedef struct Fragment
{
	bool		numeric;
	int			scale;
	double		bound;			/* no value is greater, in amount */
	bool		is_constant;
	int128		constant;
	uint32		depth;			/* values on the stack at one time */
	int			ncode;
	gs_instruction code[GS_STEPS_MAX_CODE];
} Fragment;

/* An expression being translated. */
typedef struct Translation
{
	const ColumnsQuery *query;
	const QueryValues *values;
	StepsWriter *writer;
	bool		all_null;
	const char *why;			/* it cannot be */
	int			nfragments;
	Fragment   *fragments;		/* a stack */
} Translation;

/* ---------------------------------------------------------------- writing */

/* Makes room for some bytes and returns their offset. */
static uint32
reserve(StepsWriter *writer, Size bytes)
{
	Size		offset = writer->bytes;

	bytes = TYPEALIGN(8, bytes);
	if (bytes > GS_STEPS_MAX_BYTES - offset)
	{
		writer->full = true;
		return 0;
	}
	memset(writer->data + offset, 0, bytes);
	writer->bytes += bytes;
	return (uint32) offset;
}

/* Writes some bytes and returns their offset. */
static uint32
put(StepsWriter *writer, const void *data, Size bytes)
{
	uint32		offset = reserve(writer, bytes);

	if (!writer->full)
		memcpy(writer->data + offset, data, bytes);
	return offset;
}

/* Begins a step and returns its offset. */
static uint32
begin_step(StepsWriter *writer, gs_step_kind kind, Size bytes)
{
	uint32		offset = reserve(writer, bytes);

	if (!writer->full)
		((gs_step *) (writer->data + offset))->kind = kind;
	return offset;
}

/* Ends a step. */
static void
end_step(StepsWriter *writer, uint32 offset)
{
	gs_steps   *steps = (gs_steps *) writer->data;

	if (writer->full)
		return;
	((gs_step *) (writer->data + offset))->bytes = (uint32) (writer->bytes - offset);
	steps->nsteps++;
}

/* Writes the header. */
static void
put_header(StepsWriter *writer, const ColumnsQuery *query)
{
	gs_steps   *steps = (gs_steps *) (writer->data + reserve(writer, sizeof(gs_steps) + (Size) query->ncolumns));

	steps->magic = GS_STEPS_MAGIC;
	steps->ncolumns = (uint32) query->ncolumns;
	for (int i = 0; i < query->ncolumns; i++)
		steps->types[i] = (uint8) query->columns[i].gs;
	steps->first = (uint32) writer->bytes;
}

/* Writes the filter. */
static void
put_filter(StepsWriter *writer, const Filter *filter)
{
	uint32		offset = begin_step(writer, GS_STEP_FILTER,
									sizeof(gs_filter_step) + sizeof(gs_term) * (Size) filter->nterms);

	for (int i = 0; i < filter->nterms && !writer->full; i++)
	{
		const FilterTerm *term = &filter->terms[i];
		gs_filter_step *step = (gs_filter_step *) (writer->data + offset);
		gs_term    *out = &step->terms[i];

		step->nterms = (uint32) filter->nterms;
		out->column = (uint32) term->column;
		out->test = (uint32) term->test;
		out->nconstants = (uint32) term->nconstants;
		if (term->nconstants > 0)
			out->constants = put(writer, term->constants, sizeof(gs_constant) * (Size) term->nconstants);
	}
	end_step(writer, offset);
}

/* ---------------------------------------------------------------- expressions */

/* Appends an instruction. */
static void
append(Translation *translation, Fragment *fragment, gs_code code, gs_number result, uint32 operand)
{
	if (fragment->ncode == (int) GS_STEPS_MAX_CODE)
		translation->why = "an expression is too long";
	else
		fragment->code[fragment->ncode++] = (gs_instruction) {(uint8) code, (uint8) result, 0, operand};
}

/* Returns a power of ten. */
static int128
power_of_ten(int exponent)
{
	int128		power = 1;

	while (exponent-- > 0)
		power *= 10;
	return power;
}

/* Returns the narrowest range that a numeric's values are known to fit. */
static gs_number
number_within(double bound)
{
	return bound < SAFE_64 ? GS_NUMBER_I64 : GS_NUMBER_I128;
}

/* Appends the instruction that pushes a constant. */
static void
push_constant(Translation *translation, Fragment *fragment, int128 value)
{
	gs_constant constant = {{(uint64) value, (uint64) (value >> 64)}};

	append(translation, fragment, GS_CODE_CONSTANT, number_within(fabs((double) value)),
		   put(translation->writer, &constant, sizeof(constant)));
}

/* Turns a constant into instructions. */
static void
settle(Translation *translation, Fragment *fragment)
{
	if (fragment->is_constant)
		push_constant(translation, fragment, fragment->constant);
	fragment->is_constant = false;
}

/* Pushes a column. */
static void
push_column(Translation *translation, Fragment *fragment, int index)
{
	const ColumnDescription *column = &translation->query->columns[index];

	fragment->numeric = column->form != COLUMN_AS_IS;
	fragment->scale = column_scale(column);
	fragment->bound = fragment->numeric ? pow(10, column_digits(column)) : ldexp(1, 8 * column->length - 1);
	append(translation, fragment, GS_CODE_COLUMN, gs_number_of((gs_type) column->gs), (uint32) index);
}

/* Pushes a value of this scan. */
static void
push_value(Translation *translation, Fragment *fragment, const QueryItem *item)
{
	Datum		value = translation->values->values[item->operand];
	Decimal		decimal = {.exact = true};

	if (translation->values->nulls[item->operand])
	{
		translation->all_null = true;
		return;
	}
	if (item->type == NUMERICOID)
	{
		fragment->numeric = true;
		fragment->scale = decimal_scale(value);
		decimal = decimal_of(value, fragment->scale);
	}
	else
		decimal.floor = item->type == INT2OID ? DatumGetInt16(value) :
			item->type == INT4OID ? DatumGetInt32(value) : DatumGetInt64(value);
	if (decimal.beyond != 0)
		translation->why = "a constant is too large";
	fragment->is_constant = true;
	fragment->constant = decimal.floor;
	fragment->bound = fabs((double) decimal.floor);
}

/* Multiplies a numeric's integers for a greater scale. */
static void
rescale(Translation *translation, Fragment *fragment, int scale)
{
	int			power = scale - fragment->scale;

	if (power <= 0)
		return;
	fragment->scale = scale;
	fragment->bound *= pow(10, power);
	if (power > MAX_POWER || (fragment->is_constant && fragment->bound > 1e37))
		translation->why = "numerics of an expression differ too much in their scales";
	else if (fragment->is_constant)
		fragment->constant *= power_of_ten(power);
	else
	{
		push_constant(translation, fragment, power_of_ten(power));
		append(translation, fragment, GS_CODE_MULTIPLY, number_within(fragment->bound), 0);
		fragment->depth = Max(fragment->depth, 2);
	}
}

/* Appends an operation on the two uppermost fragments, which become one. */
static void
operate(Translation *translation, const QueryItem *item)
{
	Fragment   *left = &translation->fragments[translation->nfragments - 2];
	Fragment   *right = &translation->fragments[--translation->nfragments];
	bool		multiply = item->code == GS_CODE_MULTIPLY;

	if (!multiply)
	{
		rescale(translation, left, right->scale);
		rescale(translation, right, left->scale);
	}
	settle(translation, left);
	settle(translation, right);
	left->numeric = item->type == NUMERICOID;
	left->scale = multiply ? left->scale + right->scale : left->scale;
	left->bound = multiply ? left->bound * right->bound : left->bound + right->bound;
	left->depth = Max(left->depth, right->depth + 1);
	for (int i = 0; i < right->ncode; i++)
		append(translation, left, (gs_code) right->code[i].code, (gs_number) right->code[i].result,
			   right->code[i].operand);
	append(translation, left, item->code,
		   left->numeric ? number_within(left->bound) :
		   item->type == INT2OID ? GS_NUMBER_I16 : item->type == INT4OID ? GS_NUMBER_I32 : GS_NUMBER_I64, 0);
	/* what passes the check is of the type */
	if (!left->numeric)
		left->bound = item->type == INT2OID ? 0x1p15 : item->type == INT4OID ? 0x1p31 : 0x1p63;
}

/* Translates an element of an expression. */
static void
translate_item(Translation *translation, const QueryItem *item)
{
	Fragment   *fragment = &translation->fragments[translation->nfragments];

	if (item->code != GS_CODE_COLUMN && item->code != GS_CODE_CONSTANT)
	{
		operate(translation, item);
		return;
	}
	memset(fragment, 0, offsetof(Fragment, code));
	fragment->depth = 1;
	translation->nfragments++;
	if (item->code == GS_CODE_COLUMN)
		push_column(translation, fragment, item->operand);
	else
		push_value(translation, fragment, item);
}

/* Writes a request's expression. */
static void
put_expression(Translation *translation, const QueryRequest *request, gs_aggregate *aggregate, int *scale)
{
	Fragment   *result;
	uint32		code;

	translation->fragments = palloc_array(Fragment, request->nitems + 1);
	for (int i = 0; i < request->nitems && translation->why == NULL; i++)
		translate_item(translation, &request->items[i]);
	result = &translation->fragments[0];
	if (translation->why != NULL || translation->all_null)
		return;
	settle(translation, result);
	if (result->depth > GS_STEPS_MAX_DEPTH)
		translation->why = "an expression is too deep";
	*scale = result->scale;
	code = put(translation->writer, result->code, sizeof(gs_instruction) * (Size) result->ncode);
	aggregate->code = code;
	aggregate->ncode = (uint32) result->ncode;
}

/* Writes the aggregates.  One of a NULL constant counts rows instead, and its answer is not looked at. */
static const char *
put_group(StepsWriter *writer, const ColumnsQuery *query, const QueryValues *values, ColumnsSteps *steps)
{
	Size		bytes = sizeof(gs_group_step) + sizeof(gs_aggregate) * (Size) query->nrequests;
	uint32		offset = begin_step(writer, GS_STEP_GROUP, bytes);
	gs_group_step *step = (gs_group_step *) (writer->data + offset);

	if (writer->full)
		return NULL;
	step->naggregates = (uint32) query->nrequests;
	for (int i = 0; i < query->nrequests; i++)
	{
		const QueryRequest *request = &query->requests[i];
		Translation translation = {.query = query, .values = values, .writer = writer};

		steps->scales[i] = 0;
		if (request->argument != NULL)
			put_expression(&translation, request, &step->aggregates[i], &steps->scales[i]);
		if (translation.why != NULL)
			return translation.why;
		steps->all_null[i] = translation.all_null;
		step->aggregates[i].operation = (uint32) (translation.all_null ? GS_COUNT : request->operation);
	}
	end_step(writer, offset);
	return NULL;
}

const char *
columns_steps(const ColumnsQuery *query, const QueryValues *values, ColumnsSteps *steps)
{
	StepsWriter writer = {.data = palloc(GS_STEPS_MAX_BYTES)};
	Filter		filter;
	const char *why = columns_filter(query, values, &filter);

	if (why == NULL && filter.nterms > (int) GS_STEPS_MAX_TERMS)
		why = "it has too many conditions";
	if (why != NULL)
		return why;
	put_header(&writer, query);
	if (filter.nterms > 0)
		put_filter(&writer, &filter);
	why = put_group(&writer, query, values, steps);
	if (why == NULL && writer.full)
		why = "its constants are too many";
	steps->steps = (gs_steps *) writer.data;
	steps->steps->bytes = (uint32) writer.bytes;
	return why;
}
