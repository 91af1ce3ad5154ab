/*
 * spill_runs.h: sorted runs in a temporary file, and their merge.
 */
#ifndef GPUSORT_SPILL_RUNS_H
#define GPUSORT_SPILL_RUNS_H

#include "spill_merge.h"

typedef struct SpillRuns SpillRuns;

/* memory_limit bounds the buffers of a merge.  Memory comes from the current context. */
extern SpillRuns *spill_create(const SortColumns *columns, TupleDesc desc, Size memory_limit);

/* Writes one run: begin, every row in order, end.  header, unless it is NULL, is that of all its rows. */
extern void spill_begin(SpillRuns *runs, const MinimalTupleData *header);
extern void spill_append(SpillRuns *runs, MinimalTuple tuple);
extern void spill_end(SpillRuns *runs);

/*
 * Begins the merge of all runs and of one in memory, the youngest, whose rows have that header, as in spill_begin.
 * Equal rows come in the order of their runs.  random_access materialises the result.  moved hears, now and then, how
 * many rows have been written to do so.
 */
typedef void (*SpillMoved) (void *arg, uint64 rows);
extern void spill_merge(SpillRuns *runs, bool random_access, const MinimalTupleData *header, SpillNext next,
						SpillMoved moved, void *arg);

/*
 * The row at a position of the merged result, valid until the next call; NULL behind the last one.  A position other
 * than the next one needs random_access.
 */
extern MinimalTuple spill_get(SpillRuns *runs, uint64 position);
extern void spill_mark(SpillRuns *runs);
extern void spill_restore(SpillRuns *runs);
extern void spill_rewind(SpillRuns *runs);

/* Gives every row of all runs to a function, run after run; instead of a merge. */
extern void spill_drain(SpillRuns *runs, void (*take) (void *arg, MinimalTuple tuple), void *arg);

/* Ends a merge that is under way, and deletes the file. */
extern void spill_close(SpillRuns *runs);

/* Runs merged, the one in memory included; the most that the file has held. */
extern int	spill_count(const SpillRuns *runs);
extern uint64 spill_disk_bytes(const SpillRuns *runs);

#endif
