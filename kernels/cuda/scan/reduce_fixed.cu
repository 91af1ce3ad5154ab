/*
 * reduce_fixed.cu: reduce-by-key of floats in the fixed tree of gs_arrays.h, bitwise reproducible across runs and
 * engines.
 *
 * Tiles are the tree's groups of 4096 positions.  A thread sums a group of 16 from left to right, one in 16 sums these
 * (256), one of the tile those; each level yields the open sum at which the next group begins.
 *
 * Tiles are also summed from left to right.  A look-back that adds PARTIAL sums in any grouping would not do: the warp
 * waits for a TOTAL in its window and adds the younger tiles to it in sequence, starting at the last tile in which a
 * key begins.  -0 is the empty sum, the identity of addition.  There is no fallback; progress relies on tickets.
 *
 * Bytes per item: key + value, read; per key: key + result.
 */
#include "../base/compact.cuh"
#include "scan_ops.cuh"

#define THREADS 256
#define ITEMS	16
#define TILE	(THREADS * ITEMS)
#define PLACE(i) ((i) + (i) / 16) /* one word of padding for every 16, against bank conflicts */

struct fixed_args
{
	gs_sweep sweep;
	const void *keys, *values;
	u64 n;
	u32 floats;
	void *out_keys, *out;
	u64 *count;
	u128 *words;
};

/* Shared memory for a tile's values and, if staged, its keys. */
constexpr size_t
fixed_shared(size_t key, size_t value, bool staged)
{
	return (staged ? (PLACE(TILE + 1) + 1) * key : 0) + (PLACE(TILE) + 1) * value + 16;
}

/* Keys are staged if there is room.  Otherwise each thread reads its 16 neighbours, mostly in the L1 cache. */
constexpr bool
stages_keys(const gs_tuning &t, size_t key, size_t value)
{
	return fixed_shared(key, value, true) + 6144 <= (size_t) t.shared << 10;
}

template <int KEY, int VALUE> struct stages_keys_here
{
	static constexpr bool value = stages_keys(GS_TUNED, KEY, VALUE);
};

/* The tree's sums in a tile: of groups of 16 and of 256, and the open sum at which each group begins. */
template <class OP> struct fixed_groups
{
	typedef typename OP::value T;

	T sum16[THREADS + 16], open256[THREADS + 16], sum256[16], open4096[16];
	bool head16[THREADS], head256[16]; /* a key begins in the group */

	/* Adds a group to the open sum: if a key begins in the group, its sum replaces the open one. */
	static __device__ __forceinline__ T
	follow(T open, bool head, T sum)
	{
		return head ? OP::add(OP::zero(), sum) : OP::add(open, sum);
	}

	/* Sums the groups of 16, by one thread for each 16 of them. */
	__device__ __forceinline__ void
	sum_groups()
	{
		const u32 thread = threadIdx.x;
		T s = OP::zero();
		bool head = false;

		for (u32 g = thread * 16; g < thread * 16 + 16; g++)
		{
			open256[PLACE(g)] = s;
			s = follow(s, head16[g], sum16[PLACE(g)]);
			head |= head16[g];
		}
		sum256[thread] = s;
		head256[thread] = head;
	}

	/* Sums those of 256, by one thread.  Returns the open sum at the tile's end. */
	__device__ __forceinline__ T
	sum_tile()
	{
		T s = OP::zero();

		for (u32 b = 0; b < 16; b++)
		{
			open4096[b] = s;
			s = follow(s, head256[b], sum256[b]);
		}
		return s;
	}
};

/* Reads the window before a tile until everything up to a TOTAL is there.  Returns the number of tiles. */
template <class STATE>
static __device__ __forceinline__ u32
wait_for_total(const typename STATE::words *words, u32 tile, STATE (&s)[GS_WINDOW], u64 (&flag)[GS_WINDOW])
{
	const u32 lane = lane_id();
	u32 need = 0;

	while (need == 0)
	{
		u32 hole = 32 * GS_WINDOW;

		GS_FOR_WINDOW(j)
		{
			i64 t = (i64) tile - 1 - (32 * j + lane);

			flag[j] = GS_TOTAL;
			s[j] = STATE::zero();
			if (t >= 0)
				flag[j] = STATE::load(words + t, s[j]);
		}
		GS_FOR_WINDOW(j)
		{
			u32 totals = __ballot_sync(GS_ALL_LANES, flag[j] == GS_TOTAL);
			u32 empties = __ballot_sync(GS_ALL_LANES, flag[j] == GS_EMPTY);

			if (need == 0 && totals)
				need = 32 * j + __ffs(totals);
			if (hole == 32 * GS_WINDOW && empties)
				hole = 32 * j + __ffs(empties) - 1;
		}
		if (hole < need)
			need = 0;
	}
	return need;
}

