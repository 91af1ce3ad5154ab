/*
 * rowcompare.h: rows of a store compared as the server compares them.
 */
#ifndef GPUSORT_ROWCOMPARE_H
#define GPUSORT_ROWCOMPARE_H

#include "utils/sortsupport.h"

#include "src/keys/keyplace.h"
#include "rowstore.h"

/* A value that is stored compressed or elsewhere, unpacked; NULL: none. */
typedef struct UnpackedValue
{
	struct varlena *value;
	uint32		row;
	int			key;
} UnpackedValue;

typedef struct RowComparer
{
	int			nkeys;
	SortSupport keys;			/* with attribute numbers */
	RowStore   *rows;
	const KeyPlace *places;
	TupleTableSlot *slots[2];	/* for the rows on both sides of a comparison that have to be taken apart */
	MinimalTuple copies[2];		/* of bare rows */
	MemoryContext unpacking;	/* where the next ones are */
	UnpackedValue unpacked[2];	/* the last values that had to be unpacked, for the next comparison of one of them */
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

/* Is a value of a key compressed, or stored elsewhere? */
static inline bool
rowcompare_is_packed(const RowComparer *comparer, int key, Datum value)
{
	return comparer->places[key].len == -1 &&
		(VARATT_IS_COMPRESSED(DatumGetPointer(value)) || VARATT_IS_EXTERNAL(DatumGetPointer(value)));
}

/* Unpacks those of two rows' values that are packed. */
extern void rowcompare_unpack(RowComparer *comparer, int key, uint32 a, uint32 b, Datum *value_a, Datum *value_b);

/* A value unpacked, and aligned, for good: in the memory context of those that are unpacked at that time. */
extern Datum rowcompare_take(RowComparer *comparer, int key, uint32 row, Datum value);

/* Forgets the values that are unpacked: the store's rows are gone, and others will have their numbers. */
extern void rowcompare_forget(RowComparer *comparer);

/* From now on values are unpacked in that memory context; those that are there are forgotten, and it may be reset. */
extern void rowcompare_unpack_in(RowComparer *comparer, MemoryContext context);

/* Returns true if two rows have the same bytes in a key, not NULL: equal values, and equal encoded ones. */
extern bool rowcompare_stored_alike(RowComparer *comparer, int key, uint32 a, uint32 b);

/* Compares two rows by one key. */
static inline int
rowcompare_key(RowComparer *comparer, int key, uint32 a, uint32 b)
{
	bool		null_a;
	bool		null_b;
	Datum		value_a = rowcompare_value(comparer, 0, a, key, &null_a);
	Datum		value_b = rowcompare_value(comparer, 1, b, key, &null_b);

	if (!null_a && !null_b && unlikely(rowcompare_is_packed(comparer, key, value_a) ||
									   rowcompare_is_packed(comparer, key, value_b)))
		rowcompare_unpack(comparer, key, a, b, &value_a, &value_b);
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
