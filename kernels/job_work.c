/*
 * job_work.c: executes all job operations except orders, as calls of the primitives in gs_arrays.h, for all engines.
 * An engine stores the columns and sorts the rows.  Runs are bitmaps of the positions where they begin; a reduction by
 * key is one by run number.  Every step ends with a poll of the host.
 */
#include "rows.h"

#include <string.h>

/* Purpose of a job's array.  An array lives until it is released or the job ends. */
typedef enum block
{
	B_COUNT, /* a count written by a primitive */
	B_CONSTANT,
	B_TEMP,
	B_BITS,
	B_IDS,
	B_STARTS,
	B_ROWS,
	B_VALUES,
	B_OUT,
	B_KEYS,
	B_NULLS
} block;

_Static_assert(B_NULLS < GS_JOB_BLOCKS, "every block needs its place");

/* Frees one array. */
static void
release(gs_job *job, block b)
{
	void *data = job->blocks[b].data;

	job->blocks[b].data = NULL;
	if (data == NULL)
		return;
	if (job->ops->job_release != NULL)
		job->ops->job_release(job, data, job->blocks[b].bytes);
	else
		gs_free(job->engine, data);
}

/* Frees all arrays in the engine's memory.  Safe to repeat. */
void
gs_job_work_drop(gs_job *job)
{
	for (int b = 0; b < GS_JOB_BLOCKS; b++)
		release(job, (block) b);
}

/* Allocates an array of n elements in the engine's memory. */
static gs_status
alloc_block(gs_job *job, block b, uint64_t n, size_t width, void *array)
{
	size_t bytes = n > 0 && width > 0 ? n * width : 1;
	void **to = array;

	release(job, b);
	if (job->ops->job_alloc != NULL)
		GS_TRY(job->ops->job_alloc(job, bytes, &job->blocks[b].data));
	else
		GS_TRY(gs_alloc(job->engine, bytes, &job->blocks[b].data));
	job->blocks[b].bytes = bytes;
	*to = job->blocks[b].data;
	return GS_OK;
}

/* Polls the host. */
static gs_status
ask_host(gs_job *job)
{
	return job->host.poll != NULL && job->host.poll(job->host.arg) ? GS_CANCELLED : GS_OK;
}

/* Waits for enqueued work, then polls the host. */
static gs_status
poll(gs_job *job)
{
	GS_TRY(gs_sync(job->engine));
	return ask_host(job);
}

/* Reads a count that a primitive wrote.  The buffer may then be reused. */
static gs_status
read_count(gs_job *job, uint64_t *count)
{
	GS_TRY(gs_download(job->engine, count, job->blocks[B_COUNT].data, sizeof(*count)));
	return poll(job);
}

/* ---------------------------------------------------------------- runs */

/* Finds the bitmap of run heads of the key columns, and the row order. */
static gs_status
find_heads(gs_job *job, uint64_t *bits, const uint32_t **order)
{
	const gs_job_spec *spec = &job->spec;
	uint32_t upto = spec->ncolumns - (spec->op == GS_REDUCE), from = upto - spec->key_columns;
	gs_heads_known known = GS_HEADS_NONE;

	*order = NULL;
	if (spec->order_columns > 0)
		GS_TRY(job->ops->job_order(job, bits, &known, order));
	for (uint32_t c = from; c < upto && known != GS_HEADS_ALL; c++)
	{
		gs_source sources[2];
		uint32_t n = job->ops->job_sources(job, c, sources);

		for (uint32_t s = 0; s < n; s++, known = GS_HEADS_SOME)
		{
			GS_TRY(job->engine->ops->rows->heads(job->engine, &sources[s], *order, job->rows, known == GS_HEADS_NONE,
												 bits));
			GS_TRY(poll(job));
		}
	}
	return GS_OK;
}

