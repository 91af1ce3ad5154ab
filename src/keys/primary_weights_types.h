/*
 * level1_types.h: shared by level1.c and its providers.  Private to them.
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
	uint8		len;			/* 0: ignored at the first level */
} CharacterWeight;

/* Functions of a provider.  Strings are zero-terminated; len excludes the terminator. */
typedef struct Level1Provider
{
	/* Appends the first level of a string's sort key, or all levels, to the buffer. */
	void		(*key) (Level1 *level1, const char *string, Size len, bool all_levels, StringInfo buffer);

	/*
	 * Learns about all pairs of ASCII characters.  NULL: pairs are tested one by one.  Returns false if single
	 * characters have no weight.
	 */
	bool		(*learn_pairs) (Level1 *level1);
	bool		mixes;			/* keys built from weights equal those of key byte for byte */
} Level1Provider;

/* Whether the weight of a pair of ASCII characters is that of its characters. */
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
	uint8		ranks[ASCII_CHARACTERS];	/* of weights, from 1 on; 0: no weight */
	uint8		pairs[ASCII_CHARACTERS][ASCII_CHARACTERS];	/* PairWeight; row 0: start of the string */
	StringInfoData copy;		/* of a string, zero-terminated */
};

/* Open a locale.  Return false on failure.  level1_libc.c, level1_icu.c */
extern bool level1_open_libc(Level1 *level1, const CollationLocale *locale);
extern bool level1_open_icu(Level1 *level1, const CollationLocale *locale);

/* Appends the first level of a sort key, or all levels. */
static inline void
append_levels(StringInfo buffer, const char *key, Size len, bool all_levels)
{
	const char *end = all_levels ? NULL : memchr(key, 1, len);

	appendBinaryStringInfo(buffer, key, (int) (end ? end - key : (ptrdiff_t) len));
}

#endif
