/*
 * jobs.c: every operation of a job on random tables, on one engine, against plain C; output in TAP.
 *
 *   jobs-test [cpu | gpu] [ROUNDS] [MOST ROWS] [SEED]
 */
#include "../primitives/tap.h"

#include <math.h>

static gs_engine *engine;

/* ---------------------------------------------------------------- random tables */

static uint64_t most_rows = 3000;

/* Few or many different values; floats with zeros of both signs, infinities and NaNs of several kinds. */
static void
random_values(column *c, uint64_t rows, uint64_t different)
{
	static const uint64_t odd64[] = {0x8000000000000000u, 0, 0x7ff8000000000000u, 0xfff8000000000001u, 0x7ff0000000000000u,
									 0xfff0000000000000u};
	static const uint32_t odd32[] = {0x80000000u, 0, 0x7fc00000u, 0xffc00001u, 0x7f800000u, 0xff800000u};
	bool runs = rnd_below(2) != 0;
	uint64_t last = 0, oddities = rnd_below(3) ? 0 : 20;

	for (uint64_t r = 0; r < rows; r++)
	{
		uint64_t v = runs && rnd_below(4) ? last : rnd_below(different);

		last = v;
		if (c->spec.type == GS_F64)
		{
			double d = (double) v * 0.37 - 11;

			memcpy(&v, rnd_below(100) < oddities ? (const void *) &odd64[rnd_below(6)] : (const void *) &d, 8);
		}
		else if (c->spec.type == GS_F32)
		{
			float f = (float) v * 0.37f - 11;

			v = 0;
			memcpy(&v, rnd_below(100) < oddities ? (const void *) &odd32[rnd_below(6)] : (const void *) &f, 4);
		}
		else if (different > 1000)
			v = v * 0x9e3779b97f4a7c15u;
		else
			v -= different / 2;
		column_set(c, r, v);
	}
}

static uint64_t
random_string(uint64_t row, uint8_t *out, void *arg)
{
	const uint64_t *different = arg;
	uint64_t which = rnd_below(*different), n = which % 5 == 0 ? which % 40 : which % 3;

	(void) row;
	for (uint64_t i = 0; i < n; i++)
		out[i] = (uint8_t) ('a' + (which >> i % 8) % 2);
	return n;
}

static column *
random_column(table *t, gs_type type)
{
	uint64_t different = (const uint64_t[]){1, 2, 7, 300, (uint64_t) 1 << 40}[rnd_below(5)];
	column *c = table_add(t, type, rnd_below(2), rnd_below(2));

	if (type == GS_BYTES)
		column_strings(c, t->rows, random_string, &different);
	else
		random_values(c, t->rows, different);
	if (rnd_below(2))
		column_nulls(c, t->rows, (const double[]){0, 0.01, 0.5, 1}[rnd_below(4)]);
	return c;
}

static uint64_t
random_rows(void)
{
	static const uint64_t special[] = {0, 1, 2, 63, 64, 65, 127, 4095, 4096, 4097};
	uint64_t rows = rnd_below(2) ? special[rnd_below(10)] : rnd_below(most_rows);

	return rows < most_rows ? rows : most_rows;
}

/* ---------------------------------------------------------------- running a job */

#define GUARD 64

/* Gives a table to a job as it is, its NULLs as bits; false if the job would rather have chunks. */
static bool
lend(gs_job *job, const table *t, uint64_t *nulls)
{
	gs_column columns[MAX_COLUMNS];
	uint64_t words = t->rows / 64 + 1;

	memset(nulls, 0, MAX_COLUMNS * words * sizeof(uint64_t));
	for (uint32_t c = 0; c < t->ncolumns; c++)
	{
		const column *from = &t->columns[c];

		columns[c] = (gs_column){.spec = from->spec, .values = from->values};
		if (from->null == NULL)
			continue;
		columns[c].nulls = nulls + c * words;
		for (uint64_t r = 0; r < t->rows; r++)
			nulls[c * words + r / 64] |= (uint64_t) (from->null[r] != 0) << r % 64;
	}
	return gs_job_lend(job, columns, t->rows) == GS_OK;
}

