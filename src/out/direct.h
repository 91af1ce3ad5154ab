/*
 * direct.h: the node at the top of a plan sends its rows itself, as messages, without a slot for each.
 */
#ifndef GPUSORT_DIRECT_H
#define GPUSORT_DIRECT_H

#include "receiver.h"

/*
 * Makes the top node of a query send all its rows to a receiver, if it can give out rows as tuples and nothing above it
 * changes or counts them.  False: rows go the usual way.
 */
extern bool direct_begin(QueryDesc *query, OutReceiver *receiver);

/* Undoes that, also after an error. */
extern void direct_end(QueryDesc *query);

#endif
