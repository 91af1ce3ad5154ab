/*
 * job_tables.c: random tables for the tests of jobs, and a job run on one.
 */
#include "jobs.h"

/* ---------------------------------------------------------------- random tables */

uint64_t most_rows;

/* Few or many different values; floats with zeros of both signs, infinities and NaNs of several kinds. */
static void
random_values(column *c, uint64_t rows, uint64_t different)
{
	static const uint64_t odd64[] = {
		0x8000000000000000u, 0, 0x7ff8000000000000u, 0xfff8000000000001u, 0x7ff0000000000000u, 0xfff0000000000000u};
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

column *
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

uint64_t
random_rows(void)
{
	static const uint64_t special[] = {0, 1, 2, 63, 64, 65, 127, 4095, 4096, 4097};
	uint64_t rows = rnd_below(2) ? special[rnd_below(10)] : rnd_below(most_rows);

	return rows < most_rows ? rows : most_rows;
}

/* ---------------------------------------------------------------- running a job */

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
char *
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
table
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
uint32_t *
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

bool
is_null(const column *c, uint64_t row)
{
	return c->null != NULL && c->null[row];
}

const char *
describe(const table *t)
{
	static char text[200];
	size_t at = (size_t) snprintf(text, sizeof(text), "%llu rows of", (unsigned long long) t->rows);

	for (uint32_t c = 0; c < t->ncolumns; c++)
		at += (size_t) snprintf(text + at, sizeof(text) - at, " %s%s", type_name(t->specs[c].type),
								t->columns[c].null ? "?" : "");
	return text;
}
