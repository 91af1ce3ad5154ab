/*
 * segments_leading.cu: large segments in order by the leading digits of their keys alone.
 *
 * The leading 24 bits tell nearly all of 2^20 random keys apart.  A sample says how many keys share their leading
 * digits with another one of their segment without being equal; where it is at most every fourth, these digits do.
 * After their passes, which are stable (or their keys cannot be told apart), only groups of the same leading digits can
 * be out of order.  One read finds the places where the order falls, and has each such group sorted by insertion by the
 * block in whose part it begins.  No other fall can be there: one in a group of more than GROUP keys, or from one group
 * to the next, and everything is sorted again by all digits.
 *
 * A block keeps its part of a tile in shared memory, with so much on both sides that no group reaches beyond.  Those
 * sides may be put in order by their own blocks meanwhile; keys move within their groups only, so leading digits stay
 * where they are, and nothing else is asked of keys of others' groups.
 *
 * Bytes per item: a key read; little besides.
 */
#include "segments.cuh"

#define GROUP		   64
#define PART		   4096
#define THREADS		   256
#define SLOT_BITS	   18	  /* of a place in the tables that they are noted in */
#define TABLES		   ((GS_SEG_LEADING_CHOICES + 1) * sizeof(u64) << SLOT_BITS)

static_assert(TABLES <= GS_SEG_LEADING_ITEMS * 4, "the tables lie where the keys go later");

/*
 * How many low bits of a key make no difference to its bin, if its bucket is a part of its own: the bucket's keys are
 * about as many as the bins.
 */
static __device__ u32
bin_shift(const gs_segments_work &w, const gs_radix_tile &tile, u32 code, u32 shift)
{
	const u32 *const begins = w.counts + ((u64) tile.segment * w.a.key_bytes + shift / 8) * 256;
	const u32 d = code >> shift & 255, begin = begins[d], end = d < 255 ? begins[d + 1] : (u32) w.list[tile.segment].n;
	const u32 bits = gs_bits(end - begin) - 1;

	return shift > bits ? shift - bits : 0;
}

/*
 * Every thread notes one key in a table per choice of leading digits, and counts if it finds there another one of its
 * segment with the
 * same.  Beside that, in a table of places and codes, keys are counted that would meet in a bin of a bucket: different
 * ones, or any that have to keep their order.
 */
template <class K>
static __global__ void __launch_bounds__(THREADS)
sample_kernel(const __grid_constant__ gs_segments_work w, unsigned long long *tables)
{
	/* at random, keys that lie close together too: of an input in some order these are the ones that are alike */
	const u64 random = gs_scramble(blockIdx.x * THREADS + threadIdx.x + 1);
	const gs_radix_tile tile = w.table[(u32) random % w.tiles];
	const u32 place = (u32) (random >> 32) % tile.valid;
	const u64 code = gs_key_code(((const K *) w.a.keys)[tile.start + place], w.a);
	const u64 tag = gs_scramble(tile.segment + 1); /* keys of other segments look like others */
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

/* Looks at a sample, once the bits in which keys differ are known. */
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

/* The bit from which on keys are to be sorted; 0: by all digits. */
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

/* ---------------------------------------------------------------- groups that are out of order */

/* Sorts a group, of keys in shared memory and values in device memory; keys: the group's, n of them. */
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

/* Places of a segment: what is in shared memory, and the block's own part of it, [begin, end). */
struct ties_part
{
	u32 from, upto, begin, end;
};

/*
 * The order falls at place i: returns the length of its group, and where it starts, if it is the first fall of a group
 * of the block's own; else 0.  again: the group is too long.
 */
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
	__shared__ u32 list[PART / 2 + GROUP]; /* groups: place in `keys`, and above 16 bits their length */
	__shared__ u32 listed;
	const gs_radix_tile tile = w.table[blockIdx.x / parts];
	const u32 part = blockIdx.x % parts * PART;

	if (part >= tile.valid)
		return;

	/* places are counted from where the segment begins: its own part, and what is in shared memory */
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

/* Puts in order what the digits from bit `shift` on left. */
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
