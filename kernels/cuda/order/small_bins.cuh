/*
 * small_bins.cuh: bins of a small order: rows counted by leading bits, the bins' begins, ranks within a bin.
 */
#ifndef GS_CUDA_ORDER_SMALL_BINS_CUH
#define GS_CUDA_ORDER_SMALL_BINS_CUH

#include "small.cuh"

/* Places of the order that a thread fills. */
static constexpr __host__ __device__ u32
places_of(int items)
{
	return items > MOST_CLUSTERS ? items / MOST_CLUSTERS : 1;
}

/* Returns one of two counts that share a word. */
static __device__ __forceinline__ u32
half_of(u32 word, u32 bin)
{
	return word >> (bin % 2 * 16) & 0xffff;
}

/*
 * Counts a thread's rows by bins, in the block.  half_of(place[i]): earlier rows in the bin.  Rows beyond the end add
 * zero, each lane to a word of its own: atomics on one word would wait, as would branches.
 */
template <int ITEMS>
static __device__ __forceinline__ void
count_bins(small_shared &m, const u64 *word, u32 shift, u32 first, u32 n, u32 (&place)[ITEMS])
{
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		const bool valid = first + i * 32 < n;
		const u32 bin = valid ? (u32) (word[i] >> shift) : 2 * lane_id();

		place[i] = atomicAdd(&m.bins[bin / 2], valid ? 1u << (bin % 2 * 16) : 0);
	}
}

/* Adds the block's counts to its cluster's, and replaces them by those before.  A thread's atomics fly together. */
static __device__ __forceinline__ void
share_bins(small_shared &m, u32 *bins)
{
	constexpr u32 EACH = BIN_WORDS / THREADS;
	u32 count[EACH];

#pragma unroll
	for (u32 i = 0; i < EACH; i++)
		count[i] = m.bins[i * THREADS + threadIdx.x];
#pragma unroll
	for (u32 i = 0; i < EACH; i++)
		if (count[i] != 0)
			count[i] = atomicAdd(&bins[i * THREADS + threadIdx.x], count[i]);
#pragma unroll
	for (u32 i = 0; i < EACH; i++)
		m.bins[i * THREADS + threadIdx.x] = count[i];
}

/*
 * Turns the counts of a thread's bins, which are contiguous, into starts of bins in shared memory.  The bins that begin
 * in [from, to) belong to the cluster; m.own receives their range.  Returns true if some bin has too many rows.
 */
static __device__ __forceinline__ bool
begin_bins(small_shared &m, uint4 counts, u32 n, u32 from, u32 to)
{
	constexpr u32 EACH = BINS / THREADS;
	static_assert(EACH == 8, "four words for each thread");
	const u32 thread = threadIdx.x, warp = thread / 32, lane = lane_id();
	const u32 pairs[EACH / 2] = {counts.x, counts.y, counts.z, counts.w};
	u32 count[EACH], begin[EACH], sum = 0, most = 0, upto, before;

#pragma unroll
	for (u32 i = 0; i < EACH; i++)
	{
		count[i] = half_of(pairs[i / 2], i);
		sum += count[i];
		most = max(most, count[i]);
	}
	upto = warp_inclusive(sum);
	if (lane == 31)
		m.sums[warp] = upto;

	const bool full = __syncthreads_or(most > MOST_IN_BIN);

	before = warp_inclusive(lane < WARPS ? m.sums[lane] : 0);
	before = __shfl_sync(GS_ALL_LANES, before, (warp + 31) & 31);
	before = (warp ? before : 0) + upto - sum;
#pragma unroll
	for (u32 side = 0; side < 2; side++)
	{
		const u32 edge = side == 0 ? from : to;

		if (before < edge && edge <= before + sum)
		{
			u32 at = before;

#pragma unroll
			for (u32 i = 0; i < EACH; i++)
				at += at < edge ? count[i] : 0;
			m.own[side] = at;
		}
		else if (thread == 0 && (edge == 0 || edge > n))
			m.own[side] = min(edge, n);
	}
#pragma unroll
	for (u32 i = 0; i < EACH; i++)
	{
		begin[i] = before;
		before += count[i];
	}
#pragma unroll
	for (u32 i = 0; i < EACH; i += 4)
		*(uint4 *) &m.begin[thread * EACH + i] = make_uint4(begin[i], begin[i + 1], begin[i + 2], begin[i + 3]);
	if (thread == 0)
		m.begin[BINS] = n;
	__syncthreads();
	return full;
}

