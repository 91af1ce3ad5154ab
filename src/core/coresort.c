/*
 * coresort.c: the way back to PostgreSQL's own tuplesort.
 *
 * Taken when gpusort is switched off at run time, when a small LIMIT becomes known late, when there are more rows than
 * row numbers, and when memory for our own way cannot be had.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "coresort.h"

CoreSort *
coresort_begin(const SortColumns *columns, TupleDesc desc, bool random_access, int64 bound)
{
	CoreSort   *sort = palloc0(sizeof(CoreSort));
	int			options = TUPLESORT_NONE;

	if (random_access)
		options |= TUPLESORT_RANDOMACCESS;
	if (bound > 0)
		options |= TUPLESORT_ALLOWBOUNDED;
	sort->state = tuplesort_begin_heap(desc, columns->nkeys, columns->attnos, columns->sortops, columns->collations,
									   columns->nulls_first, work_mem, NULL, options);
	if (bound > 0)
		tuplesort_set_bound(sort->state, bound);
	return sort;
}

void
coresort_put(CoreSort *sort, TupleTableSlot *slot)
{
	tuplesort_puttupleslot(sort->state, slot);
}

void
coresort_finish(CoreSort *sort)
{
	tuplesort_performsort(sort->state);
	sort->finished = true;
}

TupleTableSlot *
coresort_get(CoreSort *sort, bool forward, TupleTableSlot *slot)
{
	(void) tuplesort_gettupleslot(sort->state, forward, false, slot, NULL);
	return slot;
}

void
coresort_mark(CoreSort *sort)
{
	tuplesort_markpos(sort->state);
}

void
coresort_restore(CoreSort *sort)
{
	tuplesort_restorepos(sort->state);
}

void
coresort_rewind(CoreSort *sort)
{
	tuplesort_rescan(sort->state);
}

void
coresort_end(CoreSort *sort)
{
	tuplesort_end(sort->state);
	pfree(sort);
}
