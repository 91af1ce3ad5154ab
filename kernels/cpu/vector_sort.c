/*
 * vector_sort.c: sorts words in the cache eight at a time, where the processor has AVX-512.
 *
 * Quicksort: a block of eight words is divided by one shuffle, words below the pivot first, and stored at both ends of
 * the room that is free.  Few words are sorted in registers: as rows of eight whose columns a network sorts; then
 * neighbouring columns are merged, three times.  Words may be equal.
 */
#include "cpu.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))
#define INLINE static inline __attribute__((always_inline)) TARGET
#ifndef FEW
#define FEW 128 /* words that are sorted in registers */
#endif
#ifndef ROWS
#define ROWS 4 /* of eight words that a partition reads at once from one end */
#endif
#define LINE	(8 * ROWS)
#define SAMPLE	16
#define SAMPLES 64
#ifndef MANY
#define MANY 2048 /* from so many words on a larger sample makes the pivot */
#endif

/* ---------------------------------------------------------------- in registers */

/* The columns of a row in reverse, within groups of so many. */
INLINE __m512i
turn(__m512i row, int columns)
{
	switch (columns)
	{
		case 2:
			return _mm512_shuffle_epi32(row, _MM_PERM_BADC);
		case 4:
			return _mm512_permutex_epi64(row, 0x1b);
		case 8:
			return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), row);
		default:
			return row;
	}
}

/* Leaves the lesser ones of two rows' words in the first row; the columns of the other are turned before. */
INLINE void
exchange(__m512i *a, __m512i *b, int columns)
{
	__m512i turned = turn(*b, columns);

	*b = _mm512_max_epu64(*a, turned);
	*a = _mm512_min_epu64(*a, turned);
}

/* The same within a row: the greater ones go to the columns of a mask. */
INLINE __m512i
divide(__m512i row, __m512i turned, __mmask8 upper)
{
	return _mm512_mask_max_epu64(_mm512_min_epu64(row, turned), upper, row, turned);
}

/* Sorts groups of so many columns of a row that rise and fall, or fall and rise, the second half in reverse. */
INLINE __m512i
sort_row(__m512i row, int columns)
{
	if (columns == 8)
		row = divide(row, turn(row, 8), 0xf0);
	if (columns == 8)
		row = divide(row, _mm512_permutex_epi64(row, 0x4e), 0xcc);
	if (columns == 4)
		row = divide(row, turn(row, 4), 0xcc);
	return divide(row, turn(row, 2), 0xaa);
}

/* Statements for so many rows from one on: every index is a constant, so that rows stay in registers. */
#define EACH1(what, a)	what(a)
#define EACH2(what, a)	EACH1(what, a) EACH1(what, a + 1)
#define EACH4(what, a)	EACH2(what, a) EACH2(what, a + 2)
#define EACH8(what, a)	EACH4(what, a) EACH4(what, a + 4)
#define EACH16(what, a) EACH8(what, a) EACH8(what, a + 8)
#define EACH32(what, a) EACH16(what, a) EACH16(what, a + 16)

/* Batcher's networks: each column of the rows is sorted. */
#define PAIR(a, b)	exchange(&v[a], &v[b], 1);
#define COLUMNS1(a)
#define COLUMNS2(a) PAIR(a, a + 1)
#define COLUMNS4(a) COLUMNS2(a) COLUMNS2(a + 2) PAIR(a, a + 2) PAIR(a + 1, a + 3) PAIR(a + 1, a + 2)
#define COLUMNS8(a)                                                                                                    \
	COLUMNS4(a) COLUMNS4(a + 4) PAIR(a, a + 4) PAIR(a + 1, a + 5) PAIR(a + 2, a + 6) PAIR(a + 3, a + 7)                \
	PAIR(a + 2, a + 4) PAIR(a + 3, a + 5) PAIR(a + 1, a + 2) PAIR(a + 3, a + 4) PAIR(a + 5, a + 6)
