/*
 * radix_pieces.cuh: words of a column whose tiles were put in order where they lie, read digit by digit.
 *
 * A piece: words of one tile that share the first digit.  The first pass (radix_pieces.cu) writes each tile back in order of that digit, in
 * words of 4 bytes: what the key has above the digit, and the place that the row had in the tile.  Tile and digit, which the word has lost,
 * are known from where it lies.  A list names all pieces in order of digit, then tile; the second pass reads through it as if
 * the words lay in that order.
 */
#ifndef GS_RADIX_PIECES_CUH
#define GS_RADIX_PIECES_CUH

#include "radix_tile.cuh"
#include "sort_tuning.h"

struct alignas(8) gs_piece
{
	u32 begin; /* place of its first word in the order */
	u32 from;  /* and in memory */
};

/* Where a warp of the second pass begins to read: the piece of its first word, and that piece's digit. */
struct alignas(8) gs_piece_cut
{
	u32 piece, digit;
};

struct gs_pieces
{
	const gs_piece *list; /* 32 more at the end, which begin behind all words */
	const gs_piece_cut *cuts;
	const u32 *begins; /* of digits in the order; one more at the end */
	u32 bits;		   /* of the digit */
};

#define GS_PIECE_TILE (1u << GS_PIECE_BITS)

/*
 * What a warp reads of a tile, ITEMS times 32 words that follow each other in the order: in shared memory, made by warps that have nothing else to
 * do at that time.
 */
