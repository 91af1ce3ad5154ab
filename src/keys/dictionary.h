/*
 * dictionary.h: few different values of any type, numbered in their order.
 *
 * A value's number is an exact key: numbers compare as the type's comparison function does, and values that compare
 * equal, though their bytes differ, have the same one.  Numbers leave room between them for values that are still to
 * come, so most of them never change.
 */
#ifndef GPUSORT_DICTIONARY_H
#define GPUSORT_DICTIONARY_H

#include "utils/sortsupport.h"

/* More different values are not few. */
#define DICTIONARY_VALUES 16384

typedef struct Dictionary Dictionary;

typedef enum DictionaryResult
{
	DICTIONARY_OK,
	DICTIONARY_RENUMBERED,		/* numbers given out before mean nothing any longer; ask again */
	DICTIONARY_FULL				/* too many different values: it is of no more use */
} DictionaryResult;

/* For values of a type (pg_type.typlen, typbyval).  Memory comes from the current context, which ssup must outlive. */
extern Dictionary *dictionary_create(SortSupport ssup, int16 typlen, bool typbyval);
extern void dictionary_free(Dictionary *dictionary);

/*
 * Rows come again from the first on, or others: the estimate whether there will be too many values begins anew, lest it
 * counts those that come again as repeated.
 */
extern void dictionary_restart(Dictionary *dictionary);

/* The number of a value. */
extern DictionaryResult dictionary_number(Dictionary *dictionary, Datum value, uint32 *number);

#endif
