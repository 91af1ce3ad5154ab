/*
 * steps.c: lists of steps over resident columns, as a stranger may send them: groups, windows, computed columns, places
 * of rows.  The first bytes choose a small table and limits of the engine; the rest is the list, in memory of just its
 * size.  What the check lets through the engine must carry out, by one thread and by several, and answer as plain C
 * does.
 */
#include "fuzz.h"
#include "kernels/common/steps_row.h"
#include "kernels/cpu/cpu.h"
#include "test/kernels/places_reference.h"
#include "test/kernels/windows_reference.h"

#define CHOICES sizeof(uint64_t) /* bytes before the list, which are also where random values begin */
#define SPANS	(2 * SEGMENTS)

/* A list, and the rows that it is about. */
typedef struct example
{
	const gs_steps *steps;
	table t;
	gs_span spans[SPANS]; /* all rows */
	gs_range ranges[MOST_COLUMNS];
	uint64_t rows;
	bool numbered; /* no value of the last column comes twice */
} example;

/* Makes the last column, if it has room, a number of the row. */
static bool
number_rows(table *t)
{
	const uint32_t c = t->ncolumns - 1;
	int32_t number = 0;

	for (uint32_t s = 0; s < SEGMENTS && t->types[c] == GS_I32; s++)
	{
		drop_nulls(t, s, c);
		for (uint32_t r = 0; r < t->plain[s].rows; r++)
			((int32_t *) t->plain[s].values[c])[r] = number++;
	}
	return number > 0;
}

/* Makes a table for a list, which is read where nothing lies behind it. */
static void
make_rows(example *x, const uint8_t *choices)
{
	static const uint32_t lengths[] = {1, 65, 128, 1025};
	table *t = &x->t;
	gs_type types[MOST_COLUMNS];
	uint64_t seed;

	memcpy(&seed, choices, sizeof(seed));
	rnd_seed(seed);
	for (uint32_t c = 0; c < x->steps->ncolumns; c++)
		types[c] = (gs_type) x->steps->types[c];
	/* plain C takes long for windows */
	most_segment_rows = lengths[choices[0] % (gs_steps_window(x->steps) != NULL ? 3 : 4)];
	make_table(t, x->steps->ncolumns, types);
	for (uint32_t c = 0; c < t->ncolumns; c++)
		if (rnd() % 2)
			make_key(t, c, 1 + rnd() % 100);
	x->numbered = number_rows(t);
	for (uint32_t s = 0; s < SEGMENTS; s++)
	{
		const uint32_t half = t->plain[s].rows / 2;

		x->spans[2 * s] = (gs_span){s, 0, half};
		x->spans[2 * s + 1] = (gs_span){s, half, t->plain[s].rows - half};
		x->rows += t->plain[s].rows;
		for (uint32_t c = 0; c < t->ncolumns; c++)
			t->held[s * t->ncolumns + c] = (gs_held){t->plain[s].values[c], t->plain[s].nulls[c]};
	}
	for (uint32_t c = 0; c < t->ncolumns; c++)
		x->ranges[c] = column_range(t, c);
}

/* Returns true if a window's values do not depend on which of equal rows comes first. */
static bool
window_determined(const example *x, const gs_window_step *w)
{
	const gs_row_order *orders = gs_steps_at(x->steps, w->orders);

	for (uint32_t i = 0; i < w->npartition + w->norders; i++)
		if (x->numbered && orders[i].column == x->t.ncolumns - 1)
			return true;
	for (uint32_t i = 0; i < w->nfunctions; i++)
	{
		const gs_window_function *f = &w->functions[i];
		const bool real = f->column != GS_NO_COLUMN && gs_type_is_float((gs_type) x->steps->types[f->column]);

		if (f->frame == GS_FRAME_ROWS || f->function == GS_WINDOW_ROW_NUMBER ||
			(f->function > GS_WINDOW_CUME_DIST && f->function < GS_WINDOW_COUNT) ||
			(f->function > GS_WINDOW_COUNT && real))
			return false;
	}
	return true;
}

/* Returns true if a list has one answer: no ties in windows matter, and no sum of doubles, added in any order. */
static bool
determined(const example *x)
{
	const gs_step *step = gs_steps_at(x->steps, x->steps->first);
	const gs_group_step *group = gs_steps_group(x->steps);

	for (uint32_t i = 0; i < x->steps->nsteps; i++)
	{
		const gs_filter_step *having = (const gs_filter_step *) step;

		if (step->kind == GS_STEP_WINDOW && !window_determined(x, (const gs_window_step *) step))
			return false;
		for (uint32_t k = 0; step->kind == GS_STEP_HAVING && k < having->nterms; k++)
			if (having->terms[k].column >= group->nkeys &&
				group->aggregates[having->terms[k].column - group->nkeys].operation == (uint32_t) GS_SUM &&
				gs_member_number(x->steps, having->terms[k].column) == GS_NUMBER_F64)
				return false;
		step = (const gs_step *) ((const char *) step + step->bytes);
	}
	return true;
}