#define PAIR_AT_8(a) PAIR(a, a + 8)
#define PAIR_AT_4(a) PAIR(a, a + 4)
#define COLUMNS16(a)                                                                                                   \
	COLUMNS8(a) COLUMNS8(a + 8) EACH8(PAIR_AT_8, a) EACH4(PAIR_AT_4, a + 4) PAIR(a + 2, a + 4) PAIR(a + 3, a + 5)      \
	PAIR(a + 6, a + 8) PAIR(a + 7, a + 9) PAIR(a + 10, a + 12) PAIR(a + 11, a + 13) PAIR(a + 1, a + 2)                 \
	PAIR(a + 3, a + 4) PAIR(a + 5, a + 6) PAIR(a + 7, a + 8) PAIR(a + 9, a + 10) PAIR(a + 11, a + 12)                  \
	PAIR(a + 13, a + 14)
#define COLUMNS32(a) COLUMNS16(a) COLUMNS16(a + 16) FOLD32(a, 1)

/* Merges groups of columns with their neighbours: each step halves the rows that a word may still go to. */
#define FOLD(a, b, columns) exchange(&v[a], &v[b], columns);
#define FOLD1(a, c)
#define FOLD2(a, c)			FOLD(a, a + 1, c)
#define FOLD4(a, c)			FOLD(a, a + 3, c) FOLD(a + 1, a + 2, c) FOLD2(a, c) FOLD2(a + 2, c)
#define FOLD8(a, c)                                                                                                    \
	FOLD(a, a + 7, c) FOLD(a + 1, a + 6, c) FOLD(a + 2, a + 5, c) FOLD(a + 3, a + 4, c) FOLD4(a, c) FOLD4(a + 4, c)
#define FOLD16(a, c)                                                                                                   \
	FOLD(a, a + 15, c) FOLD(a + 1, a + 14, c) FOLD(a + 2, a + 13, c) FOLD(a + 3, a + 12, c) FOLD(a + 4, a + 11, c)     \
	FOLD(a + 5, a + 10, c) FOLD(a + 6, a + 9, c) FOLD(a + 7, a + 8, c) FOLD8(a, c) FOLD8(a + 8, c)
#define FOLD32(a, c)                                                                                                   \
	FOLD(a, a + 31, c) FOLD(a + 1, a + 30, c) FOLD(a + 2, a + 29, c) FOLD(a + 3, a + 28, c) FOLD(a + 4, a + 27, c)     \
	FOLD(a + 5, a + 26, c) FOLD(a + 6, a + 25, c) FOLD(a + 7, a + 24, c) FOLD(a + 8, a + 23, c)                        \
	FOLD(a + 9, a + 22, c) FOLD(a + 10, a + 21, c) FOLD(a + 11, a + 20, c) FOLD(a + 12, a + 19, c)                     \
	FOLD(a + 13, a + 18, c) FOLD(a + 14, a + 17, c) FOLD(a + 15, a + 16, c) FOLD16(a, c) FOLD16(a + 16, c)

/* The words of a row that there are. */
INLINE __mmask8
present(size_t n, size_t row)
{
	return (__mmask8) (n >= 8 * row + 8 ? 0xff : n <= 8 * row ? 0 : 0xff >> (8 * row + 8 - n));
}

#define LOAD(a)		v[a] = _mm512_mask_loadu_epi64(none, present(n, a), words + 8 * (a));
#define STORE(a)	_mm512_mask_storeu_epi64(words + 8 * (a), present(n, a), v[a]);
#define SORT_ROW2(a) v[a] = sort_row(v[a], 2);
#define SORT_ROW4(a) v[a] = sort_row(v[a], 4);
#define SORT_ROW8(a) v[a] = sort_row(v[a], 8);

