/*
 * smallorder.c: stable insertion sort of a few values, in groups by the hundred thousand.  Numbers are compared as
 * 64-bit images, other types by abbreviated keys first, while these help in all groups.
 */
#include "postgres.h"

#include "smallorder.h"
#include "vector.h"
#include "vectordirect.h"

/* A value being sorted. */
typedef struct SmallItem
{
	Datum		key;			/* the value, or its abbreviated key */
	Datum		value;
	bool		isnull;
	uint32		row;
} SmallItem;

/* Opens a comparison, abbreviated if requested and supported. */
static SortSupport
open_comparison(Oid sortop, Oid collation, bool abbreviate, MemoryContext cxt)
{
	SortSupport result = MemoryContextAllocZero(cxt, sizeof(SortSupportData));

	result->ssup_cxt = cxt;
	result->ssup_collation = collation;
	result->abbreviate = abbreviate;
	PrepareSortSupportFromOrderingOp(sortop, result);
	return result;
}

void
smallorder_open(SmallOrder *small, Oid sortop, Oid collation, MemoryContext cxt)
{
	memset(small, 0, sizeof(*small));
	small->look = 10;			/* as in tuplesort */
	small->full = open_comparison(sortop, collation, false, cxt);
	small->abbreviated = open_comparison(sortop, collation, true, cxt);
	if (small->abbreviated->abbrev_converter == NULL)
		small->abbreviated = NULL;
}

/* Sorts numbers. */
static void
order_numbers(const Vector *values, gs_type type, uint32 *order)
{
	uint64		images[VECTORDIRECT_BLOCK];
	uint32		rows = vectordirect_images(values, type, 0, images);

	for (uint32 i = 0; i < rows; i++)
	{
		uint64		image = images[i];
		uint32		place = i;

		for (; place > 0 && images[place - 1] > image; place--)
		{
			images[place] = images[place - 1];
			order[place] = order[place - 1];
		}
		images[place] = image;
		order[place] = i;
	}
}

/* Makes an item of a row, with an abbreviated key if requested. */
static void
make_item(SmallOrder *small, const Vector *values, uint32 row, bool abbreviate, SmallItem *item)
{
	item->row = row;
	item->value = item->key = vector_get(values, row, &item->isnull);
	if (abbreviate && !item->isnull)
	{
		item->key = small->abbreviated->abbrev_converter(item->value, small->abbreviated);
		small->converted++;
	}
}

/* Returns true if values should be abbreviated.  The type decides from time to time. */
static bool
abbreviates(SmallOrder *small)
{
	if (small->abbreviated && small->converted >= small->look)
	{
		small->look *= 2;
		if (small->abbreviated->abbrev_abort((int) Min(small->converted, PG_INT32_MAX), small->abbreviated))
			small->abbreviated = NULL;
	}
	return small->abbreviated != NULL;
}

/* Compares two items. */
static inline int
compare_items(const SmallOrder *small, bool abbreviated, const SmallItem *a, const SmallItem *b)
{
	int			result;

	if (!abbreviated)
		return ApplySortComparator(a->value, a->isnull, b->value, b->isnull, small->full);
	result = ApplySortComparator(a->key, a->isnull, b->key, b->isnull, small->abbreviated);
	if (result == 0)
		result = ApplySortComparator(a->value, a->isnull, b->value, b->isnull, small->full);
	return result;
}

/* Sorts values of any type.  Comparisons may be expensive, so each position is found by binary search. */
static void
order_values(SmallOrder *small, const Vector *values, uint32 *order)
{
	bool		abbreviated = abbreviates(small);
	SmallItem	items[SMALL_ORDER];

	for (uint32 i = 0; i < values->rows; i++)
	{
		SmallItem	item;
		uint32		low = 0;
		uint32		high = i;	/* the item at this position follows the new one */

		make_item(small, values, i, abbreviated, &item);
		/* values are often in order */
		if (i > 0 && compare_items(small, abbreviated, &items[i - 1], &item) > 0)
			high = i - 1;
		else
			low = i;
		while (low < high)
		{
			uint32		middle = (low + high) / 2;

			if (compare_items(small, abbreviated, &items[middle], &item) > 0)
				high = middle;
			else
				low = middle + 1;
		}
		memmove(&items[low + 1], &items[low], (i - low) * sizeof(SmallItem));
		items[low] = item;
	}
	for (uint32 i = 0; i < values->rows; i++)
		order[i] = items[i].row;
}

void
smallorder_of(SmallOrder *small, const VectorColumn *column, uint32 *order)
{
	const Vector *values = column->values;

	Assert(values->rows <= SMALL_ORDER);
	if (!small->known)
	{
		small->numbers = vectorjob_numbers(column, &small->type);
		small->known = true;
	}
	if (small->numbers && values->nulls == NULL)
		order_numbers(values, small->type, order);
	else
		order_values(small, values, order);
}
