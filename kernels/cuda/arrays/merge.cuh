/*
 * merge.cuh: merge sort by comparison, and the merge of sorted runs.
 *
 * Tiles are sorted in shared memory: a thread sorts its items in registers, then runs of threads are merged, doubling
 * at each level.  A pass then merges up to 8 neighbouring runs into one.  The cuts of each run for each output tile are
 * found beforehand; a block loads its tile's slices of all runs and merges them in pairs in shared memory, level by
 * level, each thread serially the items it finds by merge path.
 *
 * Between levels, only the first word of a key and the item's place are moved.  Further words are compared where first
 * words tie; they and the values are fetched when the tile is written.  Equal keys keep their order.
 *
 * Bytes per item: key and value, read and written once for the tiles and once per pass.  Source: moderngpu (merge path,
 * block sort); cuts: Varman, Scheufler, Iyer, Ricard, Merging multiple lists on hierarchical-memory multiprocessors,
 * 1991; network: Knuth 5.2.2 M.
 */
#ifndef GS_CUDA_ARRAYS_MERGE_CUH
#define GS_CUDA_ARRAYS_MERGE_CUH

#include "merge_tile.cuh"

/* ---------------------------------------------------------------- input that is in order */

/* Returns whether the keys ascend or descend throughout.  They have then been moved, and nothing is left to do. */
__device__ __forceinline__ bool
merge_in_order(const gs_merge_args &a)
{
	return a.seen != NULL && *a.seen != (GS_MERGE_FALL | GS_MERGE_RISE);
}

/* Compares neighbours until both an ascent and a descent have been seen. */
template <int KEY>
__global__ void __launch_bounds__(256) merge_check_order(const gs_merge_args a)
{
	for (u64 begin = blockIdx.x * (u64) 2048 + 1; begin < a.n; begin += gridDim.x * (u64) 2048)
	{
		u32 before = *(volatile u32 *) a.seen;
		bool fall = false, rise = false;

#pragma unroll
		for (int k = 0; k < 8; k++)
		{
			u64 i = begin + k * 256 + threadIdx.x;
			whole_key<KEY> x, y;

			if (i < a.n)
			{
				x.load(a.keys, i - 1);
				y.load(a.keys, i);
				(y.less(x) ? fall : rise) = true;
			}
		}

		u32 mine =
			(__any_sync(GS_ALL_LANES, fall) ? GS_MERGE_FALL : 0) | (__any_sync(GS_ALL_LANES, rise) ? GS_MERGE_RISE : 0);

		if (lane_id() == 0 && (mine & ~before) != 0)
			atomicOr(a.seen, mine);
		if (before == (GS_MERGE_FALL | GS_MERGE_RISE))
			return;
	}
}

/* Copies input that is in order; reverses input that strictly descends. */
template <int KEY>
__global__ void __launch_bounds__(256) merge_move(const gs_merge_args a)
{
	typedef typename merge_key<KEY>::first_word F;
	constexpr u32 WORDS = merge_key<KEY>::REST + 1;
	bool reversed = a.seen != NULL && *a.seen == GS_MERGE_FALL;
	u64 step = gridDim.x * (u64) 256;

	if (a.seen != NULL && !merge_in_order(a))
		return;
	for (u64 e = blockIdx.x * (u64) 256 + threadIdx.x; e < a.n * WORDS; e += step)
		((F *) a.out_keys)[e] = ((const F *) a.keys)[reversed ? (a.n - 1 - e / WORDS) * WORDS + e % WORDS : e];
	for (u64 i = blockIdx.x * (u64) 256 + threadIdx.x; i < a.n && a.value_width > 0; i += step)
	{
		u64 from = reversed ? a.n - 1 - i : i;

		if (a.value_width == 8)
			((u64 *) a.out_values)[i] = ((const u64 *) a.values)[from];
		else
			((u32 *) a.out_values)[i] = a.values != NULL ? ((const u32 *) a.values)[from] : (u32) from;
	}
}

/* ---------------------------------------------------------------- tiles, sorted */

