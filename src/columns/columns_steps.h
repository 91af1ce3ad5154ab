/*
 * columns_steps.h: a query over columns as a list of steps, with the constants of one scan.
 */
#ifndef GPUSORT_COLUMNS_STEPS_H
#define GPUSORT_COLUMNS_STEPS_H

#include "columns_query.h"
#include "steps_writer.h"

/* A list of steps, and what it takes to read its results. */
typedef struct ColumnsSteps
{
	gs_steps   *steps;
	/* by request */
	int			first[GS_STEPS_MAX_AGGREGATES]; /* its first aggregate in the list: ranks may have several */
	int			scales[GS_STEPS_MAX_AGGREGATES];	/* decimals of its integers */
	bool		all_null[GS_STEPS_MAX_AGGREGATES];	/* a constant of it is NULL */
} ColumnsSteps;

/* Makes the list.  Returns NULL, or why it cannot be made. */
extern const char *columns_steps(const ColumnsQuery *query, const QueryValues *values, ColumnsSteps *steps);

#endif
