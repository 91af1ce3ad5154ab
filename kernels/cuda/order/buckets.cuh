/*
 * buckets.cuh: the last step of a sort by leading digits: sorts small buckets in shared memory.
 *
 * Words are distinct numbers in order of their leading bits; words with equal ones form a bucket.  Each tile begins
 * with the first bucket that starts at or behind a multiple of the tile size.  A block distributes its words over bins
 * that divide the range evenly, so that little sorting is left: each thread sorts 16 neighbouring words in registers,
 * then four on both sides of each border between threads.
 *
 * The result is verified completely: buckets do not decrease from tile to tile, no word lies outside its tile's
 * buckets, and within a tile each word has been compared with the next.  If that fails (a bucket is too long, bins are
 * crowded, the leading digits were not in order), `wrong` is set and the output is invalid.
 *
 * A word relative to the tile's first bucket can be compared as a double (base/register_sort.cuh).  Bytes per word: 8
 * read, plus the output.  After Stehle and Jacobsen, arXiv:1611.01137.
 */
#ifndef GS_CUDA_ORDER_BUCKETS_CUH
#define GS_CUDA_ORDER_BUCKETS_CUH

#include "../base/engine.cuh"
#include "../radix/tile.cuh"
#include "../base/register_sort.cuh"

#define GS_BUCKETS_ROUNDS 16 /* limit of rounds in which words cross windows: groups of some 64 words */

/* Neighbours in the output, before it is rotated, whose words differ only in the row. */
struct alignas(8) gs_buckets_group
{
	u32 place, rows;
};

struct gs_buckets_args
{
	const u64 *words;
	u32 *order;
	u64 n;
	u32 tile, margin; /* words between starts of tiles, and the longest bucket */
	u32 *cuts;		  /* starts of tiles: tiles + 1 */
	u32 lead;		  /* a bucket is word >> lead */
	u32 row_mask;
	u32 rotate_by;  /* the order starts after this many rows */
	u32 ahead; /* distance in tiles of the L2 prefetch */
	const u32 *gate; /* do nothing unless *gate is gate_open */
	u32 gate_open;
	u32 *wrong;
	gs_buckets_group *groups; /* groups of words equal above the row; capacity follows */
	u32 room;
	u32 *listed; /* groups found */
};

/* Position of a place of the tile in shared memory.  The windows of lanes are in different banks. */
__device__ __forceinline__ u32
finish_at(u32 place)
{
	return place + place / GS_BUCKETS_WINDOW;
}

/* Finds the start of each tile: a warp searches for the end of the bucket at the nominal start. */
static __global__ void __launch_bounds__(256) bucket_cuts_kernel(const __grid_constant__ gs_buckets_args a)
{
	const u32 tiles = (u32) ((a.n + a.tile - 1) / a.tile), t = (blockIdx.x * 256 + threadIdx.x) / 32;
	const u64 begin = min((u64) t * a.tile, a.n), most = min(begin + a.margin, a.n);
	u64 from = begin, to = begin == 0 ? 0 : most; /* a bucket begins in [from, to], or none does up to most */

	if (t > tiles || (a.gate != NULL && *a.gate != a.gate_open))
		return;
	if (begin != 0 && begin < a.n)
	{
		const u64 bucket = a.words[begin - 1] >> a.lead;
		auto in_bucket = [&](u64 at)
		{ return __popc(__ballot_sync(GS_ALL_LANES, at < to && a.words[at] >> a.lead == bucket)); };

		while (to - from > 64)
		{
			const u64 step = (to - from + 31) / 32;
			const u32 first = in_bucket(from + lane_id() * step); /* lanes that see it */

			to = min(to, from + first * step);
			from = first == 0 ? to : from + (first - 1) * step + 1;
		}
		to = from + in_bucket(from + lane_id()) + in_bucket(from + 32 + lane_id());
		if (to == most && most < a.n && a.words[most] >> a.lead == bucket)
			*a.wrong = 1;
	}
	if (lane_id() == 0)
		a.cuts[t] = (u32) to;
}

