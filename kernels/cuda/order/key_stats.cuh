/*
 * key_stats.cuh: statistics that a kernel gathers while it reads a column.
 */
#ifndef GS_CUDA_ORDER_KEY_STATS_CUH
#define GS_CUDA_ORDER_KEY_STATS_CUH

#include "key.cuh"

/* Statistics of one thread; varying: bits that differ from the column's first value. */
template <class T> struct stats_sum
{
	T not_min, max, ones, zeros;

	/* Adds a value.  Minimum and low bits are stored inverted, so that all four start at zero. */
	__device__ __forceinline__ void
	add(T k)
	{
		T inverse = (T) ~k;

		not_min = inverse > not_min ? inverse : not_min;
		max = k > max ? k : max;
		ones |= k;
		zeros |= inverse;
	}
};

/* Merges the block's statistics into global memory. */
template <class T>
static __device__ void
stats_done(gs_key_stats *stats, const stats_sum<T> &s, u32 seen, bool valid, bool nulls)
{
	__shared__ u64 sums[4];
	__shared__ u32 flags[3];

	if (threadIdx.x < 4)
		sums[threadIdx.x] = 0;
	if (threadIdx.x < 3)
		flags[threadIdx.x] = 0;
	__syncthreads();

	u64 x[4] = {s.not_min, s.max, s.ones, s.zeros};

	for (int d = 16; d > 0; d /= 2)
	{
#pragma unroll
		for (int i = 0; i < 4; i++)
		{
			u64 y = __shfl_xor_sync(GS_ALL_LANES, x[i], d);

			x[i] = i < 2 ? (y > x[i] ? y : x[i]) : x[i] | y;
		}
	}
	seen = lanes_or(seen | (u32) valid << 8 | (u32) nulls << 9);
	if (lane_id() == 0)
	{
		for (int i = 0; i < 2; i++)
			atomicMax((unsigned long long *) &sums[i], (unsigned long long) x[i]);
		for (int i = 2; i < 4; i++)
			atomicOr((unsigned long long *) &sums[i], (unsigned long long) x[i]);
		atomicOr(&flags[0], seen);
	}
	__syncthreads();
	if (threadIdx.x == 0)
	{
		if (flags[0] >> 8 & 1)
		{
			atomicMax((unsigned long long *) &stats->not_min, (unsigned long long) sums[0]);
			atomicMax((unsigned long long *) &stats->max, (unsigned long long) sums[1]);
			atomicOr((unsigned long long *) &stats->ones, (unsigned long long) sums[2]);
			atomicOr((unsigned long long *) &stats->zeros, (unsigned long long) sums[3]);
			stats->valid = 1;
		}
		if (flags[0] >> 9 & 1)
			stats->nulls = 1;
		if (flags[0] & 3)
			atomicOr(&stats->seen, flags[0] & 3);
	}
}

#endif
