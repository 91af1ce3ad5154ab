/*
 * shapes.h: what a row of the tuning tables says: the shape of every kernel whose best shape depends on the GPU.
 *
 * A row is made for the code of one architecture (tuning.h), and says how much shared memory a block may have there; no
 * shape takes more.  A role without a shape (no threads) has no code on that architecture and is not asked for.
 */
#ifndef GS_SHAPES_H
#define GS_SHAPES_H

#include <cstddef>
#include <cstdint>

/* ---------------------------------------------------------------- the scan family */

enum gs_tuned
{
	GS_T_NONE, /* the end of a table */
	GS_T_SCAN,
	GS_T_SELECT, /* by comparison, unique */
	GS_T_MASK,	 /* by flags */
	GS_T_RUNS,
	GS_T_LONG, /* runs of two items or more: twice the positions in shared memory */
	GS_T_REDUCE,
	GS_T_FEW /* reductions of so few items that a block has at most two tiles */
};

/*
 * Which primitive, bytes of an item (or key) and of a sum (0: any), threads that work (service warps come on top),
 * 16-byte vectors per thread (odd: no bank conflicts), blocks per multiprocessor, stages of the ring, and how long to
 * wait (ns, see lookback.cuh).  Items per thread = 16 * vectors / item bytes.  The first row that fits is taken.
 */
struct gs_shape
{
	gs_tuned what;
	int item, value;
	int threads, vectors, blocks, stages;
	int delay, light, pause;
};

#define GS_SCAN_SHAPES 16

/* ---------------------------------------------------------------- digit passes (radix/) */

#define GS_PLACE_BITS  9				   /* digits, as a rule at most */
#define GS_WIDE_BITS   10				   /* where that saves a pass */
#define GS_WIDE_DIGITS 3				   /* of so few */
#define GS_PLACE	   (1 << GS_WIDE_BITS) /* counters of one digit place */
#define GS_PLACES	   8				   /* digit places of one sort: 64 bits */
#define GS_SORT_COUNTERS (GS_PLACES << GS_PLACE_BITS) /* of all its digits, wide ones too, side by side */

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

/*
 * Digit bits that the kernel has bins for, what it reads, bytes of a value that goes along, threads, items per thread,
 * blocks, and whether values are read where they are written, not kept in shared memory meanwhile.  tile = threads *
 * items; its words, the values that are kept and one set of counters per warp fill the shared memory of a block: bytes
 * * tile + 4 * threads / 32 * 2^bits.  A run of equal digits in a tile should be 256 bytes long where there is the
 * memory, so bins <= tile / 32; 10 bits get half of that.  Tiles of 8 bits are written place by place: items per digit
 * have to be odd, or not whole, so that lanes do not meet in a bank.  One item too many spills and costs a third;
 * `-Xptxas -v` reports spills.
 */
struct gs_radix_shape
{
	int bits;
	gs_radix_io in;
	int value;
	int threads, items;
	int blocks; /* per multiprocessor, for which registers are kept; 0: one */
	bool late;	/* values: each is read from its place in the tile when the tile goes out */
};

#define GS_RADIX_SHAPES 16

/* The kernel for a digit: bins for 8, 9 or 10 bits. */
constexpr int
gs_radix_kernel_bits(unsigned width)
{
	return width <= 8 ? 8 : (int) width;
}

/* Neighbouring digits that a thread has, of as many threads as have any. */
__host__ __device__ constexpr int
gs_radix_each(int threads, int bits)
{
	return threads < 1 << bits ? 2 : 1;
}

/* Bytes of an item of a pass in shared memory: its word, its value if that is kept, where it came from. */
constexpr int
gs_radix_bytes(const gs_radix_shape &s)
{
	return (s.in == GS_KEYS4 ? 4 : 8) + (s.value != 0 ? (s.late ? 0 : s.value) + 2 : 0);
}

