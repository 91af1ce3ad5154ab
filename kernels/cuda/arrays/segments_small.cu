/*
 * segments_small.cu: segments of up to 4096 items, sorted in registers by a bitonic network.
 *
 * Up to 16 items: a thread each.  Segments that follow each other lie side by side, so a block brings their keys to
 * shared memory together, and writes them together.  More: 16 or 32 lanes, or 2 to 8 warps, up to 16 items to a thread.
 * What is compared has its place in the segment below it wherever equal keys can be told apart, so that the network's
 * order is the stable one:
 *   4-byte integers alone                          32 bits
 *   8-byte integers alone; 4-byte keys and places  64 bits
 *   8-byte keys and places                         64 + 32 bits
 * A thread's items lie side by side in the order, so most comparisons are between registers; comparisons of lanes go by
 * shuffles, of warps through shared memory.  Every merge begins with an exchange of mirror images, so that all
 * comparisons go one way.  Values, and floats' own bits, are fetched by place in the end.
 * Bytes per item: key and value read once, written once.
 * Batcher, Sorting Networks and Their Applications, AFIPS 1968.
 */
#include "segments.cuh"

/* ---------------------------------------------------------------- what is compared */

struct item4
{
	u32 x;

	static __device__ __forceinline__ item4 last() { return {~0u}; }
	__device__ __forceinline__ bool operator<(const item4 &o) const { return x < o.x; }
};

struct item8
{
	u64 x;

	static __device__ __forceinline__ item8 last() { return {~0ull}; }
	__device__ __forceinline__ bool operator<(const item8 &o) const { return x < o.x; }
};

struct item12
{
	u32 place, low, high; /* twelve bytes: no bank conflicts */

	static __device__ __forceinline__ item12 last() { return {~0u, ~0u, ~0u}; }
	__device__ __forceinline__ u64 key() const { return (u64) high << 32 | low; }

	/* one subtraction of 96 bits: the compiler would branch */
	__device__ __forceinline__ bool
	operator<(const item12 &o) const
	{
		u32 borrow;

		asm("{ .reg .u32 t; sub.cc.u32 t, %1, %4; subc.cc.u32 t, %2, %5; subc.cc.u32 t, %3, %6; subc.u32 %0, 0, 0; }"
			: "=r"(borrow)
			: "r"(place), "r"(low), "r"(high), "r"(o.place), "r"(o.low), "r"(o.high));
		return borrow != 0;
	}
};

/* The item that the lane has whose number differs by mask. */
static __device__ __forceinline__ item4
from_lane(item4 i, u32 mask)
{
	return {__shfl_xor_sync(GS_ALL_LANES, i.x, mask)};
}
static __device__ __forceinline__ item8
from_lane(item8 i, u32 mask)
{
	return {__shfl_xor_sync(GS_ALL_LANES, i.x, mask)};
}
static __device__ __forceinline__ item12
from_lane(item12 i, u32 mask)
{
	return {__shfl_xor_sync(GS_ALL_LANES, i.place, mask), __shfl_xor_sync(GS_ALL_LANES, i.low, mask),
			__shfl_xor_sync(GS_ALL_LANES, i.high, mask)};
}

/* Takes a in place of what is there, without a branch. */
static __device__ __forceinline__ void
choose(item8 &to, const item8 &a, bool take)
{
	to.x = take ? a.x : to.x;
}

static __device__ __forceinline__ void
choose(item12 &to, const item12 &a, bool take)
{
	to.place = take ? a.place : to.place;
	to.low = take ? a.low : to.low;
	to.high = take ? a.high : to.high;
}

/* One comparison of the network: the lesser item first. */
template <class T>
static __device__ __forceinline__ void
in_order(T &a, T &b)
{
	const bool swap = b < a;
	const T x = a;

	choose(a, b, swap);
	choose(b, x, swap);
}

static __device__ __forceinline__ void
in_order(item4 &a, item4 &b)
{
	const u32 x = a.x;

	a.x = min(x, b.x);
	b.x = max(x, b.x);
}

/* The less or the greater of what is here and there. */
template <class T>
static __device__ __forceinline__ void
keep(T &here, const T &there, bool less)
{
	choose(here, there, (there < here) == less);
}

