/*
 * steps.cu: lists of steps over columns in segments.
 *
 * The host cuts spans into tiles of at most TILE rows and uploads them with the list of steps and that of columns.  A
 * block takes tiles in turn.  A thread first finds which of its ROWS rows pass the filter, then takes their values into
 * one aggregate after another, so that only one result is in registers; results of a tile go to one of each warp in
 * shared memory, those of a block to device memory, and the last block adds up those of all.
 */
#include "scan_ops.cuh"
#include "../../common/steps_row.h"

#include <cstring>

#define THREADS 256
#define WARPS	(THREADS / 32)
#define ROWS	32 /* of a thread, a bit each */
#define TILE	(THREADS * ROWS)
#define PER_SM	4 /* blocks */
/* Tiles of a launch: the host looks for cancels between two. */
#define MOST_TILES 32768

/* What the device writes: results follow. */
struct steps_state
{
	u32 ticket; /* blocks that are done */
	u32 failed; /* a result left its range */
};

/* What a launch reads: pointers into temp. */
struct steps_args
{
	const gs_held *columns;
	const gs_steps *steps;
	const gs_span *tiles;
	u32 ntiles, ncolumns;
	steps_state *state;
	gs_reduced *out, *blocks; /* results of all, and of each block */
};

/* Where the lists lie in temp, and what follows them. */
struct steps_layout
{
	size_t steps, tiles, state, out, blocks, bytes;
	u64 ntiles;
};

/* Returns the results of a GROUP step. */
static u32
results_of(const gs_steps *steps)
{
	return (u32) (gs_steps_result_bytes(steps) / sizeof(gs_reduced));
}

/* Returns the layout of temp, with room for the blocks of any device. */
static steps_layout
layout_of(const gs_held_rows *rows, const gs_steps *steps, u32 blocks)
{
	steps_layout l = {};

	l.steps = (size_t) rows->nsegments * rows->ncolumns * sizeof(gs_held);
	l.tiles = l.steps + steps->bytes;
	for (u64 i = 0; i < rows->nspans; i++)
		l.ntiles += (rows->spans[i].rows + TILE - 1) / TILE;
	l.state = (l.tiles + l.ntiles * sizeof(gs_span) + 7) & ~(size_t) 7;
	l.out = l.state + sizeof(steps_state);
	l.blocks = l.out + gs_steps_result_bytes(steps);
	l.bytes = l.blocks + blocks * gs_steps_result_bytes(steps);
	return l;
}

/* Takes the values of a thread's rows whose bits are set into a result.  Returns false on overflow. */
__device__ __forceinline__ bool
take_rows(const steps_args &a, const gs_aggregate &g, const gs_held *columns, u32 row, u32 bits, gs_reduced &r)
{
	const gs_instruction *code = (const gs_instruction *) gs_steps_at(a.steps, g.code);
	const gs_number number = gs_aggregate_number(a.steps, &g);
	bool good = true;

	if (g.ncode == 0)
		r.count = __popc(bits);
	else
		for (; bits != 0; bits &= bits - 1)
		{
			const u32 at = row + (__ffs((int) bits) - 1) * THREADS;
			gs_scalar v = {0, 0};

			if (gs_code_null(code, g.ncode, columns, at))
				continue;
			good = good && gs_code_value(a.steps, code, g.ncode, columns, at, &v);
			const gs_reduced one = gs_reduced_one((gs_operation) g.operation, number, v);
			good = gs_reduced_merge((gs_operation) g.operation, number, &r, &one) && good;
		}
	return good;
}

/* Adds the results of a warp's lanes; every lane then has the sum.  Returns false on overflow. */
__device__ __forceinline__ bool
merge_lanes(const steps_args &a, const gs_aggregate &g, gs_reduced &r)
{
	const gs_number number = gs_aggregate_number(a.steps, &g);
	bool good = true;

	for (int d = 16; d > 0; d /= 2)
	{
		const gs_reduced other = shuffle_xor(r, d);

		good = gs_reduced_merge((gs_operation) g.operation, number, &r, &other) && good;
	}
	return good;
}

