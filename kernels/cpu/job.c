/*
 * job.c: the CPU engine's part of a job: encoded columns and the row order.
 */
#include "../emit.h"
#include "select.h"

#include <string.h>

/* A row order: first the columns, then words in their place. */
typedef struct order_job
{
	gs_job head;
	gs_work work;
	gs_cpu_tuning tuning;
	gs_table table;
	gs_key key;
	gs_block words;
	gs_block other;
	gs_block scratch;
	uint64_t next; /* position of the next row number to return */
	size_t bytes;  /* size of this structure with its columns */
	bool first;		 /* words holds only the first rows, found by a top-k */
	gs_column *lent; /* the caller's arrays; NULL: input came in chunks */
	gs_order order;
	gs_cpu_column columns[];
} order_job;

/* Returns true if a column is stored unencoded: its values are not compared with each other. */
static bool
kept_raw(const gs_job_spec *spec, uint32_t c)
{
	switch (spec->op)
	{
		case GS_SELECT:
		case GS_PARTITION:
		case GS_SCAN:
		case GS_VALUES:
			return true;
		case GS_REDUCE:
			return c == spec->ncolumns - 1;
		default:
			return false;
	}
}

/* Returns the unsigned type of a width.  Encoding does not change it. */
static gs_type
plain_type(gs_type type)
{
	static const gs_type plain[] = {[1] = GS_U8, [2] = GS_U16, [4] = GS_U32, [8] = GS_U64, [16] = GS_U128};
	size_t width = gs_type_width(type);

	return width > 0 ? plain[width] : type;
}

/* Begins a job.  All memory is reachable from the job, so a longjmp out of a callback leaks nothing. */
gs_status
gs_cpu_job_begin(gs_engine *engine, const gs_job_spec *spec, const gs_host *host, gs_job **job)
{
	const gs_cpu_engine *cpu = (const gs_cpu_engine *) engine;
	size_t bytes = sizeof(order_job) + spec->ncolumns * sizeof(gs_cpu_column);
	order_job *made;

	made = host->alloc(host->arg, bytes);
	if (made == NULL)
		return GS_NOMEM;
	memset(made, 0, offsetof(order_job, order) + GS_ORDER_CLEARED);
	made->bytes = bytes;
	made->work.host = *host;
	made->tuning = cpu->tuning;
	gs_table_init(&made->table, &made->work, cpu->loops, made->columns, spec->columns, spec->ncolumns);
	made->table.expected = spec->rows_hint;
	for (uint32_t c = 0; c < spec->ncolumns; c++)
		if (kept_raw(spec, c))
			made->columns[c].spec.type = plain_type(spec->columns[c].type);
	*job = &made->head;
	return GS_OK;
}

/* Copies a chunk into the columns, checking a private copy of the header once more. */
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
		uint64_t before = table->columns[c].heap_bytes;
		gs_chunk_column column;
		gs_piece piece;

		GS_TRY(gs_view_column(&view, c, table->columns[c].spec.type, &column));
		piece = (gs_piece){(const char *) chunk + column.values, NULL, NULL, column.heap_bytes};
		if (column.has_nulls)
			piece.nulls = (const uint64_t *) ((const char *) chunk + column.nulls);
		if (table->columns[c].spec.type == GS_BYTES)
			piece.heap = (const uint8_t *) chunk + column.heap;
		GS_TRY(gs_table_append(table, c, &piece, view.rows));
		head->string_bytes += table->columns[c].heap_bytes - before;
	}
	table->rows += view.rows;
	head->rows = table->rows;
	return GS_OK;
}

/* Returns true if rows are ordered by a column. */
static bool
in_order(const gs_job *head, uint32_t c)
{
	return gs_job_is_order(head) || (c < head->spec.order_columns && head->spec.op != GS_VALUES);
}

/* Takes the caller's arrays.  Encodes the columns to order by; reads the others in place. */
gs_status
gs_cpu_job_lend(gs_job *head, const gs_column *columns, uint64_t rows)
{
	order_job *job = (order_job *) head;
	uint32_t ncolumns = job->table.ncolumns;

	job->lent = job->work.host.alloc(job->work.host.arg, ncolumns * sizeof(gs_column));
	if (job->lent == NULL)
		return GS_NOMEM;
	for (uint32_t c = 0; c < ncolumns; c++)
	{
		gs_piece piece = {columns[c].values, columns[c].nulls, NULL, 0};

		job->lent[c] = columns[c];
		job->lent[c].spec = head->spec.columns[c];
		if (in_order(head, c))
			GS_TRY(gs_table_append(&job->table, c, &piece, rows));
	}
	job->table.rows = rows;
	return GS_OK;
}

