/*
 * groups.c: the CPU engine's lists with groups and windows: some questions, as a service asks them, with some threads.
 *
 *   groups-bench [rows [threads [runs]]]
 *
 * Prints the least time of the runs, from open to the end of reading, and the phases of that run, in ms, and
 * the least processor time of all threads.
 */
#define _GNU_SOURCE
#include "../../kernels/common/steps_row.h"
#include "../../kernels/gs_groups.h"
#include "../../test/kernels/steps_list.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNIT_ROWS 65536
#define COLUMNS	  7

enum
{
	CUSTOMER,
	SHOP,
	AMOUNT,
	PRICE,
	TS,
	STATE,
	MICROSECONDS
};

static const gs_type types[COLUMNS] = {GS_I32, GS_I32, GS_F64, GS_I64, GS_I64, GS_I32, GS_I64};
static uint64_t rows = 20000000, unit, parts;
static uint32_t threads = 16;
static void *columns[COLUMNS];
static gs_range ranges[COLUMNS];
static gs_engine **engines;
static gs_groups *groups;
static bool second;
static pthread_barrier_t begin_work, end_work;

static double
now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
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

static void
must(gs_status status, const char *what)
{
	if (status == GS_OK)
		return;
	printf("%s: %s\n", what, gs_status_text(status));
	exit(1);
}

