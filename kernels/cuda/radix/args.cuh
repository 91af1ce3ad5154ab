/*
 * args.cuh: arguments of a digit pass (order_pass.cuh, array_pass.cuh), and how passes handle keys and segments.
 *
 * Keys, and keys with values: the digit is taken from the unencoded key.  Values go to shared memory, bypassing
 * registers, while the keys are ranked; each place of the sorted tile records where its key came from.  Shapes that
 * read values late, to fit larger tiles into little memory, fetch each value when it is written.  A pass looks up its
 * input and output in its step on the device, so that passes over constant digits can be skipped without the host.
 * Pairs of 4 and 4 bytes travel as one word between the first pass and the last.
 *
 * Segments (segments_large.cu): keys and values whose tiles are listed in a table, since no tile crosses a segment.
 * The first tile of a segment publishes its counts plus the digits' starts as a total, where the look-back of later
 * tiles ends.  Threads share a partial tile evenly, so that it takes no longer than its items need.
 */
#ifndef GS_CUDA_RADIX_ARGS_CUH
#define GS_CUDA_RADIX_ARGS_CUH

#include "../base/engine.cuh"
#include "tile.cuh"

#define GS_KEY_BITS 8 /* limit for a digit of keys; row orders have wider ones */

/* Turns a column's integer to a key: ((x ^ mask) + plus & keep) >> shift, in its width.  Floats are encoded before. */
struct gs_transform
{
	u64 mask, plus, keep;
	u32 shift;
};

/* Step of a pass, decided on the device: 0 is the input, 1 temporary memory, 2 the output. */
struct gs_radix_step
{
	u32 active, from, to;
};

/* A tile of a segment. */
struct alignas(16) gs_radix_tile
{
	u32 start, valid; /* its items */
	u32 index;		  /* within its segment */
	u32 segment;
};

struct gs_radix_args
{
	gs_sweep sweep; /* tiles of this launch */
	const void *in;
	void *out;
	u64 n;
	u32 first;		   /* first tile of this launch */
	u32 shift, mask;   /* the digit: of the word or, for a column, of the key */
	u32 row_bits;	   /* column: word = key >> drop << row_bits | row */
	u32 drop;		   /* lowest bits of the key left out, as this pass has used them; at most row_bits */
	u32 row_mask;	   /* the row's bits in a word */
	u32 rotate_by;	   /* rows: the order starts after this many rows; n <= 2^31 then */
	u32 prefetch;	   /* in is aligned for prefetching */
	gs_transform t;
	const u32 *counts; /* counters of this digit over all rows */
	const u32 *bases;  /* start of each digit, if an earlier launch has done part of the pass */
	u32 *next_bases;   /* for the next launch */
	u32 *status;	   /* one word per tile and digit */
	const u32 *gate;   /* do nothing unless *gate is gate_open */
	u32 gate_open;

	/* keys and values */
	const gs_radix_step *step; /* NULL: in, out, values, out_values apply */
	void *keys_at[3], *values_at[3];
	const void *values; /* without a step: beside in and out */
	void *out_values;
	u32 flip;	   /* XOR of digits: signed numbers, descending */
	u64 key_flip;  /* XOR of whole keys */
	u32 prefetch_values;

	/* segments: counts has each digit's start in its segment; `stride` is the distance between segments */
	const gs_radix_tile *tiles;
	u32 stride;
};

/* Turns a column's value into a key: in order, from the minimum, modulo 2^bits, without constant low bits. */
__device__ __forceinline__ u64
key_of_value(u64 x, const gs_transform &t)
{
	return ((x ^ t.mask) + t.plus & t.keep) >> t.shift;
}

__device__ __forceinline__ u64
key_of_value(u32 x, const gs_transform &t)
{
	return ((x ^ (u32) t.mask) + (u32) t.plus & (u32) t.keep) >> t.shift;
}

#endif
