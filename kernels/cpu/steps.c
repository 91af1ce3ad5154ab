/*
 * steps.c: lists of steps over columns in segments, block by block: the mask of the rows that pass, then for each
 * expression the rows of which no column is NULL, packed, its values, and all aggregates of these.
 */
#include "steps.h"

void
gs_block_pack(const gs_steps_plan *plan, gs_type type, const char *from, const uint64_t *mask, uint32_t n, char *to)
{
	size_t width = gs_width_of(type);

	for (uint32_t w = 0; w * 64 < n; w++)
	{
		uint64_t bits = mask[w];

		if (bits == 0)
			continue;
		if (width <= 8 && (w + 1) * 64 <= n)
			to += width * plan->select->pack[gs_log_width(type)](to, from + w * 64 * width, bits);
		else
			for (; bits != 0; bits &= bits - 1, to += width)
				memcpy(to, from + (w * 64 + (uint32_t) __builtin_ctzll(bits)) * width, width);
	}
}

uint32_t
gs_block_valid(const gs_rows_block *b, uint64_t columns, uint64_t *own, const uint64_t **mask)
{
	uint32_t words = (b->n + 63) / 64, found = 0;
	bool nulls = false;

	*mask = b->mask;
	for (; columns != 0; columns &= columns - 1)
	{
		const gs_held *column = &b->columns[__builtin_ctzll(columns)];

		if (column->nulls == NULL)
			continue;
		for (uint32_t w = 0; w < words; w++)
		{
			uint32_t some = b->n - w * 64 < 64 ? b->n - w * 64 : 64;
			uint64_t before = nulls ? own[w] : b->mask != NULL ? b->mask[w] : gs_mask(some);

			own[w] = before & ~gs_null_bits(column->nulls, b->first + w * 64, some);
		}
		nulls = true;
	}
	if (!nulls)
		return b->passed;
	for (uint32_t w = 0; w < words; w++)
		found += (uint32_t) __builtin_popcountll(own[w]);
	*mask = found == b->n ? NULL : own;
	return found;
}

void
gs_block_gather(gs_steps_plan *plan, gs_rows_block *b, uint64_t columns, const uint64_t *mask, const void **at)
{
	for (; columns != 0; columns &= columns - 1)
	{
		uint32_t c = (uint32_t) __builtin_ctzll(columns);
		gs_type type = (gs_type) plan->steps->types[c];

		at[c] = (const char *) b->columns[c].values + b->first * gs_width_of(type);
		if (mask == NULL)
			continue;
		if (mask != b->mask || !(b->packed >> c & 1))
			gs_block_pack(plan, type, at[c], mask, b->n, plan->packed[c]);
		b->packed &= ~((uint64_t) 1 << c);
		b->packed |= (uint64_t) (mask == b->mask) << c;
		at[c] = plan->packed[c];
	}
}

/* Sums up integers of 128 bits.  Returns false if the sum leaves them. */
static bool
sum_wide(const gs_held_wide *values, uint32_t n, gs_wide *sum)
{
	bool bad = false;

	for (uint32_t i = 0; i < n; i++)
		bad |= __builtin_add_overflow(*sum, values[i], sum);
	return !bad;
}

/* Returns the least or greatest of them. */
static gs_wide
extreme_wide(const gs_held_wide *values, uint32_t n, bool greatest)
{
	gs_wide most = values[0];

	for (uint32_t i = 1; i < n; i++)
		most = (greatest ? values[i] > most : values[i] < most) ? values[i] : most;
	return most;
}

/* Reduces doubles. */
static gs_reduced
reduce_reals(const gs_steps_plan *plan, gs_operation operation, const void *values, uint32_t n)
{
	gs_scalar v = {0, 0};
	uint32_t zeros = 0;
	gs_reduced r;

	if (operation == GS_SUM)
		v.real = plan->reduce->sum_real(values, n);
	else
	{
		uint64_t order = plan->reduce->extreme_real(values, n, operation == GS_MAX, &zeros);

		/* a zero without its sign was not looked at: see gs_float_order64 */
		v.real = gs_bits_real(order >> 63 ? order ^ (uint64_t) 1 << 63 : ~order);
	}
	r = gs_reduced_one(operation, GS_NUMBER_F64, v);
	if (zeros == 3 && r.value[0] << 1 == 0)
		r.flags = GS_REDUCED_ZEROS;
	return r;
}

/* Reduces the values of a block.  Returns false if a sum leaves 128 bits. */
static bool
reduce_values(const gs_steps_plan *plan, gs_operation operation, const gs_values_of_block *v, uint32_t n, gs_reduced *r)
{
	bool wide = v->type == GS_U128, greatest = operation == GS_MAX, good = true;
	gs_scalar value = {0, 0};

	if (v->type == GS_F64)
		*r = reduce_reals(plan, operation, v->values, n);
	else
	{
		if (operation == GS_SUM && wide)
			good = sum_wide(v->values, n, &value.integer);
		else if (operation == GS_SUM)
			value.integer = plan->reduce->sum(v->type, v->values, n);
		else if (wide)
			value.integer = extreme_wide(v->values, n, greatest);
		else
			value.integer = plan->reduce->extreme(v->type, v->values, n, greatest);
		*r = gs_reduced_one(operation, v->number, value);
	}
	r->count = n;
	return good;
}

