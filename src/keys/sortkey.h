/*
 * sortkey.h: encodes Datums as sort keys, with one encoder per operator family.
 *
 * A key's values fill one column of a chunk in the form that kernels/gs.h sorts.  The encoder is chosen by operator
 * family and input type of the ordering operator, so domains and binary-coercible types need no entries. Invariant: two
 * values are equal for the operator family if and only if their encoded values are equal.  A coarse key keeps half of
 * it: equal encoded values may stand for different values.  Encoded values are never shown to the user.
 */
#ifndef GPUSORT_SORTKEY_H
#define GPUSORT_SORTKEY_H

#include "kernels/gs.h"

#include "lib/stringinfo.h"

/* Result of encoding a value. */
typedef enum KeyResult
{
	KEY_OK,
	KEY_FULL,		/* no room for its bytes: close the chunk and put the row into the next one */
	KEY_TOO_LARGE,	/* too large for an empty chunk: KeyColumn.wanted has the bytes needed */
	KEY_WIDEN		/* an assumption about values failed: encode all rows again in the wider form */
} KeyResult;

/* Where a key's values go in the current chunk. */
typedef struct KeyColumn
{
	char	   *values;			/* elements of the key's type; GS_BYTES: uint32 offsets */
	uint64	   *nulls;
	Size		nulls_bytes;
	uint8	   *heap;			/* GS_BYTES */
	uint32		heap_bytes;		/* bytes available */
	uint32		wanted;			/* after KEY_TOO_LARGE */
	bool		has_nulls;		/* nulls is cleared and has a bit set */
} KeyColumn;

/* Why a key is PostgreSQL's. */
typedef enum KeyTheirs
{
	THEIRS_NOT,
	THEIRS_BY_ORDER,	/* no engine knows the order of the type's abbreviated keys */
	THEIRS_BY_LENGTH	/* the server's abbreviated keys take less of long strings */
} KeyTheirs;

typedef struct SortKey SortKey;

/* Form of keys that distinguish nothing; rows are only compared. */
#define FORM_COMPARED "compared"

/* Encodes a non-NULL value as element row; for GS_BYTES also writes offset row + 1. */
typedef KeyResult (*KeyEncoder) (SortKey *key, Datum value, KeyColumn *column, uint32 row);

struct SortKey
{
	gs_column_spec spec;		/* may change when the key widens */
	uint8		plain;			/* bytes of a by-value Datum that is the element itself; 0: call encode */
	uint8		width;			/* bytes of an element; 0 for GS_BYTES */
	KeyEncoder	encode;
	bool		exact;			/* never widens */
	bool		coarse;			/* its current form is coarse; see sortkey_coarse.c */
	bool		empty;			/* coarse, and distinguishes nothing */
	bool		many;			/* its dictionary had too many values, and was left */
	KeyTheirs	theirs;			/* as first key it goes to tuplesort */
	bool		unpack;			/* each comparison detoasts values */
	KeyEncoder	leader;			/* of byte strings: encodes leading bytes of long ones */
	uint32		leading;		/* number of those bytes; only strings of at least that length are coarse; 0: all */
	const char *form;			/* name of the current form; NULL for types with an exact encoding */
	MemoryContext context;		/* of sortkey_open */
	void	   *state;			/* encoder's private state, in that context */
	StringInfo	scratch;		/* for sortkey_normalise */
};

/* Returns true if an operator's order can be encoded exactly for all values. */
extern bool sortkey_is_exact(Oid sortop, Oid collation);

/* Returns true if encoded keys may be sent to other processes: exact, process-independent, and no long strings. */
extern bool sortkey_is_process_independent(Oid sortop);

/* Opens a key in the current context.  sortop: "<" or ">" of a btree family.  exact: widest form, never KEY_WIDEN. */
extern void sortkey_open(SortKey *key, Oid sortop, Oid collation, bool nulls_first, bool exact);

/* Marks element row as NULL. */
extern void sortkey_put_null(const SortKey *key, KeyColumn *column, uint32 row);

