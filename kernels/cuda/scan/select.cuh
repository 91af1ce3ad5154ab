/*
 * select.cuh: select by flags, bits or comparison; unique; partition.
 *
 * A tile's state is the number of items kept.  Each thread marks those of its contiguous share in a mask; counts are
 * summed over threads and warps.  Kept items move to the front of the tile's buffer (in a partition followed by the
 * rest), and are written in whole lines two iterations later (feed.cuh).
 *
 * Bytes per item: its size, read once and, if kept (in a partition always), written once, plus the flag.  Source:
 * Merrill and Garland, 4.4; load step fused in as visiting logic, Merrill and Grimshaw, 2.2.
 */
#ifndef GS_CUDA_SCAN_SELECT_CUH
#define GS_CUDA_SCAN_SELECT_CUH

#include "../base/compact.cuh"
#include "../base/feed.cuh"

enum gs_select_kind
{
	GS_KEEP_MASK,	/* by a byte or a bit per item */
	GS_KEEP_RANGE,	/* by comparison with constants */
	GS_KEEP_FIRST	/* items that differ from their predecessor */
};

struct gs_select_args
{
	gs_sweep sweep;
	gs_input in, flags;
	u64 n;
	u32 shift;		/* items that tile 0 lacks at its start */
	u32 flag_bits;	/* 1 or 8 */
	u128 lo, span;	/* keeps x - lo <= span; 16-byte items: lo <= x <= span */
	u32 floats, negate;
	const u128 *halo; /* unique in place: the vector before each tile, saved beforehand */
	u8 *out, *rest;
	u64 *count;
	count_state::words *words;
};

/* Returns whether an item is kept.  Bounds are order-preserving numbers. */
template <int BYTES>
__device__ __forceinline__ bool
in_range(typename item_of<BYTES>::type x, const gs_select_args &a)
{
	bool in;

	if constexpr (BYTES == 16)
		in = a.lo <= x && x <= a.span;
	else
	{
		typedef typename item_of<BYTES>::type T;

		if constexpr (BYTES >= 4)
			if (a.floats)
				x = float_order(x, true);
		in = (T) (x - (T) a.lo.lo) <= (T) a.span.lo;
	}
	return in != (a.negate != 0);
}

/* A compacted tile that waits for its prefix. */
struct select_pending
{
	u32 at; /* position in the buffers */
	u32 count, all;
	i64 first;
};

