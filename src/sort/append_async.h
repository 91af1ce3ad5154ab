/*
 * append_async.h: rows of foreign servers that a GpuMergeAppend asks for before it needs them.
 */
#ifndef GPUSORT_APPEND_ASYNC_H
#define GPUSORT_APPEND_ASYNC_H

#include "nodes/execnodes.h"

typedef struct AsyncSources AsyncSources;

/* For those of some nodes that were planned and begun to be asked so, in the current memory context; NULL if none. */
extern AsyncSources *async_open(PlanState **sources, uint32 n, EState *estate);

/* Is this one of them?  It gives out rows by async_next alone. */
extern bool async_has(const AsyncSources *async, uint32 source);

/* Asks all of them for their first rows, which takes no time here. */
extern void async_begin(AsyncSources *async);

/* The next row of a source, which is valid until the one after it is asked for; NULL at the end. */
extern TupleTableSlot *async_next(AsyncSources *async, uint32 source);

/*
 * Before a row leaves: no request may be under way in a subtransaction that a cursor can outlive, whose rollback would
 * take the rows away that come.
 */
extern void async_settle(AsyncSources *async);

/* After ExecReScan of the nodes: they begin anew. */
extern void async_rescan(AsyncSources *async);

#endif
