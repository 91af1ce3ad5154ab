/*
 * primary_weights.h: the primary weights of strings under linguistic collations, as keys.  A sort key of strxfrm or ICU
 * has several levels, separated by 01 bytes.  Its first level, the primary weights, is a coarse key: strings with equal
 * ones may compare either way.  (Below it, glibc's strxfrm contradicts its strcoll even for plain ASCII.)  It is not
 * trusted either: a sort that uses it compares neighbouring rows afterwards.
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

/* Returns true if there may be short keys, a byte per ASCII character, which do not mix with primary_key's. */
extern bool primary_has_short(const PrimaryWeights *primary);

/* Writes a string's short key to `to`, with room for most bytes or the string's length.  Returns -1 if it has none. */
extern int	primary_short_key(PrimaryWeights *primary, const char *string, Size len, uint8 *to, int most);

/* Replaces the buffer's contents by a string's key.  all_levels: appends the others, to guess equal keys' order. */
extern void primary_key(PrimaryWeights *primary, const char *string, Size len, bool all_levels, StringInfo buffer);

/* Bytes at the start of a string from which primary_key_of_start makes the key of a longer one. */
#define PRIMARY_START_BYTES 1152

/* As primary_key, from start, the first of more than PRIMARY_START_BYTES; false if the weights take more of them. */
extern bool primary_key_of_start(PrimaryWeights *primary, const char *start, StringInfo buffer);

#endif