/* The result of a job, or NULL if it failed or broke a rule; count elements of it. */
static char *
run(const table *t, const gs_job_spec *spec, gs_status expected, uint64_t *count, gs_job_info *info)
{
	size_t width = gs_job_result_bytes(spec);
	uint64_t got = 1, at = 0, bound, room = t->rows + 1;
	uint32_t chunk_rows = (uint32_t) (1 + rnd_below(rnd_below(2) ? 200 : t->rows + 1));
	char *out = malloc(room * width + 2 * GUARD), *data = out + GUARD;
	gs_job *job = NULL;
	uint64_t *nulls = malloc(MAX_COLUMNS * (t->rows / 64 + 1) * sizeof(uint64_t));
	gs_status status = gs_job_begin(engine, spec, NULL, &job);

	memset(out, 0xb7, room * width + 2 * GUARD);
	if (status == GS_OK && (rnd_below(3) || !lend(job, t, nulls)))
		status = feed(job, t, chunk_rows);
	bound = status == GS_OK ? gs_job_host_bytes(job) : 0;
	if (status == GS_OK)
		status = gs_job_finish(job, t->rows);
	while (status == GS_OK && got > 0)
	{
		uint64_t piece = 1 + rnd_below(rnd_below(2) ? 100 : t->rows + 1);

		if (at + piece > room)
			piece = room - at;
		status = gs_job_next(job, data + at * width, piece, &got);
		if (got > piece)
			status = GS_INVALID;
		for (size_t i = 0; i < GUARD; i++)
			if ((unsigned char) out[i] != 0xb7 || (unsigned char) data[(at + got) * width + i % width] != 0xb7)
				status = GS_INVALID;
		at += got;
	}
	if (job != NULL)
	{
		gs_job_get_info(job, info);
		if (status == GS_OK && (info->rows != t->rows || info->results != at || info->host_bytes > bound))
			status = GS_INVALID;
	}
	gs_job_end(job);
	free(nulls);
	*count = at;
	if (status == expected)
		return out;
	printf("# status %d (%s), wanted %d\n", status, gs_status_text(status), expected);
	free(out);
	return NULL;
}

/* A table of some columns of another one. */
static table
part_of(const table *t, uint32_t from, uint32_t n)
{
	table part = {.rows = t->rows, .ncolumns = n};

	for (uint32_t i = 0; i < n; i++)
	{
		part.columns[i] = t->columns[from + i];
		part.specs[i] = t->specs[from + i];
	}
	return part;
}

static const table *sorted_table;

static int
compare_rows(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
	int result = sorted_table->ncolumns ? row_compare(sorted_table, x, y) : 0;

	return result ? result : (x > y) - (x < y);
}

/* The stable order by some columns; free it. */
static uint32_t *
order_of(const table *t)
{
	uint32_t *order = malloc((t->rows + 1) * sizeof(uint32_t));

	for (uint64_t i = 0; i < t->rows; i++)
		order[i] = (uint32_t) i;
	sorted_table = t;
	if (t->ncolumns > 0)
		qsort(order, t->rows, sizeof(uint32_t), compare_rows);
	return order;
}

static bool
is_null(const column *c, uint64_t row)
{
	return c->null != NULL && c->null[row];
}

static const char *
describe(const table *t)
{
	static const char *const names[] = {"u8",  "u16", "u32", "u64", "u128", "i16",
										"i32", "i64", "f32", "f64", "bytes"};
	static char text[200];
	size_t at = (size_t) snprintf(text, sizeof(text), "%llu rows of", (unsigned long long) t->rows);

	for (uint32_t c = 0; c < t->ncolumns; c++)
		at += (size_t) snprintf(text + at, sizeof(text) - at, " %s%s", names[t->specs[c].type],
								t->columns[c].null ? "?" : "");
	return text;
}

/* ---------------------------------------------------------------- runs */

static bool
runs_right(const gs_run *out, uint64_t count, const uint32_t *order, const table *keys)
{
	uint64_t at = 0, i = 0;

	for (; at < keys->rows && i < count; i++)
	{
		uint64_t end = at + 1;

		while (end < keys->rows && row_compare(keys, order[end - 1], order[end]) == 0)
			end++;
		if (out[i].row != order[at] || out[i].length != end - at)
			return false;
		at = end;
	}
	return at == keys->rows && i == count;
}

