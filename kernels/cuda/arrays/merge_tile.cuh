/*
 * merge_tile.cuh: parts of merge.cuh's kernels: keys, loads, the network, and a tile in shared memory.
 */
#ifndef GS_CUDA_ARRAYS_MERGE_TILE_CUH
#define GS_CUDA_ARRAYS_MERGE_TILE_CUH

#include "../base/device.cuh"
#include "../tuning/tuning.h"

#include <utility>

/* Arguments of all kernels here. */
struct gs_merge_args
{
	const u8 *keys, *values; /* values NULL: row numbers, unless the width is 0 */
	u8 *out_keys, *out_values;
	u64 n;
	u32 value_width;

	/* runs to merge: starts lists where they begin, every step-th entry counts now; NULL: they have equal lengths */
	const u64 *starts;
	u64 runs, step, length;

	u32 ways;	   /* runs merged into one, a power of 2 */
	u32 rounds;	   /* bits in the length of the longest run */
	u32 per_group; /* without starts: tiles per group of runs */
	u32 tile;	   /* limit of items per tile */
	u64 groups, tiles;
	u32 *cuts; /* of each tile's first item: its position in each run */

	u32 *seen; /* NULL, or GS_MERGE_FALL and _RISE as seen among neighbours in the input */
};

#define GS_MERGE_FALL 1u
#define GS_MERGE_RISE 2u /* or do not change */

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

/* A complete key in registers. */
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

/* Starts a copy of 4, 8 or 16 bytes to shared memory.  Synchronous before sm_80. */
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

/* Closes a group of copies. */
__device__ __forceinline__ void
copy_commit()
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits for the thread's groups of copies, except the LAST youngest ones. */
template <int LAST>
__device__ __forceinline__ void
copy_wait()
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.wait_group %0;" ::"n"(LAST) : "memory");
#endif
}

/* ---------------------------------------------------------------- a thread's items in registers */

/* Merge exchange: the pairs to compare, in sequence, for any number of items. */
template <int N> struct merge_network
{
	u8 a[N * N / 2], b[N * N / 2];
	int size;

	/* Generates the list at compile time: Batcher's merge exchange, which works for any N. */
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

/* One comparison of the network.  Places break ties, which makes the result stable. */
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

/* The complete network, unrolled: indices are constants, so items stay in registers. */
template <class F, bool PLACES, int N, size_t... I>
__device__ __forceinline__ void
sort_registers(F (&key)[N], u32 (&place)[N], std::index_sequence<I...>)
{
	constexpr merge_network<N> net;

	(exchange<F, net.a[I], net.b[I], PLACES>(key, place), ...);
}

/* ---------------------------------------------------------------- a tile in shared memory */

/* PLACES: something is fetched once the order is known: further words, values. */
template <int KEY, bool PLACES, int THREADS, int ITEMS> struct merge_tile
{
	typedef typename merge_key<KEY>::first_word F;
	static constexpr int REST = merge_key<KEY>::REST, WORDS = REST + 1, CAP = THREADS * ITEMS;
	static_assert(CAP <= 65536, "places have 16 bits");

	F *first;	/* moved between levels */
	u16 *place; /* also moved: slot into which the item was loaded */
	u64 *rest;	/* not moved */
	u8 *values;

	/* Lays out a tile in dynamic shared memory: first words of keys, further words, values, places. */
	__device__ __forceinline__
	merge_tile(u8 *shared, u32 value_width)
	{
		constexpr size_t pad = ITEMS + 1;

		first = (F *) shared;
		rest = (u64 *) (shared + gs_merge_round((CAP + pad) * sizeof(F)));
		values = (u8 *) (rest + (size_t) CAP * REST);
		place = (u16 *) (values + gs_merge_round((size_t) CAP * value_width));
	}

	/* Starts to load input items [from, from + count) to slots from slot on. */
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

	/* Starts to load the values of these items; without values, row numbers if there is room for them. */
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

	/* Starts to load a tile, keys first.  Missing items of the last tile are greater than all others, and last. */
	__device__ __forceinline__ void
	load(const gs_merge_args &a, u64 from, u32 count)
	{
		load_keys(a, from, count, 0);
		copy_commit();
		if constexpr (PLACES)
			load_values(a, from, count, 0);
		copy_commit();
		for (u32 i = count + threadIdx.x; i < CAP; i += THREADS)
		{
			first[i] = (F) ~(F) 0;
			for (int w = 0; w < REST; w++)
				rest[(size_t) i * REST + w] = ~0ull;
		}
	}

	/* Compares two items with equal first words, by the slots they were loaded to. */
	__device__ __forceinline__ bool
	rest_less(u32 x, u32 y) const
	{
		for (int w = 0; w < REST; w++)
			if (rest[(size_t) x * REST + w] != rest[(size_t) y * REST + w])
				return rest[(size_t) x * REST + w] < rest[(size_t) y * REST + w];
		return false;
	}

	/* Returns whether the item in slot y, of known first word, is less than x's.  LOADED: none has moved. */
	template <bool LOADED>
	__device__ __forceinline__ bool
	less(F fy, u32 y, F fx, u32 x) const
	{
		if constexpr (REST == 0)
			return fy < fx;
		else
			return fy < fx || (fy == fx && rest_less(LOADED ? y : place[y], LOADED ? x : place[x]));
	}

	/* Merges slots a.. (na of them) and b.. (nb), and returns ITEMS items from the o-th on in registers. */
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

	/* Stores the thread's registers to its slots. */
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

	/* Sorts a thread's slots, in order of first words (key), by further words where these tie: by insertion. */
	__device__ __forceinline__ void
	insert_ties(u32 own, const F (&key)[ITEMS])
	{
		bool ties = false;

#pragma unroll
		for (int j = 1; j < ITEMS; j++)
			ties |= key[j] == key[j - 1];
		for (u32 i = own + 1; ties && i < own + ITEMS; i++)
		{
			F f = first[i];
			u32 p = place[i], to = i;

			while (to > own && first[to - 1] == f && rest_less(p, place[to - 1]))
			{
				place[to] = place[to - 1];
				to--;
			}
			place[to] = (u16) p;
		}
	}

	/* Writes the first n slots as items at.. of the output.  A warp's stores begin at 128-byte lines. */
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

	/* Writes values by their places.  Threads begin at a 128-byte line of the output: warps write whole lines. */
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

#endif
