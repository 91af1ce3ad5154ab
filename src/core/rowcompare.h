/*
 * rowcompare.h: rows of a store compared as the server compares them.
 */
#ifndef GPUSORT_ROWCOMPARE_H
#define GPUSORT_ROWCOMPARE_H

#include "utils/sortsupport.h"

#include "src/keys/keyplace.h"
#include "rowstore.h"

typedef struct RowComparer
{
	int			nkeys;
	SortSupport keys;			/* with attribute numbers */
	RowStore   *rows;
	const KeyPlace *places;
	TupleTableSlot *slots[2];	/* for the rows on both sides of a comparison that have to be taken apart */
	MinimalTuple copies[2];		/* of bare rows */
} RowComparer;

/* The comparison functions of a sort's keys; in the current memory context. */
extern SortSupport open_comparators(const SortColumns *columns);

/* Compares two rows in slots as tuplesort does. */
extern int	compare_slots(SortSupport keys, int nkeys, TupleTableSlot *a, TupleTableSlot *b);

/* For rows of that descriptor and store, whose keys lie at those places.  Memory comes from the current context. */
extern RowComparer *rowcompare_open(const SortColumns *columns, TupleDesc desc, RowStore *rows, const KeyPlace *places);
extern void rowcompare_close(RowComparer *comparer);

/* The same where the row has to be taken apart. */
extern Datum rowcompare_slow_value(RowComparer *comparer, int side, uint32 row, int key, bool *isnull);

/* A key's value; by reference it stays where it is as long as the store does.  Each side has a row of its own. */
static inline Datum
rowcompare_value(RowComparer *comparer, int side, uint32 row, int key, bool *isnull)
{
	const KeyPlace *place = &comparer->places[key];
	Size		bytes;
	const char *data = place->kind == PLACE_VARIES ? NULL : rowstore_data(comparer->rows, row, &bytes);

	if (unlikely(data == NULL))
		return rowcompare_slow_value(comparer, side, row, key, isnull);
	*isnull = false;
	return keyplace_value(place, data, bytes);
}

/* Compares two rows by one key. */
static inline int
rowcompare_key(RowComparer *comparer, int key, uint32 a, uint32 b)
{
	bool		null_a;
	bool		null_b;
	Datum		value_a = rowcompare_value(comparer, 0, a, key, &null_a);
	Datum		value_b = rowcompare_value(comparer, 1, b, key, &null_b);

	return ApplySortComparator(value_a, null_a, value_b, null_b, &comparer->keys[key]);
}

/* Compares two rows from a key on; *decided becomes the key in which they differ, or the number of keys. */
static inline int
rowcompare(RowComparer *comparer, int first, uint32 a, uint32 b, int *decided)
{
	int			order = 0;
	int			key = first;

	while (key < comparer->nkeys && (order = rowcompare_key(comparer, key, a, b)) == 0)
		key++;
	*decided = key;
	return order;
}

#endif
