/*
 * reducer.h: sum, minimum, maximum and average of SQL values.
 */
#ifndef GPUSORT_REDUCER_H
#define GPUSORT_REDUCER_H

#include "vectorcompare.h"

/* How a type's values are added. */
typedef enum ReducerSum
{
	SUM_NONE,					/* not at all */
	SUM_INTEGER,
	SUM_FLOAT4,
	SUM_FLOAT8,
	SUM_ACCUMULATED,			/* floats so large that avg() may overflow: by its own function */
	SUM_BY_FUNCTION
} ReducerSum;

typedef struct Reducer
{
	gs_operation operation;		/* GS_SUM, GS_MIN, GS_MAX */
	bool		average;		/* of a sum */
	bool		keep;			/* results remain valid when more values follow */
	bool		one_by_one;		/* no engine can add the values */
	ReducerSum	how;
	PGFunction	add;
	int16		len;
	bool		byval;
	SortSupportData key;		/* for minima and maxima */

	uint64		count;			/* values so far */
	int128		integer;
	double		real;
	Datum		value;			/* of other types; minima and maxima; state of avg() */
} Reducer;

/* Opens a reducer for a column's values.  Raises an error if its type lacks the operation. */
extern void reducer_open(Reducer *reducer, const VectorColumn *column, gs_operation operation, bool average);

/* Resets to no values. */
static inline void
reducer_reset(Reducer *reducer)
{
	reducer->count = 0;
	reducer->integer = 0;
	reducer->real = 0;
	reducer->value = (Datum) 0;
}

/* Adds a non-NULL value, which must stay in place. */
extern void reducer_add(Reducer *reducer, Datum value);

/* Sets the result to an engine's group. */
extern void reducer_set(Reducer *reducer, const gs_group *group);

/* Returns the result so far; NULL without values. */
extern Datum reducer_result(const Reducer *reducer, bool *isnull);

#endif
