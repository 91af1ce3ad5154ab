/*
 * decode.cu: expands runs.
 *
 * 1. Widens the lengths to 64 bits and scans them (scan.cuh) in temporary memory, which yields starts.
 * 2. A block expands 4096 items of the output.  It searches for the run that contains its first item, marks in shared
 *    memory where further runs start (the last one of several that start at one place, if some are empty), and a
 *    running maximum over the marks gives every item its run.
 *
 * Bytes per item: its size, written; per run: length read, start written and read twice, value read.
 */
#include "../base/compact.cuh"
#include "../scan/scan_ops.cuh"

#define THREADS 256
#define ITEMS	16
#define TILE	(THREADS * ITEMS)

/* Widens lengths to 64 bits, for the scan that turns them into starts. */
template <class L>
static __global__ void __launch_bounds__(THREADS) widen_kernel(const L *lengths, u64 runs, u64 *to)
{
	for (u64 i = blockIdx.x * (u64) THREADS + threadIdx.x; i < runs; i += gridDim.x * (u64) THREADS)
		to[i] = lengths[i];
}

/* Returns the last run at or before a position.  By the whole block, a factor of 256 a step: few waits for memory. */
static __device__ __forceinline__ u64
last_at_or_before(const u64 *starts, u64 runs, u64 position)
{
	u64 lo = 0, hi = runs;

	while (hi - lo > 1)
	{
		const u64 step = (hi - lo + THREADS - 1) / THREADS, at = lo + threadIdx.x * step;
		const u32 below = __syncthreads_count(at < hi && starts[at] <= position);

		lo += (below - 1) * step;
		hi = min(hi, lo + step);
	}
	return lo;
}

/* Running maximum of the marks, over the whole block. */
static __device__ __forceinline__ void
spread_marks(u32 *mark)
{
	__shared__ u32 most[THREADS / 32];
	const u32 thread = threadIdx.x;
	u32 m[ITEMS], x = 0;

#pragma unroll
	for (u32 j = 0; j < ITEMS; j++)
	{
		x = max(x, mark[thread * (ITEMS + 1) + j]);
		m[j] = x;
	}
#pragma unroll
	for (int d = 1; d < 32; d *= 2)
	{
		u32 y = __shfl_up_sync(GS_ALL_LANES, x, d);

		if (lane_id() >= (u32) d)
			x = max(x, y);
	}
	if (lane_id() == 31)
		most[thread / 32] = x;
	x = __shfl_up_sync(GS_ALL_LANES, x, 1);
	if (lane_id() == 0)
		x = 0;
	__syncthreads();
	for (u32 w = 0; w < thread / 32; w++)
		x = max(x, most[w]);
#pragma unroll
	for (u32 j = 0; j < ITEMS; j++)
		mark[thread * (ITEMS + 1) + j] = max(x, m[j]);
}

/* Expands a tile of the output.  Runs that begin in it mark their start, relative to the run that continues into it. */
template <class T, class L>
static __global__ void __launch_bounds__(THREADS)
	expand_kernel(const T *values, const L *lengths, const u64 *starts, u64 runs, T *out, u64 room, u64 *count)
{
	__shared__ u32 mark[TILE + TILE / 16]; /* one word of padding for every 16 */
	const u64 first = blockIdx.x * (u64) TILE, total = starts[runs - 1] + lengths[runs - 1];
	const u64 end = min(min(first + TILE, room), total);
	const u32 thread = threadIdx.x;

	if (blockIdx.x == 0 && thread == 0)
		*count = total;
	if (first >= end)
		return;
	for (u32 i = thread; i < TILE + TILE / 16; i += THREADS)
		mark[i] = 0;
	__syncthreads();

	const u64 run = last_at_or_before(starts, runs, first);

	for (u64 r = run + 1 + thread; r < runs; r += THREADS)
	{
		u64 s = starts[r];

		if (s >= end)
			break;

		u32 at = (u32) (s - first);

		atomicMax(&mark[at + at / 16], (u32) (r - run));
	}
	__syncthreads();
	spread_marks(mark);
	__syncthreads();
	for (u32 i = thread; i < end - first; i += THREADS)
		out[first + i] = values[run + mark[i + i / 16]];
}

/* Launches the kernel for these widths, with a block per tile of the output, at least one to write the count. */
template <class T, class L>
static gs_status
run(gs_cuda_engine *e, const gs_decode_request *r, u64 *starts)
{
	u64 blocks = (r->room + TILE - 1) / TILE;

	if (blocks == 0)
		blocks = 1; /* for the count */
	if (blocks > 0x7fffffff)
		return GS_TOO_BIG;
	expand_kernel<<<(u32) blocks, THREADS, 0, e->stream>>>((const T *) r->values, (const L *) r->lengths, starts,
														   r->runs, (T *) r->out, r->room, r->count);
	return gs_cuda_status(cudaGetLastError());
}

/* Selects the kernel by the width of an item. */
template <class L>
static gs_status
run_type(gs_cuda_engine *e, const gs_decode_request *r, u64 *starts)
{
	switch (gs_type_width(r->type))
	{
		case 1:
			return run<u8, L>(e, r, starts);
		case 2:
			return run<u16, L>(e, r, starts);
		case 4:
			return run<u32, L>(e, r, starts);
		case 8:
			return run<u64, L>(e, r, starts);
		default:
			return run<u128, L>(e, r, starts);
	}
}

/* Implements gs_decode: a scan of the lengths gives the starts, in which each tile of the output finds its runs. */
gs_status
gs_cuda_decode(gs_engine *engine, const gs_decode_request *r, void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	u64 *starts = (u64 *) temp;
	void *scan_temp = (u8 *) temp + (r->runs * sizeof(u64) + 255) / 256 * 256;
	u64 wanted = (r->runs + THREADS - 1) / THREADS;
	u32 blocks = (u32) (wanted < 4096 ? wanted : 4096);
	gs_status status;

	cudaSetDevice(e->device);
	if (r->wide)
		widen_kernel<<<blocks, THREADS, 0, e->stream>>>((const u64 *) r->lengths, r->runs, starts);
	else
		widen_kernel<<<blocks, THREADS, 0, e->stream>>>((const u32 *) r->lengths, r->runs, starts);
	status = gs_cuda_status(cudaGetLastError());
	if (status == GS_OK)
		status = gs_cuda_scan(engine, GS_U64, GS_SUM, false, starts, starts, r->runs, scan_temp);
	if (status != GS_OK)
		return status;
	return r->wide ? run_type<u64>(e, r, starts) : run_type<u32>(e, r, starts);
}
