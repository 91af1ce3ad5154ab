/*
 * sort_tuning.h: the shapes of the sort family's kernels, in one place.
 *
 * A row: digit bits that the kernel has bins for, how it ranks, whether it reads columns or words, threads, items per
 * thread.  tile = threads * items; its words and one set of counters per warp fill the shared memory of one
 * multiprocessor: 8 * tile + 4 * threads / 32 * 2^bits < 227 KB.  A run of equal digits in a tile should be 256 bytes long,
 * so bins <= tile / 32.  One item too many spills and costs a third; the build reports spills (make spills).
 */
#ifndef GS_SORT_TUNING_H
#define GS_SORT_TUNING_H

#define GS_PLACE_BITS 9					  /* the widest digit */
#define GS_PLACE	  (1 << GS_PLACE_BITS) /* counters of one digit place */
#define GS_PLACES	  8					  /* digit places of one sort: 64 bits */

/* What a pass reads and writes. */
enum gs_radix_io
{
	GS_WORDS,	/* 64-bit words */
	GS_COLUMN8, /* a column: keys are made of its values, row numbers from positions */
	GS_COLUMN4,
	GS_ROWS /* out: row numbers alone */
};

struct gs_radix_shape
{
	int bits;
	bool atomics, column; /* column: pass 1 */
	int threads, items;
};

constexpr gs_radix_shape gs_radix_shapes[] = {
	/* bits atomics column threads items */
	{9, false, false, 896, 17},
	{9, false, true, 896, 15},
	{9, true, false, 768, 20},
	{9, true, true, 768, 17},
	{8, false, false, 640, 24},
	{8, false, true, 640, 21},
	{8, true, false, 640, 24},
	{8, true, true, 640, 21},
};

constexpr gs_radix_shape
gs_radix_shape_of(int bits, bool atomics, bool column)
{
	for (const gs_radix_shape &s : gs_radix_shapes)
		if (s.bits == bits && s.atomics == atomics && s.column == column)
			return s;
	return gs_radix_shapes[0];
}

/* The kernel for a digit: bins for 8 or for 9 bits. */
constexpr int
gs_radix_kernel_bits(unsigned width)
{
	return width <= 8 ? 8 : 9;
}

#endif
