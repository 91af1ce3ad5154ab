/*
 * computed.cu: lists with COMPUTE (gs_steps.h) on a device: columns are computed into its memory, and go with the
 * source's to the question of the steps behind.  One launch takes the rows of all segments, of which there may be more
 * than a thousand, and computes those that pass the filter behind, as far as that is about the source's columns.
 */
#include "groups_state.cuh"
#include "../../common/steps_computed.h"

#include <cstring>

#define TILE_ROWS 2048
#define MOST_WORK ((u64) 1 << 32) /* terms and instructions of a launch: the host looks for cancels between two */

/* Rows of a segment of which some lie in spans, from a multiple of 64. */
struct computed_rows
{
	u64 first, end;
};

/* What the kernel reads. */
struct compute_args
{
	const gs_steps *steps;
	const gs_held *columns; /* of all segments: the source's, then those that are computed */
	const gs_span *tiles;
	u64 from, to; /* tiles of the launch */
	u64 needed;
	u32 ncolumns; /* of a segment */
	u32 *failed;
};

struct cuda_computed
{
	gs_groups head;
	gs_cuda_engine *e;
	gs_steps *after_steps;
	u64 needed; /* columns that are computed, a bit for each */
	gs_range ranges[GS_STEPS_MAX_COLUMNS];
	gs_type types[GS_STEPS_MAX_COLUMNS];
	char *memory; /* the host's: the segments' rows, then */
	char *read;	  /* what kernels read: a failure, the list, the columns of all segments, tiles */
	size_t columns_at, tiles_at, read_bytes, memory_bytes, block_bytes;
	u64 ntiles;
	char *block; /* in device memory: the same, then values and NULLs */
};

/* Returns true if a row passes the filter behind COMPUTE: its terms that are about the source's columns. */
static __device__ bool
passes_source(const gs_steps *steps, const gs_held *columns, u64 row)
{
	const gs_filter_step *filter = (const gs_filter_step *) gs_step_after(&gs_steps_compute(steps)->step);
	const u32 n = filter->step.kind == GS_STEP_FILTER ? filter->nterms : 0;

	for (u32 t = 0; t < n; t++)
		if (gs_term_of_source(steps, &filter->terms[t]) && !gs_term_passes(steps, &filter->terms[t], columns, row))
			return false;
	return true;
}

/* Computes a column's value in a row.  Returns false if it is NULL. */
static __device__ bool
compute_value(const gs_steps *steps, const gs_computed *column, const gs_held *columns, u64 row, int64_t *value,
			  u32 &failed)
{
	const gs_instruction *code = (const gs_instruction *) gs_steps_at(steps, column->code);

	if (column->nchoices > 0)
		return gs_chosen_value(steps, column, columns, row, value);
	if (gs_code_null(code, column->ncode, columns, row))
		return false;
	if (!gs_computed_value(steps, code, column->ncode, columns, row, value))
		failed |= GS_FAILED_OVERFLOW;
	return true;
}

/* Computes the columns in a row of each lane, if it passes.  Rows begin at a multiple of 32. */
static __device__ void
compute_rows(const compute_args &a, const gs_held *columns, bool passes, u64 row, u32 &failed)
{
	const gs_compute_step *step = gs_steps_compute(a.steps);

	for (u32 i = 0; i < step->ncolumns; i++)
	{
		const gs_held *to = &columns[a.steps->ncolumns + i];
		int64_t value = 0;
		bool null;

		if (!(a.needed >> i & 1))
			continue;
		null = passes && !compute_value(a.steps, &step->columns[i], columns, row, &value, failed);
		if (passes)
			((int64_t *) to->values)[row] = value;

		const u32 nulls = __ballot_sync(GS_ALL_LANES, null);

		if (nulls != 0 && to->nulls == NULL)
			failed |= GS_FAILED_RANGE;
		else if (nulls != 0 && lane_id() == 0)
			atomicOr((u32 *) to->nulls + row / 32, nulls);
	}
}

