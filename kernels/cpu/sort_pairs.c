/*
 * sort_pairs.c: gs_sort of keys with values, and of keys whose bits a code would lose (floats, bit ranges).  Large
 * inputs are partitioned by their most significant digit until a bucket fits the cache.  There radix.c sorts words of
 * leading key bits above the position, and keys and values are moved to their place.  Random writes stay in the cache.
 */
#include "cpu.h"
#include "lines.h"

#include <string.h>

#define BUCKETS		(1 << GS_MAX_DIGIT)
#define PLAIN_DIGIT 8 /* wider digits scatter through buffers */
#define LANES		4

/* The destinations of one array's items. */
typedef struct gs_stream
{
	uint8_t lines[BUCKETS][GS_ALIGN];
	uint32_t starts[BUCKETS]; /* of buckets, relative to the line in which the array begins */
	uint32_t ends[BUCKETS];	  /* where the next item goes */
} gs_stream;

/* Memory of a sort: streams and counters of a partition, bucket ends by level, words for the in-cache sort. */
typedef struct scratch
{
	gs_stream keys, values;
	uint32_t counts[LANES][BUCKETS];
	uint32_t ends[GS_MAX_DEPTH][BUCKETS];
} scratch;

/* A place for items: keys, and values or NULL. */
typedef struct place
{
	char *keys, *values;
} place;

typedef struct pairs_sort
{
	gs_cpu_engine *cpu;
	gs_sorter sorter;
	gs_key_bits bits;
	size_t width, value_width;
	scratch *space; /* NULL: everything fits the cache */
	uint64_t *words, *other;
	place in, spare, out; /* before any partition; after an odd number; after an even number, and result */
} pairs_sort;

/* ---------------------------------------------------------------- in the cache */

/* Sorts groups of equal words by the drop lowest bits, for which the words had no room. */
static gs_status
sort_ties(pairs_sort *s, place from, size_t n, uint32_t row_bits, uint32_t drop)
{
	uint64_t rows = gs_mask(row_bits), low = gs_mask(drop);

	for (size_t start = 0, end; start < n; start = end)
	{
		uint64_t *words = s->words + start, *other = s->other + start;

		for (end = start + 1; end < n && s->words[end] >> row_bits == *words >> row_bits;)
			end++;
		if (end - start == 1)
			continue;
		for (size_t i = 0; i < end - start; i++)
		{
			uint64_t row = words[i] & rows, code;

			gs_key_codes(s->cpu, &s->bits, from.keys + row * s->width, 1, &code);
			words[i] = (code & low) << row_bits | row;
		}
		GS_TRY(gs_sort_words(&s->sorter, &words, &other, end - start, row_bits, row_bits + drop, false));
	}
	return GS_OK;
}

/* Returns true if some words differ only in their lowest bits. */
static bool
some_equal(const uint64_t *words, size_t n, uint32_t row_bits)
{
	uint64_t equal = 0;

	for (size_t i = 1; i < n; i++)
		equal |= (words[i] ^ words[i - 1]) >> row_bits == 0;
	return equal != 0;
}

#define FETCH(T)                                                                                                       \
	for (size_t i = 0; i < n; i++)                                                                                     \
		((T *) to)[i] = ((const T *) from)[words[i] & rows];

/* to[i] = from[row of word i]. */
static void
fetch(size_t width, const uint64_t *words, size_t n, uint64_t rows, const void *from, void *to)
{
	if (width == 4)
		FETCH(uint32_t)
	else
		FETCH(uint64_t)
}

