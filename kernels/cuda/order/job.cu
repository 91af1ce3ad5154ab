/*
 * job.cu: jobs on a GPU.  Chunks are copied to device memory as they are added; the result is returned in pieces.  The
 * row order is made here, all other operations by kernels/job_work.c over the columns and the order.
 *
 * The GPU's copy engine copies a chunk's arrays, fast if their memory is registered with CUDA; gs_job_add waits for it.
 * On the device columns are concatenated: values side by side, null bits shifted, string offsets rebased.
 *
 * Another process may write to the chunk: its header is read once; offsets are checked in the device's own copy.
 */
#include "../../emit.h"
#include "../../rows.h"
#include "order.cuh"

#include <cstring>
#include <ctime>

#define FIRST_ROWS ((u64) 1 << 20) /* initial capacity if nothing is known */
#define EMIT_ROWS  ((u64) 1 << 22) /* result elements assembled at a time */
#define MOST_HINT  ((u64) 1 << 26) /* limit of rows for which an estimate is trusted */

/* A growing block of device memory. */
struct job_block
{
	u8 *data;
	size_t bytes;
};

struct job_column
{
	gs_column_spec spec;
	job_block values, nulls, heap;
	u64 heap_bytes; /* in use */
};

struct cuda_job
{
	gs_job head;
	gs_cuda_engine *engine;
	size_t bytes; /* of this structure with its columns */
	u32 ncolumns;
	u64 rows, hint;
	job_block staging, temp, order;
	gs_found *found; /* in device memory */
	gs_plan *plan;
	gs_order_facts facts;
	u64 next; /* position of the next row number to return */
	u64 upload_bytes, upload_ns, device_ns, download_ns;
	job_column columns[];
};

/* Returns the time, for gs_job_info. */
static u64
now_ns()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64) t.tv_sec * 1000000000 + (u64) t.tv_nsec;
}

/* Grows a block to at least the given size, keeping the used part.  zero: clears the rest. */
static gs_status
reserve(cuda_job *job, job_block *block, u64 used, u64 bytes, bool zero)
{
	gs_cuda_engine *e = job->engine;
	u64 wanted = gs_round256(bytes > 2 * block->bytes ? bytes : 2 * block->bytes);
	void *data;

	if (bytes <= block->bytes)
		return GS_OK;
	if (gs_cuda_alloc_clean(e, wanted, &data) != GS_OK)
	{
		wanted = gs_round256(bytes);
		GS_TRY(gs_cuda_alloc_clean(e, wanted, &data));
	}
	if (used > 0)
		cudaMemcpyAsync(data, block->data, used, cudaMemcpyDeviceToDevice, e->stream);
	if (zero)
		cudaMemsetAsync((u8 *) data + used, 0, wanted - used, e->stream);
	gs_cuda_free_clean(e, block->data, block->bytes);
	*block = {(u8 *) data, wanted};
	return gs_cuda_status(cudaGetLastError());
}

/* Frees memory that held rows, cleared. */
static void
release(cuda_job *job, job_block *block)
{
	gs_cuda_free_clean(job->engine, block->data, block->bytes);
	*block = {};
}

/* Frees the columns, and the staging memory of chunks. */
static void
release_columns(cuda_job *job)
{
	for (u32 c = 0; c < job->ncolumns; c++)
	{
		release(job, &job->columns[c].values);
		release(job, &job->columns[c].nulls);
		release(job, &job->columns[c].heap);
	}
	release(job, &job->staging);
}

/* ---------------------------------------------------------------- putting columns together */

/* ORs a chunk's null bits into a column at a row.  Each destination word takes bits from two source words. */
static __global__ void
append_nulls_kernel(u64 *to, const u64 *from, u64 row, u32 rows)
{
	const u64 words = (rows + 63) / 64;
	const u32 shift = row % 64;
	const u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x;
	auto word = [&](u64 w) -> u64 {
		u64 left = rows - w * 64;

		return from[w] & (left < 64 ? (1ull << left) - 1 : ~0ull);
	};
	u64 x = 0;

	if (i > words)
		return;
	if (i < words)
		x = word(i) << shift;
	if (i > 0 && shift > 0)
		x |= word(i - 1) >> (64 - shift);
	if (x != 0)
		to[row / 64 + i] |= x; /* one thread per word; threads of earlier chunks have finished */
}

