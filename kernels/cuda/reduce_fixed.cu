/*
 * reduce_fixed.cu: reduce-by-key of floats in the fixed tree of gs_arrays.h, which gives the same bits on every run and every
 * engine.
 *
 * Tiles are the tree's groups of 4096 positions, counted from the array's begin.  A thread sums a group of 16 from left
 * to right, one thread of 16 their sums (256), one thread of the tile those (4096): at each level the sum that is open
 * where the next group begins.  Over tiles the same, from left to right: a look-back that takes PARTIAL sums in any
 * grouping would not do, so the warp waits for a TOTAL in its window and adds the younger tiles to it one after the
 * other, beginning at the last in which a key begins.
 *
 * -0 is what an empty sum is, for it leaves any number as it is.  No fallback: tickets alone.
 * Bytes per item: key + value for the read, key + result per key.
 */
#include "compact.cuh"
#include "family.cuh"

#define THREADS 256
#define ITEMS	16
#define TILE	(THREADS * ITEMS)
#define PLACE(i) ((i) + (i) / 16) /* a word of padding for every 16, against bank conflicts */

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

/* Shared memory for a tile's values and, if they are staged, keys. */
constexpr size_t
fixed_shared(size_t key, size_t value, bool staged)
{
	return (staged ? (PLACE(TILE + 1) + 1) * key : 0) + (PLACE(TILE) + 1) * value + 16;
}

/*
 * Keys are staged where there is the room, else each thread reads its own from memory: 16 neighbours, most of them in
 * the first-level cache.
 */
constexpr bool
stages_keys(const gs_tuning &t, size_t key, size_t value)
{
	return fixed_shared(key, value, true) + 6144 <= (size_t) t.shared << 10;
}

template <int KEY, int VALUE> struct stages_keys_here
{
	static constexpr bool value = stages_keys(GS_TUNED, KEY, VALUE);
};

