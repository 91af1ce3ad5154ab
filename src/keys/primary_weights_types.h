/*
 * primary_weights_types.h: shared by primary_weights.c and its providers.  Private to them.
 */
#ifndef GPUSORT_PRIMARY_WEIGHTS_TYPES_H
#define GPUSORT_PRIMARY_WEIGHTS_TYPES_H

#include <locale.h>

#include "primary_weights.h"
#include "sortkey_types.h"

#define ASCII_CHARACTERS 128

/* The primary weights of a single character. */
typedef struct CharacterWeight
{
	uint8		bytes[8];
	uint8		len;			/* 0: ignored */
} CharacterWeight;

/* Functions of a provider.  Strings are zero-terminated; len excludes the terminator. */
typedef struct PrimaryProvider
{
	/* Appends the primary weights of a string, or its whole sort key, to the buffer. */
	void		(*key) (PrimaryWeights *primary, const char *string, Size len, bool all_levels, StringInfo buffer);

	/* Learns about all pairs of ASCII characters (NULL: tests each); false if some character has no weight. */
	bool		(*learn_pairs) (PrimaryWeights *primary);
	bool		mixes;			/* keys built from weights equal those of key byte for byte */
} PrimaryProvider;

/* Whether the weight of a pair of ASCII characters is that of its characters. */
typedef enum PairWeight
{
	PAIR_UNKNOWN,
	PAIR_ADDS_UP,
	PAIR_CONTRACTS
} PairWeight;

struct PrimaryWeights
{
	PrimaryWeights *next;
	Oid			collation;
	bool		refused;
	const PrimaryProvider *provider;
	locale_t	locale;			/* libc */
	struct UCollator *first_level;	/* ICU */
	struct UCollator *collator;

	bool		weights_usable;
	bool		has_short;
	CharacterWeight weights[ASCII_CHARACTERS];
	uint8		ranks[ASCII_CHARACTERS];	/* of weights, from 1 on; 0: no weight */
	uint8		pairs[ASCII_CHARACTERS][ASCII_CHARACTERS];	/* PairWeight; row 0: start of the string */
	StringInfoData copy;		/* of a string, zero-terminated */
};

/* Open a locale.  Return false on failure.  primary_weights_libc.c, primary_weights_icu.c */
extern bool primary_open_libc(PrimaryWeights *primary, const CollationLocale *locale);
extern bool primary_open_icu(PrimaryWeights *primary, const CollationLocale *locale);

/* Appends primary weights, or a whole sort key. */
static inline void
append_levels(StringInfo buffer, const char *key, Size len, bool all_levels)
{
	const char *end = all_levels ? NULL : memchr(key, 1, len);

	appendBinaryStringInfo(buffer, key, (int) (end ? end - key : (ptrdiff_t) len));
}

#endif