/* Finds a tile's prefix, by one warp, adding tiles in sequence from the last with a key's begin or from a TOTAL. */
template <class OP>
static __device__ __forceinline__ keyed_state<OP>
look_back_in_order(const typename keyed_state<OP>::words *words, u32 tile)
{
	typedef typename OP::value T;
	typedef keyed_state<OP> state;
	const u32 lane = lane_id();
	state s[GS_WINDOW], b = state::zero();
	u64 flag[GS_WINDOW];
	const u32 need = wait_for_total(words, tile, s, flag);

	b.n = window_count(s, need);

	/* start at the youngest tile in which a key begins, or at the TOTAL */
	u32 from = need;

#pragma unroll
	for (int j = GS_WINDOW - 1; j >= 0; j--)
	{
		u32 some = __ballot_sync(GS_ALL_LANES, 32 * j + lane < need && s[j].n != 0 && flag[j] == GS_PARTIAL);

		if (some)
			from = 32 * j + __ffs(some);
	}
	for (int j = GS_WINDOW - 1; j >= 0; j--)
		for (int l = 31; l >= 0; l--)
			if (32 * j + l < (int) from)
			{
				T x = OP::zero();

				GS_FOR_WINDOW(jj)
					if (jj == (u32) j)
						x = s[jj].v;
				x = shuffle(x, l);
				b.v = 32 * j + l + 1 == (int) from ? OP::add(OP::zero(), x) : OP::add(b.v, x);
			}
	return b;
}

/* A thread's group of 16: its items, and where keys begin. */
template <class K, class T> struct fixed_items
{
	K k[ITEMS];
	T v[ITEMS];
	u32 begins;
};

/* Writes the keys that begin in a thread's group, from place `at` on, with the result of the key before each. */
template <class OP, class K>
static __device__ __forceinline__ void
write_sums(const fixed_args &a, const fixed_items<K, typename OP::value> &m, const fixed_groups<OP> &g,
		   typename OP::value before, u64 at)
{
	typedef typename OP::value T;
	const u32 thread = threadIdx.x;
	T *const out = (T *) a.out;
	/* sums of all levels that are open where this group begins, for the key that continues into it */
	bool head_in_256 = false, head_in_tile;

	for (u32 i = thread / 16 * 16; i < thread; i++)
		head_in_256 |= g.head16[i];
	head_in_tile = head_in_256;
	for (u32 i = 0; i < thread / 16; i++)
		head_in_tile |= g.head256[i];

	T s256 = g.open256[PLACE(thread)], s4096 = head_in_256 ? OP::zero() : g.open4096[thread / 16];
	T all = head_in_tile ? OP::zero() : before, s16 = OP::zero();

#pragma unroll
	for (u32 j = 0; j < ITEMS; j++)
	{
		if (m.begins >> j & 1)
		{
			if (at > 0)
				out[at - 1] = OP::add(all, OP::add(s4096, OP::add(s256, s16)));
			((K *) a.out_keys)[at++] = m.k[j];
			all = s4096 = s256 = s16 = OP::zero();
		}
		s16 = OP::add(s16, m.v[j]);
	}
}

/* A tile's values and, if staged, keys in shared memory. */
template <int KEY, class OP> struct fixed_tile
{
	typedef typename item_of<KEY>::type K;
	typedef typename OP::value T;
	static constexpr bool STAGED = stages_keys_here<KEY, sizeof(T)>::value;

	const fixed_args &a;
	u64 first;
	u32 items;
	K *keys; /* [0]: the key before the tile */
	T *values;

	/* Lays out the tile.  Staged keys are preceded by the one before the tile. */
	__device__ __forceinline__
	fixed_tile(const fixed_args &args, u8 *shared, u32 tile) : a(args), first((u64) tile * TILE)
	{
		items = a.n - first < TILE ? (u32) (a.n - first) : TILE;
		keys = (K *) shared;
		values = (T *) (shared + (STAGED ? (PLACE(TILE + 1) + 1) * sizeof(K) : 0));
	}

	/* Loads keys and values to shared memory.  A barrier must follow. */
	__device__ __forceinline__ void
	load()
	{
		for (u32 i = threadIdx.x; i < items; i += THREADS)
		{
			if (STAGED)
				keys[PLACE(i + 1)] = ((const K *) a.keys)[first + i];
			values[PLACE(i)] = ((const T *) a.values)[first + i];
		}
		if (STAGED && threadIdx.x == 0)
			keys[0] = ((const K *) a.keys)[first != 0 ? first - 1 : 0];
	}

	/* Returns a key of the tile; number 0 is the one before it. */
	__device__ __forceinline__ K
	key_at(u32 i) const
	{
		return STAGED ? keys[PLACE(i)] : ((const K *) a.keys)[first + i > 0 ? first + i - 1 : 0];
	}

	/* Loads the thread's items.  Returns the sum since the last key began. */
	__device__ __forceinline__ T
	take(fixed_items<K, T> &m) const
	{
		T sum = OP::zero();

		m.begins = 0;
#pragma unroll
		for (u32 j = 0; j < ITEMS; j++)
		{
			u32 i = threadIdx.x * ITEMS + j;

			m.v[j] = OP::zero();
			if (i < items)
			{
				m.k[j] = key_at(i + 1);
				m.v[j] = values[PLACE(i)];
				if (differs(m.k[j], j ? m.k[j - 1] : key_at(i), a.floats) || first + i == 0)
					m.begins |= 1u << j;
			}
			sum = m.begins >> j & 1 ? m.v[j] : OP::add(sum, m.v[j]);
		}
		return sum;
	}
};

