/*
 * segments_buckets.cu: large segments of 4-byte keys: one pass by the leading digit, the rest of the order made in
 * shared memory (bucket_sort.cu).
 *
 * Keys of a segment that share their leading digit are a bucket; where buckets begin is known from the counts.
 * Whether that pays is known beforehand, but for single parts: from the longest bucket, and of many keys from a sample,
 * which says how many others one shares its bin with.
 */
#include "bucket_sort.cuh"
#include "segments.cuh"

#define BITS 8

/* What keys of a call become. */
static gs_part_words
words_of(const gs_segments_args &a)
{
	return a.value_bytes != 0 || a.floats ? GS_PART_FAR : GS_PART_CODES;
}

/* The lists as kernels are told of them. */
static gs_parts
parts_of(const gs_segments_work &w)
{
	return {{w.parts[0], w.parts[1]}, w.found->parts};
}

/* ---------------------------------------------------------------- parts */

/* Lists a segment's parts. */
static __global__ void __launch_bounds__(GS_PART_BUCKETS)
list_parts_kernel(const __grid_constant__ gs_segments_work w, gs_parts parts, u32 room)
{
	__shared__ u32 begin[GS_PART_BUCKETS + 1];
	const u32 shift = gs_leading_shift(w.found->varying, 1), d = threadIdx.x;
	const gs_segment s = w.list[blockIdx.x];

	if (shift == 0)
		return;
	begin[d] = w.counts[((u64) blockIdx.x * w.a.key_bytes + shift / BITS) * GS_PART_BUCKETS + d];
	if (d == 0)
		begin[GS_PART_BUCKETS] = (u32) s.n;
	__syncthreads();
	gs_list_parts(begin, (u32) s.start, 0, 32, BITS, room, parts, &w.found->longest);
}

/* Room for the lists; parts: of the first one, in front of the second's. */
static u64
list_room(u64 n, u32 large)
{
	static_assert(gs_part_least() >= 128 * 32, "see below");

	/*
	 * Two groups of 2^(k-1) buckets that are not one of 2^k have room / 2^(k-2) items in one bucket, or together more
	 * than the room: there are n 2^(k-2) / room such pairs at most, and 128 n / room with all k.
	 */
	return large ? n / (128 * 32) + 1 : n / 32 + n / GS_SEG_SMALL + 1;
}

/* Bytes of both lists: none for keys and values that buckets are not for. */
size_t
gs_segments_parts_bytes(size_t key_bytes, size_t value_width, u64 n)
{
	if (key_bytes != 4 || value_width > 4)
		return 0;
	return (list_room(n, 0) + list_room(n, 1)) * sizeof(gs_part);
}

/* Where the lists of parts lie in so much memory. */
void
gs_segments_parts_at(gs_segments_work *w, void *memory, u64 n)
{
	if (gs_segments_parts_bytes(w->a.key_bytes, w->a.value_bytes, n) == 0)
		return;
	w->parts[0] = (gs_part *) memory;
	w->parts[1] = w->parts[0] + list_room(n, 0);
}

/* Lists the parts of all segments, once their digits' begins are known. */
gs_status
gs_segments_parts(gs_cuda_engine *e, const gs_segments_work &w)
{
	list_parts_kernel<<<w.segments, GS_PART_BUCKETS, 0, e->stream>>>(w, parts_of(w),
																	 gs_part_room(*e->tuning, words_of(w.a), false));
	return gs_cuda_status(cudaGetLastError());
}

/* Whether blocks hold the parts, and are likely to put them in order at once; few are worth a try. */
bool
gs_segments_buckets_pay(const gs_cuda_engine *e, const gs_segments_work &w, const gs_segments_found *known)
{
	const u64 sample = GS_SEG_SAMPLE;

	/* pairs among all keys are more by (items / sample)^2; each makes two keys share their bin */
	return known->parts[0] + known->parts[1] != 0 && known->longest <= gs_part_longest(e, words_of(w.a)) &&
		   (known->items < GS_SEG_LEADING_ITEMS ||
			known->crowded * 2ull * known->items <= GS_PART_CROWD * sample * sample);
}

/* Puts the parts in order, from `in`, where a pass has left their items. */
gs_status
gs_segments_buckets(gs_cuda_engine *e, const gs_segments_work &w, const gs_segments_found *known, const void *in)
{
	const gs_parts_args a = {
		in, w.a.out_keys, w.a.value_bytes != 0 ? w.a.out_values : NULL, w.a.flip, w.a.floats != 0, parts_of(w), NULL};

	return gs_parts_sort(e, words_of(w.a), a, known->parts[0], known->parts[1]);
}
