/*
 * string_bytes.h: what some of PostgreSQL's functions find out about a text, from its bytes: a part of the time, where
 * they are called for all strings of a dictionary.
 */
#ifndef GPUSORT_COLUMNS_STRING_BYTES_H
#define GPUSORT_COLUMNS_STRING_BYTES_H

/* Returns true if equal bytes begin at characters, and so stand for equal characters, in the database's encoding. */
extern bool bytes_are_characters(void);

/*
 * Returns the bytes that a text of the database must have among its own to be LIKE a pattern, "%bytes%", and their
 * number; NULL: the pattern is another, or that is not all that the collation asks for.
 */
extern const char *bytes_of_pattern(Datum pattern, Oid collation, uint32 *count);

/* Returns true if a string has these bytes, one or more, among its own. */
extern bool bytes_contain(const char *p, uint32 bytes, const char *part, uint32 count);

/* Returns the characters of a string, where bytes_are_characters. */
extern uint32 bytes_length(const char *p, uint32 bytes);

#endif
