/*
 * sort_u32.c: gs_sort of whole 4-byte integers without values, by digits of 8 bits, least significant first.  Large
 * inputs are partitioned by their leading digit first, so that the other passes stay in the cache.
 */
#include "cpu.h"

#include <string.h>

#define DIGITS	   4
#define TOP_SHIFT  24
#define LANES	   4
#define SLICE_ROWS ((size_t) 1 << 20) /* rows between polls */

typedef struct u32_sort
{
	gs_work *work;
	uint32_t xor_mask; /* inverted bits of a key */
	uint32_t *temp, *out;
} u32_sort;

/* Counts the lowest digits in one read. */
static gs_status
count_digits(const u32_sort *s, const uint32_t *keys, size_t n, uint32_t digits, uint32_t (*counts)[256])
{
	memset(counts, 0, DIGITS * sizeof(*counts));
	for (size_t i = 0, end; i < n; i = end)
	{
		end = n - i < SLICE_ROWS ? n : i + SLICE_ROWS;
		for (size_t k = i; k < end; k++)
		{
			const uint32_t key = keys[k];

			counts[0][key & 255]++;
			counts[1][key >> 8 & 255]++;
			counts[2][key >> 16 & 255]++;
			if (digits == DIGITS)
				counts[3][key >> 24]++;
		}
		GS_TRY(gs_work_add(s->work, end - i));
	}
	return GS_OK;
}

/* Turns counts into positions, in the order that xor_mask gives, and scatters the keys. */
static gs_status
move_keys(const u32_sort *s, const uint32_t *from, uint32_t *to, size_t n, uint32_t shift, uint32_t *counts)
{
	uint32_t xor_mask = s->xor_mask >> shift & 255, sum = 0;

	for (uint32_t d = 0; d < 256; d++)
	{
		uint32_t count = counts[d ^ xor_mask];

		counts[d ^ xor_mask] = sum;
		sum += count;
	}
	for (size_t i = 0, end; i < n; i = end)
	{
		end = n - i < SLICE_ROWS ? n : i + SLICE_ROWS;
		for (size_t k = i; k < end; k++)
		{
			const uint32_t key = from[k]; /* for the compiler, the write below may alias this key */

			to[counts[key >> shift & 255]++] = key;
		}
		GS_TRY(gs_work_add(s->work, 2 * (end - i)));
	}
	return GS_OK;
}

/* Sorts keys by their lower digits.  The input may be anywhere but in out, where the result goes from begin on. */
static gs_status
sort_digits(const u32_sort *s, const uint32_t *from, size_t begin, size_t n, uint32_t digits)
{
	uint32_t counts[DIGITS][256], moves = 0, differ[DIGITS];
	uint32_t *out = s->out + begin, *temp = s->temp + begin, *to;

	GS_TRY(count_digits(s, from, n, digits, counts));
	for (uint32_t p = 0; p < digits; p++)
		if (counts[p][from[0] >> 8 * p & 255] < n)
			differ[moves++] = p;
	to = moves % 2 == 1 || from == temp ? out : temp;
	for (uint32_t m = 0; m < moves; m++)
	{
		GS_TRY(move_keys(s, from, to, n, 8 * differ[m], counts[differ[m]]));
		from = to;
		to = to == out ? temp : out;
	}
	return from == out ? GS_OK : gs_copy_array(s->work, from, out, n * sizeof(*out));
}

/* Partitions keys by their leading digit into temp.  *ends: the buckets', in order.  Moves nothing if there is one. */
static gs_status
partition(const u32_sort *s, const uint32_t *keys, size_t n, uint32_t *ends, bool *single)
{
	uint32_t counts[LANES][256] = {0}, lead = s->xor_mask >> TOP_SHIFT;

	for (size_t i = 0, end; i < n; i = end)
	{
		end = n - i < SLICE_ROWS ? n : i + SLICE_ROWS;
		for (size_t k = i; k < end; k++)
			counts[k % LANES][keys[k] >> TOP_SHIFT]++;
		GS_TRY(gs_work_add(s->work, end - i));
	}
	for (uint32_t d = 0; d < 256; d++)
		counts[0][d] += counts[1][d] + counts[2][d] + counts[3][d];
	*single = counts[0][keys[0] >> TOP_SHIFT] == n;
	if (!*single)
		GS_TRY(move_keys(s, keys, s->temp, n, TOP_SHIFT, counts[0]));
	for (uint32_t d = 0; d < 256; d++)
		ends[d] = counts[0][d ^ lead];
	return GS_OK;
}

/* Sorts keys in order after XOR with xor_mask, with temp for all, partitioning from partition_rows keys on. */
gs_status
gs_sort_u32(gs_work *work, size_t partition_rows, uint32_t xor_mask, const uint32_t *keys, uint32_t *out, size_t n,
			void *temp)
{
	u32_sort s = {.work = work, .xor_mask = xor_mask, .temp = temp, .out = out};
	uint32_t ends[256];
	bool single = true;

	if (n >= partition_rows)
		GS_TRY(partition(&s, keys, n, ends, &single));
	if (single)
		return sort_digits(&s, keys, 0, n, DIGITS);
	for (size_t d = 0, at = 0; d < 256; at = ends[d++])
		if (ends[d] > at)
			GS_TRY(sort_digits(&s, s.temp + at, at, ends[d] - at, DIGITS - 1));
	return GS_OK;
}
