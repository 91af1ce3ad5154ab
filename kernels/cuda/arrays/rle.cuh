/*
 * rle.cuh: run-length encode, of all runs or only of those of two items or more ("long" runs).
 *
 * A tile's state is the number of runs that begin in it and the position of the last start.  It writes the lengths of
 * the runs that *end* in it: the distances between starts.  No lengths are summed and no keys compared across tiles.
 * Starts are 16-bit positions in the tile, written with their items two iterations later (feed.cuh).
 *
 * Bytes per item: its size, read; per run: item + length (+ start).  Source: Merrill and Garland, 4.4, with (count,
 * position) in place of keyed sums.
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
	u32 wide;		  /* lengths and starts have 8 bytes instead of 4 */
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

/* A tile with known starts that waits for its prefix. */
struct runs_pending
{
	u32 at; /* position in the buffers */
	u32 count;
	i64 first;
};

/* A block's tiles and the steps of their processing. */
template <int BYTES, bool LONG, class SHAPE> struct runs_block
{
	typedef typename item_of<BYTES>::type T;
	static constexpr int THREADS = SHAPE::threads, VECTORS = SHAPE::vectors;
	static constexpr u32 ITEMS = VECTORS * 16 / BYTES, TILE = THREADS * ITEMS, WARPS = THREADS / 32;
	static constexpr u32 TILE_BYTES = THREADS * VECTORS * 16, HALO = 16, AFTER = LONG ? 16 : 0;
	static constexpr u32 PITCH = HALO + TILE_BYTES + AFTER;
	static constexpr u32 ROOM = (LONG ? 2 : 1) * TILE + 8; /* starts of runs in a tile, then (LONG) their ends */
	typedef typename mask_of<ITEMS>::type mask;
	static_assert(TILE <= 65535, "positions in a tile have 16 bits");
	static_assert(GS_LEAST_STAGES * PITCH + (GS_DEPTH + 1) * ROOM * sizeof(u16) < gs_ring_room(SHAPE::shared),
				  "the least stages fit");

	/* Which of a thread's items start a run, and (LONG) which end one. */
	struct borders
	{
		mask begins, stops;
	};

	struct shared
	{
		gs_ring ring;
		u32 begun[2][WARPS], lasts[2][WARPS];
		u32 open[GS_SLOTS][2];	  /* a run continues into the tile, out of the tile */
		run_state whole[GS_SLOTS], before[GS_SLOTS];
	};

	const gs_runs_args &a;
	shared &m;
	u8 *buffers;
	u16 *places; /* in the tiles in progress */
	i64 base;	 /* start of the vectors of the first tile */
	u32 thread;

	/* Initializes what is constant over all tiles.  Places follow the ring's buffers. */
	__device__ __forceinline__
	runs_block(const gs_runs_args &args, shared &memory, u8 *tiles) : a(args), m(memory), buffers(tiles)
	{
		places = (u16 *) (buffers + a.sweep.stages * PITCH);
		base = (i64) a.in.begin & ~(i64) 15;
		thread = threadIdx.x;
	}

	/* Returns the list of starts in the tile of iteration n. */
	__device__ __forceinline__ u16 *
	places_of(u32 n) const
	{
		return places + n % (GS_DEPTH + 1) * ROOM;
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
	}

	/* Computes a tile's state from the input, by a warp: the fallback of look-backs. */
	__device__ __forceinline__ run_state
	recount(u32 tile) const
	{
		const T *in = (const T *) a.in.begin;
		i64 f = (i64) tile * TILE - a.shift;
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
	}

	/* Copies what bulk copies do not cover: a tile's edges, or all of it. */
	__device__ __forceinline__ void
	complete(u8 *data, u32 tile, bool edges) const
	{
		const i64 begin = base + (i64) tile * TILE_BYTES;

		ring_copy(data - HALO, a.in, begin - HALO, PITCH, thread, THREADS);
		if (!GS_BULK && a.halo != NULL && thread == 0)
			*(u128 *) (data - HALO) = a.halo[tile];
		if (edges)
			window_edges(data, a.in, begin, TILE_BYTES + AFTER, thread, THREADS);
		if (edges || !GS_BULK)
			workers_barrier<THREADS>();
	}

	/*
	 * Finds runs of two items or more.  A run ends where the next one starts, or at the end of the array.  open: set to
	 * whether a run continues into the tile, and out of it.  next: the item after the thread's.  Items [lo, hi) of the
	 * tile exist.  more: tiles follow.
	 */
	__device__ __forceinline__ borders
	long_runs(mask begins, const u32 (&w)[VECTORS * 4], const T *next, u32 lo, u32 hi, bool more, u32 *open) const
	{
		bool differ = true;
		mask stops;

		if (thread * ITEMS + ITEMS < hi || (hi == TILE && more))
			differ = differs(item<BYTES>(w, ITEMS - 1), *next, a.floats);
		stops = begins >> 1 | (mask) differ << (ITEMS - 1);
		if (hi > thread * ITEMS && hi < thread * ITEMS + ITEMS)
			stops |= (mask) 1 << (hi - 1 - thread * ITEMS);
		if (thread == 0)
			open[0] = !(begins >> lo & 1);
		if (hi > thread * ITEMS && hi <= thread * ITEMS + ITEMS)
			open[1] = !(stops >> (hi - 1 - thread * ITEMS) & 1);

		const mask both = begins & stops;

		return {begins & ~both, stops & ~both};
	}

	/* Returns the position after the thread's last start; 0: it has none. */
	__device__ __forceinline__ u32
	last_of(mask begins) const
	{
		if (begins)
			return thread * ITEMS + (sizeof(mask) == 4 ? 32 - __clz((u32) begins) : 64 - __clzll(begins));
		return 0;
	}

	/* Appends the thread's starts to `at`, from rank on, one by one if a warp has few.  Items stay until written. */
	__device__ __forceinline__ void
	list(u16 *at, borders b, u32 rank, bool few) const
	{
		if (LONG)
		{
#pragma unroll
			for (u32 j = 0; j < ITEMS; j++)
				if (b.stops >> j & 1)
					at[TILE + rank + bits_set(b.begins & (((mask) 1 << j) - 1))] = (u16) (thread * ITEMS + j);
		}
		if (few)
		{
			for (; b.begins != 0; b.begins &= b.begins - 1)
				at[rank++] =
					(u16) (thread * ITEMS + (sizeof(mask) == 4 ? __ffs((u32) b.begins) : __ffsll(b.begins)) - 1);
		}
		else
		{
#pragma unroll
			for (u32 j = 0; j < ITEMS; j++)
				if (b.begins >> j & 1)
					at[rank++] = (u16) (thread * ITEMS + j);
		}
	}

	/* Writes the values of runs that start in a tile, from place n of the output on, in whole lines. */
	__device__ __forceinline__ void
	write_values(const runs_pending &p, const u16 *at, u64 n) const
	{
		const T *items = (const T *) (buffers + p.at);
		T *values = (T *) a.values + n;
		const u32 ahead = (u32) ((u64) values / BYTES) & (128 / BYTES - 1);

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

	/* Writes the lengths of runs that end in a tile.  before: state of preceding tiles. */
	__device__ __forceinline__ void
	write_lengths(const runs_pending &p, const u16 *at, const run_state &before) const
	{
		const u32 ahead = (u32) (before.n - 1) & 31;

		if (thread == 0 && p.count > 0 && before.n > 0)
			store_count(a.lengths, before.n - 1, p.first + at[0] + 1 - before.last, a.wide);
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
					store_count(a.lengths, before.n + j - 1, x[k], a.wide);
			}
		}
	}

	/* Writes the lengths of runs of two items or more, whose ends are known. */
	__device__ __forceinline__ void
	write_long_lengths(const runs_pending &p, const u16 *at, const run_state &before, const u32 *open) const
	{
		const u16 *const ends = at + TILE;

		for (u32 j = thread; j <= p.count; j += THREADS)
			if (j == 0)
			{
				if (open[0] && (p.count > 0 || !open[1]))
					store_count(a.lengths, before.n - 1, p.first + ends[0] + 2 - before.last, a.wide);
			}
			else if (j < p.count || !open[1])
				store_count(a.lengths, before.n + j - 1, ends[j] - at[j - 1] + 1, a.wide);
	}

	/* Counts starts over warps and publishes the tile's state.  Returns the rank of the thread's first one. */
	__device__ __forceinline__ u32
	count_begins(u32 n, u32 tile, i64 first, mask begins, u32 &total, u32 &count) const
	{
		const u32 half = n & 1, warp = thread / 32;
		u32 rank = warp_exclusive(bits_set(begins), total), place = lanes_max(last_of(begins));

		if (lane_id() == 0)
		{
			m.begun[half][warp] = total;
			m.lasts[half][warp] = place;
		}
		workers_barrier<THREADS>();
		rank += warps_exclusive<WARPS>(m.begun[half], warp, count);
		if (warp == 0)
		{
			place = lanes_max(lane_id() < WARPS ? m.lasts[half][lane_id()] : 0);
			if (thread == 0)
			{
				run_state own = {count, place ? (u64) (first + place) : 0};

				m.whole[n % GS_SLOTS] = own;
				publish(a.words, tile, own, a.sweep);
			}
			post(m.ring, n, tile);
		}
		return rank;
	}

	/* Finds and lists a tile's starts of runs. */
	__device__ __forceinline__ runs_pending
	take(const gs_ring_iteration &iteration, u32 tile, bool edges) const
	{
		u8 *const data = buffers + iteration.stage * PITCH + HALO;
		const i64 first = (i64) tile * TILE - a.shift;
		const u32 lo = edges && first < 0 ? (u32) -first : 0;
		const u32 hi = edges && (i64) a.n - first < (i64) TILE ? (u32) ((i64) a.n - first) : TILE;
		const T *mine = (const T *) (data + thread * VECTORS * 16);
		u32 w[VECTORS * 4], total, count;
		borders at = {0, 0};

		/* 1. complete the tile's edges */
		complete(data, tile, edges);

		/* 2. find where runs start */
		read_words(w, data + thread * VECTORS * 16, 0);
		at.begins = begins_of<BYTES, ITEMS>(w, mine[-1], a.floats);
		if (first <= 0 && thread == 0)
			at.begins |= (mask) 1 << lo; /* the very first item */
		if (LONG)
			at = long_runs(at.begins, w, mine + ITEMS, lo, hi, first + (i64) TILE < (i64) a.n,
						   m.open[iteration.n % GS_SLOTS]);
		if (edges)
		{
			at.begins &= valid_mask<ITEMS>(thread * ITEMS, lo, hi);
			at.stops &= valid_mask<ITEMS>(thread * ITEMS, lo, hi);
		}

		/* 3. count, and find the last start */
		const u32 rank = count_begins(iteration.n, tile, first, at.begins, total, count);

		/* 4. list positions */
		list(places_of(iteration.n), at, rank, total <= ITEMS);
		return {(u32) (data - buffers), count, first};
	}

	/* Writes the tile of iteration n. */
	__device__ __forceinline__ void
	write(u32 n, const runs_pending &p) const
	{
		prefix_wait<THREADS>(m.ring, n);

		const u16 *const at = places_of(n);
		const run_state before = m.before[n % GS_SLOTS];

		if (a.values != NULL)
			write_values(p, at, before.n);
		if (a.lengths != NULL && !LONG)
			write_lengths(p, at, before);
		if (a.lengths != NULL && LONG)
			write_long_lengths(p, at, before, m.open[n % GS_SLOTS]);
		if (a.starts != NULL)
			for (u32 j = thread; j < p.count; j += THREADS)
				store_count(a.starts, before.n + j, p.first + at[j], a.wide);
		free_arrive<THREADS>(m.ring, n);
	}

	/* A look-back warp. */
	__device__ __forceinline__ void
	look_back_tiles() const
	{
		i64 known = -1;
		run_state total = run_state::zero();

		find_prefixes<THREADS>(m.ring, [&](u32 slot, u32 tile) {
			run_state s = look_back(a.words, tile, m.whole[slot], known, total, a.sweep, m.whole[slot].n * 2 <= TILE,
									[&](u32 t) { return recount(t); });

			if (lane_id() == 0)
			{
				m.before[slot] = s;
				if (tile + 1 == a.sweep.tiles)
				{
					*a.count = total.n;
					if (!LONG && a.lengths != NULL)
						store_count(a.lengths, total.n - 1, a.n + 1 - total.last, a.wide);
				}
			}
		});
	}
};

/* A persistent block, which iterates over tiles (feed.cuh). */
template <int BYTES, bool LONG, class SHAPE>
__global__ void __launch_bounds__(SHAPE::threads + GS_SERVICE, SHAPE::blocks)
runs_kernel(const __grid_constant__ gs_runs_args a)
{
	typedef runs_block<BYTES, LONG, SHAPE> block;
	extern __shared__ __align__(128) u8 buffers[];
	__shared__ typename block::shared memory;
	const block b(a, memory, buffers);

	run_ring<const block, runs_pending>(b, memory.ring, a.sweep);
}

#endif
