/*
 * shapes.h: the contents of a tuning row: the shape of every kernel whose best shape depends on the GPU.  A row is for
 * the code of one architecture (tuning.h) and states the shared memory limit of a block, which every shape keeps.  A
 * role without a shape (no threads) has no code on that architecture and is not called.
 */
#ifndef GS_SHAPES_H
#define GS_SHAPES_H

#include <cstddef>
#include <cstdint>

/* ---------------------------------------------------------------- the scan family */

enum gs_tuned
{
	GS_T_NONE, /* end of a table */
	GS_T_SCAN,
	GS_T_SELECT, /* select by comparison, unique */
	GS_T_MASK,	 /* select by flags */
	GS_T_RUNS,
	GS_T_LONG, /* runs of two items or more: twice the positions in shared memory */
	GS_T_REDUCE,
	GS_T_FEW /* reductions of so few items that a block has at most two tiles */
};

/*
 * Primitive; bytes of an item (or key) and of a sum (0: any); working threads (service warps are extra); 16-byte
 * vectors per thread (odd: no bank conflicts); blocks per multiprocessor; stages of the ring; delays in ns
 * (lookback.cuh).  Items per thread = 16 * vectors / item bytes.  The first matching row applies.
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

#define GS_PLACE_BITS  9				   /* usual limit of a digit */
#define GS_WIDE_BITS   10				   /* limit where that saves a pass */
#define GS_WIDE_DIGITS 3				   /* if there are at most this many digits */
#define GS_PLACE	   (1 << GS_WIDE_BITS) /* counters of one digit place */
#define GS_PLACES	   8				   /* digit places of one sort: 64 bits */
#define GS_SORT_COUNTERS (GS_PLACES << GS_PLACE_BITS) /* contiguous counters of all its digits, including wide ones */

/* Input and output of a pass. */
enum gs_radix_io
{
	GS_WORDS,	/* 64-bit words */
	GS_COLUMN8, /* a column: keys are made from its values, row numbers from positions */
	GS_COLUMN4,
	GS_ROWS,	/* output: row numbers alone */
	GS_KEYS8,	/* unencoded keys, in and out */
	GS_KEYS4,
	GS_PAIRS4 /* a key and a value of 4 bytes, in separate arrays; one word within the pass */
};

/*
 * Digit bits that the kernel has bins for; input; bytes of a value; threads; items per thread; blocks; and whether
 * values are read late, when they are written, instead of being kept in shared memory.
 *
 * tile = threads * items.  Its words, the values kept and one set of counters per warp fill a block's shared memory:
 * bytes * tile + 4 * threads / 32 * 2^bits.  A run of equal digits in a tile should be 256 bytes long where memory
 * allows, so bins <= tile / 32; 10 bits get half of that.  Tiles of 8 bits are written place by place: items per digit
 * must be odd, or not an integer, to avoid bank conflicts.  One item too many spills and costs a third; `-Xptxas -v`
 * reports spills.
 */
struct gs_radix_shape
{
	int bits;
	gs_radix_io in;
	int value;
	int threads, items;
	int blocks; /* per multiprocessor, by limiting registers; 0: one */
	bool late;	/* values: each is read from its place when the tile is written */
};

#define GS_RADIX_SHAPES 16

/* Returns the kernel for a digit: bins for 8, 9 or 10 bits. */
constexpr int
gs_radix_kernel_bits(unsigned width)
{
	return width <= 8 ? 8 : (int) width;
}

/* Returns the neighbouring digits per thread, among the threads that have any. */
__host__ __device__ constexpr int
gs_radix_each(int threads, int bits)
{
	return threads < 1 << bits ? 2 : 1;
}

/* Returns the shared memory of an item: its word, its value if kept, its origin. */
constexpr int
gs_radix_bytes(const gs_radix_shape &s)
{
	return (s.in == GS_KEYS4 ? 4 : 8) + (s.value != 0 ? (s.late ? 0 : s.value) + 2 : 0);
}

