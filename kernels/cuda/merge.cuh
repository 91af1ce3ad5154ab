/*
 * merge.cuh: merge sort by comparison, and the merge of sorted runs.
 *
 * Tiles are sorted in shared memory: a thread sorts its items in registers (merge exchange), then runs of threads are merged, twice
 * as many in each level.  A pass then merges up to 16 neighbouring runs into one.  Where each run is cut for each output tile is
 * found beforehand, by as many lanes as there are runs; a block loads its tile's pieces of all runs and merges them two by two, in shared
 * memory, level by level.  Within a level each thread finds by merge path where its items come from and merges them serially.
 *
 * What moves from level to level is the first word of a key and the item's place; further words are looked at where first words are
 * equal, and they and the values are fetched through the place once, when the tile is written.  Equal keys keep their order.
 *
 * Bytes per item: key and value read and written once for the tiles and once per pass; a pass of 16 runs replaces four of two.
 * Source: moderngpu (merge path, block sort); the cuts: Varman, Scheufler, Iyer, Ricard, Merging multiple lists on
 * hierarchical-memory multiprocessors, 1991; the network: Knuth 5.2.2 M.
 */
#ifndef GS_MERGE_CUH
#define GS_MERGE_CUH

#include "device.cuh"
#include "sort_tuning.h"

#include <utility>

/* What all kernels here are given. */
struct gs_merge_args
{
	const u8 *keys, *values; /* values NULL: row numbers, if the width is not 0 */
	u8 *out_keys, *out_values;
	u64 n;
	u32 value_width;

	/* runs to merge: starts lists where they begin, of which every step-th counts now; NULL: they begin every length items */
	const u64 *starts;
	u64 runs, step, length;

	u32 ways;	   /* runs merged into one: a power of 2 */
	u32 rounds;	   /* bits in the length of the longest run */
	u32 per_group; /* without starts: tiles for each group of runs */
	u32 tile;	   /* items of a tile at most */
	u64 groups, tiles;
	u32 *cuts; /* of each tile's first item: where in its runs it lies */

	u32 *seen; /* NULL, or GS_MERGE_FALL and _RISE where neighbours in the input were seen to */
};

#define GS_MERGE_FALL 1u
#define GS_MERGE_RISE 2u /* or stay */

/* ---------------------------------------------------------------- keys */

template <int BYTES> struct merge_key
{
	typedef u64 first_word;
	static constexpr int REST = BYTES / 8 - 1;
};
template <> struct merge_key<4>
{
	typedef u32 first_word;
	static constexpr int REST = 0;
};

/* A whole key in registers. */
template <int BYTES> struct whole_key
{
	static constexpr int WORDS = merge_key<BYTES>::REST + 1;
	typename merge_key<BYTES>::first_word w[WORDS];

	__device__ __forceinline__ void
	load(const u8 *keys, u64 i)
	{
#pragma unroll
		for (int k = 0; k < WORDS; k++)
			w[k] = ((const typename merge_key<BYTES>::first_word *) keys)[i * WORDS + k];
	}
	__device__ __forceinline__ bool
	less(const whole_key &other) const
	{
#pragma unroll
		for (int k = 0; k < WORDS - 1; k++)
			if (w[k] != other.w[k])
				return w[k] < other.w[k];
		return w[WORDS - 1] < other.w[WORDS - 1];
	}
};

/* ---------------------------------------------------------------- loads that need no register */

template <int BYTES>
__device__ __forceinline__ void
copy_async(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((u32) __cvta_generic_to_shared(to)),
				 "l"(__cvta_generic_to_global(from)), "n"(BYTES)
				 : "memory");
#else
	*(typename item_of<BYTES>::type *) to = *(const typename item_of<BYTES>::type *) from;
#endif
}

/* Copies so far are a group; all groups but the last few have come. */
__device__ __forceinline__ void
copy_commit()
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int LAST>
__device__ __forceinline__ void
copy_wait()
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.wait_group %0;" ::"n"(LAST) : "memory");
#endif
}

/* ---------------------------------------------------------------- a thread's items in registers */

