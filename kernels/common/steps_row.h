/*
 * steps_row.h: what a list of steps (gs_steps.h) means, row by row: the values of columns and expressions, the terms of
 * a filter, results that take values and results of other rows.  Kernels call it; the CPU engine's loops over blocks
 * give the same results.
 */
#ifndef GS_COMMON_STEPS_ROW_H
#define GS_COMMON_STEPS_ROW_H

#include "float_order.h"
#include "steps_parts.h"

#include <string.h>

typedef __int128 gs_wide;
typedef unsigned __int128 gs_unsigned_wide;

/* A value: an integer, or a double. */
typedef struct gs_scalar
{
	gs_wide integer;
	double real;
} gs_scalar;

/* Joins the halves of an integer. */
GS_BOTH gs_wide
gs_wide_of(uint64_t low, uint64_t high)
{
	return (gs_wide) ((gs_unsigned_wide) high << 64 | low);
}

/* Returns a double's bits. */
GS_BOTH uint64_t
gs_real_bits(double real)
{
	uint64_t bits;

	memcpy(&bits, &real, sizeof(bits));
	return bits;
}

/* Returns the double of some bits. */
GS_BOTH double
gs_bits_real(uint64_t bits)
{
	double real;

	memcpy(&real, &bits, sizeof(real));
	return real;
}

/* Returns the least integer of a number. */
GS_BOTH gs_wide
gs_number_least(gs_number number)
{
	const int bits = number == GS_NUMBER_I16 ? 15 : number == GS_NUMBER_I32 ? 31 : number == GS_NUMBER_I64 ? 63 : 127;

	return (gs_wide) ((gs_unsigned_wide) -1 << bits);
}

/* Returns the greatest one. */
GS_BOTH gs_wide
gs_number_greatest(gs_number number)
{
	return -1 - gs_number_least(number);
}

/* Returns true if an integer lies in a number's range. */
GS_BOTH bool
gs_number_holds(gs_number number, gs_wide x)
{
	return x >= gs_number_least(number) && x <= gs_number_greatest(number);
}

/* Returns the value of a column's row. */
GS_BOTH gs_scalar
gs_column_scalar(gs_type type, const void *values, uint64_t row)
{
	gs_scalar v;

	v.integer = 0;
	v.real = 0;
	switch (type)
	{
		case GS_U8:
			v.integer = ((const uint8_t *) values)[row];
			break;
		case GS_U16:
			v.integer = ((const uint16_t *) values)[row];
			break;
		case GS_I16:
			v.integer = ((const int16_t *) values)[row];
			break;
		case GS_U32:
			v.integer = ((const uint32_t *) values)[row];
			break;
		case GS_I32:
			v.integer = ((const int32_t *) values)[row];
			break;
		case GS_U64:
			v.integer = ((const uint64_t *) values)[row];
			break;
		case GS_I64:
			v.integer = ((const int64_t *) values)[row];
			break;
		case GS_F32:
			v.real = ((const float *) values)[row];
			break;
		case GS_F64:
			v.real = ((const double *) values)[row];
			break;
		default:
			v.integer = gs_wide_of(((const uint64_t *) values)[2 * row], ((const uint64_t *) values)[2 * row + 1]);
	}
	return v;
}

/* Returns a constant. */
GS_BOTH gs_scalar
gs_constant_scalar(const gs_constant *constant, bool real)
{
	gs_scalar v;

	v.integer = real ? 0 : gs_wide_of(constant->half[0], constant->half[1]);
	v.real = real ? gs_bits_real(constant->half[0]) : 0;
	return v;
}

/* Returns an integer in the order of a number's values: doubles by their order in PostgreSQL, zeros being equal. */
GS_BOTH gs_wide
gs_scalar_code(gs_scalar v, bool real)
{
	return real ? (gs_wide) gs_float_order64(gs_real_bits(v.real), true) : v.integer;
}

/* Returns true if a row is NULL. */
GS_BOTH bool
gs_held_null(const gs_held *column, uint64_t row)
{
	return column->nulls != NULL && (column->nulls[row / 64] >> (row % 64) & 1);
}

