/*
 * string_occurrence.h: tests the strings of dictionaries by a query's conditions, of those that take long only the
 * strings that occur in rows which pass the others.
 */
#ifndef GPUSORT_COLUMNS_STRING_OCCURRENCE_H
#define GPUSORT_COLUMNS_STRING_OCCURRENCE_H

#include "columns_question.h"

/* How the service is asked which strings occur, and what that takes. */
typedef struct OccurrenceSource
{
	double		look;			/* at all rows of the open question, in nanoseconds */
	/*
	 * Asks about these rows, or a sample of them.  *answered: there is an answer.  Returns NULL, or why PostgreSQL's
	 * plan has to run: the service fails.
	 */
	const char *(*ask) (void *arg, ColumnsQuestion *question, bool *answered);
	void	   *arg;
	ColumnsFigures *figures;	/* to which what was found out is added */
} OccurrenceSource;

/*
 * Has the codes of a query's strings know which are possible: those that pass the conditions which functions test, and,
 * where it pays, occur.  Those that functions of keys and aggregates are called for are among these.  Codes are not
 * ranked yet; all strings of rows are known.  Returns NULL, or why PostgreSQL has to answer.
 */
extern const char *strings_judge(ColumnsQuery *query, const QueryValues *values, const OccurrenceSource *source);

#endif
