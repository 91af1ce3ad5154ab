/*
 * decimal.h: numerics as integers of 128 bits, times a power of ten.
 */
#ifndef GPUSORT_COLUMNS_DECIMAL_H
#define GPUSORT_COLUMNS_DECIMAL_H

/* Powers of ten that fit 128 bits. */
#define DECIMAL_MAX_POWER 38

/* A numeric times 10^scale. */
typedef struct Decimal
{
	int128		floor;			/* the greatest integer at or below it */
	bool		exact;			/* it is that integer */
	int			beyond;			/* -1 or 1: below or above all integers that are held; NaN is above */
} Decimal;

/* Returns a numeric times 10^scale. */
extern Decimal decimal_of(Datum numeric, int scale);

/* Returns the display scale of a numeric. */
extern int	decimal_scale(Datum numeric);

/* Returns an integer divided by 10^scale as a numeric of that display scale. */
extern Datum decimal_numeric(int128 value, int scale);

#endif
