/*
 * receiver.h: a receiver of rows that stands before the server's, for the time of one ExecutorRun.
 */
#ifndef GPUSORT_RECEIVER_H
#define GPUSORT_RECEIVER_H

#include "executor/execdesc.h"

#include "format.h"

typedef struct OutReceiver OutReceiver;

/*
 * Puts a receiver before a query's, which is printtup's or (copy) COPY's.  Formats are the portal's.  In the current
 * memory context.
 */
extern OutReceiver *receiver_open(QueryDesc *query, const int16 *formats, const CopyOptions *copy);

/*
 * For rows as tuples, which have a descriptor's columns first: holds messages back, as client.h has it.  False: the
 * server has to write the rows.
 */
extern bool receiver_hold(OutReceiver *receiver, TupleDesc desc);

/* Takes such a row; false: it is left to the server, which receiver_leave gives it to in a slot. */
extern bool receiver_take(OutReceiver *receiver, HeapTupleHeader row);
extern void receiver_leave(OutReceiver *receiver, TupleTableSlot *slot);

/* Puts the server's receiver back. */
extern void receiver_close(OutReceiver *receiver, QueryDesc *query);

#endif