/* A sort of so many rows of words, the last of which need not be there. */
#define SORT_ROWS(R)                                                                                                   \
	TARGET static void sort_rows_##R(uint64_t *words, size_t n)                                                        \
	{                                                                                                                  \
		const __m512i none = _mm512_set1_epi64(-1);                                                                    \
		__m512i v[R];                                                                                                  \
                                                                                                                       \
		EACH##R(LOAD, 0) COLUMNS##R(0)                                                                                 \
		FOLD##R(0, 2) EACH##R(SORT_ROW2, 0)                                                                            \
		FOLD##R(0, 4) EACH##R(SORT_ROW4, 0)                                                                            \
		FOLD##R(0, 8) EACH##R(SORT_ROW8, 0)                                                                            \
		EACH##R(STORE, 0)                                                                                              \
	}

SORT_ROWS(1)
SORT_ROWS(2)
SORT_ROWS(4)
SORT_ROWS(8)
#if FEW >= 128
SORT_ROWS(16)
#endif
#if FEW >= 256
SORT_ROWS(32)
#endif

TARGET static void
sort_few(uint64_t *words, size_t n)
{
	if (n <= 8)
		sort_rows_1(words, n);
	else if (n <= 16)
		sort_rows_2(words, n);
	else if (n <= 32)
		sort_rows_4(words, n);
	else if (n <= 64)
		sort_rows_8(words, n);
#if FEW >= 128
	else if (n <= 128)
		sort_rows_16(words, n);
#endif
#if FEW >= 256
	else
		sort_rows_32(words, n);
#endif
}

/* ---------------------------------------------------------------- partitions */

/* For every mask, four bits each: the columns that are in it, then the others. */
#define BELOW(m, i)	 __builtin_popcount((m) & ((1u << (i)) - 1))
#define TO(m, i)	 ((m) >> (i) & 1 ? BELOW(m, i) : BELOW(m, 8) + (i) - BELOW(m, i))
#define COLUMN(m, i) (uint32_t) (i) << 4 * (TO(m, i))
#define ORDER1(m)                                                                                                      \
	COLUMN(m, 1) | COLUMN(m, 2) | COLUMN(m, 3) | COLUMN(m, 4) | COLUMN(m, 5) | COLUMN(m, 6) | COLUMN(m, 7)
#define ORDER4(m)  ORDER1(m), ORDER1(m + 1), ORDER1(m + 2), ORDER1(m + 3)
#define ORDER16(m) ORDER4(m), ORDER4(m + 4), ORDER4(m + 8), ORDER4(m + 12)
#define ORDER64(m) ORDER16(m), ORDER16(m + 16), ORDER16(m + 32), ORDER16(m + 48)

static const uint32_t orders[256] = {ORDER64(0u), ORDER64(64u), ORDER64(128u), ORDER64(192u)};

/* Where a partition has got to: words from left on, up to right, are free to be written over. */
typedef struct halves
{
	uint64_t *left, *right;
} halves;

/*
 * Divides eight words: those below the pivot go to the left end, the others to the right one.
 */
INLINE void
divide_row(halves *to, __m512i row, __m512i pivot)
{
	const __m512i shifts = _mm512_set_epi64(28, 24, 20, 16, 12, 8, 4, 0);
	uint32_t below = _mm512_cmplt_epu64_mask(row, pivot), n = (uint32_t) __builtin_popcount(below);

	/* the upper halves of indexes count for nothing, nor do their bits above the lowest three */
	row = _mm512_permutexvar_epi64(_mm512_srlv_epi32(_mm512_set1_epi32((int) orders[below]), shifts), row);
	_mm512_storeu_si512(to->left, row);
	_mm512_storeu_si512(to->right - 8, row);
	to->left += n;
	to->right -= 8 - n;
}

#define READ(a)	  rows[a] = _mm512_loadu_si512(from + 8 * (a));
#define DIVIDE(a) divide_row(&to, rows[a], pivot);
#define FOR_EACH_(R, what) EACH##R(what, 0)
#define FOR_EACH(R, what)  FOR_EACH_(R, what)

