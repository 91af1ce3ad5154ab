/*
 * parts.h: keys of composite values, as bytes that start as the type's comparison function does.  Arrays, records,
 * ranges, multiranges and jsonb are compared part by part, and most parts have keys of their own.  The bytes of a value
 * are those of its first parts, up to PARTS_BYTES.  They are coarse: values with different bytes are ordered by these,
 * by memcmp and then length; values with equal bytes may compare either way.
 */
#ifndef GPUSORT_PARTS_H
#define GPUSORT_PARTS_H

#include "lib/stringinfo.h"

/* Bytes are truncated to this length.  Ties are compared anyway. */
#define PARTS_BYTES 64

typedef struct Parts Parts;

/* What the bytes say about a value or part. */
typedef enum PartsResult
{
	PARTS_WHOLE,				/* everything: equal bytes mean equal values */
	PARTS_BEGUN,				/* a prefix; nothing may follow */
	PARTS_CHANGED,				/* nothing: the encoding of all values has changed; encode all of them again */
	PARTS_STRANGE				/* nothing: the value has another pattern */
} PartsResult;

/* Returns true if an operator's type is composite and compared part by part. */
extern bool parts_known(Oid sortop);

/* Opens keys for such a type, in the current memory context. */
extern Parts *parts_open(Oid sortop, Oid collation);

/* Replaces the buffer's contents by a value's bytes. */
extern PartsResult parts_key(Parts *parts, Datum value, StringInfo buffer);

#endif
