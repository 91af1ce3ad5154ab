/*
 * rows_proof.c: proves that rows which columns gave in an order are in it.
 */
#include "postgres.h"

#include "nodes/primnodes.h"
#include "utils/typcache.h"

#include "src/rows/rowcompare.h"
#include "rows_proof.h"

/* Returns the operator that sorts by a column. */
static Oid
operator_of(const Var *column, bool descending)
{
	const TypeCacheEntry *type = lookup_type_cache(column->vartype, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

	return descending ? type->gt_opr : type->lt_opr;
}

RowsProof *
rowsproof_open(const List *sorted, const List *orders, TupleDesc desc)
{
	RowsProof  *proof = palloc0(sizeof(RowsProof));
	int			n = list_length(sorted);
	SortColumns columns = {n, palloc_array(AttrNumber, n), palloc_array(Oid, n), palloc_array(Oid, n),
	palloc_array(bool, n)};
	ListCell   *lc;

	foreach(lc, sorted)
	{
		const Var  *column = lfirst_node(Var, lc);
		int			i = foreach_current_index(lc);

		columns.attnos[i] = column->varattno;
		columns.sortops[i] = operator_of(column, list_nth_int(orders, 3 * i + 1) != 0);
		columns.collations[i] = column->varcollid;
		columns.nulls_first[i] = list_nth_int(orders, 3 * i + 2) != 0;
	}
	proof->nkeys = n;
	proof->keys = open_comparators(&columns);
	proof->before = MakeSingleTupleTableSlot(desc, &TTSOpsBufferHeapTuple);
	return proof;
}

bool
rowsproof_take(RowsProof *proof, TupleTableSlot *row)
{
	bool		good = TTS_EMPTY(proof->before) || compare_slots(proof->keys, proof->nkeys, proof->before, row) <= 0;

	/* both have the tuple in its page */
	ExecCopySlot(proof->before, row);
	return good;
}

void
rowsproof_rewind(RowsProof *proof)
{
	ExecClearTuple(proof->before);
}

void
rowsproof_close(RowsProof *proof)
{
	ExecDropSingleTupleTableSlot(proof->before);
}
