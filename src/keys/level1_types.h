/*
 * level1_types.h: what level1.c and its providers share; not for callers of level1.h.
 */
#ifndef GPUSORT_LEVEL1_TYPES_H
#define GPUSORT_LEVEL1_TYPES_H

#include <locale.h>

#include "level1.h"
#include "sortkey_types.h"

#define ASCII_CHARACTERS 128

/* The first-level key of a single character. */
typedef struct CharacterWeight
{
	uint8		bytes[8];
	uint8		len;			/* 0: the first level ignores it */
} CharacterWeight;

/* What a provider can do.  Strings end in a zero byte, which len does not count. */
typedef struct Level1Provider
{
	/* Writes the first level of a string's sort key, or all of it, behind what buffer holds. */
	void		(*key) (Level1 *level1, const char *string, Size len, bool all_levels, StringInfo buffer);

	/*
	 * Learns about all pairs of ASCII characters; NULL: one by one.  False if weights of characters mean nothing here.
	 */
	bool		(*learn_pairs) (Level1 *level1);
	bool		mixes;			/* keys made of weights are byte for byte those of key */
} Level1Provider;

/* Does a pair of ASCII characters weigh what the two weigh one after the other? */
typedef enum PairWeight
{
	PAIR_UNKNOWN,
	PAIR_ADDS_UP,
	PAIR_CONTRACTS
} PairWeight;

struct Level1
{
	Level1	   *next;
	Oid			collation;
	bool		refused;
	const Level1Provider *provider;
	locale_t	locale;			/* libc */
	struct UCollator *first_level;	/* ICU */
	struct UCollator *collator;

	bool		weights_usable;
	bool		has_short;
	CharacterWeight weights[ASCII_CHARACTERS];
	uint8		ranks[ASCII_CHARACTERS];	/* of weights, from 1 on; 0 if there is none */
	uint8		pairs[ASCII_CHARACTERS][ASCII_CHARACTERS];	/* PairWeight; row 0 is a string's beginning */
	StringInfoData copy;		/* of a string, with a zero byte behind it */
};

/* Open a locale, or return false.  level1_libc.c, level1_icu.c */
extern bool level1_open_libc(Level1 *level1, const CollationLocale *locale);
extern bool level1_open_icu(Level1 *level1, const CollationLocale *locale);

/* Appends a sort key's first level, or all of it. */
static inline void
append_levels(StringInfo buffer, const char *key, Size len, bool all_levels)
{
	const char *end = all_levels ? NULL : memchr(key, 1, len);

	appendBinaryStringInfo(buffer, key, (int) (end ? end - key : (ptrdiff_t) len));
}

#endif
