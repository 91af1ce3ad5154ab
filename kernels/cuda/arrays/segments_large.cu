/*
 * segments_large.cu: segments of more than 4096 items, sorted together, digit by digit.
 *
 * Every segment is divided into tiles of its own, which a table lists.  One read counts all digits of every segment and
 * finds the bits in which its keys vary; a sample determines how many leading digits suffice (segments_leading.cu).
 * The host waits for both.  Each digit is then one pass of radix/array_pass.cuh over the tiles of all segments; digits
 * that vary in no segment are skipped.  If the result is out of order, everything is sorted again by all digits.
 *
 * Bytes per item: a key, read for the counts; per pass, key and value read and written; after leading digits a key,
 * read again.  Pairs of 4 and 4 bytes travel as one word between the first pass and the last.
 */
#include "segments.cuh"

#define BITS	8
#define BINS	(1 << BITS)
#define THREADS 512

/* Returns whether all kernels for such keys and values have one tile size, as tiles are listed once for all passes. */
static constexpr bool
tiles_alike(const gs_tuning &t)
{
	const gs_radix_shape pairs = gs_radix_shape_of(t, BITS, GS_PAIRS4, 0);
	const gs_radix_shape words = gs_radix_shape_of(t, BITS, GS_KEYS8, 0);

	return pairs.threads * pairs.items == words.threads * words.items;
}

static_assert(tiles_alike(gs_sm_75) && tiles_alike(gs_sm_80) && tiles_alike(gs_sm_86) && tiles_alike(gs_sm_90),
			  "see above");

/* Returns the tile size of the passes for these widths, in items. */
u32
gs_segments_tile(const gs_cuda_engine *e, size_t key_bytes, size_t value_width)
{
	const bool pairs = key_bytes == 4 && value_width == 4; /* words between the first pass and the last */
	const gs_radix_io in = pairs ? GS_PAIRS4 : key_bytes == 4 ? GS_KEYS4 : GS_KEYS8;
	const gs_radix_shape s = gs_radix_shape_of(*e->tuning, BITS, in, pairs ? 0 : (int) value_width);

	return (u32) (s.threads * s.items);
}

/* Lists the tiles of each segment. */
static __global__ void
tiles_kernel(const gs_segment *list, u32 tile, gs_radix_tile *table)
{
	const gs_segment s = list[blockIdx.x];
	const u32 tiles = (u32) ((s.n + tile - 1) / tile);

	for (u32 t = threadIdx.x; t < tiles; t += blockDim.x)
		table[s.first_tile + t] = {(u32) s.start + t * tile, min(tile, (u32) s.n - t * tile), t, blockIdx.x};
}

/* Counts digits of each segment, in several counters for neighbouring lanes: fewer bank conflicts. */
template <class T>
static __global__ void __launch_bounds__(THREADS) count_kernel(const __grid_constant__ gs_segments_work w, u32 each)
{
	constexpr u32 PLACES = sizeof(T), SETS = 32 / PLACES;
	__shared__ u32 counters[PLACES * BINS * SETS];
	u32 *const mine = counters + (threadIdx.x & (SETS - 1));
	const u32 begin = blockIdx.x * each, end = min(begin + each, w.tiles);
	T varying = 0;

	for (u32 i = threadIdx.x; i < PLACES * BINS * SETS; i += THREADS)
		counters[i] = 0;
	__syncthreads();
	for (u32 t = begin; t < end; t++)
	{
		const gs_radix_tile tile = w.table[t];
		const T *const keys = (const T *) w.a.keys + tile.start;
		const T first = gs_key_code(((const T *) w.a.keys)[tile.start - tile.index * w.tile], w.a);

#pragma unroll 4
		for (u32 i = threadIdx.x; i < tile.valid; i += THREADS)
		{
			const T k = gs_key_code(keys[i], w.a);

			varying |= k ^ first;
#pragma unroll
			for (u32 p = 0; p < PLACES; p++)
				atomicAdd(mine + (p * BINS + ((u32) (k >> (BITS * p)) & (BINS - 1))) * SETS, 1);
		}
		if (t + 1 == end || w.table[t + 1].segment != tile.segment)
		{
			__syncthreads();
			for (u32 i = threadIdx.x; i < PLACES * BINS; i += THREADS)
			{
				u32 c = 0;

#pragma unroll
				for (u32 s = 0; s < SETS; s++)
				{
					u32 *const counter = counters + i * SETS + ((s + threadIdx.x) & (SETS - 1));

					c += *counter;
					*counter = 0;
				}
				if (c != 0)
					atomicAdd(w.counts + (u64) tile.segment * PLACES * BINS + i, c);
			}
			__syncthreads();
		}
	}
	const u32 low = lanes_or((u32) varying), high = lanes_or((u32) ((u64) varying >> 32));

	if (lane_id() == 0 && (low | high) != 0)
		atomicOr((unsigned long long *) &w.found->varying, (unsigned long long) ((u64) high << 32 | low));
}