/* Sorts the tiles of the input. */
template <int KEY, bool PLACES>
__global__ void __launch_bounds__(gs_merge_here<KEY>::threads, gs_merge_here<KEY>::blocks)
merge_blocks(const gs_merge_args a)
{
	constexpr int THREADS = gs_merge_here<KEY>::threads, ITEMS = gs_merge_here<KEY>::items;
	typedef merge_tile<KEY, PLACES, THREADS, ITEMS> tile;
	typedef typename tile::F F;
	static_assert((THREADS & (THREADS - 1)) == 0, "levels double");
	extern __shared__ __align__(128) u8 shared[];
	const u32 thread = threadIdx.x, own = thread * ITEMS;
	const u64 begin = blockIdx.x * (u64) tile::CAP;
	const u32 n = a.n - begin < (u64) tile::CAP ? (u32) (a.n - begin) : (u32) tile::CAP;
	F key[ITEMS];
	u32 place[ITEMS];
	tile t(shared, a.value_width);

	if (merge_in_order(a))
		return;

	/* 1. load */
	t.load(a, begin, n);
	copy_wait<1>();
	__syncthreads();

	/* 2. move to registers; is it in order? */
	bool ordered = true;

#pragma unroll
	for (int j = 0; j < ITEMS; j++)
	{
		key[j] = t.first[own + j];
		place[j] = own + j;
		if (j > 0)
			ordered &= !t.template less<true>(key[j], own + j, key[j - 1], own + j - 1);
	}
	if (own + ITEMS < tile::CAP)
		ordered &= !t.template less<true>(t.first[own + ITEMS], own + ITEMS, key[ITEMS - 1], own + ITEMS - 1);
	if (__syncthreads_and(ordered))
		t.store(key, place);
	else
	{
		/* 3. sort in registers by first words and arrival; where these tie, by insertion */
		sort_registers<F, PLACES>(key, place, std::make_index_sequence<merge_network<ITEMS>().size>());
		t.store(key, place);
		if constexpr (tile::REST > 0)
			t.insert_ties(own, key);
		__syncthreads();

		/* 4. merge runs of threads */
		for (u32 width = 1; width < THREADS; width *= 2)
		{
			u32 run = (thread & ~(2 * width - 1)) * ITEMS, half = width * ITEMS;

			t.template merge<false>(run, half, run + half, half, own - run, key, place);
			__syncthreads();
			t.store(key, place);
			__syncthreads();
		}
	}

	/* 5. write */
	copy_wait<0>();
	__syncthreads();
	t.write(a, begin, n);
}

/* ---------------------------------------------------------------- runs, merged */

/* Returns where a run begins: by equal lengths, or by the list, of which a pass uses every step-th entry. */
__device__ __forceinline__ u64
run_start(const gs_merge_args &a, u64 run)
{
	u64 at = a.starts != NULL ? run * a.step : run * a.length;

	if (a.starts != NULL)
		return a.starts[at < a.runs ? at : a.runs];
	return at < a.n ? at : a.n;
}

/* Returns a group's first tile.  With starts, each group has at most one tile more than it needs, to avoid a table. */
__device__ __forceinline__ u64
first_tile(const gs_merge_args &a, u64 group)
{
	return run_start(a, group * a.ways) / a.tile + group;
}

/* The items of a tile: its group, and its part of the group's output. */
struct merge_range
{
	u64 group, begin, end; /* relative to the group's first item */

	/* Finds tile t: by division for runs of equal length, otherwise by binary search over the groups' first tiles. */
	__device__ __forceinline__
	merge_range(const gs_merge_args &a, u64 t)
	{
		u64 at, of, size;

		if (a.starts != NULL)
		{
			u64 hi = a.groups;

			group = 0;
			while (hi - group > 1)
			{
				u64 middle = (group + hi) / 2;

				if (first_tile(a, middle) <= t)
					group = middle;
				else
					hi = middle;
			}
			at = t - first_tile(a, group);
			of = first_tile(a, group + 1) - first_tile(a, group);
		}
		else
		{
			group = t / a.per_group;
			at = t % a.per_group;
			of = a.per_group;
		}
		size = run_start(a, (group + 1) * a.ways) - run_start(a, group * a.ways);
		begin = size * at / of;
		end = size * (at + 1) / of;
	}
};

/* The least (or greatest) candidate among neighbouring lanes, one per run, by key, then run.  NONE: no lane has one. */
#define GS_MERGE_NONE 0xffffffffu