/* A block's shared memory: bins (counts, then places of the next words), sums, and the tile's words. */
struct buckets_shared
{
	static constexpr int THREADS = gs_buckets_here::threads, ITEMS = gs_buckets_here::items;
	static constexpr int BINS = gs_buckets_here::bins, GROUP = 4; /* items whose atomics are in flight together */
	static constexpr u32 WINDOW = GS_BUCKETS_WINDOW, WARPS = THREADS / 32, CAP = THREADS * ITEMS;
	/* bins per thread: an odd multiple of 4, which avoids bank conflicts */
	static constexpr u32 SHARE = BINS / THREADS;
	static_assert(ITEMS <= WINDOW && ITEMS % GROUP == 0 && THREADS % WINDOW == 0, "a window to a thread");
	static_assert(SHARE % 4 == 0 && SHARE * THREADS == BINS, "bins are read four at a time");
	static_assert(CAP / 2 <= BINS, "groups of a tile in order have room where bins were");

	u32 *bins, *sums;
	u32 *told;		/* groups, and where they are listed */
	u64 *told_most; /* greatest word allowed */
	u64 *words;

	/* Lays out a block's memory: bins first, words in the rest. */
	__device__ __forceinline__
	buckets_shared(u8 *memory)
	{
		bins = (u32 *) memory;
		sums = bins + BINS;
		told = sums + 32;
		told_most = (u64 *) (told + 2);
		words = (u64 *) (told + 4);
	}

	/* Applies a function to a thread's items of n, THREADS apart: to all of a full group, or one by one. */
	template <class TOGETHER, class ONE>
	static __device__ __forceinline__ void
	each_group(u32 n, TOGETHER together, ONE one)
	{
#pragma unroll
		for (int g = 0; g < ITEMS; g += GROUP)
			if ((g + GROUP) * THREADS <= n)
				together(g);
			else
			{
#pragma unroll
				for (int i = g; i < g + GROUP; i++)
					one(i, i * THREADS + threadIdx.x < n);
			}
	}

	/* Applies act(i, whether the item exists) to a thread's items. */
	template <class ACT>
	static __device__ __forceinline__ void
	each_item(u32 n, ACT act)
	{
		auto together = [&](int g) {
#pragma unroll
			for (int i = g; i < g + GROUP; i++)
				act(i, true);
		};

		each_group(n, together, act);
	}

	/* Clears all bins.  A barrier must follow. */
	__device__ __forceinline__ void
	clear_bins() const
	{
		for (u32 i = threadIdx.x; i < BINS / 4; i += THREADS)
			((uint4 *) bins)[i] = make_uint4(0, 0, 0, 0);
	}

	/* Turns counts of bins into their starts, and pads the last windows behind n words. */
	__device__ __forceinline__ void
	counts_to_begins(u32 n) const
	{
		const u32 thread = threadIdx.x, warp = thread / 32, lane = lane_id();
		uint4 *const mine = (uint4 *) bins + thread * (SHARE / 4);
		uint4 c[SHARE / 4];
		u32 sum = 0, upto, run;

#pragma unroll
		for (u32 i = 0; i < SHARE / 4; i++)
		{
			c[i] = mine[i];
			sum += c[i].x + c[i].y + c[i].z + c[i].w;
		}
		upto = warp_inclusive(sum);
		if (lane == 31)
			sums[warp] = upto;
		if (warp == 0)
			words[finish_at(n + lane)] = GS_WINDOW_LAST; /* pads the windows that contain the last word */
		__syncthreads();
		run = warp_inclusive(lane < WARPS ? sums[lane] : 0);
		run = __shfl_sync(GS_ALL_LANES, run, (warp + 31) & 31);
		run = (warp ? run : 0) + upto - sum;
		auto start = [&](u32 &x) {
			const u32 s = run;

			run += x;
			x = s;
		};
#pragma unroll
		for (u32 i = 0; i < SHARE / 4; i++)
		{
			start(c[i].x);
			start(c[i].y);
			start(c[i].z);
			start(c[i].w);
			mine[i] = c[i];
		}
		__syncthreads();
	}

	/* Sorts the thread's window. */
	static __device__ __forceinline__ void
	order_window(u64 *mine, u32 lanes)
	{
		u64 x[WINDOW];

#pragma unroll
		for (u32 j = 0; j < WINDOW; j++)
			x[j] = mine[j];
		(void) transpose(x);
		put_in_order(x, lanes);
#pragma unroll
		for (u32 j = 0; j < WINDOW; j++)
			mine[j] = x[j];
	}

