/*
 * plans.c: what gs_arrays.h promises of plans: a run that is under way outlives its plan, and plans do not disturb each
 * other.
 */
#include "sort_test.h"

#define PLANS 4

/* One order of the engine, and what it takes. */
typedef struct plan_run
{
	gs_plan *plan;
	void *temp, *order;
	size_t temp_bytes;
} plan_run;

static void
begin(plan_run *r, const gs_column *columns, uint32_t ncolumns, uint64_t rows)
{
	ok(gs_order_plan(engine, columns, ncolumns, rows, &r->plan), "gs_order_plan");
	r->temp_bytes = gs_order_temp_bytes(r->plan);
	ok(gs_alloc(engine, r->temp_bytes + 256, &r->temp), "gs_alloc");
	ok(gs_alloc(engine, rows * 4, &r->order), "gs_alloc");
	ok(gs_fill(engine, r->order, 0xa5, rows * 4), "gs_fill");
}

static void
run(plan_run *r)
{
	ok(gs_order_run(engine, r->plan, r->temp, r->temp_bytes, r->order, NULL), "gs_order_run");
}

/* An order is right if keys with their rows rise from place to place: then no row comes twice. */
static void
end(plan_run *r, const uint32_t *keys, uint64_t rows, const char *what)
{
	uint32_t *order = malloc(rows * 4);
	uint64_t at = 1;

	ok(gs_download(engine, order, r->order, rows * 4), "gs_download");
	ok(gs_sync(engine), "gs_sync");
	while (at < rows && order[at - 1] < rows && order[at] < rows &&
		   (keys[order[at - 1]] < keys[order[at]] ||
			(keys[order[at - 1]] == keys[order[at]] && order[at - 1] < order[at])))
		at++;
	check(at == rows, "%s: wrong at %llu of %llu", what, (unsigned long long) at, (unsigned long long) rows);
	gs_free(engine, r->temp);
	gs_free(engine, r->order);
	free(order);
}

static void *
to_engine(const void *from, size_t bytes)
{
	void *block;

	ok(gs_alloc(engine, bytes, &block), "gs_alloc");
	ok(gs_upload(engine, block, from, bytes), "gs_upload");
	ok(gs_sync(engine), "gs_sync");
	return block;
}

/*
 * Some plans at once, freed while their runs are under way: the last one first, so that most of the work is still to be
 * done.
 */
static void
several(const uint32_t *keys, uint64_t rows)
{
	gs_column column = {{GS_U32, false, false}, to_engine(keys, rows * 4), NULL, NULL};
	plan_run runs[PLANS];

	for (int p = 0; p < PLANS; p++)
		begin(&runs[p], &column, 1, rows);
	for (int p = 0; p < PLANS; p++)
		run(&runs[p]);
	for (int p = PLANS; p-- > 0;)
		gs_plan_free(engine, runs[p].plan);
	for (int p = 0; p < PLANS; p++)
		end(&runs[p], keys, rows, "several plans");
	gs_free(engine, (void *) column.values);
}

/* So many columns that a plan needs more memory than an engine keeps for plans; all but the first are constant. */
static void
many_columns(const uint32_t *keys, uint64_t rows)
{
	enum { COLUMNS = 200 };
	uint8_t *same = calloc(rows, 1);
	gs_column columns[COLUMNS];
	void *constant = to_engine(same, rows);
	plan_run r;

	columns[0] = (gs_column){{GS_U32, false, false}, to_engine(keys, rows * 4), NULL, NULL};
	for (int c = 1; c < COLUMNS; c++)
		columns[c] = (gs_column){{GS_U8, false, false}, constant, NULL, NULL};
	begin(&r, columns, COLUMNS, rows);
	run(&r);
	gs_plan_free(engine, r.plan);
	end(&r, keys, rows, "many columns");
	gs_free(engine, (void *) columns[0].values);
	gs_free(engine, constant);
	free(same);
}

void
test_plans(void)
{
	uint64_t rows = small_only ? 20000 : on_gpu ? 1 << 24 : 300000;
	uint32_t *keys = malloc(rows * 4);

	seed(5);
	for (uint64_t r = 0; r < rows; r++)
		keys[r] = (uint32_t) rnd_below(1 << 27);
	group("plans: several at once");
	for (int round = 0; round < 2; round++)
		several(keys, rows);
	group("plans: many columns");
	for (int round = 0; round < 2; round++)
		many_columns(keys, rows);
	free(keys);
}
