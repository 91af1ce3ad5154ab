/*
 * groups.c: what questions over columns that stay in memory cost on an engine, whose answers are checked against plain
 * loops.
 *
 *   bench/groups [cpu | gpu] [ROWS [THREADS [KEYS]]]
 *
 * Columns: customer (4 bytes, a value for 4 rows), shop (4 bytes, 50 values), quantity (4 bytes), price (8 bytes) and
 * amount (double), in segments of 1 M rows, in the engine's memory.  Times are the least of seven, in milliseconds on
 * the clock, from the list of steps to the groups in host memory; in parentheses the processor's, of all threads.  On
 * the CPU, THREADS take the rows and do the parts, by default one.  With KEYS also sums by 1000 to KEYS customers,
 * even, uneven and sparse.  ONLY=windows, or ONLY=computed: those alone; REPEATS: times of each, by default seven.
 */
#include "mix.h"
#include "../kernels/common/float_order.h"
#include "../kernels/gs_groups.h"
#include "../test/kernels/steps_list.h"
#ifdef WITH_CUDA
#include "../kernels/cuda/base/sort_testing.h"

#include <cuda_runtime_api.h>
#endif

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "groups_memory.h"

#define SEGMENT ((uint64_t) 1 << 20)
#define UNIT	65536 /* rows that a thread takes at once */
#define COLUMNS 5
#define SHOPS	50

enum
{
	CUSTOMER,
	SHOP,
	QUANTITY,
	PRICE,
	AMOUNT
};

static const gs_type types[COLUMNS] = {GS_I32, GS_I32, GS_I32, GS_I64, GS_F64};
static const gs_number numbers[COLUMNS] = {GS_NUMBER_I32, GS_NUMBER_I32, GS_NUMBER_I32, GS_NUMBER_I64, GS_NUMBER_F64};
static const size_t widths[COLUMNS] = {4, 4, 4, 8, 8};
static int repeats = 7;
static uint64_t rows = 20000000, customers, apart = 1; /* customers are multiples of the last one */
static void *columns[COLUMNS];
static gs_range ranges[COLUMNS + 5]; /* and those of groups_windows.h */
static uint32_t threads = 1;
static gs_engine **engines; /* of the threads; the first one holds the columns */
static gs_engine *engine;
static bool device;
static gs_held *held;
static gs_span *spans;
static gs_held_rows source;

static double
now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static void
check(gs_status status, const char *what)
{
	if (status == GS_OK)
		return;
	fprintf(stderr, "%s: %s\n", what, gs_status_text(status));
	exit(1);
}

/* ---------------------------------------------------------------- columns */

static void
add_range(uint32_t c, int64_t value)
{
	const gs_constant x = {{(uint64_t) value, c == AMOUNT ? 0 : (uint64_t) (value >> 63)}};
	int64_t low = (int64_t) ranges[c].low.half[0], high = (int64_t) ranges[c].high.half[0];

	if (c == AMOUNT ? (uint64_t) value < (uint64_t) low : value < low)
		ranges[c].low = x;
	if (c == AMOUNT ? (uint64_t) value > (uint64_t) high : value > high)
		ranges[c].high = x;
}

static void
make_columns(void)
{
	customers = rows / 4 > 0 ? rows / 4 : 1;
	for (uint32_t c = 0; c < COLUMNS; c++)
	{
		columns[c] = malloc(rows * widths[c]);
		ranges[c].low.half[0] = c == AMOUNT ? UINT64_MAX : INT64_MAX;
		ranges[c].high.half[0] = c == AMOUNT ? 0 : (uint64_t) INT64_MIN;
	}
	for (uint64_t i = 0; i < rows; i++)
	{
		double amount = (double) (mix(i * 5 + 1) % 10000000) / 100;
		uint64_t bits;

		((int32_t *) columns[CUSTOMER])[i] = (int32_t) (mix(i) % customers);
		((int32_t *) columns[SHOP])[i] = (int32_t) (mix(i * 3 + 2) % SHOPS);
		((int32_t *) columns[QUANTITY])[i] = (int32_t) (mix(i * 7 + 3) % 100);
		((int64_t *) columns[PRICE])[i] = (int64_t) (mix(i * 11 + 4) % 1000000) - 1000;
		((double *) columns[AMOUNT])[i] = amount;
		memcpy(&bits, &amount, sizeof(bits));
		add_range(AMOUNT, (int64_t) gs_float_order64(bits, true));
		add_range(PRICE, ((int64_t *) columns[PRICE])[i]);
		for (uint32_t c = CUSTOMER; c <= QUANTITY; c++)
			add_range(c, ((int32_t *) columns[c])[i]);
	}
	for (uint32_t c = 0; c < AMOUNT; c++)
	{
		ranges[c].low.half[1] = (uint64_t) ((int64_t) ranges[c].low.half[0] >> 63);
		ranges[c].high.half[1] = (uint64_t) ((int64_t) ranges[c].high.half[0] >> 63);
	}
}

