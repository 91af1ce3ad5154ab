/*
 * cpu.c: the CPU engine's scan family against the obvious one-pass loop in C, one thread.
 *
 *   cpu-bench [log2 of n [results.json commit]]
 *
 * The loops are compiled as the engine is, for any x86-64, and kept out of line.  Both write the same memory; the
 * median of nine runs in turn counts, results are compared once.
 */
#define _GNU_SOURCE
#include "../../kernels/gs_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PLAIN __attribute__((noinline)) static

static uint64_t n;
static int32_t *in, *in2, *out, *out2, *want, *want2;
static int64_t *in8, *out8, *want8;
static uint8_t *flags;
static uint64_t *bits, count, found;
static gs_engine *engine;
static char json[16384];

static uint64_t
mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* ---------------------------------------------------------------- the obvious loops */

PLAIN void
loop_scan(void)
{
	int32_t s = 0;

	for (uint64_t i = 0; i < n; i++)
		want[i] = s = (int32_t) ((uint32_t) s + (uint32_t) in[i]);
}

PLAIN void
loop_select(void)
{
	uint64_t o = 0;

	for (uint64_t i = 0; i < n; i++)
		if (in[i] < 0)
			want[o++] = in[i];
	found = o;
}

PLAIN void
loop_select_flags(void)
{
	uint64_t o = 0;

	for (uint64_t i = 0; i < n; i++)
		if (flags[i])
			want[o++] = in[i];
	found = o;
}

PLAIN void
loop_select_bits(void)
{
	uint64_t o = 0;

	for (uint64_t i = 0; i < n; i++)
		if (bits[i / 64] >> i % 64 & 1)
			want[o++] = in[i];
	found = o;
}

PLAIN void
loop_partition(void)
{
	uint64_t o = 0, r = 0;

	for (uint64_t i = 0; i < n; i++)
		if (in[i] < 0)
			want[o++] = in[i];
		else
			want2[r++] = in[i];
	found = o;
}

PLAIN void
loop_unique(void)
{
	uint64_t o = 0;

	for (uint64_t i = 0; i < n; i++)
		if (i == 0 || in[i] != in[i - 1])
			want[o++] = in[i];
	found = o;
}

PLAIN void
loop_runs(void)
{
	uint64_t r = 0;

	for (uint64_t i = 0; i < n; r++)
	{
		uint64_t b = i;

		while (i < n && in[i] == in[b])
			i++;
		want[r] = in[b];
		want2[r] = (int32_t) (i - b);
	}
	found = r;
}

PLAIN void
loop_reduce(void)
{
	uint64_t r = 0;

	for (uint64_t i = 0; i < n; r++)
	{
		uint64_t b = i;
		uint32_t s = 0;

		for (; i < n && in[i] == in[b]; i++)
			s += (uint32_t) in2[i];
		want[r] = in[b];
		want2[r] = (int32_t) s;
	}
	found = r;
}

PLAIN void
loop_extent(void)
{
	int32_t min = INT32_MAX, max = INT32_MIN;
	uint32_t any = 0, all = ~0u;

	for (uint64_t i = 0; i < n; i++)
	{
		if (in[i] < min)
			min = in[i];
		if (in[i] > max)
			max = in[i];
		any |= (uint32_t) in[i];
		all &= (uint32_t) in[i];
	}
	want[0] = min, want[1] = max, want[2] = (int32_t) any, want[3] = (int32_t) all;
}

PLAIN void
loop_extent8(void)
{
	int64_t min = INT64_MAX, max = INT64_MIN;
	uint64_t any = 0, all = ~0ull;

	for (uint64_t i = 0; i < n; i++)
	{
		if (in8[i] < min)
			min = in8[i];
		if (in8[i] > max)
			max = in8[i];
		any |= (uint64_t) in8[i];
		all &= (uint64_t) in8[i];
	}
	want8[0] = min, want8[1] = max, want8[2] = (int64_t) any, want8[3] = (int64_t) all;
}

PLAIN void
loop_gather(void)
{
	for (uint64_t i = 0; i < n; i++)
		want[i] = in[(uint32_t) in2[i]];
}

PLAIN void
loop_sequence(void)
{
	for (uint64_t i = 0; i < n; i++)
		want[i] = (int32_t) (5 + i * 3);
}