/* Computes columns.  Values in rows that do not pass remain as they are. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
compute_kernel(const compute_args a)
{
	u32 failed = 0;

	for (u64 i = a.from + blockIdx.x; i < a.to; i += gridDim.x)
	{
		const gs_span tile = a.tiles[i];
		const gs_held *columns = a.columns + (u64) tile.segment * a.ncolumns;
		const u64 end = (u64) tile.first + tile.rows;

		for (u64 at = (u64) tile.first / 32 * 32 + threadIdx.x / 32 * 32; at < end; at += GS_GROUP_THREADS)
		{
			const u64 row = at + lane_id();
			const bool passes = row >= tile.first && row < end && passes_source(a.steps, columns, row);

			if (__ballot_sync(GS_ALL_LANES, passes) != 0)
				compute_rows(a, columns, passes, row, failed);
		}
	}
	if (failed != 0)
		atomicOr(a.failed, failed);
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

/* Writes tiles, or (NULL) only counts them. */
static u64
write_tiles(const gs_held_rows *rows, gs_span *tiles)
{
	u64 n = 0;

	for (u64 i = 0; i < rows->nspans; i++)
		for (u64 done = 0, all = rows->spans[i].rows; done < all; done += TILE_ROWS, n++)
			if (tiles != NULL)
				tiles[n] = {rows->spans[i].segment, (u32) (rows->spans[i].first + done),
							(u32) (all - done < TILE_ROWS ? all - done : TILE_ROWS)};
	return n;
}

/* Returns the words of a computed column's NULLs in some rows of a segment, for each of which there are 64 values. */
static u64
words_of(const cuda_computed *c, u32 column, computed_rows r)
{
	return c->needed >> (column - c->head.steps->ncolumns) & 1 ? (r.end - r.first + 63) / 64 : 0;
}

/* Returns the bytes of the computed columns of a segment. */
static u64
segment_bytes(const cuda_computed *c, computed_rows r)
{
	u64 words = 0;

	for (u32 i = c->head.steps->ncolumns; i < c->after_steps->ncolumns; i++)
		words += (64 + c->ranges[i].nulls) * words_of(c, i, r);
	return words * sizeof(u64);
}

/* Gives the computed columns of a segment their places, from one on, where rows keep their numbers in the segment. */
static void
place_columns(const cuda_computed *c, computed_rows r, gs_held *columns, u64 *at)
{
	for (u32 i = c->head.steps->ncolumns; i < c->after_steps->ncolumns; i++)
	{
		const u64 words = words_of(c, i, r);

		columns[i] = {NULL, NULL};
		if (words == 0)
			continue;
		columns[i].values = at - r.first;
		at += words * 64;
		if (!c->ranges[i].nulls)
			continue;
		columns[i].nulls = at - r.first / 64;
		at += words;
	}
}

/* Takes host memory, and writes there what kernels read, but for the places of computed columns. */
static gs_status
write_block(cuda_computed *c, gs_engine *engine, const gs_held_rows *rows)
{
	const gs_steps *steps = c->head.steps;
	const u32 nall = c->after_steps->ncolumns;
	const size_t found = rows->nsegments * sizeof(computed_rows);

	c->ntiles = write_tiles(rows, NULL);
	c->columns_at = sizeof(u64) + steps->bytes;
	c->tiles_at = c->columns_at + (size_t) rows->nsegments * nall * sizeof(gs_held);
	c->read_bytes = c->tiles_at + c->ntiles * sizeof(gs_span);
	c->memory_bytes = found + c->read_bytes;
	c->memory = (char *) engine->host.alloc(engine->host.arg, c->memory_bytes);
	if (c->memory == NULL)
		return GS_NOMEM;
	find_rows(rows, (computed_rows *) c->memory);
	c->read = c->memory + found;
	memset(c->read, 0, sizeof(u64));
	memcpy(c->read + sizeof(u64), steps, steps->bytes);
	for (u32 s = 0; s < rows->nsegments; s++)
		memcpy((gs_held *) (c->read + c->columns_at) + (u64) s * nall, rows->columns + (u64) s * rows->ncolumns,
			   rows->ncolumns * sizeof(gs_held));
	(void) write_tiles(rows, (gs_span *) (c->read + c->tiles_at));
	return GS_OK;
}