static void
hold_columns(void)
{
	uint32_t segments = (uint32_t) ((rows + SEGMENT - 1) / SEGMENT);

	held = calloc((size_t) segments * COLUMNS, sizeof(gs_held));
	spans = calloc(segments, sizeof(gs_span));
	for (uint32_t s = 0; s < segments; s++)
	{
		uint64_t n = rows - s * SEGMENT < SEGMENT ? rows - s * SEGMENT : SEGMENT;

		spans[s] = (gs_span){s, 0, (uint32_t) n};
		for (uint32_t c = 0; c < COLUMNS; c++)
		{
			void *block;

			check(gs_alloc(engine, n * widths[c], &block), "columns");
			check(gs_upload(engine, block, (char *) columns[c] + s * SEGMENT * widths[c], n * widths[c]), "columns");
			held[(size_t) s * COLUMNS + c].values = block;
		}
	}
	check(gs_sync(engine), "columns");
	source = (gs_held_rows){types, COLUMNS, segments, held, segments, spans};
}

/* ---------------------------------------------------------------- lists of steps */

static steps_list list;

/* Adds a filter: quantity below 60, price from 0 on, shop below 40. */
static void
filter(void)
{
	list_filter(&list, 3);
	list_compare(&list, QUANTITY, GS_TEST_LT, 60);
	list_compare(&list, PRICE, GS_TEST_GE, 0);
	list_compare(&list, SHOP, GS_TEST_LT, 40);
}

typedef struct wanted
{
	uint32_t operation, column;
	double fraction;
} wanted;

/* Adds a group step; key COLUMNS: none; column COLUMNS: rows. */
static void
group(uint32_t key, uint32_t n, const wanted *wants)
{
	list_group(&list, n);
	for (uint32_t i = 0; i < n; i++)
	{
		if (wants[i].column == COLUMNS)
		{
			list_aggregate(&list, GS_COUNT, NULL, 0);
			continue;
		}
		list_column(&list, GS_COUNT, wants[i].column, numbers[wants[i].column]);
		list_refine(&list, wants[i].operation, wants[i].fraction, NULL, 0);
	}
	if (key < COLUMNS)
		list_keys(&list, &key, 1);
}

/* Adds the first groups by their first aggregate. */
static void
top(uint64_t limit)
{
	const gs_top_order order = {.member = 1, .descending = 1};

	list_top(&list, limit, &order, 1);
}

/* ---------------------------------------------------------------- threads */

static gs_groups *groups;
static uint64_t unit, units, unit_rows = UNIT, segment = SEGMENT;
static void (*do_unit)(uint32_t worker, uint64_t unit);
static pthread_barrier_t begin_work, end_work;

static gs_held_rows
rows_of_unit(uint64_t i, gs_span *span)
{
	gs_held_rows some = source;

	if (units == 1)
		return source;
	*span = (gs_span){(uint32_t) (i * unit_rows / segment), (uint32_t) (i * unit_rows % segment), (uint32_t) unit_rows};
	if (rows - i * unit_rows < unit_rows)
		span->rows = (uint32_t) (rows - i * unit_rows);
	some.nspans = 1;
	some.spans = span;
	return some;
}

static void
group_unit(uint32_t worker, uint64_t i)
{
	gs_span span;
	gs_held_rows some = rows_of_unit(i, &span);

	check(gs_groups_rows(groups, worker, engines[worker], &some), "rows");
}

static void
do_part(uint32_t worker, uint64_t i)
{
	check(gs_groups_part(groups, worker, engines[worker], (uint32_t) i), "part");
}

static void
work(uint32_t worker)
{
	uint64_t i;

	while ((i = __atomic_fetch_add(&unit, 1, __ATOMIC_RELAXED)) < units)
		do_unit(worker, i);
}

static void *
thread(void *arg)
{
	for (;;)
	{
		pthread_barrier_wait(&begin_work);
		work((uint32_t) (uintptr_t) arg);
		pthread_barrier_wait(&end_work);
	}
	return NULL;
}

static void
do_all(uint64_t n, void (*what)(uint32_t worker, uint64_t unit))
{
	unit = 0;
	units = n;
	do_unit = what;
	pthread_barrier_wait(&begin_work);
	work(0);
	pthread_barrier_wait(&end_work);
}

static void
open_threads(void)
{
	pthread_barrier_init(&begin_work, NULL, threads);
	pthread_barrier_init(&end_work, NULL, threads);
	engines = calloc(threads, sizeof(gs_engine *));
	engines[0] = engine;
	for (uint32_t i = 1; i < threads; i++)
	{
		pthread_t id;

		check(gs_cpu_open(1, &keeping_host, &engines[i]), "engine");
		pthread_create(&id, NULL, thread, (void *) (uintptr_t) i);
	}
}