/* Adds a tile's rows to the results of each warp. */
__device__ __forceinline__ bool
take_tile(const steps_args &a, const gs_span &tile, const gs_filter_step *filter, const gs_group_step *group,
		  gs_reduced *mine)
{
	const gs_held *columns = a.columns + (u64) tile.segment * a.ncolumns;
	const u32 first = tile.first + threadIdx.x;
	u32 bits = 0;
	bool good = true;

	for (u32 k = 0; k * THREADS + threadIdx.x < tile.rows; k++)
		bits |= (u32) gs_filter_passes(a.steps, filter, columns, first + k * THREADS) << k;
	for (u32 i = 0; i < group->naggregates; i++)
	{
		const gs_aggregate g = group->aggregates[i];
		gs_reduced r = gs_reduced_none();

		good = take_rows(a, g, columns, first, bits, r) && good;
		good = merge_lanes(a, g, r) && good;
		if (lane_id() == 0)
			good = gs_reduced_merge((gs_operation) g.operation, gs_aggregate_number(a.steps, &g), &mine[i], &r) && good;
	}
	return good;
}

/* Adds the results of all blocks, each aggregate by a warp. */
__device__ __forceinline__ bool
merge_blocks(const steps_args &a, const gs_group_step *group)
{
	bool good = true;

	for (u32 i = threadIdx.x / 32; i < group->naggregates; i += WARPS)
	{
		const gs_aggregate g = group->aggregates[i];
		gs_reduced r = gs_reduced_none();

		for (u32 b = lane_id(); b < gridDim.x; b += 32)
		{
			const gs_reduced one = a.blocks[(u64) b * group->naggregates + i];

			good = gs_reduced_merge((gs_operation) g.operation, gs_aggregate_number(a.steps, &g), &r, &one) && good;
		}
		good = merge_lanes(a, g, r) && good;
		if (lane_id() == 0)
			a.out[i] = r;
	}
	return good;
}

/* Results over a launch's tiles. */
static __global__ void __launch_bounds__(THREADS)
steps_kernel(const steps_args a)
{
	__shared__ gs_reduced warps[WARPS][GS_STEPS_MAX_AGGREGATES];
	__shared__ bool last;
	const gs_filter_step *filter = gs_steps_filter(a.steps);
	const gs_group_step *group = gs_steps_group(a.steps);
	const u32 thread = threadIdx.x;
	bool good = true;

	for (u32 i = lane_id(); i < GS_STEPS_MAX_AGGREGATES; i += 32)
		warps[thread / 32][i] = gs_reduced_none();
	__syncwarp();
	for (u32 t = blockIdx.x; t < a.ntiles; t += gridDim.x)
		good = take_tile(a, a.tiles[t], filter, group, warps[thread / 32]) && good;
	__syncthreads();
	for (u32 i = thread; i < group->naggregates; i += THREADS)
	{
		const gs_aggregate g = group->aggregates[i];

		for (u32 w = 1; w < WARPS; w++)
			good = gs_reduced_merge((gs_operation) g.operation, gs_aggregate_number(a.steps, &g), &warps[0][i],
									&warps[w][i]) && good;
		a.blocks[(u64) blockIdx.x * group->naggregates + i] = warps[0][i];
	}
	__threadfence();
	__syncthreads();
	if (thread == 0)
		last = atomicAdd(&a.state->ticket, 1) == gridDim.x - 1;
	__syncthreads();
	if (last)
	{
		__threadfence();
		good = merge_blocks(a, group) && good;
	}
	if (!good)
		atomicOr(&a.state->failed, 1);
}

/* Writes the lists as the kernel reads them. */
static void
write_lists(const gs_held_rows *rows, const gs_steps *steps, const steps_layout &l, u8 *to)
{
	gs_span *tile = (gs_span *) (to + l.tiles);

	if (l.steps > 0)
		memcpy(to, rows->columns, l.steps);
	memcpy(to + l.steps, steps, steps->bytes);
	for (u64 i = 0; i < rows->nspans; i++)
	{
		const gs_span s = rows->spans[i];

		for (u32 done = 0; done < s.rows; done += TILE)
			*tile++ = {s.segment, s.first + done, s.rows - done < TILE ? s.rows - done : TILE};
	}
}

