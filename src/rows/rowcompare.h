/*
 * rowcompare.h: compares rows of a store as the server does.
 */
#ifndef GPUSORT_ROWCOMPARE_H
#define GPUSORT_ROWCOMPARE_H

#include "utils/sortsupport.h"

#include "src/keys/keyplace.h"
#include "rowstore.h"

/* The unpacked copy of a value that is stored compressed or out of line; NULL: none. */
typedef struct UnpackedValue
{
	struct varlena *value;
	uint32		row;
	int			key;
} UnpackedValue;

/* A slot for rows that have to be deformed, and the number of the row that it holds, if any. */
typedef struct ComparedSlot
{
	TupleTableSlot *slot;
	uint32		row;
} ComparedSlot;

typedef struct RowComparer
{
	int			nkeys;
	SortSupport keys;			/* with attribute numbers */
	RowStore   *rows;
	const KeyPlace *places;
	ComparedSlot slots[2];		/* for the rows on both sides of a comparison */
	MinimalTuple copies[2];		/* of bare rows */
	MemoryContext unpacking;	/* where the next ones are */
	UnpackedValue unpacked[2];	/* of the last comparison; the next one often has one of them again */
} RowComparer;

/* Opens the comparison functions of a sort's keys, in the current memory context. */
extern SortSupport open_comparators(const SortColumns *columns);

/* Compares two rows in slots as tuplesort does. */
extern int	compare_slots(SortSupport keys, int nkeys, TupleTableSlot *a, TupleTableSlot *b);

/* Opens a comparer of a store's rows, whose keys lie at those places; in the current memory context. */
extern RowComparer *rowcompare_open(const SortColumns *columns, TupleDesc desc, RowStore *rows, const KeyPlace *places);
extern void rowcompare_close(RowComparer *comparer);

/* rowcompare_value of a row that has to be deformed. */
extern Datum rowcompare_slow_value(RowComparer *comparer, int side, uint32 row, int key, bool *isnull);

/* A row's value of a key.  One by reference points into the store.  The rows of a comparison use different sides. */
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

/* Is a value of a key compressed, or stored out of line? */
static inline bool
rowcompare_is_packed(const RowComparer *comparer, int key, Datum value)
{
	return comparer->places[key].len == -1 &&
		(VARATT_IS_COMPRESSED(DatumGetPointer(value)) || VARATT_IS_EXTERNAL(DatumGetPointer(value)));
}

/* Compares two rows by a key if one of the values is packed, none NULL. */
extern int	rowcompare_packed(RowComparer *comparer, int key, uint32 a, uint32 b, Datum value_a, Datum value_b);

/* Unpacks and aligns a value into the current unpacking context; the copy is the caller's. */
extern Datum rowcompare_take(RowComparer *comparer, int key, uint32 row, Datum value);

/* Forgets rows and unpacked values, before the store's row numbers and places stand for other rows. */
extern void rowcompare_forget(RowComparer *comparer);

/* Has values unpacked in a memory context from now on.  Forgets the unpacked ones, whose context may then be reset. */
extern void rowcompare_unpack_in(RowComparer *comparer, MemoryContext context);

/* Returns true if two rows have equal bytes in a key and no NULL, which makes them equal and equally encoded. */
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
		return rowcompare_packed(comparer, key, a, b, value_a, value_b);
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
