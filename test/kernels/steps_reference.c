/*
 * steps_reference.c: lists of steps in plain C, value by value.
 */
#include "steps_reference.h"

#include <math.h>
#include <string.h>

int
compare_doubles(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (isnan(a) != 0) - (isnan(b) != 0);
	return (a > b) - (a < b);
}

int
compare_values(value a, value b)
{
	return a.real ? compare_doubles(a.d, b.d) : (a.i > b.i) - (a.i < b.i);
}

value
column_value(const gs_steps *steps, const plain_segment *s, uint32_t c, uint32_t row)
{
	gs_type type = (gs_type) steps->types[c];
	size_t width = gs_type_width(type);
	const uint8_t *p = s->values[c] + row * width;
	value v = {.null = s->nulls[c] != NULL && (s->nulls[c][row / 64] >> row % 64 & 1)};
	bool sign = type == GS_I16 || type == GS_I32 || type == GS_I64 || type == GS_U128;
	unsigned __int128 bits = sign && p[width - 1] >> 7 ? ~(unsigned __int128) 0 : 0;
	float f;

	for (size_t i = width; i > 0; i--)
		bits = bits << 8 | p[i - 1];
	v.i = (wide) bits;
	v.real = type == GS_F32 || type == GS_F64;
	if (type == GS_F32)
	{
		memcpy(&f, p, sizeof(f));
		v.d = f;
	}
	else
		memcpy(&v.d, &bits, sizeof(v.d));
	return v;
}

static value
constant_value(const gs_steps *steps, uint32_t offset, bool real)
{
	value v = {.real = real};

	memcpy(&v.i, (const char *) steps + offset, sizeof(v.i));
	memcpy(&v.d, (const char *) steps + offset, sizeof(v.d));
	return v;
}

bool
term_holds(const gs_steps *steps, const gs_term *t, value v)
{
	bool found = false;
	int sign;

	if (t->test == GS_TEST_IS_NULL || v.null)
		return t->test == GS_TEST_IS_NULL && v.null;
	if (t->test == GS_TEST_NOT_NULL || t->test == GS_TEST_NEVER)
		return t->test == GS_TEST_NOT_NULL;
	if (t->test == GS_TEST_IN)
	{
		for (uint32_t i = 0; i < t->nconstants; i++)
			found |= compare_values(v, constant_value(steps, t->constants + 16 * i, v.real)) == 0;
		return found;
	}
	if (t->test == GS_TEST_IN_BITS)
		return v.i >= 0 && v.i < (wide) t->nconstants * 128 &&
			   ((const uint8_t *) steps)[t->constants + v.i / 8] >> (v.i % 8) & 1;
	sign = compare_values(v, constant_value(steps, t->constants, v.real));
	switch (t->test)
	{
		case GS_TEST_EQ: return sign == 0;
		case GS_TEST_NE: return sign != 0;
		case GS_TEST_LT: return sign < 0;
		case GS_TEST_LE: return sign <= 0;
		case GS_TEST_GT: return sign > 0;
		case GS_TEST_GE: return sign >= 0;
		default: return sign >= 0 && compare_values(v, constant_value(steps, t->constants + 16, v.real)) <= 0;
	}
}

/* Whether a row passes a term that compares columns. */
static bool
columns_hold(const gs_steps *steps, const gs_term *t, const plain_segment *s, uint32_t row)
{
	value a = column_value(steps, s, t->column, row), b = column_value(steps, s, t->constants, row);
	bool distinct = a.null != b.null;
	int sign = 0;

	if (!a.null && !b.null)
		sign = compare_values(a, b);
	if (t->test == GS_TEST_DISTINCT_COLUMN || t->test == GS_TEST_SAME_COLUMN)
		return (distinct || sign != 0) == (t->test == GS_TEST_DISTINCT_COLUMN);
	if (a.null || b.null)
		return false;
	switch (t->test)
	{
		case GS_TEST_EQ_COLUMN: return sign == 0;
		case GS_TEST_NE_COLUMN: return sign != 0;
		case GS_TEST_LT_COLUMN: return sign < 0;
		case GS_TEST_LE_COLUMN: return sign <= 0;
		case GS_TEST_GT_COLUMN: return sign > 0;
		default: return sign >= 0;
	}
}

