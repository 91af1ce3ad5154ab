/*
 * spill_merge.h: sorted runs merged into one.
 */
#ifndef GPUSORT_SPILL_MERGE_H
#define GPUSORT_SPILL_MERGE_H

#include "src/keys/sortcolumns.h"
#include "spill_tape.h"

/* How rows of runs compare. */
typedef struct MergeKeys MergeKeys;

/*
 * Opens keys for rows of that kind: as many leading columns as can be encoded exactly are compared as words first.
 */
extern MergeKeys *mergekeys_open(const SortColumns *columns, TupleDesc desc);

/* Ends them; merges that use them have ended. */
extern void mergekeys_close(MergeKeys *keys);

typedef struct Merge Merge;

/* Gives out the rows of a sorted run that is still in memory, NULL at its end; a row is valid until the next call. */
typedef MinimalTuple (*SpillNext) (void *arg);

/*
 * Begins to merge tapes, and a run in memory behind them if next is given.  Equal rows come in the order of their
 * runs.  Memory comes from the current context.
 */
extern Merge *merge_begin(MergeKeys *keys, RowTape **tapes, int ntapes, SpillNext next, void *arg);

/* The next row, valid until the next call; NULL at the end. */
extern MinimalTuple merge_next(Merge *merge);

/* Ends the merge; the tapes stay the caller's. */
extern void merge_end(Merge *merge);

#endif
