/*
 * first_rows.c: keeps the first rows of an order while others pass.  Of rows that are equal by all keys, the one that
 * came first is the first.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "src/rows/minimal_row.h"
#include "src/rows/rowcompare.h"
#include "first_rows.h"

/* Rows for which there is room at the start. */
#define FIRST_ROOM 64

/* Bytes in whose multiples rows get memory, so that the next row of about that size fits in. */
#define ROW_UNIT 64

FirstRows *
firstrows_open(const SortColumns *columns, TupleDesc desc, int64 bound, Size limit)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort first rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	FirstRows  *rows = palloc0(sizeof(FirstRows));

	rows->cxt = cxt;
	rows->keys = open_comparators(columns);
	rows->nkeys = columns->nkeys;
	rows->bound = bound;
	rows->limit = limit;
	rows->key_by_value = TupleDescAttr(desc, columns->attnos[0] - 1)->attbyval;
	rows->room = Min(bound, FIRST_ROOM);
	rows->rows = palloc(sizeof(FirstRow) * rows->room);
	for (int side = 0; side < 2; side++)
		rows->slots[side] = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	MemoryContextSwitchTo(old);
	return rows;
}

/* Returns a slot with a kept row. */
static TupleTableSlot *
slot_with(FirstRows *rows, int side, const FirstRow *row)
{
	TupleTableSlot *slot = rows->slots[side];

	if (TTS_EMPTY(slot) || ((MinimalTupleTableSlot *) slot)->mintuple != row->tuple)
		ExecStoreMinimalTuple(row->tuple, slot, false);
	return slot;
}

/* Compares two kept rows; never equal. */
static int
compare_rows(const FirstRow *a, const FirstRow *b, FirstRows *rows)
{
	int			order = ApplySortComparator(a->key, a->isnull, b->key, b->isnull, rows->keys);

	if (order == 0 && rows->nkeys > 1)
		order = compare_slots(rows->keys + 1, rows->nkeys - 1, slot_with(rows, 0, a), slot_with(rows, 1, b));
	if (order == 0)
		order = a->number < b->number ? -1 : 1;
	return order;
}

/* compare_rows for qsort_arg */
static int
compare_for_sort(const void *a, const void *b, void *rows)
{
	return a == b ? 0 : compare_rows(a, b, rows);
}

/* Returns true if a row that has come last is behind the last one of the heap, whose rows win ties. */
static inline bool
is_behind(FirstRows *rows, TupleTableSlot *slot, Datum key, bool isnull)
{
	const FirstRow *last = &rows->rows[0];
	int			order = ApplySortComparator(key, isnull, last->key, last->isnull, rows->keys);

	if (order == 0 && rows->nkeys > 1)
		order = compare_slots(rows->keys + 1, rows->nkeys - 1, slot, slot_with(rows, 1, last));
	return order >= 0;
}

/* Has no slot refer to a row whose memory is about to hold another one. */
static void
forget_row(FirstRows *rows, const FirstRow *row)
{
	for (int side = 0; side < 2; side++)
	{
		TupleTableSlot *slot = rows->slots[side];

		if (!TTS_EMPTY(slot) && ((MinimalTupleTableSlot *) slot)->mintuple == row->tuple)
			ExecClearTuple(slot);
	}
}

/* Gets memory for a row of some bytes: a dropped row's, if that is enough. */
static void
make_room(FirstRows *rows, FirstRow *row, Size bytes)
{
	if (row->room >= bytes)
		return;
	if (row->tuple)
		pfree(row->tuple);
	rows->bytes -= row->room;
	row->room = TYPEALIGN(ROW_UNIT, bytes);
	row->tuple = MemoryContextAllocHuge(rows->cxt, row->room);
	rows->bytes += row->room;
}

/* Copies a row, whose first key is given, to the place of a row that is dropped, or of none. */
static void
copy_row(FirstRows *rows, FirstRow *row, TupleTableSlot *slot, Datum key, bool isnull)
{
	MinimalRow	form;

	slot_getallattrs(slot);
	form = minimal_row_of(slot);
	make_room(rows, row, form.bytes);
	minimal_row_fill(&form, slot, row->tuple);
	row->key = key;
	row->isnull = isnull;
	row->number = rows->passed;
	if (!isnull && !rows->key_by_value)
		row->key = slot_getattr(slot_with(rows, 0, row), rows->keys[0].ssup_attno, &row->isnull);
}

/* Adds a row at the bottom of the heap and lets it rise. */
static void
add_row(FirstRows *rows, FirstRow row)
{
	int64		at = rows->count++;

	if (at == rows->room)
	{
		rows->room = Min(rows->room * 2, rows->bound);
		rows->rows = repalloc_huge(rows->rows, sizeof(FirstRow) * rows->room);
	}
	while (at > 0 && compare_rows(&row, &rows->rows[(at - 1) / 2], rows) > 0)
	{
		rows->rows[at] = rows->rows[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	rows->rows[at] = row;
}

/* Puts a row in the place of the top of the heap and lets it sink. */
static void
replace_top(FirstRows *rows, FirstRow row)
{
	int64		at = 0;

	for (;;)
	{
		int64		child = 2 * at + 1;

		if (child >= rows->count)
			break;
		if (child + 1 < rows->count && compare_rows(&rows->rows[child + 1], &rows->rows[child], rows) > 0)
			child++;
		if (compare_rows(&row, &rows->rows[child], rows) > 0)
			break;
		rows->rows[at] = rows->rows[child];
		at = child;
	}
	rows->rows[at] = row;
}

bool
firstrows_put(FirstRows *rows, TupleTableSlot *slot)
{
	FirstRow	row = {0};
	bool		isnull;
	Datum		key = slot_getattr(slot, rows->keys[0].ssup_attno, &isnull);

	rows->passed++;
	if (likely(rows->count == rows->bound))
	{
		if (likely(is_behind(rows, slot, key, isnull)))
			return true;
		row = rows->rows[0];
		forget_row(rows, &row);
		copy_row(rows, &row, slot, key, isnull);
		replace_top(rows, row);
		return true;
	}
	copy_row(rows, &row, slot, key, isnull);
	add_row(rows, row);
	return rows->count == rows->bound || rows->bytes + rows->room * sizeof(FirstRow) < rows->limit;
}

void
firstrows_finish(FirstRows *rows)
{
	MemoryContext old = MemoryContextSwitchTo(rows->cxt);

	qsort_arg(rows->rows, rows->count, sizeof(FirstRow), compare_for_sort, rows);
	MemoryContextSwitchTo(old);
}

void
firstrows_close(FirstRows *rows)
{
	for (int side = 0; side < 2; side++)
		ExecDropSingleTupleTableSlot(rows->slots[side]);
	MemoryContextDelete(rows->cxt);
}
