/*
 * host.c: what jobs and sorts ask of their host: memory that comes back, that runs out, a poll that cancels; of
 * jobs also callbacks left by longjmp, and the bound on memory that gs_job_host_bytes gives.
 */
#include "kernels/cpu/cpu.h"
#include "kernels/gs_library.h"
#include "table.h"
#include "tests.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <time.h>

/* A host that counts, and fails or jumps when told to. */
typedef struct counting
{
	uint64_t held, peak, blocks;
	uint64_t calls, fail_at; /* this call to alloc or resize fails; 0: none */
	uint64_t polls, stop_at; /* this call to poll asks to stop */
	bool jump;				 /* they leave by longjmp instead */
	double last, longest;	 /* seconds between polls */
	jmp_buf out;
	void *all[256];
} counting;

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static void *
count_alloc(void *arg, size_t bytes)
{
	counting *c = arg;
	void *block;

	if (++c->calls == c->fail_at)
	{
		if (c->jump)
			longjmp(c->out, 1);
		return NULL;
	}
	block = aligned_alloc(GS_ALIGN, (bytes + GS_ALIGN - 1) / GS_ALIGN * GS_ALIGN + GS_ALIGN);
	memset(block, 0xcd, bytes);
	for (int i = 0; i < 256; i++)
		if (c->all[i] == NULL)
		{
			c->all[i] = block;
			break;
		}
	c->held += bytes;
	c->blocks++;
	c->peak = c->held > c->peak ? c->held : c->peak;
	return block;
}

static void
count_release(void *arg, void *block, size_t bytes)
{
	counting *c = arg;

	c->held -= bytes;
	c->blocks--;
	for (int i = 0; i < 256; i++)
		if (c->all[i] == block)
			c->all[i] = NULL;
	free(block);
}

static void *
count_resize(void *arg, void *block, size_t old_bytes, size_t bytes)
{
	void *moved = count_alloc(arg, bytes);

	if (moved == NULL)
		return NULL;
	memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
	count_release(arg, block, old_bytes);
	return moved;
}

static int
count_poll(void *arg)
{
	counting *c = arg;
	double now = seconds();

	c->longest = c->last > 0 && now - c->last > c->longest ? now - c->last : c->longest;
	c->last = now;
	if (++c->polls != c->stop_at)
		return 0;
	if (c->jump)
		longjmp(c->out, 1);
	return 1;
}

/*
 * Frees what a job left by longjmp had, as a caller's memory context would.
 */
static void
free_all(counting *c)
{
	for (int i = 0; i < 256; i++)
	{
		free(c->all[i]);
		c->all[i] = NULL;
	}
	c->held = c->blocks = 0;
}

/*
 * The operations, each on a table as it is.
 */
static const gs_op ops[] = {GS_ORDER, GS_RUNS, GS_REDUCE, GS_SCAN, GS_PARTITION};
#define OPS (sizeof(ops) / sizeof(ops[0]))

/*
 * What an operation asks of a table; false if it cannot take one like it.
 */
static bool
ask(const table *t, gs_op op, gs_job_spec *spec)
{
	static const int64_t constant = 1;
	bool one = op == GS_SCAN || op == GS_PARTITION;

	*spec = (gs_job_spec){.op = op, .ncolumns = t->ncolumns, .columns = t->specs};
	spec->order_columns = spec->key_columns = 1;
	spec->filter = (gs_job_filter){.comparison = GS_GT, .value = &constant, .value_bytes = sizeof(constant)};
	return one ? t->ncolumns == 1 : op != GS_REDUCE || (t->ncolumns == 2 && t->specs[1].type == GS_I64);
}

/*
 * Runs a job on a counting host, engine included.  Returns the first status that is not GS_OK; GS_TIMEOUT stands for a
 * longjmp.
 */
static gs_status
run(counting *c, const table *t, gs_op op, uint32_t chunk_rows, uint64_t *bound)
{
	gs_host host = {count_alloc, count_resize, count_release, count_poll, c};
	gs_job_spec spec;
	/* static: what a longjmp leaves behind */
	static gs_engine *engine;
	static gs_job *job;
	char *out = malloc((t->rows + 1) * sizeof(gs_group));
	volatile uint64_t at = 0;
	uint64_t got;
	volatile gs_status status;

	engine = NULL;
	job = NULL;
	ask(t, op, &spec);
	c->last = seconds();
	if (setjmp(c->out) == 0)
	{
		status = gs_cpu_open(1, &host, &engine);
		if (status == GS_OK)
			status = gs_job_begin(engine, &spec, &host, &job);
		if (status == GS_OK)
			status = feed(job, t, chunk_rows);
		if (status == GS_OK && bound != NULL)
			*bound = gs_job_host_bytes(job);
		c->last = seconds();
		if (status == GS_OK)
			status = gs_job_finish(job, t->rows);
		for (got = 1; status == GS_OK && got > 0; at += got)
			status = gs_job_next(job, out + at * gs_job_result_bytes(&spec), 65536, &got);
		if (status == GS_OK && op == GS_ORDER && !order_right(t, (const uint32_t *) out))
			status = GS_WRONG_ORDER;
		if (status != GS_OK && job != NULL && gs_job_finish(job, t->rows) != GS_INVALID)
			status = GS_PROTOCOL;
	}
	else
		status = GS_TIMEOUT;
	gs_job_end(job);
	gs_engine_close(engine);
	free(out);
	return status;
}

