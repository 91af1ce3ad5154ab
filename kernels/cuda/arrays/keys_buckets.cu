/*
 * keys_buckets.cu: sorts 4-byte integers, with or without 4-byte values, by their two leading digits, then in shared
 * memory.
 *
 * A bucket is the keys with equal 16 leading bits: 4096 keys of 2^28 random ones.  Two stable passes put the buckets in
 * order; neighbouring buckets are combined to parts, and each part is sorted by a block (bucket_sort.cu).  There each
 * key is compared with its neighbour and with the bounds of its part, so the result is in order or known not to be.
 *
 * A sample estimates whether buckets are short, and keys in them far enough apart.  If not, or if a bucket turns out to
 * be too long, schedule->again is set, and all digits are sorted.  Floats have too few varying leading bits.
 *
 * Bytes per item: read once and written once.
 */
#include "bucket_sort.cuh"
#include "keys.cuh"

#define BUCKET	16				 /* bits */
#define THREADS 256
#define NEAR	((u64) 1 << 25) /* items from which on parts of few buckets fill a block */

/* Returns the override of sort_testing.h. */
static u32
force_of(const gs_cuda_engine *e)
{
	return e->sort != NULL ? ((const gs_cuda_sort *) e->sort)->force_buckets : 0;
}

/* Returns the kind of words that keys are converted to. */
static gs_part_words
words_of(const gs_cuda_engine *e, const gs_sort_request *r)
{
	if (r->value_width == 0)
		return GS_PART_CODES;
	return r->n >= NEAR || force_of(e) == 3 ? GS_PART_NEAR : GS_PART_FAR;
}

/* Returns whether the method applies: complete keys, with short buckets if keys are spread evenly. */
bool
gs_keys_buckets_may(const gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_request *r)
{
	const u32 force = force_of(e);

	return r->key_bytes == 4 && !plan.floats && (r->value_width == 0 || r->value_width == 4) &&
		   plan.mask == gs_mask(32) && force != 1 && r->n >= (force != 0 ? GS_BUCKETS_FORCED : GS_BUCKETS_LEAST) &&
		   r->n + r->n / 8 <= (u64) gs_part_longest(e, words_of(e, r)) << BUCKET;
}

/* Returns the memory for the lists of parts: at most one per bucket, and the large ones that this many items allow. */
size_t
gs_keys_buckets_temp(size_t key_bytes, size_t value_width, u64 n)
{
	if (key_bytes != 4 || value_width > 4 || n < GS_BUCKETS_FORCED)
		return 0;
	return (((size_t) 1 << BUCKET) + n / gs_part_least() + 1) * sizeof(gs_part);
}

struct sample_args
{
	gs_keys_plan plan;
	const u32 *keys;
	u32 *cells;	 /* one counter per bucket */
	u32 *noted;	 /* places of keys, by hashes of their leading bits, plus one */
	u32 shift;	 /* low bits that do not affect a key's bin */
	bool places; /* equal keys must keep their order */
	u32 most_crowd, most_close;
};

/*
 * Samples a key per thread and counts it in its bucket, and those that would meet one in a bin: a different one, or any
 * that must keep its order.  Positions are random, in part close together, as neighbours are alike in ordered input.
 */
static __global__ void __launch_bounds__(THREADS) sample_kernel(const __grid_constant__ sample_args a)
{
	gs_keys_schedule *const schedule = a.plan.schedule;
	const u32 at = (u32) (gs_scramble(blockIdx.x * THREADS + threadIdx.x + 1) % a.plan.n);
	const u32 code = gs_key_code(a.keys[at], a.plan), prefix = code >> a.shift;
	/* one of the lanes with equal keys acts, since input of equal keys must not take longer */
	const u32 same = __match_any_sync(GS_ALL_LANES, code >> BUCKET), alike = __match_any_sync(GS_ALL_LANES, prefix);
	const u32 first = (u32) __ffs((int) alike) - 1, code_of_first = __shfl_sync(GS_ALL_LANES, code, first);
	u32 crowd = 0, close = lane_id() != first && (a.places || code != code_of_first);

	if ((same & lanes_below()) == 0)
		crowd = atomicAdd(a.cells + (code >> BUCKET), __popc(same)) + __popc(same);
	if (lane_id() == first)
	{
		const u32 other_at = atomicExch(a.noted + (gs_scramble(prefix + 1) >> (64 - GS_SAMPLE_BITS)), at + 1) - 1;
		const u32 other = other_at < a.plan.n && other_at != at ? gs_key_code(a.keys[other_at], a.plan) : ~code;

		close = other >> a.shift == prefix && (a.places || other != code);
	}
	crowd = lanes_max(crowd);
	close = lanes_add(close);
	if (lane_id() == 0)
	{
		atomicMax(&schedule->crowd, crowd);
		if (close != 0)
			atomicAdd(&schedule->close, close);
	}
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	__threadfence();
	if (atomicAdd(&schedule->sampled, 1) + 1 == gridDim.x &&
		(atomicAdd(&schedule->crowd, 0) > a.most_crowd || atomicAdd(&schedule->close, 0) > a.most_close))
		schedule->again = 1;
}

