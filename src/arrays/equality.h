/*
 * equality.h: tests IS NOT DISTINCT FROM with a type's own equality.
 */
#ifndef GPUSORT_EQUALITY_H
#define GPUSORT_EQUALITY_H

#include "fmgr.h"

typedef struct Equality
{
	enum
	{
		EQUAL_BITS,				/* by-value types whose equal values are identical */
		EQUAL_FLOAT4,
		EQUAL_FLOAT8,
		EQUAL_BY_CALL
	}			how;
	Datum		mask;			/* the significant bits of a Datum */
	Oid			collation;
	FmgrInfo   *function;		/* in the type cache */
} Equality;

/* Looks up a type's equality.  Raises an error if it has none. */
extern void equality_open(Equality *equality, Oid type, Oid collation);

/* Compares two non-NULL values.  As in PostgreSQL's order, NaN equals NaN and -0 equals 0. */
static inline bool
equality_holds(const Equality *equality, Datum a, Datum b)
{
	switch (equality->how)
	{
		case EQUAL_BITS:
			return ((a ^ b) & equality->mask) == 0;
		case EQUAL_FLOAT4:
			{
				float4		x = DatumGetFloat4(a);
				float4		y = DatumGetFloat4(b);

				return x == y || (x != x && y != y);
			}
		case EQUAL_FLOAT8:
			{
				float8		x = DatumGetFloat8(a);
				float8		y = DatumGetFloat8(b);

				return x == y || (x != x && y != y);
			}
		case EQUAL_BY_CALL:
			break;
	}
	return DatumGetBool(FunctionCall2Coll(equality->function, equality->collation, a, b));
}

#endif
