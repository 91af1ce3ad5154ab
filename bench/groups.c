/*
 * groups.c: what questions over columns that stay in memory cost on an engine, whose answers are checked against plain
 * loops.
 *
 *   bench/groups [cpu | gpu] [ROWS]
 *
 * Columns: customer (4 bytes, a value for 4 rows), shop (4 bytes, 50 values), quantity (4 bytes), price (8 bytes) and
 * amount (double), in segments of 1 M rows, in the engine's memory.  Times are the least of seven, in milliseconds on
 * the clock, from the list of steps to the groups in host memory.  On the CPU they are those of one thread.
 */
#include "../kernels/gs_groups.h"
#include "../kernels/common/float_order.h"
#ifdef WITH_CUDA
#include "../kernels/cuda/base/sort_testing.h"

#include <cuda_runtime_api.h>
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SEGMENT ((uint64_t) 1 << 20)
#define REPEATS 7
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
static const size_t widths[COLUMNS] = {4, 4, 4, 8, 8};
static uint64_t rows = 20000000, customers;
static void *columns[COLUMNS];
static gs_range ranges[COLUMNS];
static gs_engine *engine;
static gs_held *held;
static gs_span *spans;
static gs_held_rows source;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static uint64_t
mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
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

static union
{
	gs_steps head;
	uint8_t bytes[4096];
	uint64_t align;
} list;
static uint32_t at;

static void *
add(size_t bytes)
{
	void *p = list.bytes + at;

	memset(p, 0, bytes);
	at += (uint32_t) ((bytes + 7) & ~(size_t) 7);
	return p;
}

static void
begin(void)
{
	memset(&list, 0, sizeof(list));
	at = (sizeof(gs_steps) + COLUMNS + 7) & ~(uint32_t) 7;
	list.head = (gs_steps){.magic = GS_STEPS_MAGIC, .ncolumns = COLUMNS, .first = at};
	for (uint32_t c = 0; c < COLUMNS; c++)
		list.bytes[sizeof(gs_steps) + c] = (uint8_t) types[c];
}

static void
end_step(gs_step *step, gs_step_kind kind)
{
	step->kind = kind;
	step->bytes = (uint32_t) (list.bytes + at - (uint8_t *) step);
	list.head.bytes = at;
	list.head.nsteps++;
}

/* Adds a filter: quantity below 60, price from 0 on, shop below 40. */
static void
filter(void)
{
	static const struct
	{
		uint32_t column;
		gs_test test;
		uint64_t value;
	} terms[3] = {{QUANTITY, GS_TEST_LT, 60}, {PRICE, GS_TEST_GE, 0}, {SHOP, GS_TEST_LT, 40}};
	gs_filter_step *f = add(sizeof(*f) + 3 * sizeof(gs_term));

	f->nterms = 3;
	for (uint32_t t = 0; t < 3; t++)
	{
		f->terms[t] = (gs_term){terms[t].column, terms[t].test, at, 1};
		((gs_constant *) add(sizeof(gs_constant)))->half[0] = terms[t].value;
	}
	end_step(&f->step, GS_STEP_FILTER);
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
	gs_group_step *g = add(sizeof(*g) + n * sizeof(gs_aggregate));

	g->naggregates = n;
	g->nkeys = key < COLUMNS;
	for (uint32_t i = 0; i < n; i++)
	{
		gs_aggregate *a = &g->aggregates[i];

		a->operation = wants[i].operation;
		a->fraction = wants[i].fraction;
		if (wants[i].column == COLUMNS)
			continue;
		a->code = at;
		a->ncode = 1;
		*(gs_instruction *) add(sizeof(gs_instruction)) = (gs_instruction){
			.code = GS_CODE_COLUMN,
			.result = wants[i].column == AMOUNT ? GS_NUMBER_F64
				: wants[i].column == PRICE ? GS_NUMBER_I64 : GS_NUMBER_I32,
			.operand = wants[i].column};
	}
	if (g->nkeys > 0)
	{
		g->keys = at;
		*(uint32_t *) add(sizeof(uint32_t)) = key;
	}
	end_step(&g->step, GS_STEP_GROUP);
}

/* Adds ROWS, a page in the order of a column; limit 0: all rows. */
static void
page(uint32_t column, uint64_t offset, uint64_t limit)
{
	gs_rows_step *r = add(sizeof(*r) + (limit > 0) * sizeof(gs_row_order));

	r->offset = offset;
	r->limit = limit;
	r->norders = limit > 0;
	if (limit > 0)
		r->orders[0] = (gs_row_order){.column = column};
	end_step(&r->step, GS_STEP_ROWS);
}

