/*
 * compact.cuh: ranks within a tile, and coalesced writes from shared memory.
 */
#ifndef GS_CUDA_BASE_COMPACT_CUH
#define GS_CUDA_BASE_COMPACT_CUH

#include "device.cuh"

/* One bit per item of a thread. */
template <int ITEMS> struct mask_of
{
	typedef typename std::conditional<(ITEMS <= 32), u32, u64>::type type;
};

/* Number of set bits in a mask of 32 or 64 items. */
__device__ __forceinline__ u32
bits_set(u32 m)
{
	return __popc(m);
}

__device__ __forceinline__ u32
bits_set(u64 m)
{
	return __popcll(m);
}

/* Bits [lo, hi) of a tile, for a thread's items, which begin at item first. */
template <int ITEMS>
__device__ __forceinline__ typename mask_of<ITEMS>::type
valid_mask(u32 first, u32 lo, u32 hi)
{
	typedef typename mask_of<ITEMS>::type mask;
	int a = (int) lo - (int) first, b = (int) hi - (int) first;
	mask m = 0;

	a = a < 0 ? 0 : a;
	b = b > ITEMS ? ITEMS : b;
	if (a < b)
	{
		m = (mask) (~(mask) 0) << a;
		if (b < (int) (8 * sizeof(mask)))
			m &= ((mask) 1 << b) - 1;
	}
	return m;
}

/* Exclusive prefix sum over the lanes' counts.  total is the warp's sum. */
__device__ __forceinline__ u32
warp_exclusive(u32 n, u32 &total)
{
	u32 x = n;

	/* the shuffle's predicate says whether there is a lane to add */
#pragma unroll
	for (int d = 1; d < 32; d *= 2)
		asm volatile("{ .reg .u32 y; .reg .pred p; shfl.sync.up.b32 y|p, %0, %1, 0, -1; @p add.u32 %0, %0, y; }"
					 : "+r"(x)
					 : "r"(d));
	total = __shfl_sync(GS_ALL_LANES, x, 31);
	return x - n;
}

/* Sums of the counts of preceding warps, and of all. */
template <int WARPS>
__device__ __forceinline__ u32
warps_exclusive(const u32 *counts, u32 warp, u32 &total)
{
	u32 lane = lane_id(), x = lane < WARPS ? counts[lane] : 0, n = x;

#pragma unroll
	for (int d = 1; d < WARPS; d *= 2)
	{
		u32 y = __shfl_up_sync(GS_ALL_LANES, x, d);

		if (lane >= (u32) d)
			x += y;
	}
	total = __shfl_sync(GS_ALL_LANES, x, WARPS - 1);
	return __shfl_sync(GS_ALL_LANES, x - n, warp);
}

/* Copies n items in order from shared to global memory, in whole lines per warp, narrow ones as aligned words. */
template <int BYTES, int THREADS>
__device__ __forceinline__ void
copy_out(u8 *to, const u8 *from, u32 n, u32 thread)
{
	if constexpr (BYTES >= 4)
	{
		typedef typename item_of<BYTES>::type T;
		constexpr u32 LINE = 128 / BYTES;
		const T *src = (const T *) from;
		T *dst = (T *) to;
		u32 ahead = (u32) ((u64) to / BYTES) & (LINE - 1); /* items of the first line that belong to others */

		for (u32 i = thread; i < n + ahead; i += 4 * THREADS)
		{
			T x[4];

#pragma unroll
			for (u32 k = 0; k < 4; k++)
				if (i + k * THREADS - ahead < n)
					x[k] = src[i + k * THREADS - ahead];
#pragma unroll
			for (u32 k = 0; k < 4; k++)
				if (i + k * THREADS - ahead < n)
					dst[i + k * THREADS - ahead] = x[k];
		}
	}
	else
	{
		u32 bytes = n * BYTES;
		u32 head = (u32) (-(i64) to & 3);

		if (head > bytes)
			head = bytes;
		u32 words = (bytes - head) / 4, tail = head + 4 * words;
		const u32 *src = (const u32 *) ((u64) (from + head) & ~(u64) 3);
		u32 shift = ((u64) (from + head) & 3) * 8;
		u32 ahead = (u32) ((u64) (to + head) / 4) & 31;

		if (thread < head)
			to[thread] = from[thread];
		for (u32 i = thread; i < words + ahead; i += THREADS)
			if (i >= ahead)
			{
				u32 k = i - ahead, lo = src[k], hi = shift ? src[k + 1] : 0;

				((u32 *) (to + head))[k] = __funnelshift_r(lo, hi, shift);
			}
		if (thread < bytes - tail)
			to[tail + thread] = from[tail + thread];
	}
}

/* Mask of a thread's items that differ from their predecessor.  left: the item before the first. */
template <int BYTES, int ITEMS, int WORDS, class T>
__device__ __forceinline__ typename mask_of<ITEMS>::type
begins_of(const u32 (&w)[WORDS], T left, bool floats)
{
	typedef typename mask_of<ITEMS>::type mask;
	mask begins = 0;

	if (floats)
	{
#pragma unroll
		for (u32 j = 0; j < ITEMS; j++)
			if (differs(item<BYTES>(w, j), j ? item<BYTES>(w, j - 1) : left, true))
				begins |= (mask) 1 << j;
	}
	else
	{
#pragma unroll
		for (u32 j = 0; j < ITEMS; j++)
			if (item<BYTES>(w, j) != (j ? item<BYTES>(w, j - 1) : left))
				begins |= (mask) 1 << j;
	}
	return begins;
}

#endif
