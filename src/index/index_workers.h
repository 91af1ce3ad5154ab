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

/*
 * Starts workers, so that so many processes scan and sort, which share maintenance_work_mem: workers alone, or the
 * leader with them, if the settings do not allow as many, or fewer came.  NULL: none came.
 */
extern IndexWorkers *indexworkers_begin(Relation heap, Relation index, IndexInfo *info, const IndexForm *form,
										int participants);

/* Do they take all of the table? */
extern bool indexworkers_take_all(const IndexWorkers *workers);

/* Waits until they have scanned it; progress: and shows how far they are. */
extern void indexworkers_wait(IndexWorkers *workers, bool progress);

/* Else the leader's part of the scan, which ends it. */
extern TableScanDesc indexworkers_scan(IndexWorkers *workers);

/* Begins to merge the rows of workers, and the leader's, if it has sorted some.  Then returns the next. */
extern void indexworkers_merge(IndexWorkers *workers, IndexRows *rows);
extern MinimalTuple indexworkers_next(void *workers);

/* Ends the workers; adds the rows and tuples that they found, and what they know of the index.  Returns who sorted. */
extern EngineKind indexworkers_end(IndexWorkers *workers, IndexInfo *info, uint64 *rows, double *tuples);

#endif
