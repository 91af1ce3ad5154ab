/*
 * collect.h: the state of aggregates that need all values of a group before they can answer.
 *
 * Values are kept in vectors, and answered for by a job.  Past the memory limit they go to a sort of rows, which
 * writes temporary files; then the answer is read from the rows in order.  Final functions change nothing that a
 * later call could notice.
 */
#ifndef GPUSORT_COLLECT_H
#define GPUSORT_COLLECT_H

#include "fmgr.h"

#include "src/arrays/equality.h"
#include "src/arrays/smallorder.h"
#include "src/core/sorter.h"
#include "valueform.h"
#include "src/arrays/vector.h"
#include "src/arrays/vectorjob.h"

#define COLLECT_MAX_COLUMNS 2

/* What a state is, beside its values. */
#define COLLECT_STABLE	1		/* it counts in which order equal rows came */
#define COLLECT_DOUBLES	2		/* its first argument is kept as double precision, whatever it is */

/* What all groups of one aggregate call share; the first column is the one to sort by. */
typedef struct CollectCall
{
	int			ncolumns;
	bool		may_spill;		/* not in windows, where rows may come after an answer */
	int			flags;			/* COLLECT_STABLE, COLLECT_DOUBLES */
	Oid			collation;
	Oid			sortop;
	Oid			equal_collation;	/* the one of fewest costs under which the same values of it are equal */
	SmallOrder	small;			/* of small groups, by the first column */
	SmallOrder	small_equal;	/* the same under that collation */
	Equality	equality;		/* of the last column */
	VectorType	types[COLLECT_MAX_COLUMNS];
	ValueForm  *forms;			/* of the columns in states that are handed over; NULL until there is one */
	struct StateFileList *files;	/* of those that may be combined again; NULL: none yet */
} CollectCall;

/* Groups up to this size are put in order on the spot: with many of them, there is no time for a job. */
#define COLLECT_SMALL SMALL_ORDER

/*
 * Rows past the memory limit.  Our own sort leaves equal rows as they came; where PostgreSQL's has to do that, each row
 * carries its number as a column more, and that is the second key.
 */
typedef struct CollectSpill
{
	Sorter	   *sorter;
	bool		sorted;
	bool		numbered;
	uint64		rows;
	AttrNumber	attnos[2];		/* what sorter's columns point to */
	Oid			sortops[2];
	Oid			collations[2];
	bool		nulls_first[2];
	TupleTableSlot *in;
	TupleTableSlot *out;
} CollectSpill;

/*
 * One group.  A small one is a single allocation of 128 bytes (240 with two columns) with its first values behind the
 * vectors.
 */
typedef struct Collected
{
	CollectCall *call;
	CollectSpill *spill;		/* NULL: rows are in the vectors */
	union
	{
		double		fraction;	/* of a percentile that takes it with each value; else 0 */
		uint32	   *order;		/* of the rows, for aggregates that are asked several times; NULL: not known yet */
	};
	Vector		columns[FLEXIBLE_ARRAY_MEMBER];
} Collected;

/*
 * The state that a transition function was given, or a new one: argument 0 is the state, from argument 1 on there are
 * ncolumns values. The column to sort by is argument 1 + key.  A combine function, whose arguments are states, takes
 * the same of the aggregate that it belongs to.
 */
extern Collected *collect_begin(FunctionCallInfo fcinfo, int ncolumns, int key, int flags);

/* Called for every row: only the first one of a group makes a state. */
static inline Collected *
collect_state(FunctionCallInfo fcinfo, int ncolumns, int key, int flags)
{
	return PG_ARGISNULL(0) ? collect_begin(fcinfo, ncolumns, key, flags) : (Collected *) PG_GETARG_POINTER(0);
}

/* A row of any state, where vectors have to grow or rows go to a file. */
extern void collect_put_slow(FunctionCallInfo fcinfo, Collected *state, const NullableDatum *row);

/* Takes a copy of a row of a state with one column; a state that has spilled has no room in its vectors. */
static inline void
collect_put(FunctionCallInfo fcinfo, Collected *state, const NullableDatum *row)
{
	if (likely(vector_has_room(&state->columns[0], row->isnull)))
		vector_put(&state->columns[0], row->value);
	else
		collect_put_slow(fcinfo, state, row);
}

/* The same with two columns. */
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

/* Rows taken so far, in memory or not. */
extern uint64 collect_rows(const Collected *state);

/* A percentile's fraction, with PostgreSQL's error if there cannot be such a percentile. */
extern double collect_checked_fraction(Datum value);

/* Stops because the rows of a group name two fractions. */
pg_noreturn extern void collect_fraction_error(double one, double other);

/* Before the first row of a state that has spilled, and then each row in order; an empty slot past the last one. */
extern void collect_rewind(Collected *state);
extern TupleTableSlot *collect_next(Collected *state);

/* Values of a state that has spilled, each once; the one that was read last is kept here. */
typedef struct CollectDistinct
{
	MemoryContext scratch;		/* what comparisons leave behind */
	bool		any;
	Datum		last;
	uint64		read;			/* rows, up to the first one with this value */
} CollectDistinct;

/* Before the first value. */
extern void collect_distinct_begin(CollectDistinct *distinct, Collected *state);

/* The next value of the first column that differs from the one before; false past the last one, which ends it. */
extern bool collect_distinct_next(CollectDistinct *distinct, Collected *state);

/* The order of a small group's rows; false if it is not small. */
extern bool collect_small_order(const Collected *state, uint32 order[COLLECT_SMALL]);

/* The same, in whatever order has equal values beside each other. */
extern bool collect_small_equal(const Collected *state, uint32 order[COLLECT_SMALL]);

/* The state that a final function was given, NULL if there is none or no value in it. */
extern Collected *collect_final(FunctionCallInfo fcinfo);

/* Memory for a job, below the current context, and its end. */
extern BigMem *collect_begin_work(void);
extern void collect_end_work(BigMem *mem);

/* A column of a state that has not spilled, for a job; the first one, for jobs that ask only what is equal. */
extern VectorColumn collect_column(const Collected *state, int column);
extern VectorColumn collect_equal_column(const Collected *state);

#endif
