/*
 * engine.c: the engine alone, one thread, against libc's qsort in the same run.
 *
 *   bench/engine [-n rows] [-r runs] [-w part of workloads' names] [-t] [-c cache rows] [-b bucket log] [-s slack]
 *
 * The engine's time is everything between chunks and row numbers: copying and encoding, sorting, handing out.  qsort
 * gets its array of (key, row) for nothing, and the row as last key, so that both orders are the same.  -t prints the
 * on/off table instead.
 */
#include "workloads.h"

#include <unistd.h>

#define MAX_RUNS 15

static int
compare_times(const void *a, const void *b)
{
	double x = ((const times *) a)->total, y = ((const times *) b)->total;

	return (x > y) - (x < y);
}

/*
 * The median of several jobs.
 */
static times
median(gs_engine *engine, const workload *w, uint32_t *out, int runs, gs_job_info *info)
{
	times t[MAX_RUNS];

	for (int i = 0; i < runs; i++)
		t[i] = run_engine(engine, NULL, w, out, info);
	qsort(t, (size_t) runs, sizeof(t[0]), compare_times);
	return t[runs / 2];
}

/* ---------------------------------------------------------------- qsort */

typedef struct item
{
	int64_t key;
	uint64_t row;
} item;

typedef struct wide_item
{
	uint64_t key, second;
	uint64_t row;
} wide_item;

typedef struct string_item
{
	const char *s;
	uint32_t length;
	uint32_t row;
} string_item;