/* Allocates the block, gives computed columns their places there, and uploads what kernels read. */
static gs_status
upload_block(cuda_computed *c, gs_engine *engine, u32 nsegments)
{
	const computed_rows *found = (const computed_rows *) c->memory;
	const u64 read = (c->read_bytes + 255) & ~(u64) 255;
	u64 at = read;
	void *block;

	c->block_bytes = read;
	for (u32 s = 0; s < nsegments; s++)
		c->block_bytes += segment_bytes(c, found[s]);
	GS_TRY(gs_cuda_alloc_clean(c->e, c->block_bytes, &block));
	c->block = (char *) block;
	for (u32 s = 0; s < nsegments; s++)
	{
		place_columns(c, found[s], (gs_held *) (c->read + c->columns_at) + (u64) s * c->after_steps->ncolumns,
					  (u64 *) (c->block + at));
		at += segment_bytes(c, found[s]);
	}
	GS_TRY(gs_cuda_status(cudaMemsetAsync(c->block + read, 0, c->block_bytes - read, c->e->stream)));
	return gs_upload(engine, c->block, c->read, c->read_bytes);
}

/* Returns how many terms and instructions a row may need. */
static u64
work_of_row(const gs_steps *steps)
{
	const gs_compute_step *step = gs_steps_compute(steps);
	u64 n = 1 + GS_STEPS_MAX_TERMS;

	for (u32 i = 0; i < step->ncolumns; i++)
	{
		const gs_choice *choices = (const gs_choice *) gs_steps_at(steps, step->columns[i].code);

		n += step->columns[i].ncode;
		for (u32 j = 0; j < step->columns[i].nchoices; j++)
			n += 1 + choices[j].nterms;
	}
	return n;
}

/* Computes the columns, and asks for cancels between launches. */
static gs_status
compute(cuda_computed *c)
{
	const u64 most = MOST_WORK / TILE_ROWS / work_of_row(c->head.steps);
	compute_args a = {};

	a.failed = (u32 *) c->block;
	a.steps = (const gs_steps *) (c->block + sizeof(u64));
	a.columns = (const gs_held *) (c->block + c->columns_at);
	a.tiles = (const gs_span *) (c->block + c->tiles_at);
	a.needed = c->needed;
	a.ncolumns = c->after_steps->ncolumns;
	for (a.from = 0; a.from < c->ntiles; a.from = a.to)
	{
		a.to = c->ntiles - a.from < most ? c->ntiles : a.from + most;
		if (a.from > 0)
			GS_TRY(gs_group_poll(c->e));
		compute_kernel<<<gs_cuda_grid(c->e, a.to - a.from, 1, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0,
						 c->e->stream>>>(a);
		GS_TRY(gs_cuda_status(cudaGetLastError()));
	}
	return GS_OK;
}

/* Implements gs_groups_rows, which comes once. */
static gs_status
computed_rows_of(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	cuda_computed *c = (cuda_computed *) groups;
	gs_held_rows all = *rows;
	u32 failed = 0;

	cudaSetDevice(c->e->device);
	GS_TRY(write_block(c, engine, rows));
	GS_TRY(upload_block(c, engine, rows->nsegments));
	GS_TRY(compute(c));
	GS_TRY(gs_download(engine, &failed, c->block, sizeof(failed)));
	GS_TRY(gs_sync(engine));
	if (failed != 0)
		return failed & GS_FAILED_OVERFLOW ? GS_OVERFLOW : GS_INVALID;
	all.types = c->types;
	all.ncolumns = c->after_steps->ncolumns;
	all.columns = (const gs_held *) (c->read + c->columns_at);
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
