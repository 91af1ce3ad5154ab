/*
 * segments_small.cu: sorts segments of up to 4096 items in registers by a bitonic network.
 *
 * Up to 16 items: one thread per segment.  Consecutive segments are adjacent, so a block loads their keys to shared
 * memory together, and writes them together.  More items: 16 or 32 lanes, or 2 to 8 warps, with up to 16 items per
 * thread.
 *
 * Items that are compared have their place in the segment below the key wherever equal keys are distinguishable, which
 * makes the sort stable:
 *   4-byte integers alone                          32 bits
 *   8-byte integers alone; 4-byte keys and places  64 bits
 *   8-byte keys and places                         64 + 32 bits
 * A thread's items are adjacent in the order, so most comparisons are between registers; lanes compare by shuffles,
 * warps through shared memory.  Every merge begins with a mirrored exchange, so that all comparisons have one
 * direction.  Values, and floats' own bits, are fetched by place at the end.
 *
 * Bytes per item: key and value, read once and written once.  Batcher, Sorting Networks and Their Applications, AFIPS
 * 1968.
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

	/* one 96-bit subtraction; the compiler would branch */
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

/* Returns the item of the lane whose number differs by mask. */
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

/* Replaces an item, without a branch. */
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

/* One comparator of the network: the lesser item goes first. */
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

/* Keeps the lesser or the greater of two items. */
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

/* Compares a thread's items at distance d. */
template <class T, int K>
static __device__ __forceinline__ void
pairs_apart(T (&x)[K], int d)
{
#pragma unroll
	for (int k = 0; k < K; k++)
		if ((k & d) == 0)
			in_order(x[k], x[k + d]);
}

/* Merges a thread's items, a bitonic sequence. */
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

/* Exchanges with lane ^ mask; mirror: with its items in reverse. */
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

/* Exchanges with another thread of the block, through shared memory. */
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
		/* groups of 2 * half threads whose halves are sorted */
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

/* Returns a position in shared memory that spreads a thread's adjacent items over the banks. */
static __device__ __forceinline__ u32
spread(u32 at)
{
	return at + at / 16;
}

/* Make items from keys, with their places. */
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

/* Copies the value of the key that had this place; does nothing without values. */
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

/* Make items from keys that were read before. */
static __device__ __forceinline__ item4 item_from(item4, u32 code, u32) { return {code}; }
static __device__ __forceinline__ item8 item_from(item8, u64 code, u32) { return {code}; }
static __device__ __forceinline__ item8 item_from(item8, u32 code, u32 place) { return {(u64) code << 32 | place}; }
/* Twelve bytes are stored least significant first. */
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

#define TINY_BLOCK 256						  /* segments per block, one per thread */
#define TINY_ROOM  (TINY_BLOCK * GS_SEG_TINY) /* items that fit */

/* Sorts a segment of at most K items, in shared memory from `offset` on (origins, if PLACES), else in device memory. */
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

/* Sorts segments of at most GS_SEG_TINY items.  The few longer ones between them are copied, and sorted afterwards. */
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

/* Sorts segments of one warp, or of some lanes of it; several per block. */
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

/* Sorts segments of a block of some warps. */
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

/* Launches segments of up to 16 items, one per thread. */
template <class T, class K, bool PLACES>
static gs_status
launch_tiny(gs_cuda_engine *e, const gs_segments_args &a)
{
	tiny_kernel<T, K, PLACES><<<(u32) ((a.segments + TINY_BLOCK - 1) / TINY_BLOCK), TINY_BLOCK, 0, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* Launches segments of LANES lanes with K items each. */
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

/* Launches segments of WARPS warps with 16 items per lane.  Warps exchange through shared memory. */
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

/* Selects the kernel of a class: those of GS_SEG_LENGTHS from 32 to 4096 items. */
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

/* Sorts one class of small segments.  Integers without values need no places, as equal ones are indistinguishable. */
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
