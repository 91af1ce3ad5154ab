/*
 * check_hash.h: the sums of gs_check (gs_columns.h), for engines and for callers that add rows of their own.
 *
 * A value is widened to 64 bits: integers with their sign, floats as their bits, GS_U128 as two values, low half first.
 * The hash of a row begins as 0 and takes the values of its columns in turn.  A NULL counts as 0 in a sum.
 */
#ifndef GS_COMMON_CHECK_HASH_H
#define GS_COMMON_CHECK_HASH_H

#include "../gs.h"
#include "both.h"

#define GS_CHECK_NULL 0x5bd1e995a5a5a5a5u

/* Extends a row's hash by a value: the finalizer of murmur3. */
GS_BOTH uint64_t
gs_check_mix(uint64_t hash, uint64_t value, bool null)
{
	uint64_t x = hash * 0x9e3779b97f4a7c15u + (null ? GS_CHECK_NULL : value + 1);

	x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
	return x ^ x >> 33;
}

/* Returns a value widened to 64 bits; half 1 is the upper half of a GS_U128. */
GS_BOTH uint64_t
gs_check_value(gs_type type, const void *values, uint64_t row, int half)
{
	switch (type)
	{
		case GS_U8:
			return ((const uint8_t *) values)[row];
		case GS_U16:
			return ((const uint16_t *) values)[row];
		case GS_I16:
			return (uint64_t) (int64_t) ((const int16_t *) values)[row];
		case GS_U32:
		case GS_F32:
			return ((const uint32_t *) values)[row];
		case GS_I32:
			return (uint64_t) (int64_t) ((const int32_t *) values)[row];
		case GS_U128:
			return ((const uint64_t *) values)[2 * row + half];
		default:
			return ((const uint64_t *) values)[row];
	}
}

#endif
