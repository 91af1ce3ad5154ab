/*
 * segments_buckets.cu: large segments of 4-byte keys: one pass by the leading digit, then sorts in shared memory
 * (bucket_sort.cu).  A bucket is the keys of a segment with equal leading digit.  Whether the method pays is estimated
 * from the longest bucket and, for many keys, from a sample of keys that share a bin.
 */
#include "bucket_sort.cuh"
#include "segments.cuh"

#define BITS 8

/* Returns the kind of words that a call's keys are converted to. */
static gs_part_words
words_of(const gs_segments_args &a)
{
	return a.value_bytes != 0 || a.floats ? GS_PART_FAR : GS_PART_CODES;
}

/* Returns the lists of parts, for kernels. */
static gs_parts
parts_of(const gs_segments_work &w)
{
	return {{w.parts[0], w.parts[1]}, w.found->parts};
}

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

/* Returns the length of a list; the first one precedes the second. */
static u64
list_room(u64 n, u32 large)
{
	static_assert(gs_part_least() >= 128 * 32, "see below");

	/*
	 * Two groups of 2^(k-1) buckets that do not combine to one of 2^k have room / 2^(k-2) items in one bucket, or
	 * together more than the room.  There are at most n 2^(k-2) / room such pairs, and 128 n / room over all k.
	 */
	return large ? n / (128 * 32) + 1 : n / 32 + n / GS_SEG_SMALL + 1;
}

/* Returns the bytes of both lists; 0 for keys and values that the method does not apply to. */
size_t
gs_segments_parts_bytes(size_t key_bytes, size_t value_width, u64 n)
{
	if (key_bytes != 4 || value_width > 4)
		return 0;
	return (list_room(n, 0) + list_room(n, 1)) * sizeof(gs_part);
}

/* Lays out the lists of parts in memory. */
void
gs_segments_parts_at(gs_segments_work *w, void *memory, u64 n)
{
	if (gs_segments_parts_bytes(w->a.key_bytes, w->a.value_bytes, n) == 0)
		return;
	w->parts[0] = (gs_part *) memory;
	w->parts[1] = w->parts[0] + list_room(n, 0);
}

/* Lists the parts of all segments, once the starts of their digits are known. */
gs_status
gs_segments_parts(gs_cuda_engine *e, const gs_segments_work &w)
{
	list_parts_kernel<<<w.segments, GS_PART_BUCKETS, 0, e->stream>>>(w, parts_of(w),
																	 gs_part_room(*e->tuning, words_of(w.a), false));
	return gs_cuda_status(cudaGetLastError());
}

/* Returns whether blocks hold the parts and will probably sort them, or few parts make a failed attempt cheap. */
bool
gs_segments_buckets_pay(const gs_cuda_engine *e, const gs_segments_work &w, const gs_segments_found *known)
{
	const u64 sample = GS_SEG_SAMPLE;

	/* pairs among all keys are more by (items / sample)^2; each makes two keys share their bin */
	return known->parts[0] + known->parts[1] != 0 && known->longest <= gs_part_longest(e, words_of(w.a)) &&
		   (known->items < GS_SEG_LEADING_ITEMS ||
			known->crowded * 2ull * known->items <= GS_PART_CROWD * sample * sample);
}

/* Sorts the parts from `in`, where a pass has left their items. */
gs_status
gs_segments_buckets(gs_cuda_engine *e, const gs_segments_work &w, const gs_segments_found *known, const void *in)
{
	const gs_parts_args a = {
		in, w.a.out_keys, w.a.value_bytes != 0 ? w.a.out_values : NULL, w.a.flip, w.a.floats != 0, parts_of(w), NULL};

	return gs_parts_sort(e, words_of(w.a), a, known->parts[0], known->parts[1]);
}
