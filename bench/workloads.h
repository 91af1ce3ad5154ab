/*
 * workloads.h: what the benches of the engine alone sort, and one job of it, timed.
 */
#include "../kernels/cpu/cpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHUNK_ROWS 65536

/* A workload's columns, generated once; strings as pointers with lengths. */
typedef struct workload
{
	const char *name;
	uint32_t ncolumns;
	gs_column_spec specs[2];
	void (*make)(struct workload *w, uint64_t row);
	uint64_t (*string)(uint64_t row, char *out);
	uint64_t rows;
	uint64_t *values[2]; /* GS_U128: values[0] high, values[1] low; GS_BYTES: offsets */
	char *heap;
	uint64_t parameter;
} workload;

static uint64_t state = 1;

static uint64_t
rnd(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/*
 * Processor time of this thread in ns: all work is in it, and other programs are not.
 */
static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

/* ---------------------------------------------------------------- workloads */

static void
make_bits(workload *w, uint64_t row)
{
	w->values[0][row] = rnd() & gs_mask((uint32_t) w->parameter);
}

static void
make_float(workload *w, uint64_t row)
{
	double v = ((double) (rnd() >> 11) / 9007199254740992.0 - 0.5) * 1e6;

	memcpy(&w->values[0][row], &v, 8);
}

static void
make_two(workload *w, uint64_t row)
{
	w->values[0][row] = rnd() & 1023;
	w->values[1][row] = rnd();
}

static void
make_uuid(workload *w, uint64_t row)
{
	w->values[0][row] = rnd();
	w->values[1][row] = rnd();
}

static void
make_few(workload *w, uint64_t row)
{
	w->values[0][row] = rnd() % 5 * 1000;
}

static void
make_sorted(workload *w, uint64_t row)
{
	w->values[0][row] = row * 3;
}

static void
make_reversed(workload *w, uint64_t row)
{
	w->values[0][row] = (w->rows - row) * 3;
}

static void
make_displaced(workload *w, uint64_t row)
{
	w->values[0][row] = rnd() % 100 == 0 ? rnd() % (w->rows * 3) : row * 3;
}

static void
make_zipf(workload *w, uint64_t row)
{
	w->values[0][row] = (uint64_t) exp((double) (rnd() >> 11) / 9007199254740992.0 * log(1e9));
}

static void
make_outlier(workload *w, uint64_t row)
{
	w->values[0][row] = row == w->rows / 2 ? (uint64_t) 1 << 62 : rnd() & gs_mask(27);
}

static uint64_t
string_hex(uint64_t row, char *out)
{
	(void) row;
	return (uint64_t) sprintf(out, "%016lx", (unsigned long) rnd());
}

static uint64_t
string_url(uint64_t row, char *out)
{
	uint64_t v = rnd();

	(void) row;
	return (uint64_t) sprintf(out, "https://www.example.com/products/category-%lu/item-%lu?ref=%lu",
							  (unsigned long) (v % 50), (unsigned long) (v / 50 % 100000), (unsigned long) (v >> 40));
}

static uint64_t
string_words(uint64_t row, char *out)
{
	static const char *const word[] = {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"};
	uint64_t v = rnd();

	(void) row;
	return (uint64_t) sprintf(out, "%s %s %s", word[v & 7], word[v >> 3 & 7], word[v >> 6 & 7]);
}

#define ONE(type) .ncolumns = 1, .specs = {{type, false, false}}
static workload workloads[] = {
	{.name = "bigint 20 bits", ONE(GS_I64), .make = make_bits, .parameter = 20},
	{.name = "bigint 27 bits", ONE(GS_I64), .make = make_bits, .parameter = 27},
	{.name = "bigint 36 bits", ONE(GS_I64), .make = make_bits, .parameter = 36},
	{.name = "bigint 45 bits", ONE(GS_I64), .make = make_bits, .parameter = 45},
	{.name = "bigint 64 bits", ONE(GS_I64), .make = make_bits, .parameter = 64},
	{.name = "float8", ONE(GS_F64), .make = make_float},
	{.name = "two columns 10, 64 bits",
	 .ncolumns = 2,
	 .specs = {{GS_I64, false, false}, {GS_I64, true, false}},
	 .make = make_two},
	{.name = "uuid", ONE(GS_U128), .make = make_uuid},
	{.name = "5 distinct values", ONE(GS_I64), .make = make_few},
	{.name = "log-uniform to 1e9", ONE(GS_I64), .make = make_zipf},
	{.name = "27 bits, one outlier", ONE(GS_I64), .make = make_outlier},
	{.name = "sorted", ONE(GS_I64), .make = make_sorted},
	{.name = "reversed", ONE(GS_I64), .make = make_reversed},
	{.name = "sorted, 1 % displaced", ONE(GS_I64), .make = make_displaced},
	{.name = "16 hex characters", ONE(GS_BYTES), .string = string_hex},
	{.name = "URLs", ONE(GS_BYTES), .string = string_url},
	{.name = "three words of eight", ONE(GS_BYTES), .string = string_words},
};

/*
 * Generates a workload's values.
 */
static void
generate(workload *w, uint64_t rows)
{
	uint64_t used = 0;

	w->rows = rows;
	state = 42;
	w->values[0] = malloc((rows + 1) * 8);
	w->values[1] = malloc((rows + 1) * 8);
	w->heap = w->string ? malloc(rows * 100 + 100) : NULL;
	for (uint64_t r = 0; r < rows; r++)
	{
		if (w->make != NULL)
			w->make(w, r);
		else
		{
			w->values[0][r] = used;
			used += w->string(r, w->heap + used);
		}
	}
	w->values[0][rows] = used;
}

static void
discard(workload *w)
{
	free(w->values[0]);
	free(w->values[1]);
	free(w->heap);
}

/* ---------------------------------------------------------------- the engine */

/*
 * Fills a chunk with rows from row on.
 */
static void
fill_chunk(gs_chunk *chunk, const workload *w, uint64_t row, uint32_t n)
{
	for (uint32_t c = 0; c < w->ncolumns; c++)
	{
		char *values = (char *) chunk + chunk->columns[c].values;

		if (w->specs[c].type == GS_U128)
			for (uint32_t i = 0; i < n; i++)
			{
				((uint64_t *) values)[2 * i] = w->values[1][row + i];
				((uint64_t *) values)[2 * i + 1] = w->values[0][row + i];
			}
		else if (w->specs[c].type == GS_BYTES)
		{
			const uint64_t *offsets = w->values[0] + row;

			for (uint32_t i = 0; i <= n; i++)
				((uint32_t *) values)[i] = (uint32_t) (offsets[i] - offsets[0]);
			memcpy((char *) chunk + chunk->columns[c].heap, w->heap + offsets[0], offsets[n] - offsets[0]);
		}
		else
			memcpy(values, w->values[c] + row, n * 8);
	}
	chunk->rows = n;
}

typedef struct times
{
	double add, finish, next, total;
} times;

/*
 * One job in a host's memory, NULL: new pages from the kernel; out gets the order.
 */
static times
run_engine(gs_engine *engine, const gs_host *host, const workload *w, uint32_t *out, gs_job_info *info)
{
	size_t bytes = gs_chunk_bytes(w->specs, w->ncolumns, CHUNK_ROWS, 100);
	gs_chunk *chunk = aligned_alloc(GS_ALIGN, bytes);
	gs_job_spec spec = {.op = GS_ORDER, .ncolumns = w->ncolumns, .columns = w->specs, .rows_hint = w->rows};
	gs_job *job;
	times t = {0};
	double start;
	uint64_t at = 0, got = 1;
	gs_status status;

	if (gs_job_begin(engine, &spec, host, &job) != GS_OK)
		abort();
	for (uint64_t row = 0; row < w->rows; row += chunk->rows)
	{
		gs_chunk_init(chunk, bytes, w->specs, w->ncolumns, CHUNK_ROWS, 100);
		fill_chunk(chunk, w, row, w->rows - row < CHUNK_ROWS ? (uint32_t) (w->rows - row) : CHUNK_ROWS);
		start = now();
		status = gs_job_add(job, chunk);
		t.add += now() - start;
		if (status != GS_OK)
			abort();
	}
	start = now();
	if (gs_job_finish(job, w->rows) != GS_OK)
		abort();
	t.finish = now() - start;
	start = now();
	for (; got > 0; at += got)
		if (gs_job_next(job, out + at, CHUNK_ROWS, &got) != GS_OK)
			abort();
	t.next = now() - start;
	gs_job_get_info(job, info);
	gs_job_end(job);
	free(chunk);
	t.total = t.add + t.finish + t.next;
	return t;
}
