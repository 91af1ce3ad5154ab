/*
 * sortkey.h: sort keys from Datums, one encoder per operator family.
 *
 * A key's values go into one column of a chunk in the form that kernels/gs.h sorts.  Chosen by operator family and
 * input type of the ordering operator, never by the column's type, so domains and binary-coercible types need nothing. 
 * Two values are equal for the operator family if and only if their encoded values are equal, unless the key is coarse:
 * then encoded values that differ are in order, but equal ones may stand for values that are not.  Values shown to the
 * user never come from here.
 */
#ifndef GPUSORT_SORTKEY_H
#define GPUSORT_SORTKEY_H

#include "kernels/gs.h"

#include "lib/stringinfo.h"

/* What became of a value that was to be encoded. */
typedef enum KeyResult
{
	KEY_OK,
	KEY_FULL,		/* no room for its bytes: close the chunk and put the row into the next one */
	KEY_TOO_LARGE,	/* not even an empty chunk has room: KeyColumn.wanted says how many bytes it takes */
	KEY_WIDEN		/* a guess about the values does not hold any longer; the key has taken its wider form, and
					 * all rows must be encoded again from the first */
} KeyResult;

/* Where a key's values go in the chunk being filled. */
typedef struct KeyColumn
{
	char	   *values;			/* elements of the key's type; GS_BYTES: uint32 offsets */
	uint64	   *nulls;
	Size		nulls_bytes;
	uint8	   *heap;			/* GS_BYTES */
	uint32		heap_bytes;		/* room there */
	uint32		wanted;			/* after KEY_TOO_LARGE */
	bool		has_nulls;		/* nulls has been cleared and a bit set */
} KeyColumn;

typedef struct SortKey SortKey;

/* The form of keys that tell nothing: all that is left are comparisons. */
#define FORM_COMPARED "compared"

/* Writes a value that is not NULL as element row; for GS_BYTES also offset row + 1. */
typedef KeyResult (*KeyEncoder) (SortKey *key, Datum value, KeyColumn *column, uint32 row);

struct SortKey
{
	gs_column_spec spec;		/* may change when the key widens */
	uint8		plain;			/* bytes of a by-value Datum that are the element as they are, 0: call encode */
	uint8		width;			/* bytes of an element, 0 for GS_BYTES */
	KeyEncoder	encode;
	bool		exact;			/* may not widen */
	bool		coarse;			/* in its present form; see sortkey_coarse.c */
	bool		empty;			/* coarse, and tells no value from another */
	bool		unpack;			/* comparing unpacks values each time that are not */
	KeyEncoder	leader;			/* of byte strings, if long ones may be left to their first bytes */
	uint32		leading;		/* so many of them: the key is coarse only in strings that are not shorter; 0: all */
	const char *form;			/* the name of that form, NULL for types with an exact encoding */
	MemoryContext context;		/* of sortkey_open */
	void	   *state;			/* the encoder's own, in that context */
	StringInfo	scratch;		/* for sortkey_normalise */
};

/*
 * Can this operator's order be encoded exactly, whatever the values?  If not, *why says it in a few words, for
 * messages; it may be in the current memory context.
 */
extern bool sortkey_is_exact(Oid sortop, Oid collation, const char **why);

/*
 * May a key go to other processes in its encoded form?  It is exact, the same bytes in every process, and of some dozen
 * bytes at most: strings would travel a second time, and may be as long as a tuple can be.
 */
extern bool sortkey_travels(Oid sortop);

/*
 * Opens a key: sortop is the "<" or ">" of a btree family.  With exact set, which only operators allow that are exact
 * whatever the values (sortkey_is_exact), the key starts in its widest form and never answers KEY_WIDEN.  Memory comes
 * from the current context.
 */
extern void sortkey_open(SortKey *key, Oid sortop, Oid collation, bool nulls_first, bool exact);

/* Marks element row as NULL. */
extern void sortkey_put_null(const SortKey *key, KeyColumn *column, uint32 row);

/* Stores the low bytes of a by-value Datum: the row loop's shortest way for most keys. */
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

/* Puts one value, the only thing callers need per row and key. */
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
 * Appends the value's normalised form: byte strings that compare with memcmp as the key does, direction and NULLS
 * included, and of which none is a prefix of another.  Only for keys that may not widen.  Of a coarse key these bytes
 * are coarse too.
 */
extern void sortkey_normalise(SortKey *key, Datum value, bool isnull, StringInfo out);

/* Bytes that sortkey_write may write. */
#define SORTKEY_WRITTEN (1 + 2 * sizeof(uint64))

/* The same of a key of fixed width, without taking memory; returns the end. */
extern char *sortkey_write(SortKey *key, Datum value, bool isnull, char *to);

/* The same as one word, for keys of fixed width up to its size and values that are not NULL. */
extern uint64 sortkey_word(SortKey *key, Datum value);

/*
 * Writes the first bytes of the value's normalised form, as far as there is room; returns how many, or more than room
 * if it goes on behind them.
 */
extern Size sortkey_prefix(SortKey *key, Datum value, bool isnull, char *out, Size room);

/*
 * Puts a key off that has just been opened, or of which no more than first bytes are taken: where the keys before it
 * leave few rows tied, it costs less to compare these by it than to encode it.  False, and nothing done, if the key has
 * an exact encoding, and with it goes into every sort.  The second function takes it in again.
 */
extern bool sortkey_defer(SortKey *key);
extern void sortkey_resume(SortKey *key);

/*
 * Lets a key of byte strings that has just been opened hold no more than the first bytes of all of them once one of
 * them is long.  Nothing is done to other keys.
 */
extern void sortkey_let_lead(SortKey *key);

/* So many at first, and as many at most if those do not tell strings apart. */
#define LEADING_BYTES 64
#define LEADING_MOST 1024

/* Memory that a key without an exact encoding takes for itself. */
extern Size sortkey_bytes(const SortKey *key);

/* Tells a key that rows come again from the first on, or those of another job. */
extern void sortkey_restart(SortKey *key);

/*
 * Appends what a coarse key leaves out of a value that is not NULL, as far as that is known: bytes that guess how
 * values compare whose encoded values are equal.  False if nothing is known.
 */
extern bool sortkey_guess(SortKey *key, Datum value, StringInfo out);

/* Does a key of an operator without an exact encoding usually tell values apart?  If not, they are all compared. */
extern bool sortkey_tells(Oid sortop);

/*
 * Sorts of this session take coarse keys of this kind no more: they were found to contradict the comparison function.
 */
extern void sortkey_refuse(SortKey *key);

/* Fills one chunk with rows of several keys. */
typedef struct KeyWriter
{
	gs_chunk   *chunk;			/* the header */
	uint32		row;			/* the row being written */
	uint32		capacity;
	KeyColumn  *columns;		/* one per key */
} KeyWriter;

/* Begins to fill an empty chunk whose arrays lie in memory; columns must have room for the chunk's columns. */
extern void keywriter_begin(KeyWriter *writer, gs_chunk *chunk, char *memory, const SortKey *keys);

/* Closes the chunk over the rows written so far. */
extern void keywriter_close(KeyWriter *writer);

#endif
