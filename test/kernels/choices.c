/*
 * choices.c: lists with COMPUTE whose column is one of choices, against plain C: terms of every kind on columns of
 * every type, values of columns, constants and NULL, rows that no choice takes, filters behind them, of the source's
 * columns and of choices, spans of every length; also row by row, by common/steps_computed.h, which kernels call.
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

/* Makes a list with some choices. */
static void
make_list(steps_list *l, const table *t)
{
	static const gs_operation operations[AGGREGATES] = {GS_SUM, GS_MIN, GS_MAX, GS_COUNT};
	uint32_t n = 1 + (uint32_t) (rnd() % 4);
	bool otherwise = rnd() % 2;
	gs_type types[MOST_COLUMNS + 1];

	memcpy(types, t->types, t->ncolumns * sizeof(*types));
	types[t->ncolumns] = GS_I64;
	list_begin(l, types, t->ncolumns + 1);
	l->head.ncolumns--;
	l->head.ngiven = 1;
	list_choices(l, n);
	for (uint32_t i = 0; i < n; i++)
		add_choice(l, t, otherwise && i + 1 == n);
	if (rnd() % 2)
		add_filter(l, t);
	list_group(l, AGGREGATES);
	for (int i = 0; i < AGGREGATES; i++)
		list_column(l, operations[i], t->ncolumns, GS_NUMBER_I64);
}

/* Returns the value of a row, by plain C. */
static value
chosen(const gs_steps *steps, const plain_segment *s, uint32_t row)
{
	const gs_computed *c = gs_steps_compute(steps)->columns;
	const gs_choice *choices = gs_steps_at(steps, c->code);
	value v = {.null = true};

	for (uint32_t i = 0; i < c->nchoices; i++)
	{
		const gs_instruction *in = &choices[i].value;

		if (!terms_hold(steps, gs_steps_at(steps, choices[i].terms), choices[i].nterms, s, row))
			continue;
		if (in->code == GS_CODE_COLUMN)
			return column_value(steps, s, in->operand, row);
		v.null = in->operand == 0;
		if (!v.null)
			memcpy(&v.i, gs_steps_at(steps, in->operand), sizeof(v.i));
		return v;
	}
	return v;
}

/* Returns true if a row passes the filter, whose terms about choices test NULL alone. */
static bool
passes(const gs_steps *steps, const plain_segment *s, uint32_t row, value v)
{
	const gs_filter_step *filter = (const gs_filter_step *) gs_step_after(&gs_steps_compute(steps)->step);

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
row_agrees(const gs_steps *steps, const plain_segment *s, uint32_t row, value v)
{
	gs_held columns[MOST_COLUMNS];
	int64_t x = 0;

	for (uint32_t c = 0; c < steps->ncolumns; c++)
		columns[c] = (gs_held){s->values[c], s->nulls[c]};
	if (!gs_chosen_value(steps, gs_steps_compute(steps)->columns, columns, row, &x))
		return v.null;
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
	bool same = true;

	check(gs_steps_check(&l->head, l->head.bytes) == GS_OK, "the list is right");
	for (uint32_t i = 0; i < nspans; i++)
		for (uint32_t r = spans[i].first; r < spans[i].first + spans[i].rows; r++)
		{
			const plain_segment *s = &t->plain[spans[i].segment];
			value v = chosen(&l->head, s, r);

			same &= row_agrees(&l->head, s, r, v);
			for (int a = 0; a < AGGREGATES && !v.null && passes(&l->head, s, r, v); a++)
				take((gs_operation) group->aggregates[a].operation, &e[a], v);
		}
	check(same, "values row by row");
	status = by_engine(t, &l->head, spans, nspans, out);
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
			break;
		gs_cpu_tune(engine, &normal);
	}
}