PLAIN void
loop_split(void)
{
	uint64_t c[256] = {0}, at[256], s = 0;

	for (uint64_t i = 0; i < n; i++)
		c[flags[i]]++;
	for (int g = 0; g < 256; g++)
		at[g] = s, s += c[g];
	for (uint64_t i = 0; i < n; i++)
		want[at[flags[i]]++] = in[i];
}

/* ---------------------------------------------------------------- the engine's calls */

static int zero;
static const gs_filter below = {GS_BY_VALUE, NULL, GS_LT, &zero, NULL};
static gs_filter by_bytes = {GS_BY_BYTES, NULL, GS_EQ, NULL, NULL}, by_bits = {GS_BY_BITS, NULL, GS_EQ, NULL, NULL};
static const gs_reduction sum = {GS_I32, GS_SUM, GS_I32, false};
static uint64_t starts[257];

static void call_scan(void) { gs_scan(engine, GS_I32, GS_SUM, true, in, out, n, NULL, 0); }
static void call_select(void) { gs_select(engine, GS_I32, in, n, &below, out, &count, NULL, 0); }
static void call_flags(void) { gs_select(engine, GS_I32, in, n, &by_bytes, out, &count, NULL, 0); }
static void call_bits(void) { gs_select(engine, GS_I32, in, n, &by_bits, out, &count, NULL, 0); }
static void call_partition(void) { gs_partition(engine, GS_I32, in, n, &below, out, out2, &count, NULL, 0); }
static void call_unique(void) { gs_unique(engine, GS_I32, in, n, out, &count, NULL, 0); }
static void call_runs(void) { gs_runs(engine, GS_I32, in, n, out, GS_U32, out2, NULL, &count, NULL, 0); }
static void call_reduce(void) { gs_reduce_by_key(engine, GS_I32, in, in2, n, &sum, out, out2, &count, NULL, NULL, 0); }
static void call_extent(void) { gs_extent(engine, GS_I32, in, n, out, NULL, 0); }
static void call_extent8(void) { gs_extent(engine, GS_I64, in8, n, out8, NULL, 0); }
static void call_gather(void) { gs_gather(engine, GS_I32, in, GS_U32, in2, n, out); }
static void call_sequence(void) { gs_sequence(engine, GS_I32, out, n, 5, 3); }
static void call_split(void) { gs_split(engine, GS_I32, in, flags, n, 256, out, starts, NULL, 0); }

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return x < y ? -1 : x > y;
}

static void
compare(const char *name, void (*plain)(void), void (*ours)(void), uint64_t results, bool second, double goal)
{
	double a[9], b[9], ratio;
	bool same;

	plain();
	ours();
	if (results == 0)
		results = found;
	else
		count = found = results;
	same = count == found && memcmp(out, want, results * 4) == 0 && (!second || memcmp(out2, want2, results * 4) == 0);
	/* from here on both write the same memory: where an array lies is worth a tenth */
	int32_t *apart = want, *apart2 = want2;

	want = out, want2 = out2, want8 = out8;
	for (int i = 0; i < 9; i++)
	{
		double t0 = now(), t1, t2;

		ours();
		t1 = now();
		plain();
		t2 = now();
		a[i] = t1 - t0, b[i] = t2 - t1;
	}
	want = apart, want2 = apart2, want8 = (int64_t *) want;
	qsort(a, 9, sizeof(*a), by_value);
	qsort(b, 9, sizeof(*b), by_value);
	ratio = b[4] / a[4];
	printf("%-36s ours %8.2f ms   loop %8.2f ms   %5.2fx (goal %.1f)  %s\n", name, a[4], b[4], ratio, goal,
		   same ? "equal" : "DIFFERENT");
	fflush(stdout);
	snprintf(
		json + strlen(json), sizeof(json) - strlen(json),
		"%s  {\"name\": \"%s\", \"n\": %llu, \"ours_ms\": %.3f, \"loop_ms\": %.3f, \"ratio\": %.3f, \"goal\": %.1f, "
		"\"equal\": %s}",
		json[0] ? ",\n" : "", name, (unsigned long long) n, a[4], b[4], ratio, goal, same ? "true" : "false");
}