static void
top(uint32_t member, uint64_t limit)
{
	gs_top_step *t = add(sizeof(*t) + sizeof(gs_top_order));

	t->norders = 1;
	t->limit = limit;
	t->orders[0] = (gs_top_order){.member = member, .descending = 1};
	end_step(&t->step, GS_STEP_TOP);
}

/* ---------------------------------------------------------------- questions */

static gs_reduced *result;
static uint64_t result_bytes;
static uint64_t nresult;

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

/* Carries out the list. */
static void
run(const char *name)
{
	double best = 1e30;

	check(gs_steps_check(&list.head, sizeof(list)), name);
	for (int i = 0; i < REPEATS; i++)
	{
		double start = now();

		if (gs_steps_reduces(&list.head))
		{
			size_t bytes = gs_reduce_temp_bytes(engine, &source, &list.head);
			void *temp;

			check(gs_alloc(engine, bytes, &temp), name);
			start = now();
			make_room(gs_steps_result_bytes(&list.head));
			check(gs_reduce_rows(engine, &source, &list.head, result, temp, bytes), name);
			best = fmin(best, now() - start);
			gs_free(engine, temp);
			continue;
		}

		gs_groups *groups;

		check(gs_groups_open(engine, &list.head, ranges, rows, 1, &groups), name);
		check(gs_groups_rows(groups, 0, engine, &source), name);
		for (uint32_t parts; (parts = gs_groups_parts(groups)) > 0;)
			for (uint32_t p = 0; p < parts; p++)
				check(gs_groups_part(groups, 0, engine, p), name);
		check(gs_groups_end(groups, engine, 0, &nresult), name);
		make_room(nresult * gs_steps_result_bytes(&list.head) + 1);
		check(gs_groups_read(groups, engine, 0, nresult, result), name);
		best = fmin(best, now() - start);
		gs_groups_close(groups, engine);
		check(gs_sync(engine), name);
	}
	printf("%-42s %9.3f ms", name, best);
}

