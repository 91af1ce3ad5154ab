/*
 * sort_keys.c: gs_sort on the CPU.
 *
 * Integers by all their bits are sorted as words, those of 4 bytes with their values of 4; but many of 4 bytes alone by
 * sort_narrow.c. Everything else goes by sort_pairs.c.  Keys that come in order are copied.
 */
#include "cpu.h"
#include "../scan.h"

#include <string.h>

#define NARROW_ROWS                                                                                                    \
	8192 /* more keys of 4 bytes than these are sorted as they are: fewer need but two digits of words */
#define FIRST_LOOK	16	 /* keys that mostly are enough to see that they are in no order */

/* A sort of whole keys. */
typedef struct keys_sort
{
	gs_cpu_engine *cpu;
	const gs_sort_items *items;
	gs_sorter sorter;
	gs_key_bits bits;
	bool pairs; /* key and value are one word */
	uint64_t *words, *other;
} keys_sort;

/* Bytes of one array of words. */
static size_t
words_bytes(uint64_t n)
{
	return (n * sizeof(uint64_t) + GS_ALIGN - 1) & ~(size_t) (GS_ALIGN - 1);
}

size_t
gs_cpu_sort_keys_temp(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n)
{
	const gs_cpu_tuning *tuning = &((const gs_cpu_engine *) engine)->tuning;
	size_t width = gs_type_width(key), pairs = gs_sort_pairs_temp(tuning, width, value_width, n);
	size_t words = 2 * words_bytes(n) + gs_sorter_bytes(n, tuning);

	return words > pairs ? words : pairs;
}

/*
 * Codes of some keys: the bits to sort by, as numbers in order.
 */
void
gs_key_codes(const gs_cpu_engine *cpu, const gs_key_bits *bits, const void *keys, size_t n, uint64_t *codes)
{
	uint32_t small[GS_BLOCK_ROWS];
	bool narrow = gs_type_width(bits->type) == 4;

	cpu->loops->encode(bits->type, narrow ? (void *) small : (void *) codes, NULL, keys, n);
	for (size_t i = 0; i < n; i++)
		codes[i] = ((narrow ? small[i] : codes[i]) ^ bits->turn) >> bits->begin & bits->mask;
}

/*
 * Makes the words.
 */
static gs_status
make_words(const keys_sort *s)
{
	uint64_t n = s->items->n;

	for (uint64_t row = 0; row < n; row += GS_BLOCK_ROWS)
	{
		size_t block = n - row < GS_BLOCK_ROWS ? n - row : GS_BLOCK_ROWS;
		uint64_t *words = s->words + row;

		gs_key_codes(s->cpu, &s->bits, (const char *) s->items->keys + row * s->items->key_bytes, block, words);
		for (size_t i = 0; i < block && s->pairs; i++)
			words[i] = words[i] << 32 | ((const uint32_t *) s->items->values)[row + i];
		GS_TRY(gs_work_add(&s->cpu->work, 2 * block));
	}
	return GS_OK;
}

/*
 * The bits of a whole key that encoding inverts.
 */
static uint64_t
inverted(const gs_key_bits *bits)
{
	uint32_t sign = 8 * (uint32_t) gs_type_width(bits->type) - 1;

	return gs_type_is_signed(bits->type) ? bits->turn ^ (uint64_t) 1 << sign : bits->turn;
}

/*
 * Writes the keys, and values, of the words.
 */
static gs_status
decode(const keys_sort *s)
{
	uint64_t n = s->items->n, turn = inverted(&s->bits);
	uint32_t *keys = s->items->out_keys, *values = s->items->out_values;

	for (uint64_t i = 0; i < n && s->items->key_bytes == 8; i++)
		((uint64_t *) s->items->out_keys)[i] = s->words[i] ^ turn;
	for (uint64_t i = 0; i < n && s->items->key_bytes == 4 && !s->pairs; i++)
		keys[i] = (uint32_t) (s->words[i] ^ turn);
	for (uint64_t i = 0; i < n && s->pairs; i++)
	{
		keys[i] = (uint32_t) (s->words[i] >> 32 ^ turn);
		values[i] = (uint32_t) s->words[i];
	}
	return gs_work_add(&s->cpu->work, n);
}

/*
 * Sorts whole keys.
 */
static gs_status
sort_whole(gs_cpu_engine *cpu, const gs_key_bits *bits, const gs_sort_items *items, void *temp)
{
	keys_sort s = {.cpu = cpu, .items = items, .bits = *bits, .pairs = items->value_width > 0};
	uint32_t low = s.pairs ? 32 : 0;

	s.words = temp;
	s.other = (uint64_t *) ((char *) temp + words_bytes(items->n));
	s.sorter = (gs_sorter){.work = &cpu->work, .tuning = &cpu->tuning, .values = s.pairs};
	if (gs_sorter_bytes(items->n, &cpu->tuning) > 0)
		s.sorter.scratch = (char *) temp + 2 * words_bytes(items->n);
	GS_TRY(make_words(&s));
	GS_TRY(gs_sort_words(&s.sorter, &s.words, &s.other, items->n, low, low + 8 * (uint32_t) items->key_bytes, true));
	return decode(&s);
}

/*
 * Looks whether keys come in order, up to the first one that does not.
 */
static gs_status
look_at_order(gs_cpu_engine *cpu, const gs_key_bits *bits, const gs_sort_items *items, bool *rising)
{
	uint64_t codes[GS_BLOCK_ROWS], last = 0;

	*rising = true;
	for (uint64_t row = 0, block; row < items->n && *rising; row += block)
	{
		uint64_t falls, most = row == 0 ? FIRST_LOOK : GS_BLOCK_ROWS;

		block = items->n - row < most ? items->n - row : most;
		gs_key_codes(cpu, bits, (const char *) items->keys + row * items->key_bytes, block, codes);
		falls = codes[0] < last;
		for (size_t i = 1; i < block; i++)
			falls |= codes[i] < codes[i - 1];
		last = codes[block - 1];
		*rising = !falls;
		GS_TRY(gs_work_add(&cpu->work, block));
	}
	return GS_OK;
}

/*
 * Copies an array.
 */
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

gs_status
gs_cpu_sort_keys(gs_engine *engine, gs_type key, bool desc, uint32_t begin_bit, uint32_t end_bit,
				 const gs_sort_items *items, void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	uint32_t all = 8 * (uint32_t) items->key_bytes, nbits = end_bit - begin_bit;
	gs_key_bits bits = {.type = key, .turn = desc ? gs_mask(all) : 0, .mask = gs_mask(nbits), .begin = begin_bit};
	bool words = items->value_width == 0 || (all == 32 && items->value_width == 4), rising;

	if (items->n > GS_MAX_ROWS)
		return GS_TOO_BIG;
	GS_TRY(look_at_order(cpu, &bits, items, &rising));
	if (rising)
	{
		GS_TRY(gs_copy_array(&cpu->work, items->keys, items->out_keys, items->n * items->key_bytes));
		return gs_copy_array(&cpu->work, items->values, items->out_values, items->n * items->value_width);
	}
	if (!words || nbits < all || gs_type_is_float(key))
		return gs_sort_pairs(cpu, &bits, nbits, items, temp);
	if (items->key_bytes == 4 && items->value_width == 0 && items->n > NARROW_ROWS)
		return gs_sort_narrow(&cpu->work, cpu->tuning.combine_rows, (uint32_t) inverted(&bits), items->keys,
							  items->out_keys, items->n, temp);
	return sort_whole(cpu, &bits, items, temp);
}
