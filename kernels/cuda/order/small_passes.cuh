/*
 * small_passes.cuh: digit passes within a cluster, for small orders whose keys crowd in bins, and for devices without
 * clusters.
 *
 * The rows are in the shared memory of up to 16 blocks, SHARE per block.  Every block loads its rows into registers,
 * counts the digit per warp by ballots, broadcasts its counts, and writes rows to their places in whichever block; the
 * last pass writes row numbers.  Keys of more than 64 bits are sorted 64 bits at a time, last ones first.
 *
 * After Merrill and Grimshaw, High Performance and Scalable Radix Sorting, PPL 2011, section 5.
 */
#ifndef GS_CUDA_ORDER_SMALL_PASSES_CUH
#define GS_CUDA_ORDER_SMALL_PASSES_CUH

#include "small.cuh"

/* A thread's part of the sort: its words and rows, and their places. */
template <int ITEMS> struct small_items
{
	u64 word[ITEMS];
	u32 row[ITEMS]; /* unless packed into the words */
	u32 rank[ITEMS];
};

/* Ranks a digit among a warp's rows, and counts it. */
template <int ITEMS>
static __device__ __forceinline__ void
rank_in_warp(small_shared &m, small_items<ITEMS> &s, u32 shift, u32 mask)
{
	const u32 warp = threadIdx.x / 32, lane = lane_id();
	u16 *const counter = (u16 *) m.counters[warp];

	for (u32 i = lane * 4; i < PAIRS; i += 128)
		*(uint4 *) &m.counters[warp][i] = make_uint4(0, 0, 0, 0);
	__syncwarp();
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		u32 d = (u32) (s.word[i] >> shift) & mask, peers = lane_peers<GS_PLACE_BITS>(d);
		u32 below = __popc(peers & lanes_below()), place = counter[d];

		__syncwarp();
		if (below == 0)
			counter[d] = (u16) (place + __popc(peers));
		__syncwarp();
		s.rank[i] = place + below;
	}
}

/* Sums counters over warps, replaces each by those before it, broadcasts sums.  Two, up to 8192, are added at once. */
static __device__ __forceinline__ void
sum_warps(small_shared &m, u32 mask, u32 blocks, u32 self)
{
	const u32 pair = threadIdx.x % PAIRS, group = threadIdx.x / PAIRS; /* two digits; a group of warps */
	u32 count[WARPS / GROUPS], sum = 0, before = 0;

#pragma unroll
	for (int j = 0; j < WARPS / GROUPS; j++)
	{
		count[j] = m.counters[group * (WARPS / GROUPS) + j][pair];
		sum += count[j];
	}
	m.groups[group][pair] = sum;
	__syncthreads();
	sum = 0;
#pragma unroll
	for (u32 g = 0; g < GROUPS; g++)
	{
		before += g < group ? m.groups[g][pair] : 0;
		sum += m.groups[g][pair];
	}
	if (pair <= mask / 2)
		for (u32 b = group; b < blocks; b += GROUPS)
			put(in_block(&m.counts[self][pair], b), sum);
	if (threadIdx.x < blocks)
		put(in_block(&m.counts[self][PAIRS], threadIdx.x), m.seen);
#pragma unroll
	for (int j = 0; j < WARPS / GROUPS; j++)
	{
		m.counters[group * (WARPS / GROUPS) + j][pair] = before;
		before += count[j];
	}
}

/* Ranks one digit of all rows in the cluster, in rank[i].  Returns what all blocks have written to m.seen. */
template <int ITEMS>
static __device__ __forceinline__ u32
rank_digit(small_shared &m, small_items<ITEMS> &s, u32 shift, u32 mask, u32 blocks, u32 self)
{
	const u32 thread = threadIdx.x, warp = thread / 32, lane = lane_id();
	const u16 *const counter = (const u16 *) m.counters[warp];
	u32 seen, total = 0, earlier = 0;

	rank_in_warp<ITEMS>(m, s, shift, mask);
	__syncthreads();
	sum_warps(m, mask, blocks, self);
	cluster_barrier();

	/* over blocks and digits */
	if (thread <= mask)
		for (u32 b = 0; b < blocks; b++)
		{
			u32 c = m.counts[b][thread / 2] >> (thread % 2 * 16) & 0xffff;

			total += c;
			earlier += b < self ? c : 0;
		}
	seen = lanes_or(lane < blocks ? m.counts[lane][PAIRS] : 0);

	static_assert(THREADS == DIGITS, "a thread for each digit");
	m.base[thread] = block_exclusive<WARPS>(total, m.sums) + earlier;
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		u32 d = (u32) (s.word[i] >> shift) & mask;

		s.rank[i] += m.base[d] + counter[d];
	}
	return seen;
}

