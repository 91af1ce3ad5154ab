/*
 * index_choice.c: which btrees gpusort sorts the rows of.
 *
 * PostgreSQL's sort compares all rows once more, in their order.  So sorting them first pays where its own comparisons
 * are many and each takes long: by strings under linguistic collations, and by keys behind a first one that repeats.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type_d.h"
#include "optimizer/plancat.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/syscache.h"

#include "index_choice.h"
#include "index_order.h"
#include "src/base/compat.h"
#include "src/base/costs.h"
#include "src/base/guc.h"
#include "src/keys/sortkey.h"

double
index_rows_expected(Relation heap)
{
	BlockNumber pages;
	double		rows;
	double		all_visible;

	estimate_rel_size(heap, NULL, &pages, &rows, &all_visible);
	return rows;
}

/* Is the first key a string under a linguistic collation? */
static bool
is_linguistic(Relation index, const SortColumns *columns)
{
	Oid			type = index->rd_opcintype[0];

	return (type == TEXTOID || type == BPCHAROID) && !sortkey_is_exact(columns->sortops[0], columns->collations[0]);
}

/* Does PostgreSQL sort by abbreviated keys of the first key?  Of strings, it does under ICU, but not under libc. */
static bool
is_abbreviated(const SortColumns *columns)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort sort support", ALLOCSET_SMALL_SIZES);
	SortSupportData key = {.ssup_cxt = cxt,.ssup_collation = columns->collations[0],.abbreviate = true};
	MemoryContext old = MemoryContextSwitchTo(cxt);
	bool		abbreviated;

	PrepareSortSupportFromOrderingOp(columns->sortops[0], &key);
	abbreviated = key.abbrev_converter != NULL;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return abbreviated;
}

/* About how many rows share a value of a column; 1 if there are no statistics. */
static double
rows_of_value(Relation heap, AttrNumber column, double rows)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(RelationGetRelid(heap)), Int16GetDatum(column),
										BoolGetDatum(false));
	double		distinct;

	if (!HeapTupleIsValid(tuple))
		return 1;
	distinct = ((Form_pg_statistic) GETSTRUCT(tuple))->stadistinct;
	ReleaseSysCache(tuple);
	return distinct > 0 ? rows / distinct : distinct < 0 ? -1 / distinct : 1;
}

/* index_left_why by the keys alone. */
static const char *
keys_left_why(Relation heap, Relation index, const IndexForm *form, double rows)
{
	AttrNumber	column = index->rd_index->indkey.values[0];

	if (!is_linguistic(index, &form->columns))
		return form->columns.nkeys > 1 && rows_of_value(heap, column, rows) >= INDEX_REPEATED_KEY ? NULL :
			"it sorts by the first key as fast";
	if (is_abbreviated(&form->columns) && get_attavgwidth(RelationGetRelid(heap), column) < INDEX_LONG_STRING)
		return "it sorts short strings by abbreviated keys";
	return NULL;
}

const char *
index_left_why(Relation heap, Relation index, IndexInfo *info, const IndexForm *form, double rows)
{
	const char *why;

	if (gpusort_index_builds == INDEX_BUILDS_FORCE)
		return NULL;
	if (rows < gpusort_min_rows)
		return "there are fewer rows than gpusort.min_rows";
	why = keys_left_why(heap, index, form, rows);
	if (why == NULL && index_comes_in_order(heap, index, info, &form->columns))
		why = "rows come in the order of the first key";
	return why;
}
