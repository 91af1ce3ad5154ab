/*
 * steps.c: lists of steps over columns in segments, against plain C: every type and test, NULLs, constants of and
 * outside of the type, corners of doubles, ranges that results leave, spans of every length, results in parts.
 */
#include "scan_test.h"

#include "../../kernels/common/steps_row.h"
#include "../../kernels/cpu/cpu.h"
#include "steps_reference.h"

#define SEGMENTS 4
#define MOST_AGGREGATES 8

static const uint32_t lengths[] = {1, 63, 64, 65, 127, 128, 1000, 1023, 1024, 1025, 2047, 2049, 4096, 9000, 70000};

typedef struct table
{
	gs_type types[MOST_COLUMNS];
	uint32_t ncolumns;
	plain_segment plain[SEGMENTS];
	array values[SEGMENTS][MOST_COLUMNS], nulls[SEGMENTS][MOST_COLUMNS];
	gs_held held[SEGMENTS * MOST_COLUMNS];
} table;

/* Values that are small, of all of the type's bits, or corners; those of 128 bits can be added up. */
static void
fill(gs_type type, uint8_t *to, uint32_t rows)
{
	size_t width = gs_type_width(type);
	int kind = (int) (rnd() % 3);

	if (kind == 0 || type == GS_F32 || type == GS_F64)
	{
		fill_runs(type, to, rows, 1 + kind, kind != 0);
		/* no overflow of sums, and no sum whose order matters much */
		for (uint32_t r = 0; r < rows && type == GS_F64; r++)
			if (((double *) to)[r] > 1e300 && !isinf(((double *) to)[r]))
				((double *) to)[r] = 1e300;
	}
	else
		for (uint32_t r = 0; r < rows; r++)
		{
			bool sign = type >= GS_I16 || type == GS_U128;
			wide v = (wide) (rnd() % 200) - (sign ? 100 : 0);

			memcpy(to + r * width, &v, width);
		}
	for (uint32_t r = 0; r < rows && type == GS_U128; r++)
	{
		wide v;

		memcpy(&v, to + r * 16, 16);
		v >>= 20;
		memcpy(to + r * 16, &v, 16);
	}
}

static void
make_table(table *t, uint32_t ncolumns, const gs_type *types)
{
	*t = (table){.ncolumns = ncolumns};
	for (uint32_t c = 0; c < ncolumns; c++)
		t->types[c] = types != NULL ? types[c] : (gs_type) (rnd() % GS_BYTES);
	for (uint32_t s = 0; s < SEGMENTS; s++)
	{
		uint32_t rows = lengths[rnd() % (sizeof(lengths) / sizeof(lengths[0]) - (small_only || s > 0))];
		plain_segment *p = &t->plain[s];

		p->rows = rows;
		for (uint32_t c = 0; c < ncolumns; c++)
		{
			size_t bytes = rows * gs_type_width(t->types[c]), words = (rows + 63) / 64;

			p->values[c] = malloc(bytes);
			fill(t->types[c], p->values[c], rows);
			t->values[s][c] = make_array(bytes, 0);
			put(&t->values[s][c], p->values[c], bytes);
			t->held[s * ncolumns + c] = (gs_held){t->values[s][c].data, NULL};
			if (rnd() % 2)
				continue;
			p->nulls[c] = malloc(words * 8);
			for (size_t w = 0; w < words; w++)
				p->nulls[c][w] = rnd() % 4 == 0 ? ~(uint64_t) 0 : rnd() % 3 == 0 ? 0 : rnd() & rnd();
			t->nulls[s][c] = make_array(words * 8, 0);
			put(&t->nulls[s][c], p->nulls[c], words * 8);
			t->held[s * ncolumns + c].nulls = t->nulls[s][c].data;
		}
	}
}

static void
drop_table(table *t)
{
	for (uint32_t s = 0; s < SEGMENTS; s++)
		for (uint32_t c = 0; c < t->ncolumns; c++)
		{
			drop(&t->values[s][c]);
			if (t->plain[s].nulls[c] != NULL)
				drop(&t->nulls[s][c]);
			free(t->plain[s].values[c]), free(t->plain[s].nulls[c]);
		}
}

/* ---- lists */

/* Returns a constant to compare an integer column with: a value, a corner of some type, or one near either. */
static wide
some_integer(const table *t, uint32_t c)
{
	static const int corners[] = {7, 8, 15, 16, 31, 32, 63, 64, 127};
	size_t width = gs_type_width(t->types[c]);
	const plain_segment *s = &t->plain[rnd() % SEGMENTS];
	bool sign = t->types[c] >= GS_I16 || t->types[c] == GS_U128;
	const uint8_t *p = s->values[c] + rnd() % s->rows * width;
	wide v = sign && p[width - 1] >> 7 ? -1 : 0;

	memcpy(&v, p, width);
	if (rnd() % 3 == 0)
		v = (wide) ((unsigned __int128) 1 << corners[rnd() % 9]);
	return (wide) ((unsigned __int128) v + rnd() % 3 - 1);
}

