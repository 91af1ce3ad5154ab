/*
 * reducer.h: sum, minimum, maximum and average of SQL values, one after another.
 */
#ifndef GPUSORT_REDUCER_H
#define GPUSORT_REDUCER_H

#include "vectorcompare.h"

/* How values of a type are added. */
typedef enum ReducerSum
{
	SUM_NONE,					/* not at all */
	SUM_INTEGER,
	SUM_FLOAT4,
	SUM_FLOAT8,
	SUM_ACCUMULATED,			/* floats so large that avg() may stop: as it adds them itself */
	SUM_BY_FUNCTION
} ReducerSum;

typedef struct Reducer
{
	gs_operation operation;		/* GS_SUM, GS_MIN, GS_MAX */
	bool		average;		/* of a sum */
	bool		keep;			/* results stay when others follow */
	bool		one_by_one;		/* no engine can add the values */
	ReducerSum	how;
	PGFunction	add;
	int16		len;
	bool		byval;
	SortSupportData key;		/* for minima and maxima */

	uint64		count;			/* values so far */
	int128		integer;
	double		real;
	Datum		value;			/* others, minima and maxima; the state of avg() */
} Reducer;

/* Opens a reducer for the values of a column; an error if its type has no such operation. */
extern void reducer_open(Reducer *reducer, const VectorColumn *column, gs_operation operation, bool average);

/* Begins anew. */
static inline void
reducer_reset(Reducer *reducer)
{
	reducer->count = 0;
	reducer->integer = 0;
	reducer->real = 0;
	reducer->value = (Datum) 0;
}

/* Takes a value that is not NULL; it must stay where it is. */
extern void reducer_add(Reducer *reducer, Datum value);

/* Takes what an engine made of a group. */
extern void reducer_set(Reducer *reducer, const gs_group *group);

/* The result so far; NULL if no value came. */
extern Datum reducer_result(const Reducer *reducer, bool *isnull);

#endif
