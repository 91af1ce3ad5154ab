/*
 * level1.h: first-level keys of strings under linguistic collations.
 *
 * A sort key of strxfrm or ICU has several levels, parted by bytes 01: letters, then accents, then case, then
 * punctuation.  The first level alone is coarse: strings with different keys are in the order of these keys, by memcmp
 * and then length, while strings with the same one may compare either way.  (Whole keys are not to be trusted: glibc's
 * strxfrm and strcoll contradict each other below the first level, in plain ASCII.)  Nothing here is taken on trust
 * either: whoever sorts by these keys compares neighbours afterwards.
 */
#ifndef GPUSORT_LEVEL1_H
#define GPUSORT_LEVEL1_H

#include "lib/stringinfo.h"

/* Keys are cut after so many bytes: what they do not tell apart is compared anyway. */
#define LEVEL1_BYTES 256

/* A locale that gives keys, opened once per session and collation. */
typedef struct Level1 Level1;

/* NULL if there are no keys to be had under this collation. */
extern Level1 *level1_open(Oid collation);

/* No more keys of this collation in this session: one was found to contradict the comparator. */
extern void level1_refuse(Level1 *level1);

/*
 * Short keys of one byte for each character, as long as strings are ASCII: can there be any?  They do not mix with
 * those of level1_key.
 */
extern bool level1_has_short(const Level1 *level1);

/*
 * The short key of a string in to, which has room for LEVEL1_BYTES or the string's length; -1 if the string has none.
 */
extern int	level1_short_key(Level1 *level1, const char *string, Size len, uint8 *to);

/* The key of a string, in place of what buffer held; with all levels as a guess how equal ones compare. */
extern void level1_key(Level1 *level1, const char *string, Size len, bool all_levels, StringInfo buffer);

#endif
