/*
 * ties.cuh: kernels for tied rows: detection, small groups by comparison, lists of large ones (ties.cu).
 */
#ifndef GS_CUDA_ORDER_TIES_CUH
#define GS_CUDA_ORDER_TIES_CUH

#include "order.cuh"

#define TIE_THREADS 256
#define TIE_ITEMS	8 /* compaction: items per lane */
#define TIE_TILE	(TIE_THREADS * TIE_ITEMS)
#define SMALL_GROUP 32 /* largest group that is sorted by comparison */
#define MOST_BITS	40 /* of the key per round */
#define SERIAL		64 /* bytes of a string that one thread compares before its warp joins */

struct ties_args
{
	gs_dev_key key;
	const u64 *words;
	u64 n;
	u32 low;				   /* words: the step's bits, with the group above them, start at this bit */
	u32 room;				   /* bits of the step */
	const u32 *rows;		   /* row by number; NULL: the number itself */
	const u32 *positions;	   /* of sorted words; NULL: their own */
	const gs_dev_place *places; /* of groups before the step; NULL: start of the key */
	u32 *order;
	u32 pairs; /* order is aligned for writing pairs */
	gs_order_flags *flags;

	/* compaction, and the next round */
	u64 *counts; /* rows and (above them) groups per tile; later: before the tile */
	u64 total;
	u32 tiles;
	u32 *list;	 /* slots of tied rows */
	u32 *next_rows, *next_positions, *next_groups;
	gs_dev_place *next_places;
	u32 *common, *differ; /* per group */
};

/* A tied row: where its key continues, its group around slot i.  look_around tells whether there is work. */
struct tie
{
	u32 row;
	gs_dev_place place;
	bool tied, large;
	u32 left, right;
};

/* Returns the row of a word by its number, which in later rounds is a list position. */
static __device__ __forceinline__ u32
row_of(const ties_args &a, u64 word)
{
	u32 j = (u32) (word & ((1ull << a.low) - 1));

	return a.rows != NULL ? a.rows[j] : j;
}

/* Returns whether word i has this key. */
static __device__ __forceinline__ bool
alike(const ties_args &a, u64 i, u64 key)
{
	return a.words[i] >> a.low == key;
}

/* Examines neighbours: the group's extent, and whether it is large, by one look SMALL_GROUP away on each side. */
static __device__ __forceinline__ tie
look_around(const ties_args &a, u64 i)
{
	u64 w = a.words[i], key = w >> a.low;
	bool left = i > 0 && alike(a, i - 1, key), right = i + 1 < a.n && alike(a, i + 1, key);
	tie t = {row_of(a, w), {0, 0}, false, false, left, right};

	if (!left && !right)
		return t;
	if (a.places != NULL)
		t.place = a.places[w >> a.low >> a.room]; /* together they may have all 64 bits */
	(void) gs_step(a.key, t.place, a.room, t.row);
	if (t.place.field >= a.key.nfields)
		return t; /* equal to the end: arrival order, in place */
	t.tied = true;
	if ((i >= SMALL_GROUP && alike(a, i - SMALL_GROUP, key)) ||
		(i + SMALL_GROUP < a.n && alike(a, i + SMALL_GROUP, key)))
		t.large = true;
	else
	{
		while (left && i > t.left && alike(a, i - t.left - 1, key))
			t.left++;
		while (right && i + t.right + 1 < a.n && alike(a, i + t.right + 1, key))
			t.right++;
		t.large = t.left + t.right + 1 > SMALL_GROUP;
	}
	return t;
}

/* A thread's pairs of neighbouring words: pair p is 2 p TIE_THREADS words behind the first one. */
struct tie_pairs
{
	ulonglong2 w[TIE_ITEMS / 2];
	u64 edge[TIE_ITEMS / 2]; /* lane 0: the word before its warp's; lane 31: the one behind */
};

/* Loads the thread's words in 16-byte loads.  Beyond the end are words that equal no other. */
static __device__ __forceinline__ void
read_pairs(const ties_args &a, u64 base, tie_pairs &t)
{
#pragma unroll
	for (int p = 0; p < TIE_ITEMS / 2; p++)
	{
		u64 i = base + p * 2 * TIE_THREADS;

		if (i + 1 < a.n)
			t.w[p] = __ldg((const ulonglong2 *) (a.words + i));
		else
			t.w[p] = make_ulonglong2(i < a.n ? a.words[i] : ~0ull, ~0ull);
		t.edge[p] = 0;
		if (lane_id() == 0 && i > 0 && i < a.n)
			t.edge[p] = a.words[i - 1];
		if (lane_id() == 31 && i + 2 < a.n)
			t.edge[p] = a.words[i + 2];
	}
}