template <int ITEMS> struct alignas(8) gs_piece_window
{
	static constexpr u32 SHARE = 32 * ITEMS;

	uint2 marks[ITEMS]; /* of 32 words: which of them are the last ones of a piece; address of the shift of the first one's piece */
	i32 shift[32];		/* of the pieces: place in memory less place in the order */
	gs_piece_cut cut;
	u32 piece;			/* the first one */
	u32 digit;			/* of the first word */
	u32 several;		/* there are others */
	u32 many;			/* 32 or more pieces: words are looked up in the list */

	/* Starts to fetch where windows first, first + step, ... below end begin, by the lanes of a warp.  tile: place of its first word in the order. */
	static __device__ __forceinline__ void
	ask(gs_piece_window *windows, u32 first, u32 step, u32 end, const gs_pieces &p, u32 tile, u32 n)
	{
		const u32 w = first + lane_id() * step;

		if (w < end && tile + w * SHARE < n)
			copy_item_ahead(&windows[w].cut, p.cuts + tile / SHARE + w);
	}

	/* Makes those windows by the same warp, COUNT at a time, so that their reads are under way together. */
	template <int COUNT>
	static __device__ __forceinline__ void
	make(gs_piece_window *windows, u32 first, u32 step, u32 end, const gs_pieces &p, u32 tile, u32 n)
	{
		copied();
		__syncwarp();
		for (u32 w = first; w < end; w += COUNT * step)
		{
			gs_piece x[COUNT] = {}; /* else the last tile's would be kept */
			u32 next[COUNT] = {};
			auto asked = [&](int i) { return w + i * step < end && tile + (w + i * step) * SHARE < n; };

#pragma unroll
			for (int i = 0; i < COUNT; i++)
				if (asked(i))
				{
					const gs_piece_cut cut = windows[w + i * step].cut;

					x[i] = p.list[cut.piece + lane_id()];
					next[i] = p.begins[cut.digit + 1];
				}
#pragma unroll
			for (int i = 0; i < COUNT; i++)
				if (asked(i))
					windows[w + i * step].fill(p, x[i], next[i], tile + (w + i * step) * SHARE, n);
		}
	}

	/* x: the lane's piece; next: where the next digit begins; at: place of the first word in the order. */
	__device__ __forceinline__ void
	fill(const gs_pieces &p, gs_piece x, u32 next, u32 at, u32 n)
	{
		const u32 lane = lane_id(), end = min(at + SHARE, n), first = cut.piece;

		if (lane < ITEMS)
			marks[lane].x = 0;
		shift[lane] = (i32) (x.from - x.begin);
		__syncwarp();
		for (u32 i = first; ; x = p.list[i + lane])
		{
			const u32 mark = x.begin - at - 1; /* of the word before */

			if (mark < SHARE)
				atomicOr(&marks[mark / 32].x, 1u << mark % 32);
			i += 32;
			if (__shfl_sync(GS_ALL_LANES, x.begin, 31) >= end)
			{
				if (lane == 0)
				{
					piece = first;
					digit = cut.digit;
					several = next < end;
					many = i != first + 32;
				}
				break;
			}
		}
		__syncwarp();

		const u32 count = lane < ITEMS ? __popc(marks[lane].x) : 0, upto = warp_inclusive(count);

		if (lane < ITEMS)
			marks[lane].y = shared_address(shift + (upto - count));
	}

	/* Words, and above each what leads from its place in the order to its place in memory; behind the last one all ones. */
	__device__ __forceinline__ void
	load(const gs_pieces &p, const u32 *in, u32 first, u32 n, u64 (&k)[ITEMS]) const
	{
		const u32 below = lanes_below(), mine = first + lane_id();

		if (first + SHARE <= n && !many)
		{
			const u32 *from = in + mine;

			asm("" : "+l"(from)); /* kept as a sum: else each word's address takes three instructions more */
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
			{
				const uint2 m = marks[i];
				const i32 by = load_shared(m.y + 4 * __popc(m.x & below));

				k[i] = (u64) (u32) by << 32 | __ldg(from + by + 32 * i);
			}
			return;
		}
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			k[i] = ~0ull;
			if (mine + 32 * i < n)
			{
				const uint2 m = marks[i];
				const gs_piece x = p.list[piece + (m.y - shared_address(shift)) / 4 + __popc(m.x & below)];

				k[i] = (u64) (x.from - x.begin) << 32 | __ldg(in + (u32) (x.from - x.begin + mine + 32 * i));
			}
		}
	}

	/* Loaded words become key << 32 | row. */
	__device__ __forceinline__ void
	make_words(const gs_pieces &p, u32 first, u32 n, u64 (&k)[ITEMS]) const
	{
		const u32 mine = first + lane_id(), end = min(first + SHARE, n), low = digit;

#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			const u32 word = (u32) k[i], from = (u32) (k[i] >> 32) + mine + 32 * i;
			const u32 row = (from & ~(GS_PIECE_TILE - 1)) | (word & (GS_PIECE_TILE - 1));

			k[i] = (u64) (word >> GS_PIECE_BITS << p.bits | low) << 32 | row;
		}
		if (first < n && several)
			for (u32 d = low + 1, begin; (begin = p.begins[d]) < end; d++)
			{
#pragma unroll
				for (int i = 0; i < ITEMS; i++)
					if (mine + 32 * i >= begin)
						k[i] += 1ull << 32;
			}
		if (end != first + SHARE)
		{
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				if (mine + 32 * i >= n)
					k[i] = ~0ull;
		}
	}
};

/* Shared memory for the windows of a pass. */
constexpr size_t
gs_pieces_shared(const gs_radix_shape &s)
{
	return s.threads / 32 * (sizeof(gs_piece_window<1>) + (s.items - 1) * sizeof(uint2));
}

/*
 * Words of a stretch of the order, one after the other, by one thread: for a tile whose own block does not come.
 */
template <class ACT>
__device__ __forceinline__ void
each_piece_word(const gs_pieces &p, const u32 *in, u32 from, u32 until, u32 cut, ACT act)
{
	u32 i = p.cuts[cut].piece;

	for (u32 at = from; at < until; at++)
	{
		while (p.list[i + 1].begin <= at)
			i++;
		act(in[p.list[i].from + (at - p.list[i].begin)]);
	}
}

#endif
