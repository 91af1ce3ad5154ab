/*
 * exchange.h: sends rows to the participants of a parallel plan that own them.
 */
#ifndef GPUSORT_EXCHANGE_H
#define GPUSORT_EXCHANGE_H

#include "access/parallel.h"
#include "executor/tuptable.h"

typedef struct Exchange Exchange;

/* Returns the bytes of shared memory for this many participants, including the leader. */
extern Size exchange_shared_bytes(int participants);

/* Returns the number of parts of an exchange, a power of two. */
extern int	exchange_parts(int participants);

/* Initialises the exchange in the leader, before the plan is run or rescanned.  Allocates in the current context. */
extern Exchange *exchange_init(ParallelContext *parallel, void *memory);
extern void exchange_reset(Exchange *exchange);

/* Attaches a worker. */
extern Exchange *exchange_attach(void *memory);

/* Joins the exchange.  Returns false if it is too late to send rows, because all have been read. */
extern bool exchange_begin(Exchange *exchange);

/* Sends a row to a part. */
extern void exchange_put(Exchange *exchange, int part, TupleTableSlot *slot);

/* Ends sending, and waits for all participants that have begun. */
extern void exchange_end(Exchange *exchange);

/* Begins to read a part, which no other process reads; and returns a row, valid until the next call, or NULL. */
extern void exchange_open(Exchange *exchange, int part);
extern MinimalTuple exchange_next(Exchange *exchange);

/* Frees this process's state. */
extern void exchange_free(Exchange *exchange);

/* Closes the files.  Must come before they are deleted. */
extern void exchange_close(Exchange *exchange);

#endif