/* Finds the least or greatest key, ties by run, over neighbouring lanes with `ways` runs' keys or GS_MERGE_NONE. */
template <int KEY>
__device__ __forceinline__ void
extreme(whole_key<KEY> &key, u32 &run, u32 ways, bool greatest)
{
	for (u32 d = 1; d < ways; d *= 2)
	{
		whole_key<KEY> y = key;
		u32 other = __shfl_xor_sync(GS_ALL_LANES, run, d);
		bool less;

#pragma unroll
		for (int k = 0; k < whole_key<KEY>::WORDS; k++)
			y.w[k] = shuffle_xor(key.w[k], d);
		less = y.less(key) || (!key.less(y) && other < run);
		if (other != GS_MERGE_NONE && (run == GS_MERGE_NONE || less != greatest))
		{
			key = y;
			run = other;
		}
	}
}

/* A lane's run and its cut, with the samples on both sides. */
template <int KEY> struct merge_cut
{
	const u8 *keys;
	u64 length, c; /* c: samples to the left */
	whole_key<KEY> left, right;
	bool has_left, has_right;

	/* Halves the distance of samples to s.  The new one goes left if it is less than the greatest one there. */
	__device__ __forceinline__ void
	halve(u64 s, u32 run, u32 ways)
	{
		const u64 at = (2 * c + 1) * s - 1;
		whole_key<KEY> middle = {}, most = left;
		bool has_middle = at < length;
		u32 who = has_left ? run : GS_MERGE_NONE;

		if (has_middle)
			middle.load(keys, at);
		extreme(most, who, ways, true);
		c *= 2;
		if (has_middle && who != GS_MERGE_NONE && (middle.less(most) || (!most.less(middle) && run < who)))
		{
			c++;
			left = middle;
			has_left = true;
		}
		else
		{
			right = middle;
			has_right = has_middle;
		}
	}

	/* Moves the sample right of the cut to the left. */
	__device__ __forceinline__ void
	take(u64 s)
	{
		c++;
		left = right;
		has_left = true;

		const u64 at = (c + 1) * s - 1;

		has_right = at < length;
		if (has_right)
			right.load(keys, at);
	}

	/* Moves the sample left of the cut to the right. */
	__device__ __forceinline__ void
	give(u64 s)
	{
		c--;
		right = left;
		has_right = true;
		has_left = c > 0;
		if (has_left)
			left.load(keys, c * s - 1);
	}
};

/*
 * Finds the cut of each run for each tile: if the tile begins with item d of its group, how many items of each run
 * precede it.  Each lane samples every s-th item of a run, with s halved from round to round.  Invariant: of all
 * samples of all runs, the d / s least are left of the cuts.  New samples go to either side, then samples change sides
 * one by one until the number is right.
 */
template <int KEY>
__global__ void __launch_bounds__(256) merge_cuts(const gs_merge_args a)
{
	const u64 t = (blockIdx.x * (u64) 256 + threadIdx.x) / a.ways;
	const u32 run = threadIdx.x % a.ways;
	merge_cut<KEY> cut = {a.keys, 0, 0, {}, {}, false, false};
	u64 d = 0;

	if (merge_in_order(a))
		return;
	if (t < a.tiles)
	{
		merge_range r(a, t);
		u64 begin = run_start(a, r.group * a.ways + run);

		d = r.begin;
		cut.length = run_start(a, r.group * a.ways + run + 1) - begin;
		cut.keys += begin * KEY;
	}
	for (u32 round = a.rounds; round-- > 0;)
	{
		const u64 s = 1ull << round;
		u64 sum;

		cut.halve(s, run, a.ways);
		sum = cut.c;
		for (u32 l = 1; l < a.ways; l *= 2)
			sum += shuffle_xor(sum, l);

		i64 missing = (i64) ((d >> round) - sum);

		while (__any_sync(GS_ALL_LANES, missing != 0))
		{
			whole_key<KEY> best = missing > 0 ? cut.right : cut.left;
			u32 who = (missing > 0 ? cut.has_right : cut.has_left) ? run : GS_MERGE_NONE;

			extreme(best, who, a.ways, missing < 0);
			if (who == GS_MERGE_NONE)
				missing = 0;
			if (missing > 0)
			{
				if (who == run)
					cut.take(s);
				missing--;
			}
			else if (missing < 0)
			{
				if (who == run)
					cut.give(s);
				missing++;
			}
		}
	}
	if (t < a.tiles)
		a.cuts[t * a.ways + run] = (u32) cut.c;
}