/* Merge exchange: pairs to compare, one after another, for any number of items. */
template <int N> struct merge_network
{
	u8 a[N * N / 2], b[N * N / 2];
	int size;

	__host__ __device__ constexpr merge_network() : a(), b(), size(0)
	{
		int top = 1;

		while (2 * top < N)
			top *= 2;
		for (int p = top; p > 0; p /= 2)
			for (int q = top, r = 0, d = p;; d = q - p, q /= 2, r = p)
			{
				for (int i = 0; i < N - d; i++)
					if ((i & p) == r)
					{
						a[size] = (u8) i;
						b[size++] = (u8) (i + d);
					}
				if (q == p)
					break;
			}
	}
};

template <class F, int A, int B, bool PLACES, int N>
__device__ __forceinline__ void
exchange(F (&key)[N], u32 (&place)[N])
{
	F x = key[A], y = key[B];
	u32 px = place[A], py = place[B];
	bool swap = y < x || (PLACES && y == x && py < px);

	key[A] = swap ? y : x;
	key[B] = swap ? x : y;
	place[A] = swap ? py : px;
	place[B] = swap ? px : py;
}

template <class F, bool PLACES, int N, size_t... I>
__device__ __forceinline__ void
sort_registers(F (&key)[N], u32 (&place)[N], std::index_sequence<I...>)
{
	constexpr merge_network<N> net;

	(exchange<F, net.a[I], net.b[I], PLACES>(key, place), ...);
}

/* ---------------------------------------------------------------- a tile in shared memory */

__host__ __device__ constexpr size_t
gs_merge_round(size_t bytes)
{
	return (bytes + 15) / 16 * 16;
}

/* Shared memory of a block. */
constexpr size_t
gs_merge_shared(int key, int threads, int items, size_t value_width)
{
	size_t cap = (size_t) threads * items, pad = (size_t) items + 1;

	return gs_merge_round((cap + pad) * (key < 8 ? key : 8)) + (key > 8 ? cap * (key - 8) : 0) +
		   gs_merge_round(cap * value_width) + (key > 8 || value_width > 0 ? gs_merge_round((cap + pad) * 2) : 0);
}

