/*
 * rowcompare.c: rows of a store compared as the server compares them.
 */
#include "postgres.h"

#include "executor/tuptable.h"

#include "rowcompare.h"

SortSupport
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

int
compare_slots(SortSupport keys, int nkeys, TupleTableSlot *a, TupleTableSlot *b)
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

RowComparer *
rowcompare_open(const SortColumns *columns, TupleDesc desc, RowStore *rows, const KeyPlace *places)
{
	RowComparer *comparer = palloc0(sizeof(RowComparer));

	comparer->nkeys = columns->nkeys;
	comparer->keys = open_comparators(columns);
	comparer->rows = rows;
	comparer->places = places;
	for (int side = 0; side < 2; side++)
	{
		comparer->slots[side] = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
		comparer->copies[side] = palloc(ROW_HEADER_BYTES + BARE_BYTES);
	}
	return comparer;
}

void
rowcompare_close(RowComparer *comparer)
{
	for (int side = 0; side < 2; side++)
	{
		ExecDropSingleTupleTableSlot(comparer->slots[side]);
		pfree(comparer->copies[side]);
	}
	pfree(comparer->keys);
	pfree(comparer);
}

Datum
rowcompare_slow_value(RowComparer *comparer, int side, uint32 row, int key, bool *isnull)
{
	TupleTableSlot *slot = comparer->slots[side];
	AttrNumber	attno = comparer->keys[key].ssup_attno;
	MinimalTuple tuple = rowstore_get(comparer->rows, row);
	Datum		value;

	if (!comparer->rows->bare)
	{
		ExecStoreMinimalTuple(tuple, slot, false);
		return slot_getattr(slot, attno, isnull);
	}
	/* the store gives every bare row out in the same place */
	tuple = memcpy(comparer->copies[side], tuple, tuple->t_len);
	ExecStoreMinimalTuple(tuple, slot, false);
	value = slot_getattr(slot, attno, isnull);
	if (*isnull || comparer->places[key].byval)
		return value;
	/* the same bytes in the arena, where they stay */
	return PointerGetDatum(rowstore_address(comparer->rows, row) +
						   ((char *) DatumGetPointer(value) - (char *) tuple - ROW_HEADER_BYTES));
}
