/*
 * merge_run.cuh: the passes of merges for given kernels: merge.cu's, or other shapes of the benchmark.
 */
#ifndef GS_CUDA_ARRAYS_MERGE_RUN_CUH
#define GS_CUDA_ARRAYS_MERGE_RUN_CUH

#include "merge.cuh"
#include "../radix/sort_state.cuh"
#include "sort_ops.cuh"

/* Division that rounds up, for tiles of items and groups of runs. */
static inline u64
gs_ceil_div(u64 a, u64 b)
{
	return (a + b - 1) / b;
}

/* Memory after the sort's flags: keys and values of every second pass, cuts, starts of runs. */
struct gs_merge_temp
{
	u32 *seen;
	u8 *keys, *values;
	u32 *cuts;
	u64 *starts;
	size_t bytes;
};

/* Lays out this memory; with NULL only computes its size. */
static inline gs_merge_temp
gs_merge_layout(void *temp, size_t key, size_t value_width, u64 n, u64 cuts, u64 starts)
{
	gs_merge_temp t;
	u8 *p = (u8 *) temp;

	t.seen = (u32 *) p;
	t.keys = p + 256;
	t.values = t.keys + gs_round256(n * key);
	t.cuts = (u32 *) (t.values + gs_round256(n * value_width));
	t.starts = (u64 *) ((u8 *) t.cuts + gs_round256(cuts * sizeof(u32)));
	t.bytes = (size_t) ((u8 *) t.starts + gs_round256(starts * sizeof(u64)) - p);
	return t;
}

/* log2 of the runs merged in each pass: as many as possible, and as even as possible. */
struct gs_merge_passes
{
	u32 passes, bits;

	/* Plans the passes for this many runs; none for a single run. */
	gs_merge_passes(u64 runs)
	{
		const u32 most = gs_bits(GS_MERGE_WAYS) - 1;

		bits = runs <= 1 ? 0 : gs_bits(runs - 1);
		passes = (u32) gs_ceil_div(bits, most);
	}
	u32 ways(u32 pass) const { return 1u << ((bits + pass) / passes); }
};

/* Returns a block's items.  Pairs of runs are aligned to threads' slots: every pair but one may cost a thread. */
static inline u32
gs_merge_tile_items(const gs_merge_kernels &k, u32 ways)
{
	return (u32) k.shape.items * (u32) (k.shape.threads - (int) ways / 2 + 1);
}

/* Launches a kernel.  All kernels take these arguments. */
static inline gs_status
gs_merge_launch(gs_cuda_engine *e, void (*kernel)(const gs_merge_args), const gs_merge_args &a, u64 blocks, int threads,
				size_t shared)
{
	void *list[] = {(void *) &a};

	if (blocks > 0x7fffffff)
		return GS_TOO_BIG;
	if (shared > 0)
		GS_TRY(gs_cuda_status(
			cudaFuncSetAttribute((const void *) kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared)));
	return gs_cuda_status(
		cudaLaunchKernel((const void *) kernel, dim3((u32) blocks), dim3(threads), list, shared, e->stream));
}

/* Prepares a pass over runs of equal length. */
static inline void
gs_merge_even(const gs_merge_kernels &k, gs_merge_args *a, u32 ways, u64 length)
{
	u64 size = length * ways < a->n ? length * ways : a->n;

	a->ways = ways;
	a->length = length;
	a->tile = gs_merge_tile_items(k, ways);
	a->groups = gs_ceil_div(a->n, length * ways);
	a->per_group = (u32) gs_ceil_div(size, a->tile);
	a->tiles = a->groups * a->per_group;
	a->rounds = gs_bits(length < a->n ? length : a->n);
}

/* Prepares a pass over runs that begin at every step-th of starts. */
static inline void
gs_merge_listed(const gs_merge_kernels &k, gs_merge_args *a, u32 ways, u64 runs, u64 step)
{
	a->ways = ways;
	a->runs = runs;
	a->step = step;
	a->tile = gs_merge_tile_items(k, ways);
	a->groups = gs_ceil_div(gs_ceil_div(runs, step), ways);
	a->tiles = a->n / a->tile + a->groups;
	a->rounds = gs_bits(a->n);
}