/* Finds the start and the first row of each run. */
static gs_status
find_runs(gs_job *job, const uint64_t *bits, const uint32_t *order)
{
	size_t temp_bytes = gs_select_temp_bytes(job->engine, GS_U32, job->rows);
	gs_results *results = &job->results;
	uint32_t *starts, *rows;
	void *temp;

	GS_TRY(alloc_block(job, B_TEMP, temp_bytes, 1, &temp));
	GS_TRY(alloc_block(job, B_STARTS, job->rows, sizeof(uint32_t), &starts));
	GS_TRY(gs_positions(job->engine, bits, job->rows, starts, job->blocks[B_COUNT].data, temp, temp_bytes));
	GS_TRY(read_count(job, &results->count));
	release(job, B_TEMP);
	results->starts = starts;
	if (order == NULL)
		return GS_OK;
	GS_TRY(alloc_block(job, B_ROWS, results->count, sizeof(uint32_t), &rows));
	GS_TRY(gs_gather(job->engine, GS_U32, order, GS_U32, starts, results->count, rows));
	results->rows = rows;
	return poll(job);
}

/* Executes GS_RUNS.  Frees columns and order as soon as the remaining steps do not need them. */
static gs_status
runs(gs_job *job)
{
	uint64_t *bits;
	const uint32_t *order;

	GS_TRY(alloc_block(job, B_BITS, (job->rows + 63) / 64, sizeof(*bits), &bits));
	GS_TRY(find_heads(job, bits, &order));
	job->ops->job_drop_columns(job);
	GS_TRY(find_runs(job, bits, order));
	release(job, B_BITS);
	job->ops->job_drop_order(job);
	return GS_OK;
}

/* ---------------------------------------------------------------- reduce */

/* Sets *fit if the extremes of the values show that no sum can overflow.  Sums are then not checked. */
static gs_status
sums_fit(gs_job *job, gs_type type, const void *values, bool *fit)
{
	size_t temp_bytes = gs_extent_temp_bytes(job->engine, type, job->rows);
	uint64_t extent[4], most;
	void *temp, *out;

	*fit = false;
	if (type != GS_I64 && type != GS_U64)
		return GS_OK;
	GS_TRY(alloc_block(job, B_TEMP, temp_bytes, 1, &temp));
	GS_TRY(alloc_block(job, B_OUT, 4, sizeof(uint64_t), &out));
	GS_TRY(gs_extent(job->engine, type, values, job->rows, out, temp, temp_bytes));
	GS_TRY(gs_download(job->engine, extent, out, sizeof(extent)));
	GS_TRY(poll(job));
	most = extent[1];
	if (type == GS_I64)
	{
		uint64_t below = (int64_t) extent[0] < 0 ? -extent[0] : 0;

		if ((int64_t) most < 0 || most < below)
			most = below;
	}
	*fit = most <= (type == GS_I64 ? (uint64_t) INT64_MAX : UINT64_MAX) / job->rows;
	return GS_OK;
}

/* Writes the identity element of an operation on a widened type. */
static void
identity(gs_operation operation, gs_type type, void *to)
{
	const uint64_t quiet_nan = 0x7ff8000000000000ull, infinity = 0x7ff0000000000000ull, sign = (uint64_t) 1 << 63;
	uint64_t x = 0;
	uint32_t y = 0;

	switch (operation)
	{
		case GS_MIN:
			x = type == GS_F64 ? quiet_nan : type == GS_I64 ? ~sign : ~(uint64_t) 0;
			y = 0x7fc00000u;
			break;
		case GS_MAX:
			x = type == GS_F64 ? sign | infinity : type == GS_I64 ? sign : 0;
			y = 0xff800000u;
			break;
		default:
			x = type == GS_F64 ? sign : 0;
			y = 0x80000000u;
	}
	if (type == GS_F32)
		memcpy(to, &y, sizeof(y));
	else
		memcpy(to, &x, sizeof(x));
}

