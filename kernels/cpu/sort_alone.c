/*
 * sort_alone.c: gs_sort of whole keys without values on the CPU.  Equal integers are identical, and so are equal floats
 * without -0 and with one NaN.  Such keys can be rebuilt from order-preserving codes.  Few distinct codes are counted.
 * Otherwise codes are sorted relative to the least one, as 32-bit numbers if the range fits, as words if not.
 */
#include "cpu.h"
#include "../scan.h"

#include <string.h>

#define U32_ROWS	  8192		/* more rows are sorted as 32-bit numbers; fewer need only two digits of words */
#define COUNTED_RANGE (1 << 16) /* largest range that is counted */
#define COUNTED_ROWS  8			/* least rows per code that are counted */
#define LANES		  4			/* counters per number, so that equal neighbours do not stall each other */

typedef struct alone_sort
{
	gs_cpu_engine *cpu;
	const gs_sort_request *r;
	gs_key_bits bits;
	uint64_t least, range; /* least code, and range of all codes */
} alone_sort;

/* Returns the mask that makes a double order-preserving: all bits if negative, otherwise the sign. */
static inline uint64_t
float_flip64(uint64_t x)
{
	return (uint64_t) ((int64_t) x >> 63) | (uint64_t) 1 << 63;
}

/* Returns the mask that makes a float order-preserving. */
static inline uint32_t
float_flip32(uint32_t x)
{
	return (uint32_t) ((int32_t) x >> 31) | (uint32_t) 1 << 31;
}

/* Computes order-preserving codes from which the keys can be rebuilt. */
static void
codes_of(const alone_sort *s, uint64_t row, size_t n, uint64_t *codes)
{
	const char *keys = (const char *) s->r->keys + row * s->r->key_bytes;
	const uint64_t *wide = (const uint64_t *) keys, xor_mask = s->bits.xor_mask;
	const uint32_t *narrow = (const uint32_t *) keys;
	const uint32_t sign = (uint32_t) 1 << 31;

	switch (s->bits.type)
	{
		case GS_F64:
			for (size_t i = 0; i < n; i++)
				codes[i] = wide[i] ^ float_flip64(wide[i]) ^ xor_mask;
			break;
		case GS_F32:
			for (size_t i = 0; i < n; i++)
				codes[i] = narrow[i] ^ float_flip32(narrow[i]) ^ xor_mask;
			break;
		case GS_I64:
			for (size_t i = 0; i < n; i++)
				codes[i] = wide[i] ^ (uint64_t) 1 << 63 ^ xor_mask;
			break;
		case GS_U64:
			for (size_t i = 0; i < n; i++)
				codes[i] = wide[i] ^ xor_mask;
			break;
		case GS_I32:
			for (size_t i = 0; i < n; i++)
				codes[i] = narrow[i] ^ sign ^ xor_mask;
			break;
		default:
			for (size_t i = 0; i < n; i++)
				codes[i] = narrow[i] ^ xor_mask;
	}
}

/* Rebuilds a key from its code. */
static inline uint64_t
key_of(const alone_sort *s, uint64_t code)
{
	code ^= s->bits.xor_mask;
	switch (s->bits.type)
	{
		case GS_F64:
			return code ^ ((uint64_t) ((int64_t) ~code >> 63) | (uint64_t) 1 << 63);
		case GS_F32:
			return (uint32_t) code ^ ((uint32_t) ((int32_t) ~(uint32_t) code >> 31) | (uint32_t) 1 << 31);
		case GS_I64:
			return code ^ (uint64_t) 1 << 63;
		case GS_I32:
			return code ^ (uint64_t) 1 << 31;
		default:
			return code;
	}
}

/* Returns true if some floats may equal others with different bits: a -0, or a NaN other than the canonical one. */
static bool
some_alike(const alone_sort *s, uint64_t row, size_t n)
{
	const uint64_t *wide = (const uint64_t *) s->r->keys + row, quiet = 0x7ff8000000000000ull;
	const uint32_t *narrow = (const uint32_t *) s->r->keys + row, small_quiet = 0x7fc00000u;
	bool alike = false;

	if (s->bits.type == GS_F64)
		for (size_t i = 0; i < n; i++)
			alike |= wide[i] == (uint64_t) 1 << 63 || (wide[i] << 1 > 0xffe0000000000000ull && wide[i] != quiet);
	else if (s->bits.type == GS_F32)
		for (size_t i = 0; i < n; i++)
			alike |= narrow[i] == (uint32_t) 1 << 31 || (narrow[i] << 1 > 0xff000000u && narrow[i] != small_quiet);
	return alike;
}

/* Finds the range of all codes.  Sets *good to false if keys cannot be rebuilt from them. */
static gs_status
find_range(alone_sort *s, bool *good)
{
	uint64_t n = s->r->n, codes[GS_BLOCK_ROWS], least = ~(uint64_t) 0, most = 0;

	for (uint64_t row = 0; row < n; row += GS_BLOCK_ROWS)
	{
		size_t block = n - row < GS_BLOCK_ROWS ? n - row : GS_BLOCK_ROWS;

		*good = !some_alike(s, row, block);
		if (!*good)
			return GS_OK;
		codes_of(s, row, block, codes);
		for (size_t i = 0; i < block; i++)
		{
			least = codes[i] < least ? codes[i] : least;
			most = codes[i] > most ? codes[i] : most;
		}
		GS_TRY(gs_work_add(&s->cpu->work, block));
	}
	s->least = least;
	s->range = most - least;
	return GS_OK;
}

