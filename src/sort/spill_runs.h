/*
 * spill_runs.h: sorted runs in temporary files, and their merge.
 */
#ifndef GPUSORT_SPILL_RUNS_H
#define GPUSORT_SPILL_RUNS_H

#include "access/htup_details.h"

#include "sorter.h"

typedef struct Runs Runs;

/* memory_limit bounds the buffers of a merge.  Memory comes from the current context, files from BufFile. */
extern Runs *runs_create(const SortColumns *columns, TupleDesc desc, Size memory_limit);

/* Writes one run: begin, every row in order, end. */
extern void runs_begin(Runs *runs);
extern void runs_append(Runs *runs, MinimalTuple tuple);
extern void runs_end(Runs *runs);

/* Gives out the rows of a sorted run that is still in memory, NULL at its end; a row is valid until the next call. */
typedef MinimalTuple (*RunsNext) (void *arg);

/*
 * Begins the merge of all runs and of one in memory, the youngest.  Equal rows come in the order of their runs.  random_access
 * materialises the result.
 */
extern void runs_merge(Runs *runs, bool random_access, RunsNext next, void *arg);

/* The next row in a direction, valid until the next call; NULL past either end. */
extern MinimalTuple runs_get(Runs *runs, bool forward);
extern void runs_mark(Runs *runs);
extern void runs_restore(Runs *runs);
extern void runs_rewind(Runs *runs);

/* Gives every row of all runs to a function, run after run, and drops the files; instead of a merge. */
extern void runs_drain(Runs *runs, void (*take) (void *arg, MinimalTuple tuple), void *arg);

extern void runs_close(Runs *runs);

/* Runs merged, the one in memory included; bytes written in all. */
extern int	runs_count(const Runs *runs);
extern uint64 runs_disk_bytes(const Runs *runs);

#endif
