/*
 * sort_keys.c: gs_sort on the CPU.
 *
 * Integers by all their bits, alone or beside values where both have 4 bytes, are sorted as they are.  Everything else is sorted as words of the key's leading bits and a row number,
 * which radix.c does stably; keys and values are fetched by row number in the end.  Keys that do not fit beside the row number
 * are sorted by their leading bits first, and rows that those leave tied by the rest.
 */
#include "cpu.h"
#include "../scan.h"

#include <string.h>

#define AHEAD 24 /* rows for which keys and values are fetched ahead */

/* A sort at work. */
typedef struct keys_sort
{
	gs_cpu_engine *cpu;
	const gs_sort_items *items;
	gs_sorter sorter;
	gs_type type;
	uint64_t turn; /* bits of the encoded key that are inverted: all, if descending */
	uint64_t mask; /* of the bits to sort by */
	uint32_t begin;
	bool pairs;		   /* key and value are one word */
	uint32_t row_bits; /* 0: whole keys */
	uint32_t drop;	   /* low bits of a code that have no room in the first words */
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
	(void) key, (void) value_width;
	return 2 * words_bytes(n) + gs_sorter_bytes(n, &((const gs_cpu_engine *) engine)->tuning);
}

/*
 * Codes of some keys: the bits to sort by, as numbers in order.
 */
static void
encode(const keys_sort *s, uint64_t row, size_t n, uint64_t *codes)
{
	uint32_t small[GS_BLOCK_ROWS];
	size_t width = s->items->key_bytes;
	const char *from = (const char *) s->items->keys + row * width;

	s->cpu->loops->encode(s->type, width == 4 ? (void *) small : (void *) codes, NULL, from, n);
	for (size_t i = 0; i < n; i++)
		codes[i] = ((width == 4 ? small[i] : codes[i]) ^ s->turn) >> s->begin & s->mask;
}

/*
 * Makes the words of the first sort.
 */
static gs_status
make_words(const keys_sort *s)
{
	uint64_t n = s->items->n;

	for (uint64_t row = 0; row < n; row += GS_BLOCK_ROWS)
	{
		size_t block = n - row < GS_BLOCK_ROWS ? n - row : GS_BLOCK_ROWS;
		uint64_t *words = s->words + row;

		encode(s, row, block, words);
		for (size_t i = 0; i < block && s->row_bits > 0; i++)
			words[i] = words[i] >> s->drop << s->row_bits | (row + i);
		for (size_t i = 0; i < block && s->pairs; i++)
			words[i] = words[i] << 32 | ((const uint32_t *) s->items->values)[row + i];
		GS_TRY(gs_work_add(&s->cpu->work, 2 * block));
	}
	return GS_OK;
}

/*
 * Sorts every group of rows that the first words left tied by the bits that they had no room for.
 */
static gs_status
sort_ties(keys_sort *s)
{
	uint64_t n = s->items->n, rows = gs_mask(s->row_bits), low = gs_mask(s->drop);

	for (uint64_t start = 0, end; start < n; start = end)
	{
		uint64_t *words = s->words + start, *other = s->other + start;

		for (end = start + 1; end < n && s->words[end] >> s->row_bits == *words >> s->row_bits;)
			end++;
		GS_TRY(gs_work_add(&s->cpu->work, end - start));
		if (end - start == 1)
			continue;
		for (uint64_t i = 0; i < end - start; i++)
		{
			uint64_t row = words[i] & rows, code;

			encode(s, row, 1, &code);
			words[i] = (code & low) << s->row_bits | row;
		}
		GS_TRY(gs_sort_words(&s->sorter, &words, &other, end - start, s->row_bits, s->row_bits + s->drop, false));
	}
	return GS_OK;
}

/* to[i] = from[row of word i], for one width. */
#define FETCH(T)                                                                                                       \
	for (uint64_t i = begin; i < end; i++)                                                                             \
	{                                                                                                                  \
		__builtin_prefetch((const T *) from + (s->words[i + AHEAD < n ? i + AHEAD : i] & rows));                       \
		((T *) to)[i] = ((const T *) from)[s->words[i] & rows];                                                        \
	}

static gs_status
fetch(const keys_sort *s, const void *from, void *to, size_t width)
{
	uint64_t n = s->items->n, rows = gs_mask(s->row_bits);

	for (uint64_t begin = 0, end; begin < n; begin = end)
	{
		end = n - begin < (uint64_t) 1 << 16 ? n : begin + ((uint64_t) 1 << 16);
		if (width == 4)
			FETCH(uint32_t)
		else
			FETCH(uint64_t)
		GS_TRY(gs_work_add(&s->cpu->work, 4 * (end - begin)));
	}
	return GS_OK;
}

/*
 * Writes the keys, and values, of words that are nothing else.
 */
static gs_status
decode(const keys_sort *s)
{
	uint64_t n = s->items->n, turn = s->turn;
	uint32_t *keys = s->items->out_keys, *values = s->items->out_values;

	if (gs_type_is_signed(s->type))
		turn ^= (uint64_t) 1 << (8 * s->items->key_bytes - 1);
	if (s->items->key_bytes == 8)
		for (uint64_t i = 0; i < n; i++)
			((uint64_t *) s->items->out_keys)[i] = s->words[i] ^ turn;
	else if (s->pairs)
		for (uint64_t i = 0; i < n; i++)
		{
			keys[i] = (uint32_t) (s->words[i] >> 32 ^ turn);
			values[i] = (uint32_t) s->words[i];
		}
	else
		for (uint64_t i = 0; i < n; i++)
			keys[i] = (uint32_t) (s->words[i] ^ turn);
	return gs_work_add(&s->cpu->work, n);
}

gs_status
gs_cpu_sort_keys(gs_engine *engine, gs_type key, bool desc, uint32_t begin_bit, uint32_t end_bit, const gs_sort_items *items,
				 void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	uint32_t bits = 8 * (uint32_t) items->key_bytes, code_bits = end_bit - begin_bit, low;
	keys_sort s = {.cpu = cpu, .items = items, .type = key, .begin = begin_bit, .mask = gs_mask(code_bits)};
	bool whole = !gs_type_is_float(key) && code_bits == bits;

	if (items->n > GS_MAX_ROWS)
		return GS_TOO_BIG;
	s.turn = desc ? gs_mask(bits) : 0;
	s.pairs = whole && bits == 32 && items->value_width == 4;
	whole &= s.pairs || items->value_width == 0;
	s.row_bits = whole ? 0 : gs_row_bits(items->n);
	low = s.pairs ? 32 : s.row_bits;
	s.drop = code_bits > 64 - low ? code_bits - (64 - low) : 0;
	s.words = temp;
	s.other = (uint64_t *) ((char *) temp + words_bytes(items->n));
	s.sorter = (gs_sorter){.work = &cpu->work, .tuning = &cpu->tuning, .values = s.pairs};
	if (gs_sorter_bytes(items->n, &cpu->tuning) > 0)
		s.sorter.scratch = (char *) temp + 2 * words_bytes(items->n);
	GS_TRY(make_words(&s));
	GS_TRY(gs_sort_words(&s.sorter, &s.words, &s.other, items->n, low, low + code_bits - s.drop, true));
	if (whole)
		return decode(&s);
	if (s.drop > 0)
		GS_TRY(sort_ties(&s));
	GS_TRY(fetch(&s, items->keys, items->out_keys, items->key_bytes));
	return items->value_width == 0 ? GS_OK : fetch(&s, items->values, items->out_values, items->value_width);
}
