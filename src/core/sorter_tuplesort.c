/*
 * sorter_tuplesort.c: hands a sort that cannot go on over to PostgreSQL's tuplesort.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sorter_job.h"

/* Gives tuplesort a row; the callback of spill_drain. */
static void
put_tuplesort(void *arg, MinimalTuple tuple)
{
	Sorter	   *sorter = arg;

	ExecStoreMinimalTuple(tuple, sorter->row_slot, false);
	tuplesort_puttupleslot(sorter->tuplesort, sorter->row_slot);
}

/* Begins a tuplesort, whose memory limit is the server's work_mem, or that of a draft, which has a key for ties. */
static Tuplesortstate *
begin_tuplesort(const Sorter *sorter)
{
	const SortColumns *columns = &sorter->columns;
	int			options = (sorter->random_access ? TUPLESORT_RANDOMACCESS : TUPLESORT_NONE) |
		(sorter->bound > 0 ? TUPLESORT_ALLOWBOUNDED : TUPLESORT_NONE);
	int			kilobytes = sorter->draft ? (int) (sorter->kept / 1024) : work_mem;
	Tuplesortstate *tuplesort = tuplesort_begin_heap(sorter->desc, columns->nkeys + sorter->draft, columns->attnos,
													 columns->sortops, columns->collations, columns->nulls_first,
													 kilobytes, NULL, options);

	if (sorter->bound > 0)
		tuplesort_set_bound(tuplesort, sorter->bound);
	return tuplesort;
}

void
sorter_go_tuplesort(Sorter *sorter, SorterFallback why)
{
	MemoryContext old = MemoryContextSwitchTo(sorter->cxt);

	sorter->stats.fallback = why;
	ereport(DEBUG1, (errmsg_internal("gpusort leaves a sort to PostgreSQL: %s", sorter_fallback_text(why))));
	roworder_end(&sorter->order);
	sorter_end_job(sorter);
	sorter->tuplesort = begin_tuplesort(sorter);
	if (sorter->runs)
	{
		spill_drain(sorter->runs, put_tuplesort, sorter);
		spill_close(sorter->runs);
		sorter->runs = NULL;
	}
	for (uint32 row = 0; row < sorter->rows->rows; row++)
	{
		CHECK_FOR_INTERRUPTS();
		put_tuplesort(sorter, rowstore_get(sorter->rows, row));
	}
	ExecClearTuple(sorter->row_slot);
	rowstore_reset(sorter->rows, false);
	bigmem_hold(sorter->mem, false);
	if (sorter->state < SS_FINISHING)
		sorter->state = SS_LOADING_TUPLESORT;
	MemoryContextSwitchTo(old);
}
