/*
 * sort_tuning.h: the shapes of the sort family's kernels, in one place.
 *
 * A row: digit bits that the kernel has bins for, how it ranks, what it reads, bytes of a value that goes along,
 * threads, items per thread.  tile = threads * items; its words and values and one set of counters per warp fill the
 * shared memory of one multiprocessor: bytes * tile + 4 * threads / 32 * 2^bits < 227 KB.  A run of equal digits in a
 * tile should be 256 bytes long, so bins <= tile / 32; 10 bits get half of that.  Tiles of 8 bits are written place by
 * place: items per digit have to be odd, or not whole, so that lanes do not meet in a bank.  One item too many spills
 * and costs a third; the build reports spills (make spills).
 */
#ifndef GS_SORT_TUNING_H
#define GS_SORT_TUNING_H

#define GS_PLACE_BITS  9				   /* digits, as a rule at most */
#define GS_WIDE_BITS   10				   /* where that saves a pass */
#define GS_WIDE_DIGITS 3				   /* of so few */
#define GS_PLACE	   (1 << GS_WIDE_BITS) /* counters of one digit place */
#define GS_PLACES	   8				   /* digit places of one sort: 64 bits */
#define GS_SORT_COUNTERS (GS_PLACES << GS_PLACE_BITS) /* of all its digits, wide ones too, side by side */

/* Orders of at most so many rows go in one launch (order_small.cu), where they fit. */
#define GS_SMALL_ROWS 65536

/* What a pass reads and writes. */
enum gs_radix_io
{
	GS_WORDS,	/* 64-bit words */
	GS_COLUMN8, /* a column: keys are made of its values, row numbers from positions */
	GS_COLUMN4,
	GS_ROWS,	/* out: row numbers alone */
	GS_KEYS8,	/* keys as they came, in and out */
	GS_KEYS4,
	GS_PAIRS4 /* a key and a value of 4 bytes, from and to an array each; one word within */
};

struct gs_radix_shape
{
	int bits;
	bool atomics;
	gs_radix_io in;
	int value;
	int threads, items;
};

constexpr gs_radix_shape gs_radix_shapes[] = {
	/* bits atomics in value threads items */
	{10, false, GS_WORDS, 0, 640, 24},
	{10, false, GS_COLUMN8, 0, 640, 24},
	{10, false, GS_COLUMN4, 0, 640, 24},
	{10, true, GS_WORDS, 0, 640, 24},
	{10, true, GS_COLUMN8, 0, 640, 24},
	{10, true, GS_COLUMN4, 0, 640, 24},
	{9, false, GS_WORDS, 0, 896, 17},
	{9, false, GS_COLUMN8, 0, 896, 17},
	{9, false, GS_COLUMN4, 0, 896, 17},
	{9, true, GS_WORDS, 0, 768, 20},
	{9, true, GS_COLUMN8, 0, 896, 17},
	{9, true, GS_COLUMN4, 0, 896, 17},
	{8, false, GS_WORDS, 0, 640, 25},
	{8, false, GS_COLUMN8, 0, 640, 25},
	{8, false, GS_COLUMN4, 0, 640, 35},
	{8, true, GS_WORDS, 0, 640, 25},
	{8, true, GS_COLUMN8, 0, 640, 25},
	{8, true, GS_COLUMN4, 0, 640, 35},
	{8, false, GS_KEYS8, 0, 640, 25},
	{8, true, GS_KEYS8, 0, 640, 25},
	{8, false, GS_KEYS8, 4, 640, 17},
	{8, false, GS_KEYS8, 8, 768, 13},
	{8, false, GS_KEYS4, 0, 768, 31},
	{8, true, GS_KEYS4, 0, 768, 31},
	{8, false, GS_KEYS4, 8, 640, 18},
	{8, false, GS_PAIRS4, 0, 640, 25},
};

constexpr gs_radix_shape
gs_radix_shape_of(int bits, bool atomics, gs_radix_io in, int value)
{
	for (const gs_radix_shape &s : gs_radix_shapes)
		if (s.bits == bits && s.atomics == atomics && s.in == in && s.value == value)
			return s;
	return gs_radix_shapes[0];
}

/* The kernel for a digit: bins for 8, 9 or 10 bits. */
constexpr int
gs_radix_kernel_bits(unsigned width)
{
	return width <= 8 ? 8 : (int) width;
}

/* ---------------------------------------------------------------- buckets in shared memory (finish.cuh) */

/*
 * Threads, words per thread, bins, blocks per multiprocessor.  Some one word to a bin; bins / threads an odd number of
 * times 4.  2^28 rows 1.56 ms; 512 x 16 and 6144 bins, two blocks 1.62, 10240 bins 0.2 more; 256 x 16, four blocks 1.54
 * to 1.57.
 */
struct gs_finish_shape
{
	int threads, items, bins, blocks;
};

constexpr gs_finish_shape gs_finish_rows = {384, 16, 4608, 3};

/* ---------------------------------------------------------------- parts of 4-byte keys in shared memory (parts.cu) */

/*
 * What becomes of a key: its distance from the part's least, perhaps with its place in the part.  Places keep the order
 * of keys that are alike: for their values, or because they are floats (0 and -0).
 */
enum gs_part_words
{
	GS_PART_CODES, /* the distance: integers alone */
	GS_PART_NEAR,  /* both in 32 bits: integers with values */
	GS_PART_FAR	   /* both in 48 bits of 64, in order as doubles too */
};

/*
 * A row: what words are, whether it is for long buckets, threads, items of a thread (its window), bins of a thread,
 * blocks per multiprocessor.  A thread's window and its bins are odd numbers of 16 bytes, so that no lanes meet in a
 * bank.
 */
struct gs_part_shape
{
	gs_part_words words;
	bool large;
	int threads, window, bins, blocks;
};

constexpr gs_part_shape gs_part_shapes[] = {
	/* words large threads window bins blocks */
	{GS_PART_CODES, false, 256, 20, 20, 4},
	{GS_PART_NEAR, false, 256, 20, 20, 3},
	{GS_PART_FAR, false, 256, 18, 12, 3},
	{GS_PART_CODES, true, 1024, 20, 20, 1},
	{GS_PART_NEAR, true, 768, 20, 20, 1},
	{GS_PART_FAR, true, 768, 18, 12, 1},
};

constexpr gs_part_shape
gs_part_shape_of(gs_part_words words, bool large)
{
	for (const gs_part_shape &s : gs_part_shapes)
		if (s.words == words && s.large == large)
			return s;
	return gs_part_shapes[0];
}

/* ---------------------------------------------------------------- merge sort */

#define GS_MERGE_WAYS 8 /* runs merged in one pass at most, a power of 2: with 16, finding the cuts costs more than a pass less gains */

/*
 * A row: bytes of a key, threads (a power of 2), items per thread (odd: no bank conflicts), blocks per multiprocessor,
 * whether it is for devices with little shared memory.  Many items per thread cost registers, and spare searches.
 */
struct gs_merge_shape
{
	int key;
	bool small;
	int threads, items, blocks;
};

constexpr gs_merge_shape gs_merge_shapes[] = {
	/* key small threads items blocks */
	{4, false, 256, 23, 3},
	{8, false, 256, 19, 3},
	{16, false, 256, 15, 2},
	{24, false, 128, 15, 3},
	{32, false, 128, 15, 2},
	{0, true, 128, 11, 4},
};

constexpr gs_merge_shape
gs_merge_shape_of(int key, bool small)
{
	for (const gs_merge_shape &s : gs_merge_shapes)
		if (s.small == small && (s.small || s.key == key))
			return s;
	return gs_merge_shapes[0];
}

#endif
