/*
 * radix.cuh: sorts by digit passes: requests, digits, and the available passes.
 */
#ifndef GS_CUDA_RADIX_RADIX_CUH
#define GS_CUDA_RADIX_RADIX_CUH

#include "../../common/types.h"
#include "sort_state.cuh"
#include "args.cuh"

/* Maps a key to an unsigned number in order.  of: whether keys are floats, and the mask after float_order(). */
template <class T, class OF>
__device__ __forceinline__ T
gs_key_code(T x, const OF &of)
{
	if (of.floats)
		x = float_order(x, true);
	return x ^ (T) of.flip;
}

/* A stable sort by bits of a key: digits from the lowest bit up, as few as possible and as even as possible. */
struct gs_radix_sort
{
	u64 n;
	gs_radix_io from;	 /* GS_COLUMN8, GS_COLUMN4: makes words of in; otherwise reads words */
	const void *in;
	gs_transform t;		 /* from a column */
	u32 bits;			 /* of the key */
	u32 skip;			 /* its lowest bits, which are not sorted by */
	u32 shift;			 /* words: position of the key */
	u32 row_bits;		 /* bits of the row number below the key, also in words */
	bool rows;			 /* the last pass writes row numbers to order, otherwise words */
	const u32 *counts;	 /* GS_PLACE for each digit, or NULL: to be counted.  Digits as gs_radix_digits cuts them */
	u32 rotate_by;			 /* rows that come first by the key but belong last */
	u64 *a, *b;			 /* words; input words are in one of these */
	u32 *order;
	const u32 *gate;	 /* device: do nothing unless it has this value */
	u32 gate_open;
	void *temp;			 /* gs_radix_temp() bytes */
	u64 *result;		 /* out: the array with the words */
	u32 passes;			 /* out */
};

/* Splits a key into digits of up to `most` bits, above GS_PLACE_BITS to save one, widest first; returns how many. */
__host__ __device__ static inline u32
gs_radix_digits(u32 bits, u32 most, u32 *widths)
{
	const u32 usual = most < GS_PLACE_BITS ? most : GS_PLACE_BITS, wide = (bits + most - 1) / most;
	u32 digits = bits == 0 ? 1 : (bits + usual - 1) / usual;

	if (wide < digits && wide != 0 && wide <= GS_WIDE_DIGITS)
		digits = wide;
	for (u32 p = 0; p < digits; p++)
		widths[p] = bits == 0 ? 1 : (bits + digits - 1 - p) / digits;
	return digits;
}

/* A count of all digits of a sort. */
struct gs_radix_counting
{
	const void *in;
	u64 n;
	gs_transform t; /* columns */
	u32 shift, digits;
	u32 widths[GS_PLACES];
	u32 *counts; /* GS_PLACE per digit, initially zero */
	const u32 *gate;
	u32 gate_open;
};

u32 gs_radix_most(const gs_cuda_engine *e);
gs_status gs_radix_count(gs_cuda_engine *e, gs_radix_io from, const gs_radix_counting &a);
gs_status gs_radix_count_keys(gs_cuda_engine *e, size_t key_bytes, bool floats, const gs_radix_counting &a);
size_t gs_radix_temp(const gs_cuda_engine *e, u64 n, u32 bits);
gs_status gs_radix_clear(gs_cuda_engine *e, void *p, size_t bytes, const u32 *gate, u32 gate_open);
gs_status gs_radix_run(gs_cuda_engine *e, gs_radix_sort *s);
gs_status gs_radix_launch(gs_cuda_engine *e, const gs_radix_shape &shape, void (*kernel)(const gs_radix_args),
						  gs_radix_args &a);
gs_status gs_radix_pass_order(gs_cuda_engine *e, int bits, gs_radix_io in, gs_radix_io out, gs_radix_args &a);
gs_status gs_radix_pass_order_wide(gs_cuda_engine *e, gs_radix_io in, gs_radix_io out, gs_radix_args &a);
gs_status gs_radix_pass_keys(gs_cuda_engine *e, size_t key_bytes, size_t value_width, bool floats, gs_radix_args &a);
gs_status gs_radix_pass_floats(gs_cuda_engine *e, size_t key_bytes, size_t value_width, gs_radix_args &a);
gs_status gs_radix_pass_pairs(gs_cuda_engine *e, bool floats, bool first, bool last, gs_radix_args &a);
gs_status gs_radix_pass_float_pairs(gs_cuda_engine *e, bool first, bool last, gs_radix_args &a);
gs_status gs_radix_pass_segments(gs_cuda_engine *e, size_t key_bytes, size_t value_width, bool floats,
								 gs_radix_args &a);
gs_status gs_radix_pass_segments_pairs(gs_cuda_engine *e, bool floats, bool first, bool last, gs_radix_args &a);
gs_status gs_radix_pass_segments_floats(gs_cuda_engine *e, size_t key_bytes, size_t value_width, gs_radix_args &a);
gs_status gs_radix_pass_segments_float_pairs(gs_cuda_engine *e, bool first, bool last, gs_radix_args &a);

#endif
