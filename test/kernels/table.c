/*
 * table.c: see table.h.
 */
#include "table.h"

#include <math.h>

void
table_start(table *t, uint64_t rows)
{
	memset(t, 0, sizeof(*t));
	t->rows = rows;
}

/*
 * Adds a column of zeros; its strings come from column_strings.
 */
column *
table_add(table *t, gs_type type, bool desc, bool nulls_first)
{
	column *c = &t->columns[t->ncolumns];

	c->spec = (gs_column_spec){type, desc, nulls_first};
	t->specs[t->ncolumns++] = c->spec;
	c->values = type == GS_BYTES ? NULL : calloc(t->rows + 1, gs_type_width(type));
	return c;
}

/*
 * Stores a value's lowest bytes; 16-byte ones get a hash of it below.
 */
void
column_set(column *c, uint64_t row, uint64_t value)
{
	size_t width = gs_type_width(c->spec.type);

	if (width == 16)
	{
		((uint64_t *) c->values)[2 * row] = value * 0x9e3779b97f4a7c15u;
		((uint64_t *) c->values)[2 * row + 1] = value;
	}
	else
		memcpy((char *) c->values + row * width, &value, width);
}

/*
 * Makes strings; make writes one of at most 1 MB to out and returns its length.
 */
void
column_strings(column *c, uint64_t rows, uint64_t (*make)(uint64_t row, uint8_t *out, void *arg), void *arg)
{
	uint8_t *one = malloc((1 << 20) + 16);
	uint64_t used = 0, room = 1 << 16;

	c->heap = malloc(room);
	c->offsets = malloc((rows + 1) * sizeof(uint64_t));
	for (uint64_t r = 0; r < rows; r++)
	{
		uint64_t n = make(r, one, arg);

		c->offsets[r] = used;
		if (used + n > room)
			c->heap = realloc(c->heap, room = 2 * (used + n));
		memcpy(c->heap + used, one, n);
		used += n;
	}
	c->offsets[rows] = used;
	free(one);
}

/*
 * Makes a fraction of the rows NULL.
 */
void
column_nulls(column *c, uint64_t rows, double fraction)
{
	c->null = malloc(rows + 1);
	for (uint64_t r = 0; r < rows; r++)
		c->null[r] = (double) (rnd() >> 11) / 9007199254740992.0 < fraction;
}

void
table_free(table *t)
{
	for (uint32_t c = 0; c < t->ncolumns; c++)
	{
		free(t->columns[c].values);
		free(t->columns[c].null);
		free(t->columns[c].offsets);
		free(t->columns[c].heap);
	}
}

/* ---------------------------------------------------------------- comparison */

/*
 * Compares doubles as PostgreSQL does.
 */
static int
compare_doubles(double a, double b)
{
	if (isnan(a) || isnan(b))
		return !!isnan(a) - !!isnan(b);
	return (a > b) - (a < b);
}

#define COMPARE(type)                                                                                                  \
	((((const type *) c->values)[a] > ((const type *) c->values)[b]) -                                                 \
	 (((const type *) c->values)[a] < ((const type *) c->values)[b]))

/*
 * Compares strings: memcmp, a prefix first.
 */
static int
compare_strings(const column *c, uint32_t a, uint32_t b)
{
	uint64_t la = c->offsets[a + 1] - c->offsets[a], lb = c->offsets[b + 1] - c->offsets[b];
	int result = memcmp(c->heap + c->offsets[a], c->heap + c->offsets[b], la < lb ? la : lb);

	return result != 0 ? result : (la > lb) - (la < lb);
}

/*
 * Compares two values that are not NULL, ascending.
 */
