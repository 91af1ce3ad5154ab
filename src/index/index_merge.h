/*
 * index_merge.h: the merge of sorted rows of an index, a process's own and those that others send.
 */
#ifndef GPUSORT_INDEX_MERGE_H
#define GPUSORT_INDEX_MERGE_H

#include "storage/shm_mq.h"

#include "index_rows.h"

typedef struct IndexMerge IndexMerge;

/*
 * Begins to merge this process's rows, if it has sorted some (rows may be NULL), with what so many queues bring; in the
 * current memory context.  It has one source at least.
 */
extern IndexMerge *indexmerge_open(const IndexForm *form, IndexRows *rows, shm_mq_handle **queues, uint32 nqueues);

/* The next row, valid until the next call; NULL at the end. */
extern MinimalTuple indexmerge_next(IndexMerge *merge);

/* Sends all rows to another merge, or as many as it wants. */
extern void indexmerge_send(IndexMerge *merge, shm_mq_handle *to);
extern void indexmerge_close(IndexMerge *merge);

#endif
