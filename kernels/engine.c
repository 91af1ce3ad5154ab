/*
 * engine.c: the public calls of gs.h and gs_arrays.h that reach an engine.  Checks arguments and the order of calls, then hands over to the engine.
 */
#include "engine.h"

/*
 * The status in words, for messages and for the views that count fallbacks.
 */
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

/*
 * Bytes of one element, 0 for byte strings and for what is no type: a chunk's layout follows from it.
 */
size_t
gs_type_width(gs_type type)
{
	static const uint8_t width[] = {1, 2, 4, 8, 16, 2, 4, 8, 4, 8, 0};

	return (unsigned) type < sizeof(width) ? width[type] : 0;
}

/*
 * True if the column list can be worked on at all.
 */
static bool
columns_valid(const gs_column_spec *columns, uint32_t ncolumns)
{
	if (columns == NULL || ncolumns == 0 || ncolumns > GS_MAX_COLUMNS)
		return false;
	for (uint32_t c = 0; c < ncolumns; c++)
		if ((unsigned) columns[c].type > GS_BYTES)
			return false;
	return true;
}

/* ---------------------------------------------------------------- engines */

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

/*
 * True if a column's arrays can be read.  Where they are on a GPU one that is not aligned would cost the whole device
 * context.
 */
static bool
arrays_aligned(const gs_column *column)
{
	size_t width = column->spec.type == GS_BYTES ? sizeof(uint32_t) : gs_type_width(column->spec.type);

	return (uintptr_t) column->values % (width < 8 ? width : 8) == 0 && (uintptr_t) column->nulls % sizeof(uint64_t) == 0;
}

/*
 * What both engines would have to check of columns in their memory: types, counts, arrays that must be there.
 */
gs_status
gs_columns_check(const gs_column *columns, uint32_t ncolumns, uint64_t rows)
{
	if (columns == NULL || ncolumns == 0 || ncolumns > GS_MAX_COLUMNS)
		return GS_INVALID;
	if (rows > GS_MAX_ROWS)
		return GS_TOO_BIG;
	for (uint32_t c = 0; c < ncolumns; c++)
	{
		if (!columns_valid(&columns[c].spec, 1))
			return GS_INVALID;
		if (rows > 0 && (columns[c].values == NULL || !arrays_aligned(&columns[c])))
			return GS_INVALID;
	}
	return GS_OK;
}

/*
 * Plans a row order.
 */
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

/* ---------------------------------------------------------------- jobs */

/*
 * Begins a job.  The head is filled in here, so that job_end is safe from this moment on.
 */
gs_status
gs_job_begin(gs_engine *engine, const gs_job_spec *spec, const gs_host *host, gs_job **job)
{
	gs_status status;

	if (job == NULL)
		return GS_INVALID;
	*job = NULL;
	if (engine == NULL || spec == NULL || !columns_valid(spec->columns, spec->ncolumns))
		return GS_INVALID;
	if (engine->ops->job_begin == NULL || !gs_job_spec_valid(spec))
		return GS_INVALID;
	if (host == NULL)
		host = &engine->host;
	status = engine->ops->job_begin(engine, spec, host, job);
	if (status != GS_OK)
		return status;
	(*job)->ops = engine->ops;
	(*job)->engine = engine;
	(*job)->host = *host;
	(*job)->state = GS_JOB_FAILED;
	(*job)->rows = (*job)->string_bytes = 0;
	status = gs_job_own(*job, spec);
	if (status != GS_OK)
	{
		gs_job_end(*job);
		*job = NULL;
		return status;
	}
	(*job)->state = GS_JOB_ADDING;
	return GS_OK;
}

/*
 * Takes a chunk of the caller's own, whose header tells its size.
 */
gs_status
gs_job_add(gs_job *job, const gs_chunk *chunk)
{
	return gs_job_add_within(job, chunk, chunk == NULL ? 0 : chunk->bytes);
}

/*
 * Takes a chunk.  What the engine does with a chunk that another process can write to is the engine's care.
 */