int
main(int argc, char **argv)
{
	static const unsigned runs[] = {1, 5, 500};

	n = (uint64_t) 1 << (argc > 1 ? atoi(argv[1]) : 24);
	if (gs_cpu_open(1, NULL, &engine) != GS_OK)
		return 1;
	int32_t **all[] = {&in, &in2, &out, &out2, &want, &want2};
	for (int i = 0; i < 6; i++)
	{
		*all[i] = aligned_alloc(2 << 20, (n * 4 + (4 << 20)) >> 21 << 21);
		madvise(*all[i], n * 4, MADV_HUGEPAGE); /* as the engine's own memory */
		*all[i] += 16 * 17 * i;					/* not all at the same place in a page */
		memset(*all[i], 1, n * 4 + 64);
	}
	in8 = aligned_alloc(2 << 20, (n * 8 + (4 << 20)) >> 21 << 21);
	madvise(in8, n * 8, MADV_HUGEPAGE);
	out8 = (int64_t *) out, want8 = (int64_t *) want;
	flags = malloc(n), bits = calloc(n / 64 + 1, 8);
	by_bytes.mask = flags, by_bits.mask = bits;
	for (uint64_t i = 0; i < n; i++)
	{
		in[i] = (int32_t) mix(i);
		in2[i] = (int32_t) (mix(i + 7) % n);
		in8[i] = (int64_t) mix(i);
		flags[i] = mix(i + 9) % 10 == 0;
		bits[i / 64] |= (uint64_t) (mix(i + 3) & 1) << i % 64;
	}
	compare("scan int32", loop_scan, call_scan, n, false, 1);
	compare("select int32 comparison 50%", loop_select, call_select, 0, false, 1.5);
	compare("select int32 flags 10%", loop_select_flags, call_flags, 0, false, 1.5);
	compare("select int32 bits 50%", loop_select_bits, call_bits, 0, false, 1.5);
	compare("partition int32 comparison 50%", loop_partition, call_partition, 0, false, 1);
	compare("minimum, maximum, OR, AND int32", loop_extent, call_extent, 4, false, 1.5);
	compare("minimum, maximum, OR, AND int64", loop_extent8, call_extent8, 8, false, 1.5);
	compare("gather int32", loop_gather, call_gather, n, false, 1);
	compare("sequence int32", loop_sequence, call_sequence, n, false, 1);
	for (uint64_t i = 0; i < n; i++)
		flags[i] = (uint8_t) mix(i + 11);
	compare("split int32, 256 labels", loop_split, call_split, n, false, 1);
	for (int r = 0; r < 3; r++)
	{
		char name[64];

		for (uint64_t i = 0; i < n; i++)
		{
			uint64_t g = i / 10;

			in[i] = (int32_t) mix(runs[r] == 5 ? 2 * g + (i % 10 >= 1 + mix(g) % 9) : i / runs[r]);
		}
		snprintf(name, sizeof(name), "unique int32 runs of %u", runs[r]);
		compare(name, loop_unique, call_unique, 0, false, 1);
		snprintf(name, sizeof(name), "run-length encode int32 runs of %u", runs[r]);
		compare(name, loop_runs, call_runs, 0, true, 1.5);
		snprintf(name, sizeof(name), "reduce int32+int32 runs of %u", runs[r]);
		compare(name, loop_reduce, call_reduce, 0, true, 1);
	}
	if (argc > 3)
	{
		FILE *f = fopen(argv[2], "w");
		time_t t = time(NULL);
		char date[32], cpu[256] = "unknown", line[512];
		FILE *info = fopen("/proc/cpuinfo", "r");

		while (info && fgets(line, sizeof(line), info))
			if (sscanf(line, "model name : %255[^\n]", cpu) == 1)
				break;
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime(&t));
		if (f)
		{
			fprintf(
				f,
				"{\"device\": \"%s\", \"threads\": 1, \"compiler\": \"gcc %s\", \"date\": \"%s\", \"commit\": \"%s\", "
				"\"runs\": 9, \"statistic\": \"median\",\n \"results\": [\n%s\n]}\n",
				cpu, __VERSION__, date, argv[3], json);
			fclose(f);
		}
	}
	return 0;
}
