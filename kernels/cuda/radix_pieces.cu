/*
 * radix_pieces.cu: a first pass over a column that nobody has looked at: it looks, and puts tiles in order where they lie.
 *
 * A pass that writes its words digit by digit has to know where digits begin, so all keys are counted in a read of their own; and each word has to tell
 * its row, so 8 bytes are written per row.  Here a tile is read, put in order of the first digit and written back as one block of memory, in words
 * of 4 bytes: the rest of the key, and the place in the tile.  No tile waits for another one.  Beside its words it says where its digits begin.  Two
 * small kernels make of that the list of pieces in order of digit, then tile (radix_pieces.cuh), by which the second pass reads.
 *
 * So the look of order_look.cu can be left out, and this pass does what it would have done: least and greatest value, bits that vary, the counts of the
 * other digits.  The digits are cut by a guess from a sample (order_look.cu), which also has shown that the rows are not in order.  The host compares
 * the guess with what was seen, while the other passes run already: order.cu.
 *
 * Bytes per row: 8 (4) read, 4 written; of the list 8 per piece, of which there are some 512 in a tile, and 1 KB per tile for where digits begin.
 * Tiles in order before words move: Satish, Harris and Garland, Designing efficient sorting algorithms for manycore GPUs, IPDPS 2009.
 */
#include "look.cuh"

#include <cstring>
#include <type_traits>

#define BINS	 512
#define GROUP	 32	 /* tiles whose pieces are listed together */
#define LISTED	 512 /* threads that list */
#define SENTINELS 32 /* lanes that read a piece each */

static_assert(BINS == 1 << GS_PLACE_BITS && GROUP == 32, "a digit's pieces of a group of tiles are listed by the lanes of a warp");

typedef unsigned long long pair; /* pieces << 32 | words */

struct split_args
{
	const void *in;
	u32 *out; /* tiles in order */
	u64 n;
	u32 tiles, each; /* tiles of a block, side by side */
	u32 bits[3];	 /* of the digits, from the key's lowest bits on */
	gs_transform t;
	u32 above;		 /* the bit above the key */
	gs_looking to;	 /* values are looked at in 32 bits; base is a multiple of 2^above, and no more than 2^64 - 2^32 */
	u16 *starts; /* per tile and digit: place of its first word in the tile */
	pair *sums;	 /* per digit and block */
	pair *totals; /* per digit */
	u32 *begins;
	gs_piece *list;
	gs_piece_cut *cuts;
	u32 blocks;
};

__device__ __forceinline__ u32
valid_of(const split_args &a, u32 tile)
{
	const u64 left = a.n - ((u64) tile << GS_PIECE_BITS);

	return left < GS_PIECE_TILE ? (u32) left : GS_PIECE_TILE;
}

/* Shared memory of a block that splits: words in order, counters per warp and digit, and of the other digits. */
constexpr size_t
split_shared(const gs_pieces_shape &s)
{
	return sizeof(u32) * (GS_PIECE_TILE + s.threads / 32 * BINS + 2 * BINS + 32);
}