/* Rebases a chunk's offsets.  They must start at 0, never decrease, and end at used. */
static __global__ void
append_offsets_kernel(u32 *to, const u32 *from, u32 rows, u32 base, u32 used, u32 *invalid)
{
	for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i <= rows; i += gridDim.x * blockDim.x)
	{
		u32 x = from[i];
		bool good = i == 0 ? x == 0 : x >= from[i - 1];

		if (!good || x > used || (i == rows && x != used))
		{
			*invalid = 1;
			x = used;
		}
		to[i] = base + x;
	}
}

/* Enqueues a copy and counts its bytes for gs_job_info. */
static gs_status
upload(cuda_job *job, void *to, const void *from, size_t bytes)
{
	job->upload_bytes += bytes;
	return bytes == 0 ? GS_OK
					  : gs_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, job->engine->stream));
}

/* Returns the capacity in rows: first what is hinted, then more. */
static u64
rows_wanted(const cuda_job *job, u64 rows)
{
	u64 wanted = job->hint > 0 ? job->hint : FIRST_ROWS;

	return rows > wanted ? rows : wanted;
}

/* Appends the chunk's null bits at any bit of the column's. */
static gs_status
append_nulls(cuda_job *job, job_column *column, const u64 *nulls, u32 rows)
{
	cudaStream_t stream = job->engine->stream;
	u64 words = (rows + 63) / 64;

	GS_TRY(
		reserve(job, &column->nulls, column->nulls.bytes, (rows_wanted(job, job->rows + rows) + 127) / 64 * 8, true));
	GS_TRY(reserve(job, &job->staging, 0, words * 8, false));
	GS_TRY(upload(job, job->staging.data, nulls, words * 8));
	append_nulls_kernel<<<(u32) (words / 256 + 1), 256, 0, stream>>>((u64 *) column->nulls.data,
																	 (const u64 *) job->staging.data, job->rows, rows);
	return gs_cuda_status(cudaGetLastError());
}

/* Appends the chunk's strings, limited by 32-bit offsets.  used is read once, as the chunk may change. */
static gs_status
append_strings(cuda_job *job, job_column *column, const gs_chunk *chunk, const gs_chunk_column *at, u32 rows)
{
	cudaStream_t stream = job->engine->stream;
	const u32 *offsets = (const u32 *) ((const u8 *) chunk + at->values);
	u32 used = *(const volatile u32 *) &offsets[rows];

	if (used > at->heap_bytes)
		return GS_INVALID;
	if (column->heap_bytes + used > UINT32_MAX)
		return GS_TOO_BIG;
	GS_TRY(reserve(job, &column->values, job->rows > 0 ? (job->rows + 1) * 4 : 0,
				   (rows_wanted(job, job->rows + rows) + 1) * 4, false));
	GS_TRY(reserve(job, &column->heap, column->heap_bytes, column->heap_bytes + used + 16, false));
	GS_TRY(reserve(job, &job->staging, 0, ((u64) rows + 1) * 4, false));
	GS_TRY(upload(job, job->staging.data, offsets, ((u64) rows + 1) * 4));
	append_offsets_kernel<<<256, 256, 0, stream>>>((u32 *) column->values.data + job->rows,
												   (const u32 *) job->staging.data, rows, (u32) column->heap_bytes,
												   used, &job->found->invalid);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(upload(job, column->heap.data + column->heap_bytes, (const u8 *) chunk + at->heap, used));
	column->heap_bytes += used;
	job->head.string_bytes += used;
	return GS_OK;
}

/* Appends one column of a chunk. */
static gs_status
append_column(cuda_job *job, job_column *column, const gs_chunk *chunk, const gs_chunk_column *at, u32 rows)
{
	u64 width = gs_type_width(column->spec.type);

	if (at->has_nulls)
		GS_TRY(append_nulls(job, column, (const u64 *) ((const u8 *) chunk + at->nulls), rows));
	if (column->spec.type == GS_BYTES)
		return append_strings(job, column, chunk, at, rows);
	GS_TRY(reserve(job, &column->values, job->rows * width, rows_wanted(job, job->rows + rows) * width, false));
	return upload(job, column->values.data + job->rows * width, (const u8 *) chunk + at->values, rows * width);
}

/* ---------------------------------------------------------------- the operations */