	/* Sorts four words on each side of the border behind the thread's window.  Returns whether they descend. */
	static __device__ __forceinline__ bool
	border_falls(u64 *mine, u32 lanes)
	{
		u64 x[8];

#pragma unroll
		for (u32 j = 0; j < 8; j++)
			x[j] = mine[WINDOW - 4 + j + (j > 3)];

		const u64 left = mine[WINDOW - 5], right = mine[WINDOW + 5];

		put_in_order(x, lanes);
#pragma unroll
		for (u32 j = 0; j < 8; j++)
			mine[WINDOW - 4 + j + (j > 3)] = x[j];
		return x[0] < left || x[7] > right;
	}

	/* Sorts windows, then words that cross their borders, until all ascend; false if that takes too long. */
	__device__ __forceinline__ bool
	order_words(u32 n) const
	{
		const u32 thread = threadIdx.x;

		for (u32 round = 0;; round++)
		{
			const u32 whole = __ballot_sync(GS_ALL_LANES, thread * WINDOW < n);
			u64 *const mine = words + thread * (WINDOW + 1);
			bool falls = false;

			if (thread * WINDOW < n)
				order_window(mine, whole);
			__syncthreads();

			const u32 border = __ballot_sync(GS_ALL_LANES, (thread + 1) * WINDOW < n);

			if ((thread + 1) * WINDOW < n)
				falls = border_falls(mine, border);
			if (!__syncthreads_or(falls))
				return true;
			if (round == GS_BUCKETS_ROUNDS)
				return false;
		}
	}

	/* Lists groups of equal words by their first.  alike: a bit per item equal to its successor; begin: first word. */
	__device__ __forceinline__ void
	list_groups(const gs_buckets_args &a, u32 thread, u32 n, u32 begin, u32 alike) const
	{
		u32 *const found = bins; /* place, and words behind it */

		for (; alike != 0; alike &= alike - 1)
		{
			const u32 place = (__ffs(alike) - 1) * THREADS + thread;
			const u64 x = words[finish_at(place)] | a.row_mask;
			u32 more = 1;

			if (place > 0 && (words[finish_at(place - 1)] | a.row_mask) == x)
				continue; /* not the first of its group */
			while (place + more + 1 < n && words[finish_at(place + more + 1)] <= x)
				more++;
			/* words out of order (wrong is 1) may exceed the capacity */
			const u32 next = atomicAdd(told, 1);

			if (next < BINS)
				found[next] = place | more << 16;
		}
		__syncthreads();
		if (thread == 0 && told[0] != 0)
			told[1] = atomicAdd(a.listed, told[0]);
		__syncthreads();
		for (u32 i = thread; i < told[0]; i += THREADS)
			if (i < BINS && told[1] + i < a.room)
				a.groups[told[1] + i] = gs_buckets_group{begin + (found[i] & 0xffff), (found[i] >> 16) + 1};
			else
				*a.wrong = 1;
	}

	/* Writes the row numbers of n words.  TIES: lists groups of equal words. */
	template <bool TIES>
	__device__ __forceinline__ void
	write_rows(const gs_buckets_args &a, u32 n) const
	{
		const u64 *const mine = words + finish_at(threadIdx.x);
		const u32 later = threadIdx.x % WINDOW == WINDOW - 1 ? 2 : 1;
		const u32 begin = a.cuts[blockIdx.x]; /* read again, as the thread's number, to save registers in between */
		u32 thread;
		asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
		u32 from = begin - a.rotate_by, alike = 0; /* bit per word that equals its successor */

		if (a.rotate_by != 0 && from >= (u32) a.n)
			from += (u32) a.n;

		const bool around = (u64) from + n > a.n; /* wraps at the end */
		u32 *const order = a.order + from + thread;

		if (TIES)
		{
			if (thread == 0)
				told[0] = 0;
			__syncthreads();
		}
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			const u64 *const at = mine + i * (THREADS + THREADS / WINDOW);
			const u32 place = i * THREADS + thread;

			if (place >= n)
				break;

			const u64 x = *at;

			order[i * THREADS - (around && from + place >= (u32) a.n ? (i64) a.n : 0)] = (u32) x & a.row_mask;
			if (TIES && at[later] <= (x | a.row_mask))
				alike |= 1u << i;
		}
		if (TIES)
			list_groups(a, thread, n, begin, alike);
		/* no word precedes its bucket or follows the last one */
		if (thread == 0 && words[finish_at(n - 1)] > *told_most)
			*a.wrong = 1;
	}
};

