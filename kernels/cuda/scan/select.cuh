/*
 * select.cuh: select by flags, by bits, by comparison; unique of neighbours; partition.
 *
 * A tile's state is the number of items kept.  Each thread takes a contiguous share of the tile from shared memory,
 * marks what it keeps in a mask, and the counts are summed over threads and warps.  What is kept moves to the front of
 * the tile's buffer (partition: the rest behind it), and goes out from there in whole lines a turn later (feed.cuh),
 * when its place is known.
 *
 * Bytes per item: its size once for the read and once for what is kept (partition: for all), plus the flag.
 * Source: Merrill and Garland, 4.4; load step fused in as visiting logic, Merrill and Grimshaw, 2.2.
 */
#ifndef GS_CUDA_SCAN_SELECT_CUH
#define GS_CUDA_SCAN_SELECT_CUH

#include "../base/compact.cuh"
#include "../base/feed.cuh"

enum gs_select_kind
{
	GS_KEEP_MASK,	/* by a byte or a bit per item */
	GS_KEEP_RANGE,	/* by comparison with constants */
	GS_KEEP_FIRST	/* items that differ from the one before */
};

struct gs_select_args
{
	gs_sweep sweep;
	gs_input in, flags;
	u64 n;
	u32 shift;		/* items that tile 0 lacks at its begin */
	u32 flag_bits;	/* 1 or 8 */
	u128 lo, span;	/* kept: x - lo <= span; 16-byte items: lo <= x <= span */
	u32 floats, negate;
	const u128 *halo; /* in place, unique: the vector before each tile, saved beforehand */
	u8 *out, *rest;
	u64 *count;
	count_state::words *words;
};

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

