/*
 * tied_runs.h: sorts rows that coarse keys leave tied, with the types' own comparison functions.
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
	TIED_SORTED,				/* it is the server's now */
	TIED_WRONG_ORDER,			/* it is not that of the keys: the engine is at fault */
	TIED_CONTRADICTION,			/* keys contradict the comparison function; they are refused from now on */
	TIED_NO_MEMORY
} TiedResult;

/* What that took. */
typedef struct TiedStats
{
	uint64		compared;		/* rows compared with the one before */
	uint64		runs;			/* of rows with equal keys that were not in order */
	uint64		rows;			/* in them */
} TiedStats;

/*
 * Turns an order by coarse keys into the server's order, equal rows by their numbers.  All neighbours are compared, or
 * with marks only those that may be tied.  Keys must not widen.  A run whose items exceed items_limit ends it with
 * TIED_NO_MEMORY.  Unpacked copies of values take copies_limit bytes at most.
 */
extern TiedResult tied_runs_sort(RowComparer *comparer, SortKey *keys, const RowMarks *marks, uint32 *order,
								 uint64 rows, BigMem *mem, Size items_limit, Size copies_limit, TiedStats *stats);

/*
 * Sorts rows by comparison alone, equal ones by their numbers, as one run of rows that no key has told apart.  false if
 * memory does not suffice.
 */
extern bool tied_runs_sort_all(RowComparer *comparer, uint32 *order, uint32 rows, BigMem *mem, Size copies_limit);

/* Bytes of items for each row of a run. */
#define TIED_RUN_BYTES 32

#endif
