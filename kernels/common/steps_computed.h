/*
 * steps_computed.h: columns of COMPUTE (gs_steps.h) row by row: expressions, with instructions that take one value
 * (division by a constant, the parts of dates), and choices.
 */
#ifndef GS_COMMON_STEPS_COMPUTED_H
#define GS_COMMON_STEPS_COMPUTED_H

#include "steps_row.h"

/* A date, whose year begins with March, so that its last day may be a leap year's. */
typedef struct gs_march_date
{
	int64_t year;
	uint32_t day; /* of that year, from 0 */
	bool leap;	  /* the calendar year of its March has 366 days */
} gs_march_date;

#define GS_DAYS_OF_ERA	146097 /* 400 years */
#define GS_MARCH_2000	60	   /* 2000-03-01, in days since 2000-01-01 */
#define GS_MARCH_TO_NEW_YEAR 306

/* Divides by a number greater than 0.  Rounds down. */
GS_BOTH int64_t
gs_quotient(int64_t x, int64_t divisor)
{
	const int64_t q = x / divisor;

	return q - (x % divisor < 0);
}

/* Returns a day's date. */
GS_BOTH gs_march_date
gs_march_date_of(int64_t days)
{
	/* no date comes near the ends of 64 bits: their difference is that of unsigned numbers */
	const int64_t since = (int64_t) ((uint64_t) days - GS_MARCH_2000), era = gs_quotient(since, GS_DAYS_OF_ERA);
	const uint32_t day = (uint32_t) (since - era * GS_DAYS_OF_ERA);
	const uint32_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	gs_march_date d;

	d.year = 2000 + era * 400 + year;
	d.day = day - (365 * year + year / 4 - year / 100);
	d.leap = year % 4 == 0 && (year % 100 != 0 || year == 0);
	return d;
}

/* Returns what an instruction finds in a date. */
GS_BOTH int64_t
gs_part_of_date(uint32_t code, int64_t days)
{
	const gs_march_date d = gs_march_date_of(days);
	const uint32_t month = (5 * d.day + 2) / 153; /* from March, 0 */
	int64_t year;

	switch (code)
	{
		case GS_CODE_YEAR:
			year = d.year + (d.day >= GS_MARCH_TO_NEW_YEAR);
			return year > 0 ? year : year - 1;
		case GS_CODE_MONTH:
			return month < 10 ? month + 3 : month - 9;
		case GS_CODE_DAY:
			return d.day - (153 * month + 2) / 5 + 1;
		default: /* GS_CODE_DAY_OF_YEAR */
			return d.day >= GS_MARCH_TO_NEW_YEAR ? d.day - GS_MARCH_TO_NEW_YEAR + 1 : d.day + 60 + d.leap;
	}
}

/* Computes an instruction of one value.  Returns false if its result leaves the range. */
GS_BOTH bool
gs_compute_single(const gs_steps *steps, gs_instruction in, int64_t *x)
{
	const gs_constant *constant = (const gs_constant *) gs_steps_at(steps, in.operand);
	const int64_t operand = (int64_t) constant->half[0];

	if (in.code == GS_CODE_QUOTIENT)
		*x = gs_quotient(*x, operand);
	else if (in.code == GS_CODE_REMAINDER)
		*x -= gs_quotient(*x, operand) * operand;
	else if (in.code != GS_CODE_WITHIN)
		*x = gs_part_of_date(in.code, *x);
	else if (*x < operand || *x > (int64_t) constant[1].half[0])
		return false;
	return gs_number_holds((gs_number) in.result, *x);
}

/* Returns what an instruction pushes: a column's value in a row, or a constant. */
GS_BOTH int64_t
gs_pushed_value(const gs_steps *steps, gs_instruction in, const gs_held *columns, uint64_t row)
{
	if (in.code == GS_CODE_COLUMN)
		return (int64_t) gs_column_scalar((gs_type) steps->types[in.operand], columns[in.operand].values, row).integer;
	return (int64_t) ((const gs_constant *) gs_steps_at(steps, in.operand))->half[0];
}

/* Computes an expression in a row in which none of its columns is NULL.  Returns false on overflow. */
GS_BOTH bool
gs_computed_value(const gs_steps *steps, const gs_instruction *code, uint32_t ncode, const gs_held *columns,
				  uint64_t row, int64_t *out)
{
	int64_t stack[GS_STEPS_MAX_DEPTH];
	uint32_t depth = 0;

	for (uint32_t i = 0; i < ncode; i++)
	{
		const gs_instruction in = code[i];
		gs_wide result;

		if (in.code <= GS_CODE_CONSTANT)
			stack[depth++] = gs_pushed_value(steps, in, columns, row);
		else if (in.code >= GS_CODE_QUOTIENT)
		{
			if (!gs_compute_single(steps, in, &stack[depth - 1]))
				return false;
		}
		else
		{
			depth--;
			if (!gs_compute((gs_code) in.code, (gs_number) in.result, stack[depth - 1], stack[depth], &result))
				return false;
			stack[depth - 1] = (int64_t) result;
		}
	}
	*out = stack[0];
	return true;
}

/* Finds the value of a column of choices in a row.  Returns false if it is NULL. */
GS_BOTH bool
gs_chosen_value(const gs_steps *steps, const gs_computed *column, const gs_held *columns, uint64_t row, int64_t *out)
{
	const gs_choice *choice = (const gs_choice *) gs_steps_at(steps, column->code);
	const gs_choice *end = choice + column->nchoices;
	uint32_t t;

	for (; choice < end; choice++)
	{
		const gs_term *terms = (const gs_term *) gs_steps_at(steps, choice->terms);
		const gs_instruction *value = &choice->value;

		for (t = 0; t < choice->nterms && gs_term_passes(steps, &terms[t], columns, row); t++)
			;
		if (t < choice->nterms)
			continue;
		if (value->code == GS_CODE_COLUMN ? gs_held_null(&columns[value->operand], row) : value->operand == 0)
			return false;
		*out = gs_pushed_value(steps, *value, columns, row);
		return true;
	}
	return false;
}

#endif
