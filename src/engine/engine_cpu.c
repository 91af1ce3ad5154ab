/*
 * engine_cpu.c: executes jobs with kernels/cpu inside the backend.
 */
#include "postgres.h"

#include "engine.h"
#include "src/base/guc.h"

/* Chunks grow from the first size to the last in steps, for small sorts and large, capped by the memory limit. */
#define FIRST_CHUNK_ROWS 1024
#define CHUNK_ROWS 16384
#define CHUNK_GROWTH 4
#define CHUNK_FRACTION 16
#define BYTES_PER_STRING 32

typedef struct CpuJob
{
	EngineJob	base;
	BigMem	   *mem;
	gs_host		host;
	gs_engine  *engine;
	gs_job	   *job;
	gs_column_spec *columns;
	uint32		ncolumns;
	gs_chunk   *chunk;
	Size		chunk_bytes;
	uint32		chunk_rows;		/* rows for the next chunk */
	uint64		rows_expected;	/* of all chunks; 0: unknown */
} CpuJob;

/* Frees the chunk, if any. */
static void
drop_chunk(CpuJob *job)
{
	if (job->chunk)
		bigmem_free(job->mem, job->chunk);
	job->chunk = NULL;
	job->chunk_bytes = 0;
}

/* Ends the job and frees its memory. */
static void
cpu_end(EngineJob *base)
{
	CpuJob	   *job = (CpuJob *) base;

	gs_job_end(job->job);
	if (job->engine)
		gs_engine_close(job->engine);
	drop_chunk(job);
	if (job->columns)
		bigmem_free(job->mem, job->columns);
	bigmem_free(job->mem, job);
}

/* Begins a job with an engine of its own, which costs one allocation. */
static gs_status
cpu_begin(const gs_job_spec *spec, BigMem *mem, EngineJob **result)
{
	CpuJob	   *job = bigmem_alloc(mem, sizeof(CpuJob));
	gs_status	status = GS_NOMEM;

	*result = NULL;
	if (job == NULL)
		return GS_NOMEM;
	memset(job, 0, sizeof(CpuJob));
	job->base.ops = &engine_cpu;
	job->base.kind = ENGINE_CPU;
	job->base.name = engine_cpu.name;
	job->base.max_rows = GS_MAX_ROWS;
	job->mem = mem;
	job->host = bigmem_host(mem);
	job->chunk_rows = FIRST_CHUNK_ROWS;
	job->rows_expected = spec->rows_hint;
	job->ncolumns = spec->ncolumns;
	job->columns = bigmem_alloc(mem, spec->ncolumns * sizeof(gs_column_spec));
	if (job->columns)
	{
		memcpy(job->columns, spec->columns, spec->ncolumns * sizeof(gs_column_spec));
		status = gs_cpu_open(1, &job->host, &job->engine);
	}
	if (status == GS_OK)
		status = gs_job_begin(job->engine, spec, &job->host, &job->job);
	if (status != GS_OK)
	{
		cpu_end(&job->base);
		return status;
	}
	*result = &job->base;
	return GS_OK;
}

/* Returns the rows of the chunk after a full one. */
static uint32
next_chunk_rows(CpuJob *job)
{
	Size		room = gpusort_memory_limit() / CHUNK_FRACTION;
	uint32		rows = Min(job->chunk_rows * CHUNK_GROWTH, CHUNK_ROWS);

	if (job->rows_expected > rows)
		rows = CHUNK_ROWS;
	while (rows > FIRST_CHUNK_ROWS && gs_chunk_bytes(job->columns, job->ncolumns, rows, BYTES_PER_STRING) > room)
		rows /= 2;
	return rows;
}

/* Lays out the chunk again, in a larger buffer if needed. */
static gs_status
cpu_chunk(EngineJob *base, Size heap_bytes, gs_chunk **header, char **memory)
{
	CpuJob	   *job = (CpuJob *) base;
	uint32		rows = job->chunk_rows;
	uint32		per_string = BYTES_PER_STRING;
	Size		bytes;

	if (heap_bytes > (Size) rows * per_string)
	{
		/* a few enormous strings: use the minimal number of rows */
		rows = 64;
		per_string = (uint32) ((heap_bytes + rows - 1) / rows);
	}
	bytes = gs_chunk_bytes(job->columns, job->ncolumns, rows, per_string);
	if (bytes > job->chunk_bytes)
	{
		drop_chunk(job);
		job->chunk = bigmem_alloc(job->mem, bytes);
		if (job->chunk == NULL)
			return GS_NOMEM;
		job->chunk_bytes = bytes;
	}
	*header = job->chunk;
	*memory = (char *) job->chunk;
	return gs_chunk_init(job->chunk, bytes, job->columns, job->ncolumns, rows, per_string);
}

/* Adds the chunk.  The engine copies it, so the buffer is reused, or replaced by a larger one. */
static gs_status
cpu_add(EngineJob *base)
{
	CpuJob	   *job = (CpuJob *) base;

	job->chunk_rows = next_chunk_rows(job);
	return gs_job_add(job->job, job->chunk);
}

/* Lends the columns, which are read in place. */
static gs_status
cpu_lend(EngineJob *base, const gs_column *columns, uint64 rows)
{
	return gs_job_lend(((CpuJob *) base)->job, columns, rows);
}

/* Executes the job, after freeing the chunk.  poll serves interrupts. */
static gs_status
cpu_finish(EngineJob *base, uint64 rows)
{
	drop_chunk((CpuJob *) base);
	return gs_job_finish(((CpuJob *) base)->job, rows);
}

/* Returns the next part of the result, without waiting. */
static gs_status
cpu_next(EngineJob *base, void *out, uint64 room, uint64 *got)
{
	return gs_job_next(((CpuJob *) base)->job, out, room, got);
}

/* Returns the memory of the job and its chunk. */
static uint64
cpu_host_bytes(const EngineJob *base)
{
	const CpuJob *job = (const CpuJob *) base;

	return gs_job_host_bytes(job->job) + job->chunk_bytes;
}

/* Reports the kernels' statistics. */
static void
cpu_info(const EngineJob *base, gs_job_info *info)
{
	gs_job_get_info(((const CpuJob *) base)->job, info);
}

const EngineOps engine_cpu = {
	.name = "CPU",
	.begin = cpu_begin,
	.chunk = cpu_chunk,
	.add = cpu_add,
	.lend = cpu_lend,
	.finish = cpu_finish,
	.next = cpu_next,
	.host_bytes = cpu_host_bytes,
	.info = cpu_info,
	.end = cpu_end,
};
