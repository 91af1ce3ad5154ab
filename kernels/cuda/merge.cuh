/*
 * merge.cuh: merge sort by comparison, and the merge of sorted runs.
 *
 * Tiles are sorted in shared memory: a thread sorts its items in registers (merge exchange), then runs of threads are merged, twice
 * as many in each level.  A pass then merges up to 16 neighbouring runs into one.  Where each run is cut for each output tile is
 * found beforehand, by as many lanes as there are runs; a block loads its tile's pieces of all runs and merges them two by two, in shared
 * memory, level by level.  Within a level each thread finds by merge path where its items come from and merges them serially.
 *
 * What moves from level to level is the key, or of wide keys a digest, and the item's place.  A digest is a window of 32 bits of the
 * key, behind what all keys of the tile have in common (least and greatest say).  A tile is merged by digests alone; if afterwards items
 * with equal digests turn out to stand in the wrong order, which is rare, it is merged again, by whole keys.  Wide keys and values stay
 * where they were loaded to, and are fetched through the place once, when the tile is written.  Equal keys keep their order.
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

/* word: what keys are made of; item: what moves. */
template <int BYTES> struct merge_key
{
	typedef u64 word;
	typedef u32 item;
	static constexpr int WORDS = BYTES / 8;
};
template <> struct merge_key<8>
{
	typedef u64 word, item;
	static constexpr int WORDS = 1;
};
template <> struct merge_key<4>
{
	typedef u32 word, item;
	static constexpr int WORDS = 1;
};