/* Uploads the lists.  Pageable memory is copied before the upload returns, so the lists can be freed at once. */
static gs_status
upload_lists(gs_engine *engine, const gs_held_rows *rows, const gs_steps *steps, const steps_layout &l, void *temp)
{
	gs_host *host = &engine->host;
	u8 *lists = (u8 *) host->alloc(host->arg, l.state);

	if (lists == NULL)
		return GS_NOMEM;
	write_lists(rows, steps, l, lists);
	const cudaError_t error =
		cudaMemcpyAsync(temp, lists, l.state, cudaMemcpyHostToDevice, ((gs_cuda_engine *) engine)->stream);
	host->release(host->arg, lists, l.state);
	return gs_cuda_status(error);
}

/* Launches the kernel over some tiles, and waits for their results. */
static gs_status
reduce_tiles(gs_engine *engine, const steps_args &args, gs_reduced *some, size_t bytes)
{
	const cudaStream_t stream = ((gs_cuda_engine *) engine)->stream;
	steps_state state;
	u32 grid = gs_cuda_grid((gs_cuda_engine *) engine, args.ntiles, 1, PER_SM);

	GS_TRY(gs_cuda_status(cudaMemsetAsync(args.state, 0, sizeof(state), stream)));
	steps_kernel<<<grid, THREADS, 0, stream>>>(args);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(gs_cuda_status(cudaMemcpyAsync(&state, args.state, sizeof(state), cudaMemcpyDeviceToHost, stream)));
	GS_TRY(gs_cuda_status(cudaMemcpyAsync(some, args.out, bytes, cudaMemcpyDeviceToHost, stream)));
	GS_TRY(gs_sync(engine));
	return state.failed ? GS_OVERFLOW : GS_OK;
}

/* Implements gs_reduce_temp_bytes. */
size_t
gs_cuda_reduce_rows_temp_bytes(const gs_engine *engine, const gs_held_rows *rows, const gs_steps *steps)
{
	const gs_cuda_engine *e = (const gs_cuda_engine *) engine;

	return layout_of(rows, steps, PER_SM * e->properties.multiProcessorCount).bytes;
}

/* Implements gs_reduce_rows. */
gs_status
gs_cuda_reduce_rows(gs_engine *engine, const gs_held_rows *rows, const gs_steps *steps, gs_reduced *out, void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	const steps_layout l = layout_of(rows, steps, PER_SM * e->properties.multiProcessorCount);
	u8 *at = (u8 *) temp;
	gs_reduced some[GS_STEPS_MAX_AGGREGATES];
	steps_args args = {};

	for (u32 i = 0; i < results_of(steps); i++)
		out[i] = gs_reduced_none();
	if (l.ntiles == 0)
		return GS_OK;
	args.columns = (const gs_held *) at;
	args.steps = (const gs_steps *) (at + l.steps);
	args.ncolumns = rows->ncolumns;
	args.state = (steps_state *) (at + l.state);
	args.out = (gs_reduced *) (at + l.out);
	args.blocks = (gs_reduced *) (at + l.blocks);
	cudaSetDevice(e->device);
	GS_TRY(upload_lists(engine, rows, steps, l, temp));
	for (u64 t = 0; t < l.ntiles; t += MOST_TILES)
	{
		args.tiles = (const gs_span *) (at + l.tiles) + t;
		args.ntiles = (u32) (l.ntiles - t < MOST_TILES ? l.ntiles - t : MOST_TILES);
		GS_TRY(reduce_tiles(engine, args, some, gs_steps_result_bytes(steps)));
		GS_TRY(gs_reduced_combine(steps, out, some));
		if (engine->host.poll != NULL && engine->host.poll(engine->host.arg))
			return GS_CANCELLED;
	}
	return GS_OK;
}
