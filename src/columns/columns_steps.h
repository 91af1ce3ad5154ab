/*
 * columns_steps.h: a query over columns as a list of steps, with the constants of one scan.
 */
#ifndef GPUSORT_COLUMNS_STEPS_H
#define GPUSORT_COLUMNS_STEPS_H

#include "columns_query.h"
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

/* A list of steps, and what it takes to read its results. */
typedef struct ColumnsSteps
{
	gs_steps   *steps;
	/* by request */
	int			first[GS_STEPS_MAX_AGGREGATES]; /* its first aggregate in the list: ranks may have several */
	int			scales[GS_STEPS_MAX_AGGREGATES];	/* decimals of its integers */
	bool		all_null[GS_STEPS_MAX_AGGREGATES];	/* a constant of it is NULL */
} ColumnsSteps;

/*
 * Makes a filter of tests of subjects, which have these types (columns_filter.c).  codes: of the subjects that are
 * strings; NULL: none is.  Returns NULL, or why a constant cannot be converted.
 */
extern const char *columns_filter(const QueryTerms *terms, const ColumnDescription *subjects, int nsubjects,
								  StringCodes *const *codes, const QueryValues *values, Filter *filter);

/* Writes terms, for which there is room, and their constants. */
extern void columns_put_terms(StepsWriter *writer, const Filter *filter, gs_term *out);

/* Writes a filter as a step. */
extern void columns_put_filter(StepsWriter *writer, gs_step_kind kind, const Filter *filter);

/* Makes the list.  Returns NULL, or why it cannot be made. */
extern const char *columns_steps(const ColumnsQuery *query, const QueryValues *values, ColumnsSteps *steps);

#endif
