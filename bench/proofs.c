/*
 * proofs.c: what proving an order takes on a GPU: the engine's time of a job, from the last chunk to the order in its
 * memory, with the proof and without.
 *
 *   bench/proofs [ROWS [ROUNDS]]
 *
 * Each case is run ROUNDS times (15) with and without, in turns, of ROWS rows (5 million).  Times are medians in
 * milliseconds on the clock, with the quartiles of the differences of pairs.
 */
#include "mix.h"
#include "../kernels/cuda/base/sort_testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_ROWS	65536
#define MOST_ROUNDS 99

/* What is sorted: columns, of strings the characters (hexadecimal, behind a prefix), and the rows that are wanted. */
typedef struct sorted
{
	const char *name;
	uint32_t ncolumns;
	gs_column_spec specs[2];
	uint64_t values;		/* of the first column; 0: any */
	const char *format;		/* of strings */
	uint32_t bytes;			/* the most of a string */
	bool nulls;				/* one of ten */
	uint64_t limit;
} sorted;

#define ONE(type) .ncolumns = 1, .specs = {{type, false, false}}
static const sorted cases[] = {
	{.name = "int8", ONE(GS_I64)},
	{.name = "int8 of 10 values", ONE(GS_I64), .values = 10},
	{.name = "int8 with NULLs", ONE(GS_I64), .nulls = true},
	{.name = "int4", ONE(GS_I32)},
	{.name = "float8", ONE(GS_F64)},
	{.name = "uuid", ONE(GS_U128)},
	{.name = "int8 of 10 values, int8", .ncolumns = 2, .specs = {{GS_I64, false, false}, {GS_I64, true, false}},
	 .values = 10},
	{.name = "16 characters", ONE(GS_BYTES), .format = "%016lx", .bytes = 16},
	{.name = "16 behind 24 equal ones", ONE(GS_BYTES), .format = "https://example.org/item%016lx", .bytes = 40},
	{.name = "1 to 16 characters", ONE(GS_BYTES), .format = "%lx", .bytes = 16},
	{.name = "int8, first 100", ONE(GS_I64), .limit = 100},
	{.name = "16 characters, first 100", ONE(GS_BYTES), .format = "%016lx", .bytes = 16, .limit = 100},
};

static uint64_t rows = 5000000;
static int rounds = 15;
static uint32_t *out;
static gs_chunk **chunks;
static uint64_t nchunks;

/* Fills a column of a chunk with n rows from a row on. */
static void
fill(gs_chunk *chunk, uint32_t c, const sorted *s, uint64_t row, uint32_t n)
{
	gs_chunk_column *column = &chunk->columns[c];
	char *values = (char *) chunk + column->values, *heap = (char *) chunk + column->heap;
	uint64_t *nulls = (uint64_t *) ((char *) chunk + column->nulls);
	const size_t width = gs_type_width(s->specs[c].type);
	uint32_t used = 0;

	column->has_nulls = s->nulls;
	if (s->nulls)
		memset(nulls, 0, CHUNK_ROWS / 8);
	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t x[2] = {mix((row + i) * 2 + c + 1), mix(~(row + i))};

		if (s->nulls && x[1] % 10 == 0)
			nulls[i / 64] |= (uint64_t) 1 << i % 64;
		if (c == 0 && s->values > 0)
			x[0] %= s->values;
		if (s->format == NULL)
			memcpy(values + i * width, x, width);
		else
		{
			char one[64];
			const uint64_t any = s->format[1] == 'l' ? x[0] >> x[1] % 64 : x[0];
			const uint32_t length = (uint32_t) snprintf(one, sizeof(one), s->format, (unsigned long) any);

			memcpy(heap + used, one, length);
			((uint32_t *) values)[i] = used;
			used += length;
			((uint32_t *) values)[i + 1] = used;
		}
	}
}

/* Makes the chunks of a case. */
static void
make_chunks(const sorted *s)
{
	const size_t bytes = gs_chunk_bytes(s->specs, s->ncolumns, CHUNK_ROWS, s->bytes);

	nchunks = (rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
	chunks = malloc(nchunks * sizeof(*chunks));
	for (uint64_t i = 0; i < nchunks; i++)
	{
		const uint64_t left = rows - i * CHUNK_ROWS;

		chunks[i] = aligned_alloc(GS_ALIGN, bytes);
		if (gs_chunk_init(chunks[i], bytes, s->specs, s->ncolumns, CHUNK_ROWS, s->bytes) != GS_OK)
			abort();
		chunks[i]->rows = left < CHUNK_ROWS ? (uint32_t) left : CHUNK_ROWS;
		for (uint32_t c = 0; c < s->ncolumns; c++)
			fill(chunks[i], c, s, i * CHUNK_ROWS, chunks[i]->rows);
	}
}

static void
free_chunks(void)
{
	for (uint64_t i = 0; i < nchunks; i++)
		free(chunks[i]);
	free(chunks);
}

/* Runs a job; returns the engine's time for its order. */
static double
run_job(gs_engine *engine, const sorted *s)
{
	const gs_job_spec spec = {.op = s->limit > 0 ? GS_TOPK : GS_ORDER, .ncolumns = s->ncolumns, .columns = s->specs,
		.rows_hint = rows, .limit = s->limit};
	gs_job_info info;
	gs_job *job;
	uint64_t got;

	if (gs_job_begin(engine, &spec, NULL, &job) != GS_OK)
		abort();
	for (uint64_t i = 0; i < nchunks; i++)
		if (gs_job_add(job, chunks[i]) != GS_OK)
			abort();
	if (gs_job_finish(job, rows) != GS_OK || gs_job_next(job, out, rows, &got) != GS_OK)
		abort();
	gs_job_get_info(job, &info);
	gs_job_end(job);
	return (double) info.device_ns / 1e6;
}

static int
compare(const void *a, const void *b)
{
	const double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Returns a quantile, in fourths. */
static double
quantile(double *times, int fourths)
{
	qsort(times, (size_t) rounds, sizeof(*times), compare);
	return times[(rounds - 1) * fourths / 4];
}

int
main(int argc, char **argv)
{
	gs_engine *engine;

	if (argc > 1)
		rows = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		rounds = atoi(argv[2]);
	out = malloc((rows + 1) * sizeof(*out));
	if (out == NULL || rounds < 1 || rounds > MOST_ROUNDS || gs_cuda_open(0, NULL, &engine) != GS_OK)
	{
		fprintf(stderr, "no GPU, or wrong arguments\n");
		return 1;
	}
	printf("%s, %lu rows, ms: without, with, difference (quartiles)\n", gs_engine_name(engine), (unsigned long) rows);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		double without[MOST_ROUNDS], with[MOST_ROUNDS], more[MOST_ROUNDS];

		make_chunks(&cases[i]);
		(void) run_job(engine, &cases[i]);
		for (int r = 0; r < rounds; r++)
		{
			gs_cuda_order_trust(engine, true);
			without[r] = run_job(engine, &cases[i]);
			gs_cuda_order_trust(engine, false);
			with[r] = run_job(engine, &cases[i]);
			more[r] = with[r] - without[r];
		}
		printf("%-28s %8.3f %8.3f %8.3f (%.3f to %.3f)\n", cases[i].name, quantile(without, 2), quantile(with, 2),
			   quantile(more, 2), quantile(more, 1), quantile(more, 3));
		fflush(stdout);
		free_chunks();
	}
	gs_engine_close(engine);
	return 0;
}
