/*
 * segments_leading.cu: sorts large segments by the leading digits of their keys alone.
 *
 * The leading 24 bits separate nearly all of 2^20 random keys.  If a sample estimates that at most every fourth key
 * ties in them with another one of its segment without being equal, those digits suffice.  After their passes, which
 * are stable (or whose equal keys are indistinguishable), only groups with equal leading digits can be out of order.
 * One read finds the positions where the order descends, and the block in whose part such a group begins sorts it by
 * insertion. Any other descent, in a group of more than GROUP keys or between groups, makes everything be sorted again.
 *
 * A block keeps its part of a tile in shared memory, with a margin on both sides that contains every group.  Other
 * blocks may sort groups in the margins meanwhile.  Keys move only within their groups, so leading digits stay in
 * place, and nothing else is read of keys in other blocks' groups.  Bytes per item: a key, read, and little more.
 */
#include "segments.cuh"

#define GROUP		   64
#define PART		   4096
#define THREADS		   256
#define SLOT_BITS	   18	  /* of a slot in the tables of the sample */
#define TABLES		   ((GS_SEG_LEADING_CHOICES + 1) * sizeof(u64) << SLOT_BITS)

static_assert(TABLES <= GS_SEG_LEADING_ITEMS * 4, "the tables lie where the keys go later");

/* Returns a key's low bits below its bin, if its bucket is a part of its own, with about as many keys as bins. */
static __device__ u32
bin_shift(const gs_segments_work &w, const gs_radix_tile &tile, u32 code, u32 shift)
{
	const u32 *const begins = w.counts + ((u64) tile.segment * w.a.key_bytes + shift / 8) * 256;
	const u32 d = code >> shift & 255, begin = begins[d], end = d < 255 ? begins[d + 1] : (u32) w.list[tile.segment].n;
	const u32 bits = gs_bits(end - begin) - 1;

	return shift > bits ? shift - bits : 0;
}

/*
 * Enters one key per thread in a table for each choice of leading digits, and counts those that meet a key of their
 * segment with equal ones.  A table of places and codes counts keys that would meet in a bin of a bucket: different
 * ones, or any that must keep their order.
 */
template <class K>
static __global__ void __launch_bounds__(THREADS)
sample_kernel(const __grid_constant__ gs_segments_work w, unsigned long long *tables)
{
	/* random positions, in part close together: in ordered input neighbours are the similar keys */
	const u64 random = gs_scramble(blockIdx.x * THREADS + threadIdx.x + 1);
	const gs_radix_tile tile = w.table[(u32) random % w.tiles];
	const u32 place = (u32) (random >> 32) % tile.valid;
	const u64 code = gs_key_code(((const K *) w.a.keys)[tile.start + place], w.a);
	const u64 tag = gs_scramble(tile.segment + 1); /* makes keys of other segments look different */
	const u64 varying = w.found->varying;

	for (u32 c = 0; c < GS_SEG_LEADING_CHOICES; c++)
	{
		const u32 shift = gs_leading_shift(varying, GS_SEG_LEADING_LEAST + c);
		const u64 prefix = code >> shift, slot = gs_scramble(prefix + tag) >> (64 - SLOT_BITS);

		if (shift == 0)
			continue;

		const u64 other = atomicExch(tables + ((u64) c << SLOT_BITS) + slot, (unsigned long long) (code ^ tag));

		if (other != 0 && (other ^ tag) != code && (other ^ tag) >> shift == prefix)
			atomicAdd(&w.found->tied[c], 1);
	}
	if constexpr (sizeof(K) == 4)
	{
		const u32 digit = gs_leading_shift(varying, 1), begin = tile.start - tile.index * w.tile;

		if (digit != 0)
		{
			const u32 shift = bin_shift(w, tile, (u32) code, digit), at = tile.start + place;
			const u64 slot = gs_scramble((code >> shift) + tag) >> (64 - SLOT_BITS);
			const u64 other = atomicExch(tables + ((u64) GS_SEG_LEADING_CHOICES << SLOT_BITS) + slot,
										 (unsigned long long) at << 32 | code);
			const u32 other_at = (u32) (other >> 32), other_code = (u32) other;

			/* of this segment, and not the same key again */
			if (other != 0 && other_at - begin < w.list[tile.segment].n && other_at != at &&
				other_code >> shift == code >> shift && (w.a.floats || w.a.value_bytes != 0 || other_code != code))
				atomicAdd(&w.found->crowded, 1);
		}
	}
}

/* Takes the sample, once the varying bits are known. */
gs_status
gs_segments_sample(gs_cuda_engine *e, const gs_segments_work &w, void *tables)
{
	GS_TRY(gs_cuda_status(cudaMemsetAsync(tables, 0, TABLES, e->stream)));
	if (w.a.key_bytes == 4)
		sample_kernel<u32><<<GS_SEG_SAMPLE / THREADS, THREADS, 0, e->stream>>>(w, (unsigned long long *) tables);
	else
		sample_kernel<u64><<<GS_SEG_SAMPLE / THREADS, THREADS, 0, e->stream>>>(w, (unsigned long long *) tables);
	return gs_cuda_status(cudaGetLastError());
}

