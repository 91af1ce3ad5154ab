/*
 * rle.cuh: run-length encode; the same for runs of two items or more only ("long" runs).
 *
 * A tile's state is the number of runs that begin in it and the position of the last begin.  That is all there is to
 * add up: a run's length is the distance of two begins, so a tile writes the lengths of the runs that *end* in it, and
 * needs of its predecessors only their count and their last begin.  No lengths are summed and no keys compared across
 * tiles.
 * Begins are kept as 16-bit positions in the tile; they, and the items they point to, go out two turns later
 * (feed.cuh).
 *
 * Bytes per item: its size for the read; per run: item + length (+ start).
 * Source: Merrill and Garland, 4.4, with (count, position) in the place of keyed sums.
 */
#ifndef GS_CUDA_ARRAYS_RLE_CUH
#define GS_CUDA_ARRAYS_RLE_CUH

#include "../base/compact.cuh"
#include "../base/feed.cuh"

struct gs_runs_args
{
	gs_sweep sweep;
	gs_input in;
	u64 n;
	u32 shift;
	u32 floats;
	u32 wide;		  /* lengths and starts have 8 bytes, else 4 */
	const u128 *halo; /* in place: the vector before each tile, saved beforehand */
	u8 *values;
	void *lengths, *starts;
	u64 *count;
	u128 *words;
};

/* Stores a length or a start. */
__device__ __forceinline__ void
store_count(void *to, u64 i, u64 x, u32 wide)
{
	if (wide)
		((u64 *) to)[i] = x;
	else
		((u32 *) to)[i] = (u32) x;
}

