/*
 * rowgather.h: rows made of some columns of a table's tuples.
 */
#ifndef GPUSORT_ROWGATHER_H
#define GPUSORT_ROWGATHER_H

#include "nodes/pg_list.h"

#include "rowstore.h"

/* How rows are made of a table's tuples. */
typedef struct RowGather RowGather;

/*
 * The way to make rows of a scan's target list; NULL if it takes more than copying columns.  In the current memory
 * context.
 */
extern RowGather *rowgather_create(List *targets, TupleDesc source, TupleDesc result);

/* rowstore_put_page, of rows made of the page's tuples. */
extern uint32 rowgather_put_page(RowGather *gather, RowStore *store, Page page, const OffsetNumber *items,
								 uint32 count);

#endif
