/*
 * places.c: lists of steps with ROWS, against plain C: orders by columns of every type, both directions, NULLs first
 * and last, ties, pages everywhere and beyond the end, filters, keys that lie unevenly, several workers, threads.
 */
#include "places_reference.h"
#include "scan_test.h"

#include "../../kernels/common/steps_row.h"
#include "../../kernels/cpu/cpu.h"

#define MOST_WORKERS 3
#define THREADS		 4

static const table *data;
static const steps_list *list;

/* ---- one list */

/* Carries out the list over some spans with some workers, each of which has every so manyth span. */
static gs_status
by_engine(const gs_range *ranges, const gs_span *spans, uint32_t nspans, uint32_t workers, gs_row **out, uint64_t *n)
{
	gs_groups *groups;
	uint64_t rows = 0;
	gs_status status;

	*out = NULL;
	for (uint32_t i = 0; i < nspans; i++)
		rows += spans[i].rows;
	status = gs_groups_open(engine, &list->head, ranges, rows, workers, &groups);
	if (status != GS_OK)
		return status;
	for (uint32_t i = 0, each = workers > 1 ? 1 : nspans; i < nspans && status == GS_OK; i += each)
	{
		/* spans are read during the call */
		gs_span *copy = malloc(each * sizeof(*copy));
		gs_held_rows some = {data->types, data->ncolumns, SEGMENTS, data->held, each, copy};

		memcpy(copy, spans + i, each * sizeof(*copy));
		status = gs_groups_rows(groups, i % workers, engine, &some);
		free(copy);
	}
	if (status == GS_OK)
		status = do_parts(groups, workers);
	if (status == GS_OK)
		status = gs_groups_end(groups, engine, 0, n);
	if (status == GS_OK)
	{
		*out = malloc((*n + 1) * sizeof(gs_row));
		status = gs_groups_read(groups, engine, 0, *n / 2, *out);
		if (status == GS_OK)
			status = gs_groups_read(groups, engine, *n / 2, *n - *n / 2, *out + *n / 2);
		check(gs_groups_read(groups, engine, *n, 1, *out) == GS_INVALID, "no row behind the last");
	}
	gs_groups_close(groups, engine);
	return status;
}

static void
one_list(const steps_list *l, const table *t, const gs_span *spans, uint32_t nspans, const char *what)
{
	const gs_rows_step *step = gs_steps_rows(&l->head);
	gs_range ranges[MOST_COLUMNS];
	uint32_t bits = 0;
	expected_places e;

	data = t;
	list = l;
	check(gs_steps_check(&l->head, l->head.bytes) == GS_OK, "%s: the list is right", what);
	for (uint32_t c = 0; c < t->ncolumns; c++)
		ranges[c] = column_range(t, c);
	for (uint32_t i = 0; i < step->norders; i++)
		bits += range_bits(&ranges[step->orders[i].column], t->types[step->orders[i].column]);
	e = expect_places(&list->head, data, spans, nspans);
	for (uint32_t workers = 1; workers <= (on_gpu ? 1 : MOST_WORKERS); workers += 2)
	{
		gs_row *out;
		uint64_t n = 0;
		gs_status status = by_engine(ranges, spans, nspans, workers, &out, &n);
		const char *wrong = status == GS_OK ? page_wrong(&e, out, n) : NULL;

		check(status == (bits > GS_GROUPS_KEY_BITS ? GS_TOO_BIG : GS_OK), "%s, %u workers: %s", what, workers,
			  gs_status_text(status));
		check(wrong == NULL, "%s, %u workers, %llu rows from %llu on, limit %llu, of %llu: %s", what, workers,
			  (unsigned long long) n, (unsigned long long) step->offset, (unsigned long long) step->limit,
			  (unsigned long long) e.n, wrong);
		free(out);
	}
	drop_places(&e);
}

/* ---- random lists */

/* Begins a list, perhaps with a filter. */
static void
begin_list(steps_list *l, const table *t)
{
	uint32_t nterms = rnd() % 2 ? 0 : 1 + (uint32_t) (rnd() % 2);
	gs_term term;

	list_begin(l, t->types, t->ncolumns);
	if (nterms > 0)
		list_filter(l, nterms);
	for (uint32_t i = 0; i < nterms; i++)
	{
		term = some_term(l, t, (uint32_t) (rnd() % t->ncolumns), (gs_test) (rnd() % (GS_TEST_NEVER + 1)));
		list_term(l, term.column, (gs_test) term.test, term.constants, term.nconstants);
	}
}

/* Adds a page in some order, or all rows. */
static void
add_rows(steps_list *l, const table *t, uint32_t norders, uint64_t rows)
{
	static const uint64_t limits[] = {1, 2, 10, 63, 64, 65, 1000, 5000, UINT64_MAX, 0};
	static const uint64_t offsets[] = {1, 10, 64, 1000, 4096};
	gs_row_order orders[GS_STEPS_MAX_KEYS];
	uint64_t offset = 0;

	for (uint32_t i = 0; i < norders; i++)
		orders[i] = (gs_row_order){(uint32_t) (i == 0 ? 0 : rnd() % t->ncolumns), rnd() % 2, rnd() % 2, 0};
	switch (rnd() % 8)
	{
		case 0: case 1: break;
		case 2: case 3: offset = offsets[rnd() % 5]; break;
		case 4: offset = rows - rnd() % (rows < 100 ? rows + 1 : 100); break;
		case 5: offset = rnd() % 2 ? rows : UINT64_MAX - rnd() % 2; break;
		default: offset = rnd() % (rows + 1);
	}
	list_rows(l, norders > 0 ? offset : 0, norders > 0 ? limits[rnd() % 10] : 0, orders, norders);
}

