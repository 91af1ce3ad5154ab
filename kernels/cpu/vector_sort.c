/*
 * vector_sort.c: AVX-512 quicksort of words in the cache.  One shuffle divides eight words, those below the pivot
 * first, and stores them at both ends of the free room.  Short ranges are sorted in registers: a network sorts columns
 * of rows of eight, and three merges follow.
 */
#include "cpu.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define FEW_WORDS 512 /* fewer are sorted by vectors even if one digit would do */

/* Returns true if n words that differ in these sort bits are sorted by vectors.  Lower bits ascend already. */
bool
gs_by_vectors(const gs_sorter *sorter, size_t n, uint32_t bits)
{
	const gs_cpu_tuning *tuning = sorter->tuning;

	return tuning->vector == GS_AVX512 && !sorter->values && n <= tuning->quick_rows &&
		   (bits > tuning->quick_bits || (n < FEW_WORDS && bits > 0));
}

#if defined(__x86_64__)

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))
#define INLINE static inline __attribute__((always_inline)) TARGET
#define FEW		128				/* words sorted in registers */
#define LINE	(8 * 8)			/* words that a partition reads at a time from one end, in eight rows */
#define SAMPLE	16				/* words whose median is the pivot */
#define SAMPLES 64				/* and from MANY words on */
#define MANY	2048

_Static_assert((FEW + 1) / 8 * 8 >= 2 * LINE, "more than FEW words have a line at either end");
_Static_assert(SAMPLE == 2 * 8 && SAMPLES == 8 * 8, "rows by which samples are sorted");

/* ---------------------------------------------------------------- in registers */

/* Reverses the columns of a row within groups of the given size. */
INLINE __m512i
reverse(__m512i row, int columns)
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

/* Leaves the lesser words of two rows in the first row.  The caller has reversed the columns of the other. */
INLINE void
exchange(__m512i *a, __m512i *b, int columns)
{
	__m512i reversed = reverse(*b, columns);

	*b = _mm512_max_epu64(*a, reversed);
	*a = _mm512_min_epu64(*a, reversed);
}

/* Exchanges within a row: the greater words go to the columns of a mask. */
INLINE __m512i
divide(__m512i row, __m512i reversed, __mmask8 upper)
{
	return _mm512_mask_max_epu64(_mm512_min_epu64(row, reversed), upper, row, reversed);
}

/* Sorts groups of columns that are bitonic, with the second half reversed. */
INLINE __m512i
sort_row(__m512i row, int columns)
{
	if (columns == 8)
		row = divide(row, reverse(row, 8), 0xf0);
	if (columns == 8)
		row = divide(row, _mm512_permutex_epi64(row, 0x4e), 0xcc);
	if (columns == 4)
		row = divide(row, reverse(row, 4), 0xcc);
	return divide(row, reverse(row, 2), 0xaa);
}

/* Expands a statement for a number of rows.  Indexes are constants, so rows stay in registers. */
#define EACH1(what, a)	what(a)
#define EACH2(what, a)	EACH1(what, a) EACH1(what, a + 1)
#define EACH4(what, a)	EACH2(what, a) EACH2(what, a + 2)
#define EACH6(what, a)	EACH4(what, a) EACH2(what, a + 4)
#define EACH8(what, a)	EACH4(what, a) EACH4(what, a + 4)
#define EACH12(what, a) EACH8(what, a) EACH4(what, a + 8)
#define EACH16(what, a) EACH8(what, a) EACH8(what, a + 8)

/* Batcher's networks for each column of the rows.  Those of 6 and 12 are those of 8 and 16 without the last rows. */
#define PAIR(a, b)	   exchange(&v[a], &v[b], 1);
#define PAIRS2(a, d)   PAIR(a, a + d) PAIR(a + 1, a + 1 + d)
#define PAIRS4(a, d)   PAIRS2(a, d) PAIRS2(a + 2, d)
#define PAIRS8(a, d)   PAIRS4(a, d) PAIRS4(a + 4, d)
#define NEIGHBOURS2(a) PAIR(a, a + 1) PAIR(a + 2, a + 3)
#define NEIGHBOURS4(a) NEIGHBOURS2(a) NEIGHBOURS2(a + 4)
#define COLUMNS1(a)
#define COLUMNS2(a) PAIR(a, a + 1)
#define COLUMNS4(a) COLUMNS2(a) COLUMNS2(a + 2) PAIRS2(a, 2) PAIR(a + 1, a + 2)
#define COLUMNS6(a) COLUMNS4(a) COLUMNS2(a + 4) PAIRS2(a, 4) PAIRS2(a + 2, 2) NEIGHBOURS2(a + 1)
#define COLUMNS8(a) COLUMNS4(a) COLUMNS4(a + 4) PAIRS4(a, 4) PAIRS2(a + 2, 2) NEIGHBOURS2(a + 1) PAIR(a + 5, a + 6)
#define COLUMNS12(a)                                                                                                   \
	COLUMNS8(a) COLUMNS4(a + 8) PAIRS4(a, 8) PAIRS4(a + 4, 4) PAIRS2(a + 2, 2) PAIRS2(a + 6, 2) NEIGHBOURS4(a + 1)     \
	PAIR(a + 9, a + 10)
