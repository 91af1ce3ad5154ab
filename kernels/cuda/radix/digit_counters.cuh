/*
 * digit_counters.cuh: counters of digits in shared memory, several copies of each side by side.
 *
 * A lane adds to the copy of its number, modulo their number, which is a power of 2.  With 32 copies neither equal nor
 * different digits of a warp meet in a bank of shared memory; fewer take less room.  They are added up in the end.
 */
#ifndef GS_CUDA_RADIX_DIGIT_COUNTERS_CUH
#define GS_CUDA_RADIX_DIGIT_COUNTERS_CUH

#include "radix.cuh"

#define GS_COPIES			 32
#define GS_COUNTER_BYTES	 (192 << 10) /* of a block at most: 32 copies of 3 digits of 9 bits */
#define GS_COUNTER_BYTES_FEW (24 << 10)	 /* for few items, which are not worth clearing more */
#define GS_COUNTER_FEW		 (1 << 21)

/* Shared memory for a block's counters: what a kernel is promised, whatever the number of items. */
static inline size_t
gs_counter_promise(const gs_cuda_engine *e)
{
	const size_t most = gs_cuda_shared(e) - 4096;

	return most < GS_COUNTER_BYTES ? most : GS_COUNTER_BYTES;
}

/* And what it takes for so many. */
static inline size_t
gs_counter_bytes(const gs_cuda_engine *e, u64 n)
{
	return n < GS_COUNTER_FEW ? GS_COUNTER_BYTES_FEW : gs_counter_promise(e);
}

/* Copies of so many counters, where there is room for so many. */
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
	u32 *counters; /* of digit place p and digit d: counters + ((p << bits) + d) * copies */
	u32 digits, bits, copies;

	/* By the whole block, which has to meet before and afterwards. */
	__device__ __forceinline__ void
	clear() const
	{
		for (u32 i = threadIdx.x; i < (digits << bits) * copies; i += blockDim.x)
			counters[i] = 0;
	}

	/* The calling lane's counters of a place. */
	__device__ __forceinline__ u32 *
	mine(u32 place) const
	{
		return counters + (place << bits) * copies + (lane_id() & (copies - 1));
	}

	/* By the whole block, which has to meet before: adds all to counts, GS_PLACE for each digit. */
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
