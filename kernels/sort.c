/*
 * sort.c: the public calls of the sort family, which check their arguments and answer empty inputs.
 */
#include "sort.h"
#include "arguments.h"
#include "gs_library.h"

/* Returns the engine's operations.  The table of an engine without any is empty. */
static const struct gs_sort_ops *
family(const gs_engine *engine)
{
	static const struct gs_sort_ops none;

	return engine == NULL || engine->ops->sort == NULL ? &none : engine->ops->sort;
}

/* Returns true for keys of 1 to 4 words of 64 bits, or of 4 bytes. */
static bool
words_valid(size_t key_bytes)
{
	return key_bytes == 4 || key_bytes == 8 || key_bytes == 16 || key_bytes == 24 || key_bytes == 32;
}

/* Returns true for values of 4 or 8 bytes, or none. */
static bool
width_valid(size_t value_width)
{
	return value_width == 0 || value_width == 4 || value_width == 8;
}

/* Returns true if all arrays are present, aligned and disjoint.  numbers: absent values stand for row numbers. */
static bool
items_valid(const gs_sort_request *r, bool numbers)
{
	size_t align = r->key_bytes < 8 ? r->key_bytes : 8;
	uint64_t key_bytes = r->n * r->key_bytes, value_bytes = r->n * r->value_width;
	const void *in[] = {r->keys, r->values};
	const void *out[] = {r->out_keys, r->out_values};
	uint64_t bytes[] = {key_bytes, value_bytes};

	if (!array_valid(r->keys, align) || !array_valid(r->out_keys, align))
		return false;
	if (r->value_width == 0 && (r->values != NULL || r->out_values != NULL))
		return false;
	if (r->value_width != 0 &&
		(!array_valid(r->out_values, r->value_width) || (uintptr_t) r->values % r->value_width != 0))
		return false;
	if (r->value_width != 0 && r->values == NULL && (!numbers || r->value_width != 4))
		return false;
	for (int o = 0; o < 2; o++)
		for (int i = 0; i < 2; i++)
			if (out[o] != NULL && (out[o] == in[i] || overlap(out[o], bytes[o], in[i], bytes[i])))
				return false;
	return out[1] == NULL || (out[0] != out[1] && !overlap(out[0], bytes[0], out[1], bytes[1]));
}

size_t
gs_sort_temp_bytes(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n)
{
	const struct gs_sort_ops *ops = family(engine);

	if (ops->sort == NULL || !numeric(key) || !width_valid(value_width) || n == 0 || n > GS_MAX_SORT)
		return 0;
	return ops->sort_temp_bytes(engine, key, value_width, n);
}

/* Returns the request with what its key's type says filled in. */
static gs_sort_request
typed(const gs_sort_request *request)
{
	gs_sort_request r = *request;

	r.key_bytes = gs_type_width(r.key);
	if (r.end_bit == 0)
		r.end_bit = 8 * (uint32_t) r.key_bytes;
	return r;
}

gs_status
gs_sort(gs_engine *engine, const gs_sort_request *request, void *temp, size_t temp_bytes)
{
	const struct gs_sort_ops *ops = family(engine);
	gs_sort_request r = typed(request);

	if (ops->sort == NULL || !numeric(r.key) || !width_valid(r.value_width) || r.begin_bit >= r.end_bit ||
		r.end_bit > 8 * r.key_bytes)
		return GS_INVALID;
	if (r.n == 0)
		return GS_OK;
	if (r.n > GS_MAX_SORT)
		return GS_TOO_BIG;
	if (!items_valid(&r, false))
		return GS_INVALID;
	if (!temp_valid(temp, temp_bytes, gs_sort_temp_bytes(engine, r.key, r.value_width, r.n)))
		return GS_INVALID;
	return ops->sort(engine, &r, temp);
}

size_t
gs_merge_sort_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n)
{
	const struct gs_sort_ops *ops = family(engine);

	if (ops->merge_sort == NULL || !words_valid(key_bytes) || !width_valid(value_width) || n == 0 || n > GS_MAX_SORT)
		return 0;
	return ops->merge_sort_temp_bytes(engine, key_bytes, value_width, n);
}

gs_status
gs_merge_sort(gs_engine *engine, const gs_sort_request *r, void *temp, size_t temp_bytes)
{
	const struct gs_sort_ops *ops = family(engine);

	if (ops->merge_sort == NULL || !words_valid(r->key_bytes) || !width_valid(r->value_width))
		return GS_INVALID;
	if (r->n == 0)
		return GS_OK;
	if (r->n > GS_MAX_SORT)
		return GS_TOO_BIG;
	if (!items_valid(r, true))
		return GS_INVALID;
	if (!temp_valid(temp, temp_bytes, gs_merge_sort_temp_bytes(engine, r->key_bytes, r->value_width, r->n)))
		return GS_INVALID;
	return ops->merge_sort(engine, r, temp);
}

