/*
 * spill_runs.h: sorted runs in a temporary file, and their merge.
 */
#ifndef GPUSORT_SPILL_RUNS_H
#define GPUSORT_SPILL_RUNS_H

#include "spill_merge.h"

typedef struct SpillRuns SpillRuns;

/* memory_limit bounds the buffers of a merge.  Memory is taken from the current context. */
extern SpillRuns *spill_create(const SortColumns *columns, TupleDesc desc, Size memory_limit);

/* Writes a run: spill_begin, spill_append of each row in order, spill_end.  header: that of all rows, or NULL. */
extern void spill_begin(SpillRuns *runs, const MinimalTupleData *header);
extern void spill_append(SpillRuns *runs, MinimalTuple tuple);
extern void spill_end(SpillRuns *runs);

/* Has merges compare primary weights, too, which may be wrong; see keyprefix_add_weights. */
extern void spill_add_weights(SpillRuns *runs, const SortKey *keys);

/* Called by a merge that writes its result, every PROGRESS_ROWS rows, with the number of rows written. */
typedef void (*SpillProgress) (void *arg, uint64 rows);

/*
 * Begins the merge of all runs and of the youngest one, which next returns from memory and whose rows have that header
 * (as in spill_begin).  Equal rows are returned in the order of their runs.  random_access writes the result to disk.
 */
extern void spill_merge(SpillRuns *runs, bool random_access, const MinimalTupleData *header, SpillNext next,
						SpillProgress progress, void *arg);

/* The merged row at a position (random_access, if not the next), valid until the next call; NULL behind the last. */
extern MinimalTuple spill_get(SpillRuns *runs, uint64 position);
extern void spill_mark(SpillRuns *runs);
extern void spill_restore(SpillRuns *runs);
extern void spill_rewind(SpillRuns *runs);

/* Passes all rows to a function, run by run; instead of a merge. */
extern void spill_drain(SpillRuns *runs, void (*take) (void *arg, MinimalTuple tuple), void *arg);

/* Ends the merge, and deletes the file. */
extern void spill_close(SpillRuns *runs);

/* The number of runs, the one in memory included; the size of the file. */
extern int	spill_count(const SpillRuns *runs);
extern uint64 spill_disk_bytes(const SpillRuns *runs);

#endif