/* The slices of runs that form a tile. */
struct run_slices
{
	u64 from[GS_MERGE_WAYS];	   /* start of each in the input */
	u32 before[GS_MERGE_WAYS + 1]; /* items of the slices before it */
	u32 slot[GS_MERGE_WAYS + 1];   /* slot it is loaded to: pairs of slices are aligned to threads' slots */
	u64 to;						   /* start of the tile in the output */
};

/* Finds the slices; lane r of the first warp finds the r-th. */
template <int ITEMS>
__device__ __forceinline__ void
find_slices(const gs_merge_args &a, u64 t, run_slices *p)
{
	const u32 r = threadIdx.x;
	const merge_range range(a, t);
	const u64 size = run_start(a, (range.group + 1) * a.ways) - run_start(a, range.group * a.ways);
	u64 from = 0;
	u32 count = 0, upto, left, pair, room;

	if (r < a.ways)
	{
		u64 begin = run_start(a, range.group * a.ways + r), end = run_start(a, range.group * a.ways + r + 1);

		from = begin + a.cuts[t * a.ways + r];
		if (range.end < size)
			end = begin + a.cuts[(t + 1) * a.ways + r];
		count = (u32) (end - from);
	}
	upto = count;
	left = __shfl_xor_sync(GS_ALL_LANES, count, 1);
	pair = count + left;
	pair = (pair + ITEMS - 1) / ITEMS * ITEMS;
	room = r % 2 == 0 ? pair : 0;
	for (u32 d = 1; d < 32; d *= 2)
	{
		u32 x = __shfl_up_sync(GS_ALL_LANES, upto, d), y = __shfl_up_sync(GS_ALL_LANES, room, d);

		if (r >= d)
		{
			upto += x;
			room += y;
		}
	}
	if (r < a.ways)
	{
		p->from[r] = from;
		p->before[r] = upto - count;
		p->slot[r] = room - pair + (r % 2 == 0 ? 0 : left);
	}
	if (r == a.ways - 1)
	{
		p->before[a.ways] = upto;
		p->slot[a.ways] = room;
	}
	if (r == 0)
		p->to = run_start(a, range.group * a.ways) + range.begin;
}

/* Copies a tile whose slices are already in sequence. */
template <int KEY, int THREADS>
__device__ __forceinline__ void
copy_slices(const gs_merge_args &a, const run_slices &p)
{
	typedef typename merge_key<KEY>::first_word F;
	constexpr u32 WORDS = merge_key<KEY>::REST + 1;

	for (u32 r = 0; r < a.ways; r++)
	{
		u32 count = p.before[r + 1] - p.before[r];
		u64 to = p.to + p.before[r], from = p.from[r];

		for (u32 e = threadIdx.x; e < count * WORDS; e += THREADS)
			((F *) a.out_keys)[to * WORDS + e] = ((const F *) a.keys)[from * WORDS + e];
		for (u32 i = threadIdx.x; i < count && a.value_width > 0; i += THREADS)
			if (a.value_width == 8)
				((u64 *) a.out_values)[to + i] = ((const u64 *) a.values)[from + i];
			else
				((u32 *) a.out_values)[to + i] =
					a.values != NULL ? ((const u32 *) a.values)[from + i] : (u32) (from + i);
	}
}

/* Returns whether slices are in sequence, as this thread sees, which compares its own with the next nonempty one. */
template <class TILE>
__device__ __forceinline__ bool
slice_in_order(const TILE &t, const run_slices &p, u32 ways)
{
	const u32 thread = threadIdx.x;

	if (thread >= ways || p.before[thread + 1] <= p.before[thread])
		return true;

	u32 r = thread + 1, last = p.slot[thread] + p.before[thread + 1] - p.before[thread] - 1;

	while (r < ways && p.before[r + 1] == p.before[r])
		r++;
	return r >= ways || !t.template less<true>(t.first[p.slot[r]], p.slot[r], t.first[last], last);
}

