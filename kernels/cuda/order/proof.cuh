/*
 * proof.cuh: rows as a proof of their order sees them: columns as they came, and their comparison as gs.h has it.
 */
#ifndef GS_CUDA_ORDER_PROOF_CUH
#define GS_CUDA_ORDER_PROOF_CUH

#include "order.cuh"

/* A row, and what it has in a column: its value, or as much as a word holds of it. */
struct proof_row
{
	u64 word;
	u32 row;
	u32 null;
};

/* Returns a string, and its length. */
__device__ __forceinline__ const u8 *
string_at(const gs_column &c, u32 row, u32 &length)
{
	const u32 *offsets = (const u32 *) c.values;
	const u32 at = offsets[row];

	length = offsets[row + 1] - at;
	return c.heap + at;
}

/* Returns a value widened to 64 bits, floats as doubles; of 16 bytes the upper half, of a string the first 8 bytes. */
__device__ __forceinline__ u64
word_at(const gs_column &c, u32 row)
{
	u32 length;
	const u8 *s;

	switch (c.spec.type)
	{
		case GS_U8:
			return ((const u8 *) c.values)[row];
		case GS_U16:
			return ((const u16 *) c.values)[row];
		case GS_U32:
			return ((const u32 *) c.values)[row];
		case GS_I16:
			return (u64) (i64) ((const int16_t *) c.values)[row];
		case GS_I32:
			return (u64) (i64) ((const i32 *) c.values)[row];
		case GS_F32:
			return (u64) __double_as_longlong((double) ((const float *) c.values)[row]);
		case GS_U128:
			return ((const u64 *) c.values)[2 * (u64) row + 1];
		case GS_BYTES:
			s = string_at(c, row, length);
			return gs_load8(s, length);
		default:
			return ((const u64 *) c.values)[row];
	}
}

/* Returns a row with what it has in a column. */
__device__ __forceinline__ proof_row
row_in(const gs_column &c, u32 row)
{
	const u32 null = c.nulls != NULL ? (u32) (c.nulls[row / 64] >> (row % 64)) & 1 : 0;

	return {word_at(c, row), row, null};
}

/* Compares words of a type.  Returns a negative number, zero, or a positive number, as all comparisons do. */
__device__ __forceinline__ int
compare_words(gs_type type, u64 x, u64 y)
{
	const double d = __longlong_as_double((i64) x), e = __longlong_as_double((i64) y);

	switch (type)
	{
		case GS_F32:
		case GS_F64:
			if (d != d || e != e)
				return (d != d) - (e != e);
			return (d > e) - (d < e);
		case GS_I16:
		case GS_I32:
		case GS_I64:
			return ((i64) x > (i64) y) - ((i64) x < (i64) y);
		default:
			return (x > y) - (x < y);
	}
}

/* Compares what is behind equal words. */
__device__ __forceinline__ int
compare_behind(const gs_column &c, u32 a, u32 b)
{
	const u64 *halves = (const u64 *) c.values;
	u32 length_a, length_b;

	if (c.spec.type == GS_U128)
		return compare_words(GS_U64, halves[2 * (u64) a], halves[2 * (u64) b]);
	if (c.spec.type != GS_BYTES)
		return 0;

	const u8 *s = string_at(c, a, length_a), *t = string_at(c, b, length_b);
	const u64 shorter = min(length_a, length_b);

	for (u64 at = 8; at < shorter; at += 8)
	{
		const u64 x = gs_load8(s + at, shorter - at), y = gs_load8(t + at, shorter - at);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return (length_a > length_b) - (length_a < length_b);
}

/* Compares two rows in a column. */
__device__ __forceinline__ int
compare_in(const gs_column &c, const proof_row &x, const proof_row &y)
{
	int result;

	if (x.null || y.null)
		return x.null && y.null ? 0 : (x.null != 0) == c.spec.nulls_first ? -1 : 1;
	result = compare_words(c.spec.type, x.word, y.word);
	if (result == 0)
		result = compare_behind(c, x.row, y.row);
	return c.spec.desc ? -result : result;
}

#endif
