/*
 * sort.c: the public calls of the sort family.  Each checks its arguments, answers empty inputs and calls the engine's
 * operation.
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

/*
 * Returns true if all arrays are present, aligned and disjoint.  numbers: absent values stand for row numbers.
 */
static bool
items_valid(const gs_sort_items *t, bool numbers)
{
	size_t align = t->key_bytes < 8 ? t->key_bytes : 8;
	uint64_t key_bytes = t->n * t->key_bytes, value_bytes = t->n * t->value_width;
	const void *in[] = {t->keys, t->values};
	const void *out[] = {t->out_keys, t->out_values};
	uint64_t bytes[] = {key_bytes, value_bytes};

	if (!array_valid(t->keys, align) || !array_valid(t->out_keys, align))
		return false;
	if (t->value_width == 0 && (t->values != NULL || t->out_values != NULL))
		return false;
	if (t->value_width != 0 &&
		(!array_valid(t->out_values, t->value_width) || (uintptr_t) t->values % t->value_width != 0))
		return false;
	if (t->value_width != 0 && t->values == NULL && (!numbers || t->value_width != 4))
		return false;
	for (int o = 0; o < 2; o++)
		for (int i = 0; i < 2; i++)
			if (out[o] != NULL && (out[o] == in[i] || overlap(out[o], bytes[o], in[i], bytes[i])))
				return false;
	return out[1] == NULL || (out[0] != out[1] && !overlap(out[0], bytes[0], out[1], bytes[1]));
}

/* ---------------------------------------------------------------- radix sort */

size_t
gs_sort_temp_bytes(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n)
{
	const struct gs_sort_ops *ops = family(engine);

	if (ops->sort == NULL || !numeric(key) || !width_valid(value_width) || n == 0 || n > GS_MAX_SORT)
		return 0;
	return ops->sort_temp_bytes(engine, key, value_width, n);
}

gs_status
gs_sort(gs_engine *engine, gs_type key, bool desc, uint32_t begin_bit, uint32_t end_bit, const void *keys,
		void *out_keys, size_t value_width, const void *values, void *out_values, uint64_t n, void *temp,
		size_t temp_bytes)
{
	const struct gs_sort_ops *ops = family(engine);
	gs_sort_items items = {keys, values, out_keys, out_values, gs_type_width(key), value_width, n};

	if (ops->sort == NULL || !numeric(key) || !width_valid(value_width) || begin_bit >= end_bit ||
		end_bit > 8 * gs_type_width(key))
		return GS_INVALID;
	if (n == 0)
		return GS_OK;
	if (n > GS_MAX_SORT)
		return GS_TOO_BIG;
	if (!items_valid(&items, false))
		return GS_INVALID;
	if (!temp_valid(temp, temp_bytes, gs_sort_temp_bytes(engine, key, value_width, n)))
		return GS_INVALID;
	return ops->sort(engine, key, desc, begin_bit, end_bit, &items, temp);
}

/* ---------------------------------------------------------------- merge sort */

size_t
gs_merge_sort_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n)
{
	const struct gs_sort_ops *ops = family(engine);

	if (ops->merge_sort == NULL || !words_valid(key_bytes) || !width_valid(value_width) || n == 0 || n > GS_MAX_SORT)
		return 0;
	return ops->merge_sort_temp_bytes(engine, key_bytes, value_width, n);
}

gs_status
gs_merge_sort(gs_engine *engine, size_t key_bytes, const void *keys, void *out_keys, size_t value_width,
			  const void *values, void *out_values, uint64_t n, void *temp, size_t temp_bytes)
{
	const struct gs_sort_ops *ops = family(engine);
	gs_sort_items items = {keys, values, out_keys, out_values, key_bytes, value_width, n};

	if (ops->merge_sort == NULL || !words_valid(key_bytes) || !width_valid(value_width))
		return GS_INVALID;
	if (n == 0)
		return GS_OK;
	if (n > GS_MAX_SORT)
		return GS_TOO_BIG;
	if (!items_valid(&items, true))
		return GS_INVALID;
	if (!temp_valid(temp, temp_bytes, gs_merge_sort_temp_bytes(engine, key_bytes, value_width, n)))
		return GS_INVALID;
	return ops->merge_sort(engine, &items, temp);
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

gs_status
gs_merge_runs(gs_engine *engine, size_t key_bytes, const void *keys, void *out_keys, size_t value_width,
			  const void *values, void *out_values, const uint64_t *starts, uint64_t runs, uint64_t n, void *temp,
			  size_t temp_bytes)
{
	const struct gs_sort_ops *ops = family(engine);
	gs_sort_items items = {keys, values, out_keys, out_values, key_bytes, value_width, n};

	if (ops->merge_runs == NULL || !words_valid(key_bytes) || !width_valid(value_width))
		return GS_INVALID;
	if (n > GS_MAX_SORT)
		return GS_TOO_BIG;
	if (starts == NULL || starts[0] != 0 || starts[runs] != n)
		return GS_INVALID;
	for (uint64_t r = 0; r < runs; r++)
		if (starts[r] > starts[r + 1])
			return GS_INVALID;
	if (n == 0)
		return GS_OK;
	if (!items_valid(&items, true))
		return GS_INVALID;
	if (!temp_valid(temp, temp_bytes, gs_merge_runs_temp_bytes(engine, key_bytes, value_width, n, runs)))
		return GS_INVALID;
	return ops->merge_runs(engine, &items, starts, runs, temp);
}

/* ---------------------------------------------------------------- segments */

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
gs_sort_segments(gs_engine *engine, gs_type key, bool desc, const void *keys, void *out_keys, size_t value_width,
				 const void *values, void *out_values, uint64_t n, const uint64_t *starts, uint64_t segments,
				 void *temp, size_t temp_bytes)
{
	const struct gs_sort_ops *ops = family(engine);
	gs_sort_items items = {keys, values, out_keys, out_values, gs_type_width(key), value_width, n};

	if (ops->segments == NULL || !numeric(key) || !width_valid(value_width))
		return GS_INVALID;
	if (n == 0 || segments == 0)
		return GS_OK;
	if (n > GS_MAX_SORT || segments > GS_MAX_SORT)
		return GS_TOO_BIG;
	if (!array_valid(starts, 8) || !items_valid(&items, false))
		return GS_INVALID;
	if (!temp_valid(temp, temp_bytes, gs_sort_segments_temp_bytes(engine, key, value_width, n, segments)))
		return GS_INVALID;
	return ops->segments(engine, key, desc, &items, starts, segments, temp);
}

/* ---------------------------------------------------------------- top-k */

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
