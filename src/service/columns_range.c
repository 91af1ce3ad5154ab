/*
 * columns_range.c: the ranges of columns' values, computed when rows are stored.  Each value is looked at, so each
 * type has a loop of its own.
 */
#include "columns.h"
#include "kernels/common/divisors.h"
#include "kernels/common/steps_row.h"

const gs_range gsd_no_range = {.low = {{1, 0}}, .high = {{0, 0}}};

/* The least and greatest code of a column's values; none: low > high. */
typedef struct codes
{
	gs_wide low, high;
} codes;

/*
 * Defines the loop of a type, over words of null bits, whose values have codes of another type between two of them.
 */
#define RANGE(name, type, code_type, least, most, code_of)                                                             \
	static codes name(const type *values, const uint64_t *nulls, uint64_t rows)                                        \
	{                                                                                                                  \
		code_type low = most, high = least;                                                                            \
                                                                                                                       \
		for (uint64_t word = 0; word * 64 < rows; word++)                                                              \
		{                                                                                                              \
			const uint32_t n = rows - word * 64 < 64 ? (uint32_t) (rows - word * 64) : 64;                             \
			const uint64_t null = nulls != NULL ? nulls[word] & gs_mask(n) : 0;                                        \
                                                                                                                       \
			for (uint32_t i = 0; i < n; i++)                                                                           \
			{                                                                                                          \
				const type x = values[word * 64 + i];                                                                  \
				const code_type code = code_of(x);                                                                     \
				const bool skip = null >> i & 1;                                                                       \
                                                                                                                       \
				low = !skip && code < low ? code : low;                                                                \
				high = !skip && code > high ? code : high;                                                             \
			}                                                                                                          \
		}                                                                                                              \
		return (codes){low, high};                                                                                     \
	}

#define ITSELF(x) (x)
#define ORDERED(x) gs_float_order64(gs_real_bits((double) (x)), true)

RANGE(range_u8, uint8_t, uint8_t, 0, UINT8_MAX, ITSELF)
RANGE(range_u16, uint16_t, uint16_t, 0, UINT16_MAX, ITSELF)
RANGE(range_u32, uint32_t, uint32_t, 0, UINT32_MAX, ITSELF)
RANGE(range_u64, uint64_t, uint64_t, 0, UINT64_MAX, ITSELF)
RANGE(range_i16, int16_t, int16_t, INT16_MIN, INT16_MAX, ITSELF)
RANGE(range_i32, int32_t, int32_t, INT32_MIN, INT32_MAX, ITSELF)
RANGE(range_i64, int64_t, int64_t, INT64_MIN, INT64_MAX, ITSELF)
RANGE(range_i128, gs_wide, gs_wide, gs_number_least(GS_NUMBER_I128), gs_number_greatest(GS_NUMBER_I128), ITSELF)
RANGE(range_f32, float, uint64_t, 0, UINT64_MAX, ORDERED)
RANGE(range_f64, double, uint64_t, 0, UINT64_MAX, ORDERED)

/*
 * Returns the range of the codes of a type's values.
 */
static codes
codes_of(gs_type type, const void *values, const uint64_t *nulls, uint64_t rows)
{
	switch (type)
	{
		case GS_U8:
			return range_u8(values, nulls, rows);
		case GS_U16:
			return range_u16(values, nulls, rows);
		case GS_U32:
			return range_u32(values, nulls, rows);
		case GS_U64:
			return range_u64(values, nulls, rows);
		case GS_I16:
			return range_i16(values, nulls, rows);
		case GS_I32:
			return range_i32(values, nulls, rows);
		case GS_I64:
			return range_i64(values, nulls, rows);
		case GS_F32:
			return range_f32(values, nulls, rows);
		case GS_F64:
			return range_f64(values, nulls, rows);
		default:
			return range_i128(values, nulls, rows);
	}
}

/*
 * Returns how far integers are apart from the least one: 0 if all are equal.  The divisor of those so far is tested by
 * a multiplication, and every value that is no multiple at least halves it.
 */
static uint64_t
apart_of(const int64_t *values, const uint64_t *nulls, uint64_t rows, int64_t low)
{
	uint64_t divisor = 0, inverse = 0, most = 0;
	uint32_t even = 0;

	for (uint64_t i = 0; i < rows && divisor != 1; i++)
	{
		const uint64_t above = (uint64_t) values[i] - (uint64_t) low;

		if (above == 0 || (nulls != NULL && (nulls[i / 64] >> i % 64 & 1) != 0) ||
			(divisor != 0 && gs_quotient_of(above, inverse, even) <= most))
			continue;
		divisor = gs_common_divisor(above, divisor);
		even = (uint32_t) __builtin_ctzll(divisor);
		inverse = gs_inverse_of(divisor >> even);
		most = UINT64_MAX / divisor;
	}
	return divisor;
}

/*
 * Returns true if some row is NULL.
 */
static bool
some_null(const uint64_t *nulls, uint64_t rows)
{
	for (uint64_t word = 0; nulls != NULL && word * 64 < rows; word++)
		if ((nulls[word] & gs_mask(rows - word * 64 < 64 ? (uint32_t) (rows - word * 64) : 64)) != 0)
			return true;
	return false;
}

/*
 * Returns an integer of 128 bits as a constant.
 */
static gs_constant
constant_of(gs_wide x)
{
	return (gs_constant){{(uint64_t) x, (uint64_t) ((gs_unsigned_wide) x >> 64)}};
}

/*
 * Returns the range of a column's values.
 */
gs_range
gsd_range_of(gs_type type, const void *values, const uint64_t *nulls, uint64_t rows)
{
	const codes c = codes_of(type, values, nulls, rows);
	gs_range range = gsd_no_range;

	if (c.low <= c.high)
	{
		range.low = constant_of(c.low);
		range.high = constant_of(c.high);
		range.apart = type == GS_I64 ? apart_of(values, nulls, rows, (int64_t) c.low) : 0;
	}
	range.nulls = some_null(nulls, rows);
	return range;
}

/*
 * Returns how far two numbers are apart, or 1 where that has more than 64 bits.
 */
static uint64_t
distance_of(gs_wide a, gs_wide b)
{
	const gs_unsigned_wide distance = a < b ? (gs_unsigned_wide) b - (gs_unsigned_wide) a
											: (gs_unsigned_wide) a - (gs_unsigned_wide) b;

	return distance >> 64 != 0 ? 1 : (uint64_t) distance;
}

/*
 * Returns how far a range's values are apart; none are if there is but one.
 */
static uint64_t
known_apart(const gs_range *range, gs_wide low, gs_wide high)
{
	return low == high ? 0 : range->apart > 0 ? range->apart : 1;
}

/*
 * Widens a range so that it holds another's values.
 */
void
gsd_range_join(gs_range *range, const gs_range *other)
{
	const gs_wide low = gs_constant_scalar(&range->low, false).integer,
				  high = gs_constant_scalar(&range->high, false).integer,
				  other_low = gs_constant_scalar(&other->low, false).integer,
				  other_high = gs_constant_scalar(&other->high, false).integer;

	range->nulls |= other->nulls;
	if (other_low > other_high)
		return;
	if (low > high)
		range->apart = other->apart;
	else
		range->apart = gs_common_divisor(gs_common_divisor(known_apart(range, low, high),
														   known_apart(other, other_low, other_high)),
										 distance_of(low, other_low));
	if (low > high || other_low < low)
		range->low = other->low;
	if (low > high || other_high > high)
		range->high = other->high;
}
