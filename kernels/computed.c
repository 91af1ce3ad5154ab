/*
 * computed.c: lists of steps with COMPUTE, what engines share: the list of the steps behind it, and the ranges of the
 * columns that it gives.
 */
#include "common/steps_computed.h"
#include "groups.h"

/* Integers from low to high; none: low > high. */
typedef struct interval
{
	gs_wide low, high;
} interval;

/* Returns what of an interval a number holds: other values make the answer GS_OVERFLOW. */
static interval
within(interval x, gs_wide least, gs_wide greatest)
{
	return (interval){x.low < least ? least : x.low, x.high > greatest ? greatest : x.high};
}

/* Returns the products of two intervals' values.  Factors have at most 64 bits. */
static interval
product(interval a, interval b)
{
	gs_wide corners[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
	interval all = {corners[0], corners[0]};

	for (int i = 1; i < 4; i++)
	{
		all.low = corners[i] < all.low ? corners[i] : all.low;
		all.high = corners[i] > all.high ? corners[i] : all.high;
	}
	return all;
}

/* Returns the results of an instruction that takes two values. */
static interval
of_two(uint32_t code, interval a, interval b)
{
	if (a.low > a.high || b.low > b.high)
		return (interval){1, 0};
	switch (code)
	{
		case GS_CODE_ADD:
			return (interval){a.low + b.low, a.high + b.high};
		case GS_CODE_SUBTRACT:
			return (interval){a.low - b.high, a.high - b.low};
		default: /* GS_CODE_MULTIPLY */
			return product(a, b);
	}
}

/* Returns the results of one that takes one value. */
static interval
of_one(const gs_steps *steps, gs_instruction in, interval x)
{
	const gs_constant *constant = gs_steps_at(steps, in.operand);
	int64_t low = (int64_t) x.low, high = (int64_t) x.high, operand = (int64_t) constant->half[0];

	if (x.low > x.high)
		return x;
	switch (in.code)
	{
		case GS_CODE_QUOTIENT:
			return (interval){gs_quotient(low, operand), gs_quotient(high, operand)};
		case GS_CODE_REMAINDER:
			return (interval){0, operand - 1};
		case GS_CODE_WITHIN:
			return within(x, operand, (int64_t) constant[1].half[0]);
		case GS_CODE_YEAR:
			return (interval){gs_part_of_date(in.code, low), gs_part_of_date(in.code, high)};
		case GS_CODE_MONTH:
			return (interval){1, 12};
		case GS_CODE_DAY:
			return (interval){1, 31};
		default: /* GS_CODE_DAY_OF_YEAR */
			return (interval){1, 366};
	}
}

/* Returns the values of a column. */
static interval
interval_of(const gs_range *column)
{
	return (interval){gs_constant_scalar(&column->low, false).integer,
					  gs_constant_scalar(&column->high, false).integer};
}

/* Returns the interval that holds two of them. */
static interval
both(interval a, interval b)
{
	if (a.low > a.high || b.low > b.high)
		return a.low > a.high ? b : a;
	return (interval){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

/* Returns an interval as a range. */
static gs_range
range_from(interval x, bool nulls)
{
	const gs_unsigned_wide low = (gs_unsigned_wide) x.low, high = (gs_unsigned_wide) x.high;

	return (gs_range){.low = {{(uint64_t) low, (uint64_t) (low >> 64)}},
					  .high = {{(uint64_t) high, (uint64_t) (high >> 64)}},
					  .nulls = nulls};
}

/*
 * Returns the range of an expression's values; columns: those of the source.  *safe becomes false if some may
 * overflow.
 */
static gs_range
range_of(const gs_steps *steps, const gs_instruction *code, uint32_t ncode, const gs_range *columns, bool *safe)
{
	interval stack[GS_STEPS_MAX_DEPTH], all, taken = {1, 0};
	uint32_t depth = 0;
	bool nulls = false;

	for (uint32_t i = 0; i < ncode; i++)
	{
		const gs_instruction in = code[i];

		if (in.code == GS_CODE_COLUMN)
		{
			nulls |= columns[in.operand].nulls;
			stack[depth++] = interval_of(&columns[in.operand]);
		}
		else if (in.code == GS_CODE_CONSTANT)
		{
			gs_wide x = gs_constant_scalar(gs_steps_at(steps, in.operand), false).integer;

			stack[depth++] = (interval){x, x};
		}
		else if (in.code >= GS_CODE_QUOTIENT)
		{
			taken = stack[depth - 1];
			stack[depth - 1] = of_one(steps, in, taken);
		}
		else
		{
			depth--;
			stack[depth - 1] = of_two(in.code, stack[depth - 1], stack[depth]);
		}
		all = stack[depth - 1];
		if (in.code == GS_CODE_WITHIN)
			all = taken;
		stack[depth - 1] = within(stack[depth - 1], gs_number_least((gs_number) in.result),
								  gs_number_greatest((gs_number) in.result));
		*safe &= all.low >= stack[depth - 1].low && all.high <= stack[depth - 1].high;
	}
	return range_from(stack[0], nulls);
}

/* Returns the range of a column of choices. */
static gs_range
range_of_choices(const gs_steps *steps, const gs_computed *c, const gs_range *columns)
{
	const gs_choice *choices = gs_steps_at(steps, c->code);
	interval all = {1, 0};
	bool nulls = choices[c->nchoices - 1].nterms > 0;

	for (uint32_t i = 0; i < c->nchoices; i++)
	{
		const gs_instruction value = choices[i].value;
		interval x = {1, 0};

		if (value.code == GS_CODE_COLUMN)
		{
			nulls |= columns[value.operand].nulls;
			x = interval_of(&columns[value.operand]);
		}
		else if (value.operand == 0)
			nulls = true;
		else
			x.low = x.high = gs_constant_scalar(gs_steps_at(steps, value.operand), false).integer;
		all = both(all, x);
	}
	return range_from(all, nulls);
}

gs_status
gs_computed_after(const gs_host *host, const gs_groups *head, gs_range *ranges, gs_steps **made, uint64_t *needed)
{
	const gs_steps *steps = head->steps;
	const gs_compute_step *c = gs_steps_compute(steps);
	gs_steps *after = (gs_steps *) host->alloc(host->arg, steps->bytes);

	if (after == NULL)
		return GS_NOMEM;
	memcpy(after, steps, steps->bytes);
	memcpy(ranges, head->ranges, steps->ncolumns * sizeof(*ranges));
	*needed = 0;
	for (uint32_t i = 0; i < c->ncolumns; i++)
	{
		const gs_computed *column = &c->columns[i];
		bool safe = true;

		ranges[steps->ncolumns + i] = column->nchoices > 0
			? range_of_choices(steps, column, head->ranges)
			: range_of(steps, gs_steps_at(steps, column->code), column->ncode, head->ranges, &safe);
		*needed |= (uint64_t) !safe << i;
	}
	/* offsets count from the header, so that steps can stay where they are */
	after->ncolumns += c->ncolumns;
	after->ngiven -= c->ncolumns;
	after->nsteps--;
	after->first += c->step.bytes;
	*needed |= gs_steps_columns(after, (const gs_step *) gs_steps_at(after, after->first)) >> steps->ncolumns;
	*made = after;
	return GS_OK;
}
