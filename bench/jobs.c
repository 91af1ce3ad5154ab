/*
 * jobs.c: what each operation of a job costs on an engine, against a plain loop over the same arrays on the CPU.
 *
 *   bench/jobs [cpu | lent | gpu] [ROWS]
 *
 * Columns: key (8 bytes, 1000 values), unique (8 bytes, all bits), state (8 bytes, runs of about 8 rows), amount
 * (double). "lent": the CPU engine is lent the arrays in place of chunks, as the SQL functions do where they can. Times
 * are the least of five, in nanoseconds per row (of the processor for the CPU, on the clock for a GPU): add (chunks
 * copied in), finish, next (the result copied out).  Where the operation orders first, the loop is given the order, and
 * the line says what the order alone costs.
 */
#include "mix.h"
#include "../kernels/gs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHUNK_ROWS 16384
#define REPEATS	   5

static uint64_t rows = 5000000;
static int64_t *key, *unique_key, *state, *wide;
static double *amount;
static void *out;
static bool lends;

static clockid_t the_clock = CLOCK_PROCESS_CPUTIME_ID;

static double
now(void)
{
	struct timespec t;

	clock_gettime(the_clock, &t);
	return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

static void
make_columns(void)
{
	key = malloc(rows * 8), unique_key = malloc(rows * 8), state = malloc(rows * 8), amount = malloc(rows * 8);
	wide = malloc(rows * 8);
	out = malloc(rows * sizeof(gs_group) + 64);
	memset(out, 1, rows * sizeof(gs_group));
	for (uint64_t i = 0; i < rows; i++)
	{
		key[i] = (int64_t) (mix(i) % 1000);
		unique_key[i] = (int64_t) mix(i + rows);
		wide[i] = unique_key[i] >> 24;
		state[i] = i > 0 && mix(i * 3) % 8 != 0 ? state[i - 1] : (int64_t) (mix(i * 7) % 5);
		amount[i] = (double) (mix(i * 5) % 100000) / 100;
	}
}

/* ---------------------------------------------------------------- jobs */

typedef struct question
{
	const char *name;
	gs_job_spec spec;
	const void *columns[3];
	uint64_t (*loop)(const uint32_t *order);
} question;

/* Lends the arrays. */
static gs_status
lend(gs_job *job, const question *q, double *spent)
{
	gs_column columns[3] = {0};
	double start = now();
	gs_status status;

	for (uint32_t c = 0; c < q->spec.ncolumns; c++)
		columns[c] = (gs_column){.spec = q->spec.columns[c], .values = q->columns[c]};
	status = gs_job_lend(job, columns, rows);
	*spent += now() - start;
	return status;
}

static gs_status
feed(gs_job *job, const question *q, gs_chunk *chunk, size_t bytes, double *spent)
{
	for (uint64_t row = 0; row < rows; row += CHUNK_ROWS)
	{
		uint32_t n = rows - row < CHUNK_ROWS ? (uint32_t) (rows - row) : CHUNK_ROWS;
		gs_status status = gs_chunk_init(chunk, bytes, q->spec.columns, q->spec.ncolumns, CHUNK_ROWS, 0);
		double start;

		for (uint32_t c = 0; c < q->spec.ncolumns; c++)
			memcpy((char *) chunk + chunk->columns[c].values, (const int64_t *) q->columns[c] + row,
				   n * sizeof(int64_t));
		chunk->rows = n;
		start = now();
		if (status == GS_OK)
			status = gs_job_add(job, chunk);
		*spent += now() - start;
		if (status != GS_OK)
			return status;
	}
	return GS_OK;
}

/* Runs a job once; the parts' times in nanoseconds. */
static uint64_t
run(gs_engine *engine, const question *q, double t[3])
{
	size_t bytes = gs_chunk_bytes(q->spec.columns, q->spec.ncolumns, CHUNK_ROWS, 0);
	size_t width = gs_job_result_bytes(&q->spec);
	gs_chunk *chunk = aligned_alloc(GS_ALIGN, bytes);
	uint64_t got = 1, at = 0;
	double start;
	gs_status status;
	gs_job *job;

	t[0] = t[1] = t[2] = 0;
	status = gs_job_begin(engine, &q->spec, NULL, &job);
	if (status == GS_OK)
		status = lends ? lend(job, q, &t[0]) : feed(job, q, chunk, bytes, &t[0]);
	start = now();
	if (status == GS_OK)
		status = gs_job_finish(job, rows);
	t[1] = now() - start;
	start = now();
	for (; status == GS_OK && got > 0; at += got)
		status = gs_job_next(job, (char *) out + at * width, 1 << 20, &got);
	t[2] = now() - start;
	gs_job_end(job);
	free(chunk);
	if (status != GS_OK)
	{
		printf("%s: %s\n", q->name, gs_status_text(status));
		exit(1);
	}
	return at;
}

/* ---------------------------------------------------------------- plain loops */

#define AT(i) (order != NULL ? order[i] : (i))

/* Runs of a column in an order. */
static inline uint64_t
loop_runs(const int64_t *v, const uint32_t *order)
{
	gs_run *run = (gs_run *) out - 1;
	int64_t last = 0;

	for (uint64_t i = 0; i < rows; i++)
	{
		uint64_t row = AT(i);

		if (i > 0 && v[row] == last)
			run->length++;
		else
			*++run = (gs_run){(uint32_t) row, 1};
		last = v[row];
	}
	return (uint64_t) (run + 1 - (gs_run *) out);
}

static uint64_t
loop_runs_state(const uint32_t *order)
{
	return loop_runs(state, order);
}

static uint64_t
loop_runs_key(const uint32_t *order)
{
	return loop_runs(key, order);
}

static uint64_t
loop_runs_wide(const uint32_t *order)
{
	return loop_runs(unique_key, order);
}

/* Sums of a column by the runs of another in an order. */
#define LOOP_REDUCE(NAME, KEYS, SUM, VALUES)                                                                           \
	static uint64_t NAME(const uint32_t *order)                                                                        \
	{                                                                                                                  \
		gs_group *group = (gs_group *) out - 1;                                                                        \
		int64_t last = 0;                                                                                              \
		for (uint64_t i = 0; i < rows; i++)                                                                            \
		{                                                                                                              \
			uint64_t row = AT(i);                                                                                      \
			SUM sum;                                                                                                   \
			if (i == 0 || KEYS[row] != last)                                                                           \
			{                                                                                                          \
				*++group = (gs_group){.row = (uint32_t) row};                                                          \
				last = KEYS[row];                                                                                      \
			}                                                                                                          \
			memcpy(&sum, group->value, sizeof(sum));                                                                   \
			sum += VALUES[row];                                                                                        \
			memcpy(group->value, &sum, sizeof(sum));                                                                   \
			group->length++;                                                                                           \
			group->valid++;                                                                                            \
		}                                                                                                              \
		return (uint64_t) (group + 1 - (gs_group *) out);                                                              \
	}
LOOP_REDUCE(loop_reduce_key, key, __int128, wide)
LOOP_REDUCE(loop_reduce_state, state, __int128, wide)
LOOP_REDUCE(loop_reduce_double, key, double, amount)

static uint64_t
loop_scan(const uint32_t *order)
{
	int64_t sum = 0, *to = out;

	(void) order;
	for (uint64_t i = 0; i < rows; i++)
	{
		if (__builtin_add_overflow(sum, wide[i], &sum))
			return 0;
		to[i] = sum;
	}
	return rows;
}

static uint64_t
loop_scan_double(const uint32_t *order)
{
	double sum = 0, *to = out;

	(void) order;
	for (uint64_t i = 0; i < rows; i++)
		to[i] = sum += amount[i];
	return rows;
}

static uint64_t
loop_select(const uint32_t *order)
{
	uint32_t *to = out;
	uint64_t n = 0;

	(void) order;
	for (uint64_t i = 0; i < rows; i++)
	{
		to[n] = (uint32_t) i;
		n += unique_key[i] > 0;
	}
	return n;
}

static uint64_t
loop_partition(const uint32_t *order)
{
	uint32_t *to = out, *rest = to + rows;
	uint64_t n = 0, m = 0;

	(void) order;
	for (uint64_t i = 0; i < rows; i++)
	{
		bool kept = unique_key[i] > 0;

		to[n] = (uint32_t) i;
		rest[m] = (uint32_t) i;
		n += kept;
		m += !kept;
	}
	return n + m;
}

/* ---------------------------------------------------------------- all of them */

static const gs_column_spec ints[3] = {{GS_I64, false, false}, {GS_I64, false, false}, {GS_I64, false, false}};
static const gs_column_spec doubles[2] = {{GS_I64, false, false}, {GS_F64, false, false}};
static const int64_t zero;

int
main(int argc, char **argv)
{
	gs_engine *engine = NULL;
	bool gpu = argc > 1 && strcmp(argv[1], "gpu") == 0;
	gs_status status = GS_INVALID;

	if (argc > 2)
		rows = strtoull(argv[2], NULL, 10);
	lends = argc > 1 && strcmp(argv[1], "lent") == 0;
	make_columns();
	if (gpu)
		the_clock = CLOCK_MONOTONIC;
	if (!gpu)
		status = gs_cpu_open(1, NULL, &engine);
#ifdef WITH_CUDA
	if (gpu)
		status = gs_cuda_open(0, NULL, &engine);
#endif
	if (status != GS_OK)
		return 1;

	const gs_job_filter positive = {.comparison = GS_GT, .value = &zero, .value_bytes = sizeof(zero)};
	const question questions[] = {
		{"order by key", {.op = GS_ORDER, .ncolumns = 1, .columns = ints}, {key}, NULL},
		{"distinct keys",
		 {.op = GS_RUNS, .ncolumns = 1, .columns = ints, .order_columns = 1, .key_columns = 1},
		 {key},
		 loop_runs_key},
		{"sum by key",
		 {.op = GS_REDUCE, .ncolumns = 2, .columns = ints, .order_columns = 1, .key_columns = 1},
		 {key, wide},
		 loop_reduce_key},
		{"sum of doubles by key",
		 {.op = GS_REDUCE, .ncolumns = 2, .columns = doubles, .order_columns = 1, .key_columns = 1},
		 {key, amount},
		 loop_reduce_double},
		{"order by unique", {.op = GS_ORDER, .ncolumns = 1, .columns = ints}, {unique_key}, NULL},
		{"distinct unique",
		 {.op = GS_RUNS, .ncolumns = 1, .columns = ints, .order_columns = 1, .key_columns = 1},
		 {unique_key},
		 loop_runs_wide},
		{"runs of state by unique",
		 {.op = GS_RUNS, .ncolumns = 2, .columns = ints, .order_columns = 1, .key_columns = 1},
		 {unique_key, state},
		 loop_runs_state},
		{"first 100 by unique", {.op = GS_TOPK, .ncolumns = 1, .columns = ints, .limit = 100}, {unique_key}, NULL},
		{"runs of state", {.op = GS_RUNS, .ncolumns = 1, .columns = ints, .key_columns = 1}, {state}, loop_runs_state},
		{"sum by state, presorted",
		 {.op = GS_REDUCE, .ncolumns = 2, .columns = ints, .key_columns = 1},
		 {state, wide},
		 loop_reduce_state},
		{"running sum", {.op = GS_SCAN, .ncolumns = 1, .columns = ints}, {wide}, loop_scan},
		{"running sum of doubles", {.op = GS_SCAN, .ncolumns = 1, .columns = doubles + 1}, {amount}, loop_scan_double},
		{"select", {.op = GS_SELECT, .ncolumns = 1, .columns = ints, .filter = positive}, {unique_key}, loop_select},
		{"partition",
		 {.op = GS_PARTITION, .ncolumns = 1, .columns = ints, .filter = positive},
		 {unique_key},
		 loop_partition},
	};
	uint32_t *order = malloc(rows * sizeof(uint32_t));
	const uint32_t *by = NULL;

	printf("%s%s, %llu rows, ns per row\n%-26s %10s %8s %8s %8s %8s %8s\n", gs_engine_name(engine),
		   lends ? ", arrays lent" : "", (unsigned long long) rows, "", "results", "add", "finish", "next", "all",
		   "loop");
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
	{
		const question *q = &questions[i];
		double best[3] = {0}, loop = 0;
		uint64_t count = 0, loop_count = 0;

		for (int r = 0; r < REPEATS; r++)
		{
			double t[3], start;

			count = run(engine, q, t);
			if (r == 0 || t[0] + t[1] + t[2] < best[0] + best[1] + best[2])
				memcpy(best, t, sizeof(best));
			if (q->spec.op == GS_ORDER)
			{
				memcpy(order, out, rows * sizeof(uint32_t));
				by = order;
			}
			start = now();
			if (q->loop != NULL)
				loop_count = q->loop(q->spec.order_columns > 0 ? by : NULL);
			if (r == 0 || now() - start < loop)
				loop = now() - start;
		}
		printf("%-26s %10llu %8.2f %8.2f %8.2f %8.2f", q->name, (unsigned long long) count, best[0] / (double) rows,
			   best[1] / (double) rows, best[2] / (double) rows, (best[0] + best[1] + best[2]) / (double) rows);
		if (q->loop != NULL)
			printf(" %8.2f%s", loop / (double) rows, loop_count == count ? "" : " WRONG COUNT");
		printf("\n");
	}
	gs_engine_close(engine);
	return 0;
}