/* ---------------------------------------------------------------- questions */

static gs_reduced *result;
static uint64_t result_bytes, nresult;

/* Makes room for a result, once: pages that a run touches first would be part of its time. */
static void
make_room(uint64_t bytes)
{
	if (bytes <= result_bytes)
		return;
	result_bytes = bytes;
	result = realloc(result, bytes);
	memset((void *) result, 0, bytes);
}

/* Carries out a list that adds up as rows come, in one thread. */
static void
reduce(void)
{
	size_t bytes = gs_reduce_temp_bytes(engine, &source, &list.head);
	void *temp;

	check(gs_alloc(engine, bytes, &temp), "scratch");
	make_room(gs_steps_result_bytes(&list.head));
	check(gs_reduce_rows(engine, &source, &list.head, result, temp, bytes), "rows");
	gs_free(engine, temp);
}

/* Carries out any other. */
static void
make_groups(void)
{
	check(gs_groups_open(engine, &list.head, ranges, rows, threads, &groups), "open");
	do_all(device ? 1 : (rows + unit_rows - 1) / unit_rows, group_unit);
	for (uint32_t parts; (parts = gs_groups_parts(groups)) > 0;)
		do_all(parts, do_part);
	check(gs_groups_end(groups, engine, 0, &nresult), "end");
	make_room(nresult * gs_steps_result_bytes(&list.head) + 1);
	check(gs_groups_read(groups, engine, 0, nresult, result), "read");
	gs_groups_close(groups, engine);
}

/* Carries out the list. */
static void
run(const char *name)
{
	double best = 1e30, least = 1e30;

	check(gs_steps_check(&list.head, sizeof(list)), name);
	for (int i = 0; i < repeats; i++)
	{
		double start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);

		if (gs_steps_reduces(&list.head))
			reduce();
		else
			make_groups();
		best = fmin(best, now(CLOCK_MONOTONIC) - start);
		least = fmin(least, now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
		check(gs_sync(engine), name);
	}
	printf("%-42s %9.3f ms (%9.3f)", name, best, least);
}

static void
verdict(bool good)
{
	printf("  %s\n", good ? "right" : "WRONG");
	fflush(stdout);
}

static bool
near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b) + 1e-9;
}