template <int KEY, class OP>
static __global__ void __launch_bounds__(THREADS) fixed_kernel(const __grid_constant__ fixed_args a)
{
	typedef typename item_of<KEY>::type K;
	typedef typename OP::value T;
	typedef keyed_state<OP> state;
	extern __shared__ __align__(128) u8 shared[];
	constexpr bool STAGED = stages_keys_here<KEY, sizeof(T)>::value;
	K *const keys = (K *) shared; /* [0]: the key before the tile */
	T *const values = (T *) (shared + (STAGED ? (PLACE(TILE + 1) + 1) * sizeof(K) : 0)); /* later: what the key before each begin came to */
	__shared__ T sum16[THREADS + 16], open256[THREADS + 16], sum256[16], open4096[16];
	__shared__ bool head16[THREADS], head256[16];
	__shared__ u32 begun[THREADS / 32], tile_;
	__shared__ T whole;
	__shared__ state before;
	const u32 thread = threadIdx.x, warp = thread / 32;

	if (thread == 0)
		tile_ = atomicAdd(a.sweep.ticket, 1);
	__syncthreads();

	const u32 tile = tile_;
	const u64 first = (u64) tile * TILE;
	const u32 hi = a.n - first < TILE ? (u32) (a.n - first) : TILE;

	for (u32 i = thread; i < hi; i += THREADS)
	{
		if (STAGED)
			keys[PLACE(i + 1)] = ((const K *) a.keys)[first + i];
		values[PLACE(i)] = ((const T *) a.values)[first + i];
	}
	if (STAGED && thread == 0)
		keys[0] = ((const K *) a.keys)[tile ? first - 1 : 0];
	__syncthreads();

	/* the tile's keys, from the one before it, number 0 */
	auto key_at = [&](u32 i) -> K { return STAGED ? keys[PLACE(i)] : ((const K *) a.keys)[first + i > 0 ? first + i - 1 : 0]; };

	/* 1. begins, and the sum since the last one in a group of 16 */
	u32 begins = 0;
	T sum = OP::zero(), v[ITEMS];
	K k[ITEMS];

#pragma unroll
	for (u32 j = 0; j < ITEMS; j++)
	{
		u32 i = thread * ITEMS + j;

		v[j] = OP::zero();
		if (i < hi)
		{
			k[j] = key_at(i + 1);
			v[j] = values[PLACE(i)];
			if (differs(k[j], j ? k[j - 1] : key_at(i), a.floats) || first + i == 0)
				begins |= 1u << j;
		}
		sum = begins >> j & 1 ? v[j] : OP::add(sum, v[j]);
	}
	sum16[PLACE(thread)] = sum;
	head16[thread] = begins != 0;

	u32 total, rank = warp_exclusive(__popc(begins), total), count;

	if (lane_id() == 0)
		begun[warp] = total;
	__syncthreads();
	rank += warps_exclusive<THREADS / 32>(begun, warp, count);

	/* 2. over groups of 256, then of 4096: what is open where a group begins */
	if (thread < 16)
	{
		T s = OP::zero();
		bool head = false;

		for (u32 g = thread * 16; g < thread * 16 + 16; g++)
		{
			open256[PLACE(g)] = s;
			s = head16[g] ? OP::add(OP::zero(), sum16[PLACE(g)]) : OP::add(s, sum16[PLACE(g)]);
			head |= head16[g];
		}
		sum256[thread] = s;
		head256[thread] = head;
	}
	__syncthreads();
	if (thread == 0)
	{
		T s = OP::zero();

		for (u32 b = 0; b < 16; b++)
		{
			open4096[b] = s;
			s = head256[b] ? OP::add(OP::zero(), sum256[b]) : OP::add(s, sum256[b]);
		}
		whole = s;
		state::store((typename state::words *) a.words + tile, state{count, s}, GS_PARTIAL);
	}
	__syncthreads();

	/* 3. the first warp finds what came before */
	if (warp == 0)
	{
		state b = state::zero();

		if (tile > 0)
		{
			const u32 lane = lane_id();
			state s[GS_WINDOW];
			u64 flag[GS_WINDOW];
			u32 need = 0;

			while (need == 0)
			{
				u32 hole = 32 * GS_WINDOW;

				GS_FOR_WINDOW(j)
				{
					i64 t = (i64) tile - 1 - (32 * j + lane);

					flag[j] = GS_TOTAL;
					s[j] = state::zero();
					if (t >= 0)
						flag[j] = state::load((typename state::words *) a.words + t, s[j]);
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
			b.n = window_count(s, need);

			/* where to begin: the youngest tile with a begin, or the TOTAL */
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
		}
		if (thread == 0)
		{
			T all = count ? OP::add(OP::zero(), whole) : OP::add(b.v, whole);

			state::store((typename state::words *) a.words + tile, state{b.n + count, all}, GS_TOTAL);
			before = b;
			if (tile + 1 == a.sweep.tiles)
			{
				*a.count = b.n + count;
				((T *) a.out)[b.n + count - 1] = all;
			}
		}
	}
	__syncthreads();

	/* 4. keys that begin, and what the key before each came to */
	const state b = before;
	T *const out = (T *) a.out;
	u64 at = b.n + rank;

	if (begins)
	{
		/* the levels that are open where this group begins, for the key that goes on into it */
		bool head_in_256 = false, head_in_tile;

		for (u32 g = thread / 16 * 16; g < thread; g++)
			head_in_256 |= head16[g];
		head_in_tile = head_in_256;
		for (u32 g = 0; g < thread / 16; g++)
			head_in_tile |= head256[g];

		T s256 = open256[PLACE(thread)], s4096 = head_in_256 ? OP::zero() : open4096[thread / 16];
		T all = head_in_tile ? OP::zero() : b.v, s16 = OP::zero();

#pragma unroll
		for (u32 j = 0; j < ITEMS; j++)
		{
			if (begins >> j & 1)
			{
				if (at > 0)
					out[at - 1] = OP::add(all, OP::add(s4096, OP::add(s256, s16)));
				((K *) a.out_keys)[at++] = k[j];
				all = s4096 = s256 = s16 = OP::zero();
			}
			s16 = OP::add(s16, v[j]);
		}
	}
}

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

template <int KEY>
static gs_status
run_values(gs_cuda_engine *e, fixed_args &a, gs_type values)
{
	return values == GS_F32 ? run<KEY, add_f32>(e, a) : run<KEY, add_f64>(e, a);
}

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
