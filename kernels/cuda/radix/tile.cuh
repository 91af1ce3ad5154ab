/*
 * tile.cuh: operations on tiles: ranks among lanes, values that bypass registers, aligned writes of runs.
 */
#ifndef GS_CUDA_RADIX_TILE_CUH
#define GS_CUDA_RADIX_TILE_CUH

#include "../base/engine.cuh"

/* Returns the lanes with equal low BITS bits, by one vote and one conditional complement per bit. */
template <int BITS>
__device__ __forceinline__ u32
lane_peers(u32 digit)
{
	u32 peers = GS_ALL_LANES;

#pragma unroll
	for (int b = 0; b < BITS; b++)
	{
		u32 m;

		asm("{ .reg .pred p; .reg .b32 t; and.b32 t, %1, %2; setp.ne.u32 p, t, 0;"
			" vote.ballot.sync.b32 %0, p, 0xffffffff; @!p not.b32 %0, %0; }"
			: "=r"(m)
			: "r"(digit), "r"(1u << b));
		peers &= m;
	}
	return peers;
}

/* Inclusive prefix sum over a warp. */
template <class T>
__device__ __forceinline__ T
warp_inclusive(T x)
{
#pragma unroll
	for (int d = 1; d < 32; d *= 2)
	{
		const T y = __shfl_up_sync(GS_ALL_LANES, x, d);

		if (lane_id() >= (u32) d)
			x += y;
	}
	return x;
}

/* Exclusive prefix sum over a block's threads, through one number per warp in shared memory.  Contains one barrier. */
template <int WARPS, class T>
__device__ __forceinline__ T
block_exclusive(T x, T *sums)
{
	const u32 warp = threadIdx.x / 32, lane = lane_id();
	const T upto = warp_inclusive(x);
	T before;

	if (lane == 31)
		sums[warp] = upto;
	__syncthreads();
	before = warp_inclusive(lane < WARPS ? sums[lane] : (T) 0);
	before = __shfl_sync(GS_ALL_LANES, before, (warp + 31) & 31);
	return (warp ? before : 0) + upto - x;
}

/*
 * Writes a tile's runs of equal digits in whole lines: half a warp takes a digit and writes groups of 16 words, AHEAD
 * of which are loaded together.  place: output position of a digit's first word, minus its place in the tile.
 */
template <int THREADS, int BINS, int AHEAD>
__device__ __forceinline__ void
write_runs(const u64 *words, u64 *out, const u32 *starts, const u32 *place, u32 valid)
{
	for (u32 d = threadIdx.x / 16; d < BINS; d += THREADS / 16)
	{
		const i32 s = starts[d], e = min((i32) starts[d + 1], (i32) valid);
		const u32 g = place[d];

		for (i32 j = s - (i32) ((g + s) & 15) + (i32) (threadIdx.x & 15); j < e; j += 16 * AHEAD)
		{
			u64 x[AHEAD];

#pragma unroll
			for (i32 i = 0; i < AHEAD; i++)
				if (j + 16 * i >= s && j + 16 * i < e)
					x[i] = words[j + 16 * i];
#pragma unroll
			for (i32 i = 0; i < AHEAD; i++)
				if (j + 16 * i >= s && j + 16 * i < e)
					out[g + j + 16 * i] = x[i];
		}
	}
}

/*
 * Starts to copy a tile's values to shared memory, in bulk if allowed, or by item.  By all threads, after a
 * barrier.  at: the thread's first item; its items are 32 apart.
 */
template <int ITEMS, int TILE, class T>
__device__ __forceinline__ void
copy_ahead(T *to, const T *from, u32 at, u32 valid, int items, bool bulk, u64 *bar)
{
#if __CUDA_ARCH__ >= 900
	if (bulk)
	{
		if (threadIdx.x == 0)
		{
			barrier_expect(bar, TILE * sizeof(T));
			bulk_load(to, from, TILE * sizeof(T), bar);
		}
		return;
	}
#endif
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		if (i < items && at + i * 32 < valid)
			copy_item_ahead(to + at + i * 32, from + at + i * 32);
}

/* Waits for the copies; without bulk only for those of the calling thread, so a barrier must follow. */
__device__ __forceinline__ void
wait_for_copies(bool bulk, u64 *bar, u32 parity)
{
#if __CUDA_ARCH__ >= 900
	if (bulk)
	{
		barrier_wait(bar, parity);
		return;
	}
#endif
	copied();
}

/* Prefetches items into L2, in whole 16-byte units as the instruction requires. */
__device__ __forceinline__ void
prefetch_items(const void *from, u32 bytes)
{
#if __CUDA_ARCH__ >= 900
	const u64 begin = (u64) from & ~15ull, end = ((u64) from + bytes) & ~15ull;

	if (end > begin)
		asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(begin), "r"((u32) (end - begin)) : "memory");
#endif
}

#endif
