/*
 * sort_cpu.c: gs_sort of the CPU engine against the obvious radix sort, one thread.
 *
 *   sort-cpu-bench [items]
 *
 * The obvious one: all digits of 8 bits counted in one read, then a pass per digit that moves key and value.  Both
 * write memory that was written before; processor time, medians of 5 runs in turn; results are compared.
 */
#define _GNU_SOURCE
#include "../../kernels/gs_arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUNS 5

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static uint64_t
mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* An even number of passes: the result is where the input was.  v and w may be NULL. */
#define OBVIOUS(NAME, K)                                                                                               \
	__attribute__((noinline)) static void NAME(K *k, K *l, uint32_t *v, uint32_t *w, uint64_t n)                       \
	{                                                                                                                  \
		static uint64_t counts[sizeof(K)][256];                                                                        \
                                                                                                                       \
		memset(counts, 0, sizeof(counts));                                                                             \
		for (uint64_t i = 0; i < n; i++)                                                                               \
			for (size_t p = 0; p < sizeof(K); p++)                                                                     \
				counts[p][k[i] >> 8 * p & 255]++;                                                                      \
		for (size_t p = 0; p < sizeof(K); p++)                                                                         \
		{                                                                                                              \
			uint64_t sum = 0;                                                                                          \
			K *swap = k;                                                                                               \
			uint32_t *other = v;                                                                                       \
                                                                                                                       \
			for (int d = 0; d < 256; d++)                                                                              \
			{                                                                                                          \
				uint64_t c = counts[p][d];                                                                             \
                                                                                                                       \
				counts[p][d] = sum;                                                                                    \
				sum += c;                                                                                              \
			}                                                                                                          \
			for (uint64_t i = 0; i < n; i++)                                                                           \
			{                                                                                                          \
				uint64_t to = counts[p][k[i] >> 8 * p & 255]++;                                                        \
                                                                                                                       \
				l[to] = k[i];                                                                                          \
				if (v != NULL)                                                                                         \
					w[to] = v[i];                                                                                      \
			}                                                                                                          \
			k = l, l = swap;                                                                                           \
			v = w, w = other;                                                                                          \
		}                                                                                                              \
	}
OBVIOUS(obvious4, uint32_t)
OBVIOUS(obvious8, uint64_t)

static int
by_time(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return x < y ? -1 : x > y;
}

static void
run(gs_engine *engine, const char *name, gs_type type, size_t value_width, uint64_t n)
{
	size_t width = gs_type_width(type), bytes = gs_sort_temp_bytes(engine, type, value_width, n);
	char *keys = malloc(n * width), *out = malloc(n * width), *k = malloc(n * width), *l = malloc(n * width);
	uint32_t *values = malloc(n * 4), *out_values = malloc(n * 4), *v = malloc(n * 4), *w = malloc(n * 4);
	void *temp;
	double ours[RUNS], obvious[RUNS];
	bool same;

	gs_alloc(engine, bytes, &temp);
	memset(out, 1, n * width), memset(out_values, 1, n * 4), memset(temp, 1, bytes), memset(l, 1, n * width),
		memset(w, 1, n * 4);
	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t x = mix(i);

		memcpy(keys + i * width, &x, width);
		values[i] = (uint32_t) i;
	}
	for (int r = 0; r < RUNS; r++)
	{
		double begin = now();

		gs_sort(engine,
				&(gs_sort_request){.key = type,
								   .keys = keys,
								   .out_keys = out,
								   .value_width = value_width,
								   .values = value_width ? values : NULL,
								   .out_values = value_width ? out_values : NULL,
								   .n = n},
				temp, bytes);
		ours[r] = now() - begin;
		memcpy(k, keys, n * width), memcpy(v, values, n * 4);
		begin = now();
		if (width == 4)
			obvious4((uint32_t *) k, (uint32_t *) l, value_width ? v : NULL, value_width ? w : NULL, n);
		else
			obvious8((uint64_t *) k, (uint64_t *) l, value_width ? v : NULL, value_width ? w : NULL, n);
		obvious[r] = now() - begin;
	}
	same = memcmp(k, out, n * width) == 0 && (value_width == 0 || memcmp(v, out_values, n * 4) == 0);
	qsort(ours, RUNS, sizeof(double), by_time);
	qsort(obvious, RUNS, sizeof(double), by_time);
	printf("%-16s obvious %8.1f  ours %8.1f  x %.2f  %s\n", name, obvious[RUNS / 2], ours[RUNS / 2],
		   obvious[RUNS / 2] / ours[RUNS / 2], same ? "same" : "DIFFERENT");
	fflush(stdout);
	gs_free(engine, temp);
	free(keys), free(out), free(k), free(l), free(values), free(out_values), free(v), free(w);
}

int
main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	gs_engine *engine;

	if (gs_cpu_open(1, NULL, &engine) != GS_OK)
		return 1;
	printf(
		"# gs_sort on the CPU, one thread, %llu items: ms of processor time, medians of %d; "
		"x: obvious / ours; commit %s\n",
		(unsigned long long) n, RUNS, getenv("COMMIT") ? getenv("COMMIT") : "unknown");
	run(engine, "keys u32", GS_U32, 0, n);
	run(engine, "keys u64", GS_U64, 0, n);
	run(engine, "pairs u32+u32", GS_U32, 4, n);
	run(engine, "pairs u64+u32", GS_U64, 4, n);
	gs_engine_close(engine);
	return 0;
}