/* Computes the run number of each position. */
static gs_status
number_runs(gs_job *job, const uint64_t *bits, uint32_t **ids)
{
	const gs_source marks = {.type = GS_U32, .nulls = bits};
	const uint32_t one = 1;
	size_t temp_bytes = gs_scan_temp_bytes(job->engine, GS_U32, job->rows);
	void *temp;

	GS_TRY(alloc_block(job, B_IDS, job->rows, sizeof(uint32_t), ids));
	GS_TRY(alloc_block(job, B_TEMP, temp_bytes, 1, &temp));
	GS_TRY(gs_values_of(job->engine, &marks, NULL, job->rows, GS_U32, &one, *ids));
	GS_TRY(gs_scan(job->engine, GS_U32, GS_SUM, true, *ids, *ids, job->rows, temp, temp_bytes));
	return poll(job);
}

/* Reduces an array of values by run number. */
static gs_status
reduce(gs_job *job, const uint32_t *ids, const void *values, const gs_reduction *reduction, block b, void **out)
{
	size_t temp_bytes = gs_reduce_by_key_temp_bytes(job->engine, GS_U32, reduction, job->rows);
	uint64_t count;
	void *temp, *keys;

	GS_TRY(alloc_block(job, B_TEMP, temp_bytes, 1, &temp));
	GS_TRY(alloc_block(job, B_KEYS, job->rows, sizeof(uint32_t), &keys));
	GS_TRY(alloc_block(job, b, job->rows, gs_type_width(reduction->result), out));
	GS_TRY(gs_reduce_by_key(job->engine, GS_U32, ids, values, job->rows, reduction, keys, *out,
							job->blocks[B_COUNT].data, NULL, temp, temp_bytes));
	GS_TRY(read_count(job, &count));
	release(job, B_TEMP);
	release(job, B_KEYS);
	return count == job->results.count ? GS_OK : GS_DEVICE;
}

/* Counts the NULLs of each run. */
static gs_status
count_nulls(gs_job *job, const uint32_t *ids, const uint64_t *nulls, const uint32_t *order)
{
	const gs_reduction sum = {.values = GS_U32, .op = GS_SUM, .result = GS_U32};
	const gs_source marks = {.type = GS_U32, .nulls = nulls};
	const uint32_t one = 1;
	void *flags, *out;

	GS_TRY(alloc_block(job, B_VALUES, job->rows, sizeof(uint32_t), &flags));
	GS_TRY(gs_values_of(job->engine, &marks, order, job->rows, GS_U32, &one, flags));
	GS_TRY(reduce(job, ids, flags, &sum, B_NULLS, &out));
	job->results.nulls = out;
	release(job, B_VALUES);
	return GS_OK;
}

/* Reduces the value column of all runs. */
static gs_status
reduce_values(gs_job *job, const uint32_t *ids, const gs_source *source, const uint32_t *order)
{
	const gs_job_spec *spec = &job->spec;
	gs_type type = gs_widened(source->type);
	gs_reduction reduction = {.values = type, .op = spec->operation, .result = gs_job_reduced_type(spec)};
	const void *values = source->values;
	uint64_t nothing;
	void *copy, *out;
	bool fit;

	reduction.fixed_tree = spec->operation == GS_SUM && gs_type_is_float(type);
	if (order != NULL || source->nulls != NULL || type != source->type)
	{
		identity(spec->operation, type, &nothing);
		GS_TRY(alloc_block(job, B_VALUES, job->rows, gs_type_width(type), &copy));
		GS_TRY(gs_values_of(job->engine, source, order, job->rows, type, &nothing, copy));
		GS_TRY(poll(job));
		values = copy;
	}
	if (reduction.result == GS_U128)
	{
		GS_TRY(sums_fit(job, type, values, &fit));
		reduction.result = fit ? type : GS_U128;
	}
	GS_TRY(reduce(job, ids, values, &reduction, B_OUT, &out));
	release(job, B_VALUES);
	job->results.values = out;
	job->results.value_type = reduction.result;
	return GS_OK;
}

