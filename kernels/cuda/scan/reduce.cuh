/*
 * reduce.cuh: reduce-by-key over equal neighbours.
 *
 * A tile's state is the number of keys that begin in it, and OP over the values since the last one began (all values if
 * none does).  As in arrays/rle.cuh, a tile writes the results of keys that end in it.  Only the first of these needs
 * the tile's prefix, so everything else is ready before the look-back is, and that one is completed during the write.
 * Threads own contiguous shares; segmented scans over lanes and warps take segment borders from ballots.
 *
 * LOADED is the type of a value in memory, OP::value that of a sum: 32-bit values may be summed in 64 bits, 64-bit ones
 * in 128.  Bytes per item: key + value, read; per key: key + result.
 *
 * Source: Merrill and Garland, 4.4; segments from ballots as in Sengupta, Harris and Garland 2008.
 */
#ifndef GS_CUDA_SCAN_REDUCE_CUH
#define GS_CUDA_SCAN_REDUCE_CUH

#include "../base/compact.cuh"
#include "../base/feed.cuh"
#include "../base/ops.cuh"

struct gs_reduce_args
{
	gs_sweep sweep;
	gs_input keys, values;
	u64 n;
	u32 shift;
	u32 floats;		/* keys are floats */
	u32 is_signed;	/* values are; matters when they are widened */
	gs_mapping map; /* for minima and maxima */
	u32 out_bytes;	/* of a result: the size of the sum, or half of it with a check */
	const u128 *halo;
	u8 *out_keys, *out;
	u64 *count, *overflow;
	void *words;
};

/* Converts a value to the type of the sum. */
template <class OP, int BYTES>
__device__ __forceinline__ typename OP::value
widen(typename item_of<BYTES>::type x, const gs_reduce_args &a)
{
	typedef typename OP::value T;

	if constexpr (sizeof(T) == 16)
		return T{x, a.is_signed ? (u64) ((i64) x >> 63) : 0};
	else if constexpr (sizeof(T) > BYTES)
		return a.is_signed ? (u64) (i64) (i32) x : (u64) x;
	else if constexpr (OP::mapped)
		return map_in(x, a.map);
	else
		return OP::from_bits(x);
}

/* Stores a result.  Counts it in over if it does not fit. */
template <class OP, int BYTES>
__device__ __forceinline__ void
store_result(const gs_reduce_args &a, u64 i, typename OP::value v, u32 &over)
{
	typedef typename OP::value T;

	if constexpr (sizeof(T) == 16)
	{
		if (a.out_bytes == 16)
			((u128 *) a.out)[i] = v;
		else
		{
			over += v.hi != (a.is_signed ? (u64) ((i64) v.lo >> 63) : 0);
			((u64 *) a.out)[i] = v.lo;
		}
	}
	else if constexpr (sizeof(T) > BYTES)
	{
		if (a.out_bytes == 8)
			((u64 *) a.out)[i] = v;
		else
		{
			over += v != (a.is_signed ? (u64) (i64) (i32) v : (u64) (u32) v);
			((u32 *) a.out)[i] = (u32) v;
		}
	}
	else
	{
		auto b = OP::bits(v);

		if constexpr (OP::mapped)
			b = map_out(b, a.map);
		((decltype(b) *) a.out)[i] = b;
	}
}

/* A compacted tile that waits for its prefix. */
struct reduce_pending
{
	u32 at; /* position in the buffers */
	u32 count;
};

