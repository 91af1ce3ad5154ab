/*
 * digit_counters.cuh: digit counters in shared memory, in several adjacent copies, by lane modulo their number, a power
 * of 2.  With 32 copies the digits of a warp never conflict in a bank.  Copies are summed at the end.
 */
#ifndef GS_CUDA_RADIX_DIGIT_COUNTERS_CUH
#define GS_CUDA_RADIX_DIGIT_COUNTERS_CUH

#include "radix.cuh"

#define GS_COPIES			 32
#define GS_COUNTER_BYTES	 (192 << 10) /* limit per block: 32 copies of 3 digits of 9 bits */
#define GS_COUNTER_BYTES_FEW (24 << 10)	 /* for few items, which do not repay clearing more */
#define GS_COUNTER_FEW		 (1 << 21)

/* Shared memory requested for a block's counters, whatever the number of items. */
static inline size_t
gs_counter_promise(const gs_cuda_engine *e)
{
	const size_t most = gs_cuda_shared(e) - 4096;

	return most < GS_COUNTER_BYTES ? most : GS_COUNTER_BYTES;
}

/* Shared memory used for n items. */
static inline size_t
gs_counter_bytes(const gs_cuda_engine *e, u64 n)
{
	return n < GS_COUNTER_FEW ? GS_COUNTER_BYTES_FEW : gs_counter_promise(e);
}

/* Returns the number of copies that fit. */
GS_BOTH u32
gs_counter_copies(u32 counters, u32 room)
{
	u32 copies = GS_COPIES;

	while (copies > 1 && counters * copies > room)
		copies /= 2;
	return copies;
}

struct gs_digit_counters
{
	u32 *counters; /* place p, digit d: counters + ((p << bits) + d) * copies */
	u32 digits, bits, copies;

	/* Clears the counters, by the whole block.  Barriers are needed before and after. */
	__device__ __forceinline__ void
	clear() const
	{
		for (u32 i = threadIdx.x; i < (digits << bits) * copies; i += blockDim.x)
			counters[i] = 0;
	}

	/* Returns the calling lane's counters of a place. */
	__device__ __forceinline__ u32 *
	mine(u32 place) const
	{
		return counters + (place << bits) * copies + (lane_id() & (copies - 1));
	}

	/* Adds the counters to counts, GS_PLACE per digit, by the whole block.  A barrier is needed before. */
	__device__ __forceinline__ void
	add_up(u32 *counts) const
	{
		for (u32 i = threadIdx.x; i < digits << bits; i += blockDim.x)
		{
			u32 sum = 0;

			for (u32 c = 0; c < copies; c++)
				sum += counters[i * copies + ((c + lane_id()) & (copies - 1))];
			if (sum != 0)
				atomicAdd(counts + (i >> bits) * GS_PLACE + (i & ((1u << bits) - 1)), sum);
		}
	}
};

#endif