/* Returns the shared memory of a pass. */
constexpr size_t
gs_radix_shared(const gs_radix_shape &s)
{
	const size_t bins = (size_t) 1 << s.bits, groups = s.threads * gs_radix_each(s.threads, s.bits) / bins;

	return gs_radix_bytes(s) * (size_t) s.threads * s.items +
		   4 * (s.threads / 32 * bins + groups * bins + 3 * bins + 8 + 32 + 8);
}

/* ---------------------------------------------------------------- buckets in shared memory (order/buckets.cuh) */

/* Threads; words per thread; bins, about one per word, an odd multiple of 4 per thread; blocks per multiprocessor. */
struct gs_buckets_shape
{
	int threads, items, bins, blocks;
};

#define GS_BUCKETS_WINDOW 16 /* words that a thread sorts */

/* Returns the shared memory of a block. */
constexpr size_t
gs_buckets_shared(const gs_buckets_shape &s)
{
	const size_t cap = (size_t) s.threads * s.items + 32;

	return 8 * (cap + cap / GS_BUCKETS_WINDOW) + 4 * ((size_t) s.bins + 32 + 4);
}

/* ---------------------------------------------------- parts of 4-byte keys in shared memory (arrays/bucket_sort.cu) */

/* What a key becomes: its distance from the part's minimum, and perhaps its place, to keep equal keys in order. */
enum gs_part_words
{
	GS_PART_CODES, /* the distance: integers alone */
	GS_PART_NEAR,  /* both in 32 bits: integers with values */
	GS_PART_FAR	   /* both in 48 of 64 bits, in order as doubles too */
};

/*
 * Kind of words; whether it is for long buckets; threads; items per thread (its window); bins per thread; blocks per
 * multiprocessor.  A thread's window and bins are odd multiples of 16 bytes, to avoid bank conflicts.
 */
struct gs_part_shape
{
	gs_part_words words;
	bool large;
	int threads, window, bins, blocks;
};

#define GS_PART_SHAPES 6

/* Returns the shared memory of a block, without its cursor (arrays/bucket_sort.cu) of less than 64 bytes. */
constexpr size_t
gs_part_shared(const gs_part_shape &s)
{
	const size_t words = (size_t) s.threads * s.window;
	const size_t bins = (size_t) s.threads * (s.window > s.bins ? s.window : s.bins);

	return (s.words == GS_PART_FAR ? 8 : 4) * words + sizeof(uint32_t) * (bins + 64);
}

/* ---------------------------------------------------------------- merge sort */

/* Limit of runs merged per pass, a power of 2.  With 16, finding the cuts costs more than a saved pass gains. */
#define GS_MERGE_WAYS 8

/*
 * Bytes of a key; threads (a power of 2); items per thread (odd: no bank conflicts); blocks per multiprocessor.  Many
 * items per thread cost registers but save searches.
 */
struct gs_merge_shape
{
	int key;
	int threads, items, blocks;
};

#define GS_MERGE_SHAPES 5

/* Rounds up to 16 bytes, the alignment of arrays in shared memory. */
__host__ __device__ constexpr size_t
gs_merge_round(size_t bytes)
{
	return (bytes + 15) / 16 * 16;
}

/* Returns the shared memory of a block. */
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
	int arch;	  /* compute capability * 10, which names the row */
	int shared;	  /* KB per block */
	int counters; /* copies of the digits' counters in a read of keys, times their bytes (radix/count.cu) */
	int loads;	  /* 16-byte loads that a thread of the key statistics has in flight (order/key_stats.cu) */
	gs_radix_shape radix[GS_RADIX_SHAPES];
	gs_buckets_shape buckets;
	gs_part_shape parts[GS_PART_SHAPES];
	gs_merge_shape merge[GS_MERGE_SHAPES];
	gs_shape scan[GS_SCAN_SHAPES];
};

#endif
