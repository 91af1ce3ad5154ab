/*
 * computed.cu: lists with COMPUTE (gs_steps.h) on a device: columns of all rows are computed into its memory, and go
 * with the source's to the question of the steps behind.
 */
#include "groups_state.cuh"
#include "../../common/steps_computed.h"

#include <cstring>

/* Rows of a segment of which some lie in spans, from a multiple of 64. */
struct computed_rows
{
	u64 first, end;
};

struct cuda_computed
{
	gs_groups head;
	gs_cuda_engine *e;
	gs_steps *after_steps;
	u64 needed; /* columns that are computed, a bit for each */
	gs_range ranges[GS_STEPS_MAX_COLUMNS];
	gs_type types[GS_STEPS_MAX_COLUMNS];
	char *memory;			/* the host's: */
	gs_held *columns;		/* of all segments, */
	computed_rows *found; /* and their rows */
	size_t memory_bytes, columns_bytes, block_bytes;
	char *block; /* in device memory: the list, a failure, the columns' list, then values and NULLs */
};

/* Computes a column of a segment, and its NULLs. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
computed_kernel(const gs_steps *steps, const gs_held *columns, gs_computed column, computed_rows rows, int64_t *out,
				u64 *nulls, u32 *failed)
{
	const gs_instruction *code = (const gs_instruction *) gs_steps_at(steps, column.code);

	for (u64 row = rows.first + blockIdx.x * (u64) blockDim.x + threadIdx.x; row < rows.end;
		 row += (u64) gridDim.x * blockDim.x)
	{
		int64_t value = 0;
		bool null;

		if (column.nchoices > 0)
			null = !gs_chosen_value(steps, &column, columns, row, &value);
		else
		{
			null = gs_code_null(code, column.ncode, columns, row);
			if (!null && !gs_computed_value(steps, code, column.ncode, columns, row, &value))
				*failed = 1;
		}
		out[row - rows.first] = value;
		if (null)
			atomicOr((unsigned long long *) &nulls[(row - rows.first) / 64], 1ull << row % 64);
	}
}

/* Finds the rows of each segment that spans name. */
static void
find_rows(const gs_held_rows *rows, computed_rows *found)
{
	for (u32 i = 0; i < rows->nsegments; i++)
		found[i] = {UINT64_MAX, 0};
	for (u64 i = 0; i < rows->nspans; i++)
	{
		const gs_span *s = &rows->spans[i];
		computed_rows *r = &found[s->segment];

		r->first = s->first < r->first ? s->first : r->first;
		r->end = (u64) s->first + s->rows > r->end ? (u64) s->first + s->rows : r->end;
	}
	for (u32 i = 0; i < rows->nsegments; i++)
		found[i].first = found[i].end == 0 ? 0 : found[i].first / 64 * 64;
}

/* Returns the bytes of a column of some rows: values, then NULLs. */
static u64
column_bytes(computed_rows r)
{
	return ((r.end - r.first + 63) / 64 * 65) * 8;
}

/* Computes the columns of a segment, from a place of the block on.  Returns the place behind them. */
static char *
compute_segment(cuda_computed *c, u32 segment, computed_rows r, u32 *failed, const gs_held *lists, char *at)
{
	const gs_compute_step *step = gs_steps_compute(c->head.steps);
	const u32 nsource = c->head.steps->ncolumns, nall = c->after_steps->ncolumns;

	for (u32 i = 0; i < step->ncolumns && r.end > r.first; i++)
	{
		int64_t *values = (int64_t *) at;
		u64 *nulls = (u64 *) at + (r.end - r.first + 63) / 64 * 64;

		/* rows keep their numbers in the segment */
		c->columns[(u64) segment * nall + nsource + i] = {values - r.first, nulls - r.first / 64};
		if (c->needed >> i & 1)
			computed_kernel<<<gs_cuda_grid(c->e, r.end - r.first, GS_GROUP_THREADS, GS_GROUP_PER_SM),
							  GS_GROUP_THREADS, 0, c->e->stream>>>((const gs_steps *) c->block,
																   lists + (u64) segment * nall,
																   step->columns[i], r, values, nulls, failed);
		at += column_bytes(r);
	}
	return at;
}

