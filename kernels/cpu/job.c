/*
 * job.c: jobs of the CPU engine.  So far it knows one, the row order.
 */
#include "cpu.h"

#include <string.h>

/* A row order: the columns as they come, then words in their place. */
typedef struct order_job
{
	gs_job head;
	gs_work work;
	gs_cpu_tuning tuning;
	gs_table table;
	gs_key key;
	gs_order order;
	gs_block words;
	gs_block other;
	gs_block scratch;
	uint64_t next; /* position of the next row number to hand out */
	size_t bytes;  /* of this structure with its columns */
	gs_cpu_column columns[];
} order_job;

/*
 * Begins a job.  All that it ever holds hangs on the job itself, so that a longjmp out of a callback loses nothing.
 */
gs_status
gs_cpu_job_begin(gs_engine *engine, const gs_job_spec *spec, const gs_host *host, gs_job **job)
{
	const gs_cpu_engine *cpu = (const gs_cpu_engine *) engine;
	size_t bytes = sizeof(order_job) + spec->ncolumns * sizeof(gs_cpu_column);
	order_job *made;

	if (spec->op != GS_ORDER)
		return GS_INVALID;
	made = host->alloc(host->arg, bytes);
	if (made == NULL)
		return GS_NOMEM;
	memset(made, 0, sizeof(*made));
	made->bytes = bytes;
	made->work.host = *host;
	made->tuning = cpu->tuning;
	gs_table_init(&made->table, &made->work, cpu->loops, made->columns, spec->columns, spec->ncolumns);
	*job = &made->head;
	return GS_OK;
}

/*
 * Copies a chunk into the columns.  The header is read again after the check, so each array's place is checked here
 * once more against a copy that nobody else can change.
 */
gs_status
gs_cpu_job_add(gs_job *head, const gs_chunk *chunk)
{
	order_job *job = (order_job *) head;
	gs_table *table = &job->table;
	gs_view view;

	GS_TRY(gs_view_open(&view, chunk, head->available, table->ncolumns));
	if (view.rows > GS_MAX_ROWS - table->rows)
		return GS_TOO_BIG;
	for (uint32_t c = 0; c < table->ncolumns; c++)
	{
		gs_chunk_column column;
		gs_piece piece;

		GS_TRY(gs_view_column(&view, c, table->columns[c].spec.type, &column));
		piece = (gs_piece){(const char *) chunk + column.values, NULL, NULL, column.heap_bytes};
		if (column.has_nulls)
			piece.nulls = (const uint64_t *) ((const char *) chunk + column.nulls);
		if (table->columns[c].spec.type == GS_BYTES)
			piece.heap = (const uint8_t *) chunk + column.heap;
		GS_TRY(gs_table_append(table, c, &piece, view.rows));
	}
	table->rows += view.rows;
	head->rows = table->rows;
	return GS_OK;
}

/*
 * A column whose memory the words can take over, because they are as wide as its values; NULL if there is none.
 */
static gs_cpu_column *
reusable_column(gs_table *table)
{
	for (uint32_t c = 0; c < table->ncolumns; c++)
		if (table->columns[c].width == 8 && table->columns[c].spec.type != GS_BYTES && table->columns[c].values.data)
			return &table->columns[c];
	return NULL;
}

/*
 * Finds memory for the words.  A key that fits into them is not read again once they are packed, so they may take a
 * column's place.
 */
static gs_status
reserve_words(order_job *job)
{
	gs_cpu_column *column = job->order.complete ? reusable_column(&job->table) : NULL;

	if (column != NULL)
	{
		job->words = column->values;
		column->values = (gs_block){0};
	}
	GS_TRY(gs_block_reserve(&job->work, &job->words, job->table.rows * 8));
	job->order.words = job->words.data;
	return GS_OK;
}

/*
 * Sorts what packing has not settled, with the columns gone if the words hold the whole key.
 */
