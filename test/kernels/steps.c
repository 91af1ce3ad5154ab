/*
 * steps.c: lists of steps over columns in segments, against plain C: every type and test, NULLs, constants of and
 * outside of the type, corners of doubles, ranges that results leave, spans of every length, results in parts.
 */
#include "scan_test.h"

#include "../../kernels/common/steps_row.h"
#include "../../kernels/cpu/cpu.h"
#include "steps_table.h"

#define MOST_AGGREGATES 8

/* Adds a term of a column with some test. */
static void
add_term(steps_list *l, const table *t, uint32_t c, gs_test test)
{
	gs_term term = some_term(l, t, c, test);

	list_term(l, c, (gs_test) term.test, term.constants, term.nconstants);
}

static void
add_aggregate(steps_list *l, const table *t, gs_operation *operation)
{
	uint32_t c = (uint32_t) (rnd() % t->ncolumns), n;
	gs_instruction code[16];

	*operation = (gs_operation) (rnd() % 4);
	if (rnd() % 3 == 0 && (n = some_code(l, t, code)) > 0)
		list_aggregate(l, *operation, code, n);
	else if (*operation == GS_COUNT && rnd() % 2)
		list_aggregate(l, GS_COUNT, NULL, 0);
	else
		list_column(l, *operation, c, number_of(t->types[c]));
}

/* ---- one list over some spans */

/* Returns true if a row passes every term of the filter, which may be NULL. */
static bool
filter_passes(const gs_steps *steps, const gs_filter_step *filter, const gs_held *columns, uint64_t row)
{
	for (uint32_t t = 0; filter != NULL && t < filter->nterms; t++)
		if (!gs_term_passes(steps, &filter->terms[t], columns, row))
			return false;
	return true;
}

/* The results by common/steps_row.h, which kernels call: row by row. */
static bool
row_by_row(const gs_steps *steps, const plain_segment *s, uint32_t first, uint32_t rows, gs_reduced *out)
{
	const gs_group_step *group = gs_steps_group(steps);
	gs_held columns[MOST_COLUMNS];

	for (uint32_t c = 0; c < steps->ncolumns; c++)
		columns[c] = (gs_held){s->values[c], s->nulls[c]};
	for (uint32_t r = first; r < first + rows; r++)
		for (uint32_t i = 0; filter_passes(steps, gs_steps_filter(steps), columns, r) && i < group->naggregates; i++)
		{
			const gs_aggregate *a = &group->aggregates[i];
			const gs_instruction *code = gs_steps_at(steps, a->code);
			gs_number number = gs_aggregate_number(steps, a);
			gs_scalar v = {0, 0};
			gs_reduced one;

			if (gs_code_null(code, a->ncode, columns, r))
				continue;
			if (a->ncode > 0 && !gs_code_value(steps, code, a->ncode, columns, r, &v))
				return false;
			one = gs_reduced_one((gs_operation) a->operation, number, v);
			if (!gs_reduced_merge((gs_operation) a->operation, number, &out[i], &one))
				return false;
		}
	return true;
}

/* Computes some spans by the engine, all in one call or each in its own. */
static gs_status
by_engine(const table *t, const gs_steps *steps, const gs_span *spans, uint32_t nspans, bool parts, gs_reduced *out)
{
	gs_held_rows rows = {t->types, t->ncolumns, SEGMENTS, t->held, nspans, spans};
	gs_reduced some[MOST_AGGREGATES];
	size_t temp;
	gs_status status = GS_OK;

	if (!parts)
	{
		temp = gs_reduce_temp_bytes(engine, &rows, steps);
		return gs_reduce_rows(engine, &rows, steps, out, temp_of(temp), temp);
	}
	rows.nspans = 1;
	memset(out, 0, gs_steps_result_bytes(steps));
	for (; nspans > 0 && status == GS_OK; nspans--, rows.spans++)
	{
		temp = gs_reduce_temp_bytes(engine, &rows, steps);
		status = gs_reduce_rows(engine, &rows, steps, some, temp_of(temp), temp);
		if (status == GS_OK)
			status = gs_reduced_combine(steps, out, some);
	}
	return status;
}

