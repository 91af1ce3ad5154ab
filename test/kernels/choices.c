/*
 * choices.c: lists with COMPUTE whose column is one of choices, or an expression, against plain C: terms of every kind
 * on columns of every type, values of columns, constants and NULL, rows that no choice takes, values that leave their
 * range, filters behind them, of the source's columns and of choices, spans of every length; also row by row, by
 * common/steps_computed.h, which kernels call; and choices that stop when they are asked to.
 */
#include "scan_test.h"

#include "../../kernels/common/steps_computed.h"
#include "../../kernels/cpu/cpu.h"
#include "steps_table.h"

#define AGGREGATES 4

/* Returns a value of a choice: a column's of at most 64 bits with a sign, a constant, or NULL. */
static gs_instruction
some_value(steps_list *l, const table *t)
{
	const uint32_t c = (uint32_t) (rnd() % t->ncolumns);
	const wide corners[] = {0, -7, INT64_MAX, INT64_MIN, (wide) (rnd() % 100)};
	gs_instruction none = {GS_CODE_CONSTANT, GS_NUMBER_I64, 0, 0};

	if (rnd() % 8 == 0)
		return none;
	if (rnd() % 3 > 0 && number_of(t->types[c]) <= GS_NUMBER_I64)
		return (gs_instruction){GS_CODE_COLUMN, (uint8_t) number_of(t->types[c]), 0, c};
	none.operand = list_integers(l, &corners[rnd() % 5], 1);
	return none;
}

/* Adds a choice. */
static void
add_choice(steps_list *l, const table *t, bool otherwise)
{
	gs_term terms[3];
	uint32_t n = otherwise ? 0 : 1 + (uint32_t) (rnd() % 3);

	for (uint32_t i = 0; i < n; i++)
		terms[i] = some_term(l, t, (uint32_t) (rnd() % t->ncolumns), (gs_test) (rnd() % GS_TEST_NEVER));
	list_choice(l, terms, n, some_value(l, t));
}

/* Adds a filter, also of the choices. */
static void
add_filter(steps_list *l, const table *t)
{
	uint32_t n = 1 + (uint32_t) (rnd() % 2);

	list_filter(l, n);
	for (uint32_t i = 0; i < n; i++)
	{
		gs_term term = some_term(l, t, (uint32_t) (rnd() % t->ncolumns), (gs_test) (rnd() % GS_TEST_NEVER));

		if (rnd() % 8 == 0)
			term = (gs_term){t->ncolumns, rnd() % 2 ? GS_TEST_IS_NULL : GS_TEST_NOT_NULL, 0, 0};
		list_term(l, term.column, (gs_test) term.test, term.constants, term.nconstants);
	}
}

/* Adds COMPUTE with some choices. */
static void
add_choices(steps_list *l, const table *t)
{
	uint32_t n = 1 + (uint32_t) (rnd() % 4);
	bool otherwise = rnd() % 2;

	list_choices(l, n);
	for (uint32_t i = 0; i < n; i++)
		add_choice(l, t, otherwise && i + 1 == n);
}

/* Adds COMPUTE with an instruction of a column, whose result must lie in a range or not. */
static void
add_expression(steps_list *l, const table *t, uint32_t c)
{
	static const uint8_t codes[] = {GS_CODE_QUOTIENT, GS_CODE_REMAINDER, GS_CODE_YEAR, GS_CODE_MONTH, GS_CODE_DAY,
									GS_CODE_DAY_OF_YEAR};
	const wide divisors[] = {1, 7, 60, 1000000, INT64_MAX};
	const wide constants[] = {divisors[rnd() % 5], -(wide) (rnd() % 100), (wide) (rnd() % 100000)};
	gs_instruction code[] = {{GS_CODE_COLUMN, (uint8_t) number_of(t->types[c]), 0, c},
							 {codes[rnd() % 6], GS_NUMBER_I64, 0, 0},
							 {GS_CODE_WITHIN, GS_NUMBER_I64, 0, 1}};

	list_compute(l, constants, 3, code, 2 + rnd() % 2);
}

/* Adds COMPUTE with a quotient, which must lie in a range, and a filter that only rows pass in which it does. */
static void
add_inside(steps_list *l, uint32_t c, gs_number number)
{
	const wide constants[] = {1 + (wide) (rnd() % 100000), -(wide) (rnd() % 1000), (wide) (rnd() % 1000)};
	const wide ends[] = {constants[0] * constants[1], constants[0] * (constants[2] + 1) - 1};
	gs_instruction code[] = {{GS_CODE_COLUMN, (uint8_t) number, 0, c},
							 {GS_CODE_QUOTIENT, GS_NUMBER_I64, 0, 0},
							 {GS_CODE_WITHIN, GS_NUMBER_I64, 0, 1}};

	list_compute(l, constants, 3, code, 3);
	list_filter(l, 1);
	list_term(l, c, GS_TEST_BETWEEN, list_integers(l, ends, 2), 2);
}