/* Turns the counts of digits into their starts in each segment. */
static __global__ void __launch_bounds__(BINS) begins_kernel(u32 *counts)
{
	__shared__ u32 sums[BINS / 32];
	u32 *const at = counts + (u64) blockIdx.x * BINS + threadIdx.x;
	const u32 x = *at, upto = warp_inclusive(x), warp = threadIdx.x / 32;

	if (lane_id() == 31)
		sums[warp] = upto;
	__syncthreads();

	u32 before = 0;

	for (u32 w = 0; w < warp; w++)
		before += sums[w];
	*at = before + upto - x;
}

/* ---------------------------------------------------------------- memory */

/* What is zeroed before a pass is contiguous: the ticket and the status words. */
struct large_layout
{
	size_t table, counts, parts, ticket, status, keys, values, bytes;
};

/* Returns whether pairs are one word between the first pass and the last. */
static bool
one_word(size_t key_bytes, size_t value_width)
{
	return key_bytes == 4 && value_width == 4;
}

/* Lays out memory for the most segments that can be large, and their tiles, one of which per segment may be partial. */
static large_layout
layout_of(const gs_cuda_engine *e, size_t key_bytes, size_t value_width, u64 n)
{
	const u64 most = n / (GS_SEG_SMALL + 1) + 1, tiles = n / gs_segments_tile(e, key_bytes, value_width) + most;
	const bool words = one_word(key_bytes, value_width);
	large_layout l = {};
	size_t at = 0;
	auto take = [&](size_t bytes) {
		size_t here = at;

		at += gs_round256(bytes);
		return here;
	};

	l.table = take(tiles * sizeof(gs_radix_tile));
	l.counts = take(most * key_bytes * BINS * sizeof(u32));
	l.parts = take(gs_segments_parts_bytes(key_bytes, value_width, n));
	l.ticket = take(sizeof(u32));
	l.status = take(tiles * BINS * sizeof(u32));
	l.keys = take(n * (words ? 8 : key_bytes));
	l.values = take(n * (words ? 8 : value_width));
	l.bytes = at;
	return l;
}

/* Returns the memory for the large segments among n items. */
size_t
gs_segments_large_temp(const gs_cuda_engine *e, size_t key_bytes, size_t value_width, u64 n)
{
	return layout_of(e, key_bytes, value_width, n).bytes;
}

/* ---------------------------------------------------------------- the call */

/* Counts digits and takes a sample.  Waits for the varying bits and the sample's result. */
static gs_status
count_and_sample(gs_cuda_engine *e, const gs_segments_work &w, void *tables, gs_segments_found *known)
{
	/* eight blocks per multiprocessor, which balances the load */
	const u32 each = w.tiles / (8 * (u32) e->properties.multiProcessorCount) + 1, blocks = (w.tiles + each - 1) / each;

	GS_TRY(gs_cuda_status(
		cudaMemsetAsync(w.counts, 0, (size_t) w.segments * w.a.key_bytes * BINS * sizeof(u32), e->stream)));
	if (w.a.key_bytes == 4)
		count_kernel<u32><<<blocks, THREADS, 0, e->stream>>>(w, each);
	else
		count_kernel<u64><<<blocks, THREADS, 0, e->stream>>>(w, each);
	begins_kernel<<<w.segments * w.a.key_bytes, BINS, 0, e->stream>>>(w.counts);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	if (w.parts[0] != NULL)
		GS_TRY(gs_segments_parts(e, w));
	if (known->items >= GS_SEG_LEADING_ITEMS)
		GS_TRY(gs_segments_sample(e, w, tables));
	GS_TRY(gs_cuda_status(
		cudaMemcpyAsync(known, w.found, offsetof(gs_segments_found, giants), cudaMemcpyDeviceToHost, e->stream)));
	return gs_cuda_status(cudaStreamSynchronize(e->stream));
}