bool
terms_hold(const gs_steps *steps, const gs_term *terms, uint32_t n, const plain_segment *s, uint32_t row)
{
	for (uint32_t t = 0; t < n; t++)
		if (terms[t].test >= GS_TEST_EQ_COLUMN
				? !columns_hold(steps, &terms[t], s, row)
				: !term_holds(steps, &terms[t], column_value(steps, s, terms[t].column, row)))
			return false;
	return true;
}

/* True if a number's range has a value: 2^(bits - 1) on each side. */
static bool
in_range(uint8_t number, wide v)
{
	static const int bits[] = {16, 32, 64};

	return number == GS_NUMBER_I128 || (v >= -((wide) 1 << (bits[number] - 1)) && v < (wide) 1 << (bits[number] - 1));
}

static wide
rounded_down(wide x, wide divisor)
{
	return x / divisor - (x % divisor < 0);
}

static int
days_of_year(wide year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 366 : 365;
}

/* A part of a date, found year by year and month by month from the beginning of 400 years on. */
static wide
part_of_date(uint8_t code, wide days)
{
	static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	wide year = 2000 + 400 * rounded_down(days, 146097);
	int left = (int) (days - 146097 * rounded_down(days, 146097)), month = 0;

	for (; left >= days_of_year(year); year++)
		left -= days_of_year(year);
	if (code == GS_CODE_DAY_OF_YEAR)
		return left + 1;
	if (code == GS_CODE_YEAR)
		return year > 0 ? year : year - 1;
	for (int days_of_month; left >= (days_of_month = lengths[month] + (month == 1 && days_of_year(year) == 366));)
	{
		left -= days_of_month;
		month++;
	}
	return code == GS_CODE_MONTH ? month + 1 : left + 1;
}

/* Carries out an instruction of one value.  Returns false if it is outside of what WITHIN says. */
static bool
single(const gs_steps *steps, const gs_instruction *in, wide *x)
{
	wide operand = constant_value(steps, in->operand, false).i;

	if (in->code == GS_CODE_WITHIN)
		return *x >= operand && *x <= constant_value(steps, in->operand + 16, false).i;
	if (in->code == GS_CODE_QUOTIENT)
		*x = rounded_down(*x, operand);
	else if (in->code == GS_CODE_REMAINDER)
		*x -= operand * rounded_down(*x, operand);
	else
		*x = part_of_date(in->code, *x);
	return true;
}

bool
expression(const gs_steps *steps, const gs_aggregate *a, const plain_segment *s, uint32_t row, value *out)
{
	const gs_instruction *code = (const gs_instruction *) ((const char *) steps + a->code);
	value stack[GS_STEPS_MAX_DEPTH];
	bool null = false;
	int n = 0;

	for (uint32_t i = 0; i < a->ncode; i++)
		null |= code[i].code == GS_CODE_COLUMN && column_value(steps, s, code[i].operand, row).null;
	*out = (value){.null = null};
	for (uint32_t i = 0; i < a->ncode && !null; i++)
	{
		bool over = false;

		if (code[i].code == GS_CODE_COLUMN)
			stack[n++] = column_value(steps, s, code[i].operand, row);
		else if (code[i].code == GS_CODE_CONSTANT)
			stack[n++] = constant_value(steps, code[i].operand, code[i].result == GS_NUMBER_F64);
		else if (code[i].code >= GS_CODE_QUOTIENT)
		{
			if (!single(steps, &code[i], &stack[n - 1].i) || !in_range(code[i].result, stack[n - 1].i))
				return false;
		}
		else
		{
			wide x = stack[n - 2].i, y = stack[n - 1].i, *r = &stack[--n - 1].i;

			over = code[i].code == GS_CODE_ADD		  ? __builtin_add_overflow(x, y, r)
				   : code[i].code == GS_CODE_SUBTRACT ? __builtin_sub_overflow(x, y, r)
													  : __builtin_mul_overflow(x, y, r);
			if (over || !in_range(code[i].result, *r))
				return false;
		}
		*out = stack[0];
	}
	return true;
}

