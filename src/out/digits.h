/*
 * digits.h: numbers as decimal digits, eight at a time.
 *
 * Functions write to where DIGITS_SLACK more bytes are free than the number has, and return its end.
 */
#ifndef GPUSORT_DIGITS_H
#define GPUSORT_DIGITS_H

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

/* Whole words are stored, of which the number may need one byte. */
#define DIGITS_SLACK 8

#define DIGITS_ASCII UINT64CONST(0x3030303030303030)

/*
 * Returns the eight digits of n < 10^8 as values, the first in the lowest byte.  Each step halves the groups of digits,
 * in all groups at once; the multiplications divide exactly in these ranges.
 */
static inline uint64
eight_digits(uint32 n)
{
	uint64		halves = (n / 10000) | ((uint64) (n % 10000) << 32);
	uint64		hundreds = ((halves * 10486) >> 20) & UINT64CONST(0x0000007f0000007f);
	uint64		pairs = hundreds | ((halves - 100 * hundreds) << 16);
	uint64		tens = ((pairs * 103) >> 10) & UINT64CONST(0x000f000f000f000f);

	return tens | ((pairs - 10 * tens) << 8);
}

/* Stores eight bytes, the lowest first. */
static inline void
store_eight(char *to, uint64 bytes)
{
#ifdef WORDS_BIGENDIAN
	bytes = pg_bswap64(bytes);
#endif
	memcpy(to, &bytes, sizeof(bytes));
}

/* Writes n < 10^8 with leading zeros. */
static inline char *
put_eight(char *to, uint32 n)
{
	store_eight(to, eight_digits(n) | DIGITS_ASCII);
	return to + 8;
}

/* Writes n < 10^8 without leading zeros. */
static inline char *
put_below_1e8(char *to, uint32 n)
{
	uint64		digits = eight_digits(n);
	int			zeros = digits == 0 ? 7 : pg_rightmost_one_pos64(digits) / 8;

	store_eight(to, (digits | DIGITS_ASCII) >> (8 * zeros));
	return to + 8 - zeros;
}

/* Writes n. */
static inline char *
put_uint64(char *to, uint64 n)
{
	if (likely(n < 100000000))
		return put_below_1e8(to, (uint32) n);
	if (likely(n < UINT64CONST(10000000000000000)))
		to = put_below_1e8(to, (uint32) (n / 100000000));
	else
	{
		to = put_below_1e8(to, (uint32) (n / UINT64CONST(10000000000000000)));
		to = put_eight(to, (uint32) (n / 100000000 % 100000000));
	}
	return put_eight(to, (uint32) (n % 100000000));
}

/* Writes n with its sign.  The negation is unsigned, because the least number has no positive counterpart. */
static inline char *
put_int64(char *to, int64 n)
{
	uint64		magnitude = n < 0 ? 0 - (uint64) n : (uint64) n;

	if (n < 0)
		*to++ = '-';
	return put_uint64(to, magnitude);
}

/* Writes two digits. */
static inline void
put_pair(char *to, uint32 n)
{
	to[0] = (char) ('0' + n / 10);
	to[1] = (char) ('0' + n % 10);
}

/* Writes four digits. */
static inline void
put_four(char *to, uint32 n)
{
	uint32		hundreds = (n * 10486) >> 20;
	uint32		pairs = hundreds | ((n - 100 * hundreds) << 16);
	uint32		tens = ((pairs * 103) >> 10) & 0x000f000f;

	pairs = tens | ((pairs - 10 * tens) << 8) | 0x30303030;
#ifdef WORDS_BIGENDIAN
	pairs = pg_bswap32(pairs);
#endif
	memcpy(to, &pairs, sizeof(pairs));
}

#endif