/* Tiles into order of the first digit. */
template <class T, bool ATOMICS, int THREADS, int BATCH, int BLOCKS>
static __global__ void __launch_bounds__(THREADS, BLOCKS) split_kernel(const __grid_constant__ split_args a)
{
	constexpr u32 ITEMS = GS_PIECE_TILE / THREADS, WARPS = THREADS / 32;
	static_assert(THREADS == BINS && ITEMS % BATCH == 0, "a digit to a thread");
	extern __shared__ __align__(128) u8 memory[];
	u32 *const words = (u32 *) memory, *const counters = words + GS_PIECE_TILE, *const others = counters + WARPS * BINS;
	u32 *const sums = others + 2 * BINS;
	const u32 thread = threadIdx.x, warp = thread / 32, lane = lane_id(), mine = warp * 32 * ITEMS + lane;
	const u32 last = min((blockIdx.x + 1) * a.each, a.tiles), mask = (1u << a.bits[0]) - 1;
	u32 *const counter = counters + warp * BINS;
	const u32 first = (u32) *(const T *) a.in;
	u32 least = ~0u, most = 0, varying = 0, far = 0, odd = 0, k[ITEMS];
	pair all = 0;

	others[thread] = others[BINS + thread] = 0;
	__syncthreads();
	for (u32 tile = blockIdx.x * a.each; tile < last; tile++)
	{
		const u32 valid = valid_of(a, tile);
		const T *from = (const T *) a.in + ((u64) tile << GS_PIECE_BITS);

		/* 1. keys, looked at, and counted by their digits */
#pragma unroll
		for (u32 i = lane * 4; i < BINS; i += 128)
			*(uint4 *) (counter + i) = make_uint4(0, 0, 0, 0);
		__syncwarp();

		auto read = [&](auto is_whole) {
			constexpr bool whole = decltype(is_whole)::value;

#pragma unroll
			for (u32 b = 0; b < ITEMS; b += BATCH)
			{
				T x[BATCH];

#pragma unroll
				for (u32 i = 0; i < BATCH; i++)
					if (whole || mine + (b + i) * 32 < valid)
						x[i] = __ldcs(from + mine + (b + i) * 32);
#pragma unroll
				for (u32 i = 0; i < BATCH; i++)
				{
					if (whole || mine + (b + i) * 32 < valid)
					{
						const T v = (x[i] ^ (T) a.t.mask) - (T) a.to.base;
						const u32 key = ((u32) v & (u32) a.t.keep) >> a.t.shift;

						least = min(least, (u32) v);
						most = max(most, (u32) v);
						far |= (u32) ((u64) v >> 32);
						varying |= (u32) x[i] ^ first;
						odd += (u32) v >> a.above & 1;
						k[b + i] = key;
						atomicAdd(others + (key >> a.bits[0] & ((1u << a.bits[1]) - 1)), 1);
						atomicAdd(others + BINS + (key >> (a.bits[0] + a.bits[1])), 1);
					}
					else
						k[b + i] = ~0u;
					atomicAdd(counter + (k[b + i] & mask), 1);
				}
			}
		};

		if (valid == GS_PIECE_TILE)
			read(std::true_type());
		else
			read(std::false_type());
		__syncthreads();

		/* 2. counters become places */
		u32 count = 0, start;

#pragma unroll
		for (u32 w = 0; w < WARPS; w++)
			count += counters[w * BINS + thread];
		start = block_exclusive<WARPS>(count, sums);
		a.starts[(u64) tile * BINS + thread] = (u16) start;
		{
			u32 place = start;
			const u32 real = min(start + count, valid) - min(start, valid);

#pragma unroll
			for (u32 w = 0; w < WARPS; w++)
			{
				const u32 c = counters[w * BINS + thread];

				counters[w * BINS + thread] = place;
				place += c;
			}
			all += (pair) (real != 0) << 32 | real;
		}
#if __CUDA_ARCH__ >= 900
		if (thread == 0)
			bulk_stored();
#endif
		/* a quarter of the next tile: all of it, for all blocks, is more than the second-level cache keeps */
		if (thread == 0 && tile + 1 < last)
			prefetch_items(from + GS_PIECE_TILE, valid_of(a, tile + 1) * (u32) sizeof(T) / 4);

		/* 3. words to their places, once the tile before has left */
		auto word = [&](u32 i) { return k[i] >> a.bits[0] << GS_PIECE_BITS | (mine + i * 32); };

		if (!__syncthreads_or(!ATOMICS || valid < GS_PIECE_TILE || count > GS_PIECE_TILE / 32))
		{
#pragma unroll
			for (u32 i = 0; i < ITEMS; i++)
				words[atomicAdd(counter + (k[i] & mask), 1)] = word(i);
		}
		else
		{
#pragma unroll
			for (u32 i = 0; i < ITEMS; i++)
			{
				const u32 d = k[i] & mask, alike = lanes_alike<GS_PLACE_BITS>(d), place = counter[d];
				const u32 below = __popc(alike & lanes_below());

				__syncwarp();
				if (below == 0)
					counter[d] = place + __popc(alike);
				__syncwarp();
				words[place + below] = word(i);
			}
		}

		/* 4. out */
		u32 *const to = a.out + ((u64) tile << GS_PIECE_BITS);

#if __CUDA_ARCH__ >= 900
		bulk_fence();
		__syncthreads();
		if (valid == GS_PIECE_TILE)
		{
			if (thread == 0)
				bulk_store(to, words, GS_PIECE_TILE * sizeof(u32));
			continue;
		}
#else
		__syncthreads();
#endif
		for (u32 i = thread; i < valid; i += THREADS)
			to[i] = words[i];
		__syncthreads();
	}
	a.sums[(u64) thread * a.blocks + blockIdx.x] = all;
	for (u32 i = thread; i < 2 * BINS; i += THREADS)
		if (others[i] != 0)
			atomicAdd(a.to.counts + (1 + i / BINS) * GS_PLACE + i % BINS, others[i]);
	odd = lanes_add(odd);
	if (lane == 0 && odd != 0)
		atomicAdd((unsigned long long *) &a.to.look->odd, (unsigned long long) odd);
	{
		look_sum<u64> seen = {}; /* of no values */

		if (least <= most)
			seen = {~(a.to.base + least), a.to.base + most, varying, varying};
		if (far) /* a value is further off than the sample allows: the guess shall not hold */
			seen = {~0ull, ~0ull, ~0ull, ~0ull};
		look_done(a.to.look, seen, GS_SEEN_RISE | GS_SEEN_FALL, true, false);
	}
#if __CUDA_ARCH__ >= 900
	if (thread == 0)
		bulk_stored();
#endif
}