static uint64_t
some_string(uint64_t row, uint8_t *out, void *arg)
{
	(void) row;
	return (uint64_t) sprintf((char *) out, "%s/%lu", (const char *) arg, (unsigned long) rnd_below(100000));
}

/*
 * Tables that go different ways: one word, wide keys, strings, in order.
 */
static void
make_table(table *t, int kind, uint64_t rows)
{
	table_start(t, rows);
	for (int c = 0; c < (kind == 3 ? 1 : 2); c++)
	{
		column *made = table_add(t, kind == 1 ? GS_U128 : c == 0 && kind == 2 ? GS_BYTES : GS_I64, c, c);

		if (made->spec.type == GS_BYTES)
			column_strings(made, rows, some_string, "a common prefix");
		else
			for (uint64_t r = 0; r < rows; r++)
				column_set(made, r, kind == 3 ? r : rnd() >> (kind == 0 ? 44 : 0));
		if (kind == 2)
			column_nulls(made, rows, 0.1);
	}
}

/*
 * Memory: all of it comes back, and the bound holds.
 */
static void
memory(int kind, gs_op op)
{
	for (uint64_t rows = 64; rows < 300000; rows = rows * 17 + 5)
	{
		counting c = {0};
		table t;
		gs_job_spec spec;
		uint64_t bound = 0;
		gs_status status;

		make_table(&t, kind, rows);
		if (ask(&t, op, &spec))
		{
			status = run(&c, &t, op, (uint32_t) rows, &bound);
			tap_ok(status == GS_OK && c.blocks == 0 && c.held == 0,
				   "operation %d, table %d of %lu rows: memory comes back", op, kind, (unsigned long) rows);
			tap_ok(c.peak <= bound && (rows < 1000 || bound < 4 * c.peak), "peak %lu within bound %lu",
				   (unsigned long) c.peak, (unsigned long) bound);
		}
		table_free(&t);
	}
}

/*
 * Every allocation fails once, by NULL and by longjmp.
 */
static void
exhaustion(int kind, gs_op op)
{
	for (int jump = 0; jump < 2; jump++)
	{
		table t;
		gs_job_spec spec;
		bool good = true;
		uint64_t at = 1;

		make_table(&t, kind, 50000);
		for (; ask(&t, op, &spec); at++)
		{
			counting c = {.fail_at = at, .jump = jump};
			gs_status status = run(&c, &t, op, 9999, NULL);

			if (status == GS_OK)
				break;
			good &= status == (jump ? GS_TIMEOUT : GS_NOMEM) && c.blocks == 0;
			free_all(&c);
		}
		if (at > 1)
			tap_ok(good && at > 5, "operation %d, table %d: each of %lu allocations fails by %s", op, kind,
				   (unsigned long) at - 1, jump ? "longjmp" : "NULL");
		table_free(&t);
	}
}

/*
 * poll stops the job at every time it is asked; and it is asked often.
 */
static void
polls(int kind, gs_op op)
{
	table t;
	bool good = true;
	counting c = {0};
	gs_job_spec spec;
	uint64_t step;

	make_table(&t, kind, 1000000);
	if (ask(&t, op, &spec))
	{
		good = run(&c, &t, op, 65536, NULL) == GS_OK;
		tap_ok(good && c.polls > 1, "operation %d, table %d: %lu polls, %.0f ms apart at most", op, kind,
			   (unsigned long) c.polls, c.longest * 1000);
		step = 1 + c.polls / 6;
		for (uint64_t at = 1; at <= c.polls; at += step)
			for (int jump = 0; jump < 2; jump++)
			{
				counting d = {.stop_at = at, .jump = jump};

				good &= run(&d, &t, op, 65536, NULL) == (jump ? GS_TIMEOUT : GS_CANCELLED) && d.blocks == 0;
				free_all(&d);
			}
		tap_ok(good, "operation %d, table %d: stops when asked, by answer and by longjmp", op, kind);
	}
	table_free(&t);
}

