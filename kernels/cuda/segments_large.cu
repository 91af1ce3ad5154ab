/*
 * segments_large.cu: segments of more than 4096 items, all sorted together, digit by digit.
 *
 * Every segment is cut into tiles of its own.  One read counts all digits of every segment, and the bits in which its keys differ.
 * A pass is one launch over the tiles of all segments: a tile ranks its keys by ballots, puts them in order in shared memory, looks
 * back over its segment's earlier tiles for where each digit continues, and writes runs of equal digits; values follow the same way.
 * Digits in which no segment's keys differ have no pass.  A tile that waits long counts the missing one itself.
 *
 * Bytes per item: a key read; per pass key and value read and written, and a byte of status.
 * As radix.cuh; there a tile belongs to the one sort, here to a segment, and blocks are smaller so that two share a multiprocessor.
 */
#include "segments.cuh"

#define THREADS 512
#define WARPS	(THREADS / 32)
#define BITS	8
#define BINS	(1 << BITS)
#define COUNT_THREADS 512

/* Items of a thread: 4-byte keys alone or with 4-byte values, and others. */
static constexpr int
items_of(size_t key_bytes, size_t value_width)
{
	return key_bytes == 4 && value_width <= 4 ? 16 : 12;
}

u32
gs_segments_tile(size_t key_bytes, size_t value_width)
{
	return THREADS * (u32) items_of(key_bytes, value_width);
}

struct large_args
{
	gs_segments_args a;
	gs_sweep sweep;
	const gs_segment *list;
	const u32 *segment_of; /* of each tile */
	u32 *counts;		   /* per segment and place: counts of digits, then where each begins */
	u32 *status;
	u32 places;
	u64 *varying;
	/* a pass */
	const void *keys, *values;
	void *out_keys, *out_values;
	u32 place;
};

/* Which segment each tile belongs to. */
static __global__ void
tiles_kernel(const gs_segment *list, u32 tile, u32 *segment_of)
{
	const gs_segment s = list[blockIdx.x];
	const u64 tiles = (s.n + tile - 1) / tile;

	for (u64 t = threadIdx.x; t < tiles; t += blockDim.x)
		segment_of[s.first_tile + t] = blockIdx.x;
}

/* Counts all digits of each segment.  A block takes some tiles that follow each other, and adds up where a segment ends. */
template <class T>
static __global__ void __launch_bounds__(COUNT_THREADS) count_kernel(const __grid_constant__ large_args a, u32 tile, u32 each)
{
	constexpr u32 PLACES = sizeof(T);
	__shared__ u32 counters[2 * PLACES * BINS];
	u32 *const mine = counters + (threadIdx.x / 32 & 1) * PLACES * BINS;
	const u32 begin = blockIdx.x * each, end = min(begin + each, a.sweep.tiles);
	T varying = 0;

	for (u32 i = threadIdx.x; i < 2 * PLACES * BINS; i += COUNT_THREADS)
		counters[i] = 0;
	__syncthreads();
	for (u32 t = begin; t < end; t++)
	{
		const u32 of = a.segment_of[t];
		const gs_segment s = a.list[of];
		const T *const keys = (const T *) a.a.keys + s.start;
		const T first = gs_key_code(keys[0], a.a);
		const u64 from = (t - s.first_tile) * tile, to = min(from + tile, s.n);

#pragma unroll 4
		for (u64 i = from + threadIdx.x; i < to; i += COUNT_THREADS)
		{
			const T k = gs_key_code(keys[i], a.a);

			varying |= k ^ first;
#pragma unroll
			for (u32 p = 0; p < PLACES; p++)
				atomicAdd(mine + p * BINS + ((u32) (k >> (BITS * p)) & (BINS - 1)), 1);
		}
		if (t + 1 == end || a.segment_of[t + 1] != of)
		{
			__syncthreads();
			for (u32 i = threadIdx.x; i < PLACES * BINS; i += COUNT_THREADS)
			{
				const u32 c = counters[i] + counters[PLACES * BINS + i];

				if (c != 0)
					atomicAdd(a.counts + (u64) of * PLACES * BINS + i, c);
				counters[i] = counters[PLACES * BINS + i] = 0;
			}
			__syncthreads();
		}
	}
	const u32 low = lanes_or((u32) varying), high = lanes_or((u32) ((u64) varying >> 32));

	if (lane_id() == 0 && (low | high) != 0)
		atomicOr((unsigned long long *) a.varying, (unsigned long long) ((u64) high << 32 | low));
}