/* What has been seen says whether the digits were cut rightly, and where the order has to be turned. */
static __device__ void
judge(const split_args &a)
{
	const gs_look &look = *a.to.look;

	*a.to.turn = gs_turn(look.odd, ~look.not_min - a.to.base, a.above, a.n);
	*a.to.holds = gs_guess_holds(&look, a.t.shift, a.above - a.t.shift);
}

/* Each digit's pieces and words in the blocks become those before them, a warp to a digit; and what was seen is judged. */
static __global__ void __launch_bounds__(256) sums_kernel(const __grid_constant__ split_args a)
{
	const u32 digit = (blockIdx.x * 256 + threadIdx.x) / 32;
	pair *sums = a.sums + (u64) digit * a.blocks, before = 0;

	for (u32 b = 0; b < a.blocks; b += 32)
	{
		const pair x = b + lane_id() < a.blocks ? sums[b + lane_id()] : 0, upto = warp_inclusive(x);

		if (b + lane_id() < a.blocks)
			sums[b + lane_id()] = before + upto - x;
		before += __shfl_sync(GS_ALL_LANES, upto, 31);
	}
	if (lane_id() == 0)
		a.totals[digit] = before;
	if (blockIdx.x == 0 && threadIdx.x == 0)
		judge(a);
}