/* PLACES: something must be fetched when the order is known: further words, values. */
template <int KEY, bool PLACES, int THREADS, int ITEMS> struct merge_tile
{
	typedef typename merge_key<KEY>::first_word F;
	static constexpr int REST = merge_key<KEY>::REST, WORDS = REST + 1, CAP = THREADS * ITEMS;
	static_assert(CAP <= 65536, "places have 16 bits");

	F *first;	/* moved from level to level */
	u16 *place; /* the same: where the item was loaded to */
	u64 *rest;	/* stay where they were loaded to */
	u8 *values;

	__device__ __forceinline__
	merge_tile(u8 *shared, u32 value_width)
	{
		constexpr size_t pad = ITEMS + 1;

		first = (F *) shared;
		rest = (u64 *) (shared + gs_merge_round((CAP + pad) * sizeof(F)));
		values = (u8 *) (rest + (size_t) CAP * REST);
		place = (u16 *) (values + gs_merge_round((size_t) CAP * value_width));
	}

	/* Begins to load items from..from + count - 1 of the input to slots from slot on. */
	__device__ __forceinline__ void
	load_keys(const gs_merge_args &a, u64 from, u32 count, u32 slot)
	{
		const F *in = (const F *) a.keys + from * WORDS;

		if constexpr (REST == 0)
			for (u32 i = threadIdx.x; i < count; i += THREADS)
				copy_async<sizeof(F)>(first + slot + i, in + i);
		else
			for (u32 e = threadIdx.x; e < count * WORDS; e += THREADS)
			{
				u32 i = slot + e / WORDS, w = e % WORDS;

				copy_async<8>(w == 0 ? (u64 *) first + i : rest + (size_t) i * REST + w - 1, in + e);
			}
	}
	__device__ __forceinline__ void
	load_values(const gs_merge_args &a, u64 from, u32 count, u32 slot)
	{
		if (a.value_width == 8)
			for (u32 i = threadIdx.x; i < count; i += THREADS)
				copy_async<8>((u64 *) values + slot + i, (const u64 *) a.values + from + i);
		else if (a.value_width == 4 && a.values != NULL)
			for (u32 i = threadIdx.x; i < count; i += THREADS)
				copy_async<4>((u32 *) values + slot + i, (const u32 *) a.values + from + i);
		else if (a.value_width == 4)
			for (u32 i = threadIdx.x; i < count; i += THREADS)
				((u32 *) values)[slot + i] = (u32) (from + i);
	}

	/* Of two items with equal first words, by where they were loaded to. */
	__device__ __forceinline__ bool
	rest_less(u32 x, u32 y) const
	{
		for (int w = 0; w < REST; w++)
			if (rest[(size_t) x * REST + w] != rest[(size_t) y * REST + w])
				return rest[(size_t) x * REST + w] < rest[(size_t) y * REST + w];
		return false;
	}

	/* Is the item in slot y, whose first word is known, less than that in slot x?  LOADED: no item has moved yet. */
	template <bool LOADED>
	__device__ __forceinline__ bool
	less(F fy, u32 y, F fx, u32 x) const
	{
		if constexpr (REST == 0)
			return fy < fx;
		else
			return fy < fx || (fy == fx && rest_less(LOADED ? y : place[y], LOADED ? x : place[x]));
	}

	/*
	 * ITEMS items from the o-th on of the merge of slots a.. (na of them) and b.. (nb), into registers.
	 */
	template <bool LOADED>
	__device__ __forceinline__ void
	merge(u32 a, u32 na, u32 b, u32 nb, u32 o, F (&key)[ITEMS], u32 (&at)[ITEMS]) const
	{
		u32 lo = o > nb ? o - nb : 0, hi = o < na ? o : na;

		while (lo < hi)
		{
			u32 x = (lo + hi) / 2, y = o - 1 - x;

			if (less<LOADED>(first[b + y], b + y, first[a + x], a + x))
				hi = x;
			else
				lo = x + 1;
		}

		u32 a_end = a + na, b_end = b + nb;

		a += lo;
		b += o - lo;

		F fa = first[a], fb = first[b];

#pragma unroll
		for (int j = 0; j < ITEMS; j++)
		{
			bool from_a = b >= b_end || (a < a_end && !less<LOADED>(fb, b, fa, a));
			u32 slot = from_a ? a : b;
			F next = first[slot + 1];

			key[j] = from_a ? fa : fb;
			if constexpr (PLACES)
				at[j] = LOADED ? slot : place[slot];
			if (from_a)
			{
				a++;
				fa = next;
			}
			else
			{
				b++;
				fb = next;
			}
		}
	}

	/* The thread's registers to its slots. */
	__device__ __forceinline__ void
	store(const F (&key)[ITEMS], const u32 (&at)[ITEMS])
	{
		u32 own = threadIdx.x * ITEMS;

#pragma unroll
		for (int j = 0; j < ITEMS; j++)
		{
			first[own + j] = key[j];
			if constexpr (PLACES)
				place[own + j] = (u16) at[j];
		}
	}

	/* Writes the first n slots out as items at.. of the output; a warp's stores begin on lines of 128 bytes. */
	__device__ __forceinline__ void
	write(const gs_merge_args &a, u64 to, u32 n)
	{
		F *out = (F *) a.out_keys + to * WORDS;
		u32 skew = (u32) ((uintptr_t) out % 128 / sizeof(F));

		for (u32 k = threadIdx.x; k < n * WORDS + skew; k += THREADS)
			if (k >= skew)
			{
				u32 e = k - skew;

				if constexpr (REST == 0)
					out[e] = first[e];
				else
				{
					u32 i = e / WORDS, w = e % WORDS;

					out[e] = w == 0 ? first[i] : rest[(size_t) place[i] * REST + w - 1];
				}
			}
		if constexpr (PLACES)
		{
			if (a.value_width == 4)
				write_values((u32 *) a.out_values + to, n);
			else if (a.value_width == 8)
				write_values((u64 *) a.out_values + to, n);
		}
	}
	template <class V>
	__device__ __forceinline__ void
	write_values(V *out, u32 n)
	{
		u32 skew = (u32) ((uintptr_t) out % 128 / sizeof(V));

		for (u32 k = threadIdx.x; k < n + skew; k += THREADS)
			if (k >= skew)
				out[k - skew] = ((const V *) values)[place[k - skew]];
	}
};

