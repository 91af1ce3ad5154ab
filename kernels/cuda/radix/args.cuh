/*
 * args.cuh: what a digit pass (order_pass.cuh, array_pass.cuh) is told, and what it does with keys and with segments.
 *
 * Keys, and keys with values: the digit is taken from the key as it came.  Values come to shared memory past the
 * registers while the keys are ranked; each place of the ordered tile knows where its key came from.  By shapes that
 * read them late, for larger tiles in little memory, each comes from there when it is written.  Where a pass reads and
 * writes is looked up in its step on the device, so that passes over a digit that all keys share can be left out
 * without the host's knowing.  Pairs of 4 and 4 bytes go as one word between the first pass and the last.
 *
 * Segments, each sorted for itself (segments_large.cu): keys and values whose tiles are told by a table, since none
 * crosses a segment.  The first tile of a segment publishes where its digits begin, its counts included, as a total, so
 * that nobody looks back any further.  The threads share a tile that is not whole evenly, so that it takes no longer
 * than its items do.
 */
#ifndef GS_CUDA_RADIX_ARGS_CUH
#define GS_CUDA_RADIX_ARGS_CUH

#include "../base/engine.cuh"
#include "tile.cuh"

#define GS_KEY_BITS 8 /* of a digit of keys at most; row orders have wider ones */

/*
 * How a column's integer becomes a key: ((x ^ mask) + plus & keep) >> shift, in the column's width.  mask turns the
 * sign, and all bits of descending columns.  Floats are encoded beforehand.
 */
struct gs_transform
{
	u64 mask, plus, keep;
	u32 shift;
};

/* Keys: what a pass does, decided on the device.  0: the input, 1: temporary memory, 2: the output. */
struct gs_radix_step
{
	u32 active, from, to;
};

/* A tile of a segment. */
struct alignas(16) gs_radix_tile
{
	u32 start, valid; /* its items */
	u32 index;		  /* within the segment */
	u32 segment;
};

struct gs_radix_args
{
	gs_sweep sweep; /* tiles: of this launch */
	const void *in;
	void *out;
	u64 n;
	u32 first;		   /* tile with which this launch begins */
	u32 shift, mask;   /* the digit: of the word, or of the key if a column is read */
	u32 row_bits;	   /* column: word = key >> drop << row_bits | row */
	u32 drop;		   /* lowest bits of the key that are left out because this pass has used them; at most row_bits */
	u32 row_mask;	   /* what of a word is the row */
	u32 rotate_by;	   /* rows: the order begins with the row that comes after so many; n <= 2^31 then */
	u32 prefetch;	   /* in is aligned for it */
	gs_transform t;
	const u32 *counts; /* counters of this digit over all rows */
	const u32 *bases;  /* where digits begin, if an earlier launch has done a part of the pass */
	u32 *next_bases;   /* and for the next launch */
	u32 *status;	   /* a word per tile and digit */
	const u32 *gate;   /* do nothing unless *gate is gate_open */
	u32 gate_open;

	/* keys and values */
	const gs_radix_step *step; /* NULL: as in, out, values, out_values say */
	void *keys_at[3], *values_at[3];
	const void *values; /* instead of a step: beside in and out */
	void *out_values;
	u32 flip;	   /* digits are turned by it: signed numbers, descending */
	u64 key_flip;  /* the same for whole keys */
	u32 prefetch_values;

	/* segments: counts are where a segment's digits begin in it, `stride` from segment to segment */
	const gs_radix_tile *tiles;
	u32 stride;
};

/*
 * A column's value as a key: in order, counted from the least one, modulo 2^bits, without low bits that are all alike.
 */
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
