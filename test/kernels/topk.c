/*
 * topk.c: gs_top_k against the begin of the whole order that the same engine gives (order.c and test/primitives check
 * that one): tables of 1 to 4 columns, NULLs, directions, strings, every k around limits, ties at the threshold.
 */
#include "sort_test.h"

#define MOST_COLUMNS 4

typedef struct table
{
	uint32_t ncolumns;
	uint64_t rows;
	gs_column columns[MOST_COLUMNS];
	void *blocks[3 * MOST_COLUMNS];
	int nblocks;
	char text[400];
} table;

static void *
to_engine(table *t, void *from, size_t bytes)
{
	void *block;

	ok(gs_alloc(engine, bytes + 16, &block), "gs_alloc");
	ok(gs_upload(engine, block, from, bytes), "gs_upload");
	ok(gs_sync(engine), "gs_sync");
	free(from);
	return t->blocks[t->nblocks++] = block;
}

static void
make_strings(table *t, gs_column *c)
{
	uint32_t *offsets = malloc((t->rows + 1) * 4);
	uint8_t *heap = malloc(t->rows * 12 + 1);
	uint32_t used = 0;

	for (uint64_t r = 0; r < t->rows; r++)
	{
		offsets[r] = used;
		for (uint64_t length = rnd_below(12); length > 0; length--)
			heap[used++] = (uint8_t) ('a' + rnd_below(3));
	}
	offsets[t->rows] = used;
	c->values = to_engine(t, offsets, (t->rows + 1) * 4);
	c->heap = to_engine(t, heap, used);
}

static void
add_column(table *t, gs_type type, int shape, int null_percent)
{
	gs_column *c = &t->columns[t->ncolumns++];
	size_t width = gs_type_width(type), at = strlen(t->text);

	*c = (gs_column){.spec = {type, rnd_below(2), rnd_below(2)}};
	if (type == GS_BYTES)
		make_strings(t, c);
	else
	{
		uint8_t *values = calloc(t->rows, width);

		if (type == GS_F32 || type == GS_F64)
			fill_shape(type, shape, values, t->rows);
		else
			for (uint64_t r = 0; r < t->rows; r++)
			{
				uint64_t x = shape_value(shape, r, t->rows);

				memcpy(values + r * width, &x, width < 8 ? width : 8);
			}
		c->values = to_engine(t, values, t->rows * width);
	}
	if (null_percent >= 0)
	{
		uint64_t *bits = calloc(t->rows / 64 + 1, 8);

		for (uint64_t r = 0; r < t->rows; r++)
			bits[r / 64] |= (uint64_t) (rnd_below(100) < (uint64_t) null_percent) << r % 64;
		c->nulls = to_engine(t, bits, (t->rows + 63) / 64 * 8);
	}
	snprintf(t->text + at, sizeof(t->text) - at, " %s %s%s%s nulls %d", type_name(type), shape_name[shape],
			 c->spec.desc ? " desc" : "", c->spec.nulls_first ? " first" : "", null_percent);
}

static uint32_t *
whole_order(table *t)
{
	uint32_t *order = malloc(t->rows * 4 + 4);
	gs_plan *plan;
	void *temp, *out;
	size_t bytes;

	ok(gs_order_plan(engine, t->columns, t->ncolumns, t->rows, &plan), "gs_order_plan");
	bytes = gs_order_temp_bytes(plan);
	ok(gs_alloc(engine, bytes + 256, &temp), "gs_alloc");
	ok(gs_alloc(engine, t->rows * 4 + 4, &out), "gs_alloc");
	ok(gs_order_run(engine, plan, temp, bytes, out, NULL), "gs_order_run");
	ok(gs_download(engine, order, out, t->rows * 4), "gs_download");
	ok(gs_sync(engine), "gs_sync");
	gs_plan_free(engine, plan);
	gs_free(engine, temp);
	gs_free(engine, out);
	return order;
}

static void
check_top(table *t, const uint32_t *order, uint64_t k)
{
	uint64_t n = k < t->rows ? k : t->rows, at = 0;
	array out = make_array(n * 4, 0);
	size_t bytes = gs_top_k_temp_bytes(engine, t->columns, t->ncolumns, t->rows, k);
	array temp = make_array(bytes, 0);
	const uint32_t *got;

	ok(gs_top_k(engine, t->columns, t->ncolumns, t->rows, k, out.data, temp.data, bytes), "gs_top_k");
	got = fetch(&out, n * 4, "top k");
	while (at < n && got[at] == order[at])
		at++;
	check(at == n, "%llu of %llu rows,%s: wrong at %llu", (unsigned long long) k, (unsigned long long) t->rows, t->text,
		  (unsigned long long) at);
	fetch(&temp, bytes, "temp");
	drop(&out), drop(&temp);
}

static void
check_table(table *t)
{
	uint64_t n = t->rows, ks[] = {0,		 1,		2, 100,	  n / 1000,		n / 16,			  n / 16 + 1,
								  n / 8 + 1, n - 1, n, n + 5, rnd_below(n + 1), rnd_below(n / 20 + 1)};
	uint32_t *order = NULL;

	for (size_t i = 0; i < sizeof(ks) / sizeof(ks[0]); i++)
		if (!skipped() && (i < 4 || n < 300000 || rnd_below(3) == 0))
		{
			if (order == NULL)
				order = whole_order(t);
			check_top(t, order, ks[i]);
		}
	free(order);
	for (int b = 0; b < t->nblocks; b++)
		gs_free(engine, t->blocks[b]);
}

/* One column of each type and shape: large enough for a threshold. */
static void
one_column(uint64_t rows)
{
	static const gs_type types[] = {GS_I64, GS_U32, GS_F64, GS_I32, GS_F32, GS_U8, GS_I16, GS_U64, GS_U128, GS_BYTES};

	for (int round = 0; round < SHAPES * 2; round++)
	{
		table t = {.rows = rows + rnd_below(3)};

		if (tiny && round % 3 != 0) /* each orders all its rows, too, to compare with */
			continue;
		add_column(&t, types[round % 10], round % SHAPES, (int[]){-1, -1, -1, 0, 1, 50, 100}[rnd_below(7)]);
		check_table(&t);
	}
}

static void
several_columns(uint64_t rows)
{
	for (int round = 0; round < 12; round++)
	{
		table t = {.rows = rows + rnd_below(1000)};

		for (uint64_t c = 1 + rnd_below(MOST_COLUMNS); c > 0; c--)
			add_column(&t, (gs_type) (rnd_below(6) ? rnd_below(10) : GS_BYTES), (int) rnd_below(SHAPES),
					   rnd_below(2) ? -1 : (int) rnd_below(100));
		check_table(&t);
	}
}

void
test_topk(void)
{
	gs_column column = {{GS_I64, false, false}, NULL, NULL, NULL};

	group("top k: few rows");
	seed(77);
	for (uint64_t rows = 1; rows < 4; rows++)
		one_column(rows);
	one_column(1000);
	several_columns(9000);
	if (!small_only)
	{
		group("top k: one column");
		one_column(140000);
		one_column(300000);
		group("top k: several columns");
		several_columns(200000);
	}
	group("top k: refused");
	check(gs_top_k(engine, &column, 1, 10, 5, NULL, NULL, 0) == GS_INVALID, "no values");
	check(gs_top_k(engine, &column, 0, 10, 5, NULL, NULL, 0) == GS_INVALID, "no columns");
	check(gs_top_k(engine, &column, 1, 0, 5, NULL, NULL, 0) == GS_OK, "no rows");
}