/* Random lists over a table whose columns have some number of values, or any. */
static void
random_lists(uint64_t values)
{
	static table t;
	static steps_list l;
	uint32_t ncolumns = 1 + (uint32_t) (rnd() % MOST_COLUMNS);
	char what[64];

	make_table(&t, ncolumns, NULL);
	for (uint32_t c = 0; c < ncolumns; c++)
		if (rnd() % 4)
			make_key(&t, c, c == 0 ? values : 1 + rnd() % 100);
	put_table(&t);
	for (int turn = 0; turn < 6; turn++)
	{
		uint32_t norders = (uint32_t) (rnd() % 4), nspans;
		uint64_t rows = 0;
		gs_span spans[6];

		nspans = some_spans(&t, spans, 6);
		for (uint32_t i = 0; i < nspans; i++)
			rows += spans[i].rows;
		snprintf(what, sizeof(what), "%u orders, %llu values", norders, (unsigned long long) values);
		begin_list(&l, &t);
		add_rows(&l, &t, norders, rows);
		one_list(&l, &t, spans, nspans, what);
	}
	drop_table(&t);
}

/* Both directions, and NULLs at both ends, of each type, of random values and of few. */
static void
every_type(gs_type type)
{
	static table t;
	static steps_list l;
	char what[64];

	for (int turn = 0; turn < 8; turn++)
	{
		gs_row_order order = {0, turn & 1, turn >> 1 & 1, 0};
		gs_span spans[SEGMENTS];

		snprintf(what, sizeof(what), "%s, way %d", type_name(type), turn);
		make_table(&t, 1, &type);
		if (turn >= 4)
			make_key(&t, 0, 1 + rnd() % 300);
		put_table(&t);
		for (uint32_t s = 0; s < SEGMENTS; s++)
			spans[s] = (gs_span){s, 0, t.plain[s].rows};
		list_begin(&l, &type, 1);
		list_rows(&l, rnd() % 100, 1 + rnd() % 100, &order, 1);
		one_list(&l, &t, spans, SEGMENTS, what);
		list_begin(&l, &type, 1);
		list_rows(&l, 0, 0, &order, turn & 1);
		one_list(&l, &t, spans, SEGMENTS, what);
		drop_table(&t);
	}
}

/*
 * Many rows whose keys lie close together in a wide range, or in two heaps at its ends, so that a narrower window is
 * looked at again; pages in and across the heaps.
 */
static void
heaps(int kind)
{
	static table t;
	static steps_list l;
	static const uint64_t offsets[] = {0, 1, 30000, 59999, 60000, 119990};
	const gs_type type = GS_I64;
	const uint32_t rows = 60000;
	gs_span spans[2] = {{0, 0, rows}, {0, 0, rows}};

	make_table(&t, 1, &type);
	drop_table(&t);
	memset(&t.plain, 0, sizeof(t.plain));
	for (uint32_t s = 0; s < SEGMENTS; s++)
	{
		t.plain[s].rows = s == 0 ? rows : 1;
		t.plain[s].values[0] = malloc(t.plain[s].rows * 8);
		memset(t.plain[s].values[0], 0, t.plain[s].rows * 8);
		t.values[s][0] = make_array(t.plain[s].rows * 8, 0);
		t.held[s] = (gs_held){t.values[s][0].data, NULL};
	}
	for (uint32_t r = 0; r < rows; r++)
	{
		int64_t near = (int64_t) (rnd() % 60000), far = kind == 1 && rnd() % 2 ? INT64_MAX - 100000 : 0;

		((int64_t *) t.plain[0].values[0])[r] = kind == 2 ? (int64_t) (rnd() % 3 << 40) : near + far;
	}
	((int64_t *) t.plain[0].values[0])[rows / 3] = INT64_MAX;
	put_table(&t);
	for (int turn = 0; turn < 6; turn++)
	{
		list_begin(&l, &type, 1);
		list_rows(&l, offsets[turn], rnd() % 2 ? 10 : 1 + rnd() % 60000, &(gs_row_order){0, rnd() % 2, 0, 0}, 1);
		one_list(&l, &t, spans, 2, "heaps");
	}
	drop_table(&t);
}