/* Compares the results of a list with what is expected. */
static void
compare(const gs_steps *steps, const expected *e, bool good, gs_status status, const gs_reduced *r, const char *what)
{
	const gs_group_step *group = gs_steps_group(steps);
	bool right = true, far = false;
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < group->naggregates; i++)
		far |= e[i].far;
	if (status == GS_OVERFLOW || !good)
		check((status == GS_OVERFLOW) == !good || far, "%s: overflow, status %d", what, status);
	else if (status == GS_OK)
		for (uint32_t i = 0; i < group->naggregates; i++)
			if (!reference_agrees((gs_operation) group->aggregates[i].operation, &e[i], &r[i]))
			{
				right = false;
				wrong = i;
			}
	check((status == GS_OK && right) || status == GS_OVERFLOW, "%s: aggregate %u (operation %u) of %u, status %d", what,
		  wrong, group->aggregates[wrong].operation, group->naggregates, status);
}

static void
one_list(const table *t, const steps_list *l, const gs_span *spans, uint32_t nspans, const char *what)
{
	expected e[MOST_AGGREGATES] = {0};
	gs_reduced out[MOST_AGGREGATES], rowwise[MOST_AGGREGATES];
	bool good = true, fits = true;

	check(gs_steps_check(&l->head, l->head.bytes) == GS_OK, "%s: the list is right", what);
	memset(rowwise, 0, sizeof(rowwise));
	for (uint32_t i = 0; i < nspans; i++)
	{
		const plain_segment *s = &t->plain[spans[i].segment];

		good = good && reference_rows(&l->head, s, spans[i].first, spans[i].rows, e);
		fits = fits && row_by_row(&l->head, s, spans[i].first, spans[i].rows, rowwise);
	}
	compare(&l->head, e, good, fits ? GS_OK : GS_OVERFLOW, rowwise, "row by row");
	for (int parts = 0; parts < 2; parts++)
	{
		gs_status status = by_engine(t, &l->head, spans, nspans, parts, out);

		compare(&l->head, e, good, status, out, what);
	}
}

/* ---- tests */

/* Random lists over a random table. */
static void
random_lists(void)
{
	static table t;
	static steps_list l;
	gs_span spans[6];
	gs_operation operation;

	make_table(&t, 1 + (uint32_t) (rnd() % MOST_COLUMNS), NULL);
	for (int turn = 0; turn < 8; turn++)
	{
		uint32_t nterms = (uint32_t) (rnd() % 4), naggregates = 1 + (uint32_t) (rnd() % MOST_AGGREGATES);
		uint32_t nspans = some_spans(&t, spans, 6);

		list_begin(&l, t.types, t.ncolumns);
		if (nterms > 0)
			list_filter(&l, nterms);
		for (uint32_t i = 0; i < nterms; i++)
			add_term(&l, &t, (uint32_t) (rnd() % t.ncolumns), (gs_test) (rnd() % (GS_TEST_NEVER + (rnd() % 8 == 0))));
		list_group(&l, naggregates);
		for (uint32_t i = 0; i < naggregates; i++)
			add_aggregate(&l, &t, &operation);
		one_list(&t, &l, spans, nspans, "random list");
	}
	drop_table(&t);
}

/* Every test of every type, with every operation. */
static void
every_test(gs_type type)
{
	static table t;
	static steps_list l;
	gs_span spans[3];
	char what[64];

	make_table(&t, 1, &type);
	for (int test = 0; test <= GS_TEST_NEVER; test++)
		for (int turn = 0; turn < (small_only ? 2 : 8); turn++)
		{
			uint32_t nspans = some_spans(&t, spans, 3);

			snprintf(what, sizeof(what), "%s, test %d", type_name(type), test);
			list_begin(&l, &type, 1);
			list_filter(&l, 1);
			add_term(&l, &t, 0, (gs_test) test);
			list_group(&l, 4);
			for (int operation = GS_SUM; operation <= GS_COUNT; operation++)
				list_column(&l, (gs_operation) operation, 0, number_of(type));
			one_list(&t, &l, spans, nspans, what);
		}
	drop_table(&t);
}