static bool
test_runs(void)
{
	table t, keys, order_by;
	gs_job_spec spec = {.op = GS_RUNS, .columns = t.specs};
	uint32_t n = 1 + (uint32_t) rnd_below(3);
	uint32_t *order;
	uint64_t count;
	gs_job_info info;
	char *out;
	bool good;

	table_start(&t, random_rows());
	for (uint32_t c = 0; c < n; c++)
		random_column(&t, (gs_type) rnd_below(11));
	spec.ncolumns = n;
	spec.order_columns = (uint32_t) rnd_below(n + 1);
	spec.key_columns = 1 + (uint32_t) rnd_below(n);
	order_by = part_of(&t, 0, spec.order_columns);
	keys = part_of(&t, n - spec.key_columns, spec.key_columns);
	order = order_of(&order_by);
	out = run(&t, &spec, GS_OK, &count, &info);
	good = out != NULL && runs_right((const gs_run *) (out + GUARD), count, order, &keys);
	if (!good)
		printf("# runs: %s, order %u, key %u\n", describe(&t), spec.order_columns, spec.key_columns);
	free(out);
	free(order);
	table_free(&t);
	return good;
}

/* ---------------------------------------------------------------- reduce */

/* A value as an integer, of a type that is one. */
static __int128
integer_at(const column *c, uint64_t row)
{
	switch (c->spec.type)
	{
		case GS_U8:
			return ((const uint8_t *) c->values)[row];
		case GS_U16:
			return ((const uint16_t *) c->values)[row];
		case GS_U32:
			return ((const uint32_t *) c->values)[row];
		case GS_U64:
			return ((const uint64_t *) c->values)[row];
		case GS_I16:
			return ((const int16_t *) c->values)[row];
		case GS_I32:
			return ((const int32_t *) c->values)[row];
		default:
			return ((const int64_t *) c->values)[row];
	}
}

static bool
is_float(gs_type type)
{
	return type == GS_F32 || type == GS_F64;
}

/* The bits of a result that is a float; one NaN. */
static uint64_t
float_bits(gs_type type, double d)
{
	float f = (float) d;
	uint64_t bits = 0;

	if (isnan(d))
		return type == GS_F32 ? 0x7fc00000u : 0x7ff8000000000000u;
	memcpy(&bits, type == GS_F32 ? (const void *) &f : (const void *) &d, type == GS_F32 ? 4 : 8);
	return bits;
}

static double
float_at(const column *c, uint64_t row)
{
	return c->spec.type == GS_F32 ? ((const float *) c->values)[row] : ((const double *) c->values)[row];
}

/* a + b in the arithmetic of a type. */
static double
add(gs_type type, double a, double b)
{
	if (type == GS_F32)
	{
		volatile float s = (float) a + (float) b;

		return s;
	}
	return a + b;
}

/* The lesser or greater of two floats as gs.h says; a NULL pointer is nothing yet. */
static double
extreme(gs_operation op, const double *a, double b)
{
	bool less;

	if (a == NULL)
		return b;
	if (isnan(*a) || isnan(b))
		return (op == GS_MIN) == !!isnan(*a) ? b : *a;
	less = *a < b || (*a == b && signbit(*a));
	return less == (op == GS_MIN) ? *a : b;
}

/*
 * The sum of the positions from..upto - 1 by the fixed tree: level 0 are values, level k groups of 16 of level k - 1, counted from
 * the array's begin; three levels.  Sums start from -0.
 */
static double
tree(const column *c, const uint32_t *order, uint64_t from, uint64_t upto, int level)
{
	const uint64_t size[] = {1, 16, 256, 4096};
	double s = -0.0;

	if (level == 0)
		return is_null(c, order[from]) ? -0.0 : float_at(c, order[from]);
	for (uint64_t at = from; at < upto;)
	{
		uint64_t end = level == 4 ? (at / 4096 + 1) * 4096 : (at / size[level - 1] + 1) * size[level - 1];

		if (end > upto)
			end = upto;
		s = add(c->spec.type, s, tree(c, order, at, end, level - 1));
		at = end;
	}
	return s;
}