/* Counts become begins: of each digit in the output. */
static __global__ void __launch_bounds__(BINS) begins_kernel(const __grid_constant__ large_args a)
{
	__shared__ u32 sums[BINS / 32];
	u32 *const at = a.counts + (u64) blockIdx.x * BINS + threadIdx.x;
	const u32 start = (u32) a.list[blockIdx.x / a.places].start, x = *at, upto = warp_inclusive(x), warp = threadIdx.x / 32;

	if (lane_id() == 31)
		sums[warp] = upto;
	__syncthreads();

	u32 before = 0;

	for (u32 w = 0; w < warp; w++)
		before += sums[w];
	*at = start + before + upto - x;
}

template <int KEY, int VALUE, int ITEMS>
static __global__ void __launch_bounds__(THREADS, VALUE ? 2 : KEY == 4 ? 3 : 2) pass_kernel(const __grid_constant__ large_args a)
{
	typedef typename item_of<KEY>::type key;
	typedef typename item_of<VALUE == 0 ? 4 : VALUE>::type value;
	constexpr u32 TILE = THREADS * ITEMS;

	extern __shared__ __align__(128) u8 memory[];
	key *const keys = (key *) memory;	 /* the tile in order */
	value *const values = (value *) memory; /* after the keys */
	u8 *const digits = memory + TILE * (KEY > VALUE ? KEY : VALUE); /* of the tile in order, for the values */
	u32 *const counters = (u32 *) (digits + (VALUE ? TILE : 0));
	u32 *const starts = counters + WARPS * BINS;
	u32 *const to = starts + BINS;
	u32 *const sums = to + BINS;
	u32 *const ticket = sums + 32;

	const u32 thread = threadIdx.x, warp = thread / 32, lane = lane_id(), shift = BITS * a.place;
	const u32 mine = warp * (32 * ITEMS) + lane; /* a warp's items lie side by side in the tile, a thread's 32 apart */
	u32 *const counter = counters + warp * BINS;
	key k[ITEMS];
	u32 rank[VALUE ? ITEMS : 1]; /* places in the tile, for the values */

	if (thread == 0)
		*ticket = atomicAdd(a.sweep.ticket, 1);
	for (u32 i = thread; i < WARPS * BINS; i += THREADS)
		counters[i] = 0;
	__syncthreads();

	const u32 tile = *ticket, of = a.segment_of[tile];
	const gs_segment s = a.list[of];
	const u32 first_tile = (u32) s.first_tile;
	const u64 from = s.start + (u64) (tile - first_tile) * TILE, left = s.start + s.n - from;
	const u32 valid = left < TILE ? (u32) left : TILE;
	auto digit = [&](key x) -> u32 { return (u32) (gs_key_code(x, a.a) >> shift) & (BINS - 1); };

	/* 1. keys; a warp's counts of digits, by atomics that return nothing */
	{
		const key *const p = (const key *) a.keys + from + mine;

#pragma unroll
		for (int i = 0; i < ITEMS; i++)
			k[i] = mine + i * 32 < valid ? __ldcs(p + i * 32) : 0;
	}
	auto digit_at = [&](int i) -> u32 { return mine + i * 32 < valid ? digit(k[i]) : BINS - 1; };
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		atomicAdd(counter + digit_at(i), 1);
	if (a.sweep.stall && tile + 1 < a.sweep.tiles)
	{
		if (thread == 0)
			stall_here(a.sweep, tile);
	}
	__syncthreads();

	/* 2. counts of the tile's digits, published; counters become places in the tile: of the next key of a warp with a digit */
	u32 count = 0, upto = 0;
	u32 *const status = a.status + (u64) tile * BINS + thread;

	if (thread < BINS)
	{
#pragma unroll
		for (u32 w = 0; w < WARPS; w++)
		{
			u32 c = counters[w * BINS + thread];

			counters[w * BINS + thread] = count;
			count += c;
		}
		publish_word<u32>(status, tile - first_tile, count);
		upto = warp_inclusive(count);
		if (lane == 31)
			sums[warp] = upto;
	}
	__syncthreads();
	if (thread < BINS)
	{
		u32 before = upto - count;

		for (u32 w = 0; w < warp; w++)
			before += sums[w];
		starts[thread] = before;
#pragma unroll
		for (u32 w = 0; w < WARPS; w++)
			counters[w * BINS + thread] += before;
	}
	__syncthreads();

	/* 3. keys to their places.  Equal digits keep their order: warps and items by the counters, lanes by ballots */
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		u32 d = digit_at(i), alike = lanes_alike<BITS>(d), place = counter[d], below = __popc(alike & lanes_below());

		__syncwarp();
		if (below == 0)
			counter[d] = place + __popc(alike);
		__syncwarp();
		place += below;
		keys[place] = k[i];
		if (VALUE)
		{
			digits[place] = (u8) d;
			rank[VALUE ? i : 0] = place;
		}
	}

	/* the values, on their way while the digits look back */
	value v[VALUE ? ITEMS : 1];

	if (VALUE)
	{
		const value *const p = (const value *) a.values + from + mine;

#pragma unroll
		for (int i = 0; i < ITEMS; i++)
			v[VALUE ? i : 0] = mine + i * 32 < valid ? __ldcs(p + i * 32) : 0;
	}

	/* 4. look back within the segment: a thread per digit */
	if (thread < BINS)
	{
		u32 sum = look_back_word<u32>(status, BINS, tile - first_tile, count, a.sweep, [&](u32 t) {
			const key *const p = (const key *) a.keys + s.start + (u64) t * TILE;
			u32 n = 0;

#pragma unroll 8
			for (u32 i = 0; i < TILE; i++)
				n += digit(p[i]) == thread;
			return n;
		});

		to[thread] = a.counts[((u64) of * a.places + a.place) * BINS + thread] + sum - starts[thread];
		if (a.sweep.stall && tile + 1 == a.sweep.tiles && thread == 0)
			atomicExch(&a.sweep.watch->last_done, 1);
	}
	__syncthreads();

	/* 5. out, digit by digit */
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		u32 j = i * THREADS + thread;

		if (j < valid)
		{
			key x = keys[j];

			((key *) a.out_keys)[to[digit(x)] + j] = x;
		}
	}
	if (VALUE)
	{
		__syncthreads();
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
			values[rank[VALUE ? i : 0]] = v[VALUE ? i : 0];
		__syncthreads();
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			u32 j = i * THREADS + thread;

			if (j < valid)
				((value *) a.out_values)[to[digits[j]] + j] = values[j];
		}
	}
}