/* Returns the values that the words contain in full, which may overwrite them once packed, or NULL. */
static gs_block *
reusable_values(order_job *job)
{
	for (uint32_t f = 0; f < job->order.step.end.field && !job->order.clipped; f++)
	{
		const gs_field *field = &job->key.fields[f];
		gs_cpu_column *column = job->columns + (field->column - job->columns);

		if (field->kind == GS_FIELD_VALUE && field->width == 8)
			return field->values == column->low.data ? &column->low : &column->values;
	}
	return NULL;
}

/* Allocates the words.  With runs wanted, the columns are kept unless the words hold the complete key. */
static gs_status
reserve_words(order_job *job, bool keep)
{
	bool read = keep || (!job->order.complete && !gs_job_is_order(&job->head));
	gs_block *values = read ? NULL : reusable_values(job);

	if (values != NULL)
	{
		job->words = *values;
		*values = (gs_block){0};
	}
	GS_TRY(gs_block_reserve(&job->work, &job->words, job->table.rows * 8));
	job->order.words = job->words.data;
	return GS_OK;
}

/* Sorts what packing has not put in order.  Frees the columns first if the words hold the complete key. */
static gs_status
sort_words(order_job *job, gs_table *table, bool keep)
{
	if (job->order.complete && !keep)
		gs_table_release(table);
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

/* Finds the first k rows without a full sort, if possible. */
static gs_status
first_rows(order_job *job, uint64_t k)
{
	GS_TRY(gs_block_reserve(&job->work, &job->words, k * sizeof(uint32_t)));
	GS_TRY(gs_block_reserve(&job->work, &job->other, gs_order_first_bytes(&job->order, k)));
	GS_TRY(gs_order_first(&job->order, k, job->words.data, job->other.data, &job->first));
	gs_block_release(&job->work, &job->other);
	if (!job->first)
		gs_block_release(&job->work, &job->words);
	return GS_OK;
}

/* Sorts by the first columns.  Frees those that words contain completely, unless keep is set.  heads may be NULL. */
static gs_status
sort_rows(order_job *job, uint32_t ncolumns, bool keep, uint64_t *heads)
{
	gs_table table = job->table;

	table.ncolumns = ncolumns;
	GS_TRY(gs_key_make(&job->key, &table, gs_row_bits(table.rows)));
	gs_order_init(&job->order, &job->key, &job->work, &job->tuning);
	job->order.heads = heads;
	gs_order_clip_outliers(&job->order);
	if (job->head.spec.op == GS_TOPK && gs_order_first_pays(&job->order, job->head.spec.limit))
		GS_TRY(first_rows(job, job->head.spec.limit));
	if (job->first)
		return GS_OK;
	if (job->order.step.nparts > 0)
		GS_TRY(reserve_words(job, keep));
	GS_TRY(gs_order_pack(&job->order));
	if (!gs_order_already_sorted(&job->order))
		GS_TRY(sort_words(job, &table, keep));
	else if (heads != NULL && job->order.facts.input == GS_ASCENDING && job->order.words != NULL)
		GS_TRY(gs_order_mark(&job->order));
	gs_block_release(&job->work, &job->other);
	gs_block_release(&job->work, &job->scratch);
	return GS_OK;
}

/* Makes the order.  Afterwards only the words are kept, and nothing if the rows came in order. */
gs_status
gs_cpu_job_finish(gs_job *head)
{
	order_job *job = (order_job *) head;

	GS_TRY(sort_rows(job, job->table.ncolumns, false, NULL));
	gs_table_release(&job->table);
	gs_key_release(&job->key);
	if (job->order.facts.input != GS_UNORDERED && !job->first)
		gs_block_release(&job->work, &job->words);
	return GS_OK;
}

/* Returns the next row numbers. */
gs_status
gs_cpu_job_next(gs_job *head, void *out, uint64_t room, uint64_t *got)
{
	order_job *job = (order_job *) head;
	uint64_t left = job->table.rows - job->next;
	uint64_t n = room < left ? room : left;

	if (job->first)
		memcpy(out, (const uint32_t *) job->words.data + job->next, n * sizeof(uint32_t));
	else
		GS_TRY(gs_order_rows(&job->order, out, job->next, n));
	job->next += n;
	*got = n;
	return GS_OK;
}

/* Returns true if the run columns are the order columns.  These need not be kept if the words hold them. */
static bool
runs_of_order(const gs_job_spec *spec)
{
	uint32_t upto = spec->ncolumns - (spec->op == GS_REDUCE);

	return spec->key_columns == upto && spec->order_columns == upto;
}

/* Reports the run heads that follow from the order alone, whose columns include the run columns. */
static gs_heads_known
heads_of_order(order_job *job, bool same, uint64_t *heads)
{
	uint64_t n = job->table.rows;

	if (job->order.facts.input == GS_DESCENDING)
	{
		/* strictly ascending or descending: no two rows are equal */
		memset(heads, 0xff, (n + 63) / 64 * 8);
		if (n % 64 != 0)
			heads[n / 64] = gs_mask(n % 64);
		return GS_HEADS_ALL;
	}
	if (job->order.words == NULL)
	{
		/* all rows are equal */
		memset(heads, 0, (n + 63) / 64 * 8);
		heads[0] = 1;
	}
	return same && job->order.complete ? GS_HEADS_ALL : GS_HEADS_SOME;
}

/* Converts words to row numbers in place.  Each number is written where words were already read. */
static gs_status
numbers_of_words(order_job *job)
{
	uint64_t n = job->table.rows;
	uint32_t *numbers;

	if (job->order.facts.input == GS_ASCENDING)
	{
		gs_block_release(&job->work, &job->words);
		return GS_OK;
	}
	numbers = job->words.data;
	for (uint64_t i = 0; i < n; i += GS_BLOCK_ROWS)
	{
		uint32_t some[GS_BLOCK_ROWS];
		uint64_t m = n - i < GS_BLOCK_ROWS ? n - i : GS_BLOCK_ROWS;

		GS_TRY(gs_order_rows(&job->order, some, i, m));
		memcpy(numbers + i, some, m * sizeof(uint32_t));
	}
	return GS_OK;
}

/* Sorts the rows.  Marks run heads if the words determine them: all columns but a reduced one are keys. */
gs_status
gs_cpu_job_order(gs_job *head, uint64_t *heads, gs_heads_known *known, const uint32_t **order)
{
	order_job *job = (order_job *) head;
	const gs_job_spec *spec = &head->spec;
	bool same = runs_of_order(spec), inside = spec->key_columns == spec->ncolumns - (spec->op == GS_REDUCE);

	*known = GS_HEADS_NONE;
	GS_TRY(sort_rows(job, spec->order_columns, !same, inside ? heads : NULL));
	if (inside)
		*known = heads_of_order(job, same, heads);
	gs_key_release(&job->key);
	GS_TRY(numbers_of_words(job));
	*order = job->words.data;
	return GS_OK;
}

/* Returns a column as sources for primitives: lent, raw, or encoded, as unsigned numbers, two if of 16 bytes. */
uint32_t
gs_cpu_job_sources(gs_job *head, uint32_t c, gs_source *sources)
{
	order_job *job = (order_job *) head;
	const gs_cpu_column *column = &job->table.columns[c];
	bool raw = kept_raw(&head->spec, c);
	gs_source *s = sources;

	if (job->lent != NULL && !in_order(head, c))
	{
		*s = (gs_source){.type = job->lent[c].spec.type, .values = job->lent[c].values, .nulls = job->lent[c].nulls};
		return 1;
	}

	*s = (gs_source){.type = raw ? head->spec.columns[c].type : plain_type(column->spec.type),
					 .values = column->values.data,
					 .nulls = column->nulls.data,
					 .heap = column->heap.data,
					 .wide = column->spec.type == GS_BYTES};
	if (column->spec.type != GS_U128)
		return 1;
	if (raw)
	{
		s->low = column->low.data;
		return 1;
	}
	s->type = GS_U64;
	sources[1] = sources[0];
	sources[1].values = column->low.data;
	return 2;
}

/* Frees the columns once no step needs them. */
void
gs_cpu_job_drop_columns(gs_job *head)
{
	gs_table_release(&((order_job *) head)->table);
}

/* Frees the row numbers, which share memory with the words. */
void
gs_cpu_job_drop_order(gs_job *head)
{
	order_job *job = (order_job *) head;

	gs_block_release(&job->work, &job->words);
}

/* Assembles result elements, polling in between. */
gs_status
gs_cpu_job_emit(gs_job *head, uint64_t from, uint64_t n, void *out)
{
	order_job *job = (order_job *) head;
	const gs_results *results = &head->results;

	for (uint64_t i = 0; i < n; i += GS_BLOCK_ROWS)
	{
		uint64_t upto = n - i < GS_BLOCK_ROWS ? n : i + GS_BLOCK_ROWS;

		for (uint64_t j = i; j < upto; j++)
			if (head->spec.op == GS_RUNS)
				((gs_run *) out)[j] = gs_emit_run(results, head->rows, from + j);
			else
				((gs_group *) out)[j] = gs_emit_group(results, head->rows, from + j);
		GS_TRY(gs_work_add(&job->work, 2 * GS_BLOCK_ROWS));
	}
	return GS_OK;
}

/* Frees everything, even in the middle of a call that was left by longjmp. */
void
gs_cpu_job_end(gs_job *head)
{
	order_job *job = (order_job *) head;
	gs_work work = job->work;

	if (job->lent != NULL)
		work.host.release(work.host.arg, job->lent, job->table.ncolumns * sizeof(gs_column));
	gs_table_release(&job->table);
	gs_key_release(&job->key);
	gs_block_release(&job->work, &job->words);
	gs_block_release(&job->work, &job->other);
	gs_block_release(&job->work, &job->scratch);
	work.host.release(work.host.arg, job, job->bytes);
}

/* Returns the bytes held now.  Of the growing columns, only the part that was written counts. */
static uint64_t
held_bytes(const order_job *job)
{
	return job->bytes + gs_table_bytes(&job->table) + job->key.memory.bytes + job->words.bytes + job->other.bytes +
		   job->scratch.bytes;
}

/*
 * Returns the peak memory of ordering by the first columns: columns and words while packing, then two arrays of words.
 * The columns stay if the words cannot hold the complete key or if keep is set.
 */
static uint64_t
order_bytes(const order_job *job, uint32_t ncolumns, bool keep)
{
	gs_table table = job->table;
	uint64_t words = (table.rows * 8 + GS_ALIGN) & ~(uint64_t) (GS_ALIGN - 1);
	uint64_t columns = gs_table_bytes(&job->table), own;
	bool strings;
	uint32_t bits;

	table.ncolumns = ncolumns;
	bits = gs_table_key_bits(&table, &strings);
	own = gs_table_bytes(&table);
	if (keep || strings || bits > 64 - gs_row_bits(table.rows))
		return columns + 2 * words;
	return columns - own + (own > words ? own + words : 2 * words);
}

/* Returns the job's peak memory if it is finished now, over ordering and the later steps. */
uint64_t
gs_cpu_job_host_bytes(const gs_job *head)
{
	const order_job *job = (const order_job *) head;
	const gs_job_spec *spec = &head->spec;
	uint64_t columns = gs_table_bytes(&job->table), fixed, most, rest;
	uint32_t order_columns = gs_job_is_order(head) ? spec->ncolumns : spec->op == GS_VALUES ? 0 : spec->order_columns;

	if (head->state != GS_JOB_ADDING)
		return held_bytes(job) + head->results.count * gs_job_work_bytes(spec);
	fixed =
		job->bytes + head->spec_copy_bytes + gs_sorter_bytes(job->table.rows, &job->tuning) + gs_key_bytes(&job->table);
	fixed += (uint64_t) job->table.ncolumns * 4 * GS_ALIGN; /* each array is slightly larger than its rows */
	most =
		order_columns == 0 ? columns : order_bytes(job, order_columns, !gs_job_is_order(head) && !runs_of_order(spec));
	if (gs_job_is_order(head))
		return fixed + most;
	fixed += GS_JOB_BLOCKS * (uint64_t) 1024;
	most += job->table.rows; /* bits */
	rest = job->table.rows * (gs_job_work_bytes(spec) + (order_columns > 0 ? 8 : 0));
	if (spec->op == GS_REDUCE || spec->op == GS_SCAN || spec->op == GS_VALUES)
		rest += columns;
	return fixed + (most > rest ? most : rest);
}

/* Reports the job's statistics. */
void
gs_cpu_job_get_info(const gs_job *head, gs_job_info *info)
{
	const order_job *job = (const order_job *) head;

	info->order = job->order.facts;
	info->host_bytes = held_bytes(job);
}