/* Adds units of rows, or does parts, as long as there are some. */
static void
work(uint32_t worker)
{
	gs_held held[COLUMNS];
	uint64_t i;

	for (int c = 0; c < COLUMNS; c++)
		held[c] = (gs_held){columns[c], NULL};
	if (second)
		while ((i = __atomic_fetch_add(&unit, 1, __ATOMIC_RELAXED)) < parts)
			must(gs_groups_part(groups, worker, engines[worker], (uint32_t) i), "part");
	else
		while ((i = __atomic_fetch_add(&unit, 1, __ATOMIC_RELAXED)) * UNIT_ROWS < rows)
		{
			gs_span span = {0, (uint32_t) (i * UNIT_ROWS), UNIT_ROWS};
			gs_held_rows some = {types, COLUMNS, 1, held, 1, &span};

			if (rows - span.first < UNIT_ROWS)
				span.rows = (uint32_t) (rows - span.first);
			must(gs_groups_rows(groups, worker, engines[worker], &some), "rows");
		}
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
phase(bool parts_now)
{
	second = parts_now;
	unit = 0;
	pthread_barrier_wait(&begin_work);
	work(0);
	pthread_barrier_wait(&end_work);
}

/* Asks a question some times. */
static void
ask(const char *name, const steps_list *l, int runs)
{
	double best = 1e9, least = 1e9, at[5], some[5] = {0};
	uint64_t n = 0;

	must(gs_steps_check(&l->head, l->head.bytes), "list");
	for (int run = 0; run < runs; run++)
	{
		double cpu = now(CLOCK_PROCESS_CPUTIME_ID);
		gs_reduced *out;

		at[0] = now(CLOCK_MONOTONIC);
		must(gs_groups_open(engines[0], &l->head, ranges, rows, threads, &groups), "open");
		phase(false);
		at[1] = now(CLOCK_MONOTONIC);
		while ((parts = gs_groups_parts(groups)) > 0)
			phase(true);
		at[2] = now(CLOCK_MONOTONIC);
		must(gs_groups_end(groups, engines[0], 0, &n), "end");
		out = malloc(n * gs_steps_result_bytes(&l->head) + 1);
		must(gs_groups_read(groups, engines[0], 0, n, out), "read");
		at[3] = now(CLOCK_MONOTONIC);
		gs_groups_close(groups, engines[0]);
		at[4] = now(CLOCK_MONOTONIC);
		free(out);
		cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		least = cpu < least ? cpu : least;
		if (at[4] - at[0] < best)
		{
			best = at[4] - at[0];
			memcpy(some, at, sizeof(at));
		}
	}
	printf("%-30s %8.2f  cpu %8.2f   rows %7.2f  parts %7.2f  end %6.2f  close %6.2f   %llu groups\n", name,
		   best, least,
		   some[1] - some[0], some[2] - some[1], some[3] - some[2], some[4] - some[3], (unsigned long long) n);
	fflush(stdout);
}

/* The list of an operation on a column, and of counts, by a key (-1: none) with the first 10 by its sum, if asked. */
static void
question(const char *name, uint32_t operation, uint32_t column, gs_number number, int key, bool count, uint64_t top,
		 int runs)
{
	static steps_list l;
	gs_top_order order = {1, 1, 0, 0};

	list_begin(&l, types, COLUMNS);
	list_group(&l, 1 + count);
	list_column(&l, GS_COUNT, column, number);
	list_refine(&l, operation, operation >= GS_RANK_DISC ? 0.5 : 0, NULL, 0);
	if (count)
		list_aggregate(&l, GS_COUNT, NULL, 0);
	list_keys(&l, (uint32_t[]){(uint32_t) key}, key >= 0);
	if (top > 0)
		list_top(&l, top, &order, 1);
	ask(name, &l, runs);
}

/* Customers, even or with a few that are frequent, from a range, of which one in so many is there. */
static void
make_customers(uint64_t number, uint64_t apart, bool frequent)
{
	int32_t *x = columns[CUSTOMER];

	for (uint64_t i = 0; i < rows; i++)
	{
		double u = (double) (mix(i) >> 11) / 9007199254740992.0;

		x[i] = (int32_t) ((uint64_t) ((frequent ? u * u * u * u : u) * (double) number) * apart);
	}
	ranges[CUSTOMER] = (gs_range){{{0, 0}}, {{(number - 1) * apart, 0}}, false};
}

static void
make_data(void)
{
	static const size_t widths[COLUMNS] = {4, 4, 8, 8, 8, 4, 8};

	for (int c = 0; c < COLUMNS; c++)
		columns[c] = aligned_alloc(64, (rows * widths[c] + 127) / 64 * 64);
	make_customers(5000001, 1, false);
	for (uint64_t i = 0; i < rows; i++)
	{
		((int32_t *) columns[SHOP])[i] = (int32_t) (i % 50);
		((double *) columns[AMOUNT])[i] = (double) (mix(i + 7) >> 11) * (1e6 / 9007199254740992.0);
		((int64_t *) columns[PRICE])[i] = (int64_t) (mix(i + 9) % 30000000);
		((int64_t *) columns[TS])[i] = (int64_t) (mix(i + 11) % 100000000);
		((int32_t *) columns[STATE])[i] = (int32_t) (((int64_t *) columns[TS])[i] / 500 % 7);
		((int64_t *) columns[MICROSECONDS])[i] = (int64_t) (mix(i + 13) % ((uint64_t) 1 << 45));
	}
	ranges[SHOP] = (gs_range){{{0, 0}}, {{49, 0}}, false};
	ranges[AMOUNT] = (gs_range){{{gs_float_order64(gs_real_bits(0), true), 0}},
								{{gs_float_order64(gs_real_bits(1e6), true), 0}}, false};
	ranges[PRICE] = (gs_range){{{0, 0}}, {{29999999, 0}}, false};
	ranges[TS] = (gs_range){{{0, 0}}, {{99999999, 0}}, false};
	ranges[STATE] = (gs_range){{{0, 0}}, {{6, 0}}, false};
	ranges[MICROSECONDS] = (gs_range){{{0, 0}}, {{((uint64_t) 1 << 45) - 1, 0}}, false};
}

/* ---- windows */

/* Begins a list with a function over a window by a column in the order of another one; partition: -1: none. */
static void
window(steps_list *l, uint32_t function, uint32_t column, gs_type type, int partition, uint32_t order)
{
	gs_type all[COLUMNS + 1];
	gs_row_order orders[2] = {{(uint32_t) partition, 0, 0, 0}, {order, 0, 0, 0}};
	gs_window_function f = {.function = function, .column = column};

	memcpy(all, types, sizeof(types));
	all[COLUMNS] = type;
	list_begin(l, all, COLUMNS + 1);
	l->head.ncolumns = COLUMNS;
	l->head.nwindows = 1;
	f.number = function == GS_WINDOW_LAG;
	f.frame = function >= GS_WINDOW_FIRST ? GS_FRAME_PEERS : 0;
	(void) list_window(l, &f, 1, partition < 0 ? orders + 1 : orders, partition >= 0, 1);
}

/* The runs of a state, counted: rows whose state is not that of the row before. */
static void
runs_of(const char *name, int partition, uint32_t order, int runs)
{
	static steps_list l;

	window(&l, GS_WINDOW_LAG, STATE, GS_I32, partition, order);
	list_filter(&l, 1);
	list_term(&l, COLUMNS, GS_TEST_DISTINCT_COLUMN, STATE, 0);
	list_group(&l, 1);
	list_aggregate(&l, GS_COUNT, NULL, 0);
	list_keys(&l, NULL, 0);
	ask(name, &l, runs);
}

/* Islands: runs by their number, as groups with their first and last time; those of more than one row. */
static void
islands(const char *name, int partition, uint32_t order, int runs)
{
	static steps_list l;
	uint32_t keys[3] = {COLUMNS, STATE, (uint32_t) partition};

	window(&l, GS_WINDOW_RUN, STATE, GS_I64, partition, order);
	list_group(&l, 3);
	list_aggregate(&l, GS_COUNT, NULL, 0);
	list_column(&l, GS_MIN, order, GS_NUMBER_I64);
	list_column(&l, GS_MAX, order, GS_NUMBER_I64);
	list_keys(&l, keys, partition >= 0 ? 3 : 2);
	list_having(&l, 1);
	list_compare(&l, partition >= 0 ? 3 : 2, GS_TEST_GT, 1000000);
	ask(name, &l, runs);
}

/* The highest of a function's values, or how many are below one. */
static void
highest(const char *name, uint32_t function, uint32_t column, gs_type type, gs_number number, uint32_t order,
		int64_t below, int runs)
{
	static steps_list l;

	window(&l, function, column, type, CUSTOMER, order);
	if (below > 0)
	{
		list_filter(&l, 1);
		list_compare(&l, COLUMNS, GS_TEST_LE, below);
	}
	list_group(&l, 1);
	if (below > 0)
		list_aggregate(&l, GS_COUNT, NULL, 0);
	else
		list_column(&l, GS_MAX, COLUMNS, number);
	list_keys(&l, NULL, 0);
	ask(name, &l, runs);
}

/* The average of times less those of the rows before. */
static void
differences(const char *name, uint32_t order, int runs)
{
	static steps_list l;
	gs_instruction code[3] = {{GS_CODE_COLUMN, GS_NUMBER_I64, 0, order},
							  {GS_CODE_COLUMN, GS_NUMBER_I64, 0, COLUMNS},
							  {GS_CODE_SUBTRACT, GS_NUMBER_I64, 0, 0}};

	window(&l, GS_WINDOW_LAG, order, GS_I64, CUSTOMER, order);
	list_group(&l, 1);
	list_aggregate(&l, GS_SUM, code, 3);
	list_keys(&l, NULL, 0);
	ask(name, &l, runs);
}

static void
windows(int runs)
{
	runs_of("runs of state by ts: lag", -1, TS, runs);
	runs_of("the same in microseconds", -1, MICROSECONDS, runs);
	runs_of("by shop", SHOP, TS, runs);
	islands("islands by run", -1, TS, runs);
	islands("islands by shop", SHOP, TS, runs);
	highest("running total of doubles", GS_WINDOW_SUM, AMOUNT, GS_F64, GS_NUMBER_F64, TS, 0, runs);
	highest("running total of integers", GS_WINDOW_SUM, PRICE, GS_U128, GS_NUMBER_I128, TS, 0, runs);
	highest("row_number() <= 3", GS_WINDOW_ROW_NUMBER, GS_NO_COLUMN, GS_I64, GS_NUMBER_I64, TS, 3, runs);
	differences("ts - lag(ts), average", TS, runs);
	differences("the same in microseconds", MICROSECONDS, runs);
}

int
main(int argc, char **argv)
{
	int runs = argc > 3 ? atoi(argv[3]) : 5;
	uint64_t number;

	rows = argc > 1 ? strtoull(argv[1], NULL, 10) : rows;
	threads = argc > 2 ? (uint32_t) atoi(argv[2]) : threads;
	make_data();
	pthread_barrier_init(&begin_work, NULL, threads);
	pthread_barrier_init(&end_work, NULL, threads);
	engines = calloc(threads, sizeof(*engines));
	for (uint32_t i = 0; i < threads; i++)
	{
		pthread_t id;

		must(gs_cpu_open(1, NULL, &engines[i]), "gs_cpu_open");
		if (i > 0)
			pthread_create(&id, NULL, thread, (void *) (uintptr_t) i);
	}
	printf("%llu rows, %u threads, ms\n", (unsigned long long) rows, threads);
	question("count(DISTINCT) of 5 M", GS_DISTINCT, CUSTOMER, GS_NUMBER_I32, -1, false, 0, runs);
	question("median of doubles", GS_RANK_FLOOR, AMOUNT, GS_NUMBER_F64, -1, false, 0, runs);
	question("median by 50 groups", GS_RANK_FLOOR, AMOUNT, GS_NUMBER_F64, SHOP, false, 0, runs);
	question("sum, count by 50 groups", GS_SUM, AMOUNT, GS_NUMBER_F64, SHOP, true, 0, runs);
	question("sum by 5 M groups, top 10", GS_SUM, PRICE, GS_NUMBER_I64, CUSTOMER, false, 10, runs);
	windows(runs);
	for (number = 1000; argc > 4 && number <= 100000000; number *= 10)
		for (int kind = 0; kind < 3; kind++)
		{
			char name[64];
			uint64_t apart = kind == 2 ? INT32_MAX / number : 1;

			make_customers(number, apart, kind == 1);
			snprintf(name, sizeof(name), "sum, %llu %s, top 10", (unsigned long long) number,
					 kind == 0 ? "even" : kind == 1 ? "uneven" : "sparse");
			question(name, GS_SUM, PRICE, GS_NUMBER_I64, CUSTOMER, false, 10, runs);
		}
	return 0;
}