/* Values and NULLs outside of what was told of them. */
static void
outside(void)
{
	static table t;
	static steps_list l;
	const gs_type type = GS_I32;
	gs_range range = {.low = {{0, 0}}, .high = {{10, 0}}, .nulls = true};
	gs_row *out;
	uint64_t n;
	gs_span span = {0, 0, 0};

	do
	{
		if (span.rows > 0)
			drop_table(&t);
		make_table(&t, 1, &type);
		span.rows = t.plain[0].rows;
	} while (span.rows < 10 || t.plain[0].nulls[0] == NULL);
	for (uint32_t r = 0; r < span.rows; r++)
		((int32_t *) t.plain[0].values[0])[r] = (int32_t) (r % 5);
	((int32_t *) t.plain[0].values[0])[span.rows / 2] = 11;
	memset(t.plain[0].nulls[0], 0, (span.rows + 63) / 64 * 8);
	data = &t;
	list = &l;
	for (int turn = 0; turn < 4; turn++)
	{
		list_begin(&l, &type, 1);
		list_rows(&l, 0, 1, &(gs_row_order){0, turn & 1, turn >> 1, 0}, 1);
		put_table(&t);
		range = (gs_range){.low = {{0, 0}}, .high = {{10, 0}}, .nulls = true};
		check(by_engine(&range, &span, 1, 1, &out, &n) == GS_INVALID, "a value beyond its range");
		free(out);
		range.high.half[0] = 11;
		check(by_engine(&range, &span, 1, 1, &out, &n) == GS_OK, "a value at the end of its range");
		free(out);
		range.low.half[0] = 1;
		check(by_engine(&range, &span, 1, 1, &out, &n) == GS_INVALID, "a value below its range");
		free(out);
		range = (gs_range){.low = {{0, 0}}, .high = {{11, 0}}};
		t.plain[0].nulls[0][0] = 2;
		put_table(&t);
		check(by_engine(&range, &span, 1, 1, &out, &n) == GS_INVALID, "a NULL where there is none");
		free(out);
		t.plain[0].nulls[0][0] = 0;
	}
	drop_table(&t);
}

/* ---- threads */

/* Pages by threads, as a service's workers do them. */
static void
threads(uint32_t norders)
{
	static table t;
	static steps_list l;
	gs_span spans[4 * SEGMENTS];
	gs_range ranges[MOST_COLUMNS];
	gs_groups *groups;
	expected_places e;
	gs_row *out;
	uint64_t n;
	const char *wrong;

	make_table(&t, 2, (gs_type[]){GS_I32, GS_F32});
	for (uint32_t c = 0; c < 2; c++)
		make_key(&t, c, c == 0 ? 5 : 1000);
	put_table(&t);
	data = &t;
	list = &l;
	for (uint32_t i = 0; i < 4 * SEGMENTS; i++)
	{
		uint32_t s = i / 4, each = (t.plain[s].rows + 3) / 4, first = i % 4 * each;

		first = first < t.plain[s].rows ? first : t.plain[s].rows;
		spans[i] = (gs_span){s, first, t.plain[s].rows - first < each ? t.plain[s].rows - first : each};
	}
	for (uint32_t c = 0; c < 2; c++)
		ranges[c] = column_range(&t, c);
	begin_list(&l, &t);
	list_rows(&l, 0, norders > 0 ? 100 : 0, (gs_row_order[]){{0, 0, 0, 0}, {1, 1, 1, 0}}, norders);
	ok(gs_groups_open(engine, &l.head, ranges, 1000000, THREADS, &groups), "gs_groups_open");
	ok(do_threads(groups, &t, spans, 4 * SEGMENTS, THREADS), "threads");
	ok(gs_groups_end(groups, engine, 0, &n), "gs_groups_end");
	out = malloc((n + 1) * sizeof(*out));
	ok(gs_groups_read(groups, engine, 0, n, out), "gs_groups_read");
	gs_groups_close(groups, engine);
	e = expect_places(&list->head, data, spans, 4 * SEGMENTS);
	wrong = page_wrong(&e, out, n);
	check(wrong == NULL, "%u orders by threads: %s", norders, wrong);
	drop_places(&e);
	free(out);
	drop_table(&t);
}

void
test_places(void)
{
	static const uint64_t numbers[] = {1, 2, 50, 5000, 30000, 1000000, (uint64_t) 1 << 40};
	static const char *const names[] = {"places, plain", "places, AVX2", "places, AVX-512"};
	gs_cpu_tuning normal = gs_cpu_tuning_default();

	rnd_seed(2424);
	for (int vector = GS_AVX512; vector >= (on_gpu ? GS_AVX512 : GS_NO_VECTORS); vector--)
	{
		gs_cpu_tuning tuning = normal;

		group(on_gpu ? "places" : names[vector]);
		tuning.vector = (gs_vectors) vector;
		if (!on_gpu)
			gs_cpu_tune(engine, &tuning);
		outside();
		for (int type = 0; type < GS_BYTES; type++)
			if (!skipped())
				every_type((gs_type) type);
		for (int kind = 0; kind < 3; kind++)
			if (!skipped())
				heaps(kind);
		for (int turn = 0; turn < (small_only ? 7 : 70); turn++)
			if (!skipped())
				random_lists(numbers[turn % 7]);
		for (uint32_t norders = 0; norders < 3 && !on_gpu; norders++)
			threads(norders);
		if (!on_gpu)
			gs_cpu_tune(engine, &normal);
	}
}