/* Begins a job without memory for columns, which grow with the chunks. */
static gs_status
job_begin(gs_engine *engine, const gs_job_spec *spec, const gs_host *host, gs_job **out)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	size_t bytes = sizeof(cuda_job) + spec->ncolumns * sizeof(job_column);
	cuda_job *job;
	gs_status status;

	job = (cuda_job *) host->alloc(host->arg, bytes);
	if (job == NULL)
		return GS_NOMEM;
	memset((void *) job, 0, bytes);
	job->bytes = bytes;
	job->engine = e;
	job->ncolumns = spec->ncolumns;
	job->hint = spec->rows_hint < MOST_HINT ? spec->rows_hint : MOST_HINT;
	for (u32 c = 0; c < spec->ncolumns; c++)
		job->columns[c].spec = spec->columns[c];
	cudaSetDevice(e->device);
	status = gs_cuda_alloc_clean(e, sizeof(gs_found), (void **) &job->found);
	if (status == GS_OK)
		status = gs_cuda_status(cudaMemsetAsync(job->found, 0, sizeof(gs_found), e->stream));
	if (status != GS_OK)
	{
		gs_cuda_free_clean(e, job->found, sizeof(gs_found));
		host->release(host->arg, job, bytes);
		return status;
	}
	*out = &job->head;
	return GS_OK;
}

/* Adds a chunk.  Waits until it has been read, as the caller refills it. */
static gs_status
job_add(gs_job *head, const gs_chunk *chunk)
{
	cuda_job *job = (cuda_job *) head;
	u64 start = now_ns();
	gs_view view;

	cudaSetDevice(job->engine->device);
	GS_TRY(gs_view_open(&view, chunk, head->available, job->ncolumns));
	if (view.rows > GS_MAX_ROWS - job->rows)
		return GS_TOO_BIG;
	for (u32 c = 0; c < job->ncolumns && view.rows > 0; c++)
	{
		gs_chunk_column at;

		GS_TRY(gs_view_column(&view, c, job->columns[c].spec.type, &at));
		GS_TRY(append_column(job, &job->columns[c], chunk, &at, view.rows));
	}
	GS_TRY(gs_cuda_status(cudaStreamSynchronize(job->engine->stream)));
	job->rows += view.rows;
	head->rows = job->rows;
	job->upload_ns += now_ns() - start;
	if (head->host.poll != NULL && head->host.poll(head->host.arg))
		return GS_CANCELLED;
	return GS_OK;
}

/* Ends the input: checks that all offsets were valid, and extends null bits to all rows. */
static gs_status
job_close(gs_job *head)
{
	cuda_job *job = (cuda_job *) head;
	cudaStream_t stream = job->engine->stream;
	u32 invalid = 0;

	cudaSetDevice(job->engine->device);
	GS_TRY(gs_cuda_status(
		cudaMemcpyAsync(&invalid, &job->found->invalid, sizeof(u32), cudaMemcpyDeviceToHost, stream)));
	GS_TRY(gs_cuda_status(cudaStreamSynchronize(stream)));
	if (invalid)
		return GS_INVALID;
	for (u32 c = 0; c < job->ncolumns; c++)
	{
		/* chunks after the last one with NULLs may have made the column longer than its null bits */
		job_block *nulls = &job->columns[c].nulls;

		if (nulls->data != NULL)
			GS_TRY(reserve(job, nulls, nulls->bytes, (job->rows + 127) / 64 * 8, true));
	}
	return GS_OK;
}

/* Statistics of a top-k: keys of full width, since values are not inspected before. */
static gs_order_facts
facts_of_first(const gs_column *columns, u32 ncolumns)
{
	gs_order_facts facts = {};

	for (u32 c = 0; c < ncolumns; c++)
	{
		facts.key_bits += columns[c].nulls != NULL;
		if (columns[c].spec.type != GS_BYTES)
			facts.key_bits += 8 * (u32) gs_type_width(columns[c].spec.type);
	}
	facts.words = 1;
	facts.input = gs_order_facts::GS_UNORDERED; /* unknown */
	return facts;
}