/*
 * Puts the words below a pivot before the others, and returns how many they are.  Words from both ends are set aside,
 * so that there always is room where a row is written: it is read from the end with less of it.
 */
TARGET static size_t
partition(uint64_t *words, size_t n, uint64_t pivot_word)
{
	const __m512i pivot = _mm512_set1_epi64((long long) pivot_word);
	uint64_t aside[3 * LINE], *left = words + LINE, *right = words + n - LINE;
	halves to = {words, words + n};
	size_t some;
	__m512i rows[ROWS];

	memcpy(aside, words, sizeof(uint64_t) * LINE);
	memcpy(aside + LINE, right, sizeof(uint64_t) * LINE);
	while (right - left >= LINE)
	{
		const uint64_t *from = left;

		if (left - to.left <= to.right - right)
			left += LINE;
		else
		{
			right -= LINE;
			from = right;
#ifndef NO_BRANCH
			__asm__("" : "+r"(from)); /* a jump, which is foreseen mostly: reading does not wait for counts then */
#endif
		}
		FOR_EACH(ROWS, READ)
		FOR_EACH(ROWS, DIVIDE)
	}
	some = (size_t) (right - left);
	memcpy(aside + 2 * LINE, left, sizeof(uint64_t) * some);
	for (size_t at = 2 * LINE; at < 2 * LINE + some; at += 8)
	{
		__mmask8 all = present(some, (at - 2 * LINE) / 8);
		__m512i row = _mm512_maskz_loadu_epi64(all, aside + at);
		__mmask8 below = _mm512_mask_cmplt_epu64_mask(all, row, pivot), above = all & (__mmask8) ~below;

		_mm512_mask_storeu_epi64(to.left, (__mmask8) ((1u << __builtin_popcount(below)) - 1),
								 _mm512_maskz_compress_epi64(below, row));
		to.left += __builtin_popcount(below);
		to.right -= __builtin_popcount(above);
		_mm512_mask_storeu_epi64(to.right, (__mmask8) ((1u << __builtin_popcount(above)) - 1),
								 _mm512_maskz_compress_epi64(above, row));
	}
	for (size_t at = 0; at < 2 * LINE; at += 8)
		divide_row(&to, _mm512_loadu_si512(aside + at), pivot);
	return (size_t) (to.left - words);
}

/*
 * The middle of a sample.
 */
TARGET static uint64_t
choose_pivot(const uint64_t *words, size_t n)
{
	uint64_t sample[SAMPLES];
	size_t many = n < MANY ? SAMPLE : SAMPLES, apart = n / many;

	for (size_t i = 0; i < many; i++)
		sample[i] = words[apart / 2 + apart * i];
	if (many == SAMPLE)
		sort_rows_2(sample, SAMPLE);
	else
		sort_rows_8(sample, SAMPLES);
	return sample[many / 2];
}

/*
 * Sorts until there were too many partitions within each other: false.
 */
TARGET static bool
quicksort(uint64_t *words, size_t n, uint32_t depth)
{
	while (n > FEW)
	{
		uint64_t pivot;
		size_t below;

		if (depth-- == 0)
			return false;
		pivot = choose_pivot(words, n);
		below = partition(words, n, pivot);
		if (below == 0)
			/* nothing is below the pivot: those equal to it are in order, if there are others */
			below = pivot == UINT64_MAX ? n : partition(words, n, pivot + 1);
		else if (!quicksort(words, below, depth))
			return false;
		words += below;
		n -= below;
	}
	sort_few(words, n);
	return true;
}

/*
 * Sorts words where there is AVX-512; false, with the same words in some order, if that takes more partitions within
 * each other than depth.
 */
bool
gs_vector_sort(uint64_t *words, size_t n, uint32_t depth)
{
	return quicksort(words, n, depth);
}
#else
bool
gs_vector_sort(uint64_t *words, size_t n, uint32_t depth)
{
	(void) words;
	(void) depth;
	return n < 2;
}
#endif
