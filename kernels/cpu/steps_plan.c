/*
 * steps_plan.c: the plan of a list of steps: each test as ranges of keys, each expression once, memory for a block.
 */
#include "../groups.h"
#include "steps.h"

#define TOP_BIT ((uint64_t) 1 << 63)

/* Memory that is handed out piece by piece, or only counted. */
typedef struct arena
{
	char *memory;
	size_t used;
} arena;

/* Hands out the next piece. */
static void *
take(arena *a, size_t bytes)
{
	size_t at = a->used;

	a->used += (bytes + GS_ALIGN - 1) & ~(size_t) (GS_ALIGN - 1);
	return a->memory != NULL ? a->memory + at : NULL;
}

/* An interval of codes (gs_scalar_code). */
typedef struct interval
{
	gs_wide low, high;
} interval;

/* Returns the codes that a column's type has. */
static interval
codes_of(gs_type type)
{
	switch (type)
	{
		case GS_U8:
		case GS_U16:
		case GS_U32:
		case GS_U64:
			return (interval){0, (gs_wide) gs_mask(8 * gs_width_of(type))};
		case GS_F32:
		case GS_F64:
			return (interval){0, UINT64_MAX};
		default:
			return (interval){gs_number_least(gs_number_of(type)), gs_number_greatest(gs_number_of(type))};
	}
}

/* Returns the interval of a test with a constant, within those codes.  NE: the one that is outside. */
static interval
interval_of(gs_test test, gs_wide c, gs_wide second, interval all)
{
	switch (test)
	{
		case GS_TEST_LT:
			return (interval){all.low, c > all.low ? c - 1 : all.low - 1};
		case GS_TEST_LE:
			return (interval){all.low, c};
		case GS_TEST_GT:
			return (interval){c < all.high ? c + 1 : all.high + 1, all.high};
		case GS_TEST_GE:
			return (interval){c, all.high};
		case GS_TEST_BETWEEN:
			return (interval){c, second};
		default:
			return (interval){c, c};
	}
}

/* Returns the key of a code. */
static int64_t
key_of(gs_type type, gs_wide code)
{
	return (int64_t) ((uint64_t) code ^ (type == GS_U64 || gs_type_is_float(type) ? TOP_BIT : 0));
}

/* Appends the part of an interval that the type has to a term's ranges, or to the last one. */
static void
add_range(gs_term_plan *t, interval in, interval all)
{
	gs_key_range *last = t->nranges > 0 ? t->ranges + t->nranges - 1 : NULL;
	int64_t low, high;

	in.low = in.low > all.low ? in.low : all.low;
	in.high = in.high < all.high ? in.high : all.high;
	if (in.low > in.high)
		return;
	low = key_of(t->type, in.low);
	high = key_of(t->type, in.high);
	if (last != NULL && (uint64_t) low - (uint64_t) last->low <= last->span)
		return; /* the same constant again */
	if (last != NULL && (uint64_t) low - (uint64_t) last->low == last->span + 1)
		last->span = (uint64_t) high - (uint64_t) last->low;
	else
		t->ranges[t->nranges++] = (gs_key_range){low, (uint64_t) high - (uint64_t) low};
}

/* Turns a test with constants into ranges. */
static void
make_ranges(gs_term_plan *t, const gs_steps *steps)
{
	const gs_term *term = t->term;
	const gs_constant *constants = gs_steps_at(steps, term->constants);
	bool real = gs_type_is_float(t->type);
	interval all = codes_of(t->type);
	uint32_t n = term->test == GS_TEST_BETWEEN ? 1 : term->nconstants;

	for (uint32_t i = 0; i < n; i++)
	{
		gs_wide c = gs_scalar_code(gs_constant_scalar(&constants[i], real), real);
		gs_wide second = n < term->nconstants ? gs_scalar_code(gs_constant_scalar(&constants[1], real), real) : c;

		add_range(t, interval_of((gs_test) term->test, c, second, all), all);
	}
	t->outside = term->test == GS_TEST_NE;
	t->kind = t->nranges > 0 ? GS_TERM_RANGES : t->outside ? GS_TERM_ALL : GS_TERM_NONE;
}

/* Returns true if the keys of two columns' values compare as these: doubles, a type with itself, and up to 64 bits. */
static bool
keys_compare(gs_type a, gs_type b)
{
	if (a == GS_U128 || b == GS_U128)
		return false;
	return a == b || gs_type_is_float(a) || (a != GS_U64 && b != GS_U64);
}

