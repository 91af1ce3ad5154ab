/*
 * radix.c: sorts 64-bit words by a range of their bits.  The lower bits ascend already (row numbers) or are ignored
 * (values).  Large inputs are partitioned by their most significant digit until a bucket fits the cache.  There the
 * bucket is sorted by as many leading bits as separate its words, least significant digit first; insertion sort
 * finishes what those left undecided.  If that takes too long, the remaining digits are sorted as well.
 */
#include "cpu.h"
#include "lines.h"

#include <string.h>

#define INSERTION_ROWS 24 /* sorted by insertion outright */
#define MAX_BUCKETS	   (1 << GS_MAX_DIGIT)
#define LANES		   4
#define SLICE_ROWS	   ((size_t) 1 << 20) /* rows between polls */
#define MAX_PASSES	   8				  /* of digits of 8 to GS_MAX_DIGIT bits, out of 64 */
#define FEW_PASSES	   3				  /* cheaper than a partition */
#define LOOK_ROWS	   8192				  /* fewer words do not repay taking a sample */
#define TWO_PASSES	   512				  /* sorted by two digits from here on, below by one */
#define LINE		   8				  /* words in a cache line */

/* Memory of partitions: bucket ends for each level, and counters and buffers for one level at a time. */
typedef struct scratch
{
	uint64_t lines[MAX_BUCKETS][LINE];
	uint32_t starts[MAX_BUCKETS];
	uint32_t counts[LANES][MAX_BUCKETS];
	uint32_t ends[GS_MAX_DEPTH][MAX_BUCKETS];
	/* of partitions by slots: bits from here on are equal within a bucket */
	uint8_t highs[GS_SLOT_DEPTH][MAX_BUCKETS];
	uint64_t slots[GS_SLOTS];
	uint64_t hot[]; /* tuning->cache_rows words: the second array of an in-cache sort */
} scratch;

/* A range to sort: its words and the place of the result. */
typedef struct segment
{
	uint64_t *from;
	uint64_t *other;
	size_t n;
	uint32_t low, high; /* bits to sort by */
	bool to_other;		/* the result goes to other instead of from */
} segment;

/* Returns the rows that are sorted without a partition even if their leading bits fall unevenly. */
static uint64_t
always_cached(const gs_cpu_tuning *tuning)
{
	return tuning->cache_rows / 2;
}

/* Returns the bytes of scratch memory, 0 if no partition will be made. */
size_t
gs_sorter_bytes(uint64_t rows, const gs_cpu_tuning *tuning)
{
	uint64_t hot = rows < tuning->cache_rows ? rows : tuning->cache_rows;

	return rows > always_cached(tuning) ? sizeof(scratch) + hot * sizeof(uint64_t) : 0;
}

/* Insertion sort above the lowest bits.  After too many moves returns false; equal words are still in order. */
static inline __attribute__((always_inline)) bool
insert_all(uint64_t *words, size_t n, size_t moves, uint32_t ignored)
{
	for (size_t i = 1; i < n; i++)
	{
		uint64_t word = words[i];
		size_t j = i;

		if (words[j - 1] >> ignored <= word >> ignored)
			continue;
		while (j > 0 && words[j - 1] >> ignored > word >> ignored)
		{
			words[j] = words[j - 1];
			j--;
		}
		words[j] = word;
		if (i - j > moves)
			return false;
		moves -= i - j;
	}
	return true;
}

/* Insertion sort.  Compares complete words, which is cheaper, if the bits below low ascend already. */
static bool
insertion_sort(const gs_sorter *sorter, uint64_t *words, size_t n, size_t moves, uint32_t low)
{
	return sorter->values ? insert_all(words, n, moves, low) : insert_all(words, n, moves, 0);
}

/* ---------------------------------------------------------------- in the cache */

