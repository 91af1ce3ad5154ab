/*
 * rows.c: the public calls on rows of columns.  Each checks its arguments and calls the engine's operation.
 */
#include "arguments.h"
#include "rows.h"

/* Returns the engine's operations, or NULL if it has none. */
static const struct gs_row_ops *
family(const gs_engine *engine)
{
	return engine == NULL ? NULL : engine->ops->rows;
}

/* Returns true if an array is absent, or aligned. */
static bool
aligned_to(const void *array, size_t width)
{
	return (uintptr_t) array % (width ? width : 1) == 0;
}

/* Converts a caller's column to a source. */
static gs_source
source_of(const gs_column *column)
{
	return (gs_source){
		.type = column->spec.type, .values = column->values, .nulls = column->nulls, .heap = column->heap};
}

/* Returns true if a column can be read. */
static bool
column_valid(const gs_column *column)
{
	gs_type type = column->spec.type;

	return (unsigned) type <= GS_BYTES && column->values != NULL && aligned_to(column->nulls, 8) &&
		   aligned_to(column->values, type == GS_BYTES ? 4 : gs_type_width(type));
}

gs_type
gs_widened(gs_type type)
{
	switch (type)
	{
		case GS_U8:
		case GS_U16:
		case GS_U32:
			return GS_U64;
		case GS_I16:
		case GS_I32:
			return GS_I64;
		default:
			return type;
	}
}

gs_status
gs_heads(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, const uint32_t *order, uint64_t n,
		 uint64_t *bits)
{
	const struct gs_row_ops *ops = family(engine);

	if (ops == NULL || columns == NULL || ncolumns == 0 || ncolumns > GS_MAX_COLUMNS || !aligned_to(order, 4))
		return GS_INVALID;
	if (n > GS_MAX_ROWS)
		return GS_TOO_BIG;
	if (n == 0)
		return GS_OK;
	if (!array_valid(bits, 8))
		return GS_INVALID;
	for (uint32_t c = 0; c < ncolumns; c++)
		if (!column_valid(&columns[c]))
			return GS_INVALID;
	for (uint32_t c = 0; c < ncolumns; c++)
	{
		gs_source source = source_of(&columns[c]);
		gs_status status = ops->heads(engine, &source, order, n, c == 0, bits);

		if (status != GS_OK)
			return status;
	}
	return GS_OK;
}

gs_status
gs_compare_of(gs_engine *engine, const gs_source *source, uint64_t n, gs_comparison comparison, const void *value,
			  size_t value_bytes, uint64_t *bits)
{
	gs_filter filter = {.by = GS_BY_VALUE, .comparison = comparison, .value = value};
	gs_comparand constant = {.comparison = comparison, .bytes = value, .length = value_bytes};

	if (source->type != GS_BYTES && !gs_interval_of(source->type, &filter, &constant.interval))
		return GS_INVALID;
	return engine->ops->rows->compare(engine, source, n, &constant, bits);
}

gs_status
gs_compare(gs_engine *engine, const gs_column *column, uint64_t n, gs_comparison comparison, const void *value,
		   size_t value_bytes, uint64_t *bits)
{
	gs_source source;

	if (family(engine) == NULL || column == NULL || (unsigned) comparison >= GS_BETWEEN ||
		(value == NULL && value_bytes > 0))
		return GS_INVALID;
	if (n > GS_MAX_ROWS)
		return GS_TOO_BIG;
	if (n == 0)
		return GS_OK;
	if (!column_valid(column) || !array_valid(bits, 8))
		return GS_INVALID;
	source = source_of(column);
	return gs_compare_of(engine, &source, n, comparison, value, value_bytes, bits);
}

gs_status
gs_positions(gs_engine *engine, const uint64_t *bits, uint64_t n, uint32_t *out, uint64_t *count, void *temp,
			 size_t temp_bytes)
{
	const struct gs_row_ops *ops = family(engine);

	if (ops == NULL || !array_valid(count, 8))
		return GS_INVALID;
	if (n > GS_MAX_ROWS)
		return GS_TOO_BIG;
	if (n == 0)
		return gs_fill(engine, count, 0, sizeof(*count));
	if (!array_valid(bits, 8) || !array_valid(out, 4) ||
		!temp_valid(temp, temp_bytes, gs_select_temp_bytes(engine, GS_U32, n)))
		return GS_INVALID;
	return ops->positions(engine, bits, n, out, count, temp);
}

gs_status
gs_values_of(gs_engine *engine, const gs_source *source, const uint32_t *order, uint64_t n, gs_type result,
			 const void *null_value, void *out)
{
	return engine->ops->rows->values(engine, source, order, n, result, null_value, out);
}

gs_status
gs_values(gs_engine *engine, const gs_column *column, const uint32_t *order, uint64_t n, gs_type result,
		  const void *null_value, void *out)
{
	gs_type type;
	gs_source source;

	if (family(engine) == NULL || column == NULL || !aligned_to(order, 4))
		return GS_INVALID;
	type = column->spec.type;
	if ((unsigned) type >= GS_BYTES || (unsigned) result >= GS_BYTES || !aligned_to(column->nulls, 8) ||
		(result != type && result != gs_widened(type)) || !aligned_to(column->values, gs_type_width(type)))
		return GS_INVALID;
	if (n > GS_MAX_ROWS)
		return GS_TOO_BIG;
	if (n == 0)
		return GS_OK;
	if (!array_valid(out, gs_type_width(result)) || (column->nulls != NULL && null_value == NULL))
		return GS_INVALID;
	source = source_of(column);
	return gs_values_of(engine, &source, order, n, result, null_value, out);
}

size_t
gs_scan_fixed_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n)
{
	const struct gs_row_ops *ops = family(engine);

	return ops == NULL || !gs_type_is_float(type) ? 0 : ops->fixed_temp_bytes(type, n);
}

gs_status
gs_scan_fixed(gs_engine *engine, gs_type type, bool inclusive, const void *in, void *out, uint64_t n, void *temp,
			  size_t temp_bytes)
{
	const struct gs_row_ops *ops = family(engine);
	size_t width = gs_type_width(type);

	if (ops == NULL || !gs_type_is_float(type))
		return GS_INVALID;
	if (n > (uint64_t) 1 << 40)
		return GS_TOO_BIG;
	if (n == 0)
		return GS_OK;
	if (!array_valid(in, width) || !array_valid(out, width) || overlap(in, n * width, out, n * width) ||
		!temp_valid(temp, temp_bytes, ops->fixed_temp_bytes(type, n)))
		return GS_INVALID;
	return ops->scan_fixed(engine, type, inclusive, in, out, n, temp);
}

gs_status
gs_scan_overflows(gs_engine *engine, gs_type type, bool inclusive, const void *in, const void *sums, uint64_t n,
				  uint64_t *count)
{
	const struct gs_row_ops *ops = family(engine);
	gs_status status;

	if (ops == NULL || (type != GS_I64 && type != GS_U64) || !array_valid(count, 8))
		return GS_INVALID;
	status = gs_fill(engine, count, 0, sizeof(*count));
	if (n == 0 || status != GS_OK)
		return status;
	if (!array_valid(in, 8) || !array_valid(sums, 8) || in == sums)
		return GS_INVALID;
	return ops->overflows(engine, type, inclusive, in, sums, n, count);
}