/* Sorts items that fit the cache by the lowest high bits of their codes. */
static gs_status
sort_cached(pairs_sort *s, place from, place to, size_t n, uint32_t high)
{
	uint32_t row_bits = gs_bits(n - 1), drop = high + row_bits > 64 ? high + row_bits - 64 : 0;
	uint64_t *words = s->words, *other = s->other;

	for (size_t row = 0; row < n; row += GS_BLOCK_ROWS)
	{
		size_t block = n - row < GS_BLOCK_ROWS ? n - row : GS_BLOCK_ROWS;

		gs_key_codes(s->cpu, &s->bits, from.keys + row * s->width, block, words + row);
		for (size_t i = row; i < row + block; i++)
			words[i] = words[i] >> drop << row_bits | i;
	}
	GS_TRY(gs_sort_words(&s->sorter, &s->words, &s->other, n, row_bits, row_bits + high - drop, true));
	if (drop > 0 && some_equal(s->words, n, row_bits))
		GS_TRY(sort_ties(s, from, n, row_bits, drop));
	fetch(s->width, s->words, n, gs_mask(row_bits), from.keys, to.keys);
	if (s->value_width > 0)
		fetch(s->value_width, s->words, n, gs_mask(row_bits), from.values, to.values);
	s->words = words, s->other = other;
	return gs_work_add(&s->cpu->work, 4 * n);
}

/* ---------------------------------------------------------------- partitions */

/* Computes the digits of keys. */
static void
digits_of(const pairs_sort *s, const char *keys, size_t n, uint32_t shift, uint32_t width, uint16_t *digits)
{
	uint64_t codes[GS_BLOCK_ROWS], mask = gs_mask(width);

	gs_key_codes(s->cpu, &s->bits, keys, n, codes);
	for (size_t i = 0; i < n; i++)
		digits[i] = (uint16_t) (codes[i] >> shift & mask);
}

/* Counts digits and bucket starts.  *single: all in one.  Counters per lane keep equal neighbours from stalling. */
static gs_status
count_digits(pairs_sort *s, place from, size_t n, uint32_t shift, uint32_t width, uint32_t *begins, bool *single)
{
	uint32_t (*counts)[BUCKETS] = s->space->counts, sum = 0;
	uint16_t digits[GS_BLOCK_ROWS];

	for (uint32_t lane = 0; lane < LANES; lane++)
		memset(counts[lane], 0, sizeof(uint32_t) << width);
	for (size_t row = 0; row < n; row += GS_BLOCK_ROWS)
	{
		size_t block = n - row < GS_BLOCK_ROWS ? n - row : GS_BLOCK_ROWS, i = 0;

		digits_of(s, from.keys + row * s->width, block, shift, width, digits);
		for (; i + LANES <= block; i += LANES)
			for (uint32_t lane = 0; lane < LANES; lane++)
				counts[lane][digits[i + lane]]++;
		for (; i < block; i++)
			counts[0][digits[i]]++;
		GS_TRY(gs_work_add(&s->cpu->work, block));
	}
	*single = false;
	for (uint32_t d = 0; d < 1u << width; d++)
	{
		uint32_t count = counts[0][d] + counts[1][d] + counts[2][d] + counts[3][d];

		begins[d] = sum;
		sum += count;
		*single |= count == n;
	}
	return GS_OK;
}

/* Returns the highest sort bit in which keys differ, plus one; 0 if there is none. */
static gs_status
differing_bits(pairs_sort *s, place from, size_t n, uint32_t high, uint32_t *bits)
{
	uint64_t codes[GS_BLOCK_ROWS], first, differing = 0;

	gs_key_codes(s->cpu, &s->bits, from.keys, 1, &first);
	for (size_t row = 0; row < n; row += GS_BLOCK_ROWS)
	{
		size_t block = n - row < GS_BLOCK_ROWS ? n - row : GS_BLOCK_ROWS;

		gs_key_codes(s->cpu, &s->bits, from.keys + row * s->width, block, codes);
		for (size_t i = 0; i < block; i++)
			differing |= codes[i] ^ first;
		GS_TRY(gs_work_add(&s->cpu->work, block));
	}
	*bits = gs_bits(differing & gs_mask(high));
	return GS_OK;
}

#define T		   uint32_t
#define NAME(name) name##_4
#include "scatter_loops.h"
#define T		   uint64_t
#define NAME(name) name##_8
#include "scatter_loops.h"