template <int BYTES, bool LONG, class SHAPE>
__global__ void __launch_bounds__(SHAPE::threads + GS_SERVICE, SHAPE::blocks)
runs_kernel(const __grid_constant__ gs_runs_args a)
{
	constexpr int THREADS = SHAPE::threads, VECTORS = SHAPE::vectors;
	typedef typename item_of<BYTES>::type T;
	constexpr u32 ITEMS = VECTORS * 16 / BYTES, TILE = THREADS * ITEMS, WARPS = THREADS / 32;
	constexpr u32 TILE_BYTES = THREADS * VECTORS * 16, HALO = 16, AFTER = LONG ? 16 : 0;
	constexpr u32 PITCH = HALO + TILE_BYTES + AFTER;
	typedef typename mask_of<ITEMS>::type mask;
	static_assert(TILE <= 65535, "positions in a tile have 16 bits");

	extern __shared__ __align__(128) u8 buffers[];
	__shared__ gs_ring ring;
	__shared__ u32 begun[2][WARPS], lasts[2][WARPS];
	__shared__ u32 open[GS_SLOTS][2];	  /* a run goes on into the tile, out of the tile */
	__shared__ run_state whole[GS_SLOTS], before[GS_SLOTS];
	constexpr u32 ROOM = (LONG ? 2 : 1) * TILE + 8; /* where runs begin in a tile, then (LONG) where they end */
	static_assert(GS_LEAST_STAGES * PITCH + (GS_DEPTH + 1) * ROOM * sizeof(u16) < gs_ring_room(SHAPE::shared),
				  "the least stages fit");
	u16 *const places = (u16 *) (buffers + a.sweep.stages * PITCH);

	const u32 thread = threadIdx.x, warp = thread / 32;
	const i64 base = (i64) a.in.begin & ~(i64) 15;

	auto start = [&](int stage, u32 tile) {
		if (tile >= a.sweep.tiles)
		{
			ring_announce(ring, stage, GS_NO_TILE, 0, true);
			return;
		}
		u8 *to = buffers + stage * PITCH;
		u32 skip = a.halo != NULL ? HALO : 0;
		i64 begin = base + (i64) tile * TILE_BYTES - HALO + skip;
		u32 bytes = PITCH - skip;

		u32 bulk = window_bulk_bytes(a.in, begin, bytes);

		ring_announce(ring, stage, tile, bulk + skip, bulk == bytes);
		ring_load(ring, stage, to + skip, a.in, begin, bytes);
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

	if (warp > WARPS)
	{
		/* ---- the look-back warps */
		i64 known = -1;
		run_state total = run_state::zero();

		auto reduce = [&](u32 t) {
			const T *in = (const T *) a.in.begin;
			i64 f = (i64) t * TILE - a.shift;
			u32 n = 0, p = 0;

			for (u32 i = (f < 0 ? (u32) -f : 0) + lane_id(); i < TILE; i += 32)
			{
				i64 g = f + i;
				bool b = g == 0 || differs(in[g], in[g - 1], a.floats);

				if (LONG)
					b = b && g + 1 < (i64) a.n && !differs(in[g], in[g + 1], a.floats);
				if (b)
					n++, p = i + 1;
			}
			n = lanes_add(n);
			p = lanes_max(p);
			return run_state{n, p ? (u64) (f + p) : 0};
		};

		find_prefixes<THREADS>(ring, [&](u32 slot, u32 tile) {
			run_state s =
				look_back(a.words, tile, whole[slot], known, total, a.sweep, whole[slot].n * 2 <= TILE, reduce);

			if (lane_id() == 0)
			{
				before[slot] = s;
				if (tile + 1 == a.sweep.tiles)
				{
					*a.count = total.n;
					if (!LONG && a.lengths != NULL)
						store_count(a.lengths, total.n - 1, a.n + 1 - total.last, a.wide);
				}
			}
		});
		return;
	}

	/* ---- the workers */
	gs_ring_turn turn;
	/* A tile that waits for its prefix, compacted. */
	struct pending
	{
		u32 at; /* where in the buffers */
		u32 count;
		i64 first;
	} last = {}, older = {};

	auto write_out = [&](u32 n, const pending &p) {
		const u32 slot = n % GS_SLOTS;

		prefix_wait<THREADS>(ring, n);

		const u16 *const at = places + n % (GS_DEPTH + 1) * ROOM, *const ends = at + TILE;
		const run_state b = before[slot];

		if (a.values != NULL)
		{
			const T *items = (const T *) (buffers + p.at);
			T *values = (T *) a.values + b.n;
			const u32 ahead = (u32) ((u64) values / BYTES) & (128 / BYTES - 1); /* whole lines */

			for (u32 i = thread; i < p.count + ahead; i += 4 * THREADS)
			{
				T x[4];

#pragma unroll
				for (u32 k = 0; k < 4; k++)
					if (i + k * THREADS - ahead < p.count)
						x[k] = items[at[i + k * THREADS - ahead]];
#pragma unroll
				for (u32 k = 0; k < 4; k++)
					if (i + k * THREADS - ahead < p.count)
						values[i + k * THREADS - ahead] = x[k];
			}
		}
		if (a.lengths != NULL && !LONG)
		{
			const u32 ahead = (u32) (b.n - 1) & 31;

			if (thread == 0 && p.count > 0 && b.n > 0)
				store_count(a.lengths, b.n - 1, p.first + at[0] + 1 - b.last, a.wide);
			for (u32 i = thread; i < p.count + ahead && p.count > 1; i += 4 * THREADS)
			{
				u32 x[4];

#pragma unroll
				for (u32 k = 0; k < 4; k++)
				{
					u32 j = i + k * THREADS - ahead;

					if (j - 1 < p.count - 1)
						x[k] = at[j] - at[j - 1];
				}
#pragma unroll
				for (u32 k = 0; k < 4; k++)
				{
					u32 j = i + k * THREADS - ahead;

					if (j - 1 < p.count - 1)
						store_count(a.lengths, b.n + j - 1, x[k], a.wide);
				}
			}
		}
		if (a.lengths != NULL && LONG)
		{
			for (u32 j = thread; j <= p.count; j += THREADS)
				if (j == 0)
				{
					if (open[slot][0] && (p.count > 0 || !open[slot][1]))
						store_count(a.lengths, b.n - 1, p.first + ends[0] + 2 - b.last, a.wide);
				}
				else if (j < p.count || !open[slot][1])
					store_count(a.lengths, b.n + j - 1, ends[j] - at[j - 1] + 1, a.wide);
		}
		if (a.starts != NULL)
			for (u32 j = thread; j < p.count; j += THREADS)
				store_count(a.starts, b.n + j, p.first + at[j], a.wide);
		free_arrive<THREADS>(ring, n);
	};

	for (;; turn.advance(a.sweep.stages))
	{
		const u32 half = turn.n & 1;
		const u32 word = ring_wait(ring, turn), tile = word & ~GS_EDGES;
		const bool edges = (word & GS_EDGES) != 0;

		if (word == GS_NO_TILE)
			break;

		u8 *const data = buffers + turn.stage * PITCH + HALO;
		u16 *const at = places + turn.n % (GS_DEPTH + 1) * ROOM, *const ends = at + TILE;
		const i64 first = (i64) tile * TILE - a.shift;
		const u32 lo = edges && first < 0 ? (u32) -first : 0;
		const u32 hi = edges && (i64) a.n - first < (i64) TILE ? (u32) ((i64) a.n - first) : TILE;
		const bool partial = edges;
		u32 w[VECTORS * 4];
		mask begins = 0, stops = 0;

		const i64 begin = base + (i64) tile * TILE_BYTES;
		const T *mine = (const T *) (data + thread * VECTORS * 16);

		/* 1. the tile is here but for its edges */
		ring_copy(data - HALO, a.in, begin - HALO, PITCH, thread, THREADS);
		if (!GS_BULK && a.halo != NULL && thread == 0)
			*(u128 *) (data - HALO) = a.halo[tile];
		if (edges)
			window_edges(data, a.in, begin, TILE_BYTES + AFTER, thread, THREADS);
		if (edges || !GS_BULK)
			workers_barrier<THREADS>();

		/* 2. where runs begin */
		read_words(w, data + thread * VECTORS * 16, 0);
		T left = mine[-1];

		if (a.floats)
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
		if (first <= 0 && thread == 0)
			begins |= (mask) 1 << lo; /* the very first item */
		if (LONG)
		{
			/* a run ends where the next one begins, or the array ends */
			bool next = true;

			if (thread * ITEMS + ITEMS < hi || (hi == TILE && first + (i64) TILE < (i64) a.n))
				next = differs(item<BYTES>(w, ITEMS - 1), mine[ITEMS], a.floats);
			stops = begins >> 1 | (mask) next << (ITEMS - 1);
			if (hi > thread * ITEMS && hi < thread * ITEMS + ITEMS)
				stops |= (mask) 1 << (hi - 1 - thread * ITEMS);
			if (thread == 0)
				open[turn.n % GS_SLOTS][0] = !(begins >> lo & 1);
			if (hi > thread * ITEMS && hi <= thread * ITEMS + ITEMS)
				open[turn.n % GS_SLOTS][1] = !(stops >> (hi - 1 - thread * ITEMS) & 1);

			mask both = begins & stops;

			begins &= ~both;
			stops &= ~both;
		}
		if (partial)
		{
			begins &= valid_mask<ITEMS>(thread * ITEMS, lo, hi);
			stops &= valid_mask<ITEMS>(thread * ITEMS, lo, hi);
		}

		/* 3. counts and last begins */
		u32 total, place = 0, count, rank;

		if (begins)
			place = thread * ITEMS + (sizeof(mask) == 4 ? 32 - __clz((u32) begins) : 64 - __clzll(begins));
		rank = warp_exclusive(bits_set(begins), total);
		place = lanes_max(place);
		if (lane_id() == 0)
		{
			begun[half][warp] = total;
			lasts[half][warp] = place;
		}
		workers_barrier<THREADS>();
		rank += warps_exclusive<WARPS>(begun[half], warp, count);
		if (warp == 0)
		{
			place = lanes_max(lane_id() < WARPS ? lasts[half][lane_id()] : 0);
			if (thread == 0)
			{
				run_state own = {count, place ? (u64) (first + place) : 0};

				whole[turn.n % GS_SLOTS] = own;
				publish(a.words, tile, own, a.sweep);
			}
			post(ring, turn.n, tile);
		}

		/* 4. positions; items stay where they are until they go out.  Where begins are rare, one by one */
		if (LONG)
		{
#pragma unroll
			for (u32 j = 0; j < ITEMS; j++)
				if (stops >> j & 1)
					ends[rank + bits_set(begins & (((mask) 1 << j) - 1))] = (u16) (thread * ITEMS + j);
		}
		if (total <= ITEMS)
		{
			for (; begins != 0; begins &= begins - 1)
				at[rank++] = (u16) (thread * ITEMS + (sizeof(mask) == 4 ? __ffs((u32) begins) : __ffsll(begins)) - 1);
		}
		else
		{
#pragma unroll
			for (u32 j = 0; j < ITEMS; j++)
				if (begins >> j & 1)
					at[rank++] = (u16) (thread * ITEMS + j);
		}

		/* 5. the tile before goes out, in whole lines */
		if (turn.n >= 2)
			write_out(turn.n - 2, older);
		older = last;
		last = {(u32) (data - buffers), count, first};
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
}

#endif