static gs_status
sort_words(order_job *job)
{
	if (job->order.complete)
		gs_table_release(&job->table);
	GS_TRY(gs_block_reserve(&job->work, &job->other, job->table.rows * 8));
	job->order.other = job->other.data;
	GS_TRY(gs_block_reserve(&job->work, &job->scratch, gs_sorter_bytes(job->table.rows, &job->tuning)));
	job->order.sorter.scratch = job->scratch.data;
	GS_TRY(gs_order_sort(&job->order));
	if (job->order.words != job->words.data)
	{
		gs_block words = job->other;

		job->other = job->words;
		job->words = words;
	}
	return GS_OK;
}

/*
 * Makes the order; afterwards only the words are kept, and not even they where the rows came in order.
 */
gs_status
gs_cpu_job_finish(gs_job *head)
{
	order_job *job = (order_job *) head;

	GS_TRY(gs_key_make(&job->key, &job->table, gs_row_bits(job->table.rows)));
	gs_order_init(&job->order, &job->key, &job->work, &job->tuning);
	if (job->order.step.nparts > 0)
		GS_TRY(reserve_words(job));
	GS_TRY(gs_order_pack(&job->order));
	if (!gs_order_settled(&job->order))
		GS_TRY(sort_words(job));
	gs_table_release(&job->table);
	gs_key_release(&job->key);
	gs_block_release(&job->work, &job->other);
	gs_block_release(&job->work, &job->scratch);
	if (job->order.facts.input != GS_UNORDERED)
		gs_block_release(&job->work, &job->words);
	return GS_OK;
}

/*
 * Hands out row numbers.
 */
gs_status
gs_cpu_job_next(gs_job *head, void *out, uint64_t room, uint64_t *got)
{
	order_job *job = (order_job *) head;
	uint64_t left = job->table.rows - job->next;
	uint64_t n = room < left ? room : left;

	GS_TRY(gs_order_rows(&job->order, out, job->next, n));
	job->next += n;
	*got = n;
	return GS_OK;
}

/*
 * Releases everything, also in the middle of a call that was left by longjmp.
 */
void
gs_cpu_job_end(gs_job *head)
{
	order_job *job = (order_job *) head;
	gs_work work = job->work;

	gs_table_release(&job->table);
	gs_key_release(&job->key);
	gs_block_release(&job->work, &job->words);
	gs_block_release(&job->work, &job->other);
	gs_block_release(&job->work, &job->scratch);
	work.host.release(work.host.arg, job, job->bytes);
}

/*
 * Bytes held now.  Of the columns, which grow by doubling, only what was written to counts.
 */
static uint64_t
held_bytes(const order_job *job)
{
	return job->bytes + gs_table_bytes(&job->table) + job->key.memory.bytes + job->words.bytes + job->other.bytes +
		   job->scratch.bytes;
}

/*
 * The most that the job holds if it is finished now: columns and words while packing, then two arrays of words, with
 * the columns if the words cannot hold the whole key.
 */
uint64_t
gs_cpu_job_host_bytes(const gs_job *head)
{
	const order_job *job = (const order_job *) head;
	uint64_t words = (job->table.rows * 8 + GS_ALIGN) & ~(uint64_t) (GS_ALIGN - 1);
	uint64_t columns = gs_table_bytes(&job->table), fixed;
	uint32_t row_bits = gs_row_bits(job->table.rows);
	bool strings;
	uint32_t bits = gs_table_key_bits(&job->table, &strings);

	if (head->state != GS_JOB_ADDING)
		return held_bytes(job);
	fixed = job->bytes + gs_sorter_bytes(job->table.rows, &job->tuning) + gs_key_bytes(&job->table);
	fixed += (uint64_t) job->table.ncolumns * 4 * GS_ALIGN; /* each array is a little larger than its rows */
	if (strings || bits > 64 - row_bits)
		return fixed + columns + 2 * words;
	return fixed + (columns > words ? columns + words : 2 * words);
}

/*
 * What the job did.
 */
void
gs_cpu_job_get_info(const gs_job *head, gs_job_info *info)
{
	const order_job *job = (const order_job *) head;

	info->order = job->order.facts;
	info->host_bytes = held_bytes(job);
}