/* ---------------------------------------------------------------- the call */

struct large_layout
{
	size_t segment_of, counts, tickets, status, keys, values, bytes;
};

static large_layout
layout_of(size_t key_bytes, size_t value_width, u64 n)
{
	const u64 most = n / (GS_SEG_SMALL + 1) + 1, tiles = n / gs_segments_tile(key_bytes, value_width) + most;
	large_layout l = {};
	size_t at = 0;
	auto take = [&](size_t bytes) {
		size_t here = at;

		at += gs_round256(bytes);
		return here;
	};

	l.segment_of = take(tiles * sizeof(u32));
	l.counts = take(most * key_bytes * BINS * sizeof(u32));
	l.tickets = take(sizeof(u32));
	l.status = take(tiles * BINS * sizeof(u32));
	l.keys = take(n * key_bytes);
	l.values = take(n * value_width);
	l.bytes = at;
	return l;
}

size_t
gs_segments_large_temp(size_t key_bytes, size_t value_width, u64 n)
{
	return layout_of(key_bytes, value_width, n).bytes;
}

template <int KEY, int VALUE>
static gs_status
launch_pass(gs_cuda_engine *e, const large_args &a)
{
	constexpr int items = items_of(KEY, VALUE);
	constexpr size_t tile = (size_t) THREADS * items;
	constexpr size_t shared = tile * (KEY > VALUE ? KEY : VALUE) + (VALUE ? tile : 0) + sizeof(u32) * (WARPS * BINS + 2 * BINS + 64);
	int blocks;

	GS_TRY(gs_cuda_blocks(e, (const void *) pass_kernel<KEY, VALUE, items>, THREADS, shared, &blocks));
	pass_kernel<KEY, VALUE, items><<<a.sweep.tiles, THREADS, shared, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

static gs_status
launch(gs_cuda_engine *e, const large_args &a)
{
	if (a.a.key_bytes == 4)
		return a.a.value_bytes == 0 ? launch_pass<4, 0>(e, a) : a.a.value_bytes == 4 ? launch_pass<4, 4>(e, a) : launch_pass<4, 8>(e, a);
	return a.a.value_bytes == 0 ? launch_pass<8, 0>(e, a) : a.a.value_bytes == 4 ? launch_pass<8, 4>(e, a) : launch_pass<8, 8>(e, a);
}

/* Counts digits; waits for the bits in which keys differ. */
static gs_status
count_digits(gs_cuda_engine *e, const large_args &a, u32 tile, u32 count, u64 *varying)
{
	const u32 each = 8, blocks = (a.sweep.tiles + each - 1) / each;
	u64 *host = (u64 *) ((gs_cuda_sort *) e->sort)->host;

	if (a.places == 4)
		count_kernel<u32><<<blocks, COUNT_THREADS, 0, e->stream>>>(a, tile, each);
	else
		count_kernel<u64><<<blocks, COUNT_THREADS, 0, e->stream>>>(a, tile, each);
	begins_kernel<<<count * a.places, BINS, 0, e->stream>>>(a);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(gs_cuda_status(cudaMemcpyAsync(host, a.varying, sizeof(*host), cudaMemcpyDeviceToHost, e->stream)));
	GS_TRY(gs_cuda_status(cudaStreamSynchronize(e->stream)));
	*varying = *host;
	return GS_OK;
}

gs_status
gs_segments_large(gs_cuda_engine *e, const gs_segments_args &args, u64 n, const gs_segment *list, u32 count, u32 tiles,
				  gs_segments_found *found, void *temp)
{
	const large_layout l = layout_of(args.key_bytes, args.value_bytes, n);
	const u32 tile = gs_segments_tile(args.key_bytes, args.value_bytes);
	u8 *t = (u8 *) temp;
	large_args a = {};
	u32 place[8], passes = 0;
	u64 varying;

	a.a = args;
	a.list = list;
	a.segment_of = (const u32 *) (t + l.segment_of);
	a.counts = (u32 *) (t + l.counts);
	a.status = (u32 *) (t + l.status);
	a.places = args.key_bytes;
	a.varying = &found->varying;
	a.sweep.ticket = (u32 *) (t + l.tickets);
	a.sweep.watch = e->watch;
	a.sweep.tiles = tiles;
	a.sweep.stall = e->stall;
	a.sweep.patience = e->patience;
	tiles_kernel<<<count, 256, 0, e->stream>>>(list, tile, (u32 *) (t + l.segment_of));
	GS_TRY(gs_cuda_status(cudaMemsetAsync(a.counts, 0, (size_t) count * a.places * BINS * sizeof(u32), e->stream)));
	GS_TRY(count_digits(e, a, tile, count, &varying));
	for (u32 p = 0; p < a.places; p++)
		if (varying >> (BITS * p) & (BINS - 1))
			place[passes++] = p;
	if (passes == 0)
		place[passes++] = 0; /* all keys are equal: one pass copies them */

	a.keys = args.keys;
	a.values = args.values;
	for (u32 p = 0; p < passes; p++)
	{
		const bool out = (passes - p) % 2 == 1;

		a.place = place[p];
		a.out_keys = out ? args.out_keys : t + l.keys;
		a.out_values = out ? args.out_values : t + l.values;
		GS_TRY(gs_cuda_status(
			cudaMemsetAsync(a.sweep.ticket, 0, l.status - l.tickets + (size_t) tiles * BINS * sizeof(u32), e->stream)));
		if (e->stall)
			GS_TRY(gs_cuda_status(cudaMemsetAsync(&e->watch->last_done, 0, sizeof(u32), e->stream)));
		GS_TRY(launch(e, a));
		a.keys = a.out_keys;
		a.values = a.out_values;
	}
	return GS_OK;
}
