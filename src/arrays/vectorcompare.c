/*
 * vectorcompare.c: sorts vectors by the types' own comparators, if no engine can or they are small, and compares rows
 * for vectorcheck.c.  Leading values are stored beside the row numbers, which break ties as engines do.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "vectorcompare.h"

/* An item of the sort: a row and its leading value. */
typedef struct SortItem
{
	Datum		key;
	uint32		row;
	bool		isnull;
} SortItem;

typedef struct ItemOrder
{
	VectorComparer comparer;	/* compares complete values */
	SortSupportData key;		/* compares SortItem.key */
	int			decided;		/* columns that key decides: 0 if abbreviated, otherwise 1 */
} ItemOrder;

Oid
vectorcompare_operator(const VectorColumn *column)
{
	Oid			type = column->values->type->type;
	TypeCacheEntry *entry = lookup_type_cache(type, column->desc ? TYPECACHE_GT_OPR : TYPECACHE_LT_OPR);
	Oid			op = column->desc ? entry->gt_opr : entry->lt_opr;

	if (!OidIsValid(op))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify an ordering operator for type %s", format_type_be(type)),
				 errhint("Only types with a default btree operator class can be ordered.")));
	return op;
}

/* Looks up a column's comparator, abbreviated if requested and supported. */
static void
open_key(SortSupport key, const VectorColumn *column, bool abbreviate)
{
	memset(key, 0, sizeof(*key));
	key->ssup_cxt = CurrentMemoryContext;
	key->ssup_collation = column->collation;
	key->ssup_nulls_first = column->nulls_first;
	key->abbreviate = abbreviate;
	PrepareSortSupportFromOrderingOp(vectorcompare_operator(column), key);
}

void
vectorcompare_open(VectorComparer *comparer, const VectorColumn *columns, int ncolumns)
{
	comparer->columns = columns;
	comparer->ncolumns = ncolumns;
	comparer->keys = palloc(sizeof(SortSupportData) * ncolumns);
	for (int i = 0; i < ncolumns; i++)
		open_key(&comparer->keys[i], &columns[i], false);
}

/* Compares two items.  Never 0 for different rows. */
static inline int
compare_items(const SortItem *a, const SortItem *b, ItemOrder *order)
{
	int			result = ApplySortComparator(a->key, a->isnull, b->key, b->isnull, &order->key);

	if (result == 0)
		result = vectorcompare_rows(&order->comparer, order->decided, order->comparer.ncolumns, a->row, b->row);
	if (result == 0)
		result = a->row < b->row ? -1 : a->row > b->row;
	return result;
}

#define ST_SORT sort_items
#define ST_ELEMENT_TYPE SortItem
#define ST_COMPARE(a, b, order) compare_items(a, b, order)
#define ST_COMPARE_ARG_TYPE ItemOrder
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Aborts abbreviation: reloads the items' complete values. */
static void
restore_keys(ItemOrder *order, const Vector *values, SortItem *items, uint64 rows)
{
	for (uint64 i = 0; i < rows; i++)
		items[i].key = vector_get(values, i, &items[i].isnull);
	order->key = order->comparer.keys[0];
	order->decided = 1;
}

/* Fills the items in. */
static void
fill_items(ItemOrder *order, const Vector *values, SortItem *items)
{
	SortSupport key = &order->key;
	uint64		look = 10;		/* rows after which the type judges abbreviation, as in tuplesort */

	for (uint64 i = 0; i < values->rows; i++)
	{
		Datum		value = vector_get(values, i, &items[i].isnull);

		items[i].row = (uint32) i;
		if (order->decided == 0 && i == look)
		{
			look *= 2;
			if (key->abbrev_abort((int) i, key))
				restore_keys(order, values, items, i);
		}
		if (order->decided == 0 && !items[i].isnull)
			value = key->abbrev_converter(value, key);
		items[i].key = value;
		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

void
vectorcompare_order(const VectorColumn *columns, int ncolumns, uint32 *order)
{
	uint64		rows = columns[0].values->rows;
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort comparisons", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	SortItem   *items = MemoryContextAllocHuge(cxt, Max(rows, 1) * sizeof(SortItem));
	ItemOrder	state;

	vectorcompare_open(&state.comparer, columns, ncolumns);
	open_key(&state.key, &columns[0], true);
	state.decided = state.key.abbrev_converter == NULL ? 1 : 0;
	fill_items(&state, columns[0].values, items);
	sort_items(items, rows, &state);
	for (uint64 i = 0; i < rows; i++)
		order[i] = items[i].row;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}