/* Returns true if the ascending constants of IN have a code. */
GS_BOTH bool
gs_in_constants(const gs_constant *constants, uint32_t n, gs_wide code, bool real)
{
	uint32_t low = 0, high = n;

	while (low < high)
	{
		const uint32_t middle = low + (high - low) / 2;

		if (gs_scalar_code(gs_constant_scalar(&constants[middle], real), real) < code)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && gs_scalar_code(gs_constant_scalar(&constants[low], real), real) == code;
}

/* Returns true if an integer's bit is set in the constants of IN_BITS. */
GS_BOTH bool
gs_in_bits(const gs_constant *constants, uint32_t n, gs_wide x)
{
	return x >= 0 && x < (gs_wide) n * 128 && (constants[x / 128].half[x / 64 % 2] >> (x % 64) & 1);
}

/* Returns true if the code of a value that is not NULL passes a term with constants. */
GS_BOTH bool
gs_code_passes(const gs_steps *steps, const gs_term *term, gs_wide x, bool real)
{
	const gs_constant *constants = (const gs_constant *) gs_steps_at(steps, term->constants);
	gs_wide c;

	if (term->test == GS_TEST_IN)
		return gs_in_constants(constants, term->nconstants, x, real);
	if (term->test == GS_TEST_IN_BITS)
		return gs_in_bits(constants, term->nconstants, x);
	c = gs_scalar_code(gs_constant_scalar(&constants[0], real), real);
	switch (term->test)
	{
		case GS_TEST_EQ:
			return x == c;
		case GS_TEST_NE:
			return x != c;
		case GS_TEST_LT:
			return x < c;
		case GS_TEST_LE:
			return x <= c;
		case GS_TEST_GT:
			return x > c;
		case GS_TEST_GE:
			return x >= c;
		default: /* GS_TEST_BETWEEN */
			return x >= c && x <= gs_scalar_code(gs_constant_scalar(&constants[1], real), real);
	}
}

/* Returns true if a row passes a term that compares two columns. */
GS_BOTH bool
gs_columns_pass(const gs_steps *steps, const gs_term *term, const gs_held *columns, uint64_t row)
{
	const uint32_t a = term->column, b = term->constants;
	const gs_type type = (gs_type) steps->types[a], other = (gs_type) steps->types[b];
	const bool a_null = gs_held_null(&columns[a], row), b_null = gs_held_null(&columns[b], row);
	const bool real = gs_number_of(type) == GS_NUMBER_F64;
	gs_wide x, y;

	if (a_null || b_null)
		return term->test >= GS_TEST_DISTINCT_COLUMN && (a_null == b_null) == (term->test == GS_TEST_SAME_COLUMN);
	x = gs_scalar_code(gs_column_scalar(type, columns[a].values, row), real);
	y = gs_scalar_code(gs_column_scalar(other, columns[b].values, row), real);
	switch (term->test)
	{
		case GS_TEST_EQ_COLUMN:
		case GS_TEST_SAME_COLUMN:
			return x == y;
		case GS_TEST_LT_COLUMN:
			return x < y;
		case GS_TEST_LE_COLUMN:
			return x <= y;
		case GS_TEST_GT_COLUMN:
			return x > y;
		case GS_TEST_GE_COLUMN:
			return x >= y;
		default: /* GS_TEST_NE_COLUMN, GS_TEST_DISTINCT_COLUMN */
			return x != y;
	}
}

/* Returns true if a row passes a term of the filter. */
GS_BOTH bool
gs_term_passes(const gs_steps *steps, const gs_term *term, const gs_held *columns, uint64_t row)
{
	const gs_held *column = &columns[term->column];
	const gs_type type = (gs_type) steps->types[term->column];
	const bool null = gs_held_null(column, row), real = gs_number_of(type) == GS_NUMBER_F64;

	if (term->test >= GS_TEST_EQ_COLUMN)
		return gs_columns_pass(steps, term, columns, row);
	if (null || term->test >= GS_TEST_IS_NULL)
		return term->test == (null ? GS_TEST_IS_NULL : GS_TEST_NOT_NULL);
	return gs_code_passes(steps, term, gs_scalar_code(gs_column_scalar(type, column->values, row), real), real);
}

/* Adds integers.  Returns false if the sum leaves 128 bits. */
GS_BOTH bool
gs_wide_add(gs_wide a, gs_wide b, gs_wide *sum)
{
	*sum = (gs_wide) ((gs_unsigned_wide) a + (gs_unsigned_wide) b);
	return ((a ^ *sum) & (b ^ *sum)) >= 0;
}

/* Subtracts likewise. */
GS_BOTH bool
gs_wide_subtract(gs_wide a, gs_wide b, gs_wide *difference)
{
	*difference = (gs_wide) ((gs_unsigned_wide) a - (gs_unsigned_wide) b);
	return ((a ^ b) & (a ^ *difference)) >= 0;
}

/* Multiplies likewise, by the halves of absolute values. */
GS_BOTH bool
gs_wide_multiply(gs_wide a, gs_wide b, gs_wide *product)
{
	const bool negative = (a < 0) != (b < 0);
	const gs_unsigned_wide x = a < 0 ? 0 - (gs_unsigned_wide) a : (gs_unsigned_wide) a;
	const gs_unsigned_wide y = b < 0 ? 0 - (gs_unsigned_wide) b : (gs_unsigned_wide) b;
	const uint64_t xh = (uint64_t) (x >> 64), yh = (uint64_t) (y >> 64), xl = (uint64_t) x, yl = (uint64_t) y;
	const gs_unsigned_wide low = (gs_unsigned_wide) xl * yl;
	const gs_unsigned_wide cross = xh != 0 ? (gs_unsigned_wide) xh * yl : (gs_unsigned_wide) yh * xl;
	const gs_unsigned_wide most = ((gs_unsigned_wide) 1 << 127) - (negative ? 0 : 1);
	const gs_unsigned_wide upper = (low >> 64) + cross; /* no carry: both are below 2^128 - 2^64 */
	const gs_unsigned_wide magnitude = upper << 64 | (uint64_t) low;

	*product = (gs_wide) (negative ? 0 - magnitude : magnitude);
	return (xh == 0 || yh == 0) && upper >> 64 == 0 && magnitude <= most;
}

/* Computes an instruction of arithmetic.  Returns false if its result leaves the range. */
GS_BOTH bool
gs_compute(gs_code code, gs_number result, gs_wide a, gs_wide b, gs_wide *out)
{
	bool good;

	switch (code)
	{
		case GS_CODE_ADD:
			good = gs_wide_add(a, b, out);
			break;
		case GS_CODE_SUBTRACT:
			good = gs_wide_subtract(a, b, out);
			break;
		default: /* GS_CODE_MULTIPLY */
			good = gs_wide_multiply(a, b, out);
	}
	return good && gs_number_holds(result, *out);
}

/* Returns true if some column of an expression is NULL in a row, and so is then the expression. */
GS_BOTH bool
gs_code_null(const gs_instruction *code, uint32_t ncode, const gs_held *columns, uint64_t row)
{
	for (uint32_t i = 0; i < ncode; i++)
		if (code[i].code == GS_CODE_COLUMN && gs_held_null(&columns[code[i].operand], row))
			return true;
	return false;
}

/* Computes an expression of which no column is NULL.  Returns false if some result leaves its range. */
GS_BOTH bool
gs_code_value(const gs_steps *steps, const gs_instruction *code, uint32_t ncode, const gs_held *columns, uint64_t row,
			  gs_scalar *out)
{
	gs_scalar stack[GS_STEPS_MAX_DEPTH];
	uint32_t depth = 0;

	for (uint32_t i = 0; i < ncode; i++)
	{
		const gs_instruction in = code[i];

		if (in.code == GS_CODE_COLUMN)
			stack[depth++] = gs_column_scalar((gs_type) steps->types[in.operand], columns[in.operand].values, row);
		else if (in.code == GS_CODE_CONSTANT)
			stack[depth++] = gs_constant_scalar((const gs_constant *) gs_steps_at(steps, in.operand),
												in.result == GS_NUMBER_F64);
		else
		{
			depth--;
			if (!gs_compute((gs_code) in.code, (gs_number) in.result, stack[depth - 1].integer, stack[depth].integer,
							&stack[depth - 1].integer))
				return false;
		}
	}
	*out = stack[0];
	return true;
}

/* Returns a result of no rows. */
GS_BOTH gs_reduced
gs_reduced_none(void)
{
	gs_reduced r;

	r.value[0] = r.value[1] = r.count = 0;
	r.flags = r.zero = 0;
	return r;
}

/* Returns the result of one value. */
GS_BOTH gs_reduced
gs_reduced_one(gs_operation operation, gs_number number, gs_scalar v)
{
	gs_reduced r = gs_reduced_none();

	r.count = 1;
	if (operation == GS_COUNT)
		return r;
	r.value[0] = number == GS_NUMBER_F64 ? gs_real_bits(v.real) : (uint64_t) (gs_unsigned_wide) v.integer;
	r.value[1] = number == GS_NUMBER_F64 ? 0 : (uint64_t) ((gs_unsigned_wide) v.integer >> 64);
	if (number == GS_NUMBER_F64 && operation != GS_SUM && v.real != v.real)
		r.value[0] = 0x7ff8000000000000u;
	return r;
}

/* Returns true if one of two doubles is a zero with the sign bit and the other one without. */
GS_BOTH bool
gs_zeros_differ(uint64_t a, uint64_t b)
{
	return (a ^ b) == 0x8000000000000000u && (a << 1) == 0;
}

/*
 * Takes over the lesser or greater of two doubles.  Of two zeros, -0 is the lesser one; that both were there matters
 * only while the extreme is one of them.
 */
GS_BOTH void
gs_reduced_extreme_real(gs_operation operation, gs_reduced *into, const gs_reduced *from)
{
	const uint64_t a = gs_float_order64(into->value[0], false), b = gs_float_order64(from->value[0], false);

	into->flags |= from->flags | (gs_zeros_differ(into->value[0], from->value[0]) ? GS_REDUCED_ZEROS : 0);
	if (operation == GS_MIN ? b < a : b > a)
		into->value[0] = from->value[0];
	if (into->value[0] << 1 != 0)
		into->flags = 0;
}

/* Adds the result of other rows.  Returns false if a sum leaves 128 bits. */
GS_BOTH bool
gs_reduced_merge(gs_operation operation, gs_number number, gs_reduced *into, const gs_reduced *from)
{
	gs_wide a, b;

	if (from->count == 0)
		return true;
	if (into->count == 0 || operation == GS_COUNT)
	{
		const uint64_t count = into->count + from->count;

		*into = *from;
		into->count = count;
		return true;
	}
	into->count += from->count;
	if (number == GS_NUMBER_F64)
	{
		if (operation == GS_SUM)
			into->value[0] = gs_real_bits(gs_bits_real(into->value[0]) + gs_bits_real(from->value[0]));
		else
			gs_reduced_extreme_real(operation, into, from);
		return true;
	}
	a = gs_wide_of(into->value[0], into->value[1]);
	b = gs_wide_of(from->value[0], from->value[1]);
	if (operation == GS_SUM && !gs_wide_add(a, b, &a))
		return false;
	if (operation != GS_SUM && (operation == GS_MIN ? b < a : b > a))
		a = b;
	into->value[0] = (uint64_t) (gs_unsigned_wide) a;
	into->value[1] = (uint64_t) ((gs_unsigned_wide) a >> 64);
	return true;
}

/* What a member of groups is for tests and orders. */
typedef enum gs_member_kind
{
	GS_MEMBER_INTEGER,
	GS_MEMBER_REAL,
	GS_MEMBER_COUNT /* its count */
} gs_member_kind;

/* Returns what each member of a list's groups is. */
GS_BOTH void
gs_member_kinds(const gs_steps *steps, uint8_t *kinds)
{
	const gs_group_step *group = gs_steps_group(steps);

	for (uint32_t m = 0; m < group->nkeys + group->naggregates; m++)
		if (m >= group->nkeys && gs_aggregate_counts(&group->aggregates[m - group->nkeys]))
			kinds[m] = GS_MEMBER_COUNT;
		else
			kinds[m] = gs_member_number(steps, m) == GS_NUMBER_F64 ? GS_MEMBER_REAL : GS_MEMBER_INTEGER;
}

/* Returns true if a member is NULL; a count never is. */
GS_BOTH bool
gs_member_null(uint8_t kind, const gs_reduced *member)
{
	return kind != GS_MEMBER_COUNT && member->count == 0;
}

/* Returns a member's code (gs_scalar_code). */
GS_BOTH gs_wide
gs_member_code(uint8_t kind, const gs_reduced *member)
{
	if (kind == GS_MEMBER_COUNT)
		return (gs_wide) member->count;
	if (kind == GS_MEMBER_REAL)
		return (gs_wide) gs_float_order64(member->value[0], true);
	return gs_wide_of(member->value[0], member->value[1]);
}

/* Returns true if a group comes before another one in TOP's order. */
GS_BOTH bool
gs_top_before(const gs_top_step *top, const uint8_t *kinds, const gs_reduced *a, const gs_reduced *b)
{
	for (uint32_t i = 0; i < top->norders; i++)
	{
		const gs_top_order *o = &top->orders[i];
		const uint8_t kind = kinds[o->member];
		const bool a_null = gs_member_null(kind, &a[o->member]), b_null = gs_member_null(kind, &b[o->member]);
		gs_wide x, y;

		if (a_null != b_null)
			return a_null == (o->nulls_first != 0);
		if (a_null)
			continue;
		x = gs_member_code(kind, &a[o->member]);
		y = gs_member_code(kind, &b[o->member]);
		if (x != y)
			return (x < y) != (o->descending != 0);
	}
	return false;
}

#endif
