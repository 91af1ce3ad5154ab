/*
 * numeric_parts.h: a numeric, taken apart.
 *
 * The layout of numeric is private to numeric.c, but is the on-disk format and has not changed since 9.1.  The varlena
 * header is followed by 16 bits, then by base-10000 digits of 16 bits each, most significant first, without leading or
 * trailing zero digits.  Nothing is aligned after a one-byte varlena header.  The 16 bits are:
 *
 *	10 s dddddd wwwwwww		short: sign, display scale, weight of the first digit in two's complement
 *	00 or 01 dddd...		long, positive or negative: display scale; 16 more bits are the weight
 *	1100 1101 1111 0...		NaN, +Infinity, -Infinity
 */
#ifndef GPUSORT_NUMERIC_PARTS_H
#define GPUSORT_NUMERIC_PARTS_H

#include "src/base/compat.h"

#define NUMERIC_SHORT_FLAGS_MASK	0xC000
#define NUMERIC_SHORT_FLAGS			0x8000
#define NUMERIC_SHORT_SIGN			0x2000
#define NUMERIC_SHORT_SCALE_MASK	0x1F80
#define NUMERIC_SHORT_SCALE_SHIFT	7
#define NUMERIC_SHORT_WEIGHT_MASK	0x007F
#define NUMERIC_SHORT_WEIGHT_SIGN	0x0040
#define NUMERIC_LONG_NEGATIVE		0x4000
#define NUMERIC_LONG_SCALE_MASK		0x3FFF
#define NUMERIC_SPECIAL_NAN			0xC000
#define NUMERIC_SPECIAL_PLUS_INF	0xD000

#define NUMERIC_BASE				10000
#define NUMERIC_BASE_DECIMALS		4

/* A decoded numeric. */
typedef struct NumericParts
{
	enum
	{
		NUMBER_MINUS_INF,
		NUMBER_FINITE,
		NUMBER_PLUS_INF,
		NUMBER_NAN
	}			kind;
	bool		negative;
	int			scale;			/* displayed decimals, at least the significant ones */
	int			weight;			/* of the first digit; 0 for zero */
	int			ndigits;
	const char *digits;			/* unaligned */
} NumericParts;

/* Loads 16 unaligned bits. */
static inline uint16
numeric_half_at(const char *bytes, int i)
{
	uint16		half;

	memcpy(&half, bytes + i * sizeof(half), sizeof(half));
	return half;
}

/* Returns the weight in a short header. */
static inline int
numeric_short_weight(uint16 header)
{
	return (int) ((header & NUMERIC_SHORT_WEIGHT_MASK) ^ NUMERIC_SHORT_WEIGHT_SIGN) - NUMERIC_SHORT_WEIGHT_SIGN;
}

/* Decodes a numeric, dropping any zero digits on either end. */
static inline void
numeric_take_apart(const struct varlena *varlena, NumericParts *parts)
{
	const char *data = VARDATA_ANY(varlena);
	int			halves = (int) (VARSIZE_ANY_EXHDR(varlena) / sizeof(uint16));
	uint16		header = numeric_half_at(data, 0);
	bool		is_short = (header & NUMERIC_SHORT_FLAGS_MASK) == NUMERIC_SHORT_FLAGS;
	bool		is_long = (header & NUMERIC_SHORT_FLAGS) == 0;

	memset(parts, 0, sizeof(*parts));
	if (!is_short && !is_long)
	{
		parts->kind = header == NUMERIC_SPECIAL_NAN ? NUMBER_NAN :
			header == NUMERIC_SPECIAL_PLUS_INF ? NUMBER_PLUS_INF : NUMBER_MINUS_INF;
		return;
	}
	parts->kind = NUMBER_FINITE;
	parts->negative = (header & (is_short ? NUMERIC_SHORT_SIGN : NUMERIC_LONG_NEGATIVE)) != 0;
	parts->scale = is_short ? (header & NUMERIC_SHORT_SCALE_MASK) >> NUMERIC_SHORT_SCALE_SHIFT :
		header & NUMERIC_LONG_SCALE_MASK;
	parts->weight = is_short ? numeric_short_weight(header) : (int16) numeric_half_at(data, 1);
	parts->digits = data + (is_short ? 1 : 2) * sizeof(uint16);
	parts->ndigits = halves - (is_short ? 1 : 2);
	while (parts->ndigits > 0 && numeric_half_at(parts->digits, 0) == 0)
	{
		parts->digits += sizeof(uint16);
		parts->ndigits--;
		parts->weight--;
	}
	while (parts->ndigits > 0 && numeric_half_at(parts->digits, parts->ndigits - 1) == 0)
		parts->ndigits--;
	if (parts->ndigits <= 0)
	{
		parts->ndigits = parts->weight = 0;
		parts->negative = false;
	}
}

#endif