/* A block's tiles and the steps of their processing. */
template <int KEY, int VALUE, class OP, class SHAPE> struct reduce_block
{
	typedef typename item_of<KEY>::type K;
	typedef typename item_of<VALUE>::type L;
	typedef typename OP::value T;
	typedef keyed_state<OP> state;
	typedef typename state::words words;
	static constexpr int THREADS = SHAPE::threads, VECTORS = SHAPE::vectors;
	static constexpr u32 ITEMS = VECTORS * 16 / KEY, TILE = THREADS * ITEMS, WARPS = THREADS / 32;
	static constexpr u32 KEY_BYTES = THREADS * VECTORS * 16, HALO = 16, VALUE_BYTES = TILE * VALUE;
	static constexpr u32 VALUE_ROOM = TILE * (sizeof(T) > VALUE ? sizeof(T) : VALUE) + 16;
	static constexpr u32 PITCH = HALO + KEY_BYTES + VALUE_ROOM;
	static_assert(GS_LEAST_STAGES * PITCH < gs_ring_room(SHAPE::shared), "the least stages fit");
	typedef typename mask_of<ITEMS>::type mask;
	static_assert(VALUE_BYTES % 16 == 0, "windows are whole vectors");

	/* A thread's keys and values as read. */
	struct items
	{
		u32 keys[VECTORS * 4], values[ITEMS * VALUE / 4];
	};

	struct shared
	{
		gs_ring ring;
		u32 begun[2][WARPS];
		T sums[2][WARPS];
		state whole[GS_SLOTS], before[GS_SLOTS];
	};

	const gs_reduce_args &a;
	shared &m;
	u8 *buffers;
	i64 base;	   /* start of the vectors of the first tile's keys */
	u32 value_off; /* bytes before the first value in a window, constant over all tiles */
	u32 thread;
	u32 over = 0; /* results that do not fit */

	/* Initializes what is constant over all tiles. */
	__device__ __forceinline__
	reduce_block(const gs_reduce_args &args, shared &memory, u8 *tiles) : a(args), m(memory), buffers(tiles)
	{
		base = (i64) a.keys.begin & ~(i64) 15;
		value_off = window_of(a.values, -(i64) a.shift, 8 * VALUE).off / 8;
		thread = threadIdx.x;
	}

	/* The window of a tile's values, which may begin before the array in the first tile. */
	__device__ __forceinline__ gs_window
	values_of(u32 tile) const
	{
		return window_of(a.values, (i64) tile * TILE - a.shift, 8 * VALUE);
	}

	/* Starts the loads of a tile into a stage.  By the loader. */
	__device__ __forceinline__ void
	start(int stage, u32 tile) const
	{
		gs_ring &ring = m.ring;

		if (tile >= a.sweep.tiles)
		{
			ring_announce(ring, stage, GS_NO_TILE, 0, true);
			return;
		}
		u8 *to = buffers + stage * PITCH;
		u32 skip = a.halo != NULL ? HALO : 0, bytes = HALO + KEY_BYTES - skip;
		i64 begin = base + (i64) tile * KEY_BYTES - HALO + skip;
		gs_window vw = values_of(tile);

		u32 bulk = window_bulk_bytes(a.keys, begin, bytes) + window_bulk_bytes(a.values, vw.begin, VALUE_BYTES + 16);

		ring_announce(ring, stage, tile, bulk + skip, bulk == bytes + VALUE_BYTES + 16);
		ring_load(ring, stage, to + skip, a.keys, begin, bytes);
		ring_load(ring, stage, to + HALO + KEY_BYTES, a.values, vw.begin, VALUE_BYTES + 16);
#if GS_BULK
		if (skip)
			bulk_load(to, a.halo + tile, 16, &ring.full[stage]);
#endif
	}

	/* Computes a tile's state from the input, by a warp: the fallback of look-backs. */
	__device__ __forceinline__ state
	recount(u32 tile) const
	{
		constexpr u32 SHARE = TILE / 32;
		const K *keys = (const K *) a.keys.begin;
		const L *values = (const L *) a.values.begin;
		const u32 lane = lane_id();
		i64 f = (i64) tile * TILE - a.shift;
		state s = state::zero();

		for (u32 i = lane * SHARE; i < (lane + 1) * SHARE; i++)
		{
			i64 g = f + i;

			if (g >= 0)
				s = state::add(s, state{g == 0 || differs(keys[g], keys[g - 1], a.floats),
										widen<OP, VALUE>(values[g], a)});
		}
		return warp_total(s);
	}

	/* Copies what bulk copies do not cover: a tile's edges, or all of it. */
	__device__ __forceinline__ void
	complete(u8 *data, u32 tile, bool edges) const
	{
		const i64 begin = base + (i64) tile * KEY_BYTES;
		u8 *const values = data + KEY_BYTES;

		ring_copy(data - HALO, a.keys, begin - HALO, KEY_BYTES + HALO, thread, THREADS);
		ring_copy(values, a.values, values_of(tile).begin, VALUE_BYTES + 16, thread, THREADS);
		if (!GS_BULK && a.halo != NULL && thread == 0)
			*(u128 *) (data - HALO) = a.halo[tile];
		if (edges)
		{
			window_edges(data, a.keys, begin, KEY_BYTES, thread, THREADS);
			window_edges(values, a.values, values_of(tile).begin, VALUE_BYTES + 16, thread, THREADS);
		}
		if (edges || !GS_BULK)
			workers_barrier<THREADS>();
	}

	/* Sums the thread's values since its last key began.  In a tile with edges only items [lo, hi) count. */
	__device__ __forceinline__ T
	sum_items(const items &x, mask begins, bool edges, u32 lo, u32 hi) const
	{
		T sum = OP::zero();

#pragma unroll
		for (u32 j = 0; j < ITEMS; j++)
		{
			T v = widen<OP, VALUE>(item<VALUE>(x.values, j), a);

			if (edges && (thread * ITEMS + j < lo || thread * ITEMS + j >= hi))
				v = OP::zero();
			sum = begins >> j & 1 ? v : OP::add(sum, v);
		}
		return sum;
	}

	/* Segmented inclusive scan over the lanes.  heads: lanes in which a key begins. */
	template <int LANES>
	static __device__ __forceinline__ T
	scan_lanes(T sum, u32 heads)
	{
		const u32 upto = heads & lanes_upto(), lane = lane_id();
		const u32 reach = upto ? lane - (31 - __clz(upto)) : lane; /* lanes of the current segment */

#pragma unroll
		for (int d = 1; d < LANES; d *= 2)
		{
			T older = shuffle_up(sum, d);

			if ((u32) d <= reach)
				sum = OP::add(older, sum);
		}
		return sum;
	}

	/* Scans over lanes, then warps.  Returns the carry into the thread's first values.  own: the tile's state. */
	__device__ __forceinline__ T
	scan_threads(T sum, mask begins, u32 *begun, T *sums, u32 &rank, state &own) const
	{
		const u32 warp = thread / 32, lane = lane_id();
		const u32 heads = __ballot_sync(GS_ALL_LANES, begins != 0);
		u32 total, count;

		rank = warp_exclusive(bits_set(begins), total);
		sum = scan_lanes<32>(sum, heads);
		if (lane == 31)
		{
			begun[warp] = total;
			sums[warp] = sum;
		}

		T carry = shuffle_up(sum, 1);
		const bool open = (heads & lanes_below()) == 0; /* no key begins in preceding lanes: preceding warps count */

		if (lane == 0)
			carry = OP::zero();
		workers_barrier<THREADS>();

		u32 c = lane < WARPS ? begun[lane] : 0, sofar = warp_exclusive(c, count);
		T y = scan_lanes<(int) WARPS>(lane < WARPS ? sums[lane] : OP::zero(), __ballot_sync(GS_ALL_LANES, c != 0));

		rank += __shfl_sync(GS_ALL_LANES, sofar, warp);
		sum = shuffle(y, (warp + 31) & 31);
		if (open && warp > 0)
			carry = OP::add(sum, carry);
		own = {count, shuffle(y, WARPS - 1)};
		return carry;
	}

	/* Compacts keys that begin, from rank on, with the result of the key before each. */
	__device__ __forceinline__ void
	compact(u8 *data, const items &x, mask begins, u32 rank, T carry) const
	{
		K *const packed = (K *) data;
		T *const results = (T *) (data + KEY_BYTES);

		if (begins)
		{
#pragma unroll
			for (u32 j = 0; j < ITEMS; j++)
			{
				T v = widen<OP, VALUE>(item<VALUE>(x.values, j), a);

				if (begins >> j & 1)
				{
					packed[rank] = item<KEY>(x.keys, j);
					results[rank++] = carry;
					carry = v;
				}
				else
					carry = OP::add(carry, v);
			}
		}
	}

	/* Reduces a tile and leaves it compacted in its buffer. */
	__device__ __forceinline__ reduce_pending
	take(const gs_ring_iteration &iteration, u32 tile, bool edges) const
	{
		u8 *const data = buffers + iteration.stage * PITCH + HALO;
		const u8 *const mine = data + thread * VECTORS * 16;
		const i64 first = (i64) tile * TILE - a.shift;
		const u32 lo = edges && first < 0 ? (u32) -first : 0, half = iteration.n & 1;
		const u32 hi = edges && (i64) a.n - first < (i64) TILE ? (u32) ((i64) a.n - first) : TILE;
		items x;
		u32 rank;
		state own;

		/* 1. complete the tile's edges */
		complete(data, tile, edges);

		/* 2. find where keys begin */
		read_words(x.keys, mine, 0);
		read_words(x.values, data + KEY_BYTES + value_off + thread * ITEMS * VALUE, value_off);
		mask begins = begins_of<KEY, ITEMS>(x.keys, ((const K *) mine)[-1], a.floats);

		if (first <= 0 && thread == 0)
			begins |= (mask) 1 << lo;
		if (edges)
			begins &= valid_mask<ITEMS>(thread * ITEMS, lo, hi);

		/* 3. sum values since the last key began: per thread, then over lanes and warps */
		const T sum = sum_items(x, begins, edges, lo, hi);
		const T carry = scan_threads(sum, begins, m.begun[half], m.sums[half], rank, own);

		if (thread == 0)
		{
			m.whole[iteration.n % GS_SLOTS] = own;
			publish((words *) a.words, tile, own, a.sweep);
		}
		if (thread / 32 == 0)
			post(m.ring, iteration.n, tile);

		/* 4. compact */
		compact(data, x, begins, rank, carry);
		return {(u32) (data - buffers), (u32) own.n};
	}

	/* Writes the compacted tile of iteration n in whole lines. */
	__device__ __forceinline__ void
	write(u32 n, const reduce_pending &p)
	{
		prefix_wait<THREADS>(m.ring, n);

		const state before = m.before[n % GS_SLOTS];
		const T *results = (const T *) (buffers + p.at + KEY_BYTES);
		const u32 ahead = (u32) (before.n - 1) & 31;

		copy_out<KEY, THREADS>(a.out_keys + before.n * KEY, buffers + p.at, p.count, thread);
		for (u32 i = thread; i < p.count + ahead; i += THREADS)
			if (i >= ahead)
			{
				u32 j = i - ahead;
				T v = results[j];

				if (j == 0)
					v = OP::add(before.v, v);
				if (j > 0 || before.n > 0)
					store_result<OP, VALUE>(a, before.n - 1 + j, v, over);
			}
		free_arrive<THREADS>(m.ring, n);
	}

	/* A look-back warp. */
	__device__ __forceinline__ void
	look_back_tiles()
	{
		i64 known = -1;
		state total = state::zero();

		find_prefixes<THREADS>(m.ring, [&](u32 slot, u32 tile) {
			state s = look_back((words *) a.words, tile, m.whole[slot], known, total, a.sweep,
								m.whole[slot].n * 2 <= TILE, [&](u32 t) { return recount(t); });

			if (lane_id() == 0)
			{
				m.before[slot] = s;
				if (tile + 1 == a.sweep.tiles)
				{
					*a.count = total.n;
					store_result<OP, VALUE>(a, total.n - 1, total.v, over);
				}
			}
		});
	}
};

/* A persistent block.  Each thread adds its overflows at the end. */
template <int KEY, int VALUE, class OP, class SHAPE>
__global__ void __launch_bounds__(SHAPE::threads + GS_SERVICE, SHAPE::blocks)
reduce_kernel(const __grid_constant__ gs_reduce_args a)
{
	typedef reduce_block<KEY, VALUE, OP, SHAPE> block;
	extern __shared__ __align__(128) u8 buffers[];
	__shared__ typename block::shared memory;
	block b(a, memory, buffers);

	run_ring<block, reduce_pending>(b, memory.ring, a.sweep);
	if (b.over)
		atomicAdd((unsigned long long *) a.overflow, (unsigned long long) b.over);
}

#endif
