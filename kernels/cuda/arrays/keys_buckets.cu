/*
 * keys_buckets.cu: integers of 4 bytes, alone and with values of 4 bytes, by their two leading digits, then in shared
 * memory.
 *
 * Keys that share 16 leading bits are a bucket: of 2^28 random keys, 4096.  After two stable passes buckets lie one
 * behind the other; where they begin is searched for, neighbouring ones become parts, and each part is put in order by
 * a block (bucket_sort.cu).  Each key is compared with its neighbour there, and with the bounds of its part's buckets,
 * so that the result is in order, or it is known that it is not.
 *
 * Whether buckets are short, and keys in them far enough from each other, is estimated from a sample beforehand.  If
 * not, or if a bucket turns out to be too long, schedule->again becomes 1, and everything is done by all digits.
 *
 * Floats have too few leading bits that differ.
 *
 * Bytes per item: read once and written once.
 */
#include "bucket_sort.cuh"
#include "keys.cuh"

#define BUCKET	16				 /* bits */
#define THREADS 256
#define NEAR	((u64) 1 << 25) /* items from which on parts of few buckets fill a block */

/* sort.h */
static u32
force_of(const gs_cuda_engine *e)
{
	return e->sort != NULL ? ((const gs_cuda_sort *) e->sort)->force_buckets : 0;
}

/* What keys become. */
static gs_part_words
words_of(const gs_cuda_engine *e, const gs_sort_items *items)
{
	if (items->value_width == 0)
		return GS_PART_CODES;
	return items->n >= NEAR || force_of(e) == 3 ? GS_PART_NEAR : GS_PART_FAR;
}

/* Whether a sort may be done so: by whole keys, and buckets are short if keys spread evenly. */
bool
gs_keys_buckets_may(const gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_items *items)
{
	const u32 force = force_of(e);

	return items->key_bytes == 4 && !plan.floats && (items->value_width == 0 || items->value_width == 4) &&
		   plan.mask == gs_mask(32) && force != 1 && items->n >= (force != 0 ? GS_BUCKETS_FORCED : GS_BUCKETS_LEAST) &&
		   items->n + items->n / 8 <= (u64) gs_part_longest(e, words_of(e, items)) << BUCKET;
}

/* Memory for the lists of parts: no more than there are buckets, nor large ones than there are with so many items. */
size_t
gs_keys_buckets_temp(size_t key_bytes, size_t value_width, u64 n)
{
	if (key_bytes != 4 || value_width > 4 || n < GS_BUCKETS_FORCED)
		return 0;
	return (((size_t) 1 << BUCKET) + n / gs_part_least() + 1) * sizeof(gs_part);
}

/* ---------------------------------------------------------------- a sample */

struct sample_args
{
	gs_keys_plan plan;
	const u32 *keys;
	u32 *cells;	 /* a counter per bucket */
	u32 *noted;	 /* places of keys, by hashes of their leading bits; one more */
	u32 shift;	 /* low bits that make no difference to a key's bin */
	bool places; /* keys that are alike have to keep their order */
	u32 most_crowd, most_close;
};

/*
 * Every thread looks at one key, and counts it in its bucket.  Beside that keys are counted that would meet another one
 * in a bin: a different one, or any if they have to keep their order.  Keys are taken at random, such as lie close
 * together too: of an input in some order these are the ones that are alike.  The last block to come here decides.
 */
static __global__ void __launch_bounds__(THREADS) sample_kernel(const __grid_constant__ sample_args a)
{
	gs_keys_schedule *const schedule = a.plan.schedule;
	const u32 at = (u32) (gs_scramble(blockIdx.x * THREADS + threadIdx.x + 1) % a.plan.n);
	const u32 code = gs_key_code(a.keys[at], a.plan), prefix = code >> a.shift;
	/* lanes with the same do it once: input where all keys are alike must not take longer */
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

/* Looks at a sample, and decides; tables: memory for it. */
gs_status
gs_keys_buckets_sample(gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_items *items, void *tables)
{
	const u64 n = items->n, sample = GS_SAMPLE;
	const u64 crowd = gs_part_longest(e, words_of(e, items)) * sample / n * 7 / 8,
			  close = GS_PART_CROWD * sample * sample / (2 * n);
	sample_args a = {plan, (const u32 *) items->keys, (u32 *) tables, (u32 *) tables + (1 << BUCKET), 33 - gs_bits(n),
					 words_of(e, items) != GS_PART_CODES, ~0u, ~0u};

	static_assert(GS_BUCKETS_FORCED * sizeof(u32) >= (sizeof(u32) << BUCKET) + (sizeof(u32) << GS_SAMPLE_BITS),
				  "tables lie where keys go later");
	if (force_of(e) != 3)
	{
		/* two keys of the sample to a bucket, on the average: some have 12 by chance */
		a.most_crowd = crowd > 14 ? (u32) crowd : 14;
		/* pairs among all keys are more by (n / sample)^2; each makes two keys share their bin */
		a.most_close = (u32) close;
	}
	GS_TRY(gs_cuda_status(
		cudaMemsetAsync(tables, 0, (sizeof(u32) << BUCKET) + (sizeof(u32) << GS_SAMPLE_BITS), e->stream)));
	sample_kernel<<<GS_SAMPLE / THREADS, THREADS, 0, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* ---------------------------------------------------------------- the finish */

struct buckets_args
{
	gs_keys_plan plan;
	const u32 *keys; /* in order by their buckets */
	u32 stride;		 /* from key to key */
	u32 levels, room, longest;
	gs_parts parts;
};

/* A block finds where the buckets of one leading digit begin, and lists their parts. */
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

	/* the first key in a bucket from this one on */
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
	/* also if they do not follow each other: keys are not in order */
	if (__syncthreads_or(begin[d + 1] - begin[d] > a.longest))
	{
		if (d == 0)
			a.plan.schedule->again = 1;
		return;
	}
	gs_list_parts(begin, start, blockIdx.x << 24, BUCKET, a.levels, a.room, a.parts, &a.plan.schedule->longest);
}

/*
 * From items in order by their leading digits to the output, unless schedule->again is 1 or becomes so; temp:
 * gs_keys_buckets_temp() bytes.
 */
gs_status
gs_keys_buckets(gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_items *items, const void *in, void *temp)
{
	const gs_part_words words = words_of(e, items);
	const u32 room = gs_part_room(*e->tuning, words, false), longest = gs_part_longest(e, words),
			  each = GS_PART_BUCKETS;
	const bool pairs = items->value_width != 0;
	const gs_parts parts = {{(gs_part *) temp, (gs_part *) temp + (1 << BUCKET)}, plan.schedule->listed_parts};
	const u32 levels = words == GS_PART_NEAR ? 32 - BUCKET - gs_part_place_bits(*e->tuning, words, false) : 8;
	const buckets_args b = {plan, (const u32 *) in + pairs, pairs ? 2u : 1u, levels, room, longest, parts};
	const gs_parts_args a = {in,	items->out_keys,  pairs ? items->out_values : NULL, plan.flip, plan.floats,
							 parts, &plan.schedule->again};
	/* as many as there are buckets, and few large ones */
	const u32 small = 1 << BUCKET, large = longest > room ? (u32) e->properties.multiProcessorCount : 0;

	buckets_kernel<<<each, GS_PART_BUCKETS, 0, e->stream>>>(b);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	return gs_parts_sort(e, words, a, small, large);
}
