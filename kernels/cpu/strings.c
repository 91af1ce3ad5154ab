/*
 * strings.c: what steps take from strings.
 *
 * Usually a character takes eight bits, and how many there are takes three more.  Where there are rows enough to make
 * it worth while, the characters found at each of the next positions are numbered first: an alphabet of few characters
 * takes few bits each, a position where all strings have the same takes none, and the end is a character below all.
 */
#include "cpu.h"

#include <string.h>

/*
 * Notes the characters at an alphabet's positions of one string, and where it ends.
 */
static inline void
mark_string(gs_alphabet *alphabet, const uint8_t *s, uint64_t length)
{
	uint64_t n = length > alphabet->depth ? length - alphabet->depth : 0;

	for (uint32_t p = 0; p < GS_POSITIONS && p < n; p++)
		alphabet->rank[p][s[alphabet->depth + p]] = 1;
	if (n < GS_POSITIONS)
		alphabet->end[n] = 1;
	alphabet->longest = length > alphabet->longest ? length : alphabet->longest;
}

/*
 * Numbers the marked characters of each position; the end comes first where there is one, and stays the end.
 */
static void
number_characters(gs_alphabet *alphabet)
{
	bool ended = false;

	for (uint32_t p = 0; p < GS_POSITIONS; p++)
	{
		uint16_t next;

		ended |= alphabet->end[p];
		next = ended;
		for (uint32_t c = 0; c < 256; c++)
			if (alphabet->rank[p][c])
				alphabet->rank[p][c] = next++;
		alphabet->bits[p] = (uint8_t) gs_bits(next > 0 ? next - 1 : 0);
	}
}

/*
 * Makes the alphabet of all rows behind the prefix that a column's strings share.
 */
gs_status
gs_alphabet_of_rows(gs_alphabet *alphabet, const gs_key *key, uint32_t f)
{
	const gs_field *field = &key->fields[f];

	memset(alphabet, 0, sizeof(*alphabet));
	alphabet->field = f;
	alphabet->depth = field->column->prefix;
	for (uint64_t r = 0; r < key->rows; r++)
	{
		uint64_t length;
		const uint8_t *s = gs_string(field, r, &length);

		mark_string(alphabet, s, length);
		if (r % GS_BLOCK_ROWS == 0)
			GS_TRY(gs_work_add(key->work, 4 * GS_BLOCK_ROWS));
	}
	number_characters(alphabet);
	return GS_OK;
}

/*
 * Makes the alphabet of a group of rows from a place on.
 */
gs_status
gs_alphabet_of_group(gs_alphabet *alphabet, const gs_key *key, gs_place place, const uint64_t *words, size_t n,
					 uint32_t row_bits)
{
	const gs_field *field = &key->fields[place.field];
	uint64_t mask = gs_mask(row_bits);

	memset(alphabet, 0, sizeof(*alphabet));
	alphabet->field = place.field;
	alphabet->depth = place.at;
	for (size_t i = 0; i < n; i++)
	{
		uint64_t length;
		const uint8_t *s;

		if (i + GS_FAR_AHEAD < n)
		{
			gs_prefetch_offsets(field, words[i + GS_FAR_AHEAD] & mask);
			gs_prefetch_string(field, words[i + GS_AHEAD] & mask, place.at);
		}
		s = gs_string(field, words[i] & mask, &length);
		mark_string(alphabet, s, length);
		if (i % GS_BLOCK_ROWS == 0)
			GS_TRY(gs_work_add(key->work, 16 * GS_BLOCK_ROWS));
	}
	number_characters(alphabet);
	return GS_OK;
}

/*
 * Up to seven characters of a string, most significant first, and how many there are.
 */
static inline uint64_t
plain_code(const uint8_t *s, uint64_t length, uint64_t depth, uint32_t chars)
{
	uint64_t left = length > depth ? length - depth : 0;
	uint64_t word = 0;

	if (left > 0)
	{
		memcpy(&word, s + depth, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		word = __builtin_bswap64(word);
#endif
		if (left < 8)
			word &= ~(~(uint64_t) 0 >> 8 * left);
	}
	return word >> (64 - 8 * chars) << 3 | (left < chars ? left : chars);
}

/*
 * The same characters by their numbers in the alphabet.
 */
static inline uint64_t
alphabet_code(const gs_alphabet *alphabet, const uint8_t *s, uint64_t length, uint64_t depth, uint32_t chars)
{
	uint64_t left = length > depth ? length - depth : 0;
	uint64_t code = 0;
	uint32_t p = 0;

	for (; p < chars && p < left; p++)
		code = code << alphabet->bits[p] | alphabet->rank[p][s[depth + p]];
	for (; p < chars; p++)
		code <<= alphabet->bits[p];
	return code;
}

/*
 * A row's part of a step.
 */
static inline uint64_t
part_code(const gs_part *part, uint64_t row)
{
	uint64_t length, code;
	const uint8_t *s = gs_string(part->field, row, &length);

	if (part->alphabet != NULL)
		code = alphabet_code(part->alphabet, s, length, part->depth, part->chars);
	else
		code = plain_code(s, length, part->depth, part->chars);
	return part->field->column->spec.desc ? code ^ gs_mask(part->pack.bits) : code;
}

/*
 * Appends a string part to the words of consecutive rows.
 */
void
gs_string_rows(const gs_part *part, uint64_t row, size_t n, uint64_t *words)
{
	for (size_t i = 0; i < n; i++)
		words[i] = gs_append_bits(words[i], part_code(part, row + i), part->pack.bits);
}

/*
 * Appends a string part to the words of scattered rows.
 */
void
gs_string_gather(const gs_part *part, const uint32_t *rows, size_t n, uint64_t *words)
{
	for (size_t i = 0; i < n; i++)
	{
		if (i + GS_FAR_AHEAD < n)
		{
			gs_prefetch_offsets(part->field, rows[i + GS_FAR_AHEAD]);
			gs_prefetch_string(part->field, rows[i + GS_AHEAD], part->depth);
		}
		words[i] = gs_append_bits(words[i], part_code(part, rows[i]), part->pack.bits);
	}
}
