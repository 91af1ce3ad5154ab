/*
 * sort_keys.c: gs_sort on the CPU: integers with values of 4 bytes as words, else sort_alone.c or sort_pairs.c.
 */
#include "cpu.h"
#include "../scan.h"

#include <string.h>

#define FIRST_LOOK 16 /* keys that usually suffice to see that they are not in order */

/* Returns the temporary memory of gs_sort, whichever way it takes. */
size_t
gs_cpu_sort_keys_temp(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n)
{
	const gs_cpu_tuning *tuning = &((const gs_cpu_engine *) engine)->tuning;
	size_t width = gs_type_width(key), pairs = gs_sort_pairs_temp(tuning, width, value_width, n);
	size_t words = 2 * gs_words_bytes(n) + gs_sorter_bytes(n, tuning);

	return words > pairs ? words : pairs;
}

/* Computes the codes of keys: the sort bits as order-preserving numbers. */
void
gs_key_codes(const gs_cpu_engine *cpu, const gs_key_bits *bits, const void *keys, size_t n, uint64_t *codes)
{
	uint32_t small[GS_BLOCK_ROWS];
	bool narrow = gs_type_width(bits->type) == 4;

	cpu->loops->encode(bits->type, narrow ? (void *) small : (void *) codes, NULL, keys, n);
	for (size_t i = 0; i < n; i++)
		codes[i] = ((narrow ? small[i] : codes[i]) ^ bits->xor_mask) >> bits->begin & bits->mask;
}

/* Sorts 4-byte integers with 4-byte values, each pair as one word. */
static gs_status
sort_words_of_pairs(gs_cpu_engine *cpu, const gs_key_bits *bits, const gs_sort_request *r, void *temp)
{
	uint64_t n = r->n, *words = temp, *other = (uint64_t *) ((char *) temp + gs_words_bytes(n));
	uint32_t xor_mask = (uint32_t) bits->xor_mask ^ (gs_type_is_signed(bits->type) ? (uint32_t) 1 << 31 : 0);
	gs_sorter sorter = {.work = &cpu->work, .tuning = &cpu->tuning, .values = true};

	if (gs_sorter_bytes(n, &cpu->tuning) > 0)
		sorter.scratch = (char *) temp + 2 * gs_words_bytes(n);
	for (uint64_t row = 0; row < n; row += GS_BLOCK_ROWS)
	{
		size_t block = n - row < GS_BLOCK_ROWS ? n - row : GS_BLOCK_ROWS;

		gs_key_codes(cpu, bits, (const uint32_t *) r->keys + row, block, words + row);
		for (size_t i = row; i < row + block; i++)
			words[i] = words[i] << 32 | ((const uint32_t *) r->values)[i];
		GS_TRY(gs_work_add(&cpu->work, 2 * block));
	}
	GS_TRY(gs_sort_words(&sorter, &words, &other, n, 32, 64, true));
	for (uint64_t i = 0; i < n; i++)
	{
		((uint32_t *) r->out_keys)[i] = (uint32_t) (words[i] >> 32) ^ xor_mask;
		((uint32_t *) r->out_values)[i] = (uint32_t) words[i];
	}
	return gs_work_add(&cpu->work, n);
}

/* Tests whether keys are in order, stopping at the first that is not. */
static gs_status
look_at_order(gs_cpu_engine *cpu, const gs_key_bits *bits, const gs_sort_request *r, bool *rising)
{
	uint64_t codes[GS_BLOCK_ROWS], last = 0;

	*rising = true;
	for (uint64_t row = 0, block; row < r->n && *rising; row += block)
	{
		uint64_t falls, most = row == 0 ? FIRST_LOOK : GS_BLOCK_ROWS;

		block = r->n - row < most ? r->n - row : most;
		gs_key_codes(cpu, bits, (const char *) r->keys + row * r->key_bytes, block, codes);
		falls = codes[0] < last;
		for (size_t i = 1; i < block; i++)
			falls |= codes[i] < codes[i - 1];
		last = codes[block - 1];
		*rising = !falls;
		GS_TRY(gs_work_add(&cpu->work, block));
	}
	return GS_OK;
}

/* Copies an array. */
gs_status
gs_copy_array(gs_work *work, const void *from, void *to, size_t bytes)
{
	const size_t slice = (size_t) 1 << 20;

	for (size_t at = 0; at < bytes; at += slice)
	{
		size_t n = bytes - at < slice ? bytes - at : slice;

		memcpy((char *) to + at, (const char *) from + at, n);
		GS_TRY(gs_work_add(work, n / 8));
	}
	return GS_OK;
}

/* Implements gs_sort: chooses the method.  Keys that are in order are copied. */
gs_status
gs_cpu_sort_keys(gs_engine *engine, const gs_sort_request *r, void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	uint32_t all = 8 * (uint32_t) r->key_bytes, nbits = r->end_bit - r->begin_bit;
	gs_key_bits bits = {.type = r->key, .mask = gs_mask(nbits), .begin = r->begin_bit};
	bool rising, done = false;

	if (r->desc)
		bits.xor_mask = gs_mask(all);
	if (r->n > GS_MAX_ROWS)
		return GS_TOO_BIG;
	GS_TRY(look_at_order(cpu, &bits, r, &rising));
	if (rising)
	{
		GS_TRY(gs_copy_array(&cpu->work, r->keys, r->out_keys, r->n * r->key_bytes));
		return gs_copy_array(&cpu->work, r->values, r->out_values, r->n * r->value_width);
	}
	if (nbits == all && r->value_width == 0)
		GS_TRY(gs_sort_alone(cpu, &bits, r, temp, &done));
	if (done)
		return GS_OK;
	if (nbits == all && all == 32 && r->value_width == 4 && !gs_type_is_float(r->key))
		return sort_words_of_pairs(cpu, &bits, r, temp);
	return gs_sort_pairs(cpu, &bits, nbits, r, temp);
}