/* The range of a tile's words, from base to base + most, and their distribution over bins. */
struct buckets_range
{
	u64 first, last, base, most;
	u32 drop, begins, scale;

	/* Computes the range of n words from the buckets of the first and the last. */
	__device__ __forceinline__
	buckets_range(const u64 *in, u32 n, u32 lead)
	{
		first = __ldg(in) >> lead;
		last = __ldg(in + n - 1) >> lead;
		base = first << lead;
		most = (last - first + 1 << lead) - 1;

		const u32 above = 64 - __clzll(most);

		drop = above > 32 ? above - 32 : 0;
		begins = (u32) (base >> drop);
		scale = (u32) (buckets_shared::BINS * 4294963200.f / ((float) (u32) (most >> drop) + 1));
	}

	/* Returns the bin, which is monotonic in the word for any range.  Multiplies instead of dividing. */
	__device__ __forceinline__ u32
	bin_of(u64 word) const
	{
		return min(__umulhi((u32) (word >> drop) - begins, scale), buckets_shared::BINS - 1);
	}
};

/* TIES: lists groups of words that are equal above the row. */
template <bool TIES>
__global__ void __launch_bounds__(gs_buckets_here::threads, gs_buckets_here::blocks)
order_buckets_kernel(const __grid_constant__ gs_buckets_args a)
{
	typedef buckets_shared shape;
	constexpr int THREADS = shape::THREADS, GROUP = shape::GROUP;
	extern __shared__ __align__(128) u8 memory[];
	const shape m(memory);
	const u32 thread = threadIdx.x;

	if (a.gate != NULL && *a.gate != a.gate_open)
		return;

	const u32 begin = a.cuts[blockIdx.x], end = a.cuts[blockIdx.x + 1], owns = end - begin;
	const u64 *in = a.words + begin;
	u64 w[shape::ITEMS];

	if (end <= begin || owns > shape::CAP)
	{
		if (end != begin)
			*a.wrong = 1;
		return;
	}

	/* 1. load the tile and find its range */
	shape::each_item(owns, [&](int i, bool there) { w[i] = there ? __ldcs(in + i * THREADS + thread) : 0; });

	const buckets_range range(in, owns, a.lead);
	u32 far = 0; /* upper half of the greatest word */
	bool bad = range.last < range.first || range.most >= GS_WINDOW_LAST ||
			   (thread == 0 && begin != 0 && __ldg(in - 1) >> a.lead >= range.first);

	if (thread == 0 && (blockIdx.x + a.ahead + 1) * (u64) a.tile <= a.n)
		prefetch_items(a.words + (blockIdx.x + a.ahead) * (u64) a.tile, a.tile * (u32) sizeof(u64));
	m.clear_bins();
	__syncthreads();

	/* 2. count the bins */
	auto bin_of = [&](int i) { return m.bins + range.bin_of(w[i]); };

	shape::each_item(owns, [&](int i, bool there) {
		if (there)
			atomicAdd(bin_of(i), 1);
	});
	__syncthreads();

	/* 3. find where bins begin */
	m.counts_to_begins(owns);

	/* 4. move words to their bins, in any order, minus the base */
	auto put = [&](u32 place, int i) {
		m.words[place] = w[i] - range.base;
		far = max(far, (u32) (w[i] - range.base >> 32));
	};

	shape::each_group(
		owns,
		[&](int g) {
			u32 place[GROUP];

#pragma unroll
			for (int i = 0; i < GROUP; i++)
				place[i] = finish_at(atomicAdd(bin_of(g + i), 1));
#pragma unroll
			for (int i = 0; i < GROUP; i++)
				put(place[i], g + i);
		},
		[&](int i, bool there) {
			if (there)
				put(finish_at(atomicAdd(bin_of(i), 1)), i);
		});
	bad |= far > (u32) (range.most >> 32);
	if (thread == 0)
		*m.told_most = range.most;
	if (bad)
		*a.wrong = 1;
	__syncthreads();

	/* 5. sort the words */
	if (!m.order_words(owns))
		*a.wrong = 1;

	/* 6. write */
	m.write_rows<TIES>(a, owns);
}

#endif
