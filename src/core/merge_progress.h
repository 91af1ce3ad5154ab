/*
 * merge_progress.h: what a GpuMerge tells gpusort_progress of itself; sorter_progress.c.
 */
#ifndef GPUSORT_MERGE_PROGRESS_H
#define GPUSORT_MERGE_PROGRESS_H

#include "src/engine/progress.h"

/* Makes it known until the current memory context ends. */
extern void merge_tell_begin(Progress *progress, double rows_expected);

/* Tells how many rows it has put in order, and how many workers sort for it. */
extern void merge_tell(Progress *progress, uint64 rows, double rows_expected, int workers);

#endif
