/*
 * bucket_sort.cuh: neighbouring buckets of 4-byte keys, put in order in shared memory (bucket_sort.cu).
 *
 * Keys that share their leading bits are a bucket.  Neighbouring buckets are a part, as many as fit a block and are
 * about as crowded as each other; a bucket too long for that may be a part for a larger block.
 */
#ifndef GS_CUDA_ARRAYS_BUCKET_SORT_CUH
#define GS_CUDA_ARRAYS_BUCKET_SORT_CUH

#include "../radix/radix.cuh"

#define GS_PART_BUCKETS 256 /* that parts are listed of together */
#define GS_PART_CROWD	4	/* keys that a key may share its bin with, on the average */

/* Items of a part; 0 if there are no such parts. */
constexpr u32
gs_part_room(const gs_tuning &t, gs_part_words words, bool large)
{
	const gs_part_shape s = gs_part_shape_of(t, words, large);

	return (u32) (s.threads * s.window);
}

/* Of parts that are not large, whatever the row and the words: at least so many. */
constexpr u32
gs_part_least()
{
	u32 least = ~0u;

	for (const gs_tuning *t : gs_tunings)
		for (gs_part_words words : {GS_PART_CODES, GS_PART_NEAR, GS_PART_FAR})
			if (gs_part_room(*t, words, false) < least)
				least = gs_part_room(*t, words, false);
	return least;
}

/* Bits of a place in the part, in its word. */
constexpr u32
gs_part_place_bits(const gs_tuning &t, gs_part_words words, bool large)
{
	u32 bits = 0;

	while (gs_part_room(t, words, large) > 1u << bits)
		bits++;
	return words == GS_PART_CODES ? 0 : words == GS_PART_FAR ? 16 : bits;
}

/* A part: its items, and between what their codes have to lie. */
struct alignas(16) gs_part
{
	u32 start, count;
	u32 least, most;
};

/* Lists of parts, for a block and for a large block; in device memory. */
struct gs_parts
{
	gs_part *list[2];
	u32 *listed; /* parts of both */
};

/* Items in order by their buckets, and where they go in order. */
struct gs_parts_args
{
	const void *in; /* keys, or words of key and value */
	void *out_keys;
	void *out_values; /* NULL: keys alone */
	u64 flip;		  /* what turns keys into codes */
	bool floats;
	gs_parts parts;
	u32 *wrong; /* becomes 1 if a code does not lie where its part says */
};

u32 gs_part_longest(const gs_cuda_engine *e, gs_part_words words);
gs_status gs_parts_sort(gs_cuda_engine *e, gs_part_words words, const gs_parts_args &a, u32 small, u32 large);

/*
 * Lists the parts of a group of buckets: aligned ones of up to 2^levels of them, as long as they fit and the keys of
 * their longest are not too many for the bins that it will have.  By a block of as many threads as there are buckets.
 * begin: where buckets begin behind `start`, one more at the end; `longest` takes the longest part.  Codes of bucket 0
 * begin at `least` and have `bits` more bits; 32: that is not known.
 */
static __device__ __forceinline__ void
gs_list_parts(const u32 *begin, u32 start, u32 least, u32 bits, u32 levels, u32 room, const gs_parts &parts,
			  u32 *longest)
{
	__shared__ u32 crowd[GS_PART_BUCKETS / 32], listed[2], base[2];
	const u32 d = threadIdx.x, warp = d / 32;
	u32 most = begin[d + 1] - begin[d], level = 0, at = 0;

	if (d < 2)
		listed[d] = 0;
	__syncthreads();
#pragma unroll
	for (u32 k = 1; 1 << k <= GS_PART_BUCKETS; k++)
	{
		const u32 first = d >> k << k;

		if (k <= 5)
			most = max(most, __shfl_xor_sync(GS_ALL_LANES, most, 1 << (k - 1)));
		else
		{
			if (k == 6 && lane_id() == 0)
				crowd[warp] = most;
			if (k == 6)
				__syncthreads();
			for (u32 j = 0; j < 1u << (k - 5); j++)
				most = max(most, crowd[(first / 32) + j]);
		}
		if (k <= levels && begin[first + (1 << k)] - begin[first] <= room && most << k <= GS_PART_CROWD * room)
			level = k;
	}

	const bool head = (d & ((1u << level) - 1)) == 0;
	const u32 count = head ? begin[d + (1u << level)] - begin[d] : 0, large = count > room;

	if (count != 0)
		at = atomicAdd(&listed[large], 1);
	most = lanes_max(count);
	if (lane_id() == 0)
		atomicMax(longest, most);
	__syncthreads();
	if (d < 2)
		base[d] = atomicAdd(&parts.listed[d], listed[d]);
	__syncthreads();
	if (count == 0)
		return;
	least = bits < 32 ? least + (d << bits) : 0;
	parts.list[large][base[large] + at] = {start + begin[d], count, least,
										   bits < 32 ? least + ((1u << (bits + level)) - 1) : ~0u};
}

#endif