/* Loads the words of places [begin, end) into the window, which starts at place zero. */
static __device__ __forceinline__ void
read_window(const small_args &a, small_shared &m, u32 zero, u32 begin, u32 end, bool packed)
{
	for (u32 i = begin + threadIdx.x; i < end; i += THREADS)
	{
		m.window[i - zero] = __ldcg(a.words + i);
		if (!packed)
			m.window_rows[i - zero] = __ldcg(a.rows + i);
	}
}

/* Loads at most EACH places per thread, all in flight together. */
template <int EACH>
static __device__ __forceinline__ void
read_near(const small_args &a, small_shared &m, u32 zero, u32 begin, u32 end, bool packed)
{
	u64 word[EACH];
	u16 row[EACH];

#pragma unroll
	for (int i = 0; i < EACH; i++)
		word[i] = __ldcg(a.words + min(begin + threadIdx.x + i * THREADS, end - 1));
	if (!packed)
	{
#pragma unroll
		for (int i = 0; i < EACH; i++)
			row[i] = __ldcg(a.rows + min(begin + threadIdx.x + i * THREADS, end - 1));
	}
#pragma unroll
	for (int i = 0; i < EACH; i++)
	{
		const u32 at = begin + threadIdx.x + i * THREADS;

		if (at < end)
		{
			m.window[at - zero] = word[i];
			if (!packed)
				m.window_rows[at - zero] = row[i];
		}
	}
}

/* Returns how many words in [begin, end) of the window are less. */
static __device__ __forceinline__ u32
rank_word(const small_shared &m, u32 begin, u32 end, u64 word)
{
	u32 rank = 0;

	for (u32 i = begin; i < end; i++)
		rank += m.window[i] < word;
	return rank;
}

/*
 * Ranks the row at a place of the window within [begin, end).  Where words are equal, further words of the key and row
 * numbers decide, in a separate loop: each lane finds its next equal word, then lanes read columns together.
 */
static __device__ __forceinline__ u32
rank_row(const small_shared &m, u32 begin, u32 end, u32 at, bool more)
{
	const u64 word = m.window[at];
	const u32 row = m.window_rows[at];
	u32 rank = 0, alike = 0;

	for (u32 i = begin; i < end; i++)
	{
		rank += m.window[i] < word;
		alike += m.window[i] == word;
	}
	for (u32 i = begin; alike > 1; i++, alike--)
	{
		while (i == at || m.window[i] != word)
			i++;

		const u32 other = m.window_rows[i];
		const int c = more ? gs_compare(gs_dev_key{m.fields, m.nfields}, m.places[1], other, row) : 0;

		rank += c < 0 || (c == 0 && other < row);
	}
	return rank;
}

/* Ranks a block's rows in their bins and writes the order.  shift: from word to bin.  more: keys have more words. */
template <int ITEMS>
static __device__ __forceinline__ void
rank_bins(const small_args &a, small_shared &m, u32 shift, bool packed, bool more)
{
	constexpr u32 SHARE = THREADS * places_of(ITEMS);
	const u32 self = cluster_rank(), from = blockIdx.x * SHARE, zero = from - MOST_IN_BIN; /* may wrap, and back */
	/* the cluster's first and last block complete the bins at its edges */
	const u32 first = self == 0 ? m.own[0] : from, end = self == a.blocks - 1 ? m.own[1] : min(from + SHARE, m.own[1]);

	if (first >= end)
		return;

	const u32 near = max(m.own[0], from < NEAR ? 0 : from - NEAR), far = max(end, min(from + SHARE + NEAR, m.own[1]));
	const u32 reach = min(far, near + SHARE + 2 * NEAR); /* less than far only in the last block of a cluster */

	read_near<places_of(ITEMS) + 1>(a, m, zero, near, reach, packed);
	if (reach < far)
		read_window(a, m, zero, reach, far, packed);
	__syncthreads();

	/* range of complete bins that covers these places */
	auto bin_of = [&](u64 word) -> u32 { return (u32) (word >> shift); };
	const u32 left = m.begin[bin_of(m.window[first - zero])], right = m.begin[bin_of(m.window[end - 1 - zero]) + 1];

	if (left < near || right > far)
	{
		read_window(a, m, zero, left, near, packed);
		read_window(a, m, zero, far, right, packed);
		__syncthreads();
	}
	for (u32 at = first + threadIdx.x; at < end; at += THREADS)
	{
		const u64 word = m.window[at - zero];
		const u32 bin = bin_of(word), begin = m.begin[bin], behind = m.begin[bin + 1];

		if (packed)
			a.order[begin + rank_word(m, begin - zero, behind - zero, word)] = (u32) word & (MOST_ROWS - 1);
		else
			a.order[begin + rank_row(m, begin - zero, behind - zero, at - zero, more)] = m.window_rows[at - zero];
	}
}

#endif