/* ---------------------------------------------------------------- input that is in order */

__device__ __forceinline__ bool
merge_in_order(const gs_merge_args &a)
{
	return a.seen != NULL && *a.seen != (GS_MERGE_FALL | GS_MERGE_RISE);
}

/* Looks at neighbours until both a rise and a fall have been seen. */
template <int KEY>
__global__ void __launch_bounds__(256) merge_look(const gs_merge_args a)
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

		u32 mine = (__any_sync(GS_ALL_LANES, fall) ? GS_MERGE_FALL : 0) | (__any_sync(GS_ALL_LANES, rise) ? GS_MERGE_RISE : 0);

		if (lane_id() == 0 && (mine & ~before) != 0)
			atomicOr(a.seen, mine);
		if (before == (GS_MERGE_FALL | GS_MERGE_RISE))
			return;
	}
}

/* Copies input that is in order, turns input around that falls everywhere. */
template <int KEY>
__global__ void __launch_bounds__(256) merge_move(const gs_merge_args a)
{
	typedef typename merge_key<KEY>::first_word F;
	constexpr u32 WORDS = merge_key<KEY>::REST + 1;
	bool turn = a.seen != NULL && *a.seen == GS_MERGE_FALL;
	u64 step = gridDim.x * (u64) 256;

	if (a.seen != NULL && !merge_in_order(a))
		return;
	for (u64 e = blockIdx.x * (u64) 256 + threadIdx.x; e < a.n * WORDS; e += step)
		((F *) a.out_keys)[e] = ((const F *) a.keys)[turn ? (a.n - 1 - e / WORDS) * WORDS + e % WORDS : e];
	for (u64 i = blockIdx.x * (u64) 256 + threadIdx.x; i < a.n && a.value_width > 0; i += step)
	{
		u64 from = turn ? a.n - 1 - i : i;

		if (a.value_width == 8)
			((u64 *) a.out_values)[i] = ((const u64 *) a.values)[from];
		else
			((u32 *) a.out_values)[i] = a.values != NULL ? ((const u32 *) a.values)[from] : (u32) from;
	}
}

/* ---------------------------------------------------------------- tiles, sorted */

template <int KEY, bool PLACES, int THREADS, int ITEMS, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS) merge_blocks(const gs_merge_args a)
{
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

	/* 1. load; what is missing in the last tile is greater than everything, and comes later */
	t.load_keys(a, begin, n, 0);
	copy_commit();
	if constexpr (PLACES)
		t.load_values(a, begin, n, 0);
	copy_commit();
	for (u32 i = n + thread; i < tile::CAP; i += THREADS)
	{
		t.first[i] = (F) ~(F) 0;
		for (int w = 0; w < tile::REST; w++)
			t.rest[(size_t) i * tile::REST + w] = ~0ull;
	}
	copy_wait<1>();
	__syncthreads();

	/* 2. into registers; is it in order? */
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
		/* 3. sort in registers, by first words and arrival; where these tie, by insertion */
		sort_registers<F, PLACES>(key, place, std::make_index_sequence<merge_network<ITEMS>().size>());
		t.store(key, place);
		if constexpr (tile::REST > 0)
		{
			bool ties = false;

#pragma unroll
			for (int j = 1; j < ITEMS; j++)
				ties |= key[j] == key[j - 1];
			for (u32 i = own + 1; ties && i < own + ITEMS; i++)
			{
				F f = t.first[i];
				u32 p = t.place[i], to = i;

				while (to > own && t.first[to - 1] == f && t.rest_less(p, t.place[to - 1]))
				{
					t.place[to] = t.place[to - 1];
					to--;
				}
				t.place[to] = (u16) p;
			}
		}
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

	/* 5. out */
	copy_wait<0>();
	__syncthreads();
	t.write(a, begin, n);
}