/* The group that a run should give. */
static gs_group
group_of(const column *c, const uint32_t *order, uint64_t from, uint64_t upto, gs_operation op)
{
	gs_group g = {.row = order[from], .length = (uint32_t) (upto - from)};
	__int128 sum = 0;
	double best = 0;

	for (uint64_t i = from; i < upto; i++)
	{
		uint32_t row = order[i];

		if (is_null(c, row))
			continue;
		if (op == GS_COUNT)
			;
		else if (is_float(c->spec.type))
			best = extreme(op, g.valid ? &best : NULL, float_at(c, row));
		else if (op == GS_SUM)
			sum += integer_at(c, row);
		else if (g.valid == 0 || (op == GS_MIN) == (integer_at(c, row) < sum))
			sum = integer_at(c, row);
		g.valid++;
	}
	if (op == GS_COUNT)
		sum = g.valid;
	else if (is_float(c->spec.type))
		sum = (__int128) float_bits(c->spec.type, op == GS_SUM ? tree(c, order, from, upto, 4) : best);
	g.value[0] = (uint64_t) sum;
	g.value[1] = (uint64_t) (sum >> 64);
	return g;
}

static bool
groups_right(const gs_group *out, uint64_t count, const uint32_t *order, const table *keys, const column *values,
			 gs_operation op)
{
	uint64_t at = 0, i = 0;

	for (; at < keys->rows && i < count; i++)
	{
		uint64_t end = at + 1;
		gs_group g, x = out[i];

		while (end < keys->rows && row_compare(keys, order[end - 1], order[end]) == 0)
			end++;
		g = group_of(values, order, at, end, op);
		if (g.valid == 0) /* no value, so nothing is said of it */
			x.value[0] = g.value[0], x.value[1] = g.value[1];
		if (memcmp(&g, &x, sizeof(g)) != 0)
		{
			printf("# group %llu: %llx %llx %u %u %u, wanted %llx %llx %u %u %u\n", (unsigned long long) i,
				   (unsigned long long) x.value[0], (unsigned long long) x.value[1], x.row, x.length, x.valid,
				   (unsigned long long) g.value[0], (unsigned long long) g.value[1], g.row, g.length, g.valid);
			return false;
		}
		at = end;
	}
	return at == keys->rows && i == count;
}

static const gs_type numbers[] = {GS_U8, GS_U16, GS_U32, GS_U64, GS_I16, GS_I32, GS_I64, GS_F32, GS_F64};

static bool
test_reduce(void)
{
	table t, keys, order_by;
	gs_job_spec spec = {.op = GS_REDUCE, .columns = t.specs};
	uint32_t n = 1 + (uint32_t) rnd_below(2);
	uint32_t *order;
	uint64_t count;
	gs_job_info info;
	char *out;
	bool good;

	spec.operation = (const gs_operation[]){GS_SUM, GS_SUM, GS_MIN, GS_MAX, GS_COUNT}[rnd_below(5)];
	table_start(&t, random_rows());
	for (uint32_t c = 0; c < n; c++)
		random_column(&t, (gs_type) rnd_below(11));
	random_column(&t, spec.operation == GS_COUNT ? (gs_type) rnd_below(11) : numbers[rnd_below(9)]);
	spec.ncolumns = n + 1;
	spec.order_columns = (uint32_t) rnd_below(n + 1);
	spec.key_columns = 1 + (uint32_t) rnd_below(n);
	order_by = part_of(&t, 0, spec.order_columns);
	keys = part_of(&t, n - spec.key_columns, spec.key_columns);
	order = order_of(&order_by);
	out = run(&t, &spec, GS_OK, &count, &info);
	good = out != NULL && groups_right((const gs_group *) (out + GUARD), count, order, &keys, &t.columns[n], spec.operation);
	if (!good)
		printf("# reduce %d: %s, order %u, key %u\n", spec.operation, describe(&t), spec.order_columns, spec.key_columns);
	free(out);
	free(order);
	table_free(&t);
	return good;
}

/* ---------------------------------------------------------------- scan */

/* The sum at a position, by the groups of gs_scan_fixed, with its value or without. */
static double
fixed_sum(const column *c, const uint32_t *order, uint64_t at, bool inclusive)
{
	uint64_t a = at / 4096 * 4096, b = at / 256 * 256, d = at / 16 * 16;
	double s = 0;

	for (uint64_t i = 0; i < a; i += 4096)
		s = add(c->spec.type, s, tree(c, order, i, i + 4096, 3));
	s = add(c->spec.type, s, tree(c, order, a, b, 3));
	s = add(c->spec.type, s, tree(c, order, b, d, 2));
	return add(c->spec.type, s, tree(c, order, d, at + inclusive, 1));
}