/* Lists the pieces of the tiles that a block has put in order, and the cuts, SHARE words apart, that lie in them. */
template <u32 SHARE>
static __global__ void __launch_bounds__(LISTED, 2) list_kernel(const __grid_constant__ split_args a)
{
	constexpr u32 ROW = BINS + 2; /* an odd number of words, so that tiles do not meet in a bank */
	__shared__ __align__(16) u16 starts[GROUP * ROW];
	__shared__ pair at[BINS], sums[LISTED / 32];
	const u32 thread = threadIdx.x, warp = thread / 32, lane = lane_id();
	const u32 first = blockIdx.x * a.each, last = min(first + a.each, a.tiles);

	if (!*a.to.holds)
		return;
	{
		static_assert(LISTED == BINS, "a digit to a thread");
		const pair total = a.totals[thread], before = block_exclusive<LISTED / 32>(total, sums);

		at[thread] = before + a.sums[(u64) thread * a.blocks + blockIdx.x];
		if (blockIdx.x == 0)
		{
			a.begins[thread] = (u32) before;
			if (thread == BINS - 1)
			{
				a.begins[BINS] = (u32) a.n;
				for (u32 i = 0; i < SENTINELS; i++)
					a.list[((before + total) >> 32) + i] = {~0u, 0};
			}
		}
	}

	const u32 groups = (a.each + GROUP - 1) / GROUP, each = (a.each + groups - 1) / groups;

	for (u32 t = first; t < last; t += each)
	{
		const u32 tiles = min(each, last - t);

		__syncthreads();
		for (u32 i = thread; i < tiles * (BINS / 2); i += LISTED)
			((u32 *) starts)[i / (BINS / 2) * (ROW / 2) + i % (BINS / 2)] = ((const u32 *) (a.starts + (u64) t * BINS))[i];
		__syncthreads();

		const u32 tile = t + lane, valid = lane < tiles ? valid_of(a, tile) : 0;

#pragma unroll 4
		for (u32 d = warp; d < BINS; d += LISTED / 32)
		{
			const pair before = at[d];
			const u32 begin = min((u32) starts[lane * ROW + d], valid);
			const u32 count = min(d + 1 < BINS ? (u32) starts[lane * ROW + d + 1] : GS_PIECE_TILE, valid) - begin;
			const u32 upto = warp_inclusive(count), some = __ballot_sync(GS_ALL_LANES, count != 0);
			const u32 place = (u32) before + upto - count, piece = (u32) (before >> 32) + __popc(some & lanes_below());

			if (count != 0)
			{
				a.list[piece] = {place, tile << GS_PIECE_BITS | begin};
				for (u32 c = (place + SHARE - 1) / SHARE; c * SHARE < place + count; c++)
					a.cuts[c] = {piece, d};
			}
			__syncwarp();
			if (lane == 31)
				at[d] = before + ((pair) __popc(some) << 32 | upto);
		}
	}
}

/* ---------------------------------------------------------------- on the host */

/* What the list needs, in order: starts, sums, totals, begins, list, cuts. */
struct room
{
	size_t starts, sums, totals, begins, list, cuts, all;
};

static room
room_of(u64 n, u32 bits, u32 blocks, u32 share)
{
	const u64 tiles = (n + GS_PIECE_TILE - 1) >> GS_PIECE_BITS, most = tiles << bits, pieces = (n < most ? n : most) + SENTINELS;
	room r;

	r.starts = 0;
	r.sums = r.starts + gs_round256(tiles * BINS * sizeof(u16));
	r.totals = r.sums + gs_round256((size_t) BINS * blocks * sizeof(pair));
	r.begins = r.totals + BINS * sizeof(pair);
	r.list = r.begins + gs_round256((BINS + 1) * sizeof(u32));
	r.cuts = r.list + gs_round256(pieces * sizeof(gs_piece));
	r.all = r.cuts + gs_round256((n / share + 1) * sizeof(gs_piece_cut));
	return r;
}

template <class T>
static void (*split_for(bool atomics))(split_args)
{
	constexpr gs_pieces_shape s = gs_pieces_split;

	return atomics ? split_kernel<T, true, s.threads, s.batch, s.blocks> : split_kernel<T, false, s.threads, s.batch, s.blocks>;
}

static void (*split_of(gs_radix_io from, bool atomics))(split_args)
{
	return from == GS_COLUMN4 ? split_for<u32>(atomics) : split_for<u64>(atomics);
}

/* Words of a warp of the second pass: from cut to cut. */
static constexpr u32
share_of(bool atomics)
{
	return 32 * gs_radix_shape_of(GS_PLACE_BITS, atomics, GS_PIECES, 0).items;
}

/* Tiles are shared evenly by as many blocks as the device holds, or by fewer, so that each has some. */
static gs_status
blocks_of(gs_cuda_engine *e, void (*split)(split_args), u64 n, u32 *blocks, u32 *each)
{
	const u32 tiles = (u32) ((n + GS_PIECE_TILE - 1) >> GS_PIECE_BITS);
	int most;

	GS_TRY(gs_cuda_blocks(e, (const void *) split, gs_pieces_split.threads, split_shared(gs_pieces_split), &most));
	*each = (tiles + most - 1) / most;
	*blocks = (tiles + *each - 1) / *each;
	return GS_OK;
}