#define ITEMS 300000

/*
 * An order, its first rows and sorts on a counting host, engine included.  Returns the first status that is not GS_OK.
 */
static gs_status
sort_all(counting *c)
{
	static uint64_t keys[ITEMS], values[ITEMS], out_keys[ITEMS], out_values[ITEMS];
	gs_host host = {count_alloc, count_resize, count_release, count_poll, c};
	gs_column columns[] = {{{GS_U64, false, false}, keys, NULL, NULL}, {{GS_U64, true, false}, values, NULL, NULL}};
	gs_engine *engine = NULL;
	gs_plan *plan = NULL;
	void *temp = NULL;
	gs_status status = gs_cpu_open(1, &host, &engine);

	for (uint64_t i = 0; i < ITEMS; i++)
		keys[i] = i % 1000 * 0x9e3779b97f4a7c15u, values[i] = i * 0x9e3779b97f4a7c15u;
	if (status == GS_OK)
		status = gs_alloc(engine, 64 * ITEMS, &temp);
	if (status == GS_OK)
		status = gs_order_plan(engine, columns, 2, ITEMS, &plan);
	if (status == GS_OK)
		status = gs_order_run(engine, plan, temp, 64 * ITEMS, (uint32_t *) out_keys, NULL);
	if (status == GS_OK)
		status = gs_top_k(engine, columns, 2, ITEMS, 100, (uint32_t *) out_keys, temp, 64 * ITEMS);
	if (status == GS_OK)
		status = gs_sort(engine, &(gs_sort_request){.key = GS_U64, .keys = values, .out_keys = out_keys, .n = ITEMS},
						 temp, 64 * ITEMS);
	if (status == GS_OK)
		status = gs_sort(engine, &(gs_sort_request){.key = GS_U32, .keys = values, .out_keys = out_keys, .n = ITEMS},
						 temp, 64 * ITEMS);
	if (status == GS_OK)
		status = gs_sort(engine,
						 &(gs_sort_request){.key = GS_F64,
											.desc = true,
											.keys = values,
											.out_keys = out_keys,
											.value_width = 8,
											.values = keys,
											.out_values = out_values,
											.n = ITEMS},
						 temp, 64 * ITEMS);
	if (status == GS_OK)
		status = gs_merge_sort(engine,
							   &(gs_sort_request){.key_bytes = 8,
												  .keys = values,
												  .out_keys = out_keys,
												  .value_width = 8,
												  .values = keys,
												  .out_values = out_values,
												  .n = ITEMS},
							   temp, 64 * ITEMS);
	if (engine != NULL)
	{
		gs_plan_free(engine, plan);
		gs_free(engine, temp);
	}
	gs_engine_close(engine);
	return status;
}

/*
 * Primitives whose host has no memory, or asks them to stop: each time once.
 */
static void
primitives(void)
{
	counting whole = {0};
	bool good = sort_all(&whole) == GS_OK && whole.blocks == 0;

	tap_ok(good && whole.polls > 8 && whole.calls > 8, "sorts: %lu polls, %lu allocations", (unsigned long) whole.polls,
		   (unsigned long) whole.calls);
	for (uint64_t at = 1; at <= whole.calls; at++)
	{
		counting c = {.fail_at = at};

		good &= sort_all(&c) == GS_NOMEM && c.blocks == 0;
	}
	tap_ok(good, "each allocation fails");
	for (uint64_t at = 1; at <= whole.polls; at++)
	{
		counting c = {.stop_at = at};

		good &= sort_all(&c) == GS_CANCELLED && c.blocks == 0;
	}
	tap_ok(good, "each poll asks to stop");
}

#define BLOCKS 24

/* A block of the default host, filled with one number. */
typedef struct filled
{
	uint64_t *data;
	size_t bytes;
	uint64_t number;
} filled;

static bool
still_filled(const filled *b, size_t bytes)
{
	for (size_t i = 0; i < bytes / 8; i++)
		if (b->data[i] != b->number)
			return false;
	return true;
}

/*
 * The default host's blocks of all sizes, two in a huge page among them: they keep what is in them wherever they grow
 * or shrink to, and in the end nothing is mapped where those of a page were.
 */
