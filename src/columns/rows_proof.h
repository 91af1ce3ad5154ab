/*
 * rows_proof.h: proves that rows which columns gave in an order are in it, by PostgreSQL's comparison of what stands in
 * the table.
 */
#ifndef GPUSORT_ROWS_PROOF_H
#define GPUSORT_ROWS_PROOF_H

#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "utils/sortsupport.h"

typedef struct RowsProof
{
	int			nkeys;
	SortSupport keys;
	TupleTableSlot *before;		/* the row before; empty: there is none */
} RowsProof;

/* Begins, by Vars and the integers of ColumnsParts.orders, for slots of buffers' tuples; in the current context. */
extern RowsProof *rowsproof_open(const List *sorted, const List *orders, TupleDesc desc);

/* Takes the next row.  Returns false if it comes before the one before it. */
extern bool rowsproof_take(RowsProof *proof, TupleTableSlot *row);

/* Begins again with the first row, or ends: no page stays pinned. */
extern void rowsproof_rewind(RowsProof *proof);
extern void rowsproof_close(RowsProof *proof);

#endif