/* The extreme of the values before a position; where there are none, what gs_scan says. */
static uint64_t
extreme_bits(gs_type type, gs_operation op, bool any, __int128 i, double d)
{
	if (is_float(type))
		return float_bits(type, any ? d : op == GS_MIN ? (double) NAN : -(double) INFINITY);
	if (any)
		return (uint64_t) i;
	if (type < GS_I16)
		return op == GS_MIN ? UINT64_MAX : 0;
	return op == GS_MIN ? INT64_MAX : (uint64_t) INT64_MIN;
}

/* Compares a scan's result; true overflow if a sum left 64 bits. */
static bool
scan_right(const char *out, const column *c, uint64_t rows, gs_operation op, bool exclusive, bool *overflow)
{
	gs_type type = c->spec.type;
	table none = {.rows = rows};
	uint32_t *order = order_of(&none);
	size_t width = type == GS_F32 ? 4 : 8;
	__int128 sum = 0, best = 0;
	double extreme_float = 0;
	bool any = false, good = true;

	*overflow = false;
	for (uint64_t i = 0; i < rows && good; i++)
		for (int step = 0; step < 2; step++)
		{
			uint64_t wanted, is = 0;

			if (step == exclusive && !is_null(c, i))
			{
				if (is_float(type))
					extreme_float = extreme(op, any ? &extreme_float : NULL, float_at(c, i));
				else
				{
					sum += integer_at(c, i);
					if (!any || (op == GS_MIN) == (integer_at(c, i) < best))
						best = integer_at(c, i);
				}
				any = true;
			}
			if (step == exclusive)
				continue;
			if (op != GS_SUM)
				wanted = extreme_bits(type, op, any, best, extreme_float);
			else if (is_float(type))
				wanted = float_bits(type, fixed_sum(c, order, i, !exclusive));
			else
				wanted = (uint64_t) sum;
			if (op == GS_SUM && !is_float(type))
				*overflow |= type < GS_I16 ? sum > UINT64_MAX : sum != (int64_t) sum;
			if (out != NULL)
				memcpy(&is, out + i * width, width);
			if (out != NULL && is != wanted && !*overflow)
			{
				printf("# row %llu: %llx, wanted %llx\n", (unsigned long long) i, (unsigned long long) is,
					   (unsigned long long) wanted);
				good = false;
			}
		}
	free(order);
	return good;
}

static bool
test_scan(void)
{
	table t;
	gs_job_spec spec = {.op = GS_SCAN, .ncolumns = 1, .columns = t.specs, .exclusive = rnd_below(2)};
	bool overflow, good;
	uint64_t count;
	gs_job_info info;
	column *c;
	char *out;

	spec.operation = (const gs_operation[]){GS_SUM, GS_SUM, GS_MIN, GS_MAX}[rnd_below(4)];
	table_start(&t, random_rows());
	c = random_column(&t, numbers[rnd_below(9)]);
	scan_right(NULL, c, t.rows, spec.operation, spec.exclusive, &overflow);
	out = run(&t, &spec, overflow ? GS_OVERFLOW : GS_OK, &count, &info);
	good = out != NULL &&
		   (overflow || (count == t.rows && scan_right(out + GUARD, c, t.rows, spec.operation, spec.exclusive, &overflow)));
	if (!good)
		printf("# scan %d%s: %s\n", spec.operation, spec.exclusive ? ", exclusive" : "", describe(&t));
	free(out);
	table_free(&t);
	return good;
}

/* ---------------------------------------------------------------- select, partition */

/* The sign of a comparison that a filter keeps. */
static bool
kept(const gs_job_spec *spec, const table *t, uint64_t row, uint32_t constant_row)
{
	int sign;

	if (is_null(&t->columns[0], row))
		return false;
	if (spec->filter.by_flags)
		return ((const uint8_t *) t->columns[0].values)[row] != 0;
	sign = row_compare(t, (uint32_t) row, constant_row);
	if (t->specs[0].desc)
		sign = -sign;
	switch (spec->filter.comparison)
	{
		case GS_EQ:
			return sign == 0;
		case GS_NE:
			return sign != 0;
		case GS_LT:
			return sign < 0;
		case GS_LE:
			return sign <= 0;
		case GS_GT:
			return sign > 0;
		default:
			return sign >= 0;
	}
}