static int
compare_values(const column *c, uint32_t a, uint32_t b)
{
	const uint64_t *wide = c->values;

	switch (c->spec.type)
	{
		case GS_U8:
			return COMPARE(uint8_t);
		case GS_U16:
			return COMPARE(uint16_t);
		case GS_U32:
			return COMPARE(uint32_t);
		case GS_U64:
			return COMPARE(uint64_t);
		case GS_I16:
			return COMPARE(int16_t);
		case GS_I32:
			return COMPARE(int32_t);
		case GS_I64:
			return COMPARE(int64_t);
		case GS_F32:
			return compare_doubles(((const float *) c->values)[a], ((const float *) c->values)[b]);
		case GS_F64:
			return compare_doubles(((const double *) c->values)[a], ((const double *) c->values)[b]);
		case GS_U128:
			if (wide[2 * a + 1] != wide[2 * b + 1])
				return wide[2 * a + 1] > wide[2 * b + 1] ? 1 : -1;
			return (wide[2 * a] > wide[2 * b]) - (wide[2 * a] < wide[2 * b]);
		default:
			return compare_strings(c, a, b);
	}
}

int
row_compare(const table *t, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < t->ncolumns; i++)
	{
		const column *c = &t->columns[i];
		bool null_a = c->null && c->null[a], null_b = c->null && c->null[b];
		int result;

		if (null_a && null_b)
			continue;
		if (null_a || null_b)
			return null_a == c->spec.nulls_first ? -1 : 1;
		result = compare_values(c, a, b);
		if (result != 0)
			return c->spec.desc ? (result > 0 ? -1 : 1) : result;
	}
	return 0;
}

bool
order_right(const table *t, const uint32_t *out)
{
	return first_right(t, out, t->rows);
}

bool
first_right(const table *t, const uint32_t *out, uint64_t n)
{
	uint64_t before = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		int result;

		if (out[i] >= t->rows)
			return false;
		if (i == 0)
			continue;
		result = row_compare(t, out[i - 1], out[i]);
		if (result > 0 || (result == 0 && out[i - 1] >= out[i]))
			return false;
	}
	/* all rows before the last one are among them if they are as many */
	for (uint64_t row = 0; n > 0 && n < t->rows && row < t->rows; row++)
	{
		int result = row_compare(t, (uint32_t) row, out[n - 1]);

		before += result < 0 || (result == 0 && row < out[n - 1]);
	}
	return n == 0 || n == t->rows || before == n - 1;
}

/* ---------------------------------------------------------------- jobs */

/*
 * Copies a row's value into a chunk.
 */
static void
put(gs_chunk *chunk, uint32_t i, const column *c, uint64_t row)
{
	gs_chunk_column *cc = &chunk->columns[i];
	char *base = (char *) chunk;
	uint32_t r = chunk->rows;
	size_t width = gs_type_width(c->spec.type);

	if (c->spec.type == GS_BYTES)
	{
		uint32_t *offsets = (uint32_t *) (base + cc->values);
		uint64_t n = c->offsets[row + 1] - c->offsets[row];

		memcpy(base + cc->heap + offsets[r], c->heap + c->offsets[row], n);
		offsets[r + 1] = offsets[r] + (uint32_t) n;
	}
	else
		memcpy(base + cc->values + r * width, (const char *) c->values + row * width, width);
	if (c->null && c->null[row])
	{
		if (!cc->has_nulls)
			memset(base + cc->nulls, 0, chunk->capacity / 8);
		cc->has_nulls = 1;
		((uint64_t *) (base + cc->nulls))[r / 64] |= (uint64_t) 1 << r % 64;
	}
}

/*
 * The length of the longest string of a table.
 */
static uint64_t
longest_string(const table *t)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < t->ncolumns; i++)
		for (uint64_t r = 0; t->columns[i].offsets && r < t->rows; r++)
			if (t->columns[i].offsets[r + 1] - t->columns[i].offsets[r] > longest)
				longest = t->columns[i].offsets[r + 1] - t->columns[i].offsets[r];
	return longest;
}

/*
 * True if a row's strings still fit.
 */