/* Counts the digits of all passes in one read.  Specialized for two passes, the usual case. */
static void
count_digits(const uint64_t *words, size_t n, uint32_t low, uint32_t width, uint32_t passes,
			 uint32_t (*counts)[MAX_BUCKETS])
{
	uint64_t mask = gs_mask(width);

	for (uint32_t p = 0; p < passes; p++)
		memset(counts[p], 0, sizeof(uint32_t) << width);
	for (size_t i = 0; i < n && passes == 2; i++)
	{
		uint64_t word = words[i] >> low;

		counts[0][word & mask]++;
		counts[1][word >> width & mask]++;
	}
	for (size_t i = 0; i < n && passes != 2; i++)
	{
		uint64_t word = words[i] >> low;

		for (uint32_t p = 0; p < passes; p++, word >>= width)
			counts[p][word & mask]++;
	}
}

/* One pass: turns counts into positions and scatters; false, without moving anything, if all have one digit. */
static bool
digit_pass(const uint64_t *from, uint64_t *to, size_t n, uint32_t low, uint32_t width, uint32_t *counts)
{
	uint64_t mask = gs_mask(width);
	uint32_t sum = 0;

	if (counts[from[0] >> low & mask] == n)
		return false;
	for (uint32_t d = 0; d <= mask; d++)
	{
		uint32_t count = counts[d];

		counts[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[counts[from[i] >> low & mask]++] = from[i];
	return true;
}

/* Returns the number of passes.  Wide digits need fewer, and few words on a counter stall each other less. */
static uint32_t
digit_passes(size_t n, uint32_t bits)
{
	uint32_t widest = gs_bits(n) + 1;

	widest = widest < 8 ? 8 : widest < GS_MAX_DIGIT ? widest : GS_MAX_DIGIT;
	return (bits + widest - 1) / widest;
}

/* Returns the leading bits that separate most of n words: for one pass and insertion, or two wide passes. */
static uint32_t
enough_bits(size_t n, uint32_t slack)
{
	uint32_t rows = gs_bits(n), bits = rows + slack;

	if (n < TWO_PASSES)
		return rows < 6 ? 7 : rows + 1;
	return bits < 18 ? 18 : bits < 2 * GS_MAX_DIGIT ? bits : 2 * GS_MAX_DIGIT;
}

/*
 * Sorts by bits [low, high), least significant digit first, alternating between two arrays.  Returns the array with the
 * result.  The last digit may extend above high, where all words are equal.
 */
static uint64_t *
digit_sort(uint64_t *words, uint64_t *hot, size_t n, uint32_t low, uint32_t high)
{
	uint32_t counts[MAX_PASSES][MAX_BUCKETS];
	uint32_t passes = digit_passes(n, high - low), width = passes ? (high - low + passes - 1) / passes : 0;
	uint64_t *from = words, *to = hot;

	count_digits(words, n, low, width, passes, counts);
	for (uint32_t p = 0; p < passes; p++)
		if (digit_pass(from, to, n, low + p * width, width, counts[p]))
		{
			uint64_t *swap = from;

			from = to;
			to = swap;
		}
	return from;
}

/* Returns true if leading bits will not separate a segment's words. */
static bool
falls_unevenly(const segment *s)
{
	return gs_uneven(s->from, s->n, s->high, s->low, s->high - s->low < 8 ? s->high - s->low : 8);
}

/* Sorts a segment in the cache by leading bits, then insertion or all bits.  Returns the array with the result. */
static uint64_t *
sort_to_and_fro(gs_sorter *sorter, const segment *s, uint64_t *hot, uint32_t depth)
{
	uint32_t enough = enough_bits(s->n, sorter->tuning->slack);
	bool all = s->high - s->low <= enough + 2 || (s->n >= LOOK_ROWS && falls_unevenly(s));
	uint32_t low = all ? s->low : s->high - enough;
	uint32_t passes = depth + digit_passes(s->n, s->high - low);
	uint64_t *sorted = digit_sort(s->from, hot, s->n, low, s->high);

	sorter->passes = passes > sorter->passes ? passes : sorter->passes;
	if (low > s->low && !insertion_sort(sorter, sorted, s->n, 4 * s->n, s->low))
		sorted = digit_sort(sorted, sorted == hot ? s->from : hot, s->n, s->low, s->high);
	return sorted;
}

/* Sorts a segment that fits the cache into its place.  A small one writes at random only there and in the cache. */
static void
sort_in_cache(gs_sorter *sorter, const segment *s, uint32_t depth)
{
	scratch *space = sorter->scratch;
	bool small = space != NULL && s->n <= sorter->tuning->cache_rows;
	uint64_t *sorted = sort_to_and_fro(sorter, s, small ? space->hot : s->other, depth);
	uint64_t *target = s->to_other ? s->other : s->from;

	if (sorted != target)
		memcpy(target, sorted, s->n * sizeof(uint64_t));
}

/* ---------------------------------------------------------------- partitions */

/* How a word's bucket is found: by a digit, or by the slot of a digit. */
typedef struct buckets
{
	uint32_t shift;
	uint32_t n;
	uint64_t mask;
	const uint64_t *slots;
} buckets;

/* Returns a word's bucket.  slots is a constant, which specializes the loop. */
static inline __attribute__((always_inline)) uint64_t
bucket_of(buckets b, bool slots, uint64_t word)
{
	uint64_t digit = word >> b.shift & b.mask;

	return slots ? gs_slot_bucket(b.slots[digit], word) : digit;
}

/* Counts buckets, with separate counters per lane, so that equal neighbours do not stall each other. */
static inline __attribute__((always_inline)) void
count_lanes(const uint64_t *words, size_t n, buckets b, bool slots, uint32_t (*counts)[MAX_BUCKETS])
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
	{
		counts[0][bucket_of(b, slots, words[i])]++;
		counts[1][bucket_of(b, slots, words[i + 1])]++;
		counts[2][bucket_of(b, slots, words[i + 2])]++;
		counts[3][bucket_of(b, slots, words[i + 3])]++;
	}
	for (; i < n; i++)
		counts[0][bucket_of(b, slots, words[i])]++;
}

/* Counts buckets with one counter per digit, for comparison. */
static void
count_plain(const uint64_t *words, size_t n, buckets b, uint32_t *counts)
{
	for (size_t i = 0; i < n; i++)
		counts[bucket_of(b, b.slots != NULL, words[i])]++;
}

/* Counts a segment's buckets and sets where each begins.  *single: all words are in one. */
static gs_status
count_buckets(gs_sorter *sorter, const segment *s, const buckets *b, uint32_t *starts, bool *single)
{
	scratch *space = sorter->scratch;
	uint32_t sum = 0;

	for (uint32_t lane = 0; lane < LANES; lane++)
		memset(space->counts[lane], 0, sizeof(uint32_t) * b->n);
	for (size_t at = 0; at < s->n; at += SLICE_ROWS)
	{
		size_t n = s->n - at < SLICE_ROWS ? s->n - at : SLICE_ROWS;

		if (!sorter->tuning->lanes)
			count_plain(s->from + at, n, *b, space->counts[0]);
		else if (b->slots != NULL)
			count_lanes(s->from + at, n, *b, true, space->counts);
		else
			count_lanes(s->from + at, n, *b, false, space->counts);
		GS_TRY(gs_work_add(sorter->work, n));
	}
	*single = false;
	for (uint32_t d = 0; d < b->n; d++)
	{
		uint32_t count = space->counts[0][d] + space->counts[1][d] + space->counts[2][d] + space->counts[3][d];

		starts[d] = sum;
		sum += count;
		*single |= count == s->n;
	}
	return GS_OK;
}

/* Scatters through a line buffer per bucket, so that memory sees full lines of an aligned `to`, but for first ones. */
static inline __attribute__((always_inline)) void
scatter_lines(scratch *space, const uint64_t *from, size_t n, uint64_t *to, buckets b, bool slots, uint32_t *cursor)
{
	for (size_t i = 0; i < n; i++)
	{
		uint64_t word = from[i];
		uint64_t d = bucket_of(b, slots, word);
		uint32_t at = cursor[d]++;

		space->lines[d][at % LINE] = word;
		if (at % LINE != LINE - 1)
			continue;
		at -= LINE - 1;
		if (at >= space->starts[d])
			gs_store_line(to + at, space->lines[d]);
		else
			for (uint32_t k = space->starts[d]; k < at + LINE; k++)
				to[k] = space->lines[d][k % LINE];
	}
}

/* Writes out the partially filled buffers. */
static void
flush_lines(scratch *space, uint64_t *to, uint32_t n, const uint32_t *cursor)
{
	for (uint32_t d = 0; d < n; d++)
	{
		uint32_t line = cursor[d] / LINE * LINE;

		for (uint32_t k = line > space->starts[d] ? line : space->starts[d]; k < cursor[d]; k++)
			to[k] = space->lines[d][k % LINE];
	}
	gs_lines_end();
}

/* Scatters directly, for few words, which stay in the cache. */
static inline __attribute__((always_inline)) void
scatter_plainly(const uint64_t *from, size_t n, uint64_t *to, buckets b, bool slots, uint32_t *cursor)
{
	for (size_t i = 0; i < n; i++)
		to[cursor[bucket_of(b, slots, from[i])]++] = from[i];
}

/* Moves a segment's words to their buckets in other.  cursor: the buckets' starts, on return their ends. */
static gs_status
scatter(gs_sorter *sorter, const segment *s, const buckets *b, uint32_t *cursor)
{
	scratch *space = sorter->scratch;
	uint32_t skip = (uint32_t) ((uintptr_t) s->other / 8 % LINE);
	bool combine = s->n >= sorter->tuning->combine_rows && s->n < UINT32_MAX - 2 * LINE;
	uint64_t *to = combine ? s->other - skip : s->other;

	/* positions are relative to the line in which other begins */
	for (uint32_t d = 0; combine && d < b->n; d++)
		space->starts[d] = cursor[d] = cursor[d] + skip;
	for (size_t at = 0; at < s->n; at += SLICE_ROWS)
	{
		size_t n = s->n - at < SLICE_ROWS ? s->n - at : SLICE_ROWS;

		if (combine && b->slots != NULL)
			scatter_lines(space, s->from + at, n, to, *b, true, cursor);
		else if (combine)
			scatter_lines(space, s->from + at, n, to, *b, false, cursor);
		else if (b->slots != NULL)
			scatter_plainly(s->from + at, n, to, *b, true, cursor);
		else
			scatter_plainly(s->from + at, n, to, *b, false, cursor);
		GS_TRY(gs_work_add(sorter->work, 2 * n));
	}
	if (combine)
		flush_lines(space, to, b->n, cursor);
	for (uint32_t d = 0; combine && d < b->n; d++)
		cursor[d] -= skip;
	return GS_OK;
}

static gs_status sort_segment(gs_sorter *sorter, segment s, uint32_t depth);

/* Returns the lowest bit, at most high, from which on all words agree. */
static uint32_t
differing_high(const uint64_t *words, size_t n, uint32_t high)
{
	uint64_t differ = 0;

	for (size_t i = 1; i < n; i++)
		differ |= words[i] ^ words[0];
	differ &= gs_mask(high);
	return gs_bits(differ);
}

/* Sorts every bucket of a partition in other. */
static gs_status
sort_buckets(gs_sorter *sorter, const segment *s, const buckets *b, const uint32_t *ends, uint32_t depth)
{
	const scratch *space = sorter->scratch;
	size_t start = 0;

	for (uint32_t d = 0; d < b->n; d++)
	{
		uint32_t high = b->slots != NULL ? space->highs[depth][d] : b->shift;
		segment bucket = {s->other + start, s->from + start, ends[d] - start, s->low, high, !s->to_other};

		start = ends[d];
		if (bucket.n == 0)
			continue;
		if (high == s->high)
			bucket.high = differing_high(bucket.from, bucket.n, high);
		if (bucket.high < bucket.low)
			bucket.high = bucket.low;
		GS_TRY(sort_segment(sorter, bucket, depth + 1));
	}
	return GS_OK;
}

/* Copies a segment to the place of its result. */
static gs_status
copy_to_result(const gs_sorter *sorter, const segment *s)
{
	for (size_t at = 0; s->to_other && at < s->n; at += SLICE_ROWS)
	{
		size_t n = s->n - at < SLICE_ROWS ? s->n - at : SLICE_ROWS;

		memcpy(s->other + at, s->from + at, n * sizeof(uint64_t));
		GS_TRY(gs_work_add(sorter->work, n));
	}
	return GS_OK;
}

/* Chooses the partition of a segment: by its leading digit, or, in outer partitions of uneven data, by slots. */
static buckets
choose_buckets(gs_sorter *sorter, const segment *s, uint32_t depth)
{
	scratch *space = sorter->scratch;
	uint32_t width = gs_partition_width(sorter->tuning, s->n, s->high - s->low);
	buckets b = {.shift = s->high - width, .n = 1u << width, .mask = gs_mask(width)};

	if (depth < GS_SLOT_DEPTH && gs_uneven(s->from, s->n, s->high, s->low, width))
	{
		b.n = gs_slots_make(s->from, s->n, s->high, s->low, width, space->slots, space->highs[depth], &b.shift);
		b.mask = GS_SLOTS - 1;
		b.slots = space->slots;
	}
	return b;
}

/* Returns true if a segment needs no partition: it is small, or leading bits separate it, or it has few bits. */
static bool
fits_cache(const gs_sorter *sorter, const segment *s, uint32_t depth)
{
	if (sorter->scratch == NULL || s->n <= (depth > 0 ? sorter->tuning->cache_rows : always_cached(sorter->tuning)))
		return true;
	return s->n < sorter->tuning->even_rows &&
		   (digit_passes(s->n, s->high - s->low) <= FEW_PASSES || !falls_unevenly(s));
}

/* Sorts a segment.  Skips leading digits that all words share. */
static gs_status
sort_segment(gs_sorter *sorter, segment s, uint32_t depth)
{
	scratch *space = sorter->scratch;

	if (gs_by_vectors(sorter, s.n, s.high - s.low))
	{
		bool done;

		if (s.n > INSERTION_ROWS && depth + 1 > sorter->passes)
			sorter->passes = depth + 1;
		GS_TRY(gs_vector_sort(sorter->work, s.from, s.n, sorter->tuning->quick_depth * gs_bits(s.n), &done));
		if (done)
			return copy_to_result(sorter, &s);
		/* too many bad pivots, and the lowest bits no longer ascend */
		s.low = 0;
	}
	if (s.n <= INSERTION_ROWS)
	{
		insertion_sort(sorter, s.from, s.n, SIZE_MAX, s.low);
		GS_TRY(gs_work_add(sorter->work, s.n));
		return copy_to_result(sorter, &s);
	}
	if (fits_cache(sorter, &s, depth))
	{
		sort_in_cache(sorter, &s, depth);
		return gs_work_add(sorter->work, s.n * 4);
	}
	sorter->passes = depth + 1 > sorter->passes ? depth + 1 : sorter->passes;
	while (s.high > s.low)
	{
		buckets b = choose_buckets(sorter, &s, depth);
		bool single;

		GS_TRY(count_buckets(sorter, &s, &b, space->ends[depth], &single));
		if (single && b.slots == NULL)
		{
			s.high = b.shift;
			continue;
		}
		GS_TRY(scatter(sorter, &s, &b, space->ends[depth]));
		return sort_buckets(sorter, &s, &b, space->ends[depth], depth);
	}
	return copy_to_result(sorter, &s);
}

/* Sorts words by bits [low, high) with another array.  The result may be in *other, the pointers exchanged. */
gs_status
gs_sort_words(gs_sorter *sorter, uint64_t **words, uint64_t **other, size_t n, uint32_t low, uint32_t high,
			  bool exchange)
{
	segment s = {*words, *other, n, low, high, false};
	uint64_t *result = *words;

	exchange = exchange && !gs_by_vectors(sorter, n, high - low);
	if (exchange && n > INSERTION_ROWS && fits_cache(sorter, &s, 0))
	{
		result = sort_to_and_fro(sorter, &s, *other, 0);
		GS_TRY(gs_work_add(sorter->work, n * 4));
	}
	else
	{
		s.to_other = exchange && n > always_cached(sorter->tuning) && high > low;
		result = s.to_other ? *other : *words;
		GS_TRY(sort_segment(sorter, s, 0));
	}
	*other = result == *words ? *other : *words;
	*words = result;
	return GS_OK;
}