static __device__ __forceinline__ void
keep(item4 &here, const item4 &there, bool less)
{
	here.x = less ? min(here.x, there.x) : max(here.x, there.x);
}

/* ---------------------------------------------------------------- the network */

/* A thread's items d apart, each pair put in order. */
template <class T, int K>
static __device__ __forceinline__ void
pairs_apart(T (&x)[K], int d)
{
#pragma unroll
	for (int k = 0; k < K; k++)
		if ((k & d) == 0)
			in_order(x[k], x[k + d]);
}

/* Merges a thread's items, of which each half is in order as far as others can see. */
template <class T, int K>
static __device__ __forceinline__ void
thread_merge(T (&x)[K])
{
#pragma unroll
	for (int d = K / 2; d > 0; d /= 2)
		pairs_apart(x, d);
}

/* Sorts a thread's items. */
template <class T, int K>
static __device__ __forceinline__ void
thread_sort(T (&x)[K])
{
#pragma unroll
	for (int size = 2; size <= K; size *= 2)
	{
#pragma unroll
		for (int k = 0; k < K; k++)
			if ((k & (size / 2)) == 0)
				in_order(x[k], x[k ^ (size - 1)]);
#pragma unroll
		for (int d = size / 4; d > 0; d /= 2)
			pairs_apart(x, d);
	}
}

/* An exchange with lane ^ mask; mirror: its items from the last to the first. */
template <class T, int K>
static __device__ __forceinline__ void
with_lane(T (&x)[K], u32 mask, bool less, bool mirror)
{
	if (mirror)
	{
#pragma unroll
		for (int k = 0; k < (K + 1) / 2; k++)
		{
			T a = from_lane(x[K - 1 - k], mask), b = from_lane(x[k], mask);

			keep(x[k], a, less);
			if (k != K - 1 - k)
				keep(x[K - 1 - k], b, less);
		}
	}
	else
	{
#pragma unroll
		for (int k = 0; k < K; k++)
			keep(x[k], from_lane(x[k], mask), less);
	}
}

/* The same with another thread of the block, by way of shared memory. */
template <class T, int K>
static __device__ __forceinline__ void
with_thread(T (&x)[K], T *shared, u32 mask, bool less, bool mirror)
{
	__syncthreads();
#pragma unroll
	for (int k = 0; k < K; k++)
		shared[k * blockDim.x + threadIdx.x] = x[k];
	__syncthreads();
#pragma unroll
	for (int k = 0; k < K; k++)
		keep(x[k], shared[(mirror ? K - 1 - k : k) * blockDim.x + (threadIdx.x ^ mask)], less);
}

/* Sorts the items of LANES lanes of one warp, or of WARPS warps. */
template <class T, int K, int LANES, int WARPS>
static __device__ __forceinline__ void
sort_group(T (&x)[K], T *shared)
{
	const u32 t = threadIdx.x;

	thread_sort(x);
#pragma unroll 1
	for (u32 half = 1; half < LANES * WARPS; half *= 2)
	{
		/* groups of 2 * half threads, each half in order */
		if (half >= 32)
			with_thread(x, shared, 2 * half - 1, (t & half) == 0, true);
		else
			with_lane(x, 2 * half - 1, (t & half) == 0, true);
#pragma unroll 1
		for (u32 d = half / 2; d > 0; d /= 2)
		{
			if (d >= 32)
				with_thread(x, shared, d, (t & d) == 0, false);
			else
				with_lane(x, d, (t & d) == 0, false);
		}
		thread_merge(x);
	}
}

/* ---------------------------------------------------------------- segments */

/* A place in shared memory that spreads what threads hold side by side over the banks. */
static __device__ __forceinline__ u32
spread(u32 at)
{
	return at + at / 16;
}

/* Items with places: from keys. */
static __device__ __forceinline__ item4
make_item(item4, const gs_segments_args &a, u64 at, u32 place)
{
	return {gs_key_code(((const u32 *) a.keys)[at + place], a)};
}

static __device__ __forceinline__ item8
make_item(item8, const gs_segments_args &a, u64 at, u32 place)
{
	if (a.key_bytes == 8)
		return {gs_key_code(((const u64 *) a.keys)[at + place], a)};
	return {(u64) gs_key_code(((const u32 *) a.keys)[at + place], a) << 32 | place};
}

