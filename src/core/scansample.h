/*
 * scansample.h: rows of a sequential scan ahead of it, of some of its pages.
 */
#ifndef GPUSORT_SCANSAMPLE_H
#define GPUSORT_SCANSAMPLE_H

#include "nodes/execnodes.h"

/* Takes a row of the sample, in memory for one row.  The slot is the scan's, and has another row afterwards. */
typedef void (*SampledRow) (void *arg, TupleTableSlot *slot);

/*
 * Gives out the rows that a scan returns of this fraction of its table's pages, evenly spaced over the table; nothing
 * if the node is no sequential scan, or if it may return other rows when it gets there.  The scan's last row must be of
 * no use any more.  The context's memory is what rows are taken in.
 */
extern void scansample_read(PlanState *child, double fraction, ExprContext *context, SampledRow take, void *arg);

#endif