/* The cluster's words and rows in shared memory, a share per block.  Places count over all blocks. */
template <int ITEMS> struct small_memory
{
	static constexpr u32 SHARE = THREADS * ITEMS;
	u64 *words;
	u16 *rows;
	u32 slot;	 /* the thread's first one; others are 32 apart */
	bool packed; /* words contain the rows */

	/* Moves items to their places; words only if they are still needed. */
	__device__ __forceinline__ void
	put_items(const small_items<ITEMS> &s, bool words_wanted) const
	{
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			u32 b = s.rank[i] / SHARE, to = s.rank[i] % SHARE;

			if (packed || words_wanted)
				put(in_block(words + to, b), s.word[i]);
			if (!packed)
				put(in_block(rows + to, b), (u16) s.row[i]);
		}
	}

	/* Loads the thread's items in their present order. */
	__device__ __forceinline__ void
	get_items(small_items<ITEMS> &s) const
	{
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			s.word[i] = words[slot + i * 32];
			if (!packed)
				s.row[i] = rows[slot + i * 32];
		}
	}
};

/* Loads word w of a thread's rows in order so far, the greatest beyond the last.  see: notes in m.seen if in order. */
template <int ITEMS>
static __device__ __forceinline__ void
take_words(const small_args &a, small_shared &m, const small_memory<ITEMS> &at, u32 w, bool see, small_items<ITEMS> &s)
{
	const u32 first = first_row<ITEMS>();

#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		const u32 row = w + 1 == m.words ? first + i * 32 : at.rows[at.slot + i * 32];

		s.row[i] = row;
		s.word[i] = first + i * 32 < a.n ? small_word(m, row, w) : ~0ull;
	}
	if (see)
	{
		u32 now = small_seen<ITEMS>(s.word, first > 0 && first < a.n ? small_word(m, first - 1, w) : 0, first, a.n);

		if (lane_id() == 0 && now != 0)
			atomicOr(&m.seen, now);
	}
	if (at.packed)
	{
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
			s.word[i] = first + i * 32 < a.n ? s.word[i] << ROW_BITS | s.row[i] : ~0ull;
	}
}

/* Sorts by digit passes, in one cluster, unless in order (may_see).  Returns what was seen of the order. */
template <int ITEMS>
static __device__ __noinline__ u32
small_passes(const small_args &a, small_shared &m, u32 blocks, bool may_see, u32 &passes)
{
	u64 *const words = (u64 *) (&m + 1);
	const u32 self = cluster_rank(), bits = m.bits;
	const small_memory<ITEMS> memory = {words, (u16 *) (words + THREADS * ITEMS),
										threadIdx.x / 32 * (32 * ITEMS) + lane_id(), bits + ROW_BITS <= 64};
	small_items<ITEMS> s;

	for (u32 w = m.words; w-- > 0;)
	{
		u32 widths[GS_PLACES], digits = gs_radix_digits(min(64u, bits - w * 64), GS_PLACE_BITS, widths),
							   at = memory.packed ? ROW_BITS : 0;

		take_words<ITEMS>(a, m, memory, w, may_see, s);
		for (u32 p = 0; p < digits; p++) /* from the lowest */
		{
			const bool last = p + 1 == digits; /* of this word */
			u32 seen = rank_digit<ITEMS>(m, s, at, (1u << widths[p]) - 1, blocks, self);

			at += widths[p];
			if (may_see && passes == 0 && seen != (GS_SEEN_FALL | GS_SEEN_RISE))
				return seen;
			passes++;
			if (last && w == 0)
				break;
			memory.put_items(s, !last);
			cluster_barrier();
			if (last)
				break;
			memory.get_items(s);
		}
	}
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		if (s.rank[i] < a.n)
			a.order[s.rank[i]] = memory.packed ? (u32) s.word[i] & (MOST_ROWS - 1) : s.row[i];
	return GS_SEEN_FALL | GS_SEEN_RISE;
}

#endif