static __device__ __forceinline__ item12
make_item(item12, const gs_segments_args &a, u64 at, u32 place)
{
	const u64 x = gs_key_code(((const u64 *) a.keys)[at + place], a);

	return {place, (u32) x, (u32) (x >> 32)};
}

/* Writes an item to a position of the output. */
static __device__ __forceinline__ void
put_item(const item4 &i, const gs_segments_args &a, u64, u64 to)
{
	((u32 *) a.out_keys)[to] = i.x ^ (u32) a.flip;
}

/* A value by the place that its key had; nothing where there are none. */
static __device__ __forceinline__ void
put_value(const gs_segments_args &a, u64 from, u64 to)
{
	if (a.value_bytes == 4)
		((u32 *) a.out_values)[to] = ((const u32 *) a.values)[from];
	else if (a.value_bytes == 8)
		((u64 *) a.out_values)[to] = ((const u64 *) a.values)[from];
}

static __device__ __forceinline__ void
put_item(const item8 &i, const gs_segments_args &a, u64 at, u64 to)
{
	if (a.key_bytes == 8)
	{
		((u64 *) a.out_keys)[to] = i.x ^ a.flip;
		return;
	}

	const u64 from = at + (u32) i.x;

	((u32 *) a.out_keys)[to] = a.floats ? ((const u32 *) a.keys)[from] : (u32) (i.x >> 32) ^ (u32) a.flip;
	put_value(a, from, to);
}

static __device__ __forceinline__ void
put_item(const item12 &i, const gs_segments_args &a, u64 at, u64 to)
{
	const u64 from = at + i.place;

	((u64 *) a.out_keys)[to] = a.floats ? ((const u64 *) a.keys)[from] : i.key() ^ a.flip;
	put_value(a, from, to);
}

/* An item from a key that is no longer in memory of the call. */
static __device__ __forceinline__ item4 item_from(item4, u32 code, u32) { return {code}; }
static __device__ __forceinline__ item8 item_from(item8, u64 code, u32) { return {code}; }
static __device__ __forceinline__ item8 item_from(item8, u32 code, u32 place) { return {(u64) code << 32 | place}; }
/* What is least significant comes first in twelve bytes. */
static __device__ __forceinline__ item12
item_from(item12, u64 code, u32 place)
{
	return {place, (u32) code, (u32) (code >> 32)};
}
static __device__ __forceinline__ u32 place_of(const item4 &) { return 0; }
static __device__ __forceinline__ u32 place_of(const item8 &i) { return (u32) i.x; }
static __device__ __forceinline__ u32 place_of(const item12 &i) { return i.place; }
static __device__ __forceinline__ u64 code_of(const item4 &i) { return i.x; }
static __device__ __forceinline__ u64 code_of(const item8 &i) { return i.x; }
static __device__ __forceinline__ u64 code_of(const item12 &i) { return i.key(); }

#define TINY_BLOCK 256						  /* segments of a block, a thread each */
#define TINY_ROOM  (TINY_BLOCK * GS_SEG_TINY) /* items that it has room for */

/*
 * Sorts a thread's segment of at most K items: where keys are in shared memory from `offset` on, there, or, if items
 * have places, their origins; else in device memory.
 */
template <class T, class K, bool PLACES, int ITEMS>
static __device__ __forceinline__ void
sort_tiny(const gs_segments_args &a, u64 at, u32 n, bool staged, K *keys, u16 *origin, u32 offset)
{
	T x[ITEMS];

#pragma unroll
	for (int k = 0; k < ITEMS; k++)
	{
		x[k] = T::last();
		if ((u32) k < n)
			x[k] = item_from(T(), gs_key_code(staged ? keys[spread(offset + k)] : ((const K *) a.keys)[at + k], a),
							 (u32) k);
	}
	thread_sort(x);
#pragma unroll
	for (int k = 0; k < ITEMS; k++)
		if ((u32) k < n)
		{
			if (!staged)
				put_item(x[k], a, at, at + k);
			else if (PLACES)
				origin[spread(offset + k)] = (u16) (offset + place_of(x[k]));
			else
				keys[spread(offset + k)] = (K) (code_of(x[k]) ^ a.flip);
		}
}