static bool
fits(const gs_chunk *chunk, const table *t, uint64_t row)
{
	for (uint32_t i = 0; i < t->ncolumns; i++)
	{
		const gs_chunk_column *cc = &chunk->columns[i];
		const column *c = &t->columns[i];

		if (c->offsets && ((const uint32_t *) ((const char *) chunk + cc->values))[chunk->rows] +
								  (c->offsets[row + 1] - c->offsets[row]) >
							  cc->heap_bytes)
			return false;
	}
	return true;
}

gs_status
feed(gs_job *job, const table *t, uint32_t chunk_rows)
{
	uint64_t most = chunk_rows < t->rows ? chunk_rows : t->rows, longest = longest_string(t);
	uint32_t capacity = (uint32_t) (most / 64 + 1) * 64;
	uint32_t per_string = (uint32_t) (chunk_rows < t->rows ? longest / 64 + 20 : longest);
	size_t bytes = gs_chunk_bytes(t->specs, t->ncolumns, capacity, per_string);
	static gs_chunk *chunk; /* of the last call, which may have been left by longjmp */
	gs_status status = GS_OK;

	free(chunk);
	chunk = aligned_alloc(GS_ALIGN, bytes);
	for (uint64_t row = 0; row < t->rows && status == GS_OK;)
	{
		memset((void *) chunk, 0xa5, bytes);
		if (gs_chunk_init(chunk, bytes, t->specs, t->ncolumns, capacity, per_string) != GS_OK)
			abort();
		while (row < t->rows && chunk->rows < chunk_rows && fits(chunk, t, row))
		{
			for (uint32_t i = 0; i < t->ncolumns; i++)
				put(chunk, i, &t->columns[i], row);
			chunk->rows++;
			row++;
		}
		status = gs_job_add(job, chunk);
	}
	return status;
}

/*
 * Runs a job for an order, or for the first rows of one.
 */
static bool
job_right(gs_engine *engine, const table *t, const gs_job_spec *spec, uint32_t chunk_rows, uint64_t piece,
		  gs_job_info *info)
{
	uint64_t n = spec->op == GS_TOPK && spec->limit < t->rows ? spec->limit : t->rows, got = 1, at = 0, bound;
	uint32_t *out = malloc((n + 2) * sizeof(uint32_t));
	gs_job_info now;
	gs_job *job;
	bool good = gs_job_begin(engine, spec, NULL, &job) == GS_OK && feed(job, t, chunk_rows) == GS_OK;

	memset(out, 0xff, (n + 2) * sizeof(uint32_t));
	out[0] = 0xdeadbeef;
	bound = good ? gs_job_host_bytes(job) : 0;
	good = good && gs_job_finish(job, t->rows) == GS_OK;
	while (good && got > 0)
	{
		uint64_t room = n - at < piece ? n - at + 1 : piece;

		good = gs_job_next(job, out + 1 + at, at + room > n ? n - at : room, &got) == GS_OK;
		at += got;
	}
	good = good && at == n && out[0] == 0xdeadbeef && out[n + 1] == 0xffffffff && first_right(t, out + 1, n);
	gs_job_get_info(job, &now);
	good = good && now.rows == t->rows && now.host_bytes <= bound;
	if (info != NULL)
		*info = now;
	gs_job_end(job);
	free(out);
	return good;
}

bool
order_job_right(gs_engine *engine, const table *t, uint32_t chunk_rows, uint64_t piece, gs_job_info *info)
{
	gs_job_spec spec = {.op = GS_ORDER, .ncolumns = t->ncolumns, .columns = t->specs};

	return job_right(engine, t, &spec, chunk_rows, piece, info);
}

bool
top_job_right(gs_engine *engine, const table *t, uint64_t limit, uint32_t chunk_rows, uint64_t piece)
{
	gs_job_spec spec = {.op = GS_TOPK, .ncolumns = t->ncolumns, .columns = t->specs, .limit = limit};

	return job_right(engine, t, &spec, chunk_rows, piece, NULL);
}