/* Samples the keys and decides.  tables: memory for it. */
gs_status
gs_keys_buckets_sample(gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_request *r, void *tables)
{
	const u64 n = r->n, sample = GS_SAMPLE;
	const u64 crowd = gs_part_longest(e, words_of(e, r)) * sample / n * 7 / 8,
			  close = GS_PART_CROWD * sample * sample / (2 * n);
	sample_args a = {plan,
					 (const u32 *) r->keys,
					 (u32 *) tables,
					 (u32 *) tables + (1 << BUCKET),
					 33 - gs_bits(n),
					 words_of(e, r) != GS_PART_CODES,
					 ~0u,
					 ~0u};

	static_assert(GS_BUCKETS_FORCED * sizeof(u32) >= (sizeof(u32) << BUCKET) + (sizeof(u32) << GS_SAMPLE_BITS),
				  "tables lie where keys go later");
	if (force_of(e) != 3)
	{
		/* buckets hold two sampled keys on average, and some hold 12 by chance */
		a.most_crowd = crowd > 14 ? (u32) crowd : 14;
		/* pairs among all keys are more by (n / sample)^2; each makes two keys share their bin */
		a.most_close = (u32) close;
	}
	GS_TRY(gs_cuda_status(
		cudaMemsetAsync(tables, 0, (sizeof(u32) << BUCKET) + (sizeof(u32) << GS_SAMPLE_BITS), e->stream)));
	sample_kernel<<<GS_SAMPLE / THREADS, THREADS, 0, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

struct buckets_args
{
	gs_keys_plan plan;
	const u32 *keys; /* in order of their buckets */
	u32 stride;		 /* distance between keys */
	u32 levels, room, longest;
	gs_parts parts;
};

/* Finds the buckets of one leading digit and lists their parts, by one block. */
static __global__ void __launch_bounds__(GS_PART_BUCKETS) buckets_kernel(const __grid_constant__ buckets_args a)
{
	__shared__ u32 begin[GS_PART_BUCKETS + 1], start;
	const u32 *const counts = a.plan.counts + (a.plan.digits - 1) * GS_PLACE;
	const u32 d = threadIdx.x, flip = (u32) a.plan.flip >> 24, n = counts[blockIdx.x ^ flip];
	const u32 before = lanes_add(d < blockIdx.x ? counts[d ^ flip] : 0);

	if (d == 0)
		start = 0;
	if (__syncthreads_or(a.plan.schedule->again != 0)) /* another block may be setting it */
		return;
	if (lane_id() == 0)
		atomicAdd(&start, before);
	__syncthreads();

	/* the first key in this or a later bucket */
	const u32 bucket = blockIdx.x << 8 | d;
	u32 from = 0, to = n;

	while (from < to)
	{
		const u32 at = from + (to - from) / 2;

		if (gs_key_code(a.keys[((u64) start + at) * a.stride], a.plan) >> BUCKET < bucket)
			from = at + 1;
		else
			to = at;
	}
	begin[d] = d == 0 ? 0 : from;
	if (d == 0)
		begin[GS_PART_BUCKETS] = n;
	__syncthreads();
	/* also detects buckets that are not contiguous: the keys are out of order */
	if (__syncthreads_or(begin[d + 1] - begin[d] > a.longest))
	{
		if (d == 0)
			a.plan.schedule->again = 1;
		return;
	}
	gs_list_parts(begin, start, blockIdx.x << 24, BUCKET, a.levels, a.room, a.parts, &a.plan.schedule->longest);
}

/* Sorts items in order of leading digits to the output, unless schedule->again is 1.  temp: gs_keys_buckets_temp(). */
gs_status
gs_keys_buckets(gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_request *r, const void *in, void *temp)
{
	const gs_part_words words = words_of(e, r);
	const u32 room = gs_part_room(*e->tuning, words, false), longest = gs_part_longest(e, words),
			  each = GS_PART_BUCKETS;
	const bool pairs = r->value_width != 0;
	const gs_parts parts = {{(gs_part *) temp, (gs_part *) temp + (1 << BUCKET)}, plan.schedule->listed_parts};
	const u32 levels = words == GS_PART_NEAR ? 32 - BUCKET - gs_part_place_bits(*e->tuning, words, false) : 8;
	const buckets_args b = {plan, (const u32 *) in + pairs, pairs ? 2u : 1u, levels, room, longest, parts};
	const gs_parts_args a = {in,		  r->out_keys, pairs ? r->out_values : NULL, plan.flip,
							 plan.floats, parts,	   &plan.schedule->again};
	/* at most one per bucket, and few large ones */
	const u32 small = 1 << BUCKET, large = longest > room ? (u32) e->properties.multiProcessorCount : 0;

	buckets_kernel<<<each, GS_PART_BUCKETS, 0, e->stream>>>(b);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	return gs_parts_sort(e, words, a, small, large);
}
