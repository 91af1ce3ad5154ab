/*
 * cpu.c: the CPU engine: host memory, and row orders of columns in it.
 */
#include "select.h"

#include <string.h>

#define HEADER 256 /* in front of a block: holds its base and size, and keeps it aligned */

/* Defaults of the sort, from the measurements in doc/cpu-engine.md. */
gs_cpu_tuning
gs_cpu_tuning_default(void)
{
	return (gs_cpu_tuning){
		.vector = GS_AVX512, .lanes = true, .combine_rows = 1 << 18, .cache_rows = 65536,
		.even_rows = 1 << 19, .bucket_log = 15, .quick_rows = 1 << 24, .quick_bits = GS_MAX_DIGIT,
		.quick_depth = 2, .slack = 5, .hash_mask = UINT64_MAX};
}

/* Overrides the sort's switches and sizes, for benchmarks and for tests that reach a path with few rows. */
void
gs_cpu_tune(gs_engine *engine, const gs_cpu_tuning *tuning)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;

	cpu->tuning = *tuning;
	cpu->tuning.vector = gs_vectors_choose(tuning->vector);
	cpu->loops = gs_loops_choose(tuning->vector);
}

/* Closes the engine, which owns no other memory. */
static void
cpu_close(gs_engine *engine)
{
	gs_host host = engine->host;

	host.release(host.arg, engine, sizeof(gs_cpu_engine));
}

/* Returns the engine's name. */
static const char *
cpu_name(const gs_engine *engine)
{
	(void) engine;
	return "CPU";
}

/* Allocates a block for the engine's primitives. */
static gs_status
cpu_alloc(gs_engine *engine, size_t bytes, void **block)
{
	char *base, *aligned;

	if (bytes > SIZE_MAX / 2)
		return GS_NOMEM;
	base = engine->host.alloc(engine->host.arg, bytes + 2 * HEADER);
	if (base == NULL)
		return GS_NOMEM;
	aligned = base + 2 * HEADER - ((uintptr_t) base + HEADER) % HEADER - HEADER;
	memcpy(aligned - 16, &base, sizeof(base));
	memcpy(aligned - 8, &bytes, sizeof(bytes));
	*block = aligned;
	return GS_OK;
}

/* Frees a block through the header in front of it. */
static void
cpu_free(gs_engine *engine, void *block)
{
	char *base;
	size_t bytes;

	memcpy(&base, (char *) block - 16, sizeof(base));
	memcpy(&bytes, (char *) block - 8, sizeof(bytes));
	engine->host.release(engine->host.arg, base, bytes + 2 * HEADER);
}

/* Uploads or downloads, which is a copy within host memory. */
static gs_status
cpu_copy(gs_engine *engine, void *to, const void *from, size_t bytes)
{
	(void) engine;
	memcpy(to, from, bytes);
	return GS_OK;
}

/* Fills memory, synchronously. */
static gs_status
cpu_fill(gs_engine *engine, void *to, int byte, size_t bytes)
{
	(void) engine;
	memset(to, byte, bytes);
	return GS_OK;
}

/* Does nothing: all calls are synchronous. */
static gs_status
cpu_sync(gs_engine *engine)
{
	(void) engine;
	return GS_OK;
}

/* Frees a plan with its columns and key. */
static void
cpu_plan_free(gs_engine *engine, gs_plan *head)
{
	gs_cpu_plan *plan = (gs_cpu_plan *) head;

	gs_table_release(&plan->table);
	gs_key_release(&plan->key);
	engine->host.release(engine->host.arg, plan, plan->bytes);
}

/* Encodes all columns of a plan. */
static gs_status
append_columns(gs_cpu_plan *plan, const gs_column *columns, uint64_t rows)
{
	for (uint32_t c = 0; rows > 0 && c < plan->table.ncolumns; c++)
	{
		gs_piece piece = {columns[c].values, columns[c].nulls, columns[c].heap, 0};

		if (columns[c].spec.type == GS_BYTES)
			piece.heap_bytes = ((const uint32_t *) columns[c].values)[rows];
		GS_TRY(gs_table_append(&plan->table, c, &piece, rows));
	}
	plan->table.rows = rows;
	return GS_OK;
}