/* ---------------------------------------------------------------- runs, merged */

__device__ __forceinline__ u64
run_start(const gs_merge_args &a, u64 run)
{
	u64 at = a.starts != NULL ? run * a.step : run * a.length;

	if (a.starts != NULL)
		return a.starts[at < a.runs ? at : a.runs];
	return at < a.n ? at : a.n;
}

/* With starts, group g has one tile more than it needs at most, so that where its tiles begin needs no table. */
__device__ __forceinline__ u64
first_tile(const gs_merge_args &a, u64 group)
{
	return run_start(a, group * a.ways) / a.tile + group;
}

/* Which items a tile is: of which group, and which of its output. */
struct merge_range
{
	u64 group, begin, end; /* counted from the group's first item */

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

/* The least (or greatest) candidate among neighbouring lanes, one for each run; by key, then run.  NONE: no lane has one. */
#define GS_MERGE_NONE 0xffffffffu

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

/*
 * Where each run is cut for each tile: the tile's first item is number d of the group, and so many items of each run come before
 * it.  A lane for each run, of which it takes every s-th item as a sample, s halving from round to round; kept true:
 * of all samples of all runs the d / s least lie left of the cuts.  A new sample goes left if it is less than the greatest on the
 * left; then samples change sides, one by one, until the number is right.
 */
template <int KEY>
__global__ void __launch_bounds__(256) merge_cuts(const gs_merge_args a)
{
	const u64 t = (blockIdx.x * (u64) 256 + threadIdx.x) / a.ways;
	const u32 run = threadIdx.x % a.ways;
	const u8 *keys = a.keys;
	u64 length = 0, d = 0, c = 0; /* c: samples on the left */
	whole_key<KEY> left = {}, right = {};
	bool has_left = false, has_right = false;

	if (merge_in_order(a))
		return;
	if (t < a.tiles)
	{
		merge_range r(a, t);
		u64 begin = run_start(a, r.group * a.ways + run);

		d = r.begin;
		length = run_start(a, r.group * a.ways + run + 1) - begin;
		keys += begin * KEY;
	}
	for (u32 round = a.rounds; round-- > 0;)
	{
		u64 s = 1ull << round, at = (2 * c + 1) * s - 1, sum;
		whole_key<KEY> middle = {}, most = left;
		bool has_middle = at < length;
		u32 who = has_left ? run : GS_MERGE_NONE;

		if (has_middle)
			middle.load(keys, at);
		extreme(most, who, a.ways, true);
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
		sum = c;
		for (u32 l = 1; l < a.ways; l *= 2)
			sum += shuffle_xor(sum, l);

		i64 missing = (i64) ((d >> round) - sum);

		while (__any_sync(GS_ALL_LANES, missing != 0))
		{
			whole_key<KEY> best = missing > 0 ? right : left;

			who = (missing > 0 ? has_right : has_left) ? run : GS_MERGE_NONE;
			extreme(best, who, a.ways, missing < 0);
			if (who == GS_MERGE_NONE)
				missing = 0;
			if (missing > 0)
			{
				if (who == run)
				{
					c++;
					left = right;
					has_left = true;
					at = (c + 1) * s - 1;
					has_right = at < length;
					if (has_right)
						right.load(keys, at);
				}
				missing--;
			}
			else if (missing < 0)
			{
				if (who == run)
				{
					c--;
					right = left;
					has_right = true;
					has_left = c > 0;
					if (has_left)
						left.load(keys, c * s - 1);
				}
				missing++;
			}
		}
	}
	if (t < a.tiles)
		a.cuts[t * a.ways + run] = (u32) c;
}

/* The pieces of runs that make up a tile. */
struct merge_pieces
{
	u64 from[GS_MERGE_WAYS];	   /* where each begins in the input */
	u32 before[GS_MERGE_WAYS + 1]; /* items of those before it */
	u32 slot[GS_MERGE_WAYS + 1];   /* where it is loaded to: pairs of them begin where a thread's slots do */
	u64 to;						   /* where the tile begins in the output */
};

/* Lane r of the first warp finds the r-th piece. */
template <int ITEMS>
__device__ __forceinline__ void
find_pieces(const gs_merge_args &a, u64 t, merge_pieces *p)
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

/* Copies a tile whose pieces follow each other in order. */
template <int KEY, int THREADS>
__device__ __forceinline__ void
copy_pieces(const gs_merge_args &a, const merge_pieces &p)
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
				((u32 *) a.out_values)[to + i] = a.values != NULL ? ((const u32 *) a.values)[from + i] : (u32) (from + i);
	}
}