/* Adds n values of an expression to its aggregates. */
static gs_status
reduce_aggregates(const gs_steps_plan *plan, uint32_t e, const gs_values_of_block *v, uint32_t n, gs_reduced *out)
{
	const gs_group_step *group = plan->group;

	for (uint32_t i = 0; i < group->naggregates; i++)
	{
		gs_operation operation = (gs_operation) group->aggregates[i].operation;
		gs_reduced some = gs_reduced_none();

		if (plan->expression_of[i] != e)
			continue;
		if (operation == GS_COUNT)
			some.count = n;
		else if (!reduce_values(plan, operation, v, n, &some))
			return GS_OVERFLOW;
		if (!gs_reduced_merge(operation, plan->expressions[e].number, &out[i], &some))
			return GS_OVERFLOW;
	}
	return GS_OK;
}

/* Adds the values of an expression. */
static gs_status
reduce_expression(gs_steps_plan *plan, uint32_t e, gs_rows_block *b, gs_reduced *out)
{
	const gs_expression_plan *expression = &plan->expressions[e];
	const void *columns[GS_STEPS_MAX_COLUMNS];
	uint64_t own[GS_STEP_WORDS];
	const uint64_t *mask;
	gs_values_of_block v = {GS_I64, GS_NUMBER_I64, NULL};
	uint32_t n = gs_block_valid(b, expression->columns, own, &mask);

	if (n == 0)
		return GS_OK;
	if (expression->computed)
	{
		gs_block_gather(plan, b, expression->columns, mask, columns);
		if (plan->plain || (expression->ncode == 1 && expression->code[0].code == GS_CODE_COLUMN &&
							plan->steps->types[expression->code[0].operand] != GS_F32))
		{
			uint32_t c = expression->code[0].operand;

			v = (gs_values_of_block){(gs_type) plan->steps->types[c], expression->number, columns[c]};
		}
		else if (!gs_steps_values(plan, expression, columns, n, &v))
			return GS_OVERFLOW;
	}
	return reduce_aggregates(plan, e, &v, n, out);
}

/* Adds a block's rows. */
static gs_status
reduce_block(gs_steps_plan *plan, gs_rows_block *b, gs_reduced *out)
{
	uint64_t mask[GS_STEP_WORDS];

	b->passed = b->n;
	if (plan->nterms > 0)
	{
		b->passed = gs_steps_mask(plan, plan->terms, plan->nterms, b->columns, b->first, b->n, mask);
		b->mask = b->passed == b->n ? NULL : mask;
	}
	for (uint32_t i = 0; i < plan->group->naggregates; i++)
		if (plan->expression_of[i] == GS_NO_EXPRESSION)
			out[i].count += b->passed;
	for (uint32_t e = 0; e < plan->nexpressions && b->passed > 0; e++)
		GS_TRY(reduce_expression(plan, e, b, out));
	return GS_OK;
}

/* Returns true if no column of the aggregates has NULLs in a segment. */
static bool
without_nulls(const gs_steps_plan *plan, const gs_held *columns)
{
	for (uint32_t c = 0; c < plan->steps->ncolumns; c++)
		if (plan->packed[c] != NULL && columns[c].nulls != NULL)
			return false;
	return true;
}

/* Adds a span's rows. */
static gs_status
reduce_span(gs_steps_plan *plan, gs_work *work, const gs_span *span, const gs_held *columns, gs_reduced *out)
{
	uint32_t most = plan->plain && without_nulls(plan, columns) ? GS_PLAIN_ROWS : GS_STEP_ROWS;

	for (uint32_t done = 0; done < span->rows; done += most)
	{
		uint32_t n = span->rows - done < most ? span->rows - done : most;
		gs_rows_block b = {.columns = columns, .first = (uint64_t) span->first + done, .n = n};

		GS_TRY(reduce_block(plan, &b, out));
		GS_TRY(gs_work_add(work, (uint64_t) n * (plan->nterms + plan->group->naggregates)));
	}
	return GS_OK;
}

/* Implements gs_reduce_rows. */
gs_status
gs_cpu_reduce_rows(gs_engine *engine, const gs_held_rows *rows, const gs_steps *steps, gs_reduced *out, void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	gs_steps_plan plan;

	(void) gs_steps_plan_make(&plan, steps, temp);
	plan.loops = cpu->loops;
	plan.select = gs_select_loops_choose(cpu);
	plan.reduce = gs_step_loops_choose(cpu->tuning.vector);
	for (uint32_t i = 0; i < plan.group->naggregates; i++)
		out[i] = gs_reduced_none();
	for (uint64_t i = 0; i < rows->nspans; i++)
	{
		const gs_span *span = &rows->spans[i];

		GS_TRY(reduce_span(&plan, &cpu->work, span, &rows->columns[(uint64_t) span->segment * rows->ncolumns], out));
	}
	return GS_OK;
}

/* Implements gs_reduce_temp_bytes: the memory depends on the list alone. */
size_t
gs_cpu_reduce_rows_temp_bytes(const gs_engine *engine, const gs_held_rows *rows, const gs_steps *steps)
{
	gs_steps_plan plan;

	(void) engine;
	(void) rows;
	return gs_steps_plan_make(&plan, steps, NULL);
}
