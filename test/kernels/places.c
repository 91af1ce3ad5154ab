/*
 * places.c: lists of steps with ROWS, against plain C: orders by columns of every type, both directions, NULLs first
 * and last, ties, pages everywhere and beyond the end, filters, keys that lie unevenly, several workers, threads.
 */
#include "scan_test.h"

#include "../../kernels/common/steps_row.h"
#include "../../kernels/cpu/cpu.h"
#include "steps_table.h"

#include <pthread.h>

#define MOST_WORKERS 3
#define THREADS		 4

/* What qsort's functions look at. */
static const table *data;
static const steps_list *list;
static value *values[SEGMENTS][MOST_COLUMNS]; /* of the columns in orders */

/* ---- the reference */

/* Compares rows by the list's orders. */
static int
by_orders(const void *x, const void *y)
{
	const gs_rows_step *step = gs_steps_rows(&list->head);
	const gs_row *a = x, *b = y;

	for (uint32_t i = 0; i < step->norders; i++)
	{
		const gs_row_order *o = &step->orders[i];
		value v = values[a->segment][o->column][a->row], w = values[b->segment][o->column][b->row];
		int sign = v.null || w.null ? 0 : compare_values(v, w);

		if (v.null != w.null)
			return v.null == (o->nulls_first != 0) ? -1 : 1;
		if (sign != 0)
			return o->descending ? -sign : sign;
	}
	return 0;
}

