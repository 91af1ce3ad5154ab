/*
 * strings.c: the bits that steps take from strings.  By default a character takes eight bits, and the number of
 * characters three more.  With enough rows an alphabet pays: the characters of each of the next positions are numbered,
 * the end of the string is 0.  They are looked up one by one. If all strings are long enough and a sample promises that
 * it separates most, characters are encoded as distances from the least one of their position, eight at a time.
 */
#include "cpu.h"

#include <string.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#define SAMPLE	  GS_ALPHABET_ROWS /* strings sampled for the characters at each position */
#define MORE_BITS 3				   /* more bits of characters than of row numbers: one row in eight is tied */
#define MANY_MORE_BITS 8		   /* one row in 256 is tied */

/* Marks the characters of one string at an alphabet's positions, and where it ends. */
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

/* Numbers the marked characters of each position.  The end, where there is one, is number 0 from there on. */
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

/* Statistics of the characters at each position. */
typedef struct positions
{
	uint8_t least[GS_RANGES], most[GS_RANGES];
	uint8_t beyond[GS_RANGES]; /* least distance upwards from the start of the gap, modulo 256 */
	bool seen[GS_RANGES][256]; /* in a sample */
	uint32_t begin, gap;	   /* longest range of characters that the sample skips */
} positions;

/* Examines the characters of a sample of strings, and finds a gap. */
static void
sample_positions(positions *p, const uint8_t *heap, const uint64_t *offsets, uint32_t chars)
{
	bool used[256] = {false};
	uint32_t last = 256;

	for (uint64_t i = 0; i < SAMPLE; i++)
		for (uint32_t at = 0; at < chars; at++)
		{
			uint8_t c = heap[offsets[i] + at];

			p->seen[at][c] = used[c] = true;
		}
	for (uint32_t c = 0; c < 256; c++)
	{
		if (!used[c])
			continue;
		if (last < c && c - last - 1 > p->gap)
		{
			p->begin = last + 1;
			p->gap = c - last - 1;
		}
		last = c;
	}
}

/* Extends the statistics by some strings. */
static void
extend_positions(positions *p, const uint8_t *heap, const uint64_t *offsets, size_t n)
{
#if defined(__x86_64__)
	__m128i *at[] = {(__m128i *) p->least, (__m128i *) p->most, (__m128i *) p->beyond};
	__m128i least = _mm_loadu_si128(at[0]), most = _mm_loadu_si128(at[1]), beyond = _mm_loadu_si128(at[2]);
	const __m128i begin = _mm_set1_epi8((char) p->begin);

	for (size_t i = 0; i < n; i++)
	{
		__m128i c = _mm_loadu_si128((const __m128i *) (heap + offsets[i]));

		least = _mm_min_epu8(least, c);
		most = _mm_max_epu8(most, c);
		beyond = _mm_min_epu8(beyond, _mm_sub_epi8(c, begin));
	}
	_mm_storeu_si128(at[0], least);
	_mm_storeu_si128(at[1], most);
	_mm_storeu_si128(at[2], beyond);
#else
	for (size_t i = 0; i < n; i++)
		for (int at = 0; at < GS_RANGES; at++)
		{
			uint8_t c = heap[offsets[i] + at], from = (uint8_t) (c - p->begin);

			p->least[at] = c < p->least[at] ? c : p->least[at];
			p->most[at] = c > p->most[at] ? c : p->most[at];
			p->beyond[at] = from < p->beyond[at] ? from : p->beyond[at];
		}
#endif
}

/* Examines these strings, or all without offsets.  Behind a string's end lie others, or the padding. */
static gs_status
find_positions(const gs_key *key, const gs_field *field, const uint64_t *some, positions *p)
{
	const uint8_t *heap = (const uint8_t *) field->column->heap.data + field->column->prefix;
	const uint64_t *offsets = some != NULL ? some : field->values;
	uint64_t rows = some != NULL ? SAMPLE : key->rows;

	memset(p->least, 255, GS_RANGES);
	memset(p->most, 0, GS_RANGES);
	memset(p->beyond, 255, GS_RANGES);
	for (uint64_t at = 0; at < rows; at += GS_BLOCK_ROWS)
	{
		uint64_t n = rows - at < GS_BLOCK_ROWS ? rows - at : GS_BLOCK_ROWS;

		extend_positions(p, heap, offsets + at, n);
		GS_TRY(gs_work_add(key->work, 2 * n));
	}
	return GS_OK;
}

/* Returns true if a position has characters on both sides of the gap. */
static bool
spans_gap(const positions *p, uint32_t at)
{
	return p->least[at] < p->begin && p->most[at] > p->begin;
}

/* Returns the bits of the distances at the first chars positions, with the gap left out if requested. */
static uint32_t
distance_bits(const positions *p, uint32_t chars, uint32_t gap)
{
	uint32_t range = 0;

	for (uint32_t at = 0; at < chars; at++)
	{
		uint32_t distance = (uint32_t) (p->most[at] - p->least[at]);

		if (gap > 0 && p->beyond[at] < gap)
			return 8;
		if (gap > 0 && distance > 127)
			return 8;
		distance -= spans_gap(p, at) ? gap : 0;
		range = distance > range ? distance : range;
	}
	return gs_bits(range);
}

