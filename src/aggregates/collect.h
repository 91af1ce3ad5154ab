/*
 * collect.h: the state of aggregates that need all values of a group.  Values are collected in vectors, and beyond the
 * memory limit in a sort of rows, which writes temporary files. Final functions do not modify the state visibly, so
 * they may be called repeatedly.
 */
#ifndef GPUSORT_COLLECT_H
#define GPUSORT_COLLECT_H

#include "fmgr.h"

#include "src/arrays/equality.h"
#include "src/arrays/smallorder.h"
#include "valueform.h"
#include "src/arrays/vector.h"
#include "src/arrays/vectorjob.h"
#include "src/arrays/vectorsort.h"

#define COLLECT_MAX_COLUMNS 2

/* Properties of a state beside its values. */
#define COLLECT_STABLE	1		/* depends on the arrival order of equal rows */
#define COLLECT_DOUBLES	2		/* the first argument is kept as double precision */

/* State shared by all groups of an aggregate call.  The first column is the sort column. */
typedef struct CollectCall
{
	int			ncolumns;
	bool		may_spill;		/* false in windows, where rows may follow an answer */
	int			flags;			/* COLLECT_STABLE, COLLECT_DOUBLES */
	Oid			collation;
	Oid			sortop;
	Oid			equal_collation;	/* cheapest collation with the same equality, for that column */
	SmallOrder	small;			/* for small groups, by the first column */
	SmallOrder	small_equal;	/* likewise, under equal_collation */
	Equality	equality;		/* of the last column */
	VectorType	types[COLLECT_MAX_COLUMNS];
	ValueForm  *forms;			/* for states that are serialized; NULL until needed */
	struct StateFileList *files;	/* files that may be read again, or NULL */
} CollectCall;

/* Groups up to this size are sorted directly, as a job would take too long for each of many groups. */
#define COLLECT_SMALL SMALL_ORDER

/* The state of one group.  A small one is one allocation of 128 bytes (240 with two columns) with its first values. */
typedef struct Collected
{
	CollectCall *call;
	VectorSort *spill;			/* rows beyond the memory limit; NULL: all are in the vectors */
	union
	{
		double		fraction;	/* of a percentile with a fraction per value; otherwise 0 */
		uint32	   *order;		/* of the rows, kept for aggregates that share the state; NULL: unknown */
		struct SortedRuns *runs;	/* of pairs whose second column has a value a run; NULL: one a row */
	};
	Vector		columns[FLEXIBLE_ARRAY_MEMBER];
} Collected;

/*
 * Returns a transition function's state, or creates it.  Argument 0 is the state, followed by ncolumns values; argument
 * 1 + key is the sort column.  A combine function passes the values of its aggregate.
 */
extern Collected *collect_begin(FunctionCallInfo fcinfo, int ncolumns, int key, int flags);

/* Returns the state, for every row; only the first row of a group creates one. */
static inline Collected *
collect_state(FunctionCallInfo fcinfo, int ncolumns, int key, int flags)
{
	return PG_ARGISNULL(0) ? collect_begin(fcinfo, ncolumns, key, flags) : (Collected *) PG_GETARG_POINTER(0);
}

/* Returns from a transition or combine function whose input is NULL and not collected. */
static inline Datum
collect_nothing(FunctionCallInfo fcinfo)
{
	fcinfo->isnull = PG_ARGISNULL(0);
	return PG_GETARG_DATUM(0);
}

/* Adds a row in all cases, including growth of vectors and spilling. */
extern void collect_put_slow(FunctionCallInfo fcinfo, Collected *state, const NullableDatum *row);

/* Adds a copy of a row to a state of one column.  A spilled state has no room in its vectors. */
static inline void
collect_put(FunctionCallInfo fcinfo, Collected *state, const NullableDatum *row)
{
	if (likely(vector_has_room(&state->columns[0], row->isnull)))
		vector_put(&state->columns[0], row->value);
	else
		collect_put_slow(fcinfo, state, row);
}

/* Adds a copy of a row to a state of two columns. */
static inline void
collect_put_pair(FunctionCallInfo fcinfo, Collected *state, const NullableDatum *row)
{
	if (likely(vector_has_room(&state->columns[0], row[0].isnull) &&
			   vector_has_room(&state->columns[1], row[1].isnull)))
	{
		vector_put(&state->columns[0], row[0].value);
		vector_put(&state->columns[1], row[1].value);
	}
	else
		collect_put_slow(fcinfo, state, row);
}

/* Returns the rows collected, in memory or not. */
extern uint64 collect_rows(const Collected *state);

/* Returns a percentile's fraction.  Raises PostgreSQL's error if it is out of range. */
extern double collect_checked_fraction(Datum value);

/* Sets a percentile's fraction, which is constant in a group.  NaN stands for NULL. */
extern void collect_set_fraction(Collected *state, double fraction, bool first);

/* Iterator over the distinct values of a spilled state.  Holds the current value. */
typedef struct CollectDistinct
{
	MemoryContext scratch;		/* for memory that comparisons leak */
	bool		any;
	Datum		last;
	uint64		read;			/* up to the first row of the current value */
} CollectDistinct;

/* Starts before the first value. */
extern void collect_distinct_begin(CollectDistinct *distinct, Collected *state);

/* Moves to the next distinct value of the first column.  Returns false and ends the iteration after the last one. */
extern bool collect_distinct_next(CollectDistinct *distinct, Collected *state);

/* Finds the order of a small group's rows.  Returns false for larger groups. */
extern bool collect_small_order(const Collected *state, uint32 order[COLLECT_SMALL]);

/* Runs of a state's rows that are equal in its last column, NULLs included, in order of its first one. */
typedef struct CollectRuns
{
	const gs_run *runs;
	uint64		count;
	BigMem	   *mem;			/* of a job; NULL for a small group */
	gs_run		small[COLLECT_SMALL];
} CollectRuns;

/* Find and free the runs of a state in memory.  any_order: equal values need only be adjacent. */
extern void collect_runs_begin(CollectRuns *found, const Collected *state, bool any_order);
extern void collect_runs_end(CollectRuns *found);

/* Returns a final function's state, or NULL if it is absent or empty. */
extern Collected *collect_final(FunctionCallInfo fcinfo);

/* Create and delete memory for a job, below the current context. */
extern BigMem *collect_begin_work(void);
extern void collect_end_work(BigMem *mem);

/* Return a column of a state in memory for a job; or the first one, for jobs that only need equality. */
extern VectorColumn collect_column(const Collected *state, int column);
extern VectorColumn collect_equal_column(const Collected *state);

#endif
