/*
 * dictionary.h: numbers few distinct values of any type in their order.  A value's number is an exact key: numbers
 * compare as the type's comparison function does, and values that compare equal share one.  Gaps leave room for new
 * values, so most numbers never change.
 */
#ifndef GPUSORT_DICTIONARY_H
#define GPUSORT_DICTIONARY_H

#include "utils/sortsupport.h"

/* Limit of distinct values. */
#define DICTIONARY_VALUES 16384

typedef struct Dictionary Dictionary;

typedef enum DictionaryResult
{
	DICTIONARY_OK,
	DICTIONARY_RENUMBERED,		/* earlier numbers are void; ask again */
	DICTIONARY_FULL				/* too many distinct values; the dictionary is useless now */
} DictionaryResult;

/* Creates a dictionary for a type (pg_type.typlen, typbyval) in the current memory context.  ssup must outlive it. */
extern Dictionary *dictionary_create(SortSupport ssup, int16 typlen, bool typbyval);

/* The cost of each value, in comparisons, if it is encoded in another form. */
typedef struct DictionaryWorth
{
	double		ascii;			/* while all values are ASCII */
	double		other;
} DictionaryWorth;

/* Sets the values expected (0: unknown) and what they cost without a dictionary; without it, nothing is too costly. */
extern void dictionary_expect(Dictionary *dictionary, double values, DictionaryWorth worth);
extern void dictionary_free(Dictionary *dictionary);

/* Starts a new pass and estimate of distinct values, as rows that are read again would count as repeats. */
extern void dictionary_restart(Dictionary *dictionary);

/* Do the first bytes tell most of the distinct values apart?  Of values next to each other in their order, that is. */
extern bool dictionary_differs_early(const Dictionary *dictionary, uint32 bytes);

/* Do most of the distinct values have more bytes? */
extern bool dictionary_is_long(const Dictionary *dictionary, uint32 bytes);

/* Finds the number of a value. */
extern DictionaryResult dictionary_number(Dictionary *dictionary, Datum value, uint32 *number);

#endif
