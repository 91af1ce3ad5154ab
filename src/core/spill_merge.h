/*
 * spill_merge.h: merges sorted runs.
 */
#ifndef GPUSORT_SPILL_MERGE_H
#define GPUSORT_SPILL_MERGE_H

#include "src/keys/sortcolumns.h"
#include "src/keys/sortkey.h"
#include "spill_tape.h"

/* How rows of runs compare. */
typedef struct MergeKeys MergeKeys;

/* Opens the keys of rows of that descriptor.  Key prefixes (../merge/key_prefix.h) are compared first. */
extern MergeKeys *mergekeys_open(const SortColumns *columns, TupleDesc desc);

/* Compares primary weights, too, which may be wrong; see keyprefix_add_weights.  Nothing is proved then. */
extern void mergekeys_add_weights(MergeKeys *merge, const SortKey *keys);

/* Frees keys that no merge uses any more. */
extern void mergekeys_close(MergeKeys *keys);

typedef struct Merge Merge;

/* Returns the next row of a sorted run in memory, NULL at its end; valid until the next call. */
typedef MinimalTuple (*SpillNext) (void *arg);

/* Begins to merge tapes, and a run in memory behind them if next is given, in the current context.  Ties: by run. */
extern Merge *merge_begin(MergeKeys *keys, RowTape **tapes, int ntapes, SpillNext next, void *arg);

/* The next row, valid until the next call; NULL at the end. */
extern MinimalTuple merge_next(Merge *merge);

/* Ends the merge; the tapes stay the caller's. */
extern void merge_end(Merge *merge);

#endif