static void
verdict(bool good)
{
	printf("  %s\n", good ? "right" : "WRONG"), fflush(stdout);
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

static void
sums(void)
{
	const wanted one[] = {{GS_SUM, QUANTITY, 0}}, real[] = {{GS_SUM, AMOUNT, 0}};
	int64_t sum = 0;
	double reals = 0;

	for (uint64_t i = 0; i < rows; i++)
	{
		sum += ((int32_t *) columns[QUANTITY])[i];
		if (((int32_t *) columns[QUANTITY])[i] < 60 && ((int64_t *) columns[PRICE])[i] >= 0 &&
			((int32_t *) columns[SHOP])[i] < 40)
			reals += ((double *) columns[AMOUNT])[i];
	}
	begin();
	group(COLUMNS, 1, one);
	run("sum int4");
	verdict((int64_t) result[0].value[0] == sum && result[0].count == rows);
	begin();
	filter();
	group(COLUMNS, 1, real);
	run("filter of three, sum float8");
	verdict(near(real_of(&result[0]), reals));
}

static void
distinct(void)
{
	const wanted one[] = {{GS_DISTINCT, CUSTOMER, 0}};
	uint8_t *seen = calloc(customers, 1);
	uint64_t n = 0;

	for (uint64_t i = 0; i < rows; i++)
	{
		n += !seen[((int32_t *) columns[CUSTOMER])[i]];
		seen[((int32_t *) columns[CUSTOMER])[i]] = 1;
	}
	free(seen);
	begin();
	group(COLUMNS, 1, one);
	run("count(DISTINCT int4)");
	verdict(result[0].count == n);
}

static void
medians(void)
{
	const wanted two[] = {{GS_RANK_FLOOR, AMOUNT, 0.5}, {GS_RANK_CEIL, AMOUNT, 0.5}};
	double *sorted = malloc(rows * sizeof(double));
	uint64_t ends[SHOPS + 1] = {0}, next[SHOPS];
	bool good = true;

	memcpy(sorted, columns[AMOUNT], rows * sizeof(double));
	qsort(sorted, rows, sizeof(double), compare_doubles);
	begin();
	group(COLUMNS, 2, two);
	run("median float8");
	verdict(real_of(&result[0]) == sorted[(rows - 1) / 2] && real_of(&result[1]) == sorted[rows / 2]);
	for (uint64_t i = 0; i < rows; i++)
		ends[((int32_t *) columns[SHOP])[i] + 1]++;
	for (uint32_t s = 0; s < SHOPS; s++)
		next[s] = ends[s], ends[s + 1] += ends[s];
	for (uint64_t i = 0; i < rows; i++)
		sorted[next[((int32_t *) columns[SHOP])[i]]++] = ((double *) columns[AMOUNT])[i];
	begin();
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
	begin();
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
		all[((int32_t *) columns[CUSTOMER])[i]] += ((int64_t *) columns[PRICE])[i];
	memcpy(ordered, all, customers * sizeof(int64_t));
	qsort(ordered, customers, sizeof(int64_t), compare_down);
	begin();
	group(CUSTOMER, 1, one);
	top(1, 10);
	run(name);
	for (uint64_t r = 0; r < nresult; r++)
		good = good && (int64_t) result[2 * r + 1].value[0] == ordered[r] && all[result[2 * r].value[0]] == ordered[r];
	verdict(good && nresult == (customers < 10 ? nresult : 10));
	free(all);
	free(ordered);
}

/* Returns a value of a column as a number in its order. */
static int64_t
value_at(uint32_t c, uint64_t i)
{
	int64_t x;

	if (widths[c] == 4)
		return ((int32_t *) columns[c])[i];
	/* amounts are not negative */
	memcpy(&x, (char *) columns[c] + i * 8, 8);
	return x;
}

/* A page of 50 rows from a place on, in the order of a column. */
static void
page_of(const char *name, uint32_t c, uint64_t offset)
{
	int64_t *sorted = malloc(rows * sizeof(int64_t)); /* descending */
	uint64_t n = offset >= rows ? 0 : rows - offset < 50 ? rows - offset : 50;
	bool good = true;

	for (uint64_t i = 0; i < rows; i++)
		sorted[i] = value_at(c, i);
	qsort(sorted, rows, sizeof(int64_t), compare_down);
	begin();
	page(c, offset, 50);
	run(name);
	for (uint64_t r = 0; r < nresult && r < n; r++)
	{
		const gs_row *row = (const gs_row *) result + r;

		good = good && value_at(c, row->segment * SEGMENT + row->row) == sorted[rows - 1 - offset - r];
	}
	verdict(good && nresult == n);
	free(sorted);
}

/* The rows that the filter passes. */
static void
rows_of_filter(void)
{
	uint64_t n = 0, places = 0, found = 0;

	for (uint64_t i = 0; i < rows; i++)
		if (value_at(QUANTITY, i) < 60 && value_at(PRICE, i) >= 0 && value_at(SHOP, i) < 40)
			n++, places += i;
	begin();
	filter();
	page(0, 0, 0);
	run("filter of three, rows");
	for (uint64_t r = 0; r < nresult; r++)
		found += ((const gs_row *) result)[r].segment * SEGMENT + ((const gs_row *) result)[r].row;
	verdict(nresult == n && found == places);
}

int
main(int argc, char **argv)
{
	bool gpu = argc > 1 && strcmp(argv[1], "gpu") == 0;

	if (argc > 2)
		rows = strtoull(argv[2], NULL, 10);
#ifdef WITH_CUDA
	if (gpu)
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
	if (!gpu)
		check(gs_cpu_open(1, NULL, &engine), "engine");
	if (engine == NULL)
		return 1;
	make_columns();
	hold_columns();
	printf("%s, %llu rows\n", gs_engine_name(engine), (unsigned long long) rows);
	sums();
	distinct();
	medians();
	groups_of_50("groups of 50: count, sum float8");
	groups_of_many("a group for 4 rows, top 10 by sum int8");
	page_of("page of 50 by int4, from 0", CUSTOMER, 0);
	page_of("page of 50 by int4, from 1 M", CUSTOMER, 1000000);
	page_of("page of 50 by int8, from 1 M", PRICE, 1000000);
	page_of("page of 50 by float8, from 1 M", AMOUNT, 1000000);
	page_of("page of 50 by int4 of 50 values, from 1 M", SHOP, 1000000);
	rows_of_filter();
#ifdef WITH_CUDA
	for (gs_cuda_groups_way way = GS_CUDA_GROUPS_SHARED; gpu && way <= GS_CUDA_GROUPS_SORTED; way++)
	{
		char name[80];

		gs_cuda_groups_force(engine, way);
		snprintf(name, sizeof(name), "groups of 50, way %u", way);
		groups_of_50(name);
		snprintf(name, sizeof(name), "a group for 4 rows, top 10, way %u", way);
		groups_of_many(name);
	}
#endif
	gs_engine_close(engine);
	return 0;
}