/* Plans and sorts by the first columns, and has the order proved, for which it waits. */
static gs_status
sort(cuda_job *job, gs_column *columns, u32 ncolumns)
{
	gs_engine *engine = &job->engine->head;
	const gs_engine_ops *ops = engine->ops;
	u64 n = job->rows;
	size_t temp;

	for (u32 c = 0; c < ncolumns; c++)
		columns[c] = {job->columns[c].spec, job->columns[c].values.data, (const u64 *) job->columns[c].nulls.data,
					  job->columns[c].heap.data};
	if (job->head.spec.op == GS_TOPK && job->head.spec.limit > 0 && ops->sort->top_k != NULL)
	{
		n = job->head.spec.limit < n ? job->head.spec.limit : n;
		temp = gs_top_k_temp_bytes(engine, columns, ncolumns, job->rows, n);
		GS_TRY(reserve(job, &job->temp, 0, temp, false));
		GS_TRY(reserve(job, &job->order, 0, n * 4, false));
		GS_TRY(gs_top_k(engine, columns, ncolumns, job->rows, n, (u32 *) job->order.data, job->temp.data, temp));
		job->facts = facts_of_first(columns, ncolumns);
	}
	else
	{
		GS_TRY(ops->order_plan(engine, columns, ncolumns, n, &job->plan));
		temp = ops->order_temp_bytes(job->plan);
		GS_TRY(reserve(job, &job->temp, 0, temp, false));
		GS_TRY(reserve(job, &job->order, 0, n * 4, false));
		GS_TRY(ops->order_run(engine, job->plan, job->temp.data, temp, (u32 *) job->order.data, &job->facts));
	}
	return gs_order_prove(job->engine, columns, ncolumns, job->rows, (u32 *) job->order.data, n, job->found);
}

/* Sorts, with memory that is allocated here and freed. */
static gs_status
order_rows(cuda_job *job, u32 ncolumns)
{
	const gs_host *host = &job->head.host;
	gs_column *columns = (gs_column *) host->alloc(host->arg, ncolumns * sizeof(gs_column));
	gs_status status;

	if (columns == NULL)
		return GS_NOMEM;
	status = sort(job, columns, ncolumns);
	host->release(host->arg, columns, ncolumns * sizeof(gs_column));
	if (job->plan != NULL)
		job->engine->head.ops->plan_free(&job->engine->head, job->plan);
	job->plan = NULL;
	release(job, &job->temp);
	return status;
}

/* Makes the row order and frees the columns before the result is requested. */
static gs_status
job_finish(gs_job *head)
{
	cuda_job *job = (cuda_job *) head;
	u64 start = now_ns();
	gs_status status;

	GS_TRY(job_close(head));
	job->facts.input = gs_order_facts::GS_ASCENDING;
	if (job->rows == 0)
		return GS_OK;
	status = order_rows(job, job->ncolumns);
	release_columns(job);
	job->device_ns += now_ns() - start;
	return status;
}

/* Copies the next row numbers to the host, as many as fit. */
static gs_status
job_next(gs_job *head, void *out, u64 room, u64 *got)
{
	cuda_job *job = (cuda_job *) head;
	u64 left = job->rows - job->next, n = room < left ? room : left, start = now_ns();

	*got = n;
	if (n == 0)
		return GS_OK;
	cudaSetDevice(job->engine->device);
	GS_TRY(gs_cuda_status(
		cudaMemcpyAsync(out, job->order.data + job->next * 4, n * 4, cudaMemcpyDeviceToHost, job->engine->stream)));
	GS_TRY(gs_cuda_status(cudaStreamSynchronize(job->engine->stream)));
	job->next += n;
	job->download_ns += now_ns() - start;
	if (head->host.poll != NULL && head->host.poll(head->host.arg))
		return GS_CANCELLED;
	return GS_OK;
}

/* ---------------------------------------------------------------- steps of other jobs */

/* Allocates memory for job_work.c, which will be cleared when freed. */
static gs_status
job_alloc(gs_job *head, size_t bytes, void **block)
{
	cuda_job *job = (cuda_job *) head;

	*block = NULL;
	cudaSetDevice(job->engine->device);
	return gs_cuda_alloc_clean(job->engine, bytes, block);
}

/* Frees it, cleared, in stream order. */
static void
job_release(gs_job *head, void *block, size_t bytes)
{
	cuda_job *job = (cuda_job *) head;

	cudaSetDevice(job->engine->device);
	gs_cuda_free_clean(job->engine, block, bytes);
}

/* Sorts for job_work.c.  Run heads remain unknown; job_work.c finds them by gs_heads. */
static gs_status
job_order(gs_job *head, uint64_t *, gs_heads_known *known, const uint32_t **order)
{
	cuda_job *job = (cuda_job *) head;

	cudaSetDevice(job->engine->device);
	*known = GS_HEADS_NONE;
	GS_TRY(order_rows(job, head->spec.order_columns));
	*order = (const u32 *) job->order.data;
	return GS_OK;
}

