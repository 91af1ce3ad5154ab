/*
 * exchange.h: rows on their way to the participants of a parallel plan whose share they are.
 */
#ifndef GPUSORT_EXCHANGE_H
#define GPUSORT_EXCHANGE_H

#include "access/parallel.h"
#include "executor/tuptable.h"

typedef struct Exchange Exchange;

/* Shared memory of a plan with so many participants, the leader among them. */
extern Size exchange_shared_bytes(int participants);

/* How many parts the classes have there: a power of two. */
extern int	exchange_parts(int participants);

/* In the leader, before the plan is run, and run again.  Memory comes from the current context. */
extern Exchange *exchange_init(ParallelContext *parallel, void *memory);
extern void exchange_reset(Exchange *exchange);

/* In a worker. */
extern Exchange *exchange_attach(void *memory);

/* Comes to the exchange; false if it is too late to bring rows, because all have been brought. */
extern bool exchange_begin(Exchange *exchange);

/* Brings a row for one of the parts. */
extern void exchange_put(Exchange *exchange, int part, TupleTableSlot *slot);

/* Ends bringing rows, and waits until everybody else who has begun does. */
extern void exchange_end(Exchange *exchange);

/* Begins to take the rows of a part, as nobody else does; the next row, valid until the next call, NULL at the end. */
extern void exchange_open(Exchange *exchange, int part);
extern MinimalTuple exchange_next(Exchange *exchange);

/* Forgets what this process knows of it. */
extern void exchange_free(Exchange *exchange);

/* Closes the files, before they are deleted. */
extern void exchange_close(Exchange *exchange);

#endif