/* Stores the low bytes of a by-value Datum, the shortest path in the row loop. */
static inline void
sortkey_put_plain(char *values, Datum value, uint8 width, uint32 row)
{
	switch (width)
	{
		case 8:
			((uint64 *) values)[row] = (uint64) value;
			break;
		case 4:
			((uint32 *) values)[row] = (uint32) value;
			break;
		case 2:
			((uint16 *) values)[row] = (uint16) value;
			break;
		default:
			((uint8 *) values)[row] = (uint8) value;
			break;
	}
}

/* Encodes one value.  Callers need nothing else per row and key. */
static inline KeyResult
sortkey_put(SortKey *key, Datum value, bool isnull, KeyColumn *column, uint32 row)
{
	if (unlikely(isnull))
	{
		sortkey_put_null(key, column, row);
		return KEY_OK;
	}
	if (key->plain)
	{
		sortkey_put_plain(column->values, value, key->plain, row);
		return KEY_OK;
	}
	return key->encode(key, value, column, row);
}

/*
 * Appends the value's normalised form, which memcmp orders as the key does, including direction and NULLS, and none of
 * which is a prefix of another.  Only for keys that do not widen.  Coarse keys' bytes are coarse.
 */
extern void sortkey_normalise(SortKey *key, Datum value, bool isnull, StringInfo out);

/* Upper limit of bytes written by sortkey_write. */
#define SORTKEY_WRITTEN (1 + 2 * sizeof(uint64))

/* Writes the normalised form of a fixed-width key without allocating.  Returns its end. */
extern char *sortkey_write(SortKey *key, Datum value, bool isnull, char *to);

/* Returns a non-NULL value's key prefix: its normalised form as a word, for keys of a fixed width up to eight bytes. */
extern uint64 sortkey_word(SortKey *key, Datum value);

/* Writes the first bytes of the value's normalised form; returns their number, more than room if it is longer. */
extern Size sortkey_prefix(SortKey *key, Datum value, bool isnull, char *out, Size room);

/* Defers a new key, or one of leading bytes, if it is not exact; comparing few ties is cheaper than encoding. */
extern bool sortkey_defer(SortKey *key);
extern void sortkey_resume(SortKey *key);

/* Allows a new key of byte strings to switch to leading bytes of all once one is long.  No effect on others. */
extern void sortkey_let_lead(SortKey *key);

/* Initial and maximal number of leading bytes of long strings. */
#define LEADING_BYTES 64
#define LEADING_MOST 1024

/*
 * Makes key one that encodes the primary weights of strings as another does, whose state it shares; false if that one
 * has them in no form for merges.  A string that it never encoded may get a wrong key, but always the same.
 */
extern bool sortkey_open_weights(SortKey *key, const SortKey *sorted);

/* Returns the memory that a key without an exact encoding uses. */
extern Size sortkey_bytes(const SortKey *key);

/* Tells a key that was just opened how many rows are expected; 0: unknown. */
extern void sortkey_expect(SortKey *key, double rows);

/* Tells a key that a new pass starts, over these rows or those of another job. */
extern void sortkey_restart(SortKey *key);

/* Appends bytes that predict how non-NULL values with equal coarse keys compare.  Returns false if unknown. */
extern bool sortkey_guess(SortKey *key, Datum value, StringInfo out);

/* Returns true if an inexact operator's keys usually separate values.  Otherwise all rows are compared. */
extern bool sortkey_tells(Oid sortop);

/* Returns true if a sort of so many rows by first keys of this operator is not slower than PostgreSQL's. */
extern bool sortkey_pays(Oid sortop, Oid collation, double rows);

/* Disables coarse keys of this kind for the session, after one contradicted the comparison function. */
extern void sortkey_refuse(SortKey *key);

/* Fills one chunk with rows of several keys. */
typedef struct KeyWriter
{
	gs_chunk   *chunk;			/* the header */
	uint32		row;			/* current row */
	uint32		capacity;
	KeyColumn  *columns;		/* one per key */
} KeyWriter;

/* Starts to fill an empty chunk whose arrays are in memory.  columns has room for the chunk's columns. */
extern void keywriter_begin(KeyWriter *writer, gs_chunk *chunk, char *memory, const SortKey *keys);

/* Closes the chunk after the rows written so far. */
extern void keywriter_close(KeyWriter *writer);

/* Converts a numeric of few digits to the nearest double, faster than PostgreSQL does; false for others. */
extern bool sortkey_numeric_as_double(const struct varlena *value, double *result);

#endif
