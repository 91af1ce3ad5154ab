/*
 * key_prefix.h: the first bytes of a row's normalised keys, as words that compare as the rows do if they differ.  They
 * come from the leading keys with an exact form, of rows in slots or of minimal tuples.
 */
#ifndef GPUSORT_KEY_PREFIX_H
#define GPUSORT_KEY_PREFIX_H

#include "access/htup_details.h"
#include "executor/tuptable.h"

#include "src/keys/keyplace.h"
#include "src/keys/sortcolumns.h"
#include "src/keys/sortkey.h"

/* Words of a row's keys that are compared before values are. */
#define KEY_WORDS 4
#define KEY_BYTES (KEY_WORDS * sizeof(uint64))

typedef struct KeyPrefix
{
	SortColumns columns;
	SortKey    *keys;			/* the first nexact */
	int			nexact;			/* leading keys whose form is exact */
	int			nwritten;		/* keys in words: those, and one by its primary weights */
	bool		fixed;			/* these are of fixed width */
	bool		single;			/* one key of no more than a word is all */
	bool		cut;			/* the present row's primary weights go on behind its words */
	MemoryContext scratch;		/* for encoding one row */

	KeyPlace   *places;			/* in minimal tuples */
	TupleTableSlot *slot;		/* has the present row, if it is not a minimal tuple that has not been taken apart */
	MinimalTuple row;			/* the present row; NULL: it is in the slot */
	const char *data;			/* of that row, NULL if its keys are not where places say */
} KeyPrefix;

/* Begins with no key encoded, in the current context.  desc: that of minimal tuples; NULL: all rows are in slots. */
extern void keyprefix_open(KeyPrefix *prefix, const SortColumns *columns, TupleDesc desc);

/* Opens the leading keys that have an exact form; memory comes from the current context. */
extern void keyprefix_encode(KeyPrefix *prefix);

/*
 * Adds the primary weights of the key behind the exact ones, if that is how the keys of a sort have been encoded, which
 * has to live on.  The words may then be wrong.  False: it is not.
 */
extern bool keyprefix_add_weights(KeyPrefix *prefix, const SortKey *keys);

/* Weights that are compared where words are equal, at most. */
#define WEIGHTS_BYTES 128

/* Writes the first of these of a value of the key with primary weights, words' own among them; returns how many. */
extern Size keyprefix_take_weights(KeyPrefix *prefix, Datum value, char *to);

/* Ends it; its arrays stay the context's. */
extern void keyprefix_close(KeyPrefix *prefix);

/* Writes the normalised form of all keys of the present row; all of them are exact. */
extern void keyprefix_normalise(KeyPrefix *prefix, StringInfo out);

/* Does what keyprefix_take does, for any keys. */
extern bool keyprefix_take_bytes(KeyPrefix *prefix, uint64 *words);

/* Puts the present row, a minimal tuple, into the slot. */
extern void keyprefix_store_row(KeyPrefix *prefix);

/* Makes a row the present one: a minimal tuple. */
static inline void
keyprefix_set_tuple(KeyPrefix *prefix, MinimalTuple row)
{
	bool		plain = (row->t_infomask & HEAP_HASNULL) == 0 &&
		HeapTupleHeaderGetNatts(row) >= prefix->slot->tts_tupleDescriptor->natts;

	prefix->row = row;
	prefix->data = plain ? (char *) row + row->t_hoff - MINIMAL_TUPLE_OFFSET : NULL;
}

/* One in a slot. */
static inline void
keyprefix_set_slot(KeyPrefix *prefix, TupleTableSlot *slot)
{
	prefix->slot = slot;
}

/* A key's value in the present row. */
static pg_attribute_always_inline Datum
keyprefix_value(KeyPrefix *prefix, int key, bool *isnull)
{
	if (likely(prefix->data && prefix->places[key].kind != PLACE_VARIES))
	{
		*isnull = false;
		return keyplace_value(&prefix->places[key], prefix->data,
							  (char *) prefix->row + prefix->row->t_len - prefix->data);
	}
	if (prefix->row)
		keyprefix_store_row(prefix);
	return slot_getattr(prefix->slot, prefix->columns.attnos[key], isnull);
}

/* The rank of a single key, whether it is NULL, and its word. */
static inline uint64
keyprefix_take_word(KeyPrefix *prefix, uint64 *word)
{
	bool		isnull;
	Datum		value = keyprefix_value(prefix, 0, &isnull);

	*word = isnull ? 0 : sortkey_word(&prefix->keys[0], value);
	return isnull == prefix->columns.nulls_first[0] ? 0 : 1;
}

/* Takes the first KEY_BYTES of the present row's keys, as numbers; returns true if there is no more of them. */
static inline bool
keyprefix_take(KeyPrefix *prefix, uint64 *words)
{
	uint64		word;

	if (!prefix->single)
		return keyprefix_take_bytes(prefix, words);
	words[0] = keyprefix_take_word(prefix, &word) << 56;
	word <<= 64 - 8 * prefix->keys[0].width;
	words[0] |= word >> 8;
	words[1] = word << 56;
	words[2] = words[3] = 0;
	return true;
}

#endif