/* Makes a term's plan, whose ranges begin at a place that has room for all. */
static void
plan_term(gs_term_plan *t, const gs_steps *steps, const gs_term *term, gs_key_range *ranges)
{
	*t = (gs_term_plan){.term = term, .type = (gs_type) steps->types[term->column], .ranges = ranges};
	if (term->test >= GS_TEST_EQ_COLUMN)
	{
		t->kind = keys_compare(t->type, (gs_type) steps->types[term->constants]) ? GS_TERM_COLUMNS : GS_TERM_ROWS;
		return;
	}
	switch (term->test)
	{
		case GS_TEST_IS_NULL:
			t->kind = GS_TERM_NULLS;
			break;
		case GS_TEST_NOT_NULL:
			t->kind = GS_TERM_ALL;
			break;
		case GS_TEST_NEVER:
			t->kind = GS_TERM_NONE;
			break;
		case GS_TEST_IN_BITS:
			t->kind = t->type == GS_U8 || t->type == GS_U16 || t->type == GS_U32 ? GS_TERM_BITS : GS_TERM_ROWS;
			break;
		default:
			if (t->type == GS_U128)
				t->kind = GS_TERM_ROWS;
			else
				make_ranges(t, steps);
	}
}

/* Returns the most ranges that a term is turned into. */
static uint32_t
ranges_of(const gs_term *term)
{
	return term->test == GS_TEST_IN_BITS ? 0 : term->nconstants;
}

/* Plans terms. */
static gs_term_plan *
plan_terms(const gs_steps *steps, const gs_term *terms, uint32_t n, arena *a)
{
	uint32_t constants = 0;
	gs_term_plan *plans;
	gs_key_range *ranges;

	for (uint32_t i = 0; i < n; i++)
		constants += ranges_of(&terms[i]);
	plans = take(a, n * sizeof(gs_term_plan));
	ranges = take(a, constants * sizeof(gs_key_range));
	for (uint32_t i = 0; i < n && a->memory != NULL; i++)
	{
		plan_term(&plans[i], steps, &terms[i], ranges);
		ranges += ranges_of(&terms[i]);
	}
	return plans;
}

/* Plans the terms of the aggregates. */
static void
plan_clauses(gs_steps_plan *plan, arena *a)
{
	const gs_group_step *group = plan->group;

	plan->clauses = take(a, group->naggregates * sizeof(gs_term_plan *));
	for (uint32_t i = 0; i < group->naggregates; i++)
	{
		const gs_aggregate *g = &group->aggregates[i];
		gs_term_plan *clause =
			g->nterms > 0 ? plan_terms(plan->steps, gs_steps_at(plan->steps, g->terms), g->nterms, a) : NULL;

		if (a->memory != NULL)
			plan->clauses[i] = clause;
	}
}

/* Plans the terms of a filter behind COMPUTE, unless some are about computed columns. */
static void
plan_filter_behind(gs_steps_plan *plan, const gs_compute_step *c, arena *a)
{
	const gs_filter_step *filter = (const gs_filter_step *) gs_step_after(&c->step);

	if (filter->step.kind != GS_STEP_FILTER)
		return;
	for (uint32_t i = 0; i < filter->nterms; i++)
		if (!gs_term_of_source(plan->steps, &filter->terms[i]))
			return;
	plan->nterms = filter->nterms;
	plan->terms = plan_terms(plan->steps, filter->terms, filter->nterms, a);
}

/* Plans the terms of the choices of computed columns. */
static void
plan_choices(gs_steps_plan *plan, const gs_compute_step *c, arena *a)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->ncolumns; i++)
		n += c->columns[i].nchoices;
	plan->clauses = take(a, n * sizeof(gs_term_plan *));
	n = 0;
	for (uint32_t i = 0; i < c->ncolumns; i++)
	{
		const gs_choice *choices = gs_steps_at(plan->steps, c->columns[i].code);

		for (uint32_t j = 0; j < c->columns[i].nchoices; j++, n++)
		{
			gs_term_plan *terms = plan_terms(plan->steps, gs_steps_at(plan->steps, choices[j].terms), choices[j].nterms,
											 a);

			if (a->memory != NULL)
				plan->clauses[n] = terms;
		}
	}
}

/* Returns the columns that code takes, and the most values that are on its stack. */
static uint64_t
columns_of(const gs_instruction *code, uint32_t ncode, uint32_t *most)
{
	uint64_t columns = 0;
	uint32_t depth = 0;

	for (uint32_t i = 0; i < ncode; i++)
	{
		if (code[i].code == GS_CODE_COLUMN)
			columns |= (uint64_t) 1 << code[i].operand;
		depth += code[i].code <= GS_CODE_CONSTANT ? 1 : -1u;
		*most = depth > *most ? depth : *most;
	}
	return columns;
}