/* Launches one pass: the cuts of each tile (merge path), then the merge. */
static inline gs_status
gs_merge_pass(gs_cuda_engine *e, const gs_merge_kernels &k, const gs_merge_args &a)
{
	GS_TRY(gs_merge_launch(e, k.cuts, a, gs_ceil_div(a.tiles * a.ways, 256), 256, 0));
	return gs_merge_launch(e, k.runs, a, a.tiles, k.shape.threads, gs_merge_shared(k.shape, a.value_width));
}

/* Makes the next pass read what this one wrote, and write to the other buffer. */
static inline void
gs_merge_swap_buffers(gs_merge_args *a, const gs_merge_temp &t, const gs_sort_request *r)
{
	bool to_temp = a->out_keys != t.keys;

	a->keys = a->out_keys;
	a->values = a->out_values;
	a->out_keys = to_temp ? t.keys : (u8 *) r->out_keys;
	a->out_values = to_temp ? t.values : (u8 *) r->out_values;
}

/* Returns the arguments of the first pass, which reads the caller's items.  Later ones alternate between buffers. */
static inline gs_merge_args
gs_merge_begin(const gs_sort_request *r, const gs_merge_temp &t, bool to_temp)
{
	gs_merge_args a = {};

	a.keys = (const u8 *) r->keys;
	a.values = (const u8 *) r->values;
	a.out_keys = to_temp ? t.keys : (u8 *) r->out_keys;
	a.out_values = to_temp ? t.values : (u8 *) r->out_values;
	a.n = r->n;
	a.value_width = (u32) r->value_width;
	return a;
}

/* ---------------------------------------------------------------- sort */

/* Returns the memory of a sort, given by the pass with the most cuts. */
static inline size_t
gs_merge_sort_temp(const gs_merge_kernels &k, size_t key, size_t value_width, u64 n)
{
	u64 block = (u64) k.shape.threads * k.shape.items, cuts = 0;
	gs_merge_passes plan(gs_ceil_div(n, block));
	gs_merge_args a = {};

	a.n = n;
	for (u32 p = 0; p < plan.passes; p++)
	{
		gs_merge_even(k, &a, plan.ways(p), block);
		cuts = a.tiles * a.ways > cuts ? a.tiles * a.ways : cuts;
		block *= a.ways;
	}
	return plan.passes == 0 ? 0 : gs_merge_layout(NULL, key, value_width, n, cuts, 0).bytes;
}

/* Sorts: tiles first, then passes that merge their runs, the last of which ends in the caller's arrays. */
static inline gs_status
gs_merge_sort_with(gs_cuda_engine *e, const gs_merge_kernels &k, const gs_sort_request *r, void *temp)
{
	const size_t key = r->key_bytes, shared = gs_merge_shared(k.shape, r->value_width);
	u64 length = (u64) k.shape.threads * k.shape.items, blocks = gs_ceil_div(r->n, length);
	gs_merge_passes plan(blocks);
	gs_merge_temp t = gs_merge_layout(temp, key, r->value_width, r->n, 0, 0); /* cuts come last */
	gs_merge_args a = gs_merge_begin(r, t, false);

	cudaSetDevice(e->device);
	if (blocks > 1)
	{
		/* input that is in order goes straight to the output, and everything that follows returns at once */
		u32 grid = 8 * (u32) e->properties.multiProcessorCount;

		a.seen = t.seen;
		GS_TRY(gs_cuda_status(cudaMemsetAsync(t.seen, 0, 256, e->stream)));
		GS_TRY(gs_merge_launch(e, k.check_order, a, grid, 256, 0));
		GS_TRY(gs_merge_launch(e, k.move, a, grid, 256, 0));
		if (plan.passes % 2 != 0)
		{
			a.out_keys = t.keys;
			a.out_values = t.values;
		}
	}
	GS_TRY(gs_merge_launch(e, k.blocks, a, blocks, k.shape.threads, shared));
	a.cuts = t.cuts;
	for (u32 p = 0; p < plan.passes; p++)
	{
		gs_merge_swap_buffers(&a, t, r);
		gs_merge_even(k, &a, plan.ways(p), length);
		GS_TRY(gs_merge_pass(e, k, a));
		length *= a.ways;
	}
	return GS_OK;
}

