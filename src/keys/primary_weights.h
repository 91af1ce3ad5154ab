/*
 * primary_weights.h: the primary weights of strings under linguistic collations, as keys.
 *
 * A sort key of strxfrm or ICU has several levels, separated by 01 bytes: letters, accents, case, punctuation.  Its
 * first level, the primary weights, is a coarse key.  Strings with different primary weights are ordered by these, by
 * memcmp and then length; strings with equal ones may compare either way.  (Complete sort keys cannot be used: below
 * the primary weights, glibc's strxfrm contradicts its strcoll even for plain ASCII.)  Primary weights are not trusted
 * either: a sort that uses them compares neighbouring rows afterwards.
 */
#ifndef GPUSORT_PRIMARY_WEIGHTS_H
#define GPUSORT_PRIMARY_WEIGHTS_H

#include "lib/stringinfo.h"

/* Keys are truncated to this length at most; the caller may want fewer bytes.  Ties are compared anyway. */
#define PRIMARY_BYTES 256

/* A locale that provides keys, opened once per session and collation. */
typedef struct PrimaryWeights PrimaryWeights;

/* Opens a collation.  Returns NULL if it has no keys. */
extern PrimaryWeights *primary_open(Oid collation);

/* Disables the keys of a collation for this session, after one contradicted the comparator. */
extern void primary_refuse(PrimaryWeights *primary);

/*
 * Returns true if there may be short keys, of one byte per character of an ASCII string.  They do not mix with those of
 * primary_key.
 */
extern bool primary_has_short(const PrimaryWeights *primary);

/*
 * Writes the short key of a string to `to`, which has room for most bytes or the string's length.  Returns -1 if the
 * string has none.
 */
extern int	primary_short_key(PrimaryWeights *primary, const char *string, Size len, uint8 *to, int most);

/*
 * Replaces the buffer's contents by the key of a string.  all_levels: appends the other levels, as a guess at how equal
 * keys compare.
 */
extern void primary_key(PrimaryWeights *primary, const char *string, Size len, bool all_levels, StringInfo buffer);

/* Bytes at the start of a string from which primary_key_of_start makes the key of a longer one. */
#define PRIMARY_START_BYTES 1152

/*
 * Replaces the buffer's contents by the primary weights of a string of more than PRIMARY_START_BYTES, of which start
 * has the first.  Returns false if they take more of the string.
 */
extern bool primary_key_of_start(PrimaryWeights *primary, const char *start, StringInfo buffer);

#endif
