/*
 * buckets.cuh: the last step of a sort whose leading digits are in order: small buckets put in order in shared memory.
 *
 * Words are distinct numbers that lie in order by their leading bits; words that share those are a bucket.  A kernel of
 * its own finds where tiles begin: with the first bucket that begins at or behind a multiple of the tile's size.  A
 * block counts a tile's words in bins that cut the range of its buckets evenly, some one word to a bin, so that hardly
 * any order is left to make within bins: each thread puts 16 neighbouring words in order in registers, then four at
 * both sides of each border between threads.  Whether everything is in order is then known for certain: buckets do not
 * fall from a tile to the next, no word lies outside its tile's buckets, and within a tile each word has been compared
 * with the next one.  If that fails (a bucket is too long, bins are crowded, the leading digits were not in order),
 * `wrong` says so and the output is not the order.
 *
 * A word less the tile's first bucket is a number whose order is that of the same bits as a double
 * (base/register_sort.cuh).
 *
 * Bytes per word: 8 read, and what the output takes.
 * After Stehle and Jacobsen, A memory bandwidth-efficient hybrid radix sort on GPUs, arXiv:1611.01137.
 */
#ifndef GS_CUDA_ORDER_BUCKETS_CUH
#define GS_CUDA_ORDER_BUCKETS_CUH

#include "../base/engine.cuh"
#include "../radix/tile.cuh"
#include "../base/register_sort.cuh"

#define GS_BUCKETS_ROUNDS 16 /* times that words may straddle windows: groups of some 64 words */

/* Neighbours in the output, before it is turned, whose words differ only in the row. */
struct alignas(8) gs_buckets_group
{
	u32 place, rows;
};

struct gs_buckets_args
{
	const u64 *words;
	u32 *order;
	u64 n;
	u32 tile, margin; /* words from where a tile begins to where the next one may, and the longest bucket */
	u32 *cuts;		  /* where tiles begin: tiles + 1 */
	u32 lead;		  /* a bucket is word >> lead */
	u32 row_mask;
	u32 rotate_by;  /* the order begins with the row that comes after so many */
	u32 ahead; /* tiles to the one that is fetched into the second-level cache */
	const u32 *gate; /* do nothing unless *gate is gate_open */
	u32 gate_open;
	u32 *wrong;
	gs_buckets_group *groups; /* of words that are alike above the row; room for so many */
	u32 room;
	u32 *listed; /* groups found */
};

/* Where a place of the tile lies in shared memory: no two lanes' windows in one bank. */
__device__ __forceinline__ u32
finish_at(u32 place)
{
	return place + place / GS_BUCKETS_WINDOW;
}

/* Where tiles begin: a warp looks for the end of the bucket that goes on where the tile might. */
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

