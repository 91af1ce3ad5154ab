/*
 * block.cuh: the block of a digit pass: its shared memory, and the steps common to order_pass.cuh and array_pass.cuh.
 * A thread owns one digit, or two neighbouring ones: its bins.  Groups of threads each sum the counters of some warps;
 * the first group then sums the groups.
 */
#ifndef GS_CUDA_RADIX_BLOCK_CUH
#define GS_CUDA_RADIX_BLOCK_CUH

#include "args.cuh"

/* Traits of a pass: shape and item types.  VALUE: bytes that accompany a word, or 0. */
template <int BITS_, gs_radix_io IN, int VALUE_> struct radix_traits
{
	typedef gs_radix_here<BITS_, IN, VALUE_> shape;
	static constexpr int BITS = BITS_, VALUE = VALUE_, THREADS = shape::threads, ITEMS = shape::items;
	static constexpr bool KEPT = VALUE != 0 && !shape::late; /* values stay in shared memory until they are written */
	static constexpr u32 BINS = 1 << BITS, TILE = THREADS * ITEMS, WARPS = THREADS / 32;
	/* digits per thread, threads that have some */
	static constexpr u32 EACH = gs_radix_each(THREADS, BITS), SHARE = BINS / EACH;
	/* warps whose counters a thread sums */
	static constexpr u32 GROUPS = THREADS / SHARE, GROUP = WARPS / GROUPS;
	typedef gs_counts<u32, EACH> bins;						   /* one number per digit of a thread */
	typedef typename item_of<IN == GS_KEYS4 ? 4 : 8>::type word; /* the type being sorted */
	typedef typename item_of<VALUE == 0 ? 4 : VALUE>::type payload;

	static_assert(GROUPS >= 1 && WARPS % GROUPS == 0, "each thread sums a digit over the same number of warps");
};

