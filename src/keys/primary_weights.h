/*
 * level1.h: first-level keys (primary weights) of strings under linguistic collations.
 *
 * A sort key of strxfrm or ICU has several levels, separated by 01 bytes: letters, accents, case, punctuation.  The
 * first level alone is a coarse key.  Strings with different first levels are ordered by these, by memcmp and then
 * length; strings with equal ones may compare either way.  (Complete sort keys cannot be used: below the first level,
 * glibc's strxfrm contradicts its strcoll even for plain ASCII.)  First levels are not trusted either: a sort that uses
 * them compares neighbouring rows afterwards.
 */
#ifndef GPUSORT_LEVEL1_H
#define GPUSORT_LEVEL1_H

#include "lib/stringinfo.h"

/* Keys are truncated to this length at most; the caller may want fewer bytes.  Ties are compared anyway. */
#define LEVEL1_BYTES 256

/* A locale that provides keys, opened once per session and collation. */
typedef struct Level1 Level1;

/* Opens a collation.  Returns NULL if it has no keys. */
extern Level1 *level1_open(Oid collation);

/* Disables the keys of a collation for this session, after one contradicted the comparator. */
extern void level1_refuse(Level1 *level1);

/*
 * Returns true if there may be short keys, of one byte per character of an ASCII string.  They do not mix with those of
 * level1_key.
 */
extern bool level1_has_short(const Level1 *level1);

/*
 * Writes the short key of a string to `to`, which has room for most bytes or the string's length.  Returns -1 if the
 * string has none.
 */
extern int	level1_short_key(Level1 *level1, const char *string, Size len, uint8 *to, int most);

/*
 * Replaces the buffer's contents by the key of a string.  all_levels: appends the other levels, as a guess at how equal
 * keys compare.
 */
extern void level1_key(Level1 *level1, const char *string, Size len, bool all_levels, StringInfo buffer);

/* Bytes at the start of a string from which level1_key_of_start makes the key of a longer one. */
#define LEVEL1_START_BYTES 1152

/*
 * Replaces the buffer's contents by the first-level key of a string of more than LEVEL1_START_BYTES, of which these are
 * the first.  Returns false if the key takes more of them.
 */
extern bool level1_key_of_start(Level1 *level1, const char *start, StringInfo buffer);

#endif