/* Makes a list with a computed column. */
static void
make_list(steps_list *l, const table *t)
{
	static const gs_operation operations[AGGREGATES] = {GS_SUM, GS_MIN, GS_MAX, GS_COUNT};
	uint32_t c = (uint32_t) (rnd() % t->ncolumns);
	bool integers = number_of(t->types[c]) <= GS_NUMBER_I64, inside = integers && rnd() % 6 == 0;
	gs_type types[MOST_COLUMNS + 1];

	memcpy(types, t->types, t->ncolumns * sizeof(*types));
	types[t->ncolumns] = GS_I64;
	list_begin(l, types, t->ncolumns + 1);
	l->head.ncolumns--;
	l->head.ngiven = 1;
	if (inside)
		add_inside(l, c, number_of(t->types[c]));
	else if (integers && rnd() % 3 == 0)
		add_expression(l, t, c);
	else
		add_choices(l, t);
	if (!inside && rnd() % 2)
		add_filter(l, t);
	list_group(l, AGGREGATES);
	for (int i = 0; i < AGGREGATES; i++)
		list_column(l, operations[i], t->ncolumns, GS_NUMBER_I64);
}

/* Returns true if a row passes the filter, whose terms about choices test NULL alone: *late becomes true with some. */
static bool
passes(const gs_steps *steps, const plain_segment *s, uint32_t row, value v, bool *late)
{
	const gs_filter_step *filter = (const gs_filter_step *) gs_step_after(&gs_steps_compute(steps)->step);

	for (uint32_t i = 0; filter->step.kind == GS_STEP_FILTER && i < filter->nterms; i++)
		*late |= filter->terms[i].column == steps->ncolumns;
	for (uint32_t i = 0; filter->step.kind == GS_STEP_FILTER && i < filter->nterms; i++)
	{
		const gs_term *term = &filter->terms[i];

		if (term->column == steps->ncolumns ? v.null != (term->test == GS_TEST_IS_NULL)
											: !terms_hold(steps, term, 1, s, row))
			return false;
	}
	return true;
}

/* Returns true if common/steps_computed.h gives a row the same value. */
static bool
row_agrees(const gs_steps *steps, const plain_segment *s, uint32_t row, value v, bool outside)
{
	const gs_computed *c = gs_steps_compute(steps)->columns;
	const gs_instruction *code = gs_steps_at(steps, c->code);
	gs_held columns[MOST_COLUMNS];
	int64_t x = 0;

	for (uint32_t i = 0; i < steps->ncolumns; i++)
		columns[i] = (gs_held){s->values[i], s->nulls[i]};
	if (c->nchoices == 0 ? gs_code_null(code, c->ncode, columns, row) : !gs_chosen_value(steps, c, columns, row, &x))
		return v.null;
	if (c->nchoices == 0 && !gs_computed_value(steps, code, c->ncode, columns, row, &x))
		return outside;
	return !v.null && x == v.i;
}

/* Has the engine answer a list. */
static gs_status
by_engine(const table *t, const gs_steps *steps, const gs_span *spans, uint32_t nspans, gs_reduced *out)
{
	gs_held_rows rows = {t->types, t->ncolumns, SEGMENTS, t->held, nspans, spans};
	gs_range ranges[MOST_COLUMNS];
	gs_groups *groups;
	uint64_t n = 0, count = 0;
	gs_status status;

	for (uint32_t c = 0; c < t->ncolumns; c++)
		ranges[c] = column_range(t, c);
	for (uint32_t i = 0; i < nspans; i++)
		n += spans[i].rows;
	status = gs_groups_open(engine, steps, ranges, n, 1, &groups);
	if (status != GS_OK)
		return status;
	status = gs_groups_rows(groups, 0, engine, &rows);
	if (status == GS_OK)
		status = do_parts(groups, 1);
	if (status == GS_OK)
		status = gs_groups_end(groups, engine, 0, &count);
	if (status == GS_OK)
		status = count == 1 ? gs_groups_read(groups, engine, 0, 1, out) : GS_INVALID;
	gs_groups_close(groups, engine);
	return status;
}

