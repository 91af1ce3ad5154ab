/*
 * columns_strings.h: conditions on strings that their codes do not tell: order, LIKE, regular expressions.
 * PostgreSQL's own function answers, once for each string that is possible.
 */
#ifndef GPUSORT_COLUMNS_STRINGS_H
#define GPUSORT_COLUMNS_STRINGS_H

#include "fmgr.h"

#include "query_members.h"

/*
 * Returns true for functions of a string, or of a number that a function of it returns, and a value that may be called
 * for strings of rows that nobody asked about: built-in ones that return bool, know nothing but their arguments, and
 * tell nobody.
 */
extern bool strings_function(Oid function);
extern bool strings_number_function(Oid function);

/* A call of a query for one string after another. */
typedef struct StringCall
{
	FmgrInfo	function;
	FunctionCallInfo arguments; /* set, but for the first */
} StringCall;

/* Sets the arguments of a call in the current context.  Returns NULL, or why the results are not known. */
extern const char *string_call_begin(StringCall *call, const QueryCall *of, const QueryValues *values);

/* Calls for a string.  Returns NULL, or why the result is not known. */
extern const char *string_call(StringCall *call, Datum string, Datum *result);

/* Returns the words of a bit for each code. */
extern Size strings_words(const StringCodes *codes);

/* Returns bits of all codes that are possible, with a word more, in the current context. */
extern uint64 *strings_possible(const StringCodes *codes);

/*
 * Returns about how long a call of a function, or a term with one, takes for a string, in nanoseconds: measured where
 * a look at a row takes 1.5.
 */
#define STRINGS_LONG_TIME 3000	/* for which parallel workers pay */
extern uint32 strings_call_time(const QueryCall *call);
extern uint32 strings_term_time(const ColumnDescription *column, const QueryTerm *term, const QueryValues *values);

/*
 * Clears the bits of codes whose strings do not pass a term with a function.  Returns NULL, or why PostgreSQL has to
 * do it: the function has raised an error, maybe for a string that no row has.
 */
extern const char *strings_test(const StringCodes *codes, const ColumnDescription *column, const QueryTerm *term,
								const QueryValues *values, uint64 *bits);

/*
 * Does work that calls functions.  Returns NULL, or the reason why PostgreSQL has to do it: one has raised an error,
 * maybe for a string, or before a row, that is not there.
 */
extern const char *strings_call(void (*work) (void *arg), void *arg, const char *reason);

/* That reason, where the functions are those of strings. */
extern const char *const strings_raise;

#endif