/* Executes GS_REDUCE by run number.  Counts need no run numbers unless the column has NULLs. */
static gs_status
groups(gs_job *job)
{
	gs_source source[2];
	uint64_t *bits;
	uint32_t *ids = NULL;
	const uint32_t *order;
	bool counts = job->spec.operation == GS_COUNT;

	GS_TRY(alloc_block(job, B_BITS, (job->rows + 63) / 64, sizeof(*bits), &bits));
	GS_TRY(find_heads(job, bits, &order));
	GS_TRY(find_runs(job, bits, order));
	(void) job->ops->job_sources(job, job->spec.ncolumns - 1, source);
	if (!counts || source->nulls != NULL)
		GS_TRY(number_runs(job, bits, &ids));
	release(job, B_BITS);
	if (!counts)
		GS_TRY(reduce_values(job, ids, source, order));
	if (source->nulls != NULL)
		GS_TRY(count_nulls(job, ids, source->nulls, order));
	release(job, B_IDS);
	job->ops->job_drop_columns(job);
	job->ops->job_drop_order(job);
	return GS_OK;
}

/* ---------------------------------------------------------------- select, partition */

/* Computes the bitmap of rows that the filter keeps. */
static gs_status
filter_rows(gs_job *job, uint64_t *bits)
{
	const gs_job_filter *filter = &job->spec.filter;
	const uint8_t zero = 0;
	gs_source source[2];
	const void *value = filter->value;
	void *there;

	(void) job->ops->job_sources(job, 0, source);
	if (filter->by_flags)
		return gs_compare_of(job->engine, source, job->rows, GS_NE, &zero, 1, bits);
	if (source->type == GS_BYTES)
	{
		GS_TRY(alloc_block(job, B_CONSTANT, filter->value_bytes, 1, &there));
		GS_TRY(gs_upload(job->engine, there, value, filter->value_bytes));
		value = there;
	}
	return gs_compare_of(job->engine, source, job->rows, filter->comparison, value, filter->value_bytes, bits);
}

/* Executes GS_SELECT and GS_PARTITION: the bitmap of kept rows, then positions, or a split of all row numbers. */
static gs_status
filtered(gs_job *job)
{
	size_t temp_bytes = gs_select_temp_bytes(job->engine, GS_U32, job->rows);
	gs_results *results = &job->results;
	bool partition = job->spec.op == GS_PARTITION;
	gs_filter filter = {.by = GS_BY_BITS};
	uint32_t *kept, *rest, *all;
	uint64_t *bits;
	void *temp;

	GS_TRY(alloc_block(job, B_BITS, (job->rows + 63) / 64, sizeof(*bits), &bits));
	GS_TRY(filter_rows(job, bits));
	GS_TRY(poll(job));
	job->ops->job_drop_columns(job);
	GS_TRY(alloc_block(job, B_TEMP, temp_bytes, 1, &temp));
	GS_TRY(alloc_block(job, B_ROWS, job->rows, sizeof(uint32_t), &kept));
	results->first = kept;
	if (partition)
	{
		GS_TRY(alloc_block(job, B_OUT, job->rows, sizeof(uint32_t), &rest));
		GS_TRY(alloc_block(job, B_VALUES, job->rows, sizeof(uint32_t), &all));
		GS_TRY(gs_sequence(job->engine, GS_U32, all, job->rows, 0, 1));
		filter.mask = bits;
		GS_TRY(gs_partition(job->engine, GS_U32, all, job->rows, &filter, kept, rest, job->blocks[B_COUNT].data, temp,
							temp_bytes));
		results->second = rest;
	}
	else
		GS_TRY(gs_positions(job->engine, bits, job->rows, kept, job->blocks[B_COUNT].data, temp, temp_bytes));
	GS_TRY(read_count(job, &results->selected));
	results->count = partition ? job->rows : results->selected;
	release(job, B_VALUES);
	release(job, B_BITS);
	release(job, B_TEMP);
	return GS_OK;
}