/* Sends the rows of words x and y, at i and i + 1, to their places unless they are tied (one, other). */
static __device__ __forceinline__ void
place_pair(const ties_args &a, u64 i, u64 x, u64 y, bool two, bool one, bool other)
{
	const u64 low_mask = (1ull << a.low) - 1;
	u32 r = (u32) (x & low_mask), s = (u32) (y & low_mask);

	if (a.rows != NULL)
	{
		r = a.rows[r];
		s = two ? a.rows[s] : 0;
	}
	if (a.pairs && !one && !other && two)
		*(uint2 *) (a.order + i) = make_uint2(r, s);
	else
	{
		if (!one)
			a.order[a.positions != NULL ? a.positions[i] : i] = r;
		if (two && !other)
			a.order[a.positions != NULL ? a.positions[i + 1] : i + 1] = s;
	}
}

/* Places the rows of pairs without ties.  Returns a bit for each word that ties with a neighbour. */
static __device__ __forceinline__ u32
place_pairs(const ties_args &a, u64 base, const tie_pairs &t)
{
	u32 equal = 0;
	bool bad = false;

#pragma unroll
	for (int p = 0; p < TIE_ITEMS / 2; p++)
	{
		u64 i = base + p * 2 * TIE_THREADS;
		u64 x = t.w[p].x, y = t.w[p].y, left = shuffle_up(y, 1), right = shuffle_down(x, 1);

		if (lane_id() == 0)
			left = i > 0 ? t.edge[p] : ~x;
		if (lane_id() == 31)
			right = t.edge[p];
		if (i + 2 >= a.n)
			right = ~y;
		if (i >= a.n)
			continue;

		const bool two = i + 1 < a.n, middle = two && (x ^ y) >> a.low == 0;
		const bool one = (left ^ x) >> a.low == 0 || middle, other = two && ((right ^ y) >> a.low == 0 || middle);

		bad |= (i > 0 && left > x) || (two && x > y);
		equal |= (u32) one << 2 * p | (u32) other << (2 * p + 1);
		place_pair(a, i, x, y, two, one, other);
	}
	if (bad)
		a.flags->wrong = 1;
	return equal;
}

/* Sends rows without ties to their places, lists the others, lest few threads keep their blocks waiting. */
static __global__ void __launch_bounds__(TIE_THREADS) place_kernel(const __grid_constant__ ties_args a)
{
	__shared__ u32 found, first;

	for (u32 tile = blockIdx.x; tile < a.tiles; tile += gridDim.x)
	{
		if (threadIdx.x == 0)
			found = 0;
		__syncthreads();

		const u64 base = (u64) tile * TIE_TILE + 2 * threadIdx.x;
		tie_pairs t;

		read_pairs(a, base, t);

		u32 equal = place_pairs(a, base, t), n = __popc(equal), upto = warp_inclusive(n), at = 0;

		if (lane_id() == 31 && upto != 0)
			at = atomicAdd(&found, upto);
		at = __shfl_sync(GS_ALL_LANES, at, 31) + upto - n;
		__syncthreads();
		if (threadIdx.x == 0 && found != 0)
			first = atomicAdd(&a.flags->listed, found);
		__syncthreads();
		for (; equal != 0; equal &= equal - 1)
		{
			u32 which = __ffs(equal) - 1;

			a.list[first + at++] = (u32) (base + which / 2 * 2 * TIE_THREADS + which % 2);
		}
	}
}

/* Handles listed rows: sends those of small groups to their places, counts rows and groups of large ones per tile. */
static __global__ void __launch_bounds__(TIE_THREADS) listed_kernel(const __grid_constant__ ties_args a)
{
	const u32 listed = a.flags->listed;

	for (u64 l = blockIdx.x * (u64) TIE_THREADS + threadIdx.x; l < listed; l += (u64) gridDim.x * TIE_THREADS)
	{
		u64 i = a.list[l], to = i;
		tie t = look_around(a, i);

		if (t.large)
		{
			atomicAdd((unsigned long long *) a.counts + i / TIE_TILE, (t.left == 0 ? 1ull << 32 : 0) + 1);
			a.flags->tied = 1; /* some; the number is computed later */
			continue;
		}
		if (t.tied)
		{
			u64 begin = i - t.left;
			u32 before = 0;

			for (u64 j = begin; j <= i + t.right; j++)
				if (j != i)
				{
					int c = gs_compare(a.key, t.place, row_of(a, a.words[j]), t.row);

					before += c < 0 || (c == 0 && j < i);
				}
			to = begin + before;
		}
		a.order[a.positions != NULL ? a.positions[to] : to] = t.row;
	}
}

