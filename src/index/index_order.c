/*
 * index_order.c: do the rows of a table come in the order of an index?  PostgreSQL's sort finds that out by one
 * comparison of each row, as it does after gpusort has sorted them.  So a few pages are looked at first.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"

#include "index_order.h"
#include "src/rows/rowcompare.h"

/* Places of the table that are looked at, evenly spread, and pages at each. */
#define PLACES 4
#define PAGES 2

/* What has been seen. */
typedef struct Sample
{
	SortSupport key;
	bool		byval;
	int16		len;
	MemoryContext values[2];	/* of the last row's value, and of the next one's */
	int			rows;
	Datum		last;
	bool		last_is_null;
	bool		ascends;
} Sample;

/* Compares a row with the one before it; an IndexBuildCallback. */
static void
look(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	Sample	   *sample = arg;
	MemoryContext next = sample->values[1];
	MemoryContext old = MemoryContextSwitchTo(next);

	if (sample->ascends && sample->rows++ > 0)
		sample->ascends = ApplySortComparator(sample->last, sample->last_is_null, values[0], isnull[0],
											  sample->key) <= 0;
	MemoryContextReset(next);
	sample->last = isnull[0] ? (Datum) 0 : datumCopy(values[0], sample->byval, sample->len);
	sample->last_is_null = isnull[0];
	sample->values[1] = sample->values[0];
	sample->values[0] = next;
	MemoryContextSwitchTo(old);
}

bool
index_comes_in_order(Relation heap, Relation index, IndexInfo *info, const SortColumns *columns)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort index order", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(index), 0);
	BlockNumber pages = RelationGetNumberOfBlocks(heap);
	Sample		sample = {.key = open_comparators(columns), .byval = attribute->attbyval, .len = attribute->attlen,
		.ascends = pages > PLACES * PAGES};

	for (int i = 0; i < 2; i++)
		sample.values[i] = AllocSetContextCreate(cxt, "gpusort index value", ALLOCSET_SMALL_SIZES);
	for (int i = 0; sample.ascends && i < PLACES; i++)
		table_index_build_range_scan(heap, index, info, false, false, false,
									 (BlockNumber) ((uint64) (pages - PAGES) * i / (PLACES - 1)), PAGES, look, &sample,
									 NULL);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return sample.ascends && sample.rows > 1;
}
