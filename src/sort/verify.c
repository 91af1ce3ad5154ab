/*
 * verify.c: checks of an order against the types' own comparison functions.
 *
 * For those who want proof rather than trust, and for tests: what core's sort would say of each pair of neighbours.
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"

#include "verify.h"

/* The comparison functions of a sort's keys. */
static SortSupport
open_comparators(const SortColumns *columns)
{
	SortSupport keys = palloc0(sizeof(SortSupportData) * columns->nkeys);

	for (int i = 0; i < columns->nkeys; i++)
	{
		keys[i].ssup_cxt = CurrentMemoryContext;
		keys[i].ssup_collation = columns->collations[i];
		keys[i].ssup_nulls_first = columns->nulls_first[i];
		keys[i].ssup_attno = columns->attnos[i];
		PrepareSortSupportFromOrderingOp(columns->sortops[i], &keys[i]);
	}
	return keys;
}

/* Compares two rows as tuplesort does. */
static int
compare_rows(SortSupport keys, int nkeys, TupleTableSlot *a, TupleTableSlot *b)
{
	for (int i = 0; i < nkeys; i++)
	{
		bool		null_a;
		bool		null_b;
		Datum		value_a = slot_getattr(a, keys[i].ssup_attno, &null_a);
		Datum		value_b = slot_getattr(b, keys[i].ssup_attno, &null_b);
		int			order = ApplySortComparator(value_a, null_a, value_b, null_b, &keys[i]);

		if (order != 0)
			return order;
	}
	return 0;
}

bool
verify_order(const SortColumns *columns, TupleDesc desc, RowStore *rows, RowOrder *order, GpusortVerify how)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort verify", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	SortSupport keys = open_comparators(columns);
	MemoryContext scratch = AllocSetContextCreate(cxt, "gpusort verify pair", ALLOCSET_DEFAULT_SIZES);
	TupleTableSlot *a = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	TupleTableSlot *b = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	uint64		step = how == VERIFY_FULL ? 1 : Max(order->rows / VERIFY_SAMPLE_PAIRS, 1);
	bool		good = true;

	MemoryContextSwitchTo(scratch);
	for (uint64 i = 0; good && i + 1 < order->rows; i += step)
	{
		CHECK_FOR_INTERRUPTS();
		/* the store may give every row out in the same place, so the first one is copied */
		ExecStoreMinimalTuple(copy_tuple_minimal(rowstore_get(rows, roworder_at(order, i))), a, false);
		ExecStoreMinimalTuple(rowstore_get(rows, roworder_at(order, i + 1)), b, false);
		good = compare_rows(keys, columns->nkeys, a, b) <= 0;
		ExecClearTuple(a);
		ExecClearTuple(b);
		MemoryContextReset(scratch);
	}
	MemoryContextSwitchTo(old);
	ExecDropSingleTupleTableSlot(a);
	ExecDropSingleTupleTableSlot(b);
	MemoryContextDelete(cxt);
	return good;
}