/* Exclusive prefix sums of the counts, by one block. */
static __global__ void __launch_bounds__(1024) offsets_kernel(u64 *counts, u32 tiles, gs_order_flags *flags)
{
	__shared__ u64 sums[1024];
	const u32 share = (tiles + 1023) / 1024, from = threadIdx.x * share, to = min(tiles, from + share);
	u64 sum = 0, before;

	for (u32 t = from; t < to; t++)
		sum += counts[t];
	sums[threadIdx.x] = sum;
	__syncthreads();
	for (u32 d = 1; d < 1024; d *= 2)
	{
		u64 y = threadIdx.x >= d ? sums[threadIdx.x - d] : 0;

		__syncthreads();
		sums[threadIdx.x] += y;
		__syncthreads();
	}
	before = sums[threadIdx.x] - sum;
	for (u32 t = from; t < to; t++)
	{
		u64 c = counts[t];

		counts[t] = before;
		before += c;
	}
	if (threadIdx.x == 1023)
	{
		flags->tied = (u32) sums[1023];
		flags->groups = (u32) (sums[1023] >> 32);
	}
}

/* Writes slot i's row to place `to` of the list.  head: the first of its group, which records its place. */
static __device__ __forceinline__ void
list_row(const ties_args &a, u64 i, u32 to, u32 group, bool head)
{
	a.next_rows[to] = row_of(a, a.words[i]);
	a.next_positions[to] = a.positions != NULL ? a.positions[i] : (u32) i;
	a.next_groups[to] = group;
	if (head)
	{
		a.next_places[group] = look_around(a, i).place;
		a.common[group] = 0xffffffffu;
		a.differ[group] = 0;
	}
}

/* Lists the rows of large groups in order, and numbers the groups in order. */
static __global__ void __launch_bounds__(TIE_THREADS) compact_kernel(const __grid_constant__ ties_args a)
{
	constexpr u32 WARPS = TIE_THREADS / 32;
	__shared__ u32 warp_rows[WARPS], warp_groups[WARPS];
	const u32 warp = threadIdx.x / 32, lane = lane_id();

	for (u32 tile = blockIdx.x; tile < a.tiles; tile += gridDim.x)
	{
		const u64 before = a.counts[tile];

		if ((tile + 1 < a.tiles ? a.counts[tile + 1] : a.total) == before)
			continue; /* nothing to keep here */

		const u64 base = (u64) tile * TIE_TILE + warp * (32 * TIE_ITEMS) + lane;
		u32 kept = 0, heads = 0; /* bit per item */
		u32 rows = 0, groups = 0;

		for (u32 item = 0; item < TIE_ITEMS; item++)
		{
			u64 i = base + item * 32;
			bool keep = false, head = false;

			if (i < a.n)
			{
				tie t = look_around(a, i);

				keep = t.large;
				head = keep && t.left == 0;
			}
			kept |= (u32) keep << item;
			heads |= (u32) head << item;
			rows += __popc(__ballot_sync(GS_ALL_LANES, keep));
			groups += __popc(__ballot_sync(GS_ALL_LANES, head));
		}
		__syncthreads();
		if (lane == 0)
		{
			warp_rows[warp] = rows;
			warp_groups[warp] = groups;
		}
		__syncthreads();

		u32 row_at = (u32) before, group_at = (u32) (before >> 32);

		for (u32 w = 0; w < warp; w++)
		{
			row_at += warp_rows[w];
			group_at += warp_groups[w];
		}
		for (u32 item = 0; item < TIE_ITEMS; item++)
		{
			bool keep = kept >> item & 1, head = heads >> item & 1;
			u32 keeps = __ballot_sync(GS_ALL_LANES, keep), starts = __ballot_sync(GS_ALL_LANES, head);

			if (keep)
				list_row(a, base + item * 32, row_at + __popc(keeps & lanes_below()),
						 group_at + __popc(starts & lanes_upto()) - 1, head);
			row_at += __popc(keeps);
			group_at += __popc(starts);
		}
	}
}

/* Two strings behind the known common prefix of their group: limit bytes of each, of which the first `at` agree. */
struct tie_strings
{
	const u8 *s, *t;
	u32 limit, at, group;
	bool pair; /* both exist */
	bool same; /* lengths are equal */
	bool more; /* not compared to the end */
};