/* A block's tiles and the steps of their processing. */
template <int BYTES, int KIND, bool REST, class SHAPE> struct select_block
{
	typedef typename item_of<BYTES>::type T;
	static constexpr int THREADS = SHAPE::threads, VECTORS = SHAPE::vectors;
	static constexpr u32 ITEMS = VECTORS * 16 / BYTES, TILE = THREADS * ITEMS, WARPS = THREADS / 32;
	static constexpr u32 TILE_BYTES = THREADS * VECTORS * 16, HALO = KIND == GS_KEEP_FIRST ? 16 : 0;
	static constexpr u32 FLAG_BYTES = KIND == GS_KEEP_MASK ? TILE + 16 : 0;
	static constexpr u32 PITCH = HALO + TILE_BYTES + FLAG_BYTES;
	static_assert(GS_LEAST_STAGES * PITCH < gs_ring_room(SHAPE::shared), "the least stages fit");
	typedef typename mask_of<ITEMS>::type mask;
	static_assert(KIND != GS_KEEP_MASK || TILE % 128 == 0, "flag windows are whole vectors");

	struct shared
	{
		gs_ring ring;
		u32 kept[2][WARPS];
		count_state whole[GS_SLOTS];
		u64 before[GS_SLOTS];
	};

	const gs_select_args &a;
	shared &m;
	u8 *buffers;
	i64 base;	  /* start of the vectors of the first tile */
	u32 flag_off; /* bits before the first flag in a window, constant over all tiles */
	u32 thread;

	/* Initializes what is constant over all tiles. */
	__device__ __forceinline__
	select_block(const gs_select_args &args, shared &memory, u8 *tiles) : a(args), m(memory), buffers(tiles)
	{
		base = (i64) a.in.begin & ~(i64) 15;
		flag_off = window_of(a.flags, -(i64) a.shift, a.flag_bits).off;
		thread = threadIdx.x;
	}

	/* Returns the tile's first item, which may precede the array in tile 0. */
	__device__ __forceinline__ i64
	first_of(u32 tile) const
	{
		return (i64) tile * TILE - a.shift;
	}

	/* Returns the window of a tile's flags, bytes or bits; bits may begin inside a byte. */
	__device__ __forceinline__ gs_window
	flags_of(u32 tile) const
	{
		return window_of(a.flags, first_of(tile), a.flag_bits);
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
		bool saved = HALO && a.halo != NULL;
		i64 begin = base + (i64) tile * TILE_BYTES - (saved ? 0 : HALO);
		u32 bytes = TILE_BYTES + (saved ? 0 : HALO);
		u32 total = window_bulk_bytes(a.in, begin, bytes) + (saved ? 16 : 0);
		gs_window fw;
		u32 fbytes = 0;

		if (KIND == GS_KEEP_MASK)
		{
			fw = flags_of(tile);
			fbytes = TILE / 8 * a.flag_bits + 16;
			total += window_bulk_bytes(a.flags, fw.begin, fbytes);
		}
		ring_announce(ring, stage, tile, total, total == bytes + fbytes + (saved ? 16 : 0));
		ring_load(ring, stage, to + (saved ? HALO : 0), a.in, begin, bytes);
		if (KIND == GS_KEEP_MASK)
			ring_load(ring, stage, to + HALO + TILE_BYTES, a.flags, fw.begin, fbytes);
#if GS_BULK
		if (saved)
			bulk_load(to, a.halo + tile, 16, &ring.full[stage]);
#endif
	}

	/* Counts what a tile keeps from the input, by a warp: the fallback of look-backs. */
	__device__ __forceinline__ count_state
	recount(u32 tile) const
	{
		i64 f = first_of(tile);
		u32 n = 0;

		for (u32 i = (f < 0 ? (u32) -f : 0) + lane_id(); i < TILE; i += 32)
		{
			i64 g = f + i;
			const T *in = (const T *) a.in.begin;

			if (KIND == GS_KEEP_MASK)
			{
				u32 bit = a.flag_bits == 8 ? a.flags.begin[g] != 0 : a.flags.begin[g >> 3] >> (g & 7) & 1;

				n += bit != a.negate;
			}
			else if (KIND == GS_KEEP_RANGE)
				n += in_range<BYTES>(in[g], a);
			else
				n += g == 0 || differs(in[g], in[g - 1], a.floats);
		}
		return count_state{lanes_add(n)};
	}

	/* Copies what bulk copies do not cover: a tile's edges, or all of it. */
	__device__ __forceinline__ void
	complete(u8 *data, u32 tile, bool edges) const
	{
		const i64 begin = base + (i64) tile * TILE_BYTES;

		ring_copy(data - HALO, a.in, begin - HALO, TILE_BYTES + HALO, thread, THREADS);
		if (KIND == GS_KEEP_MASK)
			ring_copy(data + TILE_BYTES, a.flags, flags_of(tile).begin, TILE / 8 * a.flag_bits + 16, thread, THREADS);
		if (HALO && !GS_BULK && a.halo != NULL && thread == 0)
			*(u128 *) (data - HALO) = a.halo[tile];
		if (edges)
		{
			window_edges(data, a.in, begin, TILE_BYTES, thread, THREADS);
			if (KIND == GS_KEEP_MASK)
				window_edges(data + TILE_BYTES, a.flags, flags_of(tile).begin, TILE / 8 * a.flag_bits + 16, thread,
							 THREADS);
		}
		if (edges || !GS_BULK)
			workers_barrier<THREADS>();
	}

	/* Mask of the thread's items that are flagged. */
	__device__ __forceinline__ mask
	keep_flagged(const u8 *data) const
	{
		u32 bit = flag_off + thread * ITEMS * a.flag_bits, sh = bit & 31;
		const u32 *f = (const u32 *) (data + TILE_BYTES) + bit / 32;
		mask keep = 0;

		if (a.flag_bits == 8)
		{
#pragma unroll
			for (u32 j = 0; j < ITEMS; j += 4)
			{
				u32 x = f[j / 4];

				if (sh)
					x = __funnelshift_r(x, f[j / 4 + 1], sh);
				x = (__vcmpne4(x, 0) & 0x08040201u) * 0x01010101u >> 24;
				keep |= (mask) x << j;
			}
		}
		else
		{
#pragma unroll
			for (u32 j = 0; j < ITEMS; j += 32)
				keep |= (mask) __funnelshift_r(f[j / 32], f[j / 32 + 1], sh) << j;
		}
		if (a.negate)
			keep = ~keep;
		if constexpr (ITEMS < 8 * sizeof(mask))
			keep &= ((mask) 1 << ITEMS) - 1;
		return keep;
	}

	/* Mask of the thread's items that differ from their predecessor. */
	__device__ __forceinline__ mask
	keep_first(const u8 *data, const u32 (&w)[VECTORS * 4], i64 first) const
	{
		T left = ((const T *) (data + thread * VECTORS * 16))[-1];
		mask keep = begins_of<BYTES, ITEMS>(w, left, a.floats);

		if (first + (i64) (thread * ITEMS) <= 0 && first + (i64) (thread * ITEMS + ITEMS) > 0)
			keep |= (mask) 1 << (u32) -(first + (i64) (thread * ITEMS)); /* the very first item */
		return keep;
	}

	/* Mask of the thread's items that are kept. */
	__device__ __forceinline__ mask
	keep(const u8 *data, const u32 (&w)[VECTORS * 4], i64 first) const
	{
		if constexpr (KIND == GS_KEEP_MASK)
			return keep_flagged(data);
		else if constexpr (KIND == GS_KEEP_FIRST)
			return keep_first(data, w, first);
		else
		{
			mask keep = 0;

#pragma unroll
			for (u32 j = 0; j < ITEMS; j++)
				if (in_range<BYTES>(item<BYTES>(w, j), a))
					keep |= (mask) 1 << j;
			return keep;
		}
	}

	/* Compacts items [lo, hi) in place: kept ones from the thread's rank on, dropped ones behind all kept. */
	__device__ __forceinline__ void
	compact(u8 *data, const u32 (&w)[VECTORS * 4], mask keep, u32 rank, u32 count, u32 lo, u32 hi) const
	{
		T *const packed = (T *) data;
		u32 at = thread * ITEMS < lo ? count : count + thread * ITEMS - lo - rank;

#pragma unroll
		for (u32 j = 0; j < ITEMS; j++)
			if (keep >> j & 1)
				packed[rank++] = item<BYTES>(w, j);
		if (REST)
		{
			mask drop = ~keep & valid_mask<ITEMS>(thread * ITEMS, lo, hi);

#pragma unroll
			for (u32 j = 0; j < ITEMS; j++)
				if (drop >> j & 1)
					packed[at++] = item<BYTES>(w, j);
		}
	}

	/* Marks a tile's items and leaves it compacted in its buffer. */
	__device__ __forceinline__ select_pending
	take(const gs_ring_iteration &iteration, u32 tile, bool edges) const
	{
		u8 *const data = buffers + iteration.stage * PITCH + HALO;
		const i64 first = first_of(tile);
		const u32 lo = edges && first < 0 ? (u32) -first : 0, half = iteration.n & 1, warp = thread / 32;
		const u32 hi = edges && (i64) a.n - first < (i64) TILE ? (u32) ((i64) a.n - first) : TILE;
		u32 w[VECTORS * 4];

		/* 1. complete the tile's edges */
		complete(data, tile, edges);

		/* 2. mark kept items */
		read_words(w, data + thread * VECTORS * 16, 0);
		mask kept = keep(data, w, first);

		if (edges)
			kept &= valid_mask<ITEMS>(thread * ITEMS, lo, hi);

		/* 3. count */
		u32 total, count, rank = warp_exclusive(bits_set(kept), total);

		if (lane_id() == 0)
			m.kept[half][warp] = total;
		workers_barrier<THREADS>();
		rank += warps_exclusive<WARPS>(m.kept[half], warp, count);
		if (thread == 0)
		{
			m.whole[iteration.n % GS_SLOTS] = count_state{count};
			publish(a.words, tile, count_state{count}, a.sweep);
		}
		if (warp == 0)
			post(m.ring, iteration.n, tile);

		/* 4. compact in place */
		compact(data, w, kept, rank, count, lo, hi);
		return {(u32) (data - buffers), count, hi - lo, first + lo};
	}

	/* Writes the compacted tile of iteration n in whole lines. */
	__device__ __forceinline__ void
	write(u32 n, const select_pending &p) const
	{
		prefix_wait<THREADS>(m.ring, n);

		const u64 before = m.before[n % GS_SLOTS];

		copy_out<BYTES, THREADS>(a.out + before * BYTES, buffers + p.at, p.count, thread);
		if (REST)
			copy_out<BYTES, THREADS>(a.rest + (p.first - before) * BYTES, buffers + p.at + p.count * BYTES,
									 p.all - p.count, thread);
		free_arrive<THREADS>(m.ring, n);
	}

	/* A look-back warp. */
	__device__ __forceinline__ void
	look_back_tiles() const
	{
		i64 known = -1;
		count_state total = count_state::zero();

		find_prefixes<THREADS>(m.ring, [&](u32 slot, u32 tile) {
			count_state s = look_back(a.words, tile, m.whole[slot], known, total, a.sweep,
									  m.whole[slot].n * 8 <= TILE, [&](u32 t) { return recount(t); });

			if (lane_id() == 0)
			{
				m.before[slot] = s.n;
				if (tile + 1 == a.sweep.tiles)
					*a.count = total.n;
			}
		});
	}
};

/* A persistent block, which iterates over tiles (feed.cuh). */
template <int BYTES, int KIND, bool REST, class SHAPE>
__global__ void __launch_bounds__(SHAPE::threads + GS_SERVICE, SHAPE::blocks)
select_kernel(const __grid_constant__ gs_select_args a)
{
	typedef select_block<BYTES, KIND, REST, SHAPE> block;
	extern __shared__ __align__(128) u8 buffers[];
	__shared__ typename block::shared memory;
	const block b(a, memory, buffers);

	run_ring<const block, select_pending>(b, memory.ring, a.sweep);
}

#endif