/* Compares the answers to a list over some spans. */
static void
one_list(const table *t, const steps_list *l, const gs_span *spans, uint32_t nspans)
{
	const gs_group_step *group = gs_steps_group(&l->head);
	expected e[AGGREGATES] = {0};
	gs_reduced out[AGGREGATES];
	gs_status status;
	bool same = true, late = false;
	bool some = false, left = false; /* some row is outside, one that passes */

	check(gs_steps_check(&l->head, l->head.bytes) == GS_OK, "the list is right");
	for (uint32_t i = 0; i < nspans; i++)
		for (uint32_t r = spans[i].first; r < spans[i].first + spans[i].rows; r++)
		{
			const plain_segment *s = &t->plain[spans[i].segment];
			value v;
			bool outside = !computed_value(&l->head, gs_steps_compute(&l->head)->columns, s, r, &v);
			bool passed = passes(&l->head, s, r, v, &late);

			same &= row_agrees(&l->head, s, r, v, outside);
			some |= outside;
			left |= outside && passed;
			for (int a = 0; a < AGGREGATES && !v.null && passed; a++)
				take((gs_operation) group->aggregates[a].operation, &e[a], v);
		}
	check(same, "values row by row");
	status = by_engine(t, &l->head, spans, nspans, out);
	/* a device computes the rows that pass what is about the source's columns, the CPU also others */
	if (left || (some && (late || !on_gpu) && status == GS_OVERFLOW))
	{
		check(status == GS_OVERFLOW, "overflow: status %d", status);
		return;
	}
	for (int a = 0; a < AGGREGATES && status == GS_OK; a++)
		check(reference_agrees((gs_operation) group->aggregates[a].operation, &e[a], &out[a]), "aggregate %d", a);
	check(status == GS_OK, "status %d", status);
}

/* Random lists over random tables. */
static void
random_lists(void)
{
	static table t;
	static steps_list l;
	gs_span spans[6];

	make_table(&t, 1 + (uint32_t) (rnd() % MOST_COLUMNS), NULL);
	for (int turn = 0; turn < 8; turn++)
	{
		uint32_t nspans = some_spans(&t, spans, 6);

		make_list(&l, &t);
		one_list(&t, &l, spans, nspans);
	}
	drop_table(&t);
}

static uint32_t polls;

/* Asks to stop. */
static int
stop(void *arg)
{
	(void) arg;
	polls++;
	return 1;
}

/* Choices that take long for few rows stop when the host asks for it. */
static void
stopped(void)
{
	static steps_list l;
	static int32_t zeros[8192];
	const gs_type all[2] = {GS_I32, GS_I64};
	const gs_held column = {zeros, NULL};
	const gs_span span = {0, 0, 8192};
	const gs_held_rows rows = {all, 1, 1, &column, 1, &span};
	const gs_range range = {.nulls = false};
	gs_host host = *gs_default_host();
	gs_term never[GS_STEPS_MAX_TERMS];
	gs_engine *own;
	gs_groups *groups;

	for (uint32_t i = 0; i < GS_STEPS_MAX_TERMS; i++)
		never[i] = (gs_term){0, GS_TEST_IS_NULL, 0, 0};
	list_begin(&l, all, 2);
	l.head.ncolumns--;
	l.head.ngiven = 1;
	list_choices(&l, GS_STEPS_MAX_CHOICES);
	for (uint32_t i = 0; i < GS_STEPS_MAX_CHOICES; i++)
		list_choice(&l, never, GS_STEPS_MAX_TERMS, (gs_instruction){GS_CODE_COLUMN, GS_NUMBER_I32, 0, 0});
	list_group(&l, 1);
	list_column(&l, GS_SUM, 1, GS_NUMBER_I64);
	check(gs_steps_check(&l.head, l.head.bytes) == GS_OK, "the list is right");
	host.poll = stop;
	ok(gs_cpu_open(1, &host, &own), "engine");
	ok(gs_groups_open(own, &l.head, &range, span.rows, 1, &groups), "groups");
	check(gs_groups_rows(groups, 0, own, &rows) == GS_CANCELLED && polls == 1, "stopped after %u polls", polls);
	gs_groups_close(groups, own);
	gs_engine_close(own);
}

void
test_choices(void)
{
	static const char *const names[] = {"choices, plain", "choices, AVX2", "choices, AVX-512"};
	gs_cpu_tuning normal = gs_cpu_tuning_default();

	rnd_seed(4712);
	for (int vector = GS_AVX512; vector >= GS_NO_VECTORS; vector--)
	{
		gs_cpu_tuning tuning = normal;

		group(on_gpu ? "choices" : names[vector]);
		tuning.vector = (gs_vectors) vector;
		if (!on_gpu)
			gs_cpu_tune(engine, &tuning);
		for (int turn = 0; turn < (small_only ? 10 : 60); turn++)
			if (!skipped())
				random_lists();
		if (on_gpu)
			return;
		gs_cpu_tune(engine, &normal);
	}
	group("choices that take long");
	stopped();
}