/* A list with an operation on two columns whose result has a range, over values at its ends. */
static void
at_the_end(gs_type type, gs_number number, gs_code code, wide a, wide b, bool fits)
{
	static steps_list l;
	const gs_type types[2] = {type, type};
	const gs_instruction program[3] = {{GS_CODE_COLUMN, (uint8_t) number, 0, 0},
									   {GS_CODE_COLUMN, (uint8_t) number, 0, 1},
									   {(uint8_t) code, (uint8_t) number, 0, 0}};
	size_t width = gs_type_width(type);
	uint32_t rows = 1500, at = (uint32_t) (rnd() % rows);
	uint8_t *values = calloc(rows, width);
	array columns[2] = {make_array(rows * width, 0), make_array(rows * width, 0)};
	gs_held held[2] = {{columns[0].data, NULL}, {columns[1].data, NULL}};
	gs_span span = {0, 0, rows};
	gs_held_rows held_rows = {types, 2, 1, held, 1, &span};
	gs_reduced out;
	size_t temp;
	gs_status status;

	memcpy(values + at * width, &a, width);
	put(&columns[0], values, rows * width);
	memcpy(values + at * width, &b, width);
	put(&columns[1], values, rows * width);
	list_begin(&l, types, 2);
	list_group(&l, 1);
	list_aggregate(&l, rnd() % 2 ? GS_SUM : GS_COUNT, program, 3);
	temp = gs_reduce_temp_bytes(engine, &held_rows, &l.head);
	status = gs_reduce_rows(engine, &held_rows, &l.head, &out, temp_of(temp), temp);
	check(status == (fits ? GS_OK : GS_OVERFLOW), "%s, code %d: %s", type_name(type), code, fits ? "fits" : "does not");
	drop(&columns[0]), drop(&columns[1]);
	free(values);
}

/* Results at both ends of each range, and one beyond. */
static void
ranges(void)
{
	static const struct
	{
		gs_type type;
		gs_number number;
		int bits;
	} all[] = {{GS_I16, GS_NUMBER_I16, 15},
			   {GS_I32, GS_NUMBER_I32, 31},
			   {GS_I64, GS_NUMBER_I64, 63},
			   {GS_U128, GS_NUMBER_I128, 127}};

	for (int i = 0; i < 4; i++)
	{
		gs_type type = all[i].type;
		gs_number number = all[i].number;
		wide most = (wide) (((unsigned __int128) 1 << all[i].bits) - 1), least = -most - 1;

		at_the_end(type, number, GS_CODE_ADD, most - 1, 1, true);
		at_the_end(type, number, GS_CODE_ADD, most, 1, false);
		at_the_end(type, number, GS_CODE_ADD, least + 1, -1, true);
		at_the_end(type, number, GS_CODE_ADD, least, -1, false);
		at_the_end(type, number, GS_CODE_SUBTRACT, least, 1, false);
		at_the_end(type, number, GS_CODE_SUBTRACT, -1, most, true);
		at_the_end(type, number, GS_CODE_SUBTRACT, -2, most, false);
		at_the_end(type, number, GS_CODE_SUBTRACT, 0, least, false);
		at_the_end(type, number, GS_CODE_MULTIPLY, most, 1, true);
		at_the_end(type, number, GS_CODE_MULTIPLY, least, 1, true);
		at_the_end(type, number, GS_CODE_MULTIPLY, least, -1, false);
		at_the_end(type, number, GS_CODE_MULTIPLY, most, -1, true);
		at_the_end(type, number, GS_CODE_MULTIPLY, most / 2 + 1, 2, false);
		at_the_end(type, number, GS_CODE_MULTIPLY, least / 2, 2, true);
		at_the_end(type, number, GS_CODE_MULTIPLY, least / 2 - 1, 2, false);
		at_the_end(type, number, GS_CODE_MULTIPLY, most, most, false);
		at_the_end(type, number, GS_CODE_MULTIPLY, least, least, false);
	}
}

/* The sum of 128 bits at its end. */
static void
largest_sum(void)
{
	static steps_list l;
	const gs_type type = GS_U128;
	wide most = (wide) (((unsigned __int128) 1 << 127) - 1);
	array values = make_array(3 * 16, 0);
	gs_held held = {values.data, NULL};
	gs_span span = {0, 0, 3};
	gs_held_rows rows = {&type, 1, 1, &held, 1, &span};
	gs_reduced out, other;
	size_t temp;

	list_begin(&l, &type, 1);
	list_group(&l, 1);
	list_column(&l, GS_SUM, 0, GS_NUMBER_I128);
	for (int beyond = 0; beyond < 2; beyond++)
	{
		put(&values, (wide[3]){most - 5, 3, 2 + beyond}, 3 * 16);
		temp = gs_reduce_temp_bytes(engine, &rows, &l.head);
		check(gs_reduce_rows(engine, &rows, &l.head, &out, temp_of(temp), temp) == (beyond ? GS_OVERFLOW : GS_OK),
			  "sum of 128 bits, %d beyond", beyond);
	}
	other = out = (gs_reduced){{~(uint64_t) 0, (uint64_t) INT64_MAX}, 3, 0, 0};
	check(gs_reduced_combine(&l.head, &out, &other) == GS_OVERFLOW, "combined sums of 128 bits");
	drop(&values);
}