template <int BYTES, int KIND, bool REST, class SHAPE>
__global__ void __launch_bounds__(SHAPE::threads + GS_SERVICE, SHAPE::blocks)
select_kernel(const __grid_constant__ gs_select_args a)
{
	constexpr int THREADS = SHAPE::threads, VECTORS = SHAPE::vectors;
	typedef typename item_of<BYTES>::type T;
	constexpr u32 ITEMS = VECTORS * 16 / BYTES, TILE = THREADS * ITEMS, WARPS = THREADS / 32;
	constexpr u32 TILE_BYTES = THREADS * VECTORS * 16, HALO = KIND == GS_KEEP_FIRST ? 16 : 0;
	constexpr u32 FLAG_BYTES = KIND == GS_KEEP_MASK ? TILE + 16 : 0;
	constexpr u32 PITCH = HALO + TILE_BYTES + FLAG_BYTES;
	static_assert(GS_LEAST_STAGES * PITCH < gs_ring_room(SHAPE::shared), "the least stages fit");
	typedef typename mask_of<ITEMS>::type mask;
	static_assert(KIND != GS_KEEP_MASK || TILE % 128 == 0, "flag windows are whole vectors");

	extern __shared__ __align__(128) u8 buffers[];
	__shared__ gs_ring ring;
	__shared__ u32 kept[2][WARPS];
	__shared__ count_state whole[GS_SLOTS];
	__shared__ u64 before[GS_SLOTS];

	const u32 thread = threadIdx.x, warp = thread / 32;
	const i64 base = (i64) a.in.begin & ~(i64) 15;

	/* starts the loads of a tile into a stage; by the service thread */
	auto start = [&](int stage, u32 tile) {
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
			fw = window_of(a.flags, (i64) tile * TILE - a.shift, a.flag_bits);
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
		count_state total = count_state::zero();

		auto reduce = [&](u32 t) {
			i64 f = (i64) t * TILE - a.shift;
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
		};

		find_prefixes<THREADS>(ring, [&](u32 slot, u32 tile) {
			count_state s =
				look_back(a.words, tile, whole[slot], known, total, a.sweep, whole[slot].n * 8 <= TILE, reduce);

			if (lane_id() == 0)
			{
				before[slot] = s.n;
				if (tile + 1 == a.sweep.tiles)
					*a.count = total.n;
			}
		});
		return;
	}

	/* ---- the workers */
	const u32 flag_off = window_of(a.flags, -(i64) a.shift, a.flag_bits).off; /* the same in every tile */
	gs_ring_turn turn;
	/* A tile that waits for its prefix, compacted. */
	struct pending
	{
		u32 at; /* where in the buffers */
		u32 count, all;
		i64 first;
	} last = {}, older = {};

	auto write_out = [&](u32 n, const pending &p) {
		const u32 slot = n % GS_SLOTS;

		prefix_wait<THREADS>(ring, n);

		u64 o = before[slot];

		copy_out<BYTES, THREADS>(a.out + o * BYTES, buffers + p.at, p.count, thread);
		if (REST)
			copy_out<BYTES, THREADS>(a.rest + (p.first - o) * BYTES, buffers + p.at + p.count * BYTES,
									 p.all - p.count, thread);
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
		const i64 first = (i64) tile * TILE - a.shift; /* the tile's first item */
		const u32 lo = edges && first < 0 ? (u32) -first : 0;
		const u32 hi = edges && (i64) a.n - first < (i64) TILE ? (u32) ((i64) a.n - first) : TILE;
		u32 w[VECTORS * 4];
		mask keep = 0;

		/* 1. the tile is here but for its edges */
		const i64 begin = base + (i64) tile * TILE_BYTES;
		ring_copy(data - HALO, a.in, begin - HALO, TILE_BYTES + HALO, thread, THREADS);
		if (KIND == GS_KEEP_MASK)
			ring_copy(data + TILE_BYTES, a.flags, window_of(a.flags, first, a.flag_bits).begin,
					  TILE / 8 * a.flag_bits + 16, thread, THREADS);
		if (HALO && !GS_BULK && a.halo != NULL && thread == 0)
			*(u128 *) (data - HALO) = a.halo[tile];
		if (edges)
		{
			window_edges(data, a.in, begin, TILE_BYTES, thread, THREADS);
			if (KIND == GS_KEEP_MASK)
				window_edges(data + TILE_BYTES, a.flags, window_of(a.flags, first, a.flag_bits).begin,
					  TILE / 8 * a.flag_bits + 16, thread, THREADS);
		}
		if (edges || !GS_BULK)
			workers_barrier<THREADS>();

		/* 2. what is kept */
		read_words(w, data + thread * VECTORS * 16, 0);
		if (KIND == GS_KEEP_MASK)
		{
			u32 bit = flag_off + thread * ITEMS * a.flag_bits, sh = bit & 31;
			const u32 *f = (const u32 *) (data + TILE_BYTES) + bit / 32;

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
		}
		else if (KIND == GS_KEEP_RANGE)
		{
#pragma unroll
			for (u32 j = 0; j < ITEMS; j++)
				if (in_range<BYTES>(item<BYTES>(w, j), a))
					keep |= (mask) 1 << j;
		}
		else
		{
			T left = ((const T *) (data + thread * VECTORS * 16))[-1];

			if (a.floats)
			{
#pragma unroll
				for (u32 j = 0; j < ITEMS; j++)
					if (differs(item<BYTES>(w, j), j ? item<BYTES>(w, j - 1) : left, true))
						keep |= (mask) 1 << j;
			}
			else
			{
#pragma unroll
				for (u32 j = 0; j < ITEMS; j++)
					if (item<BYTES>(w, j) != (j ? item<BYTES>(w, j - 1) : left))
						keep |= (mask) 1 << j;
			}
			if (first + (i64) (thread * ITEMS) <= 0 && first + (i64) (thread * ITEMS + ITEMS) > 0)
				keep |= (mask) 1 << (u32) -(first + (i64) (thread * ITEMS)); /* the very first item */
		}
		if (edges)
			keep &= valid_mask<ITEMS>(thread * ITEMS, lo, hi);

		/* 3. counts */
		u32 total, count, rank = warp_exclusive(bits_set(keep), total);

		if (lane_id() == 0)
			kept[half][warp] = total;
		workers_barrier<THREADS>();
		rank += warps_exclusive<WARPS>(kept[half], warp, count);
		if (thread == 0)
		{
			whole[turn.n % GS_SLOTS] = count_state{count};
			publish(a.words, tile, count_state{count}, a.sweep);
		}
		if (warp == 0)
			post(ring, turn.n, tile);

		/*
		 * 4. compact in place; a thread's first dropped item goes behind all that are kept and those dropped before it
		 */
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

		/* 5. the tile before goes out, in whole lines */
		if (turn.n >= 2)
			write_out(turn.n - 2, older);
		older = last;
		last = {(u32) (data - buffers), count, hi - lo, first + lo};
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