/* Allocates the block and uploads what kernels read.  *data is where the columns begin. */
static gs_status
begin_block(cuda_computed *c, gs_engine *engine, const gs_held_rows *rows, u32 **failed, gs_held **lists, char **data)
{
	const gs_steps *steps = c->head.steps;
	const u32 nall = c->after_steps->ncolumns, ncomputed = nall - steps->ncolumns;
	const u64 list = (steps->bytes + 255) & ~255u, columns = (c->columns_bytes + 255) & ~(u64) 255;
	void *block;

	c->block_bytes = list + 256 + columns;
	for (u32 s = 0; s < rows->nsegments; s++)
	{
		memcpy(c->columns + (u64) s * nall, rows->columns + (u64) s * rows->ncolumns,
			   rows->ncolumns * sizeof(gs_held));
		c->block_bytes += ncomputed * column_bytes(c->found[s]);
	}
	GS_TRY(gs_cuda_alloc_clean(c->e, c->block_bytes, &block));
	c->block = (char *) block;
	*failed = (u32 *) (c->block + list);
	*lists = (gs_held *) (c->block + list + 256);
	*data = (char *) *lists + columns;
	GS_TRY(gs_cuda_status(cudaMemsetAsync(c->block, 0, c->block_bytes, c->e->stream)));
	GS_TRY(gs_upload(engine, c->block, steps, steps->bytes));
	return gs_upload(engine, *lists, c->columns, c->columns_bytes);
}

/* Implements gs_groups_rows, which comes once. */
static gs_status
computed_rows_of(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	cuda_computed *c = (cuda_computed *) groups;
	gs_held_rows all = *rows;
	u32 *failed, failure = 0;
	gs_held *lists;
	char *at;

	cudaSetDevice(c->e->device);
	all.types = c->types;
	all.ncolumns = c->after_steps->ncolumns;
	c->columns_bytes = (u64) rows->nsegments * all.ncolumns * sizeof(gs_held);
	c->memory_bytes = c->columns_bytes + rows->nsegments * sizeof(computed_rows) + 1;
	c->memory = (char *) engine->host.alloc(engine->host.arg, c->memory_bytes);
	if (c->memory == NULL)
		return GS_NOMEM;
	memset(c->memory, 0, c->memory_bytes);
	c->columns = (gs_held *) c->memory;
	c->found = (computed_rows *) (c->memory + c->columns_bytes);
	find_rows(rows, c->found);
	GS_TRY(begin_block(c, engine, rows, &failed, &lists, &at));
	for (u32 s = 0; s < rows->nsegments; s++)
		at = compute_segment(c, s, c->found[s], failed, lists, at);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(gs_download(engine, &failure, failed, sizeof(failure)));
	GS_TRY(gs_sync(engine));
	if (failure != 0)
		return GS_OVERFLOW;
	all.columns = c->columns;
	return c->head.after->ops->rows(c->head.after, worker, engine, &all);
}

/* Implements gs_groups_close. */
static void
computed_close(gs_groups *groups, gs_engine *engine)
{
	cuda_computed *c = (cuda_computed *) groups;

	gs_groups_close(c->head.after, engine);
	cudaSetDevice(c->e->device);
	gs_cuda_free_clean(c->e, c->block, c->block_bytes);
	if (c->memory != NULL)
		engine->host.release(engine->host.arg, c->memory, c->memory_bytes);
	if (c->after_steps != NULL)
		engine->host.release(engine->host.arg, c->after_steps, c->head.steps->bytes);
	engine->host.release(engine->host.arg, c, sizeof(*c));
}

/* Implements gs_groups_open. */
static gs_status
computed_open(gs_engine *engine, const gs_groups *head, gs_groups **groups)
{
	cuda_computed *c = (cuda_computed *) engine->host.alloc(engine->host.arg, sizeof(cuda_computed));
	gs_groups after = {};
	gs_status status;

	if (c == NULL)
		return GS_NOMEM;
	memset((void *) c, 0, sizeof(*c));
	c->head = *head;
	c->e = (gs_cuda_engine *) engine;
	status = gs_computed_after(&engine->host, &c->head, c->ranges, &c->after_steps, &c->needed);
	after.steps = c->after_steps;
	after.ranges = c->ranges;
	after.rows = head->rows;
	after.workers = head->workers;
	for (u32 i = 0; status == GS_OK && i < c->after_steps->ncolumns; i++)
		c->types[i] = (gs_type) c->after_steps->types[i];
	if (status == GS_OK)
		status = gs_groups_begin(engine, &after, &c->head.after);
	if (status != GS_OK)
		computed_close(&c->head, engine);
	else
		*groups = &c->head;
	return status;
}

const gs_group_ops gs_cuda_computed_ops = {computed_open,	  computed_rows_of,		gs_groups_no_parts,
										   gs_groups_no_part, gs_groups_end_after, gs_groups_read_after,
										   computed_close};