/* Compares some bytes of the strings of list entries i - 1 and i of m, if they are of one group. */
static __device__ __forceinline__ tie_strings
compare_begins(const ties_args &a, u64 i, u32 m)
{
	tie_strings x = {NULL, NULL, 0, 0, 0, false, false, false};

	x.pair = i < m && i > 0 && a.next_groups[i] == a.next_groups[i - 1];
	if (x.pair)
	{
		x.group = a.next_groups[i];

		gs_dev_place place = a.next_places[x.group];
		const gs_dev_field &f = a.key.fields[place.field];

		x.pair = f.kind == GS_DEV_BYTES;
		if (x.pair)
		{
			u32 depth = max(place.at, f.prefix), length_s, length_t;

			x.s = gs_field_string(f, a.next_rows[i - 1], length_s) + depth;
			x.t = gs_field_string(f, a.next_rows[i], length_t) + depth;
			x.limit = min(length_s, length_t);
			x.limit = x.limit > depth ? x.limit - depth : 0;
			x.same = length_s == length_t;
			x.at = gs_common(x.s, x.t, min(x.limit, (u32) SERIAL));
			x.more = x.at == SERIAL && x.limit > SERIAL;
		}
	}
	return x;
}

/* Returns how far strings x and y of `end` bytes agree, given that the first SERIAL bytes do.  By a whole warp. */
static __device__ __forceinline__ u32
compare_on(const u8 *x, const u8 *y, u32 end)
{
	for (u32 from = SERIAL; from < end; from += 256)
	{
		u32 here = from + lane_id() * 8;
		bool differs = here < end && gs_load8(x + here, end - here) != gs_load8(y + here, end - here);
		u32 who = __ballot_sync(GS_ALL_LANES, differs);

		if (who != 0)
		{
			from += (__ffs(who) - 1) * 8;
			return from + gs_common(x + from, y + from, end - from);
		}
	}
	return end;
}

/* Finds the common prefix of each group by comparing neighbours; a whole warp compares long strings. */
static __global__ void __launch_bounds__(TIE_THREADS) common_kernel(const __grid_constant__ ties_args a, u32 m)
{
	for (u64 base = blockIdx.x * (u64) TIE_THREADS + threadIdx.x / 32 * 32; base < m;
		 base += (u64) gridDim.x * TIE_THREADS)
	{
		tie_strings mine = compare_begins(a, base + lane_id(), m);

		for (u32 waiting = __ballot_sync(GS_ALL_LANES, mine.more); waiting != 0; waiting &= waiting - 1)
		{
			int lane = __ffs(waiting) - 1;
			u32 at = compare_on((const u8 *) shuffle((u64) mine.s, lane), (const u8 *) shuffle((u64) mine.t, lane),
								__shfl_sync(GS_ALL_LANES, mine.limit, lane));

			if ((int) lane_id() == lane)
				mine.at = at;
		}
		if (mine.pair)
		{
			if (mine.at < a.common[mine.group])
				atomicMin(&a.common[mine.group], mine.at);
			if ((mine.at < mine.limit || !mine.same) && a.differ[mine.group] == 0)
				a.differ[mine.group] = 1;
		}
	}
}

/* Advances groups' places past the common prefix of their strings or, if all are equal, to the next field. */
static __global__ void
skip_kernel(const __grid_constant__ ties_args a, u32 groups)
{
	for (u32 g = blockIdx.x * blockDim.x + threadIdx.x; g < groups; g += gridDim.x * blockDim.x)
	{
		gs_dev_place place = a.next_places[g];
		const gs_dev_field &f = a.key.fields[place.field];

		if (f.kind != GS_DEV_BYTES)
			continue;
		if (a.differ[g])
			place.at = max(place.at, f.prefix) + a.common[g];
		else
			place = gs_dev_place{place.field + 1, 0};
		a.next_places[g] = place;
	}
}

/* Makes the words of the next round: group, next bits of the key, list position. */
static __global__ void __launch_bounds__(TIE_THREADS)
next_words_kernel(const __grid_constant__ ties_args a, u32 m, u32 room, u32 low, u64 *words)
{
	for (u64 i = blockIdx.x * (u64) TIE_THREADS + threadIdx.x; i < m; i += (u64) gridDim.x * TIE_THREADS)
	{
		u32 group = a.next_groups[i];
		gs_dev_place place = a.next_places[group];
		u64 code = gs_step(a.key, place, room, a.next_rows[i]);

		words[i] = ((u64) group << room | code) << low | i;
	}
}

#endif
