/*
 * columns.c: the public calls on columns in segments.  Each checks its arguments and calls the engine's operation.
 */
#include "arguments.h"
#include "groups.h"
#include "rows.h"

/* Returns true if the list of columns has types and aligned arrays, and every span names a segment. */
static bool
rows_valid(const gs_held_rows *rows)
{
	if (rows->ncolumns == 0 || rows->ncolumns > GS_MAX_COLUMNS || rows->types == NULL ||
		(rows->nsegments > 0 && rows->columns == NULL) || (rows->nspans > 0 && rows->spans == NULL))
		return false;
	for (uint32_t c = 0; c < rows->ncolumns; c++)
		if ((unsigned) rows->types[c] >= GS_BYTES)
			return false;
	for (uint64_t i = 0; i < (uint64_t) rows->nsegments * rows->ncolumns; i++)
	{
		size_t width = gs_type_width(rows->types[i % rows->ncolumns]);

		if (!array_valid(rows->columns[i].values, width < 8 ? width : 8) || (uintptr_t) rows->columns[i].nulls % 8 != 0)
			return false;
	}
	for (uint64_t i = 0; i < rows->nspans; i++)
		if (rows->spans[i].segment >= rows->nsegments)
			return false;
	return true;
}

size_t
gs_check_temp_bytes(const gs_engine *engine, const gs_held_rows *rows)
{
	return engine == NULL || engine->ops->rows == NULL ? 0 : engine->ops->rows->check_temp_bytes(rows);
}

gs_status
gs_check(gs_engine *engine, const gs_held_rows *rows, uint64_t *out, void *temp, size_t temp_bytes)
{
	if (engine == NULL || engine->ops->rows == NULL || rows == NULL || !array_valid(out, 8) || !rows_valid(rows) ||
		!temp_valid(temp, temp_bytes, gs_check_temp_bytes(engine, rows)))
		return GS_INVALID;
	return engine->ops->rows->check(engine, rows, out, temp);
}

/* Returns true if the rows' columns are the source of a list of steps. */
static bool
source_of(const gs_held_rows *rows, const gs_steps *steps)
{
	if (rows->ncolumns != steps->ncolumns)
		return false;
	for (uint32_t c = 0; c < rows->ncolumns; c++)
		if ((uint32_t) rows->types[c] != steps->types[c])
			return false;
	return true;
}

bool
gs_held_rows_valid(const gs_held_rows *rows, const gs_steps *steps)
{
	return rows_valid(rows) && source_of(rows, steps);
}

size_t
gs_reduce_temp_bytes(const gs_engine *engine, const gs_held_rows *rows, const gs_steps *steps)
{
	if (engine == NULL || engine->ops->rows == NULL || engine->ops->rows->reduce_rows_temp_bytes == NULL)
		return 0;
	return engine->ops->rows->reduce_rows_temp_bytes(engine, rows, steps);
}

gs_status
gs_reduce_rows(gs_engine *engine, const gs_held_rows *rows, const gs_steps *steps, gs_reduced *out, void *temp,
			   size_t temp_bytes)
{
	if (engine == NULL || engine->ops->rows == NULL || engine->ops->rows->reduce_rows == NULL || rows == NULL ||
		steps == NULL || !gs_steps_reduces(steps) || !array_valid(out, 8) ||
		!gs_held_rows_valid(rows, steps) || !temp_valid(temp, temp_bytes, gs_reduce_temp_bytes(engine, rows, steps)))
		return GS_INVALID;
	return engine->ops->rows->reduce_rows(engine, rows, steps, out, temp);
}
