/*
 * float_order.h: maps floats to unsigned numbers in PostgreSQL's order, on the host and in kernels.
 */
#ifndef GS_COMMON_FLOAT_ORDER_H
#define GS_COMMON_FLOAT_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "both.h"

/*
 * Maps a float's bits to an unsigned number in PostgreSQL's order, all NaNs to the greatest.  With zeros, -0 maps to
 * +0, as equality demands; without, below it, so that a minimum does not depend on the order of evaluation.
 */
GS_BOTH uint32_t
gs_float_order32(uint32_t x, bool zeros)
{
	if ((x & 0x7fffffffu) > 0x7f800000u)
		x = 0x7fc00000u;
	if (zeros && x == 0x80000000u)
		x = 0;
	return x ^ (uint32_t) ((int32_t) x >> 31 | (int32_t) 0x80000000);
}

/* Maps a double's bits likewise. */
GS_BOTH uint64_t
gs_float_order64(uint64_t x, bool zeros)
{
	if ((x & 0x7fffffffffffffffull) > 0x7ff0000000000000ull)
		x = 0x7ff8000000000000ull;
	if (zeros && x == 0x8000000000000000ull)
		x = 0;
	return x ^ (uint64_t) ((int64_t) x >> 63 | (int64_t) 0x8000000000000000ull);
}

#endif