/*
 * Segments of at most GS_SEG_TINY items.  Longer ones between them, of which there are few if the block has room for
 * all, are copied too: what sorts those comes later.
 */
template <class T, class K, bool PLACES>
static __global__ void __launch_bounds__(TINY_BLOCK) tiny_kernel(const __grid_constant__ gs_segments_args a)
{
	__shared__ K keys[TINY_ROOM + TINY_ROOM / 16];
	__shared__ u16 origin[PLACES ? TINY_ROOM + TINY_ROOM / 16 : 1];
	const u64 first = blockIdx.x * (u64) TINY_BLOCK, s = first + threadIdx.x;
	const u64 end = min(first + TINY_BLOCK, a.segments), base = a.starts[first], items = a.starts[end] - base;
	const bool staged = items <= TINY_ROOM;
	u64 at = base, n = 0;

	if (s < end)
	{
		at = a.starts[s];
		n = a.starts[s + 1] - at;
		if (n > GS_SEG_TINY)
			n = 0; /* of another class */
	}
	if (staged)
	{
		for (u32 i = threadIdx.x; i < items; i += TINY_BLOCK)
		{
			keys[spread(i)] = ((const K *) a.keys)[base + i];
			if (PLACES)
				origin[spread(i)] = (u16) i;
		}
		__syncthreads();
	}
	if (__any_sync(GS_ALL_LANES, n > GS_SEG_TINY / 2))
		sort_tiny<T, K, PLACES, GS_SEG_TINY>(a, at, (u32) n, staged, keys, origin, (u32) (at - base));
	else
		sort_tiny<T, K, PLACES, GS_SEG_TINY / 2>(a, at, (u32) n, staged, keys, origin, (u32) (at - base));
	if (!staged)
		return;
	__syncthreads();
	for (u32 i = threadIdx.x; i < items; i += TINY_BLOCK)
	{
		const u32 from = PLACES ? origin[spread(i)] : i;

		((K *) a.out_keys)[base + i] = keys[spread(from)];
		if (PLACES)
			put_value(a, base + from, base + i);
	}
}

/* Segments of one warp, or of some lanes of it; several to a block. */
template <class T, int K, int LANES>
static __global__ void __launch_bounds__(128)
warp_kernel(const __grid_constant__ gs_segments_args a, const u32 *list, u64 count)
{
	constexpr u32 SIZE = K * LANES;
	__shared__ T memory[128 / LANES * (SIZE + SIZE / 16)];
	T *const shared = memory + threadIdx.x / LANES * (SIZE + SIZE / 16);
	const u64 group = (blockIdx.x * (u64) 128 + threadIdx.x) / LANES;
	const u32 lane = threadIdx.x % LANES;
	u64 at = 0, n = 0;
	T x[K];

	if (group < count)
	{
		const u32 s = list[group];

		at = a.starts[s];
		n = a.starts[s + 1] - at;
	}
#pragma unroll
	for (int k = 0; k < K; k++)
	{
		u32 place = k * LANES + lane;

		x[k] = place < n ? make_item(T(), a, at, place) : T::last();
	}
	sort_group<T, K, LANES, 1>(x, NULL);
#pragma unroll
	for (int k = 0; k < K; k++)
		shared[spread(lane * K + k)] = x[k];
	__syncwarp();
#pragma unroll
	for (int k = 0; k < K; k++)
		x[k] = shared[spread(k * LANES + lane)];
#pragma unroll
	for (int k = 0; k < K; k++)
	{
		u32 place = k * LANES + lane;

		if (place < n)
			put_item(x[k], a, at, at + place);
	}
}