/* ---------------------------------------------------------------- runs */

/* Numbers passed as a kernel argument.  A copy from host memory would wait for the stream. */
struct gs_merge_numbers
{
	u64 x[480];
	u64 *to;
	u32 n;
};

/* Stores the numbers, one per thread. */
static __global__ void
merge_put(const gs_merge_numbers m)
{
	if (threadIdx.x < m.n)
		m.to[threadIdx.x] = m.x[threadIdx.x];
}

/* Enqueues the numbers gathered so far, and continues behind them. */
static inline gs_status
gs_merge_put(gs_cuda_engine *e, gs_merge_numbers *m)
{
	void *list[] = {m};

	GS_TRY(gs_cuda_status(cudaLaunchKernel((const void *) merge_put, dim3(1), dim3(512), list, 0, e->stream)));
	m->to += m->n;
	m->n = 0;
	return GS_OK;
}

/* Writes where nonempty runs begin, and where the last one ends. */
static inline gs_status
gs_merge_put_starts(gs_cuda_engine *e, const u64 *starts, u64 runs, u64 *to)
{
	gs_merge_numbers m;

	m.to = to;
	m.n = 0;
	for (u64 r = 0; r <= runs; r++)
		if (r == runs || starts[r] != starts[r + 1])
		{
			m.x[m.n++] = starts[r];
			if (m.n == sizeof(m.x) / sizeof(m.x[0]))
				GS_TRY(gs_merge_put(e, &m));
		}
	return m.n == 0 ? GS_OK : gs_merge_put(e, &m);
}

/* Returns room for the cuts of any pass, whatever the lengths. */
static inline size_t
gs_merge_runs_temp(const gs_merge_kernels &k, size_t key, size_t value_width, u64 n, u64 runs)
{
	u64 cuts = (n / gs_merge_tile_items(k, GS_MERGE_WAYS) + 1) * GS_MERGE_WAYS + runs;

	return gs_merge_layout(NULL, key, value_width, gs_merge_passes(runs).passes > 1 ? n : 0, cuts, runs + 1).bytes;
}

/* Merges the caller's runs.  Leaves out empty ones first, so that they cost no pass. */
static inline gs_status
gs_merge_runs_with(gs_cuda_engine *e, const gs_merge_kernels &k, const gs_sort_request *r, void *temp)
{
	const size_t key = r->key_bytes;
	u64 some = 0, cuts = (r->n / gs_merge_tile_items(k, GS_MERGE_WAYS) + 1) * GS_MERGE_WAYS + r->parts;
	gs_merge_temp t =
		gs_merge_layout(temp, key, r->value_width, gs_merge_passes(r->parts).passes > 1 ? r->n : 0, cuts, 0);

	for (u64 run = 0; run < r->parts; run++)
		some += r->starts[run] != r->starts[run + 1];

	gs_merge_passes plan(some);
	gs_merge_args a = gs_merge_begin(r, t, plan.passes > 0 && plan.passes % 2 == 0);

	cudaSetDevice(e->device);
	if (plan.passes == 0)
		return gs_merge_launch(e, k.move, a, 8 * (u64) e->properties.multiProcessorCount, 256, 0);
	GS_TRY(gs_merge_put_starts(e, r->starts, r->parts, t.starts));
	a.starts = t.starts;
	a.cuts = t.cuts;
	for (u64 p = 0, step = 1; p < plan.passes; p++, step *= a.ways)
	{
		if (p > 0)
			gs_merge_swap_buffers(&a, t, r);
		gs_merge_listed(k, &a, plan.ways((u32) p), some, step);
		GS_TRY(gs_merge_pass(e, k, a));
	}
	return GS_OK;
}

#endif