/* ---------------------------------------------------------------- scan */

/* Adds 64-bit integers, checking for overflow. */
static gs_status
checked_sums(gs_job *job, gs_type type, const void *values, void *temp, size_t temp_bytes)
{
	bool inclusive = !job->spec.exclusive;
	uint64_t overflows;
	void *out;

	GS_TRY(alloc_block(job, B_OUT, job->rows, sizeof(uint64_t), &out));
	GS_TRY(gs_scan(job->engine, type, GS_SUM, inclusive, values, out, job->rows, temp, temp_bytes));
	GS_TRY(gs_scan_overflows(job->engine, type, inclusive, values, out, job->rows, job->blocks[B_COUNT].data));
	GS_TRY(read_count(job, &overflows));
	job->results.first = out;
	return overflows == 0 ? GS_OK : GS_OVERFLOW;
}

/* Executes GS_SCAN.  NULLs are replaced by the identity; integer sums of 64 bits are checked if they may overflow. */
static gs_status
scan(gs_job *job)
{
	const gs_job_spec *spec = &job->spec;
	bool inclusive = !spec->exclusive;
	size_t temp_bytes;
	gs_source source[2];
	gs_type type;
	uint64_t nothing;
	const void *values;
	void *out = NULL, *temp;
	bool fit = true;

	(void) job->ops->job_sources(job, 0, source);
	type = gs_widened(source->type);
	identity(spec->operation, type, &nothing);
	values = source->values;
	if (source->nulls != NULL || type != source->type)
	{
		GS_TRY(alloc_block(job, B_VALUES, job->rows, gs_type_width(type), &out));
		GS_TRY(gs_values_of(job->engine, source, NULL, job->rows, type, &nothing, out));
		GS_TRY(poll(job));
		job->ops->job_drop_columns(job);
		values = out;
	}
	job->results.count = job->results.selected = job->rows;
	if (spec->operation == GS_SUM && type == source->type && !gs_type_is_float(type))
		GS_TRY(sums_fit(job, type, values, &fit));
	temp_bytes = gs_scan_temp_bytes(job->engine, type, job->rows);
	if (gs_type_is_float(type) && spec->operation == GS_SUM)
		temp_bytes = gs_scan_fixed_temp_bytes(job->engine, type, job->rows);
	GS_TRY(alloc_block(job, B_TEMP, temp_bytes, 1, &temp));
	if (!fit)
		return checked_sums(job, type, values, temp, temp_bytes);
	/* overwrite the values, unless the caller owns them */
	if (out == NULL && job->lent)
		GS_TRY(alloc_block(job, B_VALUES, job->rows, gs_type_width(type), &out));
	else if (out == NULL)
		out = (void *) values;
	job->results.first = out;
	if (spec->operation == GS_SUM && gs_type_is_float(type))
		GS_TRY(gs_scan_fixed(job->engine, type, inclusive, values, out, job->rows, temp, temp_bytes));
	else
		GS_TRY(gs_scan(job->engine, type, spec->operation, inclusive, values, out, job->rows, temp, temp_bytes));
	GS_TRY(poll(job));
	release(job, B_TEMP);
	return GS_OK;
}

/* ---------------------------------------------------------------- values */

/* Sorts the values. */
static gs_status
sort_values(gs_job *job, const void *values, void *out)
{
	gs_column_spec column = job->spec.columns[0];
	gs_sort_request request = {
		.key = column.type, .desc = column.desc, .n = job->rows, .keys = values, .out_keys = out};
	size_t temp_bytes = gs_sort_temp_bytes(job->engine, column.type, 0, job->rows);
	void *temp;

	GS_TRY(alloc_block(job, B_TEMP, temp_bytes, 1, &temp));
	GS_TRY(gs_sort(job->engine, &request, temp, temp_bytes));
	GS_TRY(poll(job));
	release(job, B_TEMP);
	return GS_OK;
}

