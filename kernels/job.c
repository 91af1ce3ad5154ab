/*
 * job.c: the public calls on jobs, which check arguments and states.  job_work.c has all operations but orders.
 */
#include "engine.h"

#include <string.h>

/* Copies the arrays that the caller's specification points to. */
static gs_status
copy_spec(gs_job *job, const gs_job_spec *spec)
{
	size_t columns = spec->ncolumns * sizeof(gs_column_spec);
	size_t constant = spec->op == GS_SELECT || spec->op == GS_PARTITION ? spec->filter.value_bytes : 0;

	job->spec = *spec;
	if (spec->filter.by_flags)
		constant = 0;
	job->spec_copy_bytes = columns + constant;
	job->spec_copy = job->host.alloc(job->host.arg, job->spec_copy_bytes);
	if (job->spec_copy == NULL)
		return GS_NOMEM;
	memcpy(job->spec_copy, spec->columns, columns);
	if (constant > 0)
		memcpy((char *) job->spec_copy + columns, spec->filter.value, constant);
	job->spec.columns = job->spec_copy;
	job->spec.filter.value = (char *) job->spec_copy + columns;
	job->spec.filter.value_bytes = constant;
	return GS_OK;
}

/* Frees that copy.  Safe to repeat. */
static void
free_spec(gs_job *job)
{
	if (job->spec_copy != NULL)
		job->host.release(job->host.arg, job->spec_copy, job->spec_copy_bytes);
	job->spec_copy = NULL;
}

/* Begins a job.  Fills in the head, after which job_end is safe. */
gs_status
gs_job_begin(gs_engine *engine, const gs_job_spec *spec, const gs_host *host, gs_job **job)
{
	gs_status status;

	if (job == NULL)
		return GS_INVALID;
	*job = NULL;
	if (engine == NULL || spec == NULL || engine->ops->job_begin == NULL || !gs_job_spec_valid(spec))
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
	status = copy_spec(*job, spec);
	if (status != GS_OK)
	{
		gs_job_end(*job);
		*job = NULL;
		return status;
	}
	(*job)->state = GS_JOB_ADDING;
	return GS_OK;
}

/* Adds a chunk in private memory, trusting the size in its header. */
gs_status
gs_job_add(gs_job *job, const gs_chunk *chunk)
{
	return gs_job_add_within(job, chunk, chunk == NULL ? 0 : chunk->bytes);
}

/* Adds a chunk.  The engine guards against concurrent writes to a chunk in shared memory. */
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

/* Returns true if the arrays are present and aligned. */
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

/* Takes the whole input without copying it. */
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

/* Ends the input and does the work.  A wrong row count means that a chunk was lost or added twice. */
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

/* Returns the next row numbers of an order, up to the limit if there is one. */
static gs_status
next_rows(gs_job *job, void *out, uint64_t room, uint64_t *got)
{
	uint64_t left = job->results.count - job->given;
	gs_status status = job->ops->job_next(job, out, room < left ? room : left, got);

	job->given += *got;
	return status;
}

/* Returns the next piece of the result. */
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
		status = gs_job_work_next(job, out, room, got);
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
	gs_job_work_drop(job);
	free_spec(job);
	job->ops->job_end(job);
}

uint64_t
gs_job_host_bytes(const gs_job *job)
{
	return job->ops->job_host_bytes(job);
}

/* Reports the job's statistics.  rows comes from the head, the rest from the engine. */
void
gs_job_get_info(const gs_job *job, gs_job_info *info)
{
	*info = (gs_job_info){0};
	info->rows = job->rows;
	info->results = job->results.count;
	info->selected = job->results.selected;
	job->ops->job_get_info(job, info);
}