size_t
gs_merge_runs_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n, uint64_t runs)
{
	const struct gs_sort_ops *ops = family(engine);

	if (ops->merge_runs == NULL || !words_valid(key_bytes) || !width_valid(value_width) || n == 0 || n > GS_MAX_SORT ||
		runs == 0)
		return 0;
	return ops->merge_runs_temp_bytes(engine, key_bytes, value_width, n, runs);
}

/* Returns true if runs are given that never decrease and cover all items. */
static bool
runs_valid(const gs_sort_request *r)
{
	if (r->starts == NULL || r->starts[0] != 0 || r->starts[r->parts] != r->n)
		return false;
	for (uint64_t run = 0; run < r->parts; run++)
		if (r->starts[run] > r->starts[run + 1])
			return false;
	return true;
}

gs_status
gs_merge_runs(gs_engine *engine, const gs_sort_request *r, void *temp, size_t temp_bytes)
{
	const struct gs_sort_ops *ops = family(engine);

	if (ops->merge_runs == NULL || !words_valid(r->key_bytes) || !width_valid(r->value_width))
		return GS_INVALID;
	if (r->n > GS_MAX_SORT)
		return GS_TOO_BIG;
	if (!runs_valid(r))
		return GS_INVALID;
	if (r->n == 0)
		return GS_OK;
	if (!items_valid(r, true))
		return GS_INVALID;
	if (!temp_valid(temp, temp_bytes, gs_merge_runs_temp_bytes(engine, r->key_bytes, r->value_width, r->n, r->parts)))
		return GS_INVALID;
	return ops->merge_runs(engine, r, temp);
}

size_t
gs_sort_segments_temp_bytes(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n, uint64_t segments)
{
	const struct gs_sort_ops *ops = family(engine);

	if (ops->segments == NULL || !numeric(key) || !width_valid(value_width) || n == 0 || n > GS_MAX_SORT ||
		segments == 0 || segments > GS_MAX_SORT)
		return 0;
	return ops->segments_temp_bytes(engine, key, value_width, n, segments);
}

gs_status
gs_sort_segments(gs_engine *engine, const gs_sort_request *request, void *temp, size_t temp_bytes)
{
	const struct gs_sort_ops *ops = family(engine);
	gs_sort_request r = typed(request);

	r.begin_bit = 0;
	r.end_bit = 8 * (uint32_t) r.key_bytes;
	if (ops->segments == NULL || !numeric(r.key) || !width_valid(r.value_width))
		return GS_INVALID;
	if (r.n == 0 || r.parts == 0)
		return GS_OK;
	if (r.n > GS_MAX_SORT || r.parts > GS_MAX_SORT)
		return GS_TOO_BIG;
	if (!array_valid(r.starts, 8) || !items_valid(&r, false))
		return GS_INVALID;
	if (!temp_valid(temp, temp_bytes, gs_sort_segments_temp_bytes(engine, r.key, r.value_width, r.n, r.parts)))
		return GS_INVALID;
	return ops->segments(engine, &r, temp);
}

size_t
gs_top_k_temp_bytes(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, uint64_t k)
{
	const struct gs_sort_ops *ops = family(engine);

	if (ops->top_k == NULL || gs_columns_check(columns, ncolumns, rows) != GS_OK || rows == 0 || k == 0)
		return 0;
	return ops->top_k_temp_bytes(engine, columns, ncolumns, rows, k < rows ? k : rows);
}

gs_status
gs_top_k(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, uint64_t k, uint32_t *order,
		 void *temp, size_t temp_bytes)
{
	const struct gs_sort_ops *ops = family(engine);
	gs_status status = gs_columns_check(columns, ncolumns, rows);

	if (ops->top_k == NULL)
		return GS_INVALID;
	if (status != GS_OK || rows == 0 || k == 0)
		return status;
	if (!array_valid(order, sizeof(*order)) ||
		!temp_valid(temp, temp_bytes, gs_top_k_temp_bytes(engine, columns, ncolumns, rows, k)))
		return GS_INVALID;
	return ops->top_k(engine, columns, ncolumns, rows, k < rows ? k : rows, order, temp, temp_bytes);
}