/* Points a filter at the value of a row. */
static void
constant_of_row(gs_job_filter *filter, const column *c, uint64_t row)
{
	size_t width = gs_type_width(c->spec.type);

	if (c->spec.type == GS_BYTES)
	{
		filter->value = c->heap + c->offsets[row];
		filter->value_bytes = c->offsets[row + 1] - c->offsets[row];
	}
	else
	{
		filter->value = (const char *) c->values + row * width;
		filter->value_bytes = width;
	}
}

static bool
test_filter(void)
{
	table t;
	gs_job_spec spec = {.op = rnd_below(2) ? GS_SELECT : GS_PARTITION, .ncolumns = 1, .columns = t.specs};
	uint32_t constant = 0;
	uint64_t count, k = 0, selected = 0;
	const uint32_t *rows;
	gs_job_info info;
	bool good;
	column *c;
	char *out;

	table_start(&t, 1 + random_rows());
	spec.filter.by_flags = rnd_below(4) == 0;
	spec.filter.comparison = (gs_comparison) rnd_below(GS_BETWEEN);
	c = random_column(&t, spec.filter.by_flags ? GS_U8 : (gs_type) rnd_below(11));
	while (constant + 1 < t.rows && is_null(c, constant))
		constant++;
	if (is_null(c, constant))
		c->null[constant] = 0;
	constant_of_row(&spec.filter, c, constant);
	out = run(&t, &spec, GS_OK, &count, &info);
	good = out != NULL;
	rows = (const uint32_t *) (out + GUARD);
	for (uint64_t r = 0; r < t.rows; r++)
		selected += kept(&spec, &t, r, constant);
	for (int part = 0; part <= (spec.op == GS_PARTITION); part++)
		for (uint64_t r = 0; r < t.rows && good; r++)
			if (kept(&spec, &t, r, constant) != part)
				good = k < count && rows[k++] == r;
	good = good && k == count && info.selected == selected;
	if (!good)
		printf("# %s: %s%s, comparison %d\n", spec.op == GS_SELECT ? "select" : "partition", describe(&t),
			   spec.filter.by_flags ? ", flags" : "", spec.filter.comparison);
	free(out);
	table_free(&t);
	return good;
}

/* ---------------------------------------------------------------- top-k */

static bool
test_topk(void)
{
	table t;
	gs_job_spec spec = {.op = GS_TOPK, .columns = t.specs};
	uint32_t n = 1 + (uint32_t) rnd_below(2);
	uint64_t count;
	uint32_t *order;
	gs_job_info info;
	char *out;
	bool good;

	table_start(&t, random_rows());
	for (uint32_t c = 0; c < n; c++)
		random_column(&t, (gs_type) rnd_below(11));
	spec.ncolumns = n;
	spec.limit = rnd_below(3) ? rnd_below(20) : rnd_below(t.rows + 10);
	order = order_of(&t);
	out = run(&t, &spec, GS_OK, &count, &info);
	good = out != NULL && count == (spec.limit < t.rows ? spec.limit : t.rows) &&
		   memcmp(out + GUARD, order, count * sizeof(uint32_t)) == 0;
	if (!good)
		printf("# top %llu: %s\n", (unsigned long long) spec.limit, describe(&t));
	free(out);
	free(order);
	table_free(&t);
	return good;
}

/* ---------------------------------------------------------------- the rules */