/* Segments of a block of some warps. */
template <class T, int K, int WARPS>
static __global__ void __launch_bounds__(32 * WARPS)
block_kernel(const __grid_constant__ gs_segments_args a, const u32 *list)
{
	constexpr u32 THREADS = 32 * WARPS, SIZE = K * THREADS;
	extern __shared__ __align__(128) u8 memory[];
	T *const shared = (T *) memory;
	const u32 s = list[blockIdx.x], n = (u32) (a.starts[s + 1] - a.starts[s]);
	const u64 at = a.starts[s];
	T x[K];

#pragma unroll
	for (int k = 0; k < K; k++)
	{
		u32 place = k * THREADS + threadIdx.x;

		x[k] = place < n ? make_item(T(), a, at, place) : T::last();
	}
	sort_group<T, K, 32, WARPS>(x, shared);
	__syncthreads();
#pragma unroll
	for (int k = 0; k < K; k++)
		shared[spread(threadIdx.x * K + k)] = x[k];
	__syncthreads();
	for (u32 place = threadIdx.x; place < n; place += THREADS)
		put_item(shared[spread(place)], a, at, at + place);
	static_assert(SIZE + SIZE / 16 <= 4352, "room of the launch");
}

/* ---------------------------------------------------------------- launches */

/* Segments of up to 16 items, a thread each. */
template <class T, class K, bool PLACES>
static gs_status
launch_tiny(gs_cuda_engine *e, const gs_segments_args &a)
{
	tiny_kernel<T, K, PLACES><<<(u32) ((a.segments + TINY_BLOCK - 1) / TINY_BLOCK), TINY_BLOCK, 0, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* LANES lanes for a segment, K items to each. */
template <class T, int K, int LANES>
static gs_status
launch_warps(gs_cuda_engine *e, const gs_segments_args &a, const u32 *list, u64 count)
{
	u64 blocks = (count * LANES + 127) / 128;

	if (blocks > 0x7fffffff)
		return GS_TOO_BIG;
	warp_kernel<T, K, LANES><<<(u32) blocks, 128, 0, e->stream>>>(a, list, count);
	return gs_cuda_status(cudaGetLastError());
}

/* WARPS warps for a segment, 16 items to each lane; what warps exchange goes through shared memory. */
template <class T, int K, int WARPS>
static gs_status
launch_blocks(gs_cuda_engine *e, const gs_segments_args &a, const u32 *list, u64 count)
{
	constexpr u32 size = K * 32 * WARPS;
	constexpr size_t bytes = (size + size / 16) * sizeof(T);
	int blocks;

	GS_TRY(gs_cuda_blocks(e, (const void *) block_kernel<T, K, WARPS>, 32 * WARPS, bytes, &blocks));
	block_kernel<T, K, WARPS><<<(u32) count, 32 * WARPS, bytes, e->stream>>>(a, list);
	return gs_cuda_status(cudaGetLastError());
}

/* By class: the classes of GS_SEG_LENGTHS from 32 to 4096 items. */
template <class T>
static gs_status
launch(gs_cuda_engine *e, const gs_segments_args &a, u32 of, const u32 *list, u64 count)
{
	switch (of)
	{
		case 1:
			return launch_warps<T, 2, 16>(e, a, list, count);
		case 2:
			return launch_warps<T, 2, 32>(e, a, list, count);
		case 3:
			return launch_warps<T, 4, 32>(e, a, list, count);
		case 4:
			return launch_warps<T, 8, 32>(e, a, list, count);
		case 5:
			return launch_warps<T, 16, 32>(e, a, list, count);
		case 6:
			return launch_blocks<T, 16, 2>(e, a, list, count);
		case 7:
			return launch_blocks<T, 16, 4>(e, a, list, count);
		default:
			return launch_blocks<T, 16, 8>(e, a, list, count);
	}
}

/* One class of small segments. Integers without values need no places: equal ones are alike. */
gs_status
gs_segments_small(gs_cuda_engine *e, const gs_segments_args &a, u32 of_class, const u32 *list, u64 count)
{
	const bool alone = a.value_bytes == 0 && !a.floats;

	if (of_class == 0 && a.key_bytes == 4)
		return alone ? launch_tiny<item4, u32, false>(e, a) : launch_tiny<item8, u32, true>(e, a);
	if (of_class == 0)
		return alone ? launch_tiny<item8, u64, false>(e, a) : launch_tiny<item12, u64, true>(e, a);
	if (a.key_bytes == 4)
		return alone ? launch<item4>(e, a, of_class, list, count) : launch<item8>(e, a, of_class, list, count);
	return alone ? launch<item8>(e, a, of_class, list, count) : launch<item12>(e, a, of_class, list, count);
}