/* Enqueues the passes over varying digits from `lowest` on; buckets: one, to temporary memory, for parts. */
static gs_status
run_passes(gs_cuda_engine *e, const gs_segments_work &w, const large_layout &l, u8 *temp, u64 varying, u32 lowest,
		   bool buckets)
{
	const bool words = one_word(w.a.key_bytes, w.a.value_bytes);
	const void *keys = w.a.keys, *values = w.a.values;
	u32 place[8], passes = 0;

	for (u32 p = lowest; p < w.a.key_bytes; p++)
		if (varying >> (BITS * p) & (BINS - 1))
			place[passes++] = p;
	if (passes == 0)
		place[passes++] = 0; /* all keys are equal: one pass copies them */
	for (u32 p = 0; p < passes; p++)
	{
		const bool first = p == 0, last = p + 1 == passes && !buckets,
				   out = words ? last : (passes - p) % 2 == 1 && !buckets;
		gs_radix_args a = {};

		a.shift = BITS * place[p];
		a.mask = BINS - 1;
		a.flip = (u32) (w.a.flip >> a.shift) & a.mask;
		a.key_flip = words ? w.a.flip << 32 : w.a.flip;
		if (words && !w.a.floats)
			a.shift += 32;
		a.prefetch = e->properties.major >= 9;
		a.counts = w.counts + place[p] * BINS;
		a.stride = w.a.key_bytes * BINS;
		a.status = (u32 *) (temp + l.status);
		a.sweep.ticket = (u32 *) (temp + l.ticket);
		a.sweep.tiles = w.tiles;
		a.tiles = w.table;
		a.in = keys;
		a.values = values;
		a.out = out ? w.a.out_keys : temp + (words && p % 2 ? l.values : l.keys);
		a.out_values = out ? w.a.out_values : temp + l.values;
		GS_TRY(gs_cuda_status(cudaMemsetAsync(temp + l.ticket, 0,
											  l.status - l.ticket + (size_t) w.tiles * BINS * sizeof(u32), e->stream)));
		if (words)
			GS_TRY(gs_radix_pass_segments_pairs(e, w.a.floats, first, last, a));
		else
			GS_TRY(gs_radix_pass_segments(e, w.a.key_bytes, w.a.value_bytes, w.a.floats, a));
		keys = a.out;
		values = a.out_values;
	}
	return GS_OK;
}

/* Sorts the large segments: statistics, then buckets, leading digits or all digits, again if out of order. */
gs_status
gs_segments_large(gs_cuda_engine *e, const gs_segments_args &args, u64 n, const gs_segment *list,
				  gs_segments_found *known, gs_segments_found *found, void *temp)
{
	const large_layout l = layout_of(e, args.key_bytes, args.value_bytes, n);
	u8 *t = (u8 *) temp;
	gs_segments_work w = {args,
						  list,
						  found,
						  known->count[GS_SEG_LARGE_CLASS],
						  (u32) (known->large >> 32),
						  gs_segments_tile(e, args.key_bytes, args.value_bytes),
						  (gs_radix_tile *) (t + l.table),
						  (u32 *) (t + l.counts),
						  {}};
	bool buckets;
	u32 shift;

	gs_segments_parts_at(&w, t + l.parts, n);
	tiles_kernel<<<w.segments, 256, 0, e->stream>>>(list, w.tile, w.table);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(count_and_sample(e, w, t + l.keys, known));
	buckets = gs_segments_buckets_pay(e, w, known);
	shift = buckets ? gs_leading_shift(known->varying, 1) : gs_segments_leading(known);
	GS_TRY(run_passes(e, w, l, t, known->varying, shift / BITS, buckets));
	if (buckets)
		GS_TRY(gs_segments_buckets(e, w, known, t + l.keys));
	else if (shift != 0)
		GS_TRY(gs_segments_ties(e, w, shift));
	if (buckets || shift == 0)
		return GS_OK;
	GS_TRY(
		gs_cuda_status(cudaMemcpyAsync(&known->again, &found->again, sizeof(u32), cudaMemcpyDeviceToHost, e->stream)));
	GS_TRY(gs_cuda_status(cudaStreamSynchronize(e->stream)));
	return known->again ? run_passes(e, w, l, t, known->varying, 0, false) : GS_OK;
}
