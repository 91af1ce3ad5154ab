/*
 * columns_strings.h: conditions on strings that their codes do not tell: order, LIKE, regular expressions.
 * PostgreSQL's own function answers, once for each string of a dictionary.
 */
#ifndef GPUSORT_COLUMNS_STRINGS_H
#define GPUSORT_COLUMNS_STRINGS_H

#include "query_members.h"

/*
 * Returns true for functions of a string and a value that may be called for strings of rows that nobody asked about:
 * built-in ones that return bool, know nothing but their arguments, and tell nobody.
 */
extern bool strings_function(Oid function);

/* Returns the words of a bit for each code. */
extern Size strings_words(const StringCodes *codes);

/*
 * Clears the bits of codes whose strings do not pass a term with a function.  Returns NULL, or why PostgreSQL has to
 * do it: the function has raised an error, maybe for a string that no row has.
 */
extern const char *strings_test(const StringCodes *codes, const ColumnDescription *column, const QueryTerm *term,
								Datum value, uint64 *bits);

/*
 * Does work that calls functions of strings.  Returns NULL, or why PostgreSQL has to do it: one has raised an error,
 * maybe for a string that no row has.
 */
extern const char *strings_call(void (*work) (void *arg), void *arg);

#endif
