/*
 * key.cuh: the key of rows as kernels see it, and statistics of its columns.
 */
#ifndef GS_CUDA_ORDER_KEY_CUH
#define GS_CUDA_ORDER_KEY_CUH

#include "../radix/radix.cuh"

/* Orders of at most this many rows run in one launch (order/small.cu) if they fit. */
#define GS_SMALL_ROWS 65536

/* Returns the leading bits by which to sort rows into buckets (order/buckets.cu); 0: none.  way: gs_buckets_way. */
__host__ __device__ static inline u32
gs_buckets_lead(u32 bits, u64 n, u32 most, u32 way)
{
	u32 widths[GS_PLACES], lead = gs_bits((n - 1) / 1280);

	bits = bits < 64 ? bits : 64;
	if (way == 0 || lead == 0)
		return 0;
	if (lead == most + 1)
		lead = most; /* buckets twice as long cost less than another pass */
	if (lead >= bits)
		return 0;

	const u32 some = gs_radix_digits(lead, most, widths), all = gs_radix_digits(bits, most, widths);

	/* the last step takes a quarter longer than a pass, unless digits are wide */
	return way >= 2 || all >= some + 2 || (all > some && widths[0] > GS_PLACE_BITS) ? lead : 0;
}

enum gs_dev_kind
{
	GS_DEV_NULL,  /* one bit: is the column NULL? */
	GS_DEV_VALUE, /* up to 64 bits */
	GS_DEV_BYTES  /* a string; NULL counts as empty, after its GS_DEV_NULL */
};

#define GS_POSITIONS 12 /* characters behind the common prefix with an alphabet each */

/* Characters in use, numbered in order, 0 the end.  One alphabet per position, and one for the rest. */
struct gs_dev_alphabet
{
	u32 bits;
	u32 pad[3];
	u16 rank[256];
};

struct gs_dev_field
{
	const u8 *values; /* GS_DEV_BYTES: 32-bit offsets */
	const u64 *nulls; /* NULL: no NULLs */
	const u8 *heap;
	const gs_dev_alphabet *alphabets; /* GS_POSITIONS + 1 */
	u64 flip, base, bump, null_code;
	u32 kind, bits, shift;
	u32 width, stride; /* bytes read, bytes from row to row */
	u32 floats;
	u32 prefix, longest; /* of strings */
	u32 desc;
	u32 pad;
};

/* A place in the key up to which rows are sorted: a field, and bits of it (bytes of a string). */
struct gs_dev_place
{
	u32 field, at;
};

/* Statistics of a column, or of one half of it.  Initially all zero. */
struct gs_key_stats
{
	u64 not_min, max;	 /* of values as order-preserving unsigned numbers */
	u64 ones, zeros;	 /* bits that some value has set, clear */
	u32 valid, nulls;	 /* rows (may wrap: only zero or not matters) */
	u32 seen;			 /* 1: some value is less than its predecessor; 2: some is not */
	u32 longest, not_shortest, prefix; /* strings */
	u64 first_string;	 /* row + 1 of the first string, complemented */
	/* digits counted with the statistics: of the guess_bits bits above guess_shift; none if guess_bits is 0 */
	u32 guess_shift, guess_bits;
	u32 guess_lead; /* counts only this many leading bits, if not 0 */
	u32 pad;
	u64 odd; /* values whose bit above those is set */
};

/* Distribution of rows over the leading bits of their keys: order/buckets.cu. */
struct gs_spread
{
	u64 alike;	  /* rows that found one with equal bits, and 10 more, at their hash */
	u32 crowd;	  /* rows in the fullest cell */
	u32 pad;
	u32 top[512]; /* rows by their first 9 bits */
};

/*
 * Returns how far to rotate the order of values modulo a power of 2, of minimum min: the rows that come first but
 * belong last.  odd: values with the bit above the keys set.  If min is among these, the other values come first.
 */
GS_BOTH u32
gs_rotation(u64 odd, u64 min, u32 above, u64 rows)
{
	return (u32) (above < 64 && (min >> above & 1) != 0 ? rows - odd : odd);
}

#define GS_SEEN_FALL 1u
#define GS_SEEN_RISE 2u

#endif