/* Shared memory that a pass takes. */
constexpr size_t
gs_radix_shared(const gs_radix_shape &s)
{
	const size_t bins = (size_t) 1 << s.bits, groups = s.threads * gs_radix_each(s.threads, s.bits) / bins;

	return gs_radix_bytes(s) * (size_t) s.threads * s.items +
		   4 * (s.threads / 32 * bins + groups * bins + 3 * bins + 8 + 32 + 8);
}

/* ---------------------------------------------------------------- buckets in shared memory (order/buckets.cuh) */

/*
 * Threads, words per thread, bins, blocks per multiprocessor.  Some one word to a bin; bins / threads an odd number of
 * times 4.
 */
struct gs_buckets_shape
{
	int threads, items, bins, blocks;
};

#define GS_BUCKETS_WINDOW 16 /* words that a thread puts in order */

/* Shared memory of a block. */
constexpr size_t
gs_buckets_shared(const gs_buckets_shape &s)
{
	const size_t cap = (size_t) s.threads * s.items + 32;

	return 8 * (cap + cap / GS_BUCKETS_WINDOW) + 4 * ((size_t) s.bins + 32 + 4);
}

/* ---------------------------------------------------- parts of 4-byte keys in shared memory (arrays/bucket_sort.cu) */

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
 * What words are, whether it is for long buckets, threads, items of a thread (its window), bins of a thread, blocks per
 * multiprocessor.  A thread's window and its bins are odd numbers of 16 bytes, so that no lanes meet in a bank.
 */
struct gs_part_shape
{
	gs_part_words words;
	bool large;
	int threads, window, bins, blocks;
};

#define GS_PART_SHAPES 6

/* Shared memory of a block, but for its cursor (arrays/bucket_sort.cu), which takes less than 64 bytes. */
constexpr size_t
gs_part_shared(const gs_part_shape &s)
{
	const size_t words = (size_t) s.threads * s.window;
	const size_t bins = (size_t) s.threads * (s.window > s.bins ? s.window : s.bins);

	return (s.words == GS_PART_FAR ? 8 : 4) * words + sizeof(uint32_t) * (bins + 64);
}

/* ---------------------------------------------------------------- merge sort */

/* Runs merged in one pass at most, a power of 2: with 16, finding the cuts costs more than a pass less gains. */
#define GS_MERGE_WAYS 8

/*
 * Bytes of a key, threads (a power of 2), items per thread (odd: no bank conflicts), blocks per multiprocessor.  Many
 * items per thread cost registers, and spare searches.
 */
struct gs_merge_shape
{
	int key;
	int threads, items, blocks;
};

#define GS_MERGE_SHAPES 5

/* Arrays in shared memory begin at 16 bytes. */
__host__ __device__ constexpr size_t
gs_merge_round(size_t bytes)
{
	return (bytes + 15) / 16 * 16;
}

/* Shared memory of a block. */
constexpr size_t
gs_merge_shared(const gs_merge_shape &s, size_t value_width)
{
	const size_t cap = (size_t) s.threads * s.items, pad = (size_t) s.items + 1;

	return gs_merge_round((cap + pad) * (s.key < 8 ? s.key : 8)) + (s.key > 8 ? cap * (s.key - 8) : 0) +
		   gs_merge_round(cap * value_width) + (s.key > 8 || value_width > 0 ? gs_merge_round((cap + pad) * 2) : 0);
}

/* ---------------------------------------------------------------- a row */

struct gs_tuning
{
	int arch;	  /* compute capability, 10 times: the row's name */
	int shared;	  /* KB that a block may have */
	int counters; /* copies of the digits' counters in a read of keys, times their bytes (radix/count.cu) */
	int loads;	  /* of 16 bytes that a thread of the key statistics has under way (order/key_stats.cu) */
	gs_radix_shape radix[GS_RADIX_SHAPES];
	gs_buckets_shape buckets;
	gs_part_shape parts[GS_PART_SHAPES];
	gs_merge_shape merge[GS_MERGE_SHAPES];
	gs_shape scan[GS_SCAN_SHAPES];
};

#endif
