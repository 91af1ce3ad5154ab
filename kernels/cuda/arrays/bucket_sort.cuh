/*
 * bucket_sort.cuh: sorts neighbouring buckets, of 4-byte keys with equal leading bits, in shared memory
 * (bucket_sort.cu). A part is as many as fit a block and are about equally crowded, or a long one for a larger block.
 */
#ifndef GS_CUDA_ARRAYS_BUCKET_SORT_CUH
#define GS_CUDA_ARRAYS_BUCKET_SORT_CUH

#include "../radix/radix.cuh"

#define GS_PART_BUCKETS 256 /* buckets whose parts are listed together */
#define GS_PART_CROWD	4	/* limit for the average number of keys in a key's bin */

/* Items of a part; 0 if there are no such parts. */
constexpr u32
gs_part_room(const gs_tuning &t, gs_part_words words, bool large)
{
	const gs_part_shape s = gs_part_shape_of(t, words, large);

	return (u32) (s.threads * s.window);
}

/* Least items of a part that is not large, for any tuning row and kind of word. */
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

/* Bits of a place in a word. */
constexpr u32
gs_part_place_bits(const gs_tuning &t, gs_part_words words, bool large)
{
	u32 bits = 0;

	while (gs_part_room(t, words, large) > 1u << bits)
		bits++;
	return words == GS_PART_CODES ? 0 : words == GS_PART_FAR ? 16 : bits;
}

/* A part: its items, and the bounds of their codes. */
struct alignas(16) gs_part
{
	u32 start, count;
	u32 least, most;
};

/* Lists of parts, for small and for large blocks, in device memory. */
struct gs_parts
{
	gs_part *list[2];
	u32 *listed; /* number of parts in both */
};

/* Items in order of their buckets, and the destination. */
struct gs_parts_args
{
	const void *in; /* keys, or words of key and value */
	void *out_keys;
	void *out_values; /* NULL: keys alone */
	u64 flip;		  /* maps keys to codes */
	bool floats;
	gs_parts parts;
	u32 *wrong; /* set to 1 if a code is outside its part's bounds */
};

u32 gs_part_longest(const gs_cuda_engine *e, gs_part_words words);
gs_status gs_parts_sort(gs_cuda_engine *e, gs_part_words words, const gs_parts_args &a, u32 small, u32 large);

/*
 * Lists the parts of a group of buckets: aligned groups of up to 2^levels buckets, as long as they fit and their most
 * crowded one suits the bins it will have.  By a block with one thread per bucket.  begin: starts of the buckets behind
 * `start`, plus the end; `longest` is raised to the longest part.  Codes of bucket 0 begin at `least`, and buckets have
 * `bits` more bits; 32: unknown.
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