/* The value of the first choice that a row passes. */
static value
chosen(const gs_steps *steps, const gs_computed *c, const plain_segment *s, uint32_t row)
{
	const gs_choice *choice = (const gs_choice *) ((const char *) steps + c->code), *end = choice + c->nchoices;

	for (; choice < end; choice++)
		if (terms_hold(steps, (const gs_term *) ((const char *) steps + choice->terms), choice->nterms, s, row))
		{
			if (choice->value.code == GS_CODE_COLUMN)
				return column_value(steps, s, choice->value.operand, row);
			if (choice->value.operand != 0)
				return constant_value(steps, choice->value.operand, false);
			break;
		}
	return (value){.null = true};
}

bool
computed_value(const gs_steps *steps, const gs_computed *c, const plain_segment *s, uint32_t row, value *out)
{
	const gs_aggregate a = {.code = c->code, .ncode = c->ncode};

	if (c->nchoices == 0)
		return expression(steps, &a, s, row, out);
	*out = chosen(steps, c, s, row);
	return true;
}

void
take(gs_operation operation, expected *e, value v)
{
	unsigned __int128 size = v.i < 0 ? -(unsigned __int128) v.i : (unsigned __int128) v.i;
	value old = {.real = v.real, .i = e->integer, .d = e->real};
	int sign = e->count == 0 ? 0 : compare_values(v, old);

	e->real_numbers = v.real;
	e->plus |= v.d == 0 && !signbit(v.d);
	e->minus |= v.d == 0 && signbit(v.d);
	if (operation == GS_SUM && v.real)
	{
		e->real += v.d;
		e->magnitude += fabs(v.d);
	}
	else if (operation == GS_SUM)
	{
		e->far |= size > ((unsigned __int128) 1 << 127) - 1 - e->distance;
		e->distance += size;
		e->integer = (wide) ((unsigned __int128) e->integer + (unsigned __int128) v.i);
	}
	else if (e->count == 0 || (operation == GS_MIN ? sign < 0 : sign > 0))
	{
		e->integer = v.i;
		e->real = v.d;
	}
	e->count++;
}

bool
reference_rows(const gs_steps *steps, const plain_segment *s, uint32_t first, uint32_t rows, expected *out)
{
	const char *base = (const char *) steps, *at = base + steps->first;
	const gs_filter_step *filter = steps->nsteps == 2 ? (const gs_filter_step *) at : NULL;
	const gs_group_step *group = (const gs_group_step *) (at + (filter != NULL ? filter->step.bytes : 0));

	for (uint32_t r = first; r < first + rows; r++)
	{
		bool passes = true;

		for (uint32_t t = 0; filter != NULL && t < filter->nterms; t++)
			passes &= term_holds(steps, &filter->terms[t], column_value(steps, s, filter->terms[t].column, r));
		for (uint32_t i = 0; passes && i < group->naggregates; i++)
		{
			const gs_aggregate *a = &group->aggregates[i];
			value v;

			if (a->ncode == 0)
				out[i].count++;
			else if (!expression(steps, a, s, r, &v))
				return false;
			else if (!v.null)
				take((gs_operation) a->operation, &out[i], v);
		}
	}
	return true;
}

bool
reference_agrees(gs_operation operation, const expected *e, const gs_reduced *r)
{
	bool zeros = e->real_numbers && operation != GS_COUNT && operation != GS_SUM && e->real == 0 && e->plus && e->minus;
	double d;

	if (r->count != e->count || r->zero != 0 || r->flags != (zeros ? GS_REDUCED_ZEROS : 0))
		return false;
	if (operation == GS_COUNT || e->count == 0)
		return r->value[0] == 0 && r->value[1] == 0;
	if (!e->real_numbers)
		return ((unsigned __int128) r->value[1] << 64 | r->value[0]) == (unsigned __int128) e->integer;
	memcpy(&d, &r->value[0], sizeof(d));
	if (r->value[1] != 0)
		return false;
	if (operation != GS_SUM)
		return compare_doubles(d, e->real) == 0 && (d != 0 || zeros || !signbit(d) == e->plus);
	if (!isfinite(e->real))
		return compare_doubles(d, e->real) == 0;
	return fabs(d - e->real) <= 1e-12 * e->magnitude;
}