/* Copies a list whose filter has one constant, and gives it so many. */
static gs_steps *
lengthen(const steps_list *l, const uint64_t *constants, uint32_t n)
{
	const uint32_t more = (n - 1) * (uint32_t) sizeof(gs_constant);
	char *copy = malloc(l->head.bytes + more);
	gs_steps *steps = (gs_steps *) copy;
	gs_filter_step *filter = (gs_filter_step *) (copy + l->head.first);
	uint32_t at = l->head.first + ((const gs_step *) (l->bytes + l->head.first))->bytes;

	memcpy(copy, l->bytes, at);
	memcpy(copy + filter->terms[0].constants, constants, n * sizeof(gs_constant));
	memcpy(copy + at + more, l->bytes + at, l->head.bytes - at);
	steps->bytes += more;
	filter->step.bytes += more;
	filter->terms[0].nconstants = n;
	return steps;
}

/* The longest list: bits of codes up to millions. */
static void
longest_list(void)
{
	static steps_list l;
	const gs_type type = GS_U32;
	const uint32_t n = (GS_STEPS_MAX_BYTES - 1024) / sizeof(gs_constant);
	uint64_t *bits = calloc(n, sizeof(gs_constant));
	uint32_t values[] = {0, 63, 64, n * 128 - 2, n * 128 - 1, n * 128, UINT32_MAX};
	array column = make_array(sizeof(values), 0);
	gs_held held = {column.data, NULL};
	gs_span span = {0, 0, sizeof(values) / sizeof(values[0])};
	gs_held_rows rows = {&type, 1, 1, &held, 1, &span};
	gs_steps *steps;
	gs_reduced out;
	size_t temp;

	bits[0] = bits[2 * n - 1] = (uint64_t) 1 << 63;
	put(&column, values, sizeof(values));
	list_begin(&l, &type, 1);
	list_filter(&l, 1);
	list_term(&l, 0, GS_TEST_IN_BITS, list_integers(&l, &(wide){0}, 1), 1);
	list_group(&l, 1);
	list_aggregate(&l, GS_COUNT, NULL, 0);
	steps = lengthen(&l, bits, n);
	check(gs_steps_check(steps, steps->bytes) == GS_OK, "longest list");
	temp = gs_reduce_temp_bytes(engine, &rows, steps);
	check(gs_reduce_rows(engine, &rows, steps, &out, temp_of(temp), temp) == GS_OK && out.count == 2,
		  "rows that pass the longest list");
	drop(&column);
	free(bits);
	free(steps);
}

/* Calls that are wrong. */
static void
refused(void)
{
	static steps_list l;
	gs_type types[2] = {GS_I32, GS_I64};
	uint64_t values[2] = {0, 0};
	gs_held held[2] = {{values, NULL}, {values, NULL}};
	gs_span span = {1, 0, 1};
	gs_held_rows rows = {types, 2, 1, held, 1, &span};
	gs_reduced out;
	static char memory[1 << 16] __attribute__((aligned(256)));

	list_begin(&l, types, 2);
	list_group(&l, 1);
	list_aggregate(&l, GS_COUNT, NULL, 0);
	check(gs_reduce_rows(engine, &rows, &l.head, &out, memory, sizeof(memory)) == GS_INVALID, "no such segment");
	span.segment = 0;
	types[1] = GS_U64;
	check(gs_reduce_rows(engine, &rows, &l.head, &out, memory, sizeof(memory)) == GS_INVALID, "another type");
	rows.ncolumns = 1;
	check(gs_reduce_rows(engine, &rows, &l.head, &out, memory, sizeof(memory)) == GS_INVALID, "a column less");
	check(gs_reduce_rows(engine, &rows, NULL, &out, memory, sizeof(memory)) == GS_INVALID, "no list");
}

void
test_steps(void)
{
	static const char *const names[] = {"steps, plain", "steps, AVX2", "steps, AVX-512"};
	gs_cpu_tuning normal = gs_cpu_tuning_default();

	rnd_seed(4711);
	for (int vector = GS_AVX512; vector >= GS_NO_VECTORS; vector--)
	{
		gs_cpu_tuning tuning = normal;

		group(on_gpu ? "steps" : names[vector]);
		tuning.vector = (gs_vectors) vector;
		if (!on_gpu)
			gs_cpu_tune(engine, &tuning);
		refused();
		ranges();
		largest_sum();
		longest_list();
		for (int type = 0; type < GS_BYTES; type++)
			if (!skipped())
				every_test((gs_type) type);
		for (int turn = 0; turn < (small_only ? 10 : 60); turn++)
			if (!skipped())
				random_lists();
		if (on_gpu)
			break;
		gs_cpu_tune(engine, &normal);
	}
}
