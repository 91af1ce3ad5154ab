/*
 * scan.cuh: inclusive and exclusive scan with any associative operation, commutative or not.
 *
 * A tile's state is OP over its items.  Each thread adds up a contiguous share of the tile, taken from shared memory;
 * threads and warps are scanned by shuffles in order, and each thread leaves the scan of its share where it came from.
 * A turn later (feed.cuh), when the tile's prefix is known, it is put before every item on the way out, 16 bytes per
 * store (single items at the ends of the array, and where the output is not aligned to 16 bytes).
 *
 * Bytes per item: one read, one write.  In place allowed: a tile writes only where it has read.
 * Source: Merrill and Garland, 4.1 to 4.3.
 */
#ifndef GS_CUDA_SCAN_SCAN_CUH
#define GS_CUDA_SCAN_SCAN_CUH

#include "../base/compact.cuh"
#include "../base/feed.cuh"
#include "../base/ops.cuh"

struct gs_scan_args
{
	gs_sweep sweep;
	gs_input in;
	u64 n;
	u32 shift;
	u32 exclusive;
	u64 first;	/* bits of an exclusive scan's first result */
	gs_mapping map;
	u8 *out;
	void *words;
};

template <class OP, class SHAPE>
__global__ void __launch_bounds__(SHAPE::threads + GS_SERVICE, SHAPE::blocks)
scan_kernel(const __grid_constant__ gs_scan_args a)
{
	constexpr int THREADS = SHAPE::threads, VECTORS = SHAPE::vectors;
	typedef typename OP::value T;
	typedef value_state<OP> state;
	typedef typename state::words words;
	constexpr u32 BYTES = sizeof(T), ITEMS = VECTORS * 16 / BYTES, TILE = THREADS * ITEMS, WARPS = THREADS / 32;
	constexpr u32 TILE_BYTES = THREADS * VECTORS * 16;
	static_assert(GS_LEAST_STAGES * TILE_BYTES < gs_ring_room(SHAPE::shared), "the least stages fit");

	extern __shared__ __align__(128) u8 buffers[];
	__shared__ gs_ring ring;
	__shared__ T sums[2][WARPS];
	__shared__ T whole[GS_SLOTS], before[GS_SLOTS];

	const u32 thread = threadIdx.x, warp = thread / 32;
	const i64 base = (i64) a.in.begin & ~(i64) 15;

	auto start = [&](int stage, u32 tile) {
		i64 begin = base + (i64) tile * TILE_BYTES;

		if (tile >= a.sweep.tiles)
			ring_announce(ring, stage, GS_NO_TILE, 0, true);
		else
		{
			u32 bytes = window_bulk_bytes(a.in, begin, TILE_BYTES);

			ring_announce(ring, stage, tile, bytes, bytes == TILE_BYTES);
			ring_load(ring, stage, buffers + stage * TILE_BYTES, a.in, begin, TILE_BYTES);
		}
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
		state total = state::zero();

		auto reduce = [&](u32 t) {
			/* a lane takes a contiguous share, for the sake of operations that do not commute */
			constexpr u32 SHARE = TILE / 32;
			i64 f = (i64) t * TILE - a.shift;
			T sum = OP::zero();

			for (u32 i = lane_id() * SHARE; i < (lane_id() + 1) * SHARE; i++)
				if (f + (i64) i >= 0)
				{
					auto y = ((const typename item_of<BYTES>::type *) a.in.begin)[f + i];

					if constexpr (OP::mapped)
						y = map_in(y, a.map);
					sum = OP::add(sum, OP::from_bits(y));
				}
			return warp_total(state{sum});
		};

		find_prefixes<THREADS>(ring, [&](u32 slot, u32 tile) {
			state s = look_back((words *) a.words, tile, state{whole[slot]}, known, total, a.sweep, false, reduce);

			if (lane_id() == 0)
				before[slot] = s.v;
		});
		return;
	}

	/* ---- the workers */
	gs_ring_turn turn;
	/* A tile that waits for its prefix, scanned in itself. */
	struct pending
	{
		u32 at; /* where in the buffers */
		u32 lo, hi;
		i64 first;
	} last = {}, older = {};

	auto finished = [&](typename item_of<BYTES>::type bits, T prefix) {
		auto r = OP::bits(OP::add(prefix, OP::from_bits(bits)));

		if constexpr (OP::mapped)
			r = map_out(r, a.map);
		return r;
	};
	auto write_out = [&](u32 n, const pending &p) {
		const u32 slot = n % GS_SLOTS;

		prefix_wait<THREADS>(ring, n);

		const T prefix = before[slot];
		u8 *const out = a.out + p.first * BYTES;

		if (p.lo == 0 && p.hi == TILE && ((u64) out & 15) == 0)
		{
			/* whole vectors, neighbouring threads next to each other */
#pragma unroll
			for (u32 i = 0; i < VECTORS; i++)
			{
				u32 w[4];

				read_words(w, (buffers + p.at) + (i * THREADS + thread) * 16, 0);
#pragma unroll
				for (u32 j = 0; j < 16 / BYTES; j++)
					put_item(w, j, finished(item<BYTES>(w, j), prefix));
				((uint4 *) out)[i * THREADS + thread] = make_uint4(w[0], w[1], w[2], w[3]);
			}
		}
		else
		{
			typedef typename item_of<BYTES>::type I;

			for (u32 i = p.lo + thread; i < p.hi; i += THREADS)
				((I *) out)[i] = finished(((const I *) (buffers + p.at))[i], prefix);
		}
		/* nothing comes before the first item */
		if (a.exclusive && p.first <= 0 && thread == p.lo / ITEMS)
			((typename item_of<BYTES>::type *) a.out)[0] = (typename item_of<BYTES>::type) a.first;
		free_arrive<THREADS>(ring, n);
	};

	for (;; turn.advance(a.sweep.stages))
	{
		const u32 half = turn.n & 1;
		const u32 word = ring_wait(ring, turn), tile = word & ~GS_EDGES;
		const bool edges = (word & GS_EDGES) != 0;

		if (word == GS_NO_TILE)
			break;

		u8 *const data = buffers + turn.stage * TILE_BYTES;
		const i64 first = (i64) tile * TILE - a.shift, begin = base + (i64) tile * TILE_BYTES;
		const u32 lo = edges && first < 0 ? (u32) -first : 0;
		const u32 hi = edges && (i64) a.n - first < (i64) TILE ? (u32) ((i64) a.n - first) : TILE;
		u32 w[VECTORS * 4];

		/* 1. the tile is here but for its edges */
		ring_copy(data, a.in, begin, TILE_BYTES, thread, THREADS);
		if (edges)
			window_edges(data, a.in, begin, TILE_BYTES, thread, THREADS);
		if (edges || !GS_BULK)
			workers_barrier<THREADS>();
		read_words(w, data + thread * VECTORS * 16, 0);
		if constexpr (OP::mapped)
		{
#pragma unroll
			for (u32 j = 0; j < ITEMS; j++)
				put_item(w, j, map_in(item<BYTES>(w, j), a.map));
		}
		if (edges)
		{
#pragma unroll
			for (u32 j = 0; j < ITEMS; j++)
				if (thread * ITEMS + j < lo || thread * ITEMS + j >= hi)
					put_item(w, j, OP::bits(OP::zero()));
		}

		/* 2. a thread's sum, then over the threads of the warp, then over warps */
		T mine = OP::from_bits(item<BYTES>(w, 0));

#pragma unroll
		for (u32 j = 1; j < ITEMS; j++)
			mine = OP::add(mine, OP::from_bits(item<BYTES>(w, j)));
#pragma unroll
		for (int d = 1; d < 32; d *= 2)
		{
			T older = shuffle_up(mine, d);

			if (lane_id() >= (u32) d)
				mine = OP::add(older, mine);
		}
		if (lane_id() == 31)
			sums[half][warp] = mine;
		mine = shuffle_up(mine, 1);
		if (lane_id() == 0)
			mine = OP::zero();
		workers_barrier<THREADS>();

		T x = lane_id() < WARPS ? sums[half][lane_id()] : OP::zero();

#pragma unroll
		for (int d = 1; d < (int) WARPS; d *= 2)
		{
			T older = shuffle_up(x, d);

			if (lane_id() >= (u32) d)
				x = OP::add(older, x);
		}
		T y = shuffle(x, (warp + 31) & 31), all = shuffle(x, WARPS - 1);

		if (warp > 0)
			mine = OP::add(y, mine);
		if (thread == 0)
		{
			whole[turn.n % GS_SLOTS] = all;
			publish((words *) a.words, tile, state{all}, a.sweep);
		}
		if (warp == 0)
			post(ring, turn.n, tile);

		/* 3. the scan inside the tile, left in its buffer */
#pragma unroll
		for (u32 j = 0; j < ITEMS; j++)
		{
			T next = OP::add(mine, OP::from_bits(item<BYTES>(w, j)));

			put_item(w, j, OP::bits(a.exclusive ? mine : next));
			mine = next;
		}
#pragma unroll
		for (int i = 0; i < VECTORS; i++)
			((uint4 *) (data + thread * VECTORS * 16))[i] =
				make_uint4(w[4 * i], w[4 * i + 1], w[4 * i + 2], w[4 * i + 3]);

		/* 4. the tile before goes out */
		if (turn.n >= 2)
			write_out(turn.n - 2, older);
		older = last;
		last = {(u32) (data - buffers), lo, hi, first};
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
