/*
 * rowgather.h: copies the columns that a projection picks out of a table's tuples.
 */
#ifndef GPUSORT_ROWGATHER_H
#define GPUSORT_ROWGATHER_H

#include "nodes/pg_list.h"

#include "rowstore.h"

/* Which columns of a table's tuples become those of a row. */
typedef struct RowGather RowGather;

/* Prepares to copy a scan's target list, in the current context; NULL if it has anything but columns. */
extern RowGather *rowgather_create(List *targets, TupleDesc source, TupleDesc result);

/* rowstore_put_page of rows that have only these columns of the page's tuples. */
extern uint32 rowgather_put_page(RowGather *gather, RowStore *store, Page page, const OffsetNumber *items,
								 uint32 count);

#endif
