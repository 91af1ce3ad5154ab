/*
 * equality.h: is a value IS NOT DISTINCT FROM another, by its type's own equality.
 */
#ifndef GPUSORT_EQUALITY_H
#define GPUSORT_EQUALITY_H

#include "fmgr.h"

typedef struct Equality
{
	enum
	{
		EQUAL_BITS,				/* by-value types of which no two values are equal but different */
		EQUAL_FLOAT4,
		EQUAL_FLOAT8,
		EQUAL_BY_CALL
	}			how;
	Datum		mask;			/* the bits that a value has: the rest of a narrow one's Datum means nothing */
	Oid			collation;
	FmgrInfo   *function;		/* in the type cache */
} Equality;

/* Finds a type's equality; a type without one is an error. */
extern void equality_open(Equality *equality, Oid type, Oid collation);

/* Compares two values that are not NULL; as in PostgreSQL's order, NaN equals NaN and -0 equals 0. */
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
