/*
 * merge_rows.c: the rows of a merge's sources, compared by all keys, where words do not decide.
 *
 * Most keys are at a known place in rows without NULLs, so that rows need not be deformed.
 */
#include "postgres.h"

#include "merge_rows.h"

void
mergeorder_open(MergeOrder *order, const SortColumns *columns, TupleDesc desc, SortSupport keys)
{
	order->desc = desc;
	order->nkeys = columns->nkeys;
	order->keys = keys;
	order->places = keyplaces_find(columns, desc);
	order->weighed = -1;
	order->prefix = NULL;
}

void
mergeorder_add_weights(MergeOrder *order, int key, KeyPrefix *prefix)
{
	order->weighed = key;
	order->prefix = prefix;
}

void
mergerow_open(MergeRow *row, const MergeOrder *order)
{
	memset(row, 0, sizeof(*row));
	row->buffer = palloc(WEIGHTS_BYTES);
	row->slot = MakeSingleTupleTableSlot(order->desc, &TTSOpsMinimalTuple);
}

void
mergerow_close(MergeRow *row)
{
	ExecDropSingleTupleTableSlot(row->slot);
	pfree(row->buffer);
}

/* A row's data, NULL if its keys may not be where places say. */
static inline const char *
plain_data(const MergeOrder *order, MinimalTuple tuple)
{
	if ((tuple->t_infomask & HEAP_HASNULL) != 0 || HeapTupleHeaderGetNatts(tuple) < order->desc->natts)
		return NULL;
	return (const char *) tuple + tuple->t_hoff - MINIMAL_TUPLE_OFFSET;
}

/* A row's key. */
static inline Datum
value_of(const MergeOrder *order, MergeRow *row, int key, bool *isnull)
{
	const KeyPlace *place = &order->places[key];
	const char *data = place->kind == PLACE_VARIES ? NULL : plain_data(order, row->tuple);

	*isnull = false;
	if (likely(data != NULL))
		return keyplace_value(place, data, (Size) ((const char *) row->tuple + row->tuple->t_len - data));
	if (!row->stored)
		ExecStoreMinimalTuple(row->tuple, row->slot, false);
	row->stored = true;
	return slot_getattr(row->slot, order->keys[key].ssup_attno, isnull);
}

const char *
mergerow_weights(const MergeOrder *order, MergeRow *row)
{
	bool		isnull;
	Datum		value;

	if (row->nweights != WEIGHTS_LATER)
		return row->weights;
	value = value_of(order, row, order->weighed, &isnull);
	row->nweights = isnull ? 0 : (int) keyprefix_take_weights(order->prefix, value, row->buffer);
	row->weights = row->buffer;
	return row->weights;
}

/* Compares the weights of two rows whose words are equal; 0: that does not decide. */
static int
compare_weights(const MergeOrder *order, MergeRow *a, MergeRow *b)
{
	const char *weights_a;
	const char *weights_b;

	if (a->nweights == 0 || b->nweights == 0)
		return 0;
	weights_a = mergerow_weights(order, a);
	weights_b = mergerow_weights(order, b);
	return memcmp(weights_a, weights_b, (size_t) Min(a->nweights, b->nweights));
}

int
mergerow_compare(const MergeOrder *order, MergeRow *a, MergeRow *b)
{
	int			result = 0;

	for (int i = 0; i < order->nkeys && result == 0; i++)
	{
		bool		null_a;
		bool		null_b;
		Datum		value_a;
		Datum		value_b;

		if (i == order->weighed && (result = compare_weights(order, a, b)) != 0)
			break;
		value_a = value_of(order, a, i, &null_a);
		value_b = value_of(order, b, i, &null_b);
		result = ApplySortComparator(value_a, null_a, value_b, null_b, &order->keys[i]);
	}
	return result;
}