/* An array being moved. */
typedef struct move
{
	gs_stream *stream;
	size_t width;
	const char *from;
	char *to; /* the line in which it begins */
	bool lines;
} move;

/* Starts to move an array. */
static move
begin_move(gs_stream *stream, size_t width, const char *from, char *to, size_t n, uint32_t digit,
		   const uint32_t *begins)
{
	uint32_t items = GS_ALIGN / width, skip = (uint32_t) ((uintptr_t) to % GS_ALIGN / width);
	bool lines = digit > PLAIN_DIGIT && n < UINT32_MAX - 2 * items;

	skip = lines ? skip : 0;
	for (uint32_t d = 0; d < 1u << digit; d++)
		stream->starts[d] = stream->ends[d] = begins[d] + skip;
	return (move){stream, width, from, to - skip * width, lines};
}

/* Moves a block's items to their buckets, in full lines or one by one.  Keys and values share the digits. */
static void
move_block(const move *m, size_t row, const uint16_t *digits, size_t n)
{
	const void *from = m->from + row * m->width;
	void *to = m->to;

	if (m->width == 4 && m->lines)
		scatter_lines_4(m->stream, digits, n, from, to);
	else if (m->width == 4)
		scatter_plainly_4(m->stream, digits, n, from, to);
	else if (m->lines)
		scatter_lines_8(m->stream, digits, n, from, to);
	else
		scatter_plainly_8(m->stream, digits, n, from, to);
}

/* Writes out the partially filled buffers. */
static void
end_move(const move *m, uint32_t digit)
{
	uint32_t items = GS_ALIGN / m->width;

	for (uint32_t d = 0; m->lines && d < 1u << digit; d++)
	{
		uint32_t end = m->stream->ends[d], line = end / items * items;
		uint32_t begin = line > m->stream->starts[d] ? line : m->stream->starts[d];

		memcpy(m->to + begin * m->width, m->stream->lines[d] + begin % items * m->width, (end - begin) * m->width);
	}
	gs_lines_end();
}

/* Moves items to their buckets.  begins has the buckets' starts on entry, their ends on return. */
static gs_status
scatter(pairs_sort *s, place from, place to, size_t n, uint32_t shift, uint32_t width, uint32_t *begins)
{
	move keys = begin_move(&s->space->keys, s->width, from.keys, to.keys, n, width, begins), values;
	uint16_t digits[GS_BLOCK_ROWS];

	if (s->value_width > 0)
		values = begin_move(&s->space->values, s->value_width, from.values, to.values, n, width, begins);
	for (size_t row = 0; row < n; row += GS_BLOCK_ROWS)
	{
		size_t block = n - row < GS_BLOCK_ROWS ? n - row : GS_BLOCK_ROWS;

		digits_of(s, from.keys + row * s->width, block, shift, width, digits);
		move_block(&keys, row, digits, block);
		if (s->value_width > 0)
			move_block(&values, row, digits, block);
		GS_TRY(gs_work_add(&s->cpu->work, 4 * block));
	}
	end_move(&keys, width);
	if (s->value_width > 0)
		end_move(&values, width);
	for (uint32_t d = 0; d + 1 < 1u << width; d++)
		begins[d] = begins[d + 1];
	begins[(1u << width) - 1] = (uint32_t) n;
	return GS_OK;
}

/* Returns the place, from item begin on, of items that were partitioned depth times. */
static place
place_at(const pairs_sort *s, uint32_t depth, size_t begin)
{
	place p = depth == 0 ? s->in : depth % 2 == 1 ? s->spare : s->out;

	return (place){p.keys + begin * s->width, s->value_width > 0 ? p.values + begin * s->value_width : NULL};
}

/* Copies items to the place of the result. */
static gs_status
copy_to_result(pairs_sort *s, place from, size_t begin, size_t n)
{
	place to = place_at(s, 2, begin);

	if (from.keys == to.keys)
		return GS_OK;
	GS_TRY(gs_copy_array(&s->cpu->work, from.keys, to.keys, n * s->width));
	return gs_copy_array(&s->cpu->work, from.values, to.values, n * s->value_width);
}

