/*
 * engine.c: the public calls on engines, engine memory and row orders, which check their arguments.
 */
#include "common/types.h"
#include "engine.h"

/* Returns a status as text, for messages and for the views that count fallbacks. */
const char *
gs_status_text(gs_status status)
{
	static const char *const text[] = {
		"ok",		 "invalid argument", "out of memory",	  "too large for one job", "device failed",
		"cancelled", "timed out",		 "protocol violated", "sum out of range",	   "wrong order",
	};

	if ((unsigned) status >= sizeof(text) / sizeof(text[0]))
		return "unknown status";
	return text[status];
}

/* Returns the bytes of one element, or 0 for byte strings and invalid types. */
size_t
gs_type_width(gs_type type)
{
	return (unsigned) type <= GS_BYTES ? gs_width_of(type) : 0;
}

/* ---------------------------------------------------------------- engines */

/* Closes an engine.  NULL is allowed. */
void
gs_engine_close(gs_engine *engine)
{
	if (engine != NULL)
		engine->ops->close(engine);
}

const char *
gs_engine_name(const gs_engine *engine)
{
	return engine->ops->name(engine);
}

gs_status
gs_alloc(gs_engine *engine, size_t bytes, void **block)
{
	if (engine == NULL || block == NULL)
		return GS_INVALID;
	*block = NULL;
	return engine->ops->alloc(engine, bytes, block);
}

void
gs_free(gs_engine *engine, void *block)
{
	if (block != NULL)
		engine->ops->free(engine, block);
}

gs_status
gs_upload(gs_engine *engine, void *to, const void *from, size_t bytes)
{
	return bytes == 0 ? GS_OK : engine->ops->upload(engine, to, from, bytes);
}

gs_status
gs_download(gs_engine *engine, void *to, const void *from, size_t bytes)
{
	return bytes == 0 ? GS_OK : engine->ops->download(engine, to, from, bytes);
}

gs_status
gs_fill(gs_engine *engine, void *to, int byte, size_t bytes)
{
	return bytes == 0 ? GS_OK : engine->ops->fill(engine, to, byte, bytes);
}

gs_status
gs_sync(gs_engine *engine)
{
	return engine->ops->sync(engine);
}

/* ---------------------------------------------------------------- row order */

/* Returns true if a column's arrays are aligned.  A misaligned access on a GPU would destroy the device context. */
static bool
arrays_aligned(const gs_column *column)
{
	size_t width = column->spec.type == GS_BYTES ? sizeof(uint32_t) : gs_type_width(column->spec.type);

	return (uintptr_t) column->values % (width < 8 ? width : 8) == 0 &&
		   (uintptr_t) column->nulls % sizeof(uint64_t) == 0;
}

/* Checks types, counts and required arrays of columns, on behalf of all engines. */
gs_status
gs_columns_check(const gs_column *columns, uint32_t ncolumns, uint64_t rows)
{
	if (columns == NULL || ncolumns == 0 || ncolumns > GS_MAX_COLUMNS)
		return GS_INVALID;
	if (rows > GS_MAX_ROWS)
		return GS_TOO_BIG;
	for (uint32_t c = 0; c < ncolumns; c++)
	{
		if ((unsigned) columns[c].spec.type > GS_BYTES)
			return GS_INVALID;
		if (rows > 0 && (columns[c].values == NULL || !arrays_aligned(&columns[c])))
			return GS_INVALID;
	}
	return GS_OK;
}

/* Plans a row order. */
gs_status
gs_order_plan(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, gs_plan **plan)
{
	gs_status status;

	if (plan == NULL)
		return GS_INVALID;
	*plan = NULL;
	if (engine == NULL)
		return GS_INVALID;
	status = gs_columns_check(columns, ncolumns, rows);
	if (status != GS_OK)
		return status;
	if (engine->ops->order_plan == NULL)
		return GS_INVALID;
	return engine->ops->order_plan(engine, columns, ncolumns, rows, plan);
}

size_t
gs_order_temp_bytes(const gs_plan *plan)
{
	return plan->ops->order_temp_bytes(plan);
}

gs_status
gs_order_run(gs_engine *engine, const gs_plan *plan, void *temp, size_t temp_bytes, uint32_t *order,
			 gs_order_facts *facts)
{
	if (engine == NULL || plan == NULL || (uintptr_t) order % sizeof(*order) != 0)
		return GS_INVALID;
	if (temp_bytes < gs_order_temp_bytes(plan) || (temp == NULL && gs_order_temp_bytes(plan) > 0))
		return GS_INVALID;
	return engine->ops->order_run(engine, plan, temp, temp_bytes, order, facts);
}

void
gs_plan_free(gs_engine *engine, gs_plan *plan)
{
	if (plan != NULL)
		engine->ops->plan_free(engine, plan);
}