/* Returns true if distances of width bits separate rows with more bits to spare, judging by a sample's characters. */
static bool
enough_characters(const positions *p, uint32_t chars, uint32_t width, uint32_t row_bits, uint32_t more)
{
	uint32_t room = 64 - row_bits, told = 0;

	chars = chars * width > room ? room / width : chars;
	for (uint32_t at = 0; at < chars; at++)
	{
		uint32_t n = 0;

		for (uint32_t c = 0; c < 256; c++)
			n += p->seen[at][c];
		/* in quarters of bits */
		told += 4 * (gs_bits(n) - 1) + (n << 2 >> (gs_bits(n) - 1) & 3);
	}
	return told >= 4 * (row_bits + more);
}

/* Chooses a distance's bits, 0 if these separate no rows, and whether to leave out the gap, for which many must tie. */
static void
choose_width(gs_alphabet *alphabet, const positions *p, uint32_t row_bits)
{
	uint32_t chars = alphabet->chars, with = distance_bits(p, chars, 0), without = distance_bits(p, chars, p->gap);
	bool leave = without < with && !enough_characters(p, chars, with, row_bits, MANY_MORE_BITS);

	alphabet->width = leave ? without : with;
	alphabet->gap = leave ? p->gap : 0;
	if (alphabet->width == 0 || !enough_characters(p, chars, alphabet->width, row_bits, MORE_BITS))
		alphabet->width = 0;
}

/* Returns true if every character outside the sample yields a distance that is too long.  A sample is then enough. */
static bool
others_noticed(const gs_alphabet *alphabet, const positions *p)
{
	uint8_t most = 0;

	for (uint32_t at = 0; at < alphabet->chars; at++)
		most = p->least[at] > most ? p->least[at] : most;
	return alphabet->gap == 0 && (most <= 128 || alphabet->width == 8);
}

/* Makes an alphabet of distances, if all strings are long enough; guess: from a sample, others are detected. */
static gs_status
make_distances(gs_alphabet *alphabet, const gs_key *key, const gs_field *field, uint32_t row_bits, bool guess)
{
	const gs_cpu_column *column = field->column;
	uint64_t left = column->shortest - column->prefix, sample[SAMPLE];
	positions p = {.gap = 0};

	if (field->nulls != NULL || left < 8)
		return GS_OK;
	alphabet->chars = left < GS_RANGES ? (uint32_t) left : GS_RANGES;
	for (uint64_t i = 0; i < SAMPLE; i++)
		sample[i] = ((const uint64_t *) field->values)[key->rows / SAMPLE * i];
	sample_positions(&p, (const uint8_t *) column->heap.data + column->prefix, sample, alphabet->chars);
	GS_TRY(find_positions(key, field, sample, &p));
	choose_width(alphabet, &p, row_bits);
	if (alphabet->width > 0 && !(guess && others_noticed(alphabet, &p)))
	{
		GS_TRY(find_positions(key, field, NULL, &p));
		choose_width(alphabet, &p, row_bits);
	}
	/* characters on both sides of the gap must be at most 127 apart */
	for (uint32_t at = 0; at < alphabet->chars && alphabet->gap > 0; at++)
		if (spans_gap(&p, at))
			alphabet->above[at] = (uint8_t) (128 - (p.begin - p.least[at]));
	/* the padding may be uninitialized: no borrow may come from it */
	if (alphabet->width < 8)
		memcpy(alphabet->least, p.least, alphabet->chars);
	alphabet->longest = alphabet->width > 0 ? column->longest : 0;
	return GS_OK;
}

/* Makes the alphabet of all rows after the common prefix of a column's strings. */
gs_status
gs_alphabet_of_rows(gs_alphabet *alphabet, const gs_key *key, uint32_t f, uint32_t row_bits, bool guess)
{
	const gs_field *field = &key->fields[f];

	memset(alphabet, 0, sizeof(*alphabet));
	alphabet->field = f;
	alphabet->depth = field->column->prefix;
	GS_TRY(make_distances(alphabet, key, field, row_bits, guess));
	if (alphabet->width > 0)
		return GS_OK;
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

/* Makes the alphabet of a group of rows from a place of the key on. */
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

/* Returns up to seven characters, most significant first, and their number. */
static inline uint64_t
plain_code(const uint8_t *s, uint64_t length, uint64_t depth, uint32_t chars)
{
	uint64_t left = length > depth ? length - depth : 0;
	uint64_t word = 0;

	if (left > 0)
	{
		word = gs_load_characters(s + depth);
		if (left < 8)
			word &= ~(~(uint64_t) 0 >> 8 * left);
	}
	return word >> (64 - 8 * chars) << 3 | (left < chars ? left : chars);
}

/* Returns the next characters, by their numbers in the alphabet. */
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

/* Returns a row's bits of a part. */
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

/* Appends a string part to the words of consecutive rows.  Returns false if the alphabet lacks a character. */
bool
gs_string_rows(const gs_loops *loops, const gs_part *part, uint64_t row, size_t n, uint64_t *words)
{
	const gs_cpu_column *column = part->field->column;
	const uint32_t bits = part->pack.bits;

	if (part->alphabet != NULL && part->alphabet->width > 0)
		return loops->distances(part->alphabet, (const uint8_t *) column->heap.data + part->depth,
								(const uint64_t *) part->field->values + row, n, bits,
								column->spec.desc ? gs_mask(bits) : 0, words);
	for (size_t i = 0; i < n; i++)
		words[i] = gs_append_bits(words[i], part_code(part, row + i), bits);
	return true;
}

/* Appends a string part to the words of scattered rows. */
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