/* A whole key in registers. */
template <int BYTES> struct whole_key
{
	static constexpr int WORDS = merge_key<BYTES>::WORDS;
	typename merge_key<BYTES>::word w[WORDS];

	__device__ __forceinline__ void
	load(const u8 *keys, u64 i)
	{
#pragma unroll
		for (int k = 0; k < WORDS; k++)
			w[k] = ((const typename merge_key<BYTES>::word *) keys)[i * WORDS + k];
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

template <class T, int A, int B, bool PLACES, int N>
__device__ __forceinline__ void
exchange(T (&key)[N], u32 (&place)[N])
{
	T x = key[A], y = key[B];
	u32 px = place[A], py = place[B];
	bool swap = y < x || (PLACES && y == x && py < px);

	key[A] = swap ? y : x;
	key[B] = swap ? x : y;
	place[A] = swap ? py : px;
	place[B] = swap ? px : py;
}

template <class T, bool PLACES, int N, size_t... I>
__device__ __forceinline__ void
sort_registers(T (&key)[N], u32 (&place)[N], std::index_sequence<I...>)
{
	constexpr merge_network<N> net;

	(exchange<T, net.a[I], net.b[I], PLACES>(key, place), ...);
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

	return gs_merge_round((cap + pad) * (key == 8 ? 8 : 4)) + (key > 8 ? cap * key : 0) + gs_merge_round(cap * value_width) +
		   (key > 8 || value_width > 0 ? gs_merge_round((cap + pad) * 2) : 0);
}

/* How digests are made of the keys of a tile: x, the word in which the least and the greatest differ first, less the least's. */
struct merge_window
{
	u64 base;
	u32 word, right, left; /* x >> right << left, and bits of the word that follows */

	__device__ __forceinline__ void
	set(u32 w, u64 least, u64 greatest, bool last)
	{
		u32 bits = 64 - (u32) __clzll((long long) (greatest - least));

		base = least;
		word = w;
		right = bits > 32 ? bits - 32 : 0;
		left = bits < 32 && !last ? 32 - bits : 0;
	}
};

/* PLACES: something must be fetched when the order is known. */
template <int KEY, bool PLACES, int THREADS, int ITEMS> struct merge_tile
{
	typedef typename merge_key<KEY>::word word;
	typedef typename merge_key<KEY>::item T;
	static constexpr int WORDS = merge_key<KEY>::WORDS, CAP = THREADS * ITEMS;
	static constexpr bool WIDE = KEY > 8;
	static_assert(CAP <= 65536, "places have 16 bits");
	static_assert(PLACES || !WIDE, "wide keys stay where they are");

	T *moved;	/* keys or digests */
	u16 *place; /* where the items that moved were loaded to */
	u64 *keys;	/* wide ones, where they were loaded to */
	u8 *values; /* the same */

	__device__ __forceinline__
	merge_tile(u8 *shared, u32 value_width)
	{
		constexpr size_t pad = ITEMS + 1;

		moved = (T *) shared;
		keys = (u64 *) (shared + gs_merge_round((CAP + pad) * sizeof(T)));
		values = (u8 *) (keys + (WIDE ? CAP * WORDS : 0));
		place = (u16 *) (values + gs_merge_round((size_t) CAP * value_width));
	}

	/* Begins to load items from..from + count - 1 of the input to slots from slot on. */
	__device__ __forceinline__ void
	load_keys(const gs_merge_args &a, u64 from, u32 count, u32 slot)
	{
		if constexpr (WIDE)
			for (u32 e = threadIdx.x; e < count * WORDS; e += THREADS)
				copy_async<8>(keys + slot * WORDS + e, (const u64 *) a.keys + from * WORDS + e);
		else
			for (u32 i = threadIdx.x; i < count; i += THREADS)
				copy_async<sizeof(T)>(moved + slot + i, (const T *) a.keys + from + i);
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

	/* Digests of the keys in slots slot.. */
	__device__ __forceinline__ void
	make_digests(const merge_window &window, u32 count, u32 slot)
	{
		for (u32 i = slot + threadIdx.x; i < slot + count; i += THREADS)
		{
			u32 d = (u32) ((keys[i * WORDS + window.word] - window.base) >> window.right);

			if (WORDS > 1 && window.left > 0)
				d = d << window.left | (u32) (keys[i * WORDS + window.word + 1] >> (64 - window.left));
			moved[i] = d;
		}
	}

	/* Whole keys, by where they were loaded to. */
	__device__ __forceinline__ bool
	key_less(u32 x, u32 y) const
	{
		if constexpr (!WIDE)
			return moved[x] < moved[y];
		else
		{
			for (int w = 0; w < WORDS - 1; w++)
				if (keys[x * WORDS + w] != keys[y * WORDS + w])
					return keys[x * WORDS + w] < keys[y * WORDS + w];
			return keys[x * WORDS + WORDS - 1] < keys[y * WORDS + WORDS - 1];
		}
	}

	/*
	 * Is the item in slot y, of which ty moves, less than that in slot x?  LOADED: no item has moved yet.  EXACT: by whole keys.
	 */
	template <bool LOADED, bool EXACT>
	__device__ __forceinline__ bool
	less(T ty, u32 y, T tx, u32 x) const
	{
		if constexpr (!WIDE || !EXACT)
			return ty < tx;
		else
			return ty < tx || (ty == tx && key_less(LOADED ? y : place[y], LOADED ? x : place[x]));
	}

	/* Of the thread's items and the next, among the first n: does one stand behind another whose whole key is greater? */
	__device__ __forceinline__ bool
	misplaced(u32 n) const
	{
		u32 own = threadIdx.x * ITEMS;
		bool found = false;

		if constexpr (WIDE)
			for (u32 i = own + 1; i < n && i <= own + ITEMS; i++)
				if (moved[i] == moved[i - 1])
					found |= key_less(place[i], place[i - 1]);
		return found;
	}

	/*
	 * ITEMS items from the o-th on of the merge of slots a.. (na of them) and b.. (nb), into registers.
	 */
	template <bool LOADED, bool EXACT>
	__device__ __forceinline__ void
	merge(u32 a, u32 na, u32 b, u32 nb, u32 o, T (&key)[ITEMS], u32 (&at)[ITEMS]) const
	{
		u32 lo = o > nb ? o - nb : 0, hi = o < na ? o : na;

		while (lo < hi)
		{
			u32 x = (lo + hi) / 2, y = o - 1 - x;

			if (less<LOADED, EXACT>(moved[b + y], b + y, moved[a + x], a + x))
				hi = x;
			else
				lo = x + 1;
		}

		u32 a_end = a + na, b_end = b + nb;

		a += lo;
		b += o - lo;

		T ta = moved[a], tb = moved[b];

#pragma unroll
		for (int j = 0; j < ITEMS; j++)
		{
			bool from_a = b >= b_end || (a < a_end && !less<LOADED, EXACT>(tb, b, ta, a));
			u32 slot = from_a ? a : b;
			T next = moved[slot + 1];

			key[j] = from_a ? ta : tb;
			if constexpr (PLACES)
				at[j] = LOADED ? slot : place[slot];
			if (from_a)
			{
				a++;
				ta = next;
			}
			else
			{
				b++;
				tb = next;
			}
		}
	}

	/* The thread's registers to its slots. */
	__device__ __forceinline__ void
	store(const T (&key)[ITEMS], const u32 (&at)[ITEMS])
	{
		u32 own = threadIdx.x * ITEMS;

#pragma unroll
		for (int j = 0; j < ITEMS; j++)
		{
			moved[own + j] = key[j];
			if constexpr (PLACES)
				place[own + j] = (u16) at[j];
		}
	}

	/* Writes the first n slots out as items at.. of the output; a warp's stores begin on lines of 128 bytes. */
	__device__ __forceinline__ void
	write(const gs_merge_args &a, u64 to, u32 n)
	{
		word *out = (word *) a.out_keys + to * WORDS;
		u32 skew = (u32) ((uintptr_t) out % 128 / sizeof(word));

		for (u32 k = threadIdx.x; k < n * WORDS + skew; k += THREADS)
			if (k >= skew)
			{
				u32 e = k - skew;

				if constexpr (WIDE)
					out[e] = keys[place[e / WORDS] * WORDS + e % WORDS];
				else
					out[e] = moved[e];
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

/* Of the values of neighbouring lanes, 2 to 32 of them. */
__device__ __forceinline__ void
least_and_greatest(u64 &lo, u64 &hi, u32 lanes)
{
	for (u32 d = 1; d < lanes; d *= 2)
	{
		u64 x = shuffle_xor(lo, d), y = shuffle_xor(hi, d);

		lo = x < lo ? x : lo;
		hi = y > hi ? y : hi;
	}
}

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
	typedef typename merge_key<KEY>::word word;
	constexpr u32 WORDS = merge_key<KEY>::WORDS;
	bool turn = a.seen != NULL && *a.seen == GS_MERGE_FALL;
	u64 step = gridDim.x * (u64) 256;

	if (a.seen != NULL && !merge_in_order(a))
		return;
	for (u64 e = blockIdx.x * (u64) 256 + threadIdx.x; e < a.n * WORDS; e += step)
		((word *) a.out_keys)[e] = ((const word *) a.keys)[turn ? (a.n - 1 - e / WORDS) * WORDS + e % WORDS : e];
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

/* The window of n keys in arrival order: by the first word in which they are not all the same. */
template <class TILE, int THREADS>
__device__ __forceinline__ void
find_window(const TILE &t, u32 n, merge_window *window)
{
	__shared__ u64 least[THREADS / 32], greatest[THREADS / 32];
	const u32 warp = threadIdx.x / 32;

	for (u32 w = 0; w < TILE::WORDS; w++)
	{
		u64 lo = ~0ull, hi = 0;

		for (u32 i = threadIdx.x; i < n; i += THREADS)
		{
			u64 x = t.keys[i * TILE::WORDS + w];

			lo = x < lo ? x : lo;
			hi = x > hi ? x : hi;
		}
		least_and_greatest(lo, hi, 32);
		if (lane_id() == 0)
		{
			least[warp] = lo;
			greatest[warp] = hi;
		}
		__syncthreads();
		lo = least[threadIdx.x % (THREADS / 32)];
		hi = greatest[threadIdx.x % (THREADS / 32)];
		least_and_greatest(lo, hi, THREADS / 32);
		if (lo != hi || w + 1 == TILE::WORDS)
		{
			if (threadIdx.x == 0)
				window->set(w, lo, hi, w + 1 == TILE::WORDS);
			__syncthreads();
			return;
		}
		__syncthreads();
	}
}

template <int KEY, bool PLACES, int THREADS, int ITEMS, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS) merge_blocks(const gs_merge_args a)
{
	typedef merge_tile<KEY, PLACES, THREADS, ITEMS> tile;
	static_assert((THREADS & (THREADS - 1)) == 0, "levels double");
	extern __shared__ __align__(128) u8 shared[];
	__shared__ merge_window window;
	const u32 thread = threadIdx.x, own = thread * ITEMS;
	const u64 begin = blockIdx.x * (u64) tile::CAP;
	const u32 n = a.n - begin < (u64) tile::CAP ? (u32) (a.n - begin) : (u32) tile::CAP;
	typename tile::T key[ITEMS];
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
		t.moved[i] = (typename tile::T) ~(typename tile::T) 0;
		for (int w = 0; tile::WIDE && w < tile::WORDS; w++)
			t.keys[i * tile::WORDS + w] = ~0ull;
	}
	copy_wait<1>();
	__syncthreads();
	if constexpr (tile::WIDE)
	{
		find_window<tile, THREADS>(t, n, &window);
		t.make_digests(window, n, 0);
		__syncthreads();
	}

	/* 2. is it in order? */
	bool ordered = true;

	key[0] = t.moved[own];
#pragma unroll
	for (int j = 1; j < ITEMS; j++)
	{
		key[j] = t.moved[own + j];
		ordered &= !t.template less<true, true>(key[j], own + j, key[j - 1], own + j - 1);
	}
	if (own + ITEMS < tile::CAP)
		ordered &= !t.template less<true, true>(t.moved[own + ITEMS], own + ITEMS, key[ITEMS - 1], own + ITEMS - 1);
	ordered = __syncthreads_and(ordered);

	for (bool exact = false;; exact = true)
	{
		/* 3. into registers, and sorted there, by what moves and arrival; exactly: what ties, by insertion */
#pragma unroll
		for (int j = 0; j < ITEMS; j++)
		{
			key[j] = t.moved[own + j];
			place[j] = own + j;
		}
		if (!ordered)
			sort_registers<typename tile::T, PLACES>(key, place, std::make_index_sequence<merge_network<ITEMS>().size>());
		t.store(key, place);
		if (ordered)
			break;
		if constexpr (tile::WIDE)
			for (u32 i = own + 1; exact && i < own + ITEMS; i++)
			{
				u32 d = t.moved[i], p = t.place[i], to = i;

				while (to > own && t.moved[to - 1] == d && t.key_less(p, t.place[to - 1]))
				{
					t.place[to] = t.place[to - 1];
					to--;
				}
				t.place[to] = (u16) p;
			}
		__syncthreads();

		/* 4. merge runs of threads */
		for (u32 width = 1; width < THREADS; width *= 2)
		{
			u32 run = (thread & ~(2 * width - 1)) * ITEMS, half = width * ITEMS;

			if (tile::WIDE && exact)
				t.template merge<false, true>(run, half, run + half, half, own - run, key, place);
			else
				t.template merge<false, false>(run, half, run + half, half, own - run, key, place);
			__syncthreads();
			t.store(key, place);
			__syncthreads();
		}
		if (!tile::WIDE || exact || !__syncthreads_or(t.misplaced(n)))
			break;
		t.make_digests(window, n, 0);
		for (u32 i = n + thread; i < tile::CAP; i += THREADS)
			t.moved[i] = (typename tile::T) ~(typename tile::T) 0;
		__syncthreads();
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
	u64 group, size;
	u64 begin, end; /* counted from the group's first item */

	__device__ __forceinline__
	merge_range(const gs_merge_args &a, u64 t)
	{
		u64 at, of;

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
	u64 from = 0;
	u32 count = 0, upto, left, pair, room;

	if (r < a.ways)
	{
		u64 begin = run_start(a, range.group * a.ways + r), end = run_start(a, range.group * a.ways + r + 1);

		from = begin + a.cuts[t * a.ways + r];
		if (range.end < range.size)
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

/* The window of keys in sorted pieces, by the first warp: a lane for each piece, whose first key is the least and whose last the greatest. */
template <class TILE>
__device__ __forceinline__ void
pieces_window(const TILE &t, u32 ways, const merge_pieces &p, merge_window *window)
{
	const u32 r = threadIdx.x;
	const bool some = r < ways && p.before[r + 1] > p.before[r];

	for (u32 w = 0; w < TILE::WORDS; w++)
	{
		u64 lo = ~0ull, hi = 0;

		if (some)
		{
			lo = t.keys[p.slot[r] * TILE::WORDS + w];
			hi = t.keys[(p.slot[r] + p.before[r + 1] - p.before[r] - 1) * TILE::WORDS + w];
		}
		least_and_greatest(lo, hi, 32);
		if (lo != hi || w + 1 == TILE::WORDS)
		{
			if (r == 0)
				window->set(w, lo, hi, w + 1 == TILE::WORDS);
			return;
		}
	}
}

/* Copies a tile whose pieces follow each other in order. */
template <int KEY, int THREADS>
__device__ __forceinline__ void
copy_pieces(const gs_merge_args &a, const merge_pieces &p)
{
	typedef typename merge_key<KEY>::word word;
	constexpr u32 WORDS = merge_key<KEY>::WORDS;

	for (u32 r = 0; r < a.ways; r++)
	{
		u32 count = p.before[r + 1] - p.before[r];
		u64 to = p.to + p.before[r], from = p.from[r];

		for (u32 e = threadIdx.x; e < count * WORDS; e += THREADS)
			((word *) a.out_keys)[to * WORDS + e] = ((const word *) a.keys)[from * WORDS + e];
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
	extern __shared__ __align__(128) u8 shared[];
	__shared__ merge_pieces p;
	__shared__ merge_window window;
	const u32 thread = threadIdx.x, own = thread * ITEMS;
	typename tile::T key[ITEMS];
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
			ordered = !t.key_less(p.slot[r], last);
	}
	if constexpr (tile::WIDE)
		if (thread < 32)
			pieces_window(t, a.ways, p, &window);
	if (__syncthreads_and(ordered))
	{
		copy_pieces<KEY, THREADS>(a, p);
		copy_wait<0>();
		return;
	}

	/* 3. merge them two by two; the thread's slots are part of the pair of runs from run on */
	const u32 total = p.before[a.ways];
	u32 run = 0;

	for (u32 r = 2; r < a.ways; r += 2)
		if (own >= p.slot[r])
			run = r;
	for (bool exact = false;; exact = true)
	{
		if constexpr (tile::WIDE)
		{
			for (u32 r = 0; r < a.ways; r++)
				t.make_digests(window, p.before[r + 1] - p.before[r], p.slot[r]);
			__syncthreads();
		}
		for (u32 width = 1; width < a.ways; width *= 2)
		{
			u32 x = run & ~(2 * width - 1), y = x + width;
			u32 na = p.before[y] - p.before[x], nb = p.before[y + width] - p.before[y], o = own - p.slot[x];

			if (o < na + nb)
			{
				if (tile::WIDE && exact && width == 1)
					t.template merge<true, true>(p.slot[x], na, p.slot[y], nb, o, key, place);
				else if (tile::WIDE && exact)
					t.template merge<false, true>(p.slot[x], na, p.slot[y], nb, o, key, place);
				else if (width == 1)
					t.template merge<true, false>(p.slot[x], na, p.slot[y], nb, o, key, place);
				else
					t.template merge<false, false>(p.slot[x], na, p.slot[y], nb, o, key, place);
			}
			__syncthreads();
			if (o < na + nb)
				t.store(key, place);
			__syncthreads();
		}
		if (!tile::WIDE || exact || !__syncthreads_or(t.misplaced(total)))
			break;
	}

	/* 4. out */
	copy_wait<0>();
	__syncthreads();
	t.write(a, p.to, total);
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
