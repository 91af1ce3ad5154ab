/*
 * scan.cuh: inclusive and exclusive scan with any associative operation, commutative or not.
 *
 * A tile's state is OP over its items.  Each thread reduces a contiguous share of the tile from shared memory; threads
 * and warps are scanned in order by shuffles, and each thread writes the scan of its share back in place.  Two
 * iterations later (feed.cuh), when the tile's prefix is known, it is applied to every item during the write, 16 bytes
 * per store (single items at the ends of the array, and if the output is not aligned to 16 bytes).
 *
 * Bytes per item: one read, one write.  In place allowed: a tile writes only where it has read.  Source: Merrill and
 * Garland, 4.1 to 4.3.
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

/* A tile, scanned in itself, that waits for its prefix. */
struct scan_pending
{
	u32 at; /* position in the buffers */
	u32 lo, hi;
	i64 first;
};

/* A block's tiles and the steps of their processing. */
template <class OP, class SHAPE> struct scan_block
{
	typedef typename OP::value T;
	typedef value_state<OP> state;
	typedef typename state::words words;
	typedef typename item_of<sizeof(T)>::type bits;
	static constexpr int THREADS = SHAPE::threads, VECTORS = SHAPE::vectors;
	static constexpr u32 BYTES = sizeof(T), ITEMS = VECTORS * 16 / BYTES, TILE = THREADS * ITEMS;
	static constexpr u32 WARPS = THREADS / 32, TILE_BYTES = THREADS * VECTORS * 16;
	static_assert(GS_LEAST_STAGES * TILE_BYTES < gs_ring_room(SHAPE::shared), "the least stages fit");

	struct shared
	{
		gs_ring ring;
		T sums[2][WARPS];
		T whole[GS_SLOTS], before[GS_SLOTS];
	};

	const gs_scan_args &a;
	shared &m;
	u8 *buffers;
	i64 base; /* start of the vectors of the first tile */
	u32 thread;

	/* Initializes what is constant over all tiles. */
	__device__ __forceinline__
	scan_block(const gs_scan_args &args, shared &memory, u8 *tiles) : a(args), m(memory), buffers(tiles)
	{
		base = (i64) a.in.begin & ~(i64) 15;
		thread = threadIdx.x;
	}

	/* Starts the loads of a tile into a stage.  By the loader. */
	__device__ __forceinline__ void
	start(int stage, u32 tile) const
	{
		gs_ring &ring = m.ring;
		i64 begin = base + (i64) tile * TILE_BYTES;

		if (tile >= a.sweep.tiles)
			ring_announce(ring, stage, GS_NO_TILE, 0, true);
		else
		{
			u32 bytes = window_bulk_bytes(a.in, begin, TILE_BYTES);

			ring_announce(ring, stage, tile, bytes, bytes == TILE_BYTES);
			ring_load(ring, stage, buffers + stage * TILE_BYTES, a.in, begin, TILE_BYTES);
		}
	}

	/* Computes a tile's sum from the input, by a warp: the fallback of look-backs. */
	__device__ __forceinline__ state
	recount(u32 tile) const
	{
		/* contiguous shares per lane, for operations that do not commute */
		constexpr u32 SHARE = TILE / 32;
		i64 f = (i64) tile * TILE - a.shift;
		T sum = OP::zero();

		for (u32 i = lane_id() * SHARE; i < (lane_id() + 1) * SHARE; i++)
			if (f + (i64) i >= 0)
			{
				auto y = ((const bits *) a.in.begin)[f + i];

				if constexpr (OP::mapped)
					y = map_in(y, a.map);
				sum = OP::add(sum, OP::from_bits(y));
			}
		return warp_total(state{sum});
	}

	/* Loads the thread's items of a tile, after copying what bulk copies do not cover.  Items [lo, hi) exist. */
	__device__ __forceinline__ void
	take_items(u8 *data, u32 tile, bool edges, u32 lo, u32 hi, u32 (&w)[VECTORS * 4]) const
	{
		const i64 begin = base + (i64) tile * TILE_BYTES;

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
	}

	/* Inclusive scan over LANES lanes. */
	template <int LANES>
	static __device__ __forceinline__ T
	scan_lanes(T x)
	{
#pragma unroll
		for (int d = 1; d < LANES; d *= 2)
		{
			T older = shuffle_up(x, d);

			if (lane_id() >= (u32) d)
				x = OP::add(older, x);
		}
		return x;
	}

	/* Returns the prefix of the thread's items in the tile; all: the tile's sum.  sums: of warps, in shared memory. */
	__device__ __forceinline__ T
	scan_threads(const u32 (&w)[VECTORS * 4], T *sums, T &all) const
	{
		const u32 warp = thread / 32;
		T mine = OP::from_bits(item<BYTES>(w, 0));

#pragma unroll
		for (u32 j = 1; j < ITEMS; j++)
			mine = OP::add(mine, OP::from_bits(item<BYTES>(w, j)));
		mine = scan_lanes<32>(mine);
		if (lane_id() == 31)
			sums[warp] = mine;
		mine = shuffle_up(mine, 1);
		if (lane_id() == 0)
			mine = OP::zero();
		workers_barrier<THREADS>();

		T x = scan_lanes<(int) WARPS>(lane_id() < WARPS ? sums[lane_id()] : OP::zero());
		T y = shuffle(x, (warp + 31) & 31);

		all = shuffle(x, WARPS - 1);
		if (warp > 0)
			mine = OP::add(y, mine);
		return mine;
	}

	/* Scans the thread's items in the tile's buffer, starting from sum. */
	__device__ __forceinline__ void
	scan_items(u8 *data, u32 (&w)[VECTORS * 4], T sum) const
	{
#pragma unroll
		for (u32 j = 0; j < ITEMS; j++)
		{
			T next = OP::add(sum, OP::from_bits(item<BYTES>(w, j)));

			put_item(w, j, OP::bits(a.exclusive ? sum : next));
			sum = next;
		}
#pragma unroll
		for (int i = 0; i < VECTORS; i++)
			((uint4 *) (data + thread * VECTORS * 16))[i] =
				make_uint4(w[4 * i], w[4 * i + 1], w[4 * i + 2], w[4 * i + 3]);
	}

	/* Applies the prefix on the left, as operations need not commute. */
	__device__ __forceinline__ bits
	finished(bits x, T prefix) const
	{
		auto r = OP::bits(OP::add(prefix, OP::from_bits(x)));

		if constexpr (OP::mapped)
			r = map_out(r, a.map);
		return r;
	}

	/* Writes the tile of iteration n, with its prefix applied to every item. */
	__device__ __forceinline__ void
	write(u32 n, const scan_pending &p) const
	{
		prefix_wait<THREADS>(m.ring, n);

		const T prefix = m.before[n % GS_SLOTS];
		u8 *const out = a.out + p.first * BYTES;

		if (p.lo == 0 && p.hi == TILE && ((u64) out & 15) == 0)
		{
			/* whole vectors, adjacent for neighbouring threads */
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
			for (u32 i = p.lo + thread; i < p.hi; i += THREADS)
				((bits *) out)[i] = finished(((const bits *) (buffers + p.at))[i], prefix);
		/* the first item has no prefix */
		if (a.exclusive && p.first <= 0 && thread == p.lo / ITEMS)
			((bits *) a.out)[0] = (bits) a.first;
		free_arrive<THREADS>(m.ring, n);
	}

	/* Scans a tile in itself, in its buffer. */
	__device__ __forceinline__ scan_pending
	take(const gs_ring_iteration &iteration, u32 tile, bool edges) const
	{
		u8 *const data = buffers + iteration.stage * TILE_BYTES;
		const i64 first = (i64) tile * TILE - a.shift;
		const u32 lo = edges && first < 0 ? (u32) -first : 0;
		const u32 hi = edges && (i64) a.n - first < (i64) TILE ? (u32) ((i64) a.n - first) : TILE;
		u32 w[VECTORS * 4];
		T all;

		take_items(data, tile, edges, lo, hi, w);

		const T mine = scan_threads(w, m.sums[iteration.n & 1], all);

		if (thread == 0)
		{
			m.whole[iteration.n % GS_SLOTS] = all;
			publish((words *) a.words, tile, state{all}, a.sweep);
		}
		if (thread / 32 == 0)
			post(m.ring, iteration.n, tile);
		scan_items(data, w, mine);
		return {(u32) (data - buffers), lo, hi, first};
	}

	/* A look-back warp. */
	__device__ __forceinline__ void
	look_back_tiles() const
	{
		i64 known = -1;
		state total = state::zero();

		find_prefixes<THREADS>(m.ring, [&](u32 slot, u32 tile) {
			state s = look_back((words *) a.words, tile, state{m.whole[slot]}, known, total, a.sweep, false,
								[&](u32 t) { return recount(t); });

			if (lane_id() == 0)
				m.before[slot] = s.v;
		});
	}
};

/* A persistent block, which iterates over tiles (feed.cuh). */
template <class OP, class SHAPE>
__global__ void __launch_bounds__(SHAPE::threads + GS_SERVICE, SHAPE::blocks)
scan_kernel(const __grid_constant__ gs_scan_args a)
{
	typedef scan_block<OP, SHAPE> block;
	extern __shared__ __align__(128) u8 buffers[];
	__shared__ typename block::shared memory;
	const block b(a, memory, buffers);

	run_ring<const block, scan_pending>(b, memory.ring, a.sweep);
}

#endif