/* Sorts by counting.  counts has room for LANES counters per code. */
static gs_status
sort_by_counting(const alone_sort *s, uint32_t *counts)
{
	uint64_t n = s->r->n, range = s->range + 1, codes[GS_BLOCK_ROWS], at = 0;

	memset(counts, 0, LANES * range * sizeof(*counts));
	for (uint64_t row = 0; row < n; row += GS_BLOCK_ROWS)
	{
		size_t block = n - row < GS_BLOCK_ROWS ? n - row : GS_BLOCK_ROWS;

		codes_of(s, row, block, codes);
		for (size_t i = 0; i < block; i++)
			counts[i % LANES * range + (codes[i] - s->least)]++;
		GS_TRY(gs_work_add(&s->cpu->work, 2 * block));
	}
	for (uint64_t code = 0; code < range; code++)
	{
		uint64_t key = key_of(s, s->least + code), end = at;

		for (uint32_t lane = 0; lane < LANES; lane++)
			end += counts[lane * range + code];
		GS_TRY(gs_work_add(&s->cpu->work, 1 + (end - at) / 4));
		if (s->r->key_bytes == 8)
			for (; at < end; at++)
				((uint64_t *) s->r->out_keys)[at] = key;
		else
			for (; at < end; at++)
				((uint32_t *) s->r->out_keys)[at] = (uint32_t) key;
	}
	return GS_OK;
}

/* Writes keys of sorted codes relative to the least one. */
#define WRITE_KEYS(T, numbers)                                                                                         \
	for (uint64_t row = 0; row < n; row += GS_BLOCK_ROWS)                                                              \
	{                                                                                                                  \
		uint64_t end = n - row < GS_BLOCK_ROWS ? n : row + GS_BLOCK_ROWS;                                              \
                                                                                                                       \
		for (uint64_t i = row; i < end; i++)                                                                           \
			((T *) s->r->out_keys)[i] = (T) key_of(s, s->least + (numbers)[i]);                                        \
		GS_TRY(gs_work_add(&s->cpu->work, end - row));                                                                 \
	}

/* Sorts 32-bit codes in temp: 4-byte integers directly, others relative to the least code. */
static gs_status
sort_as_u32(const alone_sort *s, uint32_t *temp)
{
	uint64_t n = s->r->n, codes[GS_BLOCK_ROWS];
	uint32_t *numbers = temp, *sorted = temp + n;

	if (s->r->key_bytes == 4 && s->bits.type != GS_F32)
		return gs_sort_u32(&s->cpu->work, s->cpu->tuning.combine_rows, (uint32_t) key_of(s, 0), s->r->keys,
						   s->r->out_keys, n, temp);
	for (uint64_t row = 0; row < n; row += GS_BLOCK_ROWS)
	{
		size_t block = n - row < GS_BLOCK_ROWS ? n - row : GS_BLOCK_ROWS;

		codes_of(s, row, block, codes);
		for (size_t i = 0; i < block; i++)
			numbers[row + i] = (uint32_t) (codes[i] - s->least);
		GS_TRY(gs_work_add(&s->cpu->work, block));
	}
	GS_TRY(gs_sort_u32(&s->cpu->work, s->cpu->tuning.combine_rows, 0, numbers, sorted, n, temp + 2 * n));
	if (s->r->key_bytes == 8)
		WRITE_KEYS(uint64_t, sorted)
	else
		WRITE_KEYS(uint32_t, sorted)
	return GS_OK;
}

/* Sorts words by the bits in which they can differ.  temp: two arrays and the sorter's scratch. */
static gs_status
sort_as_words(const alone_sort *s, uint64_t *temp)
{
	uint64_t n = s->r->n, room = (n + 7) / 8 * 8, *words = temp, *other = temp + room;
	gs_sorter sorter = {.work = &s->cpu->work, .tuning = &s->cpu->tuning};

	if (gs_sorter_bytes(n, &s->cpu->tuning) > 0)
		sorter.scratch = temp + 2 * room;
	for (uint64_t row = 0; row < n; row += GS_BLOCK_ROWS)
	{
		size_t block = n - row < GS_BLOCK_ROWS ? n - row : GS_BLOCK_ROWS;

		codes_of(s, row, block, words + row);
		for (size_t i = row; i < row + block; i++)
			words[i] -= s->least;
		GS_TRY(gs_work_add(&s->cpu->work, block));
	}
	GS_TRY(gs_sort_words(&sorter, &words, &other, n, 0, gs_bits(s->range), true));
	if (s->r->key_bytes == 8)
		WRITE_KEYS(uint64_t, words)
	else
		WRITE_KEYS(uint32_t, words)
	return GS_OK;
}

/* Sorts whole keys by their codes; *done: false, with nothing done, if these lose bits.  temp: see gs_cpu_sort_keys. */
gs_status
gs_sort_alone(gs_cpu_engine *cpu, const gs_key_bits *bits, const gs_sort_request *r, void *temp, bool *done)
{
	alone_sort s = {.cpu = cpu, .r = r, .bits = *bits};

	GS_TRY(find_range(&s, done));
	if (!*done)
		return GS_OK;
	if (s.range < COUNTED_RANGE && s.range < r->n / COUNTED_ROWS)
		return sort_by_counting(&s, temp);
	if (s.range <= UINT32_MAX && r->n > U32_ROWS)
		return sort_as_u32(&s, temp);
	return sort_as_words(&s, temp);
}
