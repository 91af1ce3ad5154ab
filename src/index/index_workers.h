/*
 * index_workers.h: parallel workers, each of which scans and sorts a part of a table; the merge of their rows.
 */
#ifndef GPUSORT_INDEX_WORKERS_H
#define GPUSORT_INDEX_WORKERS_H

#include "access/relscan.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "index_rows.h"

typedef struct IndexWorkers IndexWorkers;

/* Starts up to so many workers, which share maintenance_work_mem with the leader; NULL: none came. */
extern IndexWorkers *indexworkers_begin(Relation heap, Relation index, IndexInfo *info, const IndexForm *form,
										int workers);

/* The leader's part of the scan, which ends it. */
extern TableScanDesc indexworkers_scan(IndexWorkers *workers);

/* Begins to merge the leader's rows, which are sorted, with those of the workers.  Then returns the next. */
extern void indexworkers_merge(IndexWorkers *workers, IndexRows *rows);
extern MinimalTuple indexworkers_next(void *workers);

/* Ends the workers; adds the rows and tuples that they have found, and what they know of the index. */
extern void indexworkers_end(IndexWorkers *workers, IndexInfo *info, uint64 *rows, double *tuples);

#endif
