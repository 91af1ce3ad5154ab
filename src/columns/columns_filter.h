/*
 * columns_filter.h: conditions as tests of held values, with the constants of one scan.
 */
#ifndef GPUSORT_COLUMNS_FILTER_H
#define GPUSORT_COLUMNS_FILTER_H

#include "query_members.h"
#include "steps_writer.h"

/* A test with its constants. */
typedef struct FilterTerm
{
	int			column;
	gs_test		test;
	int			nconstants;
	gs_constant *constants;
	int			other;			/* of two columns */
} FilterTerm;

/* Terms that are ANDed. */
typedef struct Filter
{
	int			nterms;
	FilterTerm *terms;
} Filter;

/*
 * Makes a filter of tests of members of groups, which have these types.  Returns NULL, or why a constant cannot be
 * converted.
 */
extern const char *filter_members(const QueryTerms *terms, const ColumnDescription *members, int nmembers,
								  const QueryValues *values, Filter *filter);

/* Makes a filter of tests of rows, whose columns have their numbers in the list. */
extern const char *filter_rows(const ColumnsQuery *query, const QueryTerms *terms, const QueryValues *values,
							   Filter *filter);

/* Writes such tests as terms of an aggregate or a choice, with their place and number. */
extern const char *filter_put_terms(StepsWriter *writer, const ColumnsQuery *query, const QueryTerms *terms,
									const QueryValues *values, uint32 *offset, uint32 *nterms);

/* Writes a filter as a step. */
extern void filter_put(StepsWriter *writer, gs_step_kind kind, const Filter *filter);

#endif
