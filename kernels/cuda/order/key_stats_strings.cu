/*
 * key_stats_strings.cu: statistics of strings: lengths, NULLs, common prefix, order, and characters behind the prefix.
 */
#include "order.cuh"

struct string_stats_args
{
	const u32 *offsets;
	const u64 *nulls;
	const u8 *heap;
	u64 n;
	u32 desc;
	gs_key_stats *stats;
	gs_dev_alphabet *alphabets;
	u32 *marks; /* (GS_POSITIONS + 1) * 256 characters, GS_POSITIONS + 1 ends */
};

/* Returns whether a row is NULL; nulls may be NULL. */
static __device__ __forceinline__ bool
is_null(const u64 *nulls, u64 r)
{
	return nulls != NULL && (nulls[r / 64] >> (r % 64) & 1);
}

/* Compares as memcmp does, prefixes first. */
static __device__ int
compare_strings(const u8 *s, u32 length_s, const u8 *t, u32 length_t)
{
	u32 shorter = min(length_s, length_t), same = gs_common(s, t, shorter);

	return same < shorter ? (int) s[same] - (int) t[same] : (length_s > length_t) - (length_s < length_t);
}

/* Finds the first row not NULL, inverted as statistics start at zero.  The common prefix is against its string. */
static __global__ void
first_string_kernel(const __grid_constant__ string_stats_args a)
{
	u64 best = 0;

	for (u64 r = blockIdx.x * (u64) blockDim.x + threadIdx.x; r < a.n; r += (u64) gridDim.x * blockDim.x)
		if (!is_null(a.nulls, r))
		{
			best = ~r;
			break; /* this thread's later rows are later */
		}
	for (int d = 16; d > 0; d /= 2)
	{
		u64 x = __shfl_xor_sync(GS_ALL_LANES, best, d);

		best = x > best ? x : best;
	}
	if (lane_id() == 0 && best != 0)
		atomicMax((unsigned long long *) &a.stats->first_string, (unsigned long long) best);
}

/* Merges the lanes' lengths and order into the column's statistics. */
static __device__ __forceinline__ void
add_lengths(gs_key_stats *stats, u32 longest, u32 not_shortest, u32 seen)
{
	longest = lanes_max(longest);
	not_shortest = lanes_max(not_shortest);
	if (lane_id() == 0)
	{
		atomicMax(&stats->longest, longest);
		atomicMax(&stats->not_shortest, not_shortest);
	}
	seen = lanes_or(seen);
	if (lane_id() == 0 && (seen & ~*(volatile u32 *) &stats->seen) != 0)
		atomicOr(&stats->seen, seen);
}

/* Computes lengths, NULLs, order, and the common prefix with the first string, stored complemented in stats->prefix. */
static __global__ void __launch_bounds__(256) string_stats_kernel(const __grid_constant__ string_stats_args a)
{
	__shared__ u32 agreed;
	u32 longest = 0, not_shortest = 0, nulls = 0, valid = 0, seen = 0;
	u64 first = ~a.stats->first_string;
	u32 first_at = 0, first_length = 0;

	if (a.stats->first_string != 0)
	{
		first_at = a.offsets[first];
		first_length = a.offsets[first + 1] - first_at;
	}
	if (threadIdx.x == 0)
		agreed = first_length;
	__syncthreads();
	for (u64 r = blockIdx.x * (u64) blockDim.x + threadIdx.x; r < a.n; r += (u64) gridDim.x * blockDim.x)
	{
		if (is_null(a.nulls, r))
		{
			nulls = 1;
			continue;
		}

		u32 at = a.offsets[r], length = a.offsets[r + 1] - at;
		u32 limit = *(volatile u32 *) &agreed;

		valid = 1;
		longest = length > longest ? length : longest;
		not_shortest = ~length > not_shortest ? ~length : not_shortest;
		limit = length < limit ? length : limit;
		u32 same = gs_common(a.heap + first_at, a.heap + at, limit);

		if (same < *(volatile u32 *) &agreed)
			atomicMin(&agreed, same);
		/* as in key_stats_kernel: until both have been seen */
		if (seen != (GS_SEEN_FALL | GS_SEEN_RISE) && r > 0)
		{
			u32 before = a.offsets[r - 1];
			int c = compare_strings(a.heap + at, length, a.heap + before, at - before);

			seen |= (a.desc ? c > 0 : c < 0) ? GS_SEEN_FALL : GS_SEEN_RISE;
		}
	}
	add_lengths(a.stats, longest, not_shortest, seen);
	if (__syncthreads_or(nulls) && threadIdx.x == 0)
		a.stats->nulls = 1;
	if (__syncthreads_or(valid) && threadIdx.x == 0)
	{
		a.stats->valid = 1;
		atomicMax(&a.stats->prefix, ~agreed);
	}
}

