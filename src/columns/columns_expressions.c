/*
 * columns_expressions.c: expressions of aggregates as code, with the constants of one scan.
 *
 * Numerics are integers scaled by a power of ten.  As in numeric.c, a sum has the greater scale of its operands, and a
 * product the sum of their scales; so an operand of a smaller scale is multiplied by a power of ten first.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"

#include "kernels/common/steps_row.h"
#include "src/base/compat.h"
#include "columns_expressions.h"
#include "columns_windows.h"
#include "decimal.h"

/* Values below this, as a double, fit 64 bits. */
#define SAFE_64 9.2e18

/* Decimals of the seconds of a difference of times, whose type is interval. */
#define MICROSECONDS 6

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
		   steps_put(translation->writer, &constant, sizeof(constant)));
}

/* Turns a constant into instructions. */
static void
push_if_constant(Translation *translation, Fragment *fragment)
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
	append(translation, fragment, GS_CODE_COLUMN, gs_number_of((gs_type) column->gs),
		   windows_list_column(translation->query, index));
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
	if (power > DECIMAL_MAX_POWER || (fragment->is_constant && fragment->bound > 1e37))
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
	push_if_constant(translation, left);
	push_if_constant(translation, right);
	left->numeric = item->type == NUMERICOID || item->type == INTERVALOID;
	left->scale = multiply ? left->scale + right->scale : item->type == INTERVALOID ? MICROSECONDS : left->scale;
	left->bound = multiply ? left->bound * right->bound : left->bound + right->bound;
	left->depth = Max(left->depth, right->depth + 1);
	for (int i = 0; i < right->ncode; i++)
		append(translation, left, (gs_code) right->code[i].code, (gs_number) right->code[i].result,
			   right->code[i].operand);
	append(translation, left, item->code,
		   item->type == NUMERICOID ? number_within(left->bound) :
		   item->type == INT2OID ? GS_NUMBER_I16 : item->type == INT4OID ? GS_NUMBER_I32 : GS_NUMBER_I64, 0);
	/* what passes the check is of the type */
	if (item->type != NUMERICOID)
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

const char *
expressions_put(StepsWriter *writer, const ColumnsQuery *query, const QueryValues *values, const QueryRequest *request,
				gs_aggregate *aggregate, PutExpression *put)
{
	Translation translation = {.query = query, .values = values, .writer = writer,
	.fragments = palloc_array(Fragment, request->nitems + 1)};
	Fragment   *result = &translation.fragments[0];

	for (int i = 0; i < request->nitems && translation.why == NULL; i++)
		translate_item(&translation, &request->items[i]);
	put->all_null = translation.all_null;
	if (translation.why != NULL || translation.all_null)
		return translation.why;
	push_if_constant(&translation, result);
	if (result->depth > GS_STEPS_MAX_DEPTH)
		translation.why = "an expression is too deep";
	put->scale = result->scale;
	aggregate->code = steps_put(writer, result->code, sizeof(gs_instruction) * (Size) result->ncode);
	aggregate->ncode = (uint32) result->ncode;
	return translation.why;
}
