/*
 * reduce.cuh: reduce-by-key over equal neighbours.
 *
 * A tile's state is the number of keys that begin in it and OP over the values since the last begin (all of its values
 * if none begins).  As in arrays/rle.cuh a tile writes the results of keys that end in it; only the first of these
 * needs what came before the tile, so everything else is ready before the look-back is, and that one is completed on
 * the way out.
 * Threads hold contiguous shares; the segmented scans over lanes and warps take their segment borders from ballots.
 *
 * LOADED is the type of a value in memory, OP::value that of a sum: 32-bit values may be summed in 64 bits, 64-bit ones
 * in 128. Bytes per item: key + value for the read; per key: key + result.
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
	u32 is_signed;	/* values are: matters when they are widened */
	gs_mapping map; /* for minima and maxima */
	u32 out_bytes;	/* of a result: the sum's own size, or half of it, checked */
	const u128 *halo;
	u8 *out_keys, *out;
	u64 *count, *overflow;
	void *words;
};

/* A value as it is summed. */
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

/* Stores a result, counting it in over if it does not fit. */
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

template <int KEY, int VALUE, class OP, class SHAPE>
__global__ void __launch_bounds__(SHAPE::threads + GS_SERVICE, SHAPE::blocks)
reduce_kernel(const __grid_constant__ gs_reduce_args a)
{
	constexpr int THREADS = SHAPE::threads, VECTORS = SHAPE::vectors;
	typedef typename item_of<KEY>::type K;
	typedef typename item_of<VALUE>::type L;
	typedef typename OP::value T;
	typedef keyed_state<OP> state;
	typedef typename state::words words;
	constexpr u32 ITEMS = VECTORS * 16 / KEY, TILE = THREADS * ITEMS, WARPS = THREADS / 32;
	constexpr u32 KEY_BYTES = THREADS * VECTORS * 16, HALO = 16, VALUE_BYTES = TILE * VALUE;
	constexpr u32 VALUE_ROOM = TILE * (sizeof(T) > VALUE ? sizeof(T) : VALUE) + 16;
	constexpr u32 PITCH = HALO + KEY_BYTES + VALUE_ROOM;
	static_assert(GS_LEAST_STAGES * PITCH < gs_ring_room(SHAPE::shared), "the least stages fit");
	typedef typename mask_of<ITEMS>::type mask;
	static_assert(VALUE_BYTES % 16 == 0, "windows are whole vectors");

	extern __shared__ __align__(128) u8 buffers[];
	__shared__ gs_ring ring;
	__shared__ u32 begun[2][WARPS];
	__shared__ T sums[2][WARPS];
	__shared__ state whole[GS_SLOTS], before[GS_SLOTS];

	const u32 thread = threadIdx.x, warp = thread / 32;
	const i64 base = (i64) a.keys.begin & ~(i64) 15;
	u32 over = 0;

	auto start = [&](int stage, u32 tile) {
		if (tile >= a.sweep.tiles)
		{
			ring_announce(ring, stage, GS_NO_TILE, 0, true);
			return;
		}
		u8 *to = buffers + stage * PITCH;
		u32 skip = a.halo != NULL ? HALO : 0, bytes = HALO + KEY_BYTES - skip;
		i64 begin = base + (i64) tile * KEY_BYTES - HALO + skip;
		gs_window vw = window_of(a.values, (i64) tile * TILE - a.shift, 8 * VALUE);

		u32 bulk = window_bulk_bytes(a.keys, begin, bytes) + window_bulk_bytes(a.values, vw.begin, VALUE_BYTES + 16);

		ring_announce(ring, stage, tile, bulk + skip, bulk == bytes + VALUE_BYTES + 16);
		ring_load(ring, stage, to + skip, a.keys, begin, bytes);
		ring_load(ring, stage, to + HALO + KEY_BYTES, a.values, vw.begin, VALUE_BYTES + 16);
#if GS_BULK
		if (skip)
			bulk_load(to, a.halo + tile, 16, &ring.full[stage]);
#endif
	};

	if (thread == 0)
		ring_init(ring, WARPS);
	__syncthreads();
	if (warp == WARPS)
	{
		load_tiles<THREADS>(ring, a.sweep, start);
		return;
	}

	const u32 lane = lane_id();

	if (warp > WARPS)
	{
		/* ---- the look-back warps */
		i64 known = -1;
		state total = state::zero();

		auto reduce = [&](u32 t) {
			constexpr u32 SHARE = TILE / 32;
			const K *keys = (const K *) a.keys.begin;
			const L *values = (const L *) a.values.begin;
			i64 f = (i64) t * TILE - a.shift;
			state s = state::zero();

			for (u32 i = lane * SHARE; i < (lane + 1) * SHARE; i++)
			{
				i64 g = f + i;

				if (g >= 0)
					s = state::add(s, state{g == 0 || differs(keys[g], keys[g - 1], a.floats),
											widen<OP, VALUE>(values[g], a)});
			}
			return warp_total(s);
		};

		find_prefixes<THREADS>(ring, [&](u32 slot, u32 tile) {
			state s = look_back((words *) a.words, tile, whole[slot], known, total, a.sweep, whole[slot].n * 2 <= TILE,
								reduce);

			if (lane_id() == 0)
			{
				before[slot] = s;
				if (tile + 1 == a.sweep.tiles)
				{
					*a.count = total.n;
					store_result<OP, VALUE>(a, total.n - 1, total.v, over);
				}
			}
		});
		if (over)
			atomicAdd((unsigned long long *) a.overflow, (unsigned long long) over);
		return;
	}

	/* ---- the workers */
	const u32 value_off = window_of(a.values, -(i64) a.shift, 8 * VALUE).off / 8; /* the same in every tile */
	gs_ring_turn turn;
	/* A tile that waits for its prefix, compacted. */
	struct pending
	{
		u32 at; /* where in the buffers */
		u32 count;
	} last = {}, older = {};

	auto write_out = [&](u32 n, const pending &p) {
		const u32 slot = n % GS_SLOTS;

		prefix_wait<THREADS>(ring, n);

		const state b = before[slot];
		const T *results = (const T *) (buffers + p.at + KEY_BYTES);
		const u32 ahead = (u32) (b.n - 1) & 31;

		copy_out<KEY, THREADS>(a.out_keys + b.n * KEY, buffers + p.at, p.count, thread);
		for (u32 i = thread; i < p.count + ahead; i += THREADS)
			if (i >= ahead)
			{
				u32 j = i - ahead;
				T v = results[j];

				if (j == 0)
					v = OP::add(b.v, v);
				if (j > 0 || b.n > 0)
					store_result<OP, VALUE>(a, b.n - 1 + j, v, over);
			}
		free_arrive<THREADS>(ring, n);
	};

	for (;; turn.advance(a.sweep.stages))
	{
		const u32 half = turn.n & 1;
		const u32 word = ring_wait(ring, turn), tile = word & ~GS_EDGES;
		const bool edges = (word & GS_EDGES) != 0;

		if (word == GS_NO_TILE)
			break;

		u8 *const data = buffers + turn.stage * PITCH + HALO, *const data2 = data + KEY_BYTES;
		const i64 first = (i64) tile * TILE - a.shift;
		const u32 lo = edges && first < 0 ? (u32) -first : 0;
		const u32 hi = edges && (i64) a.n - first < (i64) TILE ? (u32) ((i64) a.n - first) : TILE;
		const bool partial = edges;
		u32 w[VECTORS * 4], x[ITEMS * VALUE / 4];
		mask begins = 0;

		const i64 begin = base + (i64) tile * KEY_BYTES;
		const u8 *mine = data + thread * VECTORS * 16;

		/* 1. the tile is here but for its edges */
		ring_copy(data - HALO, a.keys, begin - HALO, KEY_BYTES + HALO, thread, THREADS);
		ring_copy(data2, a.values, window_of(a.values, first, 8 * VALUE).begin, VALUE_BYTES + 16, thread, THREADS);
		if (!GS_BULK && a.halo != NULL && thread == 0)
			*(u128 *) (data - HALO) = a.halo[tile];
		if (edges)
		{
			window_edges(data, a.keys, begin, KEY_BYTES, thread, THREADS);
			window_edges(data2, a.values, window_of(a.values, first, 8 * VALUE).begin, VALUE_BYTES + 16, thread,
						 THREADS);
		}
		if (edges || !GS_BULK)
			workers_barrier<THREADS>();

		/* 2. where keys begin */
		read_words(w, mine, 0);
		read_words(x, data2 + value_off + thread * ITEMS * VALUE, value_off);
		K left = ((const K *) mine)[-1];

		if (a.floats)
		{
#pragma unroll
			for (u32 j = 0; j < ITEMS; j++)
				if (differs(item<KEY>(w, j), j ? item<KEY>(w, j - 1) : left, true))
					begins |= (mask) 1 << j;
		}
		else
		{
#pragma unroll
			for (u32 j = 0; j < ITEMS; j++)
				if (item<KEY>(w, j) != (j ? item<KEY>(w, j - 1) : left))
					begins |= (mask) 1 << j;
		}
		if (first <= 0 && thread == 0)
			begins |= (mask) 1 << lo;
		if (partial)
			begins &= valid_mask<ITEMS>(thread * ITEMS, lo, hi);

		/* 3. values since the thread's last begin, then over the lanes up to the last begin */
		T sum = OP::zero();

#pragma unroll
		for (u32 j = 0; j < ITEMS; j++)
		{
			T v = widen<OP, VALUE>(item<VALUE>(x, j), a);

			if (partial && (thread * ITEMS + j < lo || thread * ITEMS + j >= hi))
				v = OP::zero();
			sum = begins >> j & 1 ? v : OP::add(sum, v);
		}
		u32 heads = __ballot_sync(GS_ALL_LANES, begins != 0), upto = heads & lanes_upto();
		u32 reach = upto ? lane - (31 - __clz(upto)) : lane; /* lanes that still belong to us */
		u32 total, count, rank = warp_exclusive(bits_set(begins), total);

#pragma unroll
		for (int d = 1; d < 32; d *= 2)
		{
			T older = shuffle_up(sum, d);

			if ((u32) d <= reach)
				sum = OP::add(older, sum);
		}
		if (lane == 31)
		{
			begun[half][warp] = total;
			sums[half][warp] = sum;
		}

		/* 4. the same over warps; then what this thread's first values are added to */
		T carry = shuffle_up(sum, 1);
		const bool open = (heads & lanes_below()) == 0; /* no begin in the lanes before: the warps before count too */

		if (lane == 0)
			carry = OP::zero();
		workers_barrier<THREADS>();

		u32 c = lane < WARPS ? begun[half][lane] : 0, sofar = warp_exclusive(c, count);
		T y = lane < WARPS ? sums[half][lane] : OP::zero();

		heads = __ballot_sync(GS_ALL_LANES, c != 0);
		upto = heads & lanes_upto();
		reach = upto ? lane - (31 - __clz(upto)) : lane;
#pragma unroll
		for (int d = 1; d < (int) WARPS; d *= 2)
		{
			T older = shuffle_up(y, d);

			if ((u32) d <= reach)
				y = OP::add(older, y);
		}
		rank += __shfl_sync(GS_ALL_LANES, sofar, warp);
		sum = shuffle(y, (warp + 31) & 31);
		if (open && warp > 0)
			carry = OP::add(sum, carry);
		sum = shuffle(y, WARPS - 1);
		if (thread == 0)
		{
			state own = {count, sum};

			whole[turn.n % GS_SLOTS] = own;
			publish((words *) a.words, tile, own, a.sweep);
		}
		if (warp == 0)
			post(ring, turn.n, tile);

		/* 5. begins to the front: keys, and what the key before each came to */
		K *const packed = (K *) data;
		T *const results = (T *) data2;

		if (begins)
		{
#pragma unroll
			for (u32 j = 0; j < ITEMS; j++)
			{
				T v = widen<OP, VALUE>(item<VALUE>(x, j), a);

				if (begins >> j & 1)
				{
					packed[rank] = item<KEY>(w, j);
					results[rank++] = carry;
					carry = v;
				}
				else
					carry = OP::add(carry, v);
			}
		}

		/* 6. the tile before goes out, in whole lines */
		if (turn.n >= 2)
			write_out(turn.n - 2, older);
		older = last;
		last = {(u32) (data - buffers), count};
	}
	if (warp == 0)
	{
		post(ring, turn.n, GS_NO_TILE);
		post(ring, turn.n + 1, GS_NO_TILE);
	}
	workers_barrier<THREADS>(); /* the last tile is compacted */
	if (turn.n >= 2)
		write_out(turn.n - 2, older);
	if (turn.n >= 1)
		write_out(turn.n - 1, last);
	if (over)
		atomicAdd((unsigned long long *) a.overflow, (unsigned long long) over);
}

#endif