/* Plans a row order.  The plan owns an encoded copy of the columns. */
static gs_status
cpu_order_plan(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, gs_plan **made)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	size_t bytes = sizeof(gs_cpu_plan) + ncolumns * sizeof(gs_cpu_column);
	gs_cpu_plan *plan = engine->host.alloc(engine->host.arg, bytes);
	gs_status status;

	if (plan == NULL)
		return GS_NOMEM;
	memset(plan, 0, bytes);
	plan->bytes = bytes;
	plan->head.ops = engine->ops;
	plan->tuning = &cpu->tuning;
	gs_table_init(&plan->table, &cpu->work, cpu->loops, plan->columns, NULL, 0);
	plan->table.ncolumns = ncolumns;
	for (uint32_t c = 0; c < ncolumns; c++)
		gs_column_init(&plan->columns[c], &columns[c].spec);
	status = append_columns(plan, columns, rows);
	if (status == GS_OK)
		status = gs_key_make(&plan->key, &plan->table, gs_row_bits(rows));
	if (status != GS_OK)
		cpu_plan_free(engine, &plan->head);
	else
		*made = &plan->head;
	return status;
}

/* Returns the bytes of one array of words, with room for its alignment. */
static size_t
words_bytes(uint64_t rows)
{
	return gs_words_bytes(rows) + GS_ALIGN;
}

/* Returns the temporary memory of a row order: two arrays of words and the sorter's scratch. */
static size_t
cpu_order_temp_bytes(const gs_plan *head)
{
	const gs_cpu_plan *plan = (const gs_cpu_plan *) head;

	return 2 * words_bytes(plan->table.rows) + gs_sorter_bytes(plan->table.rows, plan->tuning) + GS_ALIGN;
}

/* Executes a plan in the caller's memory. */
static gs_status
cpu_order_run(gs_engine *engine, const gs_plan *head, void *temp, size_t temp_bytes, uint32_t *out,
			  gs_order_facts *facts)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	const gs_cpu_plan *plan = (const gs_cpu_plan *) head;
	char *base = (char *) temp + (GS_ALIGN - (uintptr_t) temp % GS_ALIGN) % GS_ALIGN;
	gs_order order;

	(void) temp_bytes;
	gs_order_init(&order, &plan->key, &cpu->work, plan->tuning);
	order.words = (uint64_t *) base;
	order.other = (uint64_t *) (base + words_bytes(order.rows));
	if (gs_sorter_bytes(order.rows, plan->tuning) > 0)
		order.sorter.scratch = base + 2 * words_bytes(order.rows);
	gs_order_clip_outliers(&order);
	GS_TRY(gs_order_pack(&order));
	if (!gs_order_already_sorted(&order))
		GS_TRY(gs_order_sort(&order));
	GS_TRY(gs_order_rows(&order, out, 0, order.rows));
	if (facts != NULL)
		*facts = order.facts;
	return GS_OK;
}

static const gs_engine_ops cpu_ops = {
	.close = cpu_close,
	.name = cpu_name,
	.alloc = cpu_alloc,
	.free = cpu_free,
	.upload = cpu_copy,
	.download = cpu_copy,
	.fill = cpu_fill,
	.sync = cpu_sync,
	.order_plan = cpu_order_plan,
	.order_temp_bytes = cpu_order_temp_bytes,
	.order_run = cpu_order_run,
	.plan_free = cpu_plan_free,
	.job_begin = gs_cpu_job_begin,
	.job_add = gs_cpu_job_add,
	.job_lend = gs_cpu_job_lend,
	.job_finish = gs_cpu_job_finish,
	.job_next = gs_cpu_job_next,
	.job_end = gs_cpu_job_end,
	.job_host_bytes = gs_cpu_job_host_bytes,
	.job_get_info = gs_cpu_job_get_info,
	.job_order = gs_cpu_job_order,
	.job_sources = gs_cpu_job_sources,
	.job_drop_columns = gs_cpu_job_drop_columns,
	.job_drop_order = gs_cpu_job_drop_order,
	.job_emit = gs_cpu_job_emit,
	.scan = &gs_cpu_scan_ops,
	.sort = &gs_cpu_sort_ops,
	.rows = &gs_cpu_row_ops,
	.groups = &gs_cpu_group_ops,
	.places = &gs_cpu_place_ops,
	.windows = &gs_cpu_window_ops,
	.computed = &gs_cpu_computed_ops,
};

/* Opens the CPU engine.  threads is reserved: one thread does the work. */
gs_status
gs_cpu_open(int threads, const gs_host *host, gs_engine **engine)
{
	gs_cpu_engine *cpu;
	gs_cpu_tuning tuning = gs_cpu_tuning_default();

	(void) threads;
	if (engine == NULL)
		return GS_INVALID;
	*engine = NULL;
	if (host == NULL)
		host = gs_default_host();
	cpu = host->alloc(host->arg, sizeof(*cpu));
	if (cpu == NULL)
		return GS_NOMEM;
	*cpu = (gs_cpu_engine){.head = {&cpu_ops, *host}, .work = {*host, 0}};
	gs_cpu_tune(&cpu->head, &tuning);
	*engine = &cpu->head;
	return GS_OK;
}