template <class P> struct radix_block
{
	typedef typename P::bins bins;
	typedef typename P::word word;
	typedef typename P::payload payload;
	static constexpr u32 BINS = P::BINS, TILE = P::TILE, EACH = P::EACH, SHARE = P::SHARE;
	static constexpr u32 GROUPS = P::GROUPS, GROUP = P::GROUP;

	word *words;	   /* the sorted tile */
	payload *payloads; /* values in input order, if kept */
	u16 *origin;	   /* input places of the words */
	u32 *counters;	   /* per warp and digit: count, then place of the next word */
	u32 *groups;	   /* sums over the warps of a group */
	u32 *to;		   /* output position of a digit's first word, minus its place in the tile */
	u32 *starts;	   /* place of a digit's first word in the tile; one more at the end */
	u32 *base;		   /* output position of a digit's first word overall */
	u32 *sums;
	u32 *ticket;		 /* two, alternating where tiles follow each other without a barrier */
	u64 *arrived;		 /* the values' barrier */
	gs_radix_tile *broadcast; /* the ticket's tile, of a segment */

	u32 thread, warp, lane;
	u32 *counter; /* the warp's counters */

	/* Lays out shared memory as gs_radix_shared counts it. */
	__device__ __forceinline__
	radix_block()
	{
		extern __shared__ __align__(128) u8 memory[];

		words = (word *) memory;
		payloads = (payload *) (words + TILE);
		origin = (u16 *) (payloads + (P::KEPT ? TILE : 0));
		counters = (u32 *) (origin + (P::VALUE ? TILE : 0));
		groups = counters + P::WARPS * BINS;
		to = groups + GROUPS * BINS;
		starts = to + BINS;
		base = starts + BINS + 8;
		sums = base + BINS;
		ticket = sums + 32;
		arrived = (u64 *) (ticket + 2);
		broadcast = (gs_radix_tile *) (ticket + 4);
		thread = threadIdx.x;
		warp = thread / 32;
		lane = lane_id();
		counter = counters + warp * BINS;
	}

	/* ------------------------------------------------------------ bins */

	/* The thread's bins in a table, or those of another share. */
	static __device__ __forceinline__ bins &
	bins_at(u32 *table, u32 share)
	{
		return *(bins *) (table + share * EACH);
	}

	/* Adds bin by bin. */
	static __device__ __forceinline__ void
	add(bins &x, const bins &y)
	{
#pragma unroll
		for (u32 i = 0; i < EACH; i++)
			x.of[i] += y.of[i];
	}

	/* Turns counts into places: next is where their words begin, then where those of the next begin. */
	static __device__ __forceinline__ void
	advance(bins &next, bins &counts)
	{
		const bins c = counts;

		counts = next;
		add(next, c);
	}

	/* Exclusive prefix sum over all digits, for the threads that have digits. */
	__device__ __forceinline__ bins
	bins_exclusive(const bins &x) const
	{
		bins before = {};
		u32 all = x.of[0], upto;

#pragma unroll
		for (u32 i = 1; i < EACH; i++)
			all += x.of[i];
		upto = warp_inclusive(all);
		if (thread < SHARE && lane == 31)
			sums[warp] = upto;
		__syncthreads();
		if (thread < SHARE)
		{
			u32 y = warp_inclusive(lane < SHARE / 32 ? sums[lane] : 0);

			y = __shfl_sync(GS_ALL_LANES, y, (warp + 31) & 31);
			before.of[0] = (warp ? y : 0) + upto - all;
#pragma unroll
			for (u32 i = 1; i < EACH; i++)
				before.of[i] = before.of[i - 1] + x.of[i - 1];
		}
		return before;
	}

	/* The greatest count among a thread's digits. */
	static __device__ __forceinline__ u32
	most_of(const bins &count)
	{
		u32 most = count.of[0];

#pragma unroll
		for (u32 i = 1; i < EACH; i++)
			most = max(most, count.of[i]);
		return most;
	}

	/* ------------------------------------------------------------ steps */

	/* Sets where each digit begins in the output: from counts over all words, or an earlier launch. */
	template <class COUNT>
	__device__ __forceinline__ void
	begin_digits(const gs_radix_args &a, COUNT count_of) const
	{
		bins c = {};

#pragma unroll
		for (u32 i = 0; i < EACH; i++)
			if (thread * EACH + i <= a.mask)
				c.of[i] = a.counts[count_of(thread * EACH + i)];
		c = bins_exclusive(c);
		if (thread < SHARE)
			bins_at(base, thread) = a.bases != NULL ? *(const bins *) (a.bases + thread * EACH) : c;
	}

	/* Clears the warp's counters. */
	__device__ __forceinline__ void
	clear_counters() const
	{
#pragma unroll
		for (u32 i = lane * 4; i < BINS; i += 128)
			*(uint4 *) (counter + i) = make_uint4(0, 0, 0, 0);
		__syncwarp();
	}

	/* Stalls a tile that has been counted but not published.  For tests. */
	__device__ __forceinline__ void
	stall(const gs_radix_args &a, u32 tile) const
	{
		if (a.sweep.stall && tile + 1 < a.sweep.tiles)
		{
			if (thread == 0)
				stall_here(a.sweep, tile);
			__syncthreads();
		}
	}

	/* Sums counters over groups of warps, then over the groups: the tile's counts, for the threads that have digits. */
	__device__ __forceinline__ bins
	sum_counters() const
	{
		const u32 share = thread & (SHARE - 1), group = thread / SHARE;
		u32 *const warps = counters + group * GROUP * BINS; /* of the group */
		bins count = {};

		if (group < GROUPS)
		{
			bins s = {};

#pragma unroll(EACH == 1 ? GROUP : 4)
			for (u32 j = 0; j < GROUP; j++)
				add(s, bins_at(warps + j * BINS, share));
			bins_at(groups + group * BINS, share) = s;
		}
		if (GROUPS > 1)
			__syncthreads();
		if (thread < SHARE)
		{
#pragma unroll
			for (u32 g = 0; g < GROUPS; g++)
				add(count, bins_at(groups + g * BINS, thread));
		}
		return count;
	}

	/* Turns counters into a warp's places in the tile, by digit.  Returns those of the thread's digits. */
	__device__ __forceinline__ bins
	counters_to_places(const bins &count) const
	{
		const u32 share = thread & (SHARE - 1), group = thread / SHARE;
		u32 *const warps = counters + group * GROUP * BINS; /* of the group */
		const bins start = bins_exclusive(count);

		if (thread < SHARE)
		{
			bins s = start;

			bins_at(starts, thread) = start;
			if (thread == SHARE - 1)
				starts[BINS] = start.of[EACH - 1] + count.of[EACH - 1];
#pragma unroll
			for (u32 g = 0; g < GROUPS; g++)
				advance(s, bins_at(groups + g * BINS, thread));
		}
		if (GROUPS > 1)
			__syncthreads();
		if (group < GROUPS)
		{
			bins s = bins_at(groups + group * BINS, share);

#pragma unroll(EACH == 1 ? GROUP : 4)
			for (u32 j = 0; j < GROUP; j++)
				advance(s, bins_at(warps + j * BINS, share));
		}
		return start;
	}

	/* Returns the place in the tile of a lane's word of this digit, behind those of earlier warps, items and lanes. */
	__device__ __forceinline__ u32
	rank(u32 digit) const
	{
		u32 peers = lane_peers<P::BITS>(digit), place = counter[digit];
		u32 below = __popc(peers & lanes_below());

		__syncwarp();
		if (below == 0)
			counter[digit] = place + __popc(peers);
		__syncwarp();
		return place + below;
	}

	/* Adds the thread's digits over tiles up to t to sum by look-back, two at a time.  count_tile(t, sum): fallback. */
	template <class COUNT>
	__device__ __forceinline__ bins
	look_back(const gs_sweep &sweep, const u32 *status, i32 t, bins sum, COUNT count_tile) const
	{
		const u32 partial = status_word<u32>(GS_PARTIAL, 0), total = status_word<u32>(GS_TOTAL, 0);
		long long waiting = 0;
		auto add_counts = [&](const bins &x) {
#pragma unroll
			for (u32 i = 0; i < EACH; i++)
				sum.of[i] += x.of[i] & (partial - 1);
		};

		while (t >= 0)
		{
			const bins young = load_words<EACH>(status + (u64) (u32) t * BINS);
			bins old = {};

			if (t > 0)
				old = load_words<EACH>(status + (u64) (u32) (t - 1) * BINS);
			if (young.of[0] < partial)
			{
				if (waiting == 0)
					waiting = clock64();
				if (sweep.patience == 0 || (u64) (clock64() - waiting) < sweep.patience)
					continue;
				count_tile((u32) t, sum);
				if (thread == 0)
					atomicAdd(&sweep.watch->fallbacks, 1);
				waiting = 0;
				t--;
				continue;
			}
			waiting = 0;
			add_counts(young);
			t--;
			if (young.of[0] >= total)
				break;

			if (old.of[0] >= partial)
			{
				add_counts(old);
				t--;
				if (old.of[0] >= total)
					break;
			}
		}
		return sum;
	}

	/* Adds a word with this digit to the thread's bins. */
	__device__ __forceinline__ void
	count_word(u32 digit, bins &sum) const
	{
#pragma unroll
		for (u32 b = 0; b < EACH; b++)
			sum.of[b] += digit == thread * EACH + b;
	}
};

#endif