/* Returns the bit from which on keys are to be sorted; 0: by all digits. */
u32
gs_segments_leading(const gs_segments_found *known)
{
	const u64 sample = GS_SEG_SAMPLE;

	if (known->items < GS_SEG_LEADING_ITEMS)
		return 0;
	for (u32 c = 0; c < GS_SEG_LEADING_CHOICES; c++)
	{
		const u32 shift = gs_leading_shift(known->varying, GS_SEG_LEADING_LEAST + c);

		/* pairs among all keys are more by (items / sample)^2; each makes two keys share their digits */
		if (shift != 0 && known->tied[c] * 8ull * known->items <= sample * sample)
			return shift;
	}
	return 0;
}

/* Sorts a group of n keys in shared memory and its values in device memory. */
template <class K, class V>
static __device__ void
sort_group(const gs_segments_args &a, K *keys, K *out_keys, V *values, u32 n)
{
	for (u32 i = 1; i < n; i++)
	{
		const K key = keys[i], code = gs_key_code(key, a);
		u32 to = i;

		while (to > 0 && gs_key_code(keys[to - 1], a) > code)
			to--;
		if (to == i)
			continue;

		const V value = values != NULL ? values[i] : (V) 0;

		for (u32 j = i; j > to; j--)
		{
			keys[j] = keys[j - 1];
			if (values != NULL)
				values[j] = values[j - 1];
		}
		keys[to] = key;
		if (values != NULL)
			values[to] = value;
	}
	for (u32 i = 0; i < n; i++)
		out_keys[i] = keys[i];
}

/* Positions in a segment: the range in shared memory, and the block's own part [begin, end). */
struct ties_part
{
	u32 from, upto, begin, end;
};

/* At a descent, the first of a group that the block owns, returns its length and start, else 0.  again: too long. */
template <class CODE>
static __device__ __forceinline__ u32
group_of(const ties_part &p, u32 i, u32 shift, CODE code, u32 &start, u32 *again)
{
	const auto prefix = code(i) >> shift;
	bool first = true;

	start = i;
	while (start > p.from && i - start < GROUP && code(start - 1) >> shift == prefix)
		start--;
	if (start == i || i - start >= GROUP)
	{
		*again = 1;
		return 0;
	}
	for (u32 j = start + 1; j < i; j++)
		first &= code(j - 1) <= code(j);
	if (!first || start < p.begin || start >= p.end)
		return 0;

	u32 stop = i + 1;

	while (stop < p.upto && stop - start <= GROUP && code(stop) >> shift == prefix)
		stop++;
	if (stop - start <= GROUP)
		return stop - start;
	*again = 1;
	return 0;
}

/* Sorts the groups of a part of a tile that leading digits have left out of order. */
template <class K, class V>
static __global__ void __launch_bounds__(THREADS)
ties_kernel(const __grid_constant__ gs_segments_work w, u32 shift, u32 parts)
{
	__shared__ K keys[PART + 2 * GROUP];
	__shared__ u32 list[PART / 2 + GROUP]; /* groups: place in `keys`, and their length in the upper 16 bits */
	__shared__ u32 listed;
	const gs_radix_tile tile = w.table[blockIdx.x / parts];
	const u32 part = blockIdx.x % parts * PART;

	if (part >= tile.valid)
		return;

	/* positions relative to the segment: the block's own part, and the range in shared memory */
	const u32 segment = tile.start - tile.index * w.tile, n = (u32) w.list[tile.segment].n;
	const u32 begin = tile.index * w.tile + part, end = begin + min(PART, tile.valid - part);
	const u32 from = begin > GROUP ? begin - GROUP : 0, upto = min(end + GROUP, n);
	const ties_part places = {from, upto, begin, end};
	K *const out_keys = (K *) w.a.out_keys + segment;
	V *const values = w.a.value_bytes != 0 ? (V *) w.a.out_values + segment : NULL;
	auto code = [&](u32 i) -> K { return gs_key_code(keys[i - from], w.a); };

	if (threadIdx.x == 0)
		listed = 0;
	for (u32 i = from + threadIdx.x; i < upto; i += THREADS)
		keys[i - from] = out_keys[i];
	__syncthreads();

	for (u32 i = max(begin, 1u) + threadIdx.x; i < upto; i += THREADS)
	{
		u32 start, length;

		if (code(i - 1) <= code(i))
			continue;
		length = group_of(places, i, shift, code, start, &w.found->again);
		if (length != 0)
			list[atomicAdd(&listed, 1)] = length << 16 | (start - from);
	}
	__syncthreads();
	for (u32 j = threadIdx.x; j < listed; j += THREADS)
	{
		const u32 at = list[j] & 0xffff, start = from + at;

		sort_group(w.a, keys + at, out_keys + start, values != NULL ? values + start : NULL, list[j] >> 16);
	}
}

/* Sorts what the digits from bit `shift` on left. */
gs_status
gs_segments_ties(gs_cuda_engine *e, const gs_segments_work &w, u32 shift)
{
	const u32 parts = (w.tile + PART - 1) / PART;
	void (*const kernel)(gs_segments_work, u32, u32) =
		w.a.key_bytes == 4 ? (w.a.value_bytes == 8 ? ties_kernel<u32, u64> : ties_kernel<u32, u32>)
						   : (w.a.value_bytes == 8 ? ties_kernel<u64, u64> : ties_kernel<u64, u32>);

	kernel<<<w.tiles * parts, THREADS, 0, e->stream>>>(w, shift, parts);
	return gs_cuda_status(cudaGetLastError());
}
