/*
 * first_rows.c: keeps the first rows of an order while others pass.  Of rows that are equal by all keys, the one that
 * came first is the first.
 */
#include "postgres.h"

#include <math.h>

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "minimal_row.h"
#include "rowcompare.h"
#include "first_rows.h"

/* Rows for which a heap has room at the start. */
#define FIRST_ROOM 8

/* Bytes in whose multiples rows get memory, so that the next row of about that size fits in. */
#define ROW_UNIT 64

/* A row takes memory for as many times its bytes, or this little, rather than memory of its own. */
#define ROOM_FACTOR 4
#define LITTLE_ROOM ((Size) 1024)

/* No more of the rows are sampled. */
#define MOST_SAMPLED 0.05

FirstRows *
firstrows_open(const SortColumns *columns, TupleDesc desc, int64 bound, bool ties, Size limit)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort first rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	FirstRows  *rows = palloc0(sizeof(FirstRows));

	rows->cxt = cxt;
	rows->keys = open_comparators(columns);
	rows->nkeys = columns->nkeys;
	rows->bound = bound;
	rows->ties = ties;
	rows->limit = limit;
	rows->key_by_value = TupleDescAttr(desc, columns->attnos[0] - 1)->attbyval;
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

/* Compares two kept rows by the keys. */
static int
compare_keys(const FirstRow *a, const FirstRow *b, FirstRows *rows)
{
	int			order = ApplySortComparator(a->key, a->isnull, b->key, b->isnull, rows->keys);

	if (order == 0 && rows->nkeys > 1)
		order = compare_slots(rows->keys + 1, rows->nkeys - 1, slot_with(rows, 0, a), slot_with(rows, 1, b));
	return order;
}

/* Compares two kept rows; never equal. */
static int
compare_rows(const FirstRow *a, const FirstRow *b, FirstRows *rows)
{
	int			order = compare_keys(a, b, rows);

	return order != 0 ? order : a->number < b->number ? -1 : 1;
}

/* compare_rows for qsort_arg, which looks for no interrupts itself: a page may have many rows, with long keys */
static int
compare_for_sort(const void *a, const void *b, void *rows)
{
	CHECK_FOR_INTERRUPTS();
	return a == b ? 0 : compare_rows(a, b, rows);
}

/* Compares a row that has come with the last one of a full heap, by the keys.  Few rows' comparisons see its rows. */
static inline int
compare_with_last(FirstRows *rows, const FirstHeap *heap, TupleTableSlot *slot, Datum key, bool isnull)
{
	int			order = ApplySortComparator(key, isnull, heap->last, heap->last_isnull, rows->keys);

	if (order == 0 && rows->nkeys > 1)
		order = compare_slots(rows->keys + 1, rows->nkeys - 1, slot, slot_with(rows, 1, &heap->rows[0]));
	return order;
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

/*
 * Gets memory for a row of some bytes: a dropped row's, if that is enough, and not much more: else, once there has been
 * one such row for each that is kept, all would have the memory of the widest.
 */
static void
make_room(FirstRows *rows, FirstRow *row, Size bytes)
{
	if (row->room >= bytes && row->room <= Max(ROOM_FACTOR * bytes, LITTLE_ROOM))
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

/* Gets room for more rows of a heap. */
static void
make_heap_room(FirstRows *rows, FirstHeap *heap)
{
	int64		room = Min(heap->room > 0 ? heap->room * 2 : FIRST_ROOM, rows->bound);

	if (heap->rows == NULL)
		heap->rows = MemoryContextAlloc(rows->cxt, sizeof(FirstRow) * room);
	else
		heap->rows = repalloc_huge(heap->rows, sizeof(FirstRow) * room);
	rows->bytes += sizeof(FirstRow) * (room - heap->room);
	heap->room = room;
}

/* Adds a row at the bottom of a heap and lets it rise. */
static void
add_row(FirstRows *rows, FirstHeap *heap, FirstRow row)
{
	int64		at = heap->count++;

	if (at == heap->room)
		make_heap_room(rows, heap);
	while (at > 0 && compare_rows(&row, &heap->rows[(at - 1) / 2], rows) > 0)
	{
		heap->rows[at] = heap->rows[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->rows[at] = row;
}

/* Puts a row in the place of the top of a heap and lets it sink. */
static void
replace_top(FirstRows *rows, FirstHeap *heap, FirstRow row)
{
	int64		at = 0;

	for (;;)
	{
		int64		child = 2 * at + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count && compare_rows(&heap->rows[child + 1], &heap->rows[child], rows) > 0)
			child++;
		if (compare_rows(&row, &heap->rows[child], rows) > 0)
			break;
		heap->rows[at] = heap->rows[child];
		at = child;
	}
	heap->rows[at] = row;
}

/* Remembers the key of the row on top. */
static inline void
note_last(FirstHeap *heap)
{
	heap->last = heap->rows[0].key;
	heap->last_isnull = heap->rows[0].isnull;
}

FirstFate
firstrows_put(FirstRows *rows, FirstHeap *heap, const FirstHeap *sample, TupleTableSlot *slot)
{
	FirstRow	row = {0};
	bool		isnull;
	Datum		key = slot_getattr(slot, rows->keys[0].ssup_attno, &isnull);
	int			order;

	rows->passed++;
	if (unlikely(heap->count < rows->bound))
	{
		copy_row(rows, &row, slot, key, isnull);
		add_row(rows, heap, row);
		note_last(heap);
		return FIRST_KEPT;
	}
	order = compare_with_last(rows, heap, slot, key, isnull);
	if (likely(order >= 0))
		return order == 0 && rows->ties ? FIRST_TIED : FIRST_BEHIND;
	if (sample && likely(compare_with_last(rows, sample, slot, key, isnull) > 0))
		return FIRST_BEHIND;
	rows->gave_way++;
	row = rows->out;
	forget_row(rows, &row);
	copy_row(rows, &row, slot, key, isnull);
	rows->out = heap->rows[0];
	replace_top(rows, heap, row);
	note_last(heap);
	return rows->ties && compare_keys(&rows->out, &heap->rows[0], rows) == 0 ? FIRST_TIED_OUT : FIRST_KEPT;
}

double
firstrows_begin_sample(FirstRows *rows, int64 kept, double expected)
{
	/* with that the rows of the sample and those that have to be copied behind it are fewest */
	double		fraction = Min(sqrt(kept / expected), MOST_SAMPLED);

	rows->sampled = true;
	return kept < fraction * expected / 2 && rows->bytes < rows->limit / 2 ? fraction : 0;
}

void
firstrows_finish(FirstRows *rows, FirstHeap *heap)
{
	MemoryContext old = MemoryContextSwitchTo(rows->cxt);

	qsort_arg(heap->rows, heap->count, sizeof(FirstRow), compare_for_sort, rows);
	MemoryContextSwitchTo(old);
}

void
firstrows_close(FirstRows *rows)
{
	for (int side = 0; side < 2; side++)
		ExecDropSingleTupleTableSlot(rows->slots[side]);
	MemoryContextDelete(rows->cxt);
}