static double
real_of(const gs_reduced *r)
{
	double x;

	memcpy(&x, r->value, sizeof(x));
	return x;
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

#include "groups_sums.h"

static void
medians(void)
{
	const wanted two[] = {{GS_RANK_FLOOR, AMOUNT, 0.5}, {GS_RANK_CEIL, AMOUNT, 0.5}};
	double *sorted = malloc(rows * sizeof(double));
	uint64_t ends[SHOPS + 1] = {0}, next[SHOPS];
	bool good = true;

	memcpy(sorted, columns[AMOUNT], rows * sizeof(double));
	qsort(sorted, rows, sizeof(double), compare_doubles);
	list_begin(&list, types, COLUMNS);
	group(COLUMNS, 2, two);
	run("median float8");
	verdict(real_of(&result[0]) == sorted[(rows - 1) / 2] && real_of(&result[1]) == sorted[rows / 2]);
	for (uint64_t i = 0; i < rows; i++)
		ends[((int32_t *) columns[SHOP])[i] + 1]++;
	for (uint32_t s = 0; s < SHOPS; s++)
		next[s] = ends[s], ends[s + 1] += ends[s];
	for (uint64_t i = 0; i < rows; i++)
		sorted[next[((int32_t *) columns[SHOP])[i]]++] = ((double *) columns[AMOUNT])[i];
	list_begin(&list, types, COLUMNS);
	group(SHOP, 2, two);
	run("median float8 of 50 groups");
	for (uint64_t r = 0; r < nresult; r++)
	{
		const gs_reduced *g = &result[3 * r];
		uint64_t from = ends[g->value[0]], n = ends[g->value[0] + 1] - from;

		qsort(sorted + from, n, sizeof(double), compare_doubles);
		good = good && g[1].count == n && real_of(&g[1]) == sorted[from + (n - 1) / 2] &&
			real_of(&g[2]) == sorted[from + n / 2];
	}
	verdict(good && nresult == (rows < SHOPS ? nresult : SHOPS));
	free(sorted);
}

static void
groups_of_50(const char *name)
{
	const wanted two[] = {{GS_COUNT, COLUMNS, 0}, {GS_SUM, AMOUNT, 0}};
	double reals[SHOPS] = {0};
	uint64_t counts[SHOPS] = {0};
	bool good = true;

	for (uint64_t i = 0; i < rows; i++)
	{
		counts[((int32_t *) columns[SHOP])[i]]++;
		reals[((int32_t *) columns[SHOP])[i]] += ((double *) columns[AMOUNT])[i];
	}
	list_begin(&list, types, COLUMNS);
	group(SHOP, 2, two);
	run(name);
	for (uint64_t r = 0; r < nresult; r++)
	{
		const gs_reduced *g = &result[3 * r];

		good = good && g[1].count == counts[g->value[0]] && near(real_of(&g[2]), reals[g->value[0]]);
	}
	verdict(good && nresult == (rows < SHOPS ? nresult : SHOPS));
}

static int
compare_down(const void *a, const void *b)
{
	int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

	return (x < y) - (x > y);
}

static void
groups_of_many(const char *name)
{
	const wanted one[] = {{GS_SUM, PRICE, 0}};
	int64_t *all = calloc(customers, sizeof(int64_t)), *ordered = malloc(customers * sizeof(int64_t));
	bool good = true;

	for (uint64_t i = 0; i < rows; i++)
		all[(uint64_t) ((int32_t *) columns[CUSTOMER])[i] / apart] += ((int64_t *) columns[PRICE])[i];
	memcpy(ordered, all, customers * sizeof(int64_t));
	qsort(ordered, customers, sizeof(int64_t), compare_down);
	list_begin(&list, types, COLUMNS);
	group(CUSTOMER, 1, one);
	top(10);
	run(name);
	for (uint64_t r = 0; r < nresult; r++)
		good = good && (int64_t) result[2 * r + 1].value[0] == ordered[r] &&
			all[result[2 * r].value[0] / apart] == ordered[r];
	verdict(good && nresult == (customers < 10 ? nresult : 10));
	free(all);
	free(ordered);
}

#include "groups_rows.h"
#include "groups_keys.h"
#include "groups_windows.h"
#include "groups_computed.h"

#ifdef WITH_CUDA
/* Groups by each way of a device. */
static void
ways(void)
{
	for (gs_cuda_groups_way way = GS_CUDA_GROUPS_SHARED; way <= GS_CUDA_GROUPS_SORTED; way++)
	{
		char name[80];

		gs_cuda_groups_force(engine, way);
		snprintf(name, sizeof(name), "groups of 50, way %u", way);
		groups_of_50(name);
		snprintf(name, sizeof(name), "a group for 4 rows, top 10, way %u", way);
		groups_of_many(name);
	}
}
#endif

/* Questions without windows. */
static void
groups_and_rows(void)
{
	sums();
	distinct();
	distinct_of_50();
	medians();
	groups_of_50("groups of 50: count, sum float8");
	integers_of_50("groups of 50: sum int8", false, 1);
	integers_of_50("groups of 50: sum, min, max int8", false, 3);
	integers_of_50("filter of three, groups: sum int8", true, 1);
	groups_of_many("a group for 4 rows, top 10 by sum int8");
	pages_of_rows();
}

/* Returns true if questions of a kind are asked; NULL: those of no kind. */
static bool
is_asked(const char *kind)
{
	const char *only = getenv("ONLY");

	return only == NULL || (kind != NULL && strcmp(only, kind) == 0);
}

int
main(int argc, char **argv)
{
	device = argc > 1 && strcmp(argv[1], "gpu") == 0;
	if (getenv("REPEATS") != NULL)
		repeats = atoi(getenv("REPEATS"));
	if (argc > 2)
		rows = strtoull(argv[2], NULL, 10);
	if (argc > 3 && !device)
		threads = (uint32_t) atoi(argv[3]);
#ifdef WITH_CUDA
	if (device)
	{
		uint64_t all = UINT64_MAX;
		cudaMemPool_t pool;

		check(gs_cuda_open(0, NULL, &engine), "device");
		/* as the service does: memory that is freed stays */
		if (cudaDeviceGetDefaultMemPool(&pool, 0) != cudaSuccess ||
			cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all) != cudaSuccess)
			return 1;
	}
#endif
	if (!device)
		check(gs_cpu_open(1, &keeping_host, &engine), "engine");
	if (engine == NULL)
		return 1;
	make_columns();
	hold_columns();
	open_threads();
	printf("%s, %llu rows, %u threads\n", gs_engine_name(engine), (unsigned long long) rows, threads);
	if (is_asked(NULL))
		groups_and_rows();
	if (is_asked("windows"))
		windows();
	if (is_asked("computed"))
		computed_keys();
#ifdef WITH_CUDA
	if (device && is_asked(NULL))
		ways();
#endif
	if (argc > 4)
		groups_of_keys(strtoull(argv[4], NULL, 10));
	gs_engine_close(engine);
	return 0;
}