/* Marks the characters at each of the first positions behind the prefix, and all others, of strings of any length. */
static __global__ void __launch_bounds__(256) mark_kernel(const __grid_constant__ string_stats_args a)
{
	__shared__ u8 seen[(GS_POSITIONS + 1) * 256], ends[GS_POSITIONS + 1];
	const u32 prefix = ~a.stats->prefix;

	for (u32 i = threadIdx.x; i < sizeof(seen); i += blockDim.x)
		seen[i] = 0;
	if (threadIdx.x <= GS_POSITIONS)
		ends[threadIdx.x] = 0;
	__syncthreads();
	for (u64 r = blockIdx.x * (u64) blockDim.x + threadIdx.x; r < a.n; r += (u64) gridDim.x * blockDim.x)
	{
		u32 at = a.offsets[r], length = a.offsets[r + 1] - at;

		if (is_null(a.nulls, r))
			length = 0;
		const u8 *s = a.heap + at + prefix;
		u32 left = length > prefix ? length - prefix : 0;

		for (u32 p = 0; p < GS_POSITIONS && p < left; p++)
			seen[p * 256 + s[p]] = 1;
		ends[left < GS_POSITIONS ? left : GS_POSITIONS] = 1;
	}
	/* any character of the column may occur behind the first positions */
	{
		u64 begin = a.offsets[0], end = a.offsets[a.n];
		u64 thread = blockIdx.x * (u64) blockDim.x + threadIdx.x, threads = (u64) gridDim.x * blockDim.x;
		u64 from = (begin + ((16 - ((u64) (a.heap + begin) & 15)) & 15)), vectors;

		from = from < end ? from : end;
		vectors = (end - from) / 16;
		for (u64 i = thread; i < vectors; i += threads)
		{
			union
			{
				uint4 q;
				u8 c[16];
			} v;

			v.q = __ldcs((const uint4 *) (a.heap + from) + i);
#pragma unroll
			for (int c = 0; c < 16; c++)
				seen[GS_POSITIONS * 256 + v.c[c]] = 1;
		}
		for (u64 i = thread; i < from - begin; i += threads)
			seen[GS_POSITIONS * 256 + a.heap[begin + i]] = 1;
		for (u64 i = from + vectors * 16 + thread; i < end; i += threads)
			seen[GS_POSITIONS * 256 + a.heap[i]] = 1;
	}
	__syncthreads();
	for (u32 i = threadIdx.x; i < sizeof(seen); i += blockDim.x)
		if (seen[i] && a.marks[i] == 0)
			a.marks[i] = 1;
	if (threadIdx.x <= GS_POSITIONS && ends[threadIdx.x])
		a.marks[(GS_POSITIONS + 1) * 256 + threadIdx.x] = 1;
}

/* Numbers the marked characters of each position, one thread per position. */
static __global__ void
number_kernel(const __grid_constant__ string_stats_args a)
{
	u32 p = threadIdx.x;
	bool ended = false;
	u32 next;

	if (p > GS_POSITIONS)
		return;
	for (u32 q = 0; q <= p; q++)
		ended |= a.marks[(GS_POSITIONS + 1) * 256 + q] != 0;
	next = ended;
	for (u32 c = 0; c < 256; c++)
		a.alphabets[p].rank[c] = a.marks[p * 256 + c] ? (u16) next++ : 0;
	a.alphabets[p].bits = next > 1 ? 32 - __clz(next - 1) : 0;
}

/* Enqueues the statistics of a column of strings. */
gs_status
gs_order_key_stats_strings(gs_cuda_engine *e, const gs_column *column, u64 n, gs_key_stats *stats,
						   gs_dev_alphabet *alphabets, u32 *marks)
{
	string_stats_args a = {
		(const u32 *) column->values, column->nulls, column->heap, n, column->spec.desc, stats, alphabets, marks};
	u32 blocks = (u32) (e->properties.multiProcessorCount * 8);

	if ((n + 255) / 256 < blocks)
		blocks = (u32) ((n + 255) / 256);
	first_string_kernel<<<blocks, 256, 0, e->stream>>>(a);
	string_stats_kernel<<<blocks, 256, 0, e->stream>>>(a);
	mark_kernel<<<blocks, 256, 0, e->stream>>>(a);
	number_kernel<<<1, 32, 0, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}