/* One tile per block, by ticket, so that earlier tiles are always running. */
template <int KEY, class OP>
static __global__ void __launch_bounds__(THREADS) fixed_kernel(const __grid_constant__ fixed_args a)
{
	typedef typename OP::value T;
	typedef keyed_state<OP> state;
	extern __shared__ __align__(128) u8 shared[];
	__shared__ fixed_groups<OP> groups;
	__shared__ u32 begun[THREADS / 32], tile_;
	__shared__ T whole;
	__shared__ state before;
	const u32 thread = threadIdx.x, warp = thread / 32;

	if (thread == 0)
		tile_ = atomicAdd(a.sweep.ticket, 1);
	__syncthreads();

	const u32 tile = tile_;
	typename state::words *const words = (typename state::words *) a.words;
	fixed_tile<KEY, OP> t(a, shared, tile);
	fixed_items<typename item_of<KEY>::type, T> mine;

	t.load();
	__syncthreads();

	/* 1. find where keys begin, and sum each group of 16 */
	groups.sum16[PLACE(thread)] = t.take(mine);
	groups.head16[thread] = mine.begins != 0;

	u32 total, rank = warp_exclusive(__popc(mine.begins), total), count;

	if (lane_id() == 0)
		begun[warp] = total;
	__syncthreads();
	rank += warps_exclusive<THREADS / 32>(begun, warp, count);

	/* 2. sum groups of 256, then of 4096 */
	if (thread < 16)
		groups.sum_groups();
	__syncthreads();
	if (thread == 0)
	{
		whole = groups.sum_tile();
		state::store(words + tile, state{count, whole}, GS_PARTIAL);
	}
	__syncthreads();

	/* 3. find the prefix, by the first warp */
	if (warp == 0)
	{
		const state b = tile > 0 ? look_back_in_order<OP>(words, tile) : state::zero();

		if (thread == 0)
		{
			T all = count ? OP::add(OP::zero(), whole) : OP::add(b.v, whole);

			state::store(words + tile, state{b.n + count, all}, GS_TOTAL);
			before = b;
			if (tile + 1 == a.sweep.tiles)
			{
				*a.count = b.n + count;
				((T *) a.out)[b.n + count - 1] = all;
			}
		}
	}
	__syncthreads();

	/* 4. write keys that begin, with the result of the key before each */
	const state b = before;

	if (mine.begins)
		write_sums<OP>(a, mine, groups, b.v, b.n + rank);
}

/* Launches the kernel for keys of this width and values of this type. */
template <int KEY, class OP>
static gs_status
run(gs_cuda_engine *e, fixed_args &a)
{
	constexpr size_t value = sizeof(typename OP::value);
	const size_t shared = fixed_shared(KEY, value, stages_keys(*e->tuning, KEY, value));
	u64 tiles = (a.n + TILE - 1) / TILE;
	void *list[] = {&a};
	gs_status status;

	if (tiles > 0x7fffffff)
		return GS_TOO_BIG;
	a.sweep.tiles = (u32) tiles;
	status = gs_cuda_status(cudaMemsetAsync(a.sweep.ticket, 0, gs_cuda_temp(tiles, sizeof(u128)), e->stream));
	if (status == GS_OK)
		status = gs_cuda_status(cudaFuncSetAttribute(fixed_kernel<KEY, OP>, cudaFuncAttributeMaxDynamicSharedMemorySize,
													 (int) shared));
	if (status == GS_OK)
		status = gs_cuda_status(cudaLaunchKernel((const void *) fixed_kernel<KEY, OP>, dim3((u32) tiles), dim3(THREADS),
												 list, shared, e->stream));
	return status;
}

/* Selects the kernel by the type of values.  Only floats have a fixed tree. */
template <int KEY>
static gs_status
run_values(gs_cuda_engine *e, fixed_args &a, gs_type values)
{
	return values == GS_F32 ? run<KEY, add_f32>(e, a) : run<KEY, add_f64>(e, a);
}

/* Implements gs_reduce_by_key of floats with reproducible results. */
gs_status
gs_cuda_reduce_fixed(gs_cuda_engine *e, const gs_reduce_request *r, void *temp)
{
	fixed_args a = {};

	cudaSetDevice(e->device);
	a.sweep.ticket = (u32 *) temp;
	a.keys = r->keys;
	a.values = r->values;
	a.n = r->n;
	a.floats = gs_type_is_float(r->key);
	a.out_keys = r->out_keys;
	a.out = r->out;
	a.count = r->count;
	a.words = (u128 *) ((u8 *) temp + GS_TEMP_HEAD);
	switch (gs_type_width(r->key))
	{
		case 4:
			return run_values<4>(e, a, r->reduction.values);
		case 8:
			return run_values<8>(e, a, r->reduction.values);
		default:
			return run_values<16>(e, a, r->reduction.values);
	}
}