#define COLUMNS16(a)                                                                                                   \
	COLUMNS8(a) COLUMNS8(a + 8) PAIRS8(a, 8) PAIRS4(a + 4, 4) PAIRS2(a + 2, 2) PAIRS2(a + 6, 2) PAIRS2(a + 10, 2)      \
	NEIGHBOURS4(a + 1) NEIGHBOURS2(a + 9) PAIR(a + 13, a + 14)

/* Merges groups of columns with their neighbours.  Each step halves the rows that a word may still move to. */
#define FOLD(a, b)	 exchange(&v[a], &v[b], columns);
#define FOLDS2(a, b) FOLD(a, b) FOLD(a + 1, b - 1)
#define FOLDS4(a, b) FOLDS2(a, b) FOLDS2(a + 2, b - 2)
#define FOLDS8(a, b) FOLDS4(a, b) FOLDS4(a + 4, b - 4)
#define MERGE1(a)
#define MERGE2(a)	 FOLD(a, a + 1)
#define MERGE4(a)	 FOLDS2(a, a + 3) MERGE2(a) MERGE2(a + 2)
#define MERGE6(a)	 FOLDS2(a + 2, a + 5) MERGE4(a) MERGE2(a + 4)
#define MERGE8(a)	 FOLDS4(a, a + 7) MERGE4(a) MERGE4(a + 4)
#define MERGE12(a)	 FOLDS4(a + 4, a + 11) MERGE8(a) MERGE4(a + 8)
#define MERGE16(a)	 FOLDS8(a, a + 15) MERGE8(a) MERGE8(a + 8)

/* Returns the mask of words in a row, by last's bits for the last eight rows; rows counts from this one on. */
INLINE __mmask8
present(uint64_t last, size_t rows)
{
	return (__mmask8) (rows > 8 ? 0xff : last >> (64 - 8 * rows));
}

#define LOAD(a)		v[a] = _mm512_mask_loadu_epi64(none, present(last, rows - (a)), words + 8 * (a));
#define STORE(a)	_mm512_mask_storeu_epi64(words + 8 * (a), present(last, rows - (a)), v[a]);
#define SORT_ROW(a) v[a] = sort_row(v[a], columns);

/* Sorts at most 8 * R and more than 8 * R - 64 words. */
#define SORT_ROWS(R)                                                                                                   \
	INLINE void merge_##R(__m512i *v, int columns)                                                                     \
	{                                                                                                                  \
		MERGE##R(0) EACH##R(SORT_ROW, 0)                                                                               \
	}                                                                                                                  \
                                                                                                                       \
	TARGET static void sort_rows_##R(uint64_t *words, size_t n)                                                        \
	{                                                                                                                  \
		const __m512i none = _mm512_set1_epi64(-1);                                                                    \
		const size_t rows = R;                                                                                         \
		const uint64_t last = UINT64_MAX >> (8 * rows - n);                                                            \
		__m512i v[R];                                                                                                  \
                                                                                                                       \
		EACH##R(LOAD, 0) COLUMNS##R(0)                                                                                 \
		merge_##R(v, 2);                                                                                               \
		merge_##R(v, 4);                                                                                               \
		merge_##R(v, 8);                                                                                               \
		EACH##R(STORE, 0)                                                                                              \
	}

SORT_ROWS(1)
SORT_ROWS(2)
SORT_ROWS(4)
SORT_ROWS(6)
SORT_ROWS(8)
SORT_ROWS(12)
SORT_ROWS(16)

/* Sorts at most FEW words. */
TARGET static void
sort_few(uint64_t *words, size_t n)
{
	if (n < 2)
		return;
	if (n <= 8)
		sort_rows_1(words, n);
	else if (n <= 16)
		sort_rows_2(words, n);
	else if (n <= 32)
		sort_rows_4(words, n);
	else if (n <= 48)
		sort_rows_6(words, n);
	else if (n <= 64)
		sort_rows_8(words, n);
	else if (n <= 96)
		sort_rows_12(words, n);
	else
		sort_rows_16(words, n);
}

/* ---------------------------------------------------------------- partitions */

/* For every mask, four bits per index: the columns in the mask, then the others. */
#define BELOW(m, i)	 __builtin_popcount((m) & ((1u << (i)) - 1))
#define TO(m, i)	 ((m) >> (i) & 1 ? BELOW(m, i) : BELOW(m, 8) + (i) - BELOW(m, i))
#define COLUMN(m, i) (uint32_t) (i) << 4 * (TO(m, i))
#define ORDER1(m)                                                                                                      \
	COLUMN(m, 1) | COLUMN(m, 2) | COLUMN(m, 3) | COLUMN(m, 4) | COLUMN(m, 5) | COLUMN(m, 6) | COLUMN(m, 7)
#define ORDER4(m)  ORDER1(m), ORDER1(m + 1), ORDER1(m + 2), ORDER1(m + 3)
#define ORDER16(m) ORDER4(m), ORDER4(m + 4), ORDER4(m + 8), ORDER4(m + 12)
#define ORDER64(m) ORDER16(m), ORDER16(m + 16), ORDER16(m + 32), ORDER16(m + 48)