/* Keeps the first value of each run.  out may be values. */
static gs_status
unique_values(gs_job *job, const void *values, void *out, uint64_t *count)
{
	gs_type type = job->spec.columns[0].type;
	size_t temp_bytes = gs_select_temp_bytes(job->engine, type, job->rows);
	void *temp;

	GS_TRY(alloc_block(job, B_TEMP, temp_bytes, 1, &temp));
	GS_TRY(gs_unique(job->engine, type, values, job->rows, out, job->blocks[B_COUNT].data, temp, temp_bytes));
	GS_TRY(read_count(job, count));
	release(job, B_TEMP);
	return GS_OK;
}

/* Executes GS_VALUES: sorts, removes duplicates, or both, then applies offset and limit. */
static gs_status
values_alone(gs_job *job)
{
	const gs_job_spec *spec = &job->spec;
	size_t width = gs_type_width(spec->columns[0].type);
	gs_results *results = &job->results;
	uint64_t count = job->rows;
	gs_source source[2];
	const void *values;
	void *out;

	(void) job->ops->job_sources(job, 0, source);
	if (source->nulls != NULL)
		return GS_INVALID;
	values = source->values;
	GS_TRY(alloc_block(job, B_OUT, job->rows, width, &out));
	if (spec->order_columns > 0)
	{
		GS_TRY(sort_values(job, values, out));
		job->ops->job_drop_columns(job);
		values = out;
	}
	if (spec->key_columns > 0)
		GS_TRY(unique_values(job, values, out, &count));
	job->ops->job_drop_columns(job);
	results->count = count > spec->offset ? count - spec->offset : 0;
	if (spec->limit > 0 && spec->limit < results->count)
		results->count = spec->limit;
	results->selected = results->count;
	results->first = (const char *) out + (results->count > 0 ? spec->offset : 0) * width;
	return GS_OK;
}

/* Executes a job that is not an order, once all chunks have been added. */
gs_status
gs_job_work(gs_job *job)
{
	void *count;

	if (job->ops->job_close != NULL)
		GS_TRY(job->ops->job_close(job));
	if (job->rows == 0)
		return GS_OK;
	GS_TRY(alloc_block(job, B_COUNT, 1, sizeof(uint64_t), &count));
	switch (job->spec.op)
	{
		case GS_RUNS:
			return runs(job);
		case GS_REDUCE:
			return groups(job);
		case GS_SCAN:
			return scan(job);
		case GS_VALUES:
			return values_alone(job);
		default:
			return filtered(job);
	}
}

/* ---------------------------------------------------------------- the result */

/* Copies result elements that are stored in their final form, in one or two arrays. */
static gs_status
copy_out(gs_job *job, uint64_t from, uint64_t n, char *out)
{
	const gs_results *results = &job->results;
	size_t width = gs_job_result_bytes(&job->spec);
	uint64_t of_first = from < results->selected ? results->selected - from : 0;

	if (of_first > n)
		of_first = n;
	GS_TRY(gs_download(job->engine, out, (const char *) results->first + from * width, of_first * width));
	if (of_first < n)
		GS_TRY(gs_download(job->engine, out + of_first * width,
						   (const char *) results->second + (from + of_first - results->selected) * width,
						   (n - of_first) * width));
	return gs_sync(job->engine);
}

/* Returns up to room elements of the result. */
gs_status
gs_job_work_next(gs_job *job, void *out, uint64_t room, uint64_t *got)
{
	const gs_results *results = &job->results;
	uint64_t left = results->count - job->given, n = room < left ? room : left;

	if (n > 0 && results->first != NULL)
		GS_TRY(copy_out(job, job->given, n, out));
	else if (n > 0)
		GS_TRY(job->ops->job_emit(job, job->given, n, out));
	job->given += n;
	*got = n;
	return ask_host(job);
}
