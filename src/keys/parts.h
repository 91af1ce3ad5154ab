/*
 * parts.h: values made of others, as bytes that begin as their comparison functions do.
 *
 * Arrays, records, ranges, multiranges and jsonb are compared part by part, and most parts have keys of their own.  The
 * bytes of a value are those of its first parts, as far as these are known and as many as go into PARTS_BYTES.
 * They are coarse: values with different bytes are in the order of these, by memcmp and then length, while values with
 * the same ones may compare either way.
 */
#ifndef GPUSORT_PARTS_H
#define GPUSORT_PARTS_H

#include "lib/stringinfo.h"

/* Bytes are cut after so many: what they do not tell apart is compared anyway. */
#define PARTS_BYTES 64

typedef struct Parts Parts;

/* What the bytes of a value, or of a part, say. */
typedef enum PartsResult
{
	PARTS_WHOLE,				/* all of it: equal bytes, equal values */
	PARTS_BEGUN,				/* how it begins; nothing may follow them */
	PARTS_CHANGED,				/* nothing: all values look different from now on; ask for each of them again */
	PARTS_STRANGE				/* nothing: it is not like the values before */
} PartsResult;

/* Is this operator's type made of parts, and compared part by part? */
extern bool parts_known(Oid sortop);

/* For values of such a type.  Memory comes from the current context. */
extern Parts *parts_open(Oid sortop, Oid collation);

/* A value's bytes, in place of what buffer held. */
extern PartsResult parts_key(Parts *parts, Datum value, StringInfo buffer);

#endif