static int
by_place(const void *x, const void *y)
{
	const gs_row *a = x, *b = y;

	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

/* Reads a column, once for all comparisons. */
static void
read_values(uint32_t c)
{
	for (uint32_t s = 0; s < SEGMENTS; s++)
	{
		free(values[s][c]);
		values[s][c] = malloc(data->plain[s].rows * sizeof(value));
		for (uint32_t r = 0; r < data->plain[s].rows; r++)
			values[s][c][r] = column_value(&list->head, &data->plain[s], c, r);
	}
}

/* The rows that pass, in order and by place. */
typedef struct expected_places
{
	gs_row *in_order, *places;
	uint64_t n;
} expected_places;

static expected_places
expect_places(const gs_span *spans, uint32_t nspans)
{
	const gs_filter_step *filter = gs_steps_filter(&list->head);
	const gs_rows_step *step = gs_steps_rows(&list->head);
	expected_places e = {0};
	uint64_t rows = 0;

	for (uint32_t i = 0; i < step->norders; i++)
		read_values(step->orders[i].column);

	for (uint32_t i = 0; i < nspans; i++)
		rows += spans[i].rows;
	e.in_order = malloc((rows + 1) * sizeof(gs_row));
	e.places = malloc((rows + 1) * sizeof(gs_row));
	for (uint32_t i = 0; i < nspans; i++)
		for (uint32_t r = spans[i].first; r < spans[i].first + spans[i].rows; r++)
		{
			const plain_segment *s = &data->plain[spans[i].segment];
			bool passes = true;

			for (uint32_t t = 0; filter != NULL && t < filter->nterms; t++)
				passes &= term_holds(&list->head, &filter->terms[t],
									 column_value(&list->head, s, filter->terms[t].column, r));
			if (passes)
				e.places[e.n++] = (gs_row){spans[i].segment, r};
		}
	qsort(e.places, e.n, sizeof(gs_row), by_place);
	memcpy(e.in_order, e.places, e.n * sizeof(gs_row));
	qsort(e.in_order, e.n, sizeof(gs_row), by_orders);
	return e;
}

static void
drop_places(expected_places *e)
{
	free(e->in_order);
	free(e->places);
}

/* Returns what is wrong with a page, which is sorted by place, or NULL. */
static const char *
page_wrong(const expected_places *e, gs_row *out, uint64_t count)
{
	const gs_rows_step *step = gs_steps_rows(&list->head);
	uint64_t first = step->offset < e->n ? step->offset : e->n, right = e->n - first, at = 0;

	if (step->limit > 0 && step->limit < right)
		right = step->limit;
	if (count != right)
		return "the number of rows";
	for (uint64_t i = 0; i < count; i++)
		if (out[i].segment >= SEGMENTS || out[i].row >= data->plain[out[i].segment].rows)
			return "a row that is none";
	for (uint64_t i = 0; i < count; i++)
		if (by_orders(&out[i], &e->in_order[first + i]) != 0)
			return "the order";
	/* each is one that passes, and there as often as that */
	qsort(out, count, sizeof(*out), by_place);
	for (uint64_t i = 0; i < count; i++, at++)
	{
		while (at < e->n && by_place(&e->places[at], &out[i]) < 0)
			at++;
		if (at == e->n || by_place(&e->places[at], &out[i]) != 0)
			return "a row that does not pass, or is there twice";
	}
	return NULL;
}

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
	e = expect_places(spans, nspans);
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

typedef struct team
{
	gs_groups *groups;
	const gs_span *spans;
	uint32_t nspans, next, parts;
	bool rows;
	pthread_barrier_t barrier;
} team;

typedef struct member
{
	team *of;
	uint32_t number;
	gs_status status;
} member;

/* Does calls of rows, then parts, with others. */
static void *
work(void *arg)
{
	member *m = arg;
	team *of = m->of;
	gs_engine *own;

	m->status = gs_cpu_open(1, NULL, &own);
	while (of->rows || of->parts > 0)
	{
		for (uint32_t i; m->status == GS_OK && (i = __atomic_fetch_add(&of->next, 1, __ATOMIC_RELAXED)) <
												   (of->rows ? of->nspans : of->parts);)
		{
			gs_held_rows some = {data->types, data->ncolumns, SEGMENTS, data->held, 1, of->spans + i};

			m->status = of->rows ? gs_groups_rows(of->groups, m->number, own, &some)
								 : gs_groups_part(of->groups, m->number, own, i);
		}
		pthread_barrier_wait(&of->barrier);
		if (m->number == 0)
		{
			of->next = 0;
			of->rows = false;
			of->parts = gs_groups_parts(of->groups);
		}
		pthread_barrier_wait(&of->barrier);
	}
	/* what groups have is of this engine's host */
	gs_engine_close(own);
	return NULL;
}

/* Pages by threads, as a service's workers do them. */
static void
threads(uint32_t norders)
{
	static table t;
	static steps_list l;
	gs_span spans[4 * SEGMENTS];
	gs_range ranges[MOST_COLUMNS];
	team all = {.spans = spans, .nspans = 4 * SEGMENTS, .rows = true};
	member members[THREADS];
	pthread_t ids[THREADS];
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
	for (uint32_t i = 0; i < all.nspans; i++)
	{
		uint32_t s = i / 4, each = (t.plain[s].rows + 3) / 4, first = i % 4 * each;

		first = first < t.plain[s].rows ? first : t.plain[s].rows;
		spans[i] = (gs_span){s, first, t.plain[s].rows - first < each ? t.plain[s].rows - first : each};
	}
	for (uint32_t c = 0; c < 2; c++)
		ranges[c] = column_range(&t, c);
	begin_list(&l, &t);
	list_rows(&l, 0, norders > 0 ? 100 : 0, (gs_row_order[]){{0, 0, 0, 0}, {1, 1, 1, 0}}, norders);
	ok(gs_groups_open(engine, &l.head, ranges, 1000000, THREADS, &all.groups), "gs_groups_open");
	pthread_barrier_init(&all.barrier, NULL, THREADS);
	for (uint32_t i = 0; i < THREADS; i++)
	{
		members[i] = (member){&all, i, GS_OK};
		pthread_create(&ids[i], NULL, work, &members[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++)
	{
		pthread_join(ids[i], NULL);
		ok(members[i].status, "a thread");
	}
	pthread_barrier_destroy(&all.barrier);
	ok(gs_groups_end(all.groups, engine, 0, &n), "gs_groups_end");
	out = malloc((n + 1) * sizeof(*out));
	ok(gs_groups_read(all.groups, engine, 0, n, out), "gs_groups_read");
	gs_groups_close(all.groups, engine);
	e = expect_places(spans, all.nspans);
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
