/*
 * tied_runs.h: rows that coarse keys do not tell apart, put in order by the server's own comparison functions.
 */
#ifndef GPUSORT_TIED_RUNS_H
#define GPUSORT_TIED_RUNS_H

#include "rowcompare.h"
#include "rowmarks.h"
#include "src/base/bigmem.h"
#include "src/keys/sortkey.h"

/* What became of an order. */
typedef enum TiedResult
{
	TIED_SETTLED,				/* it is the server's */
	TIED_WRONG_ORDER,			/* it is not that of the keys: an engine's fault */
	TIED_CONTRADICTION,			/* keys contradict the comparison function; they are refused from now on */
	TIED_NO_MEMORY
} TiedResult;

/* What was to be done. */
typedef struct TiedStats
{
	uint64		compared;		/* rows compared with the one before */
	uint64		runs;			/* of rows with equal keys that were not in order */
	uint64		rows;			/* in them */
} TiedStats;

/*
 * Takes an order of rows by coarse keys and makes it the server's: every pair of neighbours is compared, unless marks
 * of the rows tell which ones are tied, and runs of rows that have equal keys are put in order where they are not. Rows
 * that compare equal stay in the order of their numbers.  Keys may not widen.  A run whose items take more than
 * items_limit bytes is too large; copies of values, which make comparisons cheaper, take copies_limit bytes at most.
 */
extern TiedResult tied_runs_settle(RowComparer *comparer, SortKey *keys, const RowMarks *marks, uint32 *order,
								   uint64 rows, BigMem *mem, Size items_limit, Size copies_limit, TiedStats *stats);

/* Bytes that this may take for each row of a run. */
#define TIED_RUN_BYTES 32

#endif