static double
some_double(const table *t, uint32_t c)
{
	static const double corners[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 5e-324, -5e-324, 1e-45, 0.1, 1e39, -1e39};
	const plain_segment *s = &t->plain[rnd() % SEGMENTS];
	uint32_t r = (uint32_t) rnd() % s->rows;

	if (rnd() % 2)
		return corners[rnd() % 11];
	return t->types[c] == GS_F32 ? (double) ((float *) s->values[c])[r] : ((double *) s->values[c])[r];
}

static int
integer_order(const void *a, const void *b)
{
	return (*(const wide *) a > *(const wide *) b) - (*(const wide *) a < *(const wide *) b);
}

static int
double_order(const void *a, const void *b)
{
	return compare_doubles(*(const double *) a, *(const double *) b);
}

/* Adds a term of a column with some test. */
static void
add_term(steps_list *l, const table *t, uint32_t c, gs_test test)
{
	uint32_t most = rnd() % 2 ? 6 : 60;
	uint32_t some = 1 + (uint32_t) (rnd() % most);
	uint32_t n = test == GS_TEST_BETWEEN ? 2 : test == GS_TEST_IN ? some : test < GS_TEST_BETWEEN;
	bool real = t->types[c] == GS_F32 || t->types[c] == GS_F64;
	wide integers[60];
	double doubles[60];

	for (uint32_t i = 0; i < n; i++)
		if (real)
			doubles[i] = some_double(t, c);
		else
			integers[i] = test == GS_TEST_IN && i > 0 && rnd() % 2 ? (wide) ((unsigned __int128) integers[i - 1] + 1)
																	: some_integer(t, c);
	if (real && (test == GS_TEST_IN || rnd() % 8))
		qsort(doubles, n, sizeof(double), double_order);
	else if (!real && (test == GS_TEST_IN || rnd() % 8))
		qsort(integers, n, sizeof(wide), integer_order);
	list_term(l, c, test, real ? list_doubles(l, doubles, n) : list_integers(l, integers, n), n);
}

/* The least number that holds a type's values. */
static gs_number
number_of(gs_type type)
{
	static const gs_number numbers[] = {GS_NUMBER_I32,	GS_NUMBER_I32, GS_NUMBER_I64, GS_NUMBER_I128, GS_NUMBER_I128,
										GS_NUMBER_I16,	GS_NUMBER_I32, GS_NUMBER_I64, GS_NUMBER_F64,  GS_NUMBER_F64};

	return numbers[type];
}

/* Writes an expression over integer columns, which may overflow.  Returns its length; 0: it would take doubles. */
static uint32_t
some_code(steps_list *l, const table *t, gs_instruction *code)
{
	bool widest = rnd() % 4 != 0;
	uint32_t n = 0, depth = 0, values = 1 + (uint32_t) (rnd() % 4);

	while (values > 0 || depth > 1)
	{
		uint32_t c = (uint32_t) (rnd() % t->ncolumns);
		gs_number number = number_of(t->types[c]);

		if (values > 0 && (depth < 2 || rnd() % 2))
		{
			if (rnd() % 4 == 0)
			{
				wide v = (wide) (rnd() % 2000) - 1000;

				code[n++] = (gs_instruction){GS_CODE_CONSTANT, GS_NUMBER_I16 + rnd() % 4, 0, list_integers(l, &v, 1)};
			}
			else if (number == GS_NUMBER_F64)
				return 0;
			else
				code[n++] = (gs_instruction){GS_CODE_COLUMN, (uint8_t) (number + rnd() % (4 - number)), 0, c};
			values--;
			depth++;
			continue;
		}
		number = widest ? GS_NUMBER_I128 : (gs_number) (rnd() % 4);
		code[n++] = (gs_instruction){(uint8_t) (GS_CODE_ADD + rnd() % 3), (uint8_t) number, 0, 0};
		depth--;
	}
	return n;
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

/* The results by common/steps_row.h, which kernels call: row by row. */
static bool
row_by_row(const gs_steps *steps, const plain_segment *s, uint32_t first, uint32_t rows, gs_reduced *out)
{
	const gs_group_step *group = gs_steps_group(steps);
	gs_held columns[MOST_COLUMNS];

	for (uint32_t c = 0; c < steps->ncolumns; c++)
		columns[c] = (gs_held){s->values[c], s->nulls[c]};
	for (uint32_t r = first; r < first + rows; r++)
		for (uint32_t i = 0; gs_filter_passes(steps, gs_steps_filter(steps), columns, r) && i < group->naggregates; i++)
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

/* Some spans, also none, of rows that begin anywhere. */
static uint32_t
some_spans(const table *t, gs_span *spans, uint32_t most)
{
	uint32_t n = (uint32_t) (rnd() % (most + 1));

	for (uint32_t i = 0; i < n; i++)
	{
		const plain_segment *s = &t->plain[spans[i].segment = (uint32_t) (rnd() % SEGMENTS)];

		spans[i].first = rnd() % 3 ? (uint32_t) (rnd() % s->rows) : 0;
		spans[i].rows = rnd() % 3 ? (uint32_t) (rnd() % (s->rows - spans[i].first + 1)) : s->rows - spans[i].first;
	}
	return n;
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