gs_status
gs_job_add_within(gs_job *job, const gs_chunk *chunk, size_t available)
{
	gs_status status;

	if (job == NULL || chunk == NULL || job->state != GS_JOB_ADDING || job->lent)
		return GS_INVALID;
	job->state = GS_JOB_FAILED;
	job->available = available;
	status = job->ops->job_add(job, chunk);
	if (status == GS_OK)
		job->state = GS_JOB_ADDING;
	return status;
}

/*
 * True if arrays can be lent: there, and aligned.
 */
static bool
lendable(const gs_job *job, const gs_column *columns)
{
	for (uint32_t c = 0; c < job->spec.ncolumns; c++)
	{
		size_t width = gs_type_width(job->spec.columns[c].type);

		if (width == 0 || columns[c].values == NULL || (uintptr_t) columns[c].values % width != 0 ||
			(uintptr_t) columns[c].nulls % sizeof(uint64_t) != 0)
			return false;
	}
	return true;
}

/*
 * Takes the whole input where it lies.
 */
gs_status
gs_job_lend(gs_job *job, const gs_column *columns, uint64_t rows)
{
	gs_status status;

	if (job == NULL || columns == NULL || job->state != GS_JOB_ADDING || job->rows > 0 || job->ops->job_lend == NULL)
		return GS_INVALID;
	if (rows > 0 && !lendable(job, columns))
		return GS_INVALID;
	if (rows > GS_MAX_ROWS)
		return GS_TOO_BIG;
	if (rows == 0)
		return GS_OK;
	job->state = GS_JOB_FAILED;
	job->lent = true;
	status = job->ops->job_lend(job, columns, rows);
	job->rows = rows;
	if (status == GS_OK)
		job->state = GS_JOB_ADDING;
	return status;
}

/*
 * Ends the input and does the work; a row count that differs means that a chunk was lost or came twice.
 */
gs_status
gs_job_finish(gs_job *job, uint64_t rows)
{
	gs_status status;

	if (job == NULL || job->state != GS_JOB_ADDING)
		return GS_INVALID;
	job->state = GS_JOB_FAILED;
	if (rows != job->rows)
		return GS_INVALID;
	status = gs_job_is_order(job) ? job->ops->job_finish(job) : gs_job_work(job);
	if (status == GS_OK)
		job->state = GS_JOB_READING;
	if (job->spec.op == GS_ORDER)
		job->results.count = job->rows;
	else if (job->spec.op == GS_TOPK)
		job->results.count = job->rows < job->spec.limit ? job->rows : job->spec.limit;
	return status;
}

/*
 * Rows of an order, up to the limit where there is one.
 */
static gs_status
next_rows(gs_job *job, void *out, uint64_t room, uint64_t *got)
{
	uint64_t left = job->results.count - job->given;
	gs_status status = job->ops->job_next(job, out, room < left ? room : left, got);

	job->given += *got;
	return status;
}

/*
 * Hands out the next piece of the result.
 */
gs_status
gs_job_next(gs_job *job, void *out, uint64_t room, uint64_t *got)
{
	gs_status status;

	if (got == NULL)
		return GS_INVALID;
	*got = 0;
	if (job == NULL || job->state != GS_JOB_READING || (out == NULL && room > 0))
		return GS_INVALID;
	job->state = GS_JOB_FAILED;
	if (!gs_job_is_order(job))
		status = gs_job_give(job, out, room, got);
	else
		status = next_rows(job, out, room, got);
	if (status == GS_OK)
		job->state = GS_JOB_READING;
	return status;
}

void
gs_job_end(gs_job *job)
{
	if (job == NULL)
		return;
	gs_job_disown(job);
	job->ops->job_end(job);
}

uint64_t
gs_job_host_bytes(const gs_job *job)
{
	return job->ops->job_host_bytes(job);
}

/*
 * What the job did.  rows is the head's, the rest the engine's.
 */
void
gs_job_get_info(const gs_job *job, gs_job_info *info)
{
	*info = (gs_job_info){0};
	info->rows = job->rows;
	info->results = job->results.count;
	info->selected = job->results.selected;
	job->ops->job_get_info(job, info);
}