template <int KEY, bool PLACES, int THREADS, int ITEMS, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS) merge_runs(const gs_merge_args a)
{
	typedef merge_tile<KEY, PLACES, THREADS, ITEMS> tile;
	typedef typename tile::F F;
	extern __shared__ __align__(128) u8 shared[];
	__shared__ merge_pieces p;
	const u32 thread = threadIdx.x, own = thread * ITEMS;
	F key[ITEMS];
	u32 place[ITEMS];
	tile t(shared, a.value_width);

	if (merge_in_order(a))
		return;

	/* 1. load the pieces */
	if (thread < 32)
		find_pieces<ITEMS>(a, blockIdx.x, &p);
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

	/* 2. do they follow each other in order?  Each but the last is compared with the next that is not empty. */
	bool ordered = true;

	if (thread < a.ways && p.before[thread + 1] > p.before[thread])
	{
		u32 r = thread + 1, last = p.slot[thread] + p.before[thread + 1] - p.before[thread] - 1;

		while (r < a.ways && p.before[r + 1] == p.before[r])
			r++;
		if (r < a.ways)
			ordered = !t.template less<true>(t.first[p.slot[r]], p.slot[r], t.first[last], last);
	}
	if (__syncthreads_and(ordered))
	{
		copy_pieces<KEY, THREADS>(a, p);
		copy_wait<0>();
		return;
	}

	/* 3. merge them two by two; the thread's slots are part of the pair of runs from run on */
	u32 run = 0;

	for (u32 r = 2; r < a.ways; r += 2)
		if (own >= p.slot[r])
			run = r;
	for (u32 width = 1; width < a.ways; width *= 2)
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

	/* 4. out */
	copy_wait<0>();
	__syncthreads();
	t.write(a, p.to, p.before[a.ways]);
}

/* ---------------------------------------------------------------- what a launcher needs to know */

struct gs_merge_kernels
{
	void (*look)(const gs_merge_args);
	void (*move)(const gs_merge_args);
	void (*blocks)(const gs_merge_args);
	void (*cuts)(const gs_merge_args);
	void (*runs)(const gs_merge_args);
	int threads, items;
};

template <int KEY, bool PLACES, int THREADS, int ITEMS, int BLOCKS>
gs_merge_kernels
gs_merge_kernels_of()
{
	return {merge_look<KEY>,
			merge_move<KEY>,
			merge_blocks<KEY, PLACES, THREADS, ITEMS, BLOCKS>,
			merge_cuts<KEY>,
			merge_runs<KEY, PLACES, THREADS, ITEMS, BLOCKS>,
			THREADS,
			ITEMS};
}

/* The kernels for keys of so many bytes; small: for devices whose shared memory the better shape does not fit. */
template <int KEY>
gs_merge_kernels
gs_merge_choose(bool places, bool small)
{
	constexpr gs_merge_shape s = gs_merge_shape_of(KEY, false), t = gs_merge_shape_of(KEY, true);

	if constexpr (KEY <= 8)
		if (!places)
			return small ? gs_merge_kernels_of<KEY, false, t.threads, t.items, t.blocks>()
						 : gs_merge_kernels_of<KEY, false, s.threads, s.items, s.blocks>();
	return small ? gs_merge_kernels_of<KEY, true, t.threads, t.items, t.blocks>()
				 : gs_merge_kernels_of<KEY, true, s.threads, s.items, s.blocks>();
}

#endif