/* Merges a tile's slices in pairs, level by level, until all items are in order in the first slots. */
template <int ITEMS, class TILE>
__device__ __forceinline__ void
merge_slices(TILE &t, const run_slices &p, u32 ways)
{
	const u32 own = threadIdx.x * ITEMS;
	typename TILE::F key[ITEMS];
	u32 place[ITEMS], run = 0; /* the thread's slots belong to the pair of runs from run on */

	for (u32 r = 2; r < ways; r += 2)
		if (own >= p.slot[r])
			run = r;
	for (u32 width = 1; width < ways; width *= 2)
	{
		u32 x = run & ~(2 * width - 1), y = x + width;
		u32 na = p.before[y] - p.before[x], nb = p.before[y + width] - p.before[y], o = own - p.slot[x];

		if (o < na + nb)
		{
			if (width == 1)
				t.template merge<true>(p.slot[x], na, p.slot[y], nb, o, key, place);
			else
				t.template merge<false>(p.slot[x], na, p.slot[y], nb, o, key, place);
		}
		__syncthreads();
		if (o < na + nb)
			t.store(key, place);
		__syncthreads();
	}
}

/* Merges up to 8 runs, one tile of the result per block. */
template <int KEY, bool PLACES>
__global__ void __launch_bounds__(gs_merge_here<KEY>::threads, gs_merge_here<KEY>::blocks)
merge_runs(const gs_merge_args a)
{
	constexpr int THREADS = gs_merge_here<KEY>::threads, ITEMS = gs_merge_here<KEY>::items;
	typedef merge_tile<KEY, PLACES, THREADS, ITEMS> tile;
	extern __shared__ __align__(128) u8 shared[];
	__shared__ run_slices p;
	tile t(shared, a.value_width);

	if (merge_in_order(a))
		return;

	/* 1. load the slices */
	if (threadIdx.x < 32)
		find_slices<ITEMS>(a, blockIdx.x, &p);
	__syncthreads();
	for (u32 r = 0; r < a.ways; r++)
		t.load_keys(a, p.from[r], p.before[r + 1] - p.before[r], p.slot[r]);
	copy_commit();
	if constexpr (PLACES)
		for (u32 r = 0; r < a.ways; r++)
			t.load_values(a, p.from[r], p.before[r + 1] - p.before[r], p.slot[r]);
	copy_commit();
	copy_wait<1>();
	__syncthreads();

	/* 2. are they in sequence already? */
	if (__syncthreads_and(slice_in_order(t, p, a.ways)))
	{
		copy_slices<KEY, THREADS>(a, p);
		copy_wait<0>();
		return;
	}

	/* 3. merge them */
	merge_slices<ITEMS>(t, p, a.ways);

	/* 4. write */
	copy_wait<0>();
	__syncthreads();
	t.write(a, p.to, p.before[a.ways]);
}

/* ---------------------------------------------------------------- what a launcher needs to know */

struct gs_merge_kernels
{
	void (*check_order)(const gs_merge_args);
	void (*move)(const gs_merge_args);
	void (*blocks)(const gs_merge_args);
	void (*cuts)(const gs_merge_args);
	void (*runs)(const gs_merge_args);
	gs_merge_shape shape;
};

/* Return the kernels by the bytes of a key, a file each in inst/. */
gs_merge_kernels gs_merge_kernels4(bool places);
gs_merge_kernels gs_merge_kernels8(bool places);
gs_merge_kernels gs_merge_kernels16(bool places);
gs_merge_kernels gs_merge_kernels24(bool places);
gs_merge_kernels gs_merge_kernels32(bool places);

/* Returns the kernels for keys of KEY bytes.  PLACES: see merge_tile. */
template <int KEY>
gs_merge_kernels
gs_merge_kernels_of(bool places)
{
	if constexpr (KEY <= 8)
		if (!places)
			return {merge_check_order<KEY>, merge_move<KEY>,		 merge_blocks<KEY, false>,
					merge_cuts<KEY>, merge_runs<KEY, false>, {}};
	return {merge_check_order<KEY>, merge_move<KEY>,	   merge_blocks<KEY, true>,
			merge_cuts<KEY>,		merge_runs<KEY, true>, {}};
}

#endif
