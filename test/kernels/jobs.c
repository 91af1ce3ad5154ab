/*
 * jobs.c: every operation of a job on random tables, on one engine, against plain C.  Takes rounds=N and rows=N, the
 * most of a table.
 */
#include "jobs.h"

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
runs_job(void)
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

/* Runs of keys whose first column or half fits into a word, while the rest does not. */
static void
wide_keys(void)
{
	for (int wide = 0; wide < 2; wide++)
	{
		table t;
		gs_job_spec spec = {.op = GS_RUNS, .columns = t.specs, .ncolumns = 2 - (uint32_t) wide};
		uint32_t *order;
		uint64_t count;
		gs_job_info info;
		char *out;

		spec.order_columns = spec.key_columns = spec.ncolumns;
		table_start(&t, 3000);
		for (uint32_t c = 0; c < spec.ncolumns; c++)
			table_add(&t, wide ? GS_U128 : GS_U64, false, false);
		for (uint64_t r = 0; r < t.rows; r++)
		{
			uint64_t few = rnd_below(5), many = rnd_below(400) * 0x9e3779b97f4a7c15u;
			uint64_t *first = t.columns[0].values, *second = wide ? first : t.columns[1].values;

			first[wide ? 2 * r + 1 : r] = few;
			second[wide ? 2 * r : r] = many;
		}
		order = order_of(&t);
		out = run(&t, &spec, GS_OK, &count, &info);
		tap_ok(out != NULL && runs_right((const gs_run *) (out + GUARD), count, order, &t), "runs of %s",
			   wide ? "values of 16 bytes" : "two columns");
		free(out);
		free(order);
		table_free(&t);
	}
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
filter_job(void)
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

/* Whether rows came as a job says that they did: the first k of their order then follow from it. */
static bool
came_so(const gs_job_info *info, uint64_t rows, const uint32_t *order, uint64_t k)
{
	for (uint64_t i = 0; i < k && info->order.input != GS_UNORDERED; i++)
		if (order[i] != (info->order.input == GS_ASCENDING ? i : rows - 1 - i))
			return false;
	return true;
}

static bool
topk_job(void)
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
		   memcmp(out + GUARD, order, count * sizeof(uint32_t)) == 0 && came_so(&info, t.rows, order, count);
	if (!good)
		printf("# top %llu: %s\n", (unsigned long long) spec.limit, describe(&t));
	free(out);
	free(order);
	table_free(&t);
	return good;
}

/* ---------------------------------------------------------------- values */

/* Rows of an order whose value differs from the one before, in their place; how many they are. */
static uint64_t
first_rows(const table *t, uint32_t *order)
{
	uint64_t k = 0;

	for (uint64_t i = 0; i < t->rows; i++)
		if (k == 0 || row_compare(t, order[k - 1], order[i]) != 0)
			order[k++] = order[i];
	return k;
}

static bool
values_job(void)
{
	static const gs_type types[] = {GS_U32, GS_I32, GS_F32, GS_U64, GS_I64, GS_F64};
	table t;
	gs_job_spec spec = {.op = GS_VALUES, .ncolumns = 1, .columns = t.specs};
	gs_type type = types[rnd_below(6)];
	size_t width = gs_type_width(type);
	uint64_t count, wanted, at;
	uint32_t *order;
	gs_job_info info;
	bool good, nulls = rnd_below(8) == 0;
	column *c;
	char *out;

	table_start(&t, random_rows());
	c = random_column(&t, type);
	if (!nulls)
	{
		free(c->null);
		c->null = NULL;
	}
	nulls = c->null != NULL && t.rows > 0;
	if (nulls)
		c->null[0] = 1;
	spec.order_columns = (uint32_t) rnd_below(2);
	spec.key_columns = spec.order_columns == 0 || rnd_below(2);
	spec.limit = rnd_below(2) ? rnd_below(t.rows + 2) : 0;
	spec.offset = rnd_below(2) ? rnd_below(t.rows + 2) : 0;
	order = order_of(&t);
	for (uint32_t r = 0; r < t.rows && spec.order_columns == 0; r++)
		order[r] = r;
	wanted = spec.key_columns > 0 ? first_rows(&t, order) : t.rows;
	at = spec.offset < wanted ? spec.offset : wanted;
	wanted -= at;
	if (spec.limit > 0 && spec.limit < wanted)
		wanted = spec.limit;
	out = run(&t, &spec, nulls ? GS_INVALID : GS_OK, &count, &info);
	good = out != NULL && (nulls || count == wanted);
	for (uint64_t i = 0; i < wanted && good && !nulls; i++)
		good = memcmp(out + GUARD + i * width, (const char *) c->values + order[at + i] * width, width) == 0;
	if (!good)
		printf("# values: %s, order %u, key %u, limit %llu, offset %llu\n", describe(&t), spec.order_columns,
			   spec.key_columns, (unsigned long long) spec.limit, (unsigned long long) spec.offset);
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
	gs_column_spec narrow = {GS_I16, false, false};
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
		{.op = GS_SELECT,
		 .ncolumns = 1,
		 .columns = c,
		 .filter = {.comparison = GS_BETWEEN, .value = &value, .value_bytes = 8}},
		{.op = GS_VALUES, .ncolumns = 2, .columns = c, .order_columns = 1},
		{.op = GS_VALUES, .ncolumns = 1, .columns = c},
		{.op = GS_VALUES, .ncolumns = 1, .columns = c, .order_columns = 1, .key_columns = 2},
		{.op = GS_VALUES, .ncolumns = 1, .columns = c + 1, .order_columns = 1},
		{.op = GS_VALUES, .ncolumns = 1, .columns = &narrow, .order_columns = 1},
		{.op = GS_OPS, .ncolumns = 1, .columns = c},
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

void
test_jobs(void)
{
	static const struct
	{
		const char *name;
		bool (*test)(void);
	} tests[] = {{"runs", runs_job},  {"reduce", reduce_job}, {"scan", scan_job}, {"select and partition", filter_job},
				 {"top-k", topk_job}, {"values", values_job}};
	int rounds = (int) option("rounds", small_only ? 150 : 400);

	most_rows = option("rows", small_only ? 3000 : 6000);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
	{
		int wrong = 0;

		seed(i);
		for (int r = 0; r < rounds && wrong < 5; r++)
			wrong += !tests[i].test();
		tap_ok(wrong == 0, "%s, %d random tables", tests[i].name, rounds);
	}
	wide_keys();
	misuse();
	edges();
}