/* Returns the place of an expression among the plan's, where it is put if it is a new one. */
static uint32_t
expression_index(gs_steps_plan *plan, const gs_aggregate *a)
{
	const gs_instruction *code = gs_steps_at(plan->steps, a->code);
	uint32_t most = 0, i;

	if (a->ncode == 0)
		return GS_NO_EXPRESSION;
	for (i = 0; i < plan->nexpressions; i++)
		if (plan->expressions[i].ncode == a->ncode &&
			memcmp(plan->expressions[i].code, code, a->ncode * sizeof(*code)) == 0)
			break;
	if (i == plan->nexpressions)
		plan->expressions[plan->nexpressions++] =
			(gs_expression_plan){.code = code,
								 .ncode = a->ncode,
								 .number = gs_aggregate_number(plan->steps, a),
								 .columns = columns_of(code, a->ncode, &most),
								 .computed = a->ncode > 1};
	plan->expressions[i].computed |= a->operation != GS_COUNT;
	return i;
}

/* Returns true if code is a column whose values can be reduced where they lie. */
static bool
is_plain(const gs_steps *steps, const gs_instruction *code, uint32_t ncode)
{
	return ncode == 1 && code[0].code == GS_CODE_COLUMN && steps->types[code[0].operand] != GS_F32;
}

/* Takes memory for the values of some columns in a block. */
static void
take_packed(gs_steps_plan *plan, uint64_t columns, arena *a)
{
	for (uint32_t c = 0; c < plan->steps->ncolumns; c++)
		if (columns >> c & 1)
			plan->packed[c] = take(a, GS_STEP_ROWS * gs_width_of((gs_type) plan->steps->types[c]));
}

/* Takes memory for the columns of orders. */
static void
plan_orders(gs_steps_plan *plan, const gs_rows_step *rows, arena *a)
{
	uint64_t columns = 0;

	for (uint32_t i = 0; i < rows->norders; i++)
		columns |= (uint64_t) 1 << rows->orders[i].column;
	take_packed(plan, columns, a);
}

/* Plans the aggregates, and takes memory for what a block of them needs. */
static void
plan_group(gs_steps_plan *plan, arena *a)
{
	const gs_group_step *group = plan->group;
	uint64_t columns = 0;
	uint32_t most = 2; /* a column that is widened */

	plan->expressions = take(a, group->naggregates * sizeof(gs_expression_plan));
	plan->expression_of = take(a, group->naggregates * sizeof(uint32_t));
	plan->plain = plan->nterms == 0;
	for (uint32_t i = 0; i < group->naggregates; i++)
	{
		const gs_aggregate *g = &group->aggregates[i];
		const gs_instruction *code = gs_steps_at(plan->steps, g->code);
		bool plain = g->ncode == 0 || is_plain(plan->steps, code, g->ncode);
		uint32_t depth = 0;

		if (a->memory != NULL)
			plan->expression_of[i] = expression_index(plan, g);
		columns |= columns_of(code, g->ncode, &depth);
		if (!plain && depth + 1 > most)
			most = depth + 1; /* one more takes the result of the top two */
		plan->plain &= plain;
	}
	for (uint32_t k = 0; k < group->nkeys; k++)
		columns |= (uint64_t) 1 << gs_group_key(plan->steps, k);
	take_packed(plan, columns, a);
	for (uint32_t i = 0; i < most; i++)
		plan->slots[i] = take(a, GS_STEP_ROWS * sizeof(gs_wide));
}

size_t
gs_steps_plan_make(gs_steps_plan *plan, const gs_steps *steps, char *memory)
{
	const gs_filter_step *filter = gs_steps_filter(steps);
	arena a = {memory, 0};

	*plan = (gs_steps_plan){.steps = steps, .group = (const gs_group_step *) gs_steps_taker(steps, GS_STEP_GROUP)};
	plan->nterms = filter != NULL ? filter->nterms : 0;
	if (filter != NULL)
		plan->terms = plan_terms(steps, filter->terms, filter->nterms, &a);
	if (plan->group != NULL)
	{
		plan_clauses(plan, &a);
		plan_group(plan, &a);
	}
	else if (gs_steps_compute(steps) != NULL)
	{
		plan_filter_behind(plan, gs_steps_compute(steps), &a);
		plan_choices(plan, gs_steps_compute(steps), &a);
	}
	else if (gs_steps_window(steps) != NULL)
		take_packed(plan, gs_steps_columns(steps, &gs_steps_window(steps)->step), &a);
	else
		plan_orders(plan, gs_steps_rows(steps), &a);
	return a.used;
}
