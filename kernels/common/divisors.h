/*
 * divisors.h: numbers that are multiples of a divisor, by multiplication with its inverse.
 */
#ifndef GS_COMMON_DIVISORS_H
#define GS_COMMON_DIVISORS_H

#include "types.h"

/* Returns the greatest common divisor; that of 0 and a number is the number. */
GS_BOTH uint64_t
gs_common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0)
	{
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Returns the inverse of an odd number modulo 2^64. */
GS_BOTH uint64_t
gs_inverse_of(uint64_t x)
{
	uint64_t y = x;

	/* each turn has twice as many right bits */
	for (int i = 0; i < 6; i++)
		y *= 2 - x * y;
	return y;
}

/*
 * Divides by an odd number, whose inverse is given, times 2^even.  What is no multiple becomes greater than every
 * quotient of a number of 64 bits: products with the inverse are different ones, and multiples have all the low ones.
 */
GS_BOTH uint64_t
gs_quotient_of(uint64_t x, uint64_t inverse, uint32_t even)
{
	const uint64_t product = x * inverse;

	return product >> even | product << (64 - even) % 64;
}

#endif