/* What no job takes. */
static void
misuse(void)
{
	gs_column_spec c[2] = {{GS_I64, false, false}, {GS_BYTES, false, false}};
	uint64_t value = 0;
	const gs_job_spec wrong[] = {
		{.op = GS_SCAN, .ncolumns = 2, .columns = c},
		{.op = GS_SCAN, .ncolumns = 1, .columns = c + 1},
		{.op = GS_SCAN, .ncolumns = 1, .columns = c, .operation = GS_COUNT},
		{.op = GS_RUNS, .ncolumns = 1, .columns = c},
		{.op = GS_RUNS, .ncolumns = 1, .columns = c, .key_columns = 2},
		{.op = GS_RUNS, .ncolumns = 1, .columns = c, .key_columns = 1, .order_columns = 2},
		{.op = GS_REDUCE, .ncolumns = 1, .columns = c, .key_columns = 1},
		{.op = GS_REDUCE, .ncolumns = 2, .columns = c, .key_columns = 1},
		{.op = GS_REDUCE, .ncolumns = 2, .columns = c, .key_columns = 2, .operation = GS_COUNT},
		{.op = GS_REDUCE, .ncolumns = 2, .columns = c, .key_columns = 1, .order_columns = 2, .operation = GS_COUNT},
		{.op = GS_SELECT, .ncolumns = 2, .columns = c, .filter = {.value = &value, .value_bytes = 8}},
		{.op = GS_SELECT, .ncolumns = 1, .columns = c, .filter = {.value = &value, .value_bytes = 4}},
		{.op = GS_SELECT, .ncolumns = 1, .columns = c, .filter = {.value_bytes = 8}},
		{.op = GS_SELECT, .ncolumns = 1, .columns = c, .filter = {.by_flags = true}},
		{.op = GS_SELECT, .ncolumns = 1, .columns = c, .filter = {.comparison = GS_BETWEEN, .value = &value, .value_bytes = 8}},
		{.op = (gs_op) 7, .ncolumns = 1, .columns = c},
	};
	gs_job *job;
	bool good = true;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		good = good && gs_job_begin(engine, &wrong[i], NULL, &job) == GS_INVALID && job == NULL;
	tap_ok(good, "specifications that make no sense");
}

/* A sum that leaves 64 bits only for a while, and only in the row that is not given out. */
static void
edges(void)
{
	const int64_t values[] = {INT64_MAX, 1, -1};
	table t;
	gs_job_spec spec = {.op = GS_SCAN, .ncolumns = 1, .columns = t.specs};
	uint64_t count;
	gs_job_info info;
	char *out;

	table_start(&t, 3);
	table_add(&t, GS_I64, false, false);
	memcpy(t.columns[0].values, values, sizeof(values));
	out = run(&t, &spec, GS_OVERFLOW, &count, &info);
	tap_ok(out != NULL, "a sum that leaves its range and comes back");
	free(out);
	t.rows = 2;
	spec.exclusive = true;
	out = run(&t, &spec, GS_OK, &count, &info);
	tap_ok(out != NULL && count == 2 && ((int64_t *) (out + GUARD))[1] == INT64_MAX, "the last sum is nobody's");
	free(out);
	table_free(&t);
}

static gs_engine *
open_engine(const char *kind)
{
	gs_engine *opened = NULL;
	gs_status status = GS_INVALID;

	if (strcmp(kind, "cpu") == 0)
		status = gs_cpu_open(1, NULL, &opened);
#ifdef WITH_CUDA
	if (strcmp(kind, "gpu") == 0)
		status = gs_cuda_open(0, NULL, &opened);
#endif
	if (status != GS_OK)
		printf("Bail out! engine %s: %s\n", kind, gs_status_text(status));
	return opened;
}

int
main(int argc, char **argv)
{
	static const struct
	{
		const char *name;
		bool (*test)(void);
	} tests[] = {{"runs", test_runs},
				 {"reduce", test_reduce},
				 {"scan", test_scan},
				 {"select and partition", test_filter},
				 {"top-k", test_topk}};
	int rounds = argc > 2 ? atoi(argv[2]) : 400;

	engine = open_engine(argc > 1 ? argv[1] : "cpu");
	if (engine == NULL)
		return 1;
	most_rows = argc > 3 ? strtoull(argv[3], NULL, 10) : 6000;
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
	{
		int wrong = 0;

		rnd_seed(argc > 4 ? strtoull(argv[4], NULL, 10) : 1);
		for (int r = 0; r < rounds && wrong < 5; r++)
			wrong += !tests[i].test();
		tap_ok(wrong == 0, "%s, %d random tables", tests[i].name, rounds);
	}
	misuse();
	edges();
	gs_engine_close(engine);
	return tap_done();
}
