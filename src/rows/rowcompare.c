/*
 * rowcompare.c: compares rows of a store as the server does.
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "fmgr.h"
#include "utils/datum.h"

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
	comparer->unpacking = CurrentMemoryContext;
	for (int side = 0; side < 2; side++)
	{
		comparer->slots[side].slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
		comparer->copies[side] = palloc(ROW_HEADER_BYTES + BARE_BYTES);
	}
	return comparer;
}

void
rowcompare_close(RowComparer *comparer)
{
	rowcompare_forget(comparer);
	for (int side = 0; side < 2; side++)
	{
		ExecDropSingleTupleTableSlot(comparer->slots[side].slot);
		pfree(comparer->copies[side]);
	}
	pfree(comparer->keys);
	pfree(comparer);
}

/* Does a slot hold this row of the store?  Rows move when the store grows. */
static inline bool
holds(const ComparedSlot *side, uint32 row, MinimalTuple tuple)
{
	return side->row == row && !TTS_EMPTY(side->slot) && ((MinimalTupleTableSlot *) side->slot)->mintuple == tuple;
}

/* Returns a slot with a stored row.  It stays deformed for its next key, and its comparison on the other side. */
static TupleTableSlot *
slot_with(RowComparer *comparer, int side, uint32 row, MinimalTuple tuple)
{
	ComparedSlot *mine = &comparer->slots[side];
	ComparedSlot *other = &comparer->slots[1 - side];

	if (holds(mine, row, tuple))
		return mine->slot;
	if (holds(other, row, tuple))
	{
		ComparedSlot swapped = *mine;

		*mine = *other;
		*other = swapped;
		return mine->slot;
	}
	mine->row = row;
	return ExecStoreMinimalTuple(tuple, mine->slot, false);
}

Datum
rowcompare_slow_value(RowComparer *comparer, int side, uint32 row, int key, bool *isnull)
{
	TupleTableSlot *slot;
	AttrNumber	attno = comparer->keys[key].ssup_attno;
	MinimalTuple tuple = rowstore_get(comparer->rows, row);
	Datum		value;

	if (!comparer->rows->bare)
		return slot_getattr(slot_with(comparer, side, row, tuple), attno, isnull);
	/* the store returns every bare row in one buffer */
	tuple = memcpy(comparer->copies[side], tuple, tuple->t_len);
	slot = ExecStoreMinimalTuple(tuple, comparer->slots[side].slot, false);
	value = slot_getattr(slot, attno, isnull);
	if (*isnull || comparer->places[key].byval)
		return value;
	/* the value within the arena, where it stays */
	return PointerGetDatum(rowstore_address(comparer->rows, row) +
						   ((char *) DatumGetPointer(value) - (char *) tuple - ROW_HEADER_BYTES));
}

/* Is it this value that was unpacked? */
static inline bool
is_unpacked(const UnpackedValue *unpacked, int key, uint32 row)
{
	return unpacked->value != NULL && unpacked->row == row && unpacked->key == key;
}

/* Unpacks a value. */
static struct varlena *
unpack(const RowComparer *comparer, Datum value)
{
	MemoryContext old = MemoryContextSwitchTo(comparer->unpacking);
	struct varlena *result = PG_DETOAST_DATUM(value);

	MemoryContextSwitchTo(old);
	return result;
}

/* A value as it is compared: unpacked, in place of the one before, if it is packed. */
static Datum
unpacked_value(const RowComparer *comparer, UnpackedValue *unpacked, int key, uint32 row, Datum value)
{
	if (!rowcompare_is_packed(comparer, key, value))
		return value;
	if (!is_unpacked(unpacked, key, row))
	{
		if (unpacked->value)
			pfree(unpacked->value);
		unpacked->value = NULL;
		unpacked->value = unpack(comparer, value);
		unpacked->row = row;
		unpacked->key = key;
	}
	return PointerGetDatum(unpacked->value);
}

int
rowcompare_packed(RowComparer *comparer, int key, uint32 a, uint32 b, Datum value_a, Datum value_b)
{
	UnpackedValue *unpacked = comparer->unpacked;
	SortSupport ssup = &comparer->keys[key];

	/*
	 * A walk over an order compares each row twice.  Its value keeps its side in the second comparison, where a
	 * comparator of strings has a copy of it as well.
	 */
	bool		swapped = is_unpacked(&unpacked[1], key, a) || is_unpacked(&unpacked[0], key, b);
	int			order;

	value_a = unpacked_value(comparer, &unpacked[swapped], key, a, value_a);
	value_b = unpacked_value(comparer, &unpacked[!swapped], key, b, value_b);
	if (!swapped)
		return ApplySortComparator(value_a, false, value_b, false, ssup);
	order = ApplySortComparator(value_b, false, value_a, false, ssup);
	INVERT_COMPARE_RESULT(order);
	return order;
}

Datum
rowcompare_take(RowComparer *comparer, int key, uint32 row, Datum value)
{
	for (int side = 0; side < 2; side++)
	{
		UnpackedValue *unpacked = &comparer->unpacked[side];

		if (is_unpacked(unpacked, key, row))
		{
			value = PointerGetDatum(unpacked->value);
			unpacked->value = NULL;
			return value;
		}
	}
	return PointerGetDatum(unpack(comparer, value));
}

bool
rowcompare_stored_alike(RowComparer *comparer, int key, uint32 a, uint32 b)
{
	const KeyPlace *place = &comparer->places[key];
	bool		null_a;
	bool		null_b;
	Datum		value_a = rowcompare_value(comparer, 0, a, key, &null_a);
	Datum		value_b = rowcompare_value(comparer, 1, b, key, &null_b);

	return !null_a && !null_b && datumIsEqual(value_a, value_b, place->byval, place->len);
}

/* Frees the unpacked values. */
static void
forget_unpacked(RowComparer *comparer)
{
	for (int side = 0; side < 2; side++)
	{
		if (comparer->unpacked[side].value)
			pfree(comparer->unpacked[side].value);
		comparer->unpacked[side].value = NULL;
	}
}

void
rowcompare_forget(RowComparer *comparer)
{
	forget_unpacked(comparer);
	for (int side = 0; side < 2; side++)
		ExecClearTuple(comparer->slots[side].slot);
}

void
rowcompare_unpack_in(RowComparer *comparer, MemoryContext context)
{
	forget_unpacked(comparer);
	comparer->unpacking = context;
}
