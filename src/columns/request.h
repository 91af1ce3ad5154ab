/*
 * request.h: a session's request to load a table before its choice is committed.
 */
#ifndef GPUSORT_COLUMNS_REQUEST_H
#define GPUSORT_COLUMNS_REQUEST_H

#include "access/attnum.h"
#include "nodes/bitmapset.h"

/*
 * Requests a relation's columns (attribute numbers) from the keeper, and waits until all are loaded.  Raises an error
 * if they cannot be.  The keeper frees them if the transaction, or its subtransaction, rolls back.
 */
extern void request_columns(Oid relation, const char *name, const Bitmapset *columns);

#endif