/* Counts the leading digit of *high bits in which keys differ, and leaves in *high the bits below; 0: all are equal. */
static gs_status
leading_digit(pairs_sort *s, place from, size_t n, uint32_t *high, uint32_t *begins)
{
	for (bool single = true; single && *high > 0;)
	{
		uint32_t width = gs_partition_width(&s->cpu->tuning, n, *high);

		GS_TRY(count_digits(s, from, n, *high - width, width, begins, &single));
		if (single)
			GS_TRY(differing_bits(s, from, n, *high - width, high));
	}
	return GS_OK;
}

/* Sorts items that were partitioned depth times by the lowest high bits of their codes. */
static gs_status
sort_range(pairs_sort *s, size_t begin, size_t n, uint32_t high, uint32_t depth)
{
	place from = place_at(s, depth, begin), to = place_at(s, depth == 0 && s->space == NULL ? 2 : depth + 1, begin);
	uint32_t width, *ends;

	if (n <= s->cpu->tuning.cache_rows && high > 0)
	{
		GS_TRY(sort_cached(s, from, to, n, high));
		return copy_to_result(s, to, begin, n);
	}
	if (high == 0)
		return copy_to_result(s, from, begin, n);
	ends = s->space->ends[depth];
	GS_TRY(leading_digit(s, from, n, &high, ends));
	if (high == 0)
		return copy_to_result(s, from, begin, n);
	width = gs_partition_width(&s->cpu->tuning, n, high);
	GS_TRY(scatter(s, from, to, n, high - width, width, ends));
	for (size_t d = 0, at = 0; d < (size_t) 1 << width; at = ends[d++])
		if (ends[d] > at)
			GS_TRY(sort_range(s, begin + at, ends[d] - at, high - width, depth + 1));
	return GS_OK;
}

/* ---------------------------------------------------------------- the call */

/* Returns the bytes of an array in temporary memory. */
static size_t
array_bytes(uint64_t n, size_t width)
{
	return (n * width + GS_ALIGN - 1) & ~(size_t) (GS_ALIGN - 1);
}

/* Returns the temporary memory: words for the in-cache sort and, for more items, a second place for keys and values. */
size_t
gs_sort_pairs_temp(const gs_cpu_tuning *tuning, size_t width, size_t value_width, uint64_t n)
{
	uint64_t cached = n < tuning->cache_rows ? n : tuning->cache_rows;
	size_t words = 2 * array_bytes(cached, sizeof(uint64_t));

	return n == cached ? words : words + sizeof(scratch) + array_bytes(n, width) + array_bytes(n, value_width);
}

/* Sorts keys with values, or by ranges of bits.  Partitions by leading digits until parts fit the cache. */
gs_status
gs_sort_pairs(gs_cpu_engine *cpu, const gs_key_bits *bits, uint32_t nbits, const gs_sort_request *r, void *temp)
{
	uint64_t n = r->n, cached = n < cpu->tuning.cache_rows ? n : cpu->tuning.cache_rows;
	pairs_sort s = {.cpu = cpu, .bits = *bits, .width = r->key_bytes, .value_width = r->value_width};
	char *at = temp;

	s.sorter = (gs_sorter){.work = &cpu->work, .tuning = &cpu->tuning};
	s.in = (place){(char *) r->keys, (char *) r->values};
	s.out = (place){r->out_keys, r->out_values};
	s.words = (uint64_t *) at;
	s.other = (uint64_t *) (at += array_bytes(cached, sizeof(uint64_t)));
	if (n > cached)
	{
		s.space = (scratch *) (at += array_bytes(cached, sizeof(uint64_t)));
		s.spare.keys = at += sizeof(scratch);
		s.spare.values = at + array_bytes(n, s.width);
	}
	return sort_range(&s, 0, n, nbits, 0);
}