/* Returns a column as one source, even of 16-byte values. */
static uint32_t
job_sources(gs_job *head, uint32_t c, gs_source *sources)
{
	const job_column *column = &((cuda_job *) head)->columns[c];

	*sources = {};
	sources->type = column->spec.type;
	sources->values = column->values.data;
	sources->nulls = (const u64 *) column->nulls.data;
	sources->heap = column->heap.data;
	return 1;
}

/* Frees the columns, when job_work.c has read them for the last time. */
static void
job_drop_columns(gs_job *head)
{
	release_columns((cuda_job *) head);
}

/* Frees the order likewise. */
static void
job_drop_order(gs_job *head)
{
	release((cuda_job *) head, &((cuda_job *) head)->order);
}

/* Assembles groups or runs from the arrays of job_work.c. */
template <bool GROUPS, class T>
static __global__ void
emit_kernel(const gs_results results, u64 rows, u64 from, u64 n, T *out)
{
	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < n; i += gridDim.x * (u64) blockDim.x)
		if constexpr (GROUPS)
			out[i] = gs_emit_group(&results, rows, from + i);
		else
			out[i] = gs_emit_run(&results, rows, from + i);
}

/* Returns result elements, assembled on the device in pieces. */
static gs_status
job_emit(gs_job *head, uint64_t from, uint64_t n, void *out)
{
	cuda_job *job = (cuda_job *) head;
	cudaStream_t stream = job->engine->stream;
	u64 width = gs_job_result_bytes(&head->spec), start = now_ns();

	cudaSetDevice(job->engine->device);
	for (u64 at = 0; at < n; at += EMIT_ROWS)
	{
		u64 some = n - at < EMIT_ROWS ? n - at : EMIT_ROWS;
		u32 blocks = (u32) (some / 256 + 1 < 2048 ? some / 256 + 1 : 2048);

		GS_TRY(reserve(job, &job->staging, 0, some * width, false));
		if (head->spec.op == GS_RUNS)
			emit_kernel<false>
				<<<blocks, 256, 0, stream>>>(head->results, job->rows, from + at, some, (gs_run *) job->staging.data);
		else
			emit_kernel<true>
				<<<blocks, 256, 0, stream>>>(head->results, job->rows, from + at, some, (gs_group *) job->staging.data);
		GS_TRY(gs_cuda_status(cudaGetLastError()));
		GS_TRY(gs_cuda_status(
			cudaMemcpyAsync((u8 *) out + at * width, job->staging.data, some * width, cudaMemcpyDeviceToHost, stream)));
		GS_TRY(gs_cuda_status(cudaStreamSynchronize(stream)));
	}
	job->download_ns += now_ns() - start;
	return GS_OK;
}

/* Ends a job at any time; waits for enqueued work. */
static void
job_end(gs_job *head)
{
	cuda_job *job = (cuda_job *) head;
	gs_host host = head->host;

	cudaSetDevice(job->engine->device);
	cudaStreamSynchronize(job->engine->stream);
	if (job->plan != NULL)
		job->engine->head.ops->plan_free(&job->engine->head, job->plan);
	release_columns(job);
	release(job, &job->temp);
	release(job, &job->order);
	gs_cuda_free_clean(job->engine, job->found, sizeof(gs_found));
	host.release(host.arg, job, job->bytes);
}

/* Returns the host memory: only the structure, as rows are on the device. */
static u64
job_host_bytes(const gs_job *head)
{
	return ((const cuda_job *) head)->bytes;
}

/* Reports the statistics of the order, of copies and of waiting. */
static void
job_get_info(const gs_job *head, gs_job_info *info)
{
	const cuda_job *job = (const cuda_job *) head;

	info->order = job->facts;
	info->host_bytes = job->bytes;
	info->upload_bytes = job->upload_bytes;
	info->upload_ns = job->upload_ns;
	info->device_ns = job->device_ns;
	info->download_ns = job->download_ns;
}

/* Sets the jobs' operations in the engine's table. */
void
gs_cuda_job_ops(gs_engine_ops *ops)
{
	ops->job_begin = job_begin;
	ops->job_add = job_add;
	ops->job_finish = job_finish;
	ops->job_next = job_next;
	ops->job_end = job_end;
	ops->job_host_bytes = job_host_bytes;
	ops->job_get_info = job_get_info;
	ops->job_close = job_close;
	ops->job_alloc = job_alloc;
	ops->job_release = job_release;
	ops->job_order = job_order;
	ops->job_sources = job_sources;
	ops->job_drop_columns = job_drop_columns;
	ops->job_drop_order = job_drop_order;
	ops->job_emit = job_emit;
}