/*
 * May the look at a column of so many rows be left to the first pass?  0: no, 1: if it saves time; for tests 2: wherever it is possible.
 */
u32
gs_pieces_way(gs_cuda_engine *e, u64 rows, size_t width)
{
	const u32 way = ((const gs_cuda_sort *) e->sort)->force_pieces;
	u32 blocks, each;

	static_assert(share_of(false) <= share_of(true), "ballots have the most cuts: what holds them holds the others'");
	if (way == 1 || rows > (u64) 1 << 31 || (way == 0 && rows < GS_PIECES_LEAST) || !gs_radix_fits(e, GS_PLACE_BITS, GS_PIECES) ||
		split_shared(gs_pieces_split) > e->properties.sharedMemPerBlockOptin || blocks_of(e, split_of(width == 8 ? GS_COLUMN8 : GS_COLUMN4, false), rows, &blocks, &each) != GS_OK ||
		gs_round256(rows * sizeof(u32)) + room_of(rows, GS_PLACE_BITS, blocks, share_of(false)).all > rows * sizeof(u64))
		return 0;
	return way == 2 ? 2 : 1;
}

/*
 * The first pass, which looks: words of 4 bytes to out, which has 8 bytes per row, and behind them what is said of them.  pieces: how the second pass reads
 * them.  The host is told what was seen, for gs_pieces_seen.
 */
gs_status
gs_pieces_run(gs_cuda_engine *e, const gs_radix_sort *s, const u32 *widths, void *out, gs_pieces *pieces)
{
	const bool atomics = s->wrong != NULL;
	void (*const split)(split_args) = split_of(s->from, atomics);
	gs_cuda_sort *sort;
	split_args a = {};
	room r;
	u8 *more = (u8 *) out + gs_round256(s->n * sizeof(u32));

	GS_TRY(gs_sort_state(e, &sort));
	if (sort->looked == NULL)
		GS_TRY(gs_cuda_status(cudaEventCreateWithFlags(&sort->looked, cudaEventDisableTiming)));
	a.in = s->in;
	a.out = (u32 *) out;
	a.n = s->n;
	a.tiles = (u32) ((s->n + GS_PIECE_TILE - 1) >> GS_PIECE_BITS);
	memcpy(a.bits, widths, sizeof(a.bits));
	a.t = s->t;
	a.above = s->t.shift + s->bits;
	a.to = s->looking;
	GS_TRY(blocks_of(e, split, s->n, &a.blocks, &a.each));
	r = room_of(s->n, widths[0], a.blocks, share_of(atomics));
	a.starts = (u16 *) (more + r.starts);
	a.sums = (pair *) (more + r.sums);
	a.totals = (pair *) (more + r.totals);
	a.begins = (u32 *) (more + r.begins);
	a.list = (gs_piece *) (more + r.list);
	a.cuts = (gs_piece_cut *) (more + r.cuts);
	*pieces = {a.list, a.cuts, a.begins, widths[0]};
	split<<<a.blocks, gs_pieces_split.threads, split_shared(gs_pieces_split), e->stream>>>(a);
	sums_kernel<<<BINS / 8, 256, 0, e->stream>>>(a);
	(atomics ? list_kernel<share_of(true)> : list_kernel<share_of(false)>)<<<a.blocks, LISTED, 0, e->stream>>>(a);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(gs_cuda_status(cudaMemcpyAsync(sort->host, s->looking.look, sizeof(gs_look), cudaMemcpyDeviceToHost, e->stream)));
	return gs_cuda_status(cudaEventRecord(sort->looked, e->stream));
}

/* What the first pass has seen.  Waits for that pass, not for what was enqueued behind it. */
gs_status
gs_pieces_seen(gs_cuda_engine *e, const gs_look **look)
{
	const gs_cuda_sort *sort = (const gs_cuda_sort *) e->sort;

	*look = (const gs_look *) sort->host;
	return gs_cuda_status(cudaEventSynchronize(sort->looked));
}