/* Carries out a list by so many threads, or, with 0, as one without keys. */
static gs_status
carry_out(const example *x, uint32_t threads, void **out, uint64_t *n)
{
	const size_t bytes = gs_steps_result_bytes(x->steps);
	gs_held_rows rows = {x->t.types, x->t.ncolumns, SEGMENTS, x->t.held, SPANS, x->spans};
	gs_groups *groups;
	gs_status status;

	*out = NULL;
	if (threads == 0)
	{
		size_t temp = gs_reduce_temp_bytes(engine, &rows, x->steps);

		*n = 1;
		*out = malloc(bytes);
		return gs_reduce_rows(engine, &rows, x->steps, *out, temp_of(temp), temp);
	}
	status = gs_groups_open(engine, x->steps, x->ranges, x->rows, threads, &groups);
	if (status != GS_OK)
		return status;
	status = do_threads(groups, &x->t, x->spans, SPANS, threads);
	if (status == GS_OK)
		status = gs_groups_end(groups, engine, 0, n);
	if (status == GS_OK)
	{
		*out = malloc(*n * bytes + 1);
		status = gs_groups_read(groups, engine, 0, *n, *out);
	}
	gs_groups_close(groups, engine);
	return status;
}

/* Says what is wrong. */
static void
must_be_right(const char *wrong, uint32_t threads)
{
	if (wrong != NULL)
		fprintf(stderr, "%u threads: %s\n", threads, wrong);
	MUST(wrong == NULL);
}

/* Returns true if computed values may leave their range in rows that are passed over: a filter is behind them. */
static bool
may_pass_over(const gs_steps *steps)
{
	const gs_compute_step *c = gs_steps_compute(steps);

	return c != NULL && gs_step_after(&c->step)->kind == GS_STEP_FILTER;
}

/* Checks answers with groups. */
static void
check_groups(const example *x, const steps_list *l)
{
	static steps_list left;
	const bool known = determined(x);
	plain_segment rows = {0};
	expected_groups *e = NULL;
	void *out;
	uint64_t n;

	for (uint32_t s = 0; s < SEGMENTS && known; s++)
		windows_append(&l->head, &rows, &x->t.plain[s], 0, x->t.plain[s].rows);
	if (known)
		e = expect_windows(l, &rows, &left);
	for (uint32_t threads = gs_steps_reduces(x->steps) ? 0 : 1; threads <= 3; threads += threads == 1 ? 2 : 1)
	{
		gs_status status = carry_out(x, threads, &out, &n);

		MUST(status == GS_OK || status == GS_OVERFLOW || status == GS_TOO_BIG);
		if (known && status == GS_OK)
			MUST(e != NULL || may_pass_over(x->steps));
		if (e != NULL && status == GS_OVERFLOW)
			MUST(expect_overflow(e));
		if (e != NULL && status == GS_OK)
			must_be_right(groups_wrong(e, out, n), threads);
		free(out);
	}
	if (e != NULL)
		drop_expected(e);
	windows_drop(&rows);
}

/* Checks answers that are places of rows. */
static void
check_places(const example *x)
{
	expected_places e = expect_places(x->steps, &x->t, x->spans, SPANS);
	void *out;
	uint64_t n;

	for (uint32_t threads = 1; threads <= 3; threads += 2)
	{
		gs_status status = carry_out(x, threads, &out, &n);

		MUST(status == GS_OK || status == GS_TOO_BIG);
		if (status == GS_OK)
			must_be_right(page_wrong(&e, out, n), threads);
		free(out);
	}
	drop_places(&e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static example x;
	static steps_list l;
	gs_cpu_tuning tuning = gs_cpu_tuning_default();
	gs_steps *steps;

	if (n < CHOICES + sizeof(gs_steps) || n > CHOICES + sizeof(l.bytes))
		return 0;
	steps = malloc(n - CHOICES);
	memcpy(steps, bytes + CHOICES, n - CHOICES);
	if (gs_steps_check(steps, n - CHOICES) == GS_OK && steps->ncolumns <= MOST_COLUMNS &&
		steps->ncolumns + steps->ngiven <= MOST_PLAIN)
	{
		x = (example){.steps = steps};
		memcpy(&l, steps, steps->bytes);
		tuning.vector = (gs_vectors) (bytes[1] % (GS_AVX512 + 1));
		if (bytes[1] & 4)
			tuning.combine_rows = 64;
		if (bytes[1] & 8)
			tuning.hash_mask = 3;
		MUST(gs_cpu_open(1, NULL, &engine) == GS_OK);
		gs_cpu_tune(engine, &tuning);
		make_rows(&x, bytes);
		if (gs_steps_rows(steps) != NULL)
			check_places(&x);
		else
			check_groups(&x, &l);
		drop_table(&x.t);
		gs_engine_close(engine);
	}
	free(steps);
	return 0;
}