static int
compare_items(const void *a, const void *b)
{
	const item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static int
compare_floats(const void *a, const void *b)
{
	const item *x = a, *y = b;
	double p, q;

	memcpy(&p, &x->key, 8);
	memcpy(&q, &y->key, 8);
	if (p != q)
		return p < q ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static int
compare_wide(const void *a, const void *b)
{
	const wide_item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->second != y->second)
		return x->second < y->second ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static int
compare_string_items(const void *a, const void *b)
{
	const string_item *x = a, *y = b;
	int result = memcmp(x->s, y->s, x->length < y->length ? x->length : y->length);

	if (result != 0)
		return result;
	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/*
 * Sorts one 8-byte column by qsort.
 */
static double
qsort_items(const workload *w, uint32_t *out)
{
	item *items = malloc(w->rows * sizeof(item));
	double start;

	for (uint64_t r = 0; r < w->rows; r++)
		items[r] = (item){(int64_t) w->values[0][r], r};
	start = now();
	qsort(items, w->rows, sizeof(item), w->specs[0].type == GS_F64 ? compare_floats : compare_items);
	start = now() - start;
	for (uint64_t r = 0; r < w->rows; r++)
		out[r] = (uint32_t) items[r].row;
	free(items);
	return start;
}

/*
 * Sorts two columns, or one of 16 bytes, by qsort.  The flips make both columns ascending unsigned.
 */
static double
qsort_wide(const workload *w, uint32_t *out)
{
	wide_item *items = malloc(w->rows * sizeof(wide_item));
	uint64_t flip = w->ncolumns == 2 ? ~((uint64_t) 1 << 63) : 0;
	double start;

	for (uint64_t r = 0; r < w->rows; r++)
		items[r] = (wide_item){w->values[0][r], w->values[1][r] ^ flip, r};
	start = now();
	qsort(items, w->rows, sizeof(wide_item), compare_wide);
	start = now() - start;
	for (uint64_t r = 0; r < w->rows; r++)
		out[r] = (uint32_t) items[r].row;
	free(items);
	return start;
}

/*
 * Sorts strings by qsort.
 */
static double
qsort_strings(const workload *w, uint32_t *out)
{
	string_item *items = malloc(w->rows * sizeof(string_item));
	const uint64_t *offsets = w->values[0];
	double start;

	for (uint64_t r = 0; r < w->rows; r++)
		items[r] = (string_item){w->heap + offsets[r], (uint32_t) (offsets[r + 1] - offsets[r]), (uint32_t) r};
	start = now();
	qsort(items, w->rows, sizeof(string_item), compare_string_items);
	start = now() - start;
	for (uint64_t r = 0; r < w->rows; r++)
		out[r] = items[r].row;
	free(items);
	return start;
}

/* ---------------------------------------------------------------- tables */

/*
 * One line of the comparison; the two orders have to be the same.
 */
static void
compare(gs_engine *engine, workload *w, uint64_t rows, int runs)
{
	uint32_t *ours = malloc((rows + 1) * 4), *theirs = malloc((rows + 1) * 4);
	double n = (double) rows, other;
	gs_job_info info;
	times t;

	generate(w, rows);
	t = median(engine, w, ours, runs, &info);
	if (w->string != NULL)
		other = qsort_strings(w, theirs);
	else if (w->ncolumns == 2 || w->specs[0].type == GS_U128)
		other = qsort_wide(w, theirs);
	else
		other = qsort_items(w, theirs);
	printf("| %-23s | %5.1f | %5.1f | %4.1f | %6.1f | %6.1f | %5.1f |%s\n", w->name, t.add / n, t.finish / n,
		   t.next / n, t.total / n, other / n, other / t.total,
		   memcmp(ours, theirs, rows * 4) == 0 ? "" : " WRONG ORDER");
	fflush(stdout);
	discard(w);
	free(ours);
	free(theirs);
}

/*
 * The tuning with one switch turned off; none for 0.
 */
static gs_cpu_tuning
switched(int off)
{
	gs_cpu_tuning tuning = gs_cpu_tuning_default();

	if (off == 1)
		tuning.vector = GS_NO_VECTORS;
	else if (off == 2)
		tuning.lanes = false;
	else if (off == 3)
		tuning.combine_rows = UINT32_MAX;
	return tuning;
}

/*
 * One workload with each switch off in turn; the best of several rounds, because the differences are small.
 */
static void
switch_off(gs_engine *engine, const workload *w, uint32_t *out, int runs)
{
	static const char *const name[] = {"as it is", "vector loops off", "lane-private counts off",
									   "write combining off"};
	times best[4];

	for (int i = 0; i < runs * 4; i++)
	{
		gs_cpu_tuning tuning = switched(i % 4);
		gs_job_info info;
		times t;

		gs_cpu_tune(engine, &tuning);
		t = run_engine(engine, NULL, w, out, &info);
		if (i < 4 || t.total < best[i % 4].total)
			best[i % 4] = t;
	}
	for (int i = 0; i < 4; i++)
		printf("| %-17s | %-23s | %5.1f | %5.1f | %4.1f | %6.1f |\n", w->name, name[i], best[i].add / (double) w->rows,
			   best[i].finish / (double) w->rows, best[i].next / (double) w->rows, best[i].total / (double) w->rows);
	fflush(stdout);
}

/*
 * The on/off table.
 */
static void
switches(gs_engine *engine, uint64_t rows, int runs)
{
	static const char *const chosen[] = {"bigint 27 bits", "bigint 64 bits", "float8", "5 distinct values"};
	uint32_t *out = malloc((rows + 1) * 4);

	printf("| keys | switch | add | sort | out | total |\n|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
		for (size_t k = 0; k < 4; k++)
			if (strcmp(workloads[i].name, chosen[k]) == 0)
			{
				generate(&workloads[i], rows);
				switch_off(engine, &workloads[i], out, runs);
				discard(&workloads[i]);
			}
	free(out);
}

int
main(int argc, char **argv)
{
	uint64_t rows = 10000000;
	int runs = 3, option;
	bool table = false;
	const char *only = "";
	gs_engine *engine;
	gs_cpu_tuning tuning = gs_cpu_tuning_default();

	while ((option = getopt(argc, argv, "n:r:w:tc:b:s:")) != -1)
		switch (option)
		{
			case 'n':
				rows = strtoull(optarg, NULL, 10);
				break;
			case 'r':
				runs = atoi(optarg) < MAX_RUNS ? atoi(optarg) : MAX_RUNS;
				break;
			case 'w':
				only = optarg;
				break;
			case 't':
				table = true;
				break;
			case 'c':
				tuning.cache_rows = (uint32_t) atoi(optarg);
				break;
			case 'b':
				tuning.bucket_log = (uint32_t) atoi(optarg);
				break;
			case 's':
				tuning.slack = (uint32_t) atoi(optarg);
				break;
			default:
				return 1;
		}
	if (gs_cpu_open(1, NULL, &engine) != GS_OK)
		return 1;
	gs_cpu_tune(engine, &tuning);
	printf("%lu rows, ns per row, %s of %d\n\n", (unsigned long) rows, table ? "best" : "median", runs);
	if (table)
		switches(engine, rows, runs);
	else
	{
		printf("| %-23s | %5s | %5s | %4s | %6s | %6s | %5s |\n|---|---|---|---|---|---|---|\n", "keys", "add", "sort",
			   "out", "total", "qsort", "times");
		for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
			if (strstr(workloads[i].name, only) != NULL)
				compare(engine, &workloads[i], rows, runs);
	}
	gs_engine_close(engine);
	return 0;
}