/* TIES: lists groups of words that are alike above the row. */
template <bool TIES>
__global__ void __launch_bounds__(gs_buckets_here::threads, gs_buckets_here::blocks)
order_buckets_kernel(const __grid_constant__ gs_buckets_args a)
{
	constexpr int THREADS = gs_buckets_here::threads, ITEMS = gs_buckets_here::items, BINS = gs_buckets_here::bins;
	constexpr u32 WINDOW = GS_BUCKETS_WINDOW, WARPS = THREADS / 32, CAP = THREADS * ITEMS;
	constexpr int GROUP = 4; /* items whose atomics are under way together */
	/* bins of a thread: an odd number of times 4, so that no lanes meet in a bank */
	constexpr u32 SHARE = BINS / THREADS;
	static_assert(ITEMS <= WINDOW && ITEMS % GROUP == 0 && THREADS % WINDOW == 0, "a window to a thread");
	static_assert(SHARE % 4 == 0 && SHARE * THREADS == BINS, "bins are read four at a time");
	static_assert(CAP / 2 <= BINS, "groups of a tile in order have room where bins were");
	extern __shared__ __align__(128) u8 memory[];
	u32 *const bins = (u32 *) memory; /* counts, then where each bin's next word goes */
	u32 *const sums = bins + BINS;
	u32 *const told = sums + 32; /* groups, and where they are listed */
	u64 *const told_most = (u64 *) (told + 2); /* the greatest word that may be */
	u64 *const words = (u64 *) (told + 4);

	const u32 thread = threadIdx.x, warp = thread / 32, lane = lane_id();

	if (a.gate != NULL && *a.gate != a.gate_open)
		return;

	const u32 begin = a.cuts[blockIdx.x], end = a.cuts[blockIdx.x + 1], owns = end - begin;
	const u64 *in = a.words + begin;
	u64 w[ITEMS];

	if (end <= begin || owns > CAP)
	{
		if (end != begin)
			*a.wrong = 1;
		return;
	}

	/* 1. the tile and its range */
	auto full = [&](int g) { return (g + GROUP) * THREADS <= owns; }; /* all threads have items g, ... */
#pragma unroll
	for (int g = 0; g < ITEMS; g += GROUP)
		if (full(g))
		{
#pragma unroll
			for (int i = g; i < g + GROUP; i++)
				w[i] = __ldcs(in + i * THREADS + thread);
		}
		else
		{
#pragma unroll
			for (int i = g; i < g + GROUP; i++)
				w[i] = i * THREADS + thread < owns ? __ldcs(in + i * THREADS + thread) : 0;
		}

	const u64 first = __ldg(in) >> a.lead, last = __ldg(in + owns - 1) >> a.lead;
	const u64 base = first << a.lead, most = (last - first + 1 << a.lead) - 1; /* words lie from base to base + most */
	const u32 above = 64 - __clzll(most), drop = above > 32 ? above - 32 : 0;
	const u32 begins = (u32) (base >> drop), scale = (u32) (BINS * 4294963200.f / ((float) (u32) (most >> drop) + 1));
	u32 far = 0; /* upper half of the greatest word */
	bool bad =
		last < first || most >= GS_WINDOW_LAST || (thread == 0 && begin != 0 && __ldg(in - 1) >> a.lead >= first);

	if (thread == 0 && (blockIdx.x + a.ahead + 1) * (u64) a.tile <= a.n)
		prefetch_items(a.words + (blockIdx.x + a.ahead) * (u64) a.tile, a.tile * (u32) sizeof(u64));
	for (u32 i = thread; i < BINS / 4; i += THREADS)
		((uint4 *) bins)[i] = make_uint4(0, 0, 0, 0);
	__syncthreads();

	auto bin_of = [&](int i) { return bins + min(__umulhi((u32) (w[i] >> drop) - begins, scale), BINS - 1); };

	/* 2. counts of bins */
#pragma unroll
	for (int g = 0; g < ITEMS; g += GROUP)
		if (full(g))
		{
#pragma unroll
			for (int i = g; i < g + GROUP; i++)
				atomicAdd(bin_of(i), 1);
		}
		else
		{
#pragma unroll
			for (int i = g; i < g + GROUP; i++)
				if (i * THREADS + thread < owns)
					atomicAdd(bin_of(i), 1);
		}
	__syncthreads();

	/* 3. where bins begin */
	{
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
			words[finish_at(owns + lane)] = GS_WINDOW_LAST; /* for the windows that hold the last word */
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

	/* 4. words to their bins, in any order, less what all have in common */
#pragma unroll
	for (int g = 0; g < ITEMS; g += GROUP)
		if (full(g))
		{
			u32 place[GROUP];

#pragma unroll
			for (int i = 0; i < GROUP; i++)
				place[i] = finish_at(atomicAdd(bin_of(g + i), 1));
#pragma unroll
			for (int i = 0; i < GROUP; i++)
			{
				words[place[i]] = w[g + i] - base;
				far = max(far, (u32) (w[g + i] - base >> 32));
			}
		}
		else
		{
#pragma unroll
			for (int i = g; i < g + GROUP; i++)
				if (i * THREADS + thread < owns)
				{
					words[finish_at(atomicAdd(bin_of(i), 1))] = w[i] - base;
					far = max(far, (u32) (w[i] - base >> 32));
				}
		}
	bad |= far > (u32) (most >> 32);
	if (thread == 0)
		*told_most = most;
	if (bad)
		*a.wrong = 1;
	__syncthreads();

	/* 5. windows into order, then what straddles their borders, until nothing falls */
	for (u32 round = 0;; round++)
	{
		const u32 whole = __ballot_sync(GS_ALL_LANES, thread * WINDOW < owns);
		u64 *const mine = words + thread * (WINDOW + 1);
		bool falls = false;

		if (thread * WINDOW < owns)
		{
			u64 x[WINDOW];

#pragma unroll
			for (u32 j = 0; j < WINDOW; j++)
				x[j] = mine[j];
			(void) transpose(x);
			put_in_order(x, whole);
#pragma unroll
			for (u32 j = 0; j < WINDOW; j++)
				mine[j] = x[j];
		}
		__syncthreads();

		const u32 border = __ballot_sync(GS_ALL_LANES, (thread + 1) * WINDOW < owns);

		if ((thread + 1) * WINDOW < owns)
		{
			u64 x[8];

#pragma unroll
			for (u32 j = 0; j < 8; j++)
				x[j] = mine[WINDOW - 4 + j + (j > 3)];

			const u64 left = mine[WINDOW - 5], right = mine[WINDOW + 5];

			put_in_order(x, border);
			falls |= x[0] < left || x[7] > right;
#pragma unroll
			for (u32 j = 0; j < 8; j++)
				mine[WINDOW - 4 + j + (j > 3)] = x[j];
		}
		if (!__syncthreads_or(falls))
			break;
		if (round == GS_BUCKETS_ROUNDS)
		{
			*a.wrong = 1;
			break;
		}
	}

	/* 6. out; groups of words that are alike are listed with their first one */
	{
		const u64 *const mine = words + finish_at(thread);
		const u32 later = thread % WINDOW == WINDOW - 1 ? 2 : 1;
		u32 *const found = bins; /* place, and words behind it */
		const u32 begin = a.cuts[blockIdx.x]; /* once more, as the thread's number: no registers for them in between */
		u32 thread;
		asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
		u32 from = begin - a.rotate_by, alike = 0; /* bit per word: the next one is */

		if (a.rotate_by != 0 && from >= (u32) a.n)
			from += (u32) a.n;

		const bool around = (u64) from + owns > a.n; /* the end */
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

			if (place >= owns)
				break;

			const u64 x = *at;

			order[i * THREADS - (around && from + place >= (u32) a.n ? (i64) a.n : 0)] = (u32) x & a.row_mask;
			if (TIES && at[later] <= (x | a.row_mask))
				alike |= 1u << i;
		}
		if (TIES)
		{
			for (; alike != 0; alike &= alike - 1)
			{
				const u32 place = (__ffs(alike) - 1) * THREADS + thread;
				const u64 x = words[finish_at(place)] | a.row_mask;
				u32 more = 1;

				if (place > 0 && (words[finish_at(place - 1)] | a.row_mask) == x)
					continue; /* not the first */
				while (place + more + 1 < owns && words[finish_at(place + more + 1)] <= x)
					more++;
				/* words that are out of order (wrong is 1) may be more than there is room for */
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
		/* no word lies in front of its bucket or behind the last one */
		if (thread == 0 && words[finish_at(owns - 1)] > *told_most)
			*a.wrong = 1;
	}
}

#endif
