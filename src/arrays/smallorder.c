/*
 * smallorder.c: the stable order of a few values, by insertion.
 *
 * With a hundred thousand groups of some ten values each, what a comparison costs is what the query costs: numbers are
 * compared as 64-bit images, other values by the abbreviations that their type has for tuplesort, and only then
 * themselves.  How well abbreviations tell values apart is asked over all groups.
 */
#include "postgres.h"

#include "smallorder.h"
#include "vector.h"
#include "vectordirect.h"

/* A value on its way to its place. */
typedef struct SmallItem
{
	Datum		key;			/* the value, or what stands for it */
	Datum		value;
	bool		isnull;
	uint32		row;
} SmallItem;

/* Opens a comparison, with abbreviations if the type has any and they are wanted. */
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
	small->look = 10;			/* as tuplesort does */
	small->full = open_comparison(sortop, collation, false, cxt);
	small->abbreviated = open_comparison(sortop, collation, true, cxt);
	if (small->abbreviated->abbrev_converter == NULL)
		small->abbreviated = NULL;
}

/* The order of numbers. */
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

/* Makes an item of a row, with what stands for its value as long as that helps. */
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

/* Shall values be abbreviated?  The type says now and then whether they should have been. */
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

/* Does one item belong behind another, or does it not matter? */
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

/* The order of any values; comparisons may be dear, so that a place is looked for by halves. */
static void
order_values(SmallOrder *small, const Vector *values, uint32 *order)
{
	bool		abbreviated = abbreviates(small);
	SmallItem	items[SMALL_ORDER];

	for (uint32 i = 0; i < values->rows; i++)
	{
		SmallItem	item;
		uint32		low = 0;
		uint32		high = i;	/* what is at this place belongs behind the item */

		make_item(small, values, i, abbreviated, &item);
		/* values often come in order */
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