static const uint32_t orders[256] = {ORDER64(0u), ORDER64(64u), ORDER64(128u), ORDER64(192u)};

/* The free room of a partition: count words from a position on, up to its right end, with unread words in between. */
typedef struct space
{
	uint64_t *left;
	size_t room;
} space;

/* Divides eight words: those below the pivot go to the left end, the others to the right. */
INLINE void
divide_row(space *to, __m512i row, __m512i pivot)
{
	const __m512i shifts = _mm512_set_epi64(28, 24, 20, 16, 12, 8, 4, 0);
	uint32_t below = _mm512_cmplt_epu64_mask(row, pivot);

	/* permute ignores the upper halves of indexes, and all but their lowest three bits */
	row = _mm512_permutexvar_epi64(_mm512_srlv_epi32(_mm512_set1_epi32((int) orders[below]), shifts), row);
	to->room -= 8;
	_mm512_storeu_si512(to->left, row);
	_mm512_storeu_si512(to->left + to->room, row);
	to->left += (uint32_t) __builtin_popcount(below);
}

/* Divides fewer than eight words. */
INLINE void
divide_some(space *to, __m512i row, __mmask8 all, __m512i pivot)
{
	__mmask8 below = _mm512_mask_cmplt_epu64_mask(all, row, pivot), above = all & (__mmask8) ~below;
	uint32_t n = (uint32_t) __builtin_popcount(below), others = (uint32_t) __builtin_popcount(above);

	_mm512_mask_storeu_epi64(to->left, (__mmask8) ((1u << n) - 1), _mm512_maskz_compress_epi64(below, row));
	_mm512_mask_storeu_epi64(to->left + to->room - others, (__mmask8) ((1u << others) - 1),
							 _mm512_maskz_compress_epi64(above, row));
	to->left += n;
	to->room -= n + others;
}

#define READ(a)		rows[a] = _mm512_loadu_si512(from + 8 * (a));
#define DIVIDE(a)	divide_row(&to, rows[a], pivot);
#define DIVIDE_IF(a)                                                                                                   \
	if (right - left > 8 * (a))                                                                                        \
		DIVIDE(a)

/*
 * Moves the words below the pivot before the others and returns their number.  Words of both ends are set aside first;
 * rows are then read from the end with less free room, so that there is always room to write.
 */
TARGET static size_t
partition(uint64_t *words, size_t n, uint64_t pivot_word)
{
	const __m512i pivot = _mm512_set1_epi64((long long) pivot_word);
	const __mmask8 odd = (__mmask8) ((1u << n % 8) - 1);
	uint64_t aside[2 * LINE], *left = words + LINE, *right = words + n - n % 8 - LINE;
	const uint64_t *from;
	space to = {words, n};
	__m512i rows[8], odd_row = _mm512_maskz_loadu_epi64(odd, right + LINE);

	memcpy(aside, words, sizeof(uint64_t) * LINE);
	memcpy(aside + LINE, right, sizeof(uint64_t) * LINE);
	while (right - left >= LINE)
	{
		if (left - to.left <= to.left + to.room - right)
		{
			from = left;
			left += LINE;
		}
		else
			from = right -= LINE;
		EACH8(READ, 0)
		EACH8(DIVIDE, 0)
	}
	/* fewer than eight rows are left */
	from = left;
	EACH8(READ, 0)
	EACH8(DIVIDE_IF, 0)
	divide_some(&to, odd_row, odd, pivot);
	for (size_t at = 0; at < 2 * LINE; at += 8)
		divide_row(&to, _mm512_loadu_si512(aside + at), pivot);
	return (size_t) (to.left - words);
}

/* Returns the median of a sample. */
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

/* Sorts, unless partitions nest too deeply: *done is then false. */
TARGET static gs_status
quicksort(gs_work *work, uint64_t *words, size_t n, uint32_t depth, bool *done)
{
	while (n > FEW && *done)
	{
		uint64_t pivot = choose_pivot(words, n);
		size_t below = partition(words, n, pivot);

		GS_TRY(gs_work_add(work, n / 4));
		*done = depth-- > 0;
		if (below == 0)
		{
			/* no word is below the pivot: words equal to it are in place, if there are others */
			below = pivot == UINT64_MAX ? n : partition(words, n, pivot + 1);
			GS_TRY(gs_work_add(work, n / 4));
		}
		else
			GS_TRY(quicksort(work, words, below, depth, done));
		words += below;
		n -= below;
	}
	if (*done)
		sort_few(words, n);
	return GS_OK;
}

/* Sorts words if there is AVX-512; *done: false, words permuted, if nested partitions exceed depth. */
gs_status
gs_vector_sort(gs_work *work, uint64_t *words, size_t n, uint32_t depth, bool *done)
{
	*done = true;
	return quicksort(work, words, n, depth, done);
}
#else
gs_status
gs_vector_sort(gs_work *work, uint64_t *words, size_t n, uint32_t depth, bool *done)
{
	(void) work;
	(void) words;
	(void) depth;
	*done = n < 2;
	return GS_OK;
}
#endif
