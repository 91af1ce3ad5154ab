/*
 * positions.cu: positions of the set bits.  Counts the bits of each group of 32,768, computes prefix sums in one block,
 * then writes each group's positions. The bits are read twice and only the result is written; no block waits for
 * another.  (Making all positions and selecting some read and wrote 4 more bytes per position, and had no fallback.)  A
 * warp takes 32 words of 32 bits one at a time: its lanes write the positions of one word next to each other.
 */
#include "scan_ops.cuh"
#include "../base/compact.cuh"

#define THREADS 256
#define WARPS	(THREADS / 32)
#define TURNS	4				  /* words per thread in a group */
#define GROUP	(THREADS * TURNS) /* words of 32 bits */
#define SCANNED 4				  /* counts that a thread sums at a time */

/* Loads the w-th 32 bits, without those from n on. */
__device__ __forceinline__ u32
word_at(const u32 *bits, u64 n, u64 w)
{
	u64 first = w * 32;

	if (first >= n)
		return 0;
	return n - first >= 32 ? bits[w] : bits[w] & ((1u << (u32) (n - first)) - 1);
}

/* Counts the bits of each group, one block per group. */
static __global__ void __launch_bounds__(THREADS)
count_kernel(const u32 *bits, u64 n, u32 groups, u32 *counts)
{
	__shared__ u32 of_warp[WARPS];
	const u32 thread = threadIdx.x;

	for (u32 g = blockIdx.x; g < groups; g += gridDim.x)
	{
		u32 found = 0, all;

#pragma unroll
		for (u32 k = 0; k < TURNS; k++)
			found += __popc(word_at(bits, n, (u64) g * GROUP + k * THREADS + thread));
		found = lanes_add(found);
		if (lane_id() == 0)
			of_warp[thread / 32] = found;
		__syncthreads();
		warps_exclusive<WARPS>(of_warp, thread / 32, all);
		if (thread == 0)
			counts[g] = all;
		__syncthreads();
	}
}

/* Exclusive prefix sums of the groups' counts, by one block. */
static __global__ void __launch_bounds__(1024)
sum_kernel(u32 *counts, u32 groups, u64 *count)
{
	__shared__ u32 of_warp[32];
	const u32 thread = threadIdx.x;
	u32 before = 0;

	for (u32 begin = 0; begin < groups; begin += 1024 * SCANNED)
	{
		u32 at = begin + thread * SCANNED, x[SCANNED], own = 0, total, all, rank;

#pragma unroll
		for (u32 k = 0; k < SCANNED; k++)
			own += x[k] = at + k < groups ? counts[at + k] : 0;
		rank = warp_exclusive(own, total);
		if (lane_id() == 0)
			of_warp[thread / 32] = total;
		__syncthreads();
		rank += before + warps_exclusive<32>(of_warp, thread / 32, all);
#pragma unroll
		for (u32 k = 0; k < SCANNED; k++)
		{
			if (at + k < groups)
				counts[at + k] = rank;
			rank += x[k];
		}
		before += all;
		__syncthreads();
	}
	if (thread == 0)
		*count = before;
}

/* Writes the positions.  Lanes handle a warp's words together, one after another, so that writes are adjacent. */
static __global__ void __launch_bounds__(THREADS)
write_kernel(const u32 *bits, u64 n, u32 groups, const u32 *before, u32 *out)
{
	__shared__ u32 of_warp[2][WARPS];
	const u32 thread = threadIdx.x, lane = lane_id();

	for (u32 g = blockIdx.x; g < groups; g += gridDim.x)
	{
		u32 place = before[g];

		for (u32 k = 0; k < TURNS; k++)
		{
			u64 w = (u64) g * GROUP + k * THREADS + thread;
			u32 word = word_at(bits, n, w), total, all, rank = warp_exclusive(__popc(word), total);
			u32 first = (u32) (w - lane) * 32 + lane; /* the warp's first position, for this lane */
			u32 todo = __ballot_sync(GS_ALL_LANES, word != 0);

			if (lane == 0)
				of_warp[k & 1][thread / 32] = total;
			__syncthreads();
			rank += place + warps_exclusive<WARPS>(of_warp[k & 1], thread / 32, all);
			while (todo != 0)
			{
				u32 from = __ffs(todo) - 1, x = __shfl_sync(GS_ALL_LANES, word, from);
				u32 to = __shfl_sync(GS_ALL_LANES, rank, from);

				todo &= todo - 1;
				if (x >> lane & 1)
					out[to + __popc(x & ((1u << lane) - 1))] = first + from * 32;
			}
			place += all;
		}
	}
}

/* Implements gs_positions by three kernels without waiting between blocks.  out NULL: only counts. */
gs_status
gs_cuda_positions(gs_engine *engine, const uint64_t *bits, uint64_t n, uint32_t *out, uint64_t *count, void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	const u32 groups = (u32) ((n + GROUP * 32 - 1) / (GROUP * 32));
	const u32 *words = (const u32 *) bits;
	u32 *counts = (u32 *) temp, grid = gs_cuda_grid(e, groups, 1, 2048 / THREADS);

	cudaSetDevice(e->device);
	/* a select's status words take more */
	if (groups * sizeof(u32) > gs_select_temp_bytes(engine, GS_U32, n))
		return GS_INVALID;
	count_kernel<<<grid, THREADS, 0, e->stream>>>(words, n, groups, counts);
	sum_kernel<<<1, 1024, 0, e->stream>>>(counts, groups, count);
	if (out != NULL)
		write_kernel<<<grid, THREADS, 0, e->stream>>>(words, n, groups, counts, out);
	return gs_cuda_status(cudaGetLastError());
}