static void
default_host(void)
{
	static const size_t sizes[] = {100, 300 << 10, 600 << 10, 1 << 20, (1 << 20) + 8, 2 << 20, 5 << 20};
	const gs_host *host = gs_default_host();
	filled blocks[BLOCKS] = {{NULL}};
	void *mapped[1000];
	bool good = true, gone = true;
	int n = 0;

	for (int step = 0; step < 1000 + BLOCKS; step++)
	{
		filled *b = &blocks[step < 1000 ? rnd_below(BLOCKS) : (uint64_t) (step - 1000)], old = *b;

		if (b->data != NULL)
			good &= still_filled(b, b->bytes);
		b->bytes = sizes[rnd_below(sizeof(sizes) / sizeof(sizes[0]))];
		if (old.data != NULL && (step >= 1000 || rnd_below(3) == 0))
		{
			host->release(host->arg, old.data, old.bytes);
			b->data = NULL;
			continue;
		}
		b->data = old.data == NULL ? host->alloc(host->arg, b->bytes)
								   : host->resize(host->arg, old.data, old.bytes, b->bytes);
		good &= (uintptr_t) b->data % GS_ALIGN == 0 &&
				(old.data == NULL || still_filled(b, b->bytes < old.bytes ? b->bytes : old.bytes));
		if (b->bytes > 100 && step < 1000)
			mapped[n++] = b->data;
		b->number = rnd();
		for (size_t i = 0; i < b->bytes / 8; i++)
			b->data[i] = b->number;
	}
	for (int i = 0; i < BLOCKS; i++)
		if (blocks[i].data != NULL)
			host->release(host->arg, blocks[i].data, blocks[i].bytes);
	tap_ok(good, "the default host's blocks keep what is in them");
	while (n-- > 0)
		gone &= msync((void *) ((uintptr_t) mapped[n] & ~(uintptr_t) 4095), 4096, MS_ASYNC) != 0;
	tap_ok(gone, "and none of those that were mapped is left");
}

/*
 * Calls in the wrong order or with wrong arguments.
 */
static void
misuse(void)
{
	gs_column_spec column = {GS_I64, false, false}, strange = {(gs_type) 77, false, false};
	gs_job_spec spec = {.op = GS_ORDER, .ncolumns = 1, .columns = &column};
	gs_job_spec bad = {.op = GS_ORDER, .ncolumns = 1, .columns = &strange}, none = {.op = GS_ORDER, .columns = &column};
	gs_job_spec other = {.op = (gs_op) 77, .ncolumns = 1, .columns = &column};
	gs_engine *engine;
	gs_plan *plan;
	gs_job *job;
	uint32_t out[4];
	uint64_t got, in[4] = {3, 1, 2, 0};

	tap_ok(gs_cpu_open(1, NULL, &engine) == GS_OK && strcmp(gs_engine_name(engine), "CPU") == 0, "an engine opens");
	tap_ok(gs_order_plan(engine, &(gs_column){column, in, NULL, NULL}, 1, 4, &plan) == GS_OK &&
			   gs_order_run(engine, plan, NULL, 4096, out, NULL) == GS_INVALID,
		   "an order without memory to work in");
	gs_plan_free(engine, plan);
	tap_ok(gs_order_plan(engine, &(gs_column){column, (char *) in + 4, NULL, NULL}, 1, 3, &plan) == GS_INVALID &&
			   gs_order_plan(engine, &(gs_column){column, in, (uint64_t *) ((char *) in + 1), NULL}, 1, 3, &plan) ==
				   GS_INVALID &&
			   plan == NULL,
		   "columns that are not aligned");
	tap_ok(gs_job_begin(engine, &bad, NULL, &job) == GS_INVALID && job == NULL, "a type that is none");
	tap_ok(gs_job_begin(engine, &none, NULL, &job) == GS_INVALID, "no columns");
	tap_ok(gs_job_begin(engine, &other, NULL, &job) == GS_INVALID, "an operation that is not there");
	tap_ok(gs_job_begin(engine, &spec, NULL, &job) == GS_OK, "a job begins");
	tap_ok(gs_job_next(job, out, 4, &got) == GS_INVALID, "next before finish");
	tap_ok(gs_job_finish(job, 5) == GS_INVALID, "finish with another number of rows");
	tap_ok(gs_job_finish(job, 0) == GS_INVALID, "after an error only end may follow");
	gs_job_end(job);
	gs_job_end(NULL);
	gs_job_begin(engine, &spec, NULL, &job);
	tap_ok(gs_job_finish(job, 0) == GS_OK && gs_job_next(job, out, 4, &got) == GS_OK && got == 0, "no rows at all");
	gs_job_end(job);
	gs_engine_close(engine);
}

void
test_host(void)
{
	default_host();
	misuse();
	primitives();
	for (int kind = 0; kind < 4; kind++)
		for (size_t i = 0; i < OPS; i++)
		{
			memory(kind, ops[i]);
			exhaustion(kind, ops[i]);
			if (kind < 3 || ops[i] != GS_ORDER)
				polls(kind, ops[i]);
		}
}
