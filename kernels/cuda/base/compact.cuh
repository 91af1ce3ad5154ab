/*
 * compact.cuh: ranks inside a tile, and the way out of shared memory.
 */
#ifndef GS_CUDA_BASE_COMPACT_CUH
#define GS_CUDA_BASE_COMPACT_CUH

#include "device.cuh"

/* One bit per item of a thread. */
template <int ITEMS> struct mask_of
{
	typedef typename std::conditional<(ITEMS <= 32), u32, u64>::type type;
};

/* Bits of a mask, of 32 items or of 64. */
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

/* Bits [lo, hi) of a thread's items that begin at item first of the tile. */
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

/* Exclusive sum over the lanes' counts; total is the warp's. */
__device__ __forceinline__ u32
warp_exclusive(u32 n, u32 &total)
{
	u32 x = n;

	/* the shuffle itself says whether there is a lane to add */
#pragma unroll
	for (int d = 1; d < 32; d *= 2)
		asm volatile("{ .reg .u32 y; .reg .pred p; shfl.sync.up.b32 y|p, %0, %1, 0, -1; @p add.u32 %0, %0, y; }"
					 : "+r"(x)
					 : "r"(d));
	total = __shfl_sync(GS_ALL_LANES, x, 31);
	return x - n;
}

/* The sum of counts of warps before this one, and of all of them. */
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

/*
 * Copies n items from shared memory to global memory, in order, each warp writing whole 128-byte lines.  Items narrower
 * than a word are put together to words that are aligned in global memory.
 */
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
		u32 ahead = (u32) ((u64) to / BYTES) & (LINE - 1); /* items of the first line that are not ours */

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

/* Which of a thread's items differ from the one before; left: the one before them. */
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
