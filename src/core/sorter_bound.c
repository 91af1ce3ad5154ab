/*
 * sorter_bound.c: sorts of which only the first rows are wanted: which of them go to tuplesort's top-N heap.
 */
#include "postgres.h"

#include "sorter_job.h"

/* A bound is small below this fraction of the input. */
#define SMALL_FRACTION 0.1

/* A heap is as good as the engine below this bound.  From there on the engine wins, where all keys are exact. */
#define HEAP_ROWS 1000

/* An estimate is wrong if this many times the rows have come. */
#define MISJUDGED 2.0

/* Is tuplesort's heap better than the engine for a small bound? */
static bool
heap_is_better(const SortColumns *columns, double bound)
{
	if (bound <= 0 || bound < HEAP_ROWS)
		return bound > 0;
	for (int i = 0; i < columns->nkeys; i++)
		if (!sortkey_is_exact(columns->sortops[i], columns->collations[i]))
			return true;
	return false;
}

bool
bound_is_small(double bound, double rows)
{
	return bound < SMALL_FRACTION * rows;
}

bool
bound_goes_to_heap(const SortColumns *columns, double bound, double rows)
{
	return bound_is_small(bound, rows) && heap_is_better(columns, bound);
}

void
sorter_note_bound(Sorter *sorter, int64 bound)
{
	sorter->bound = sorter->job_bound = bound;
	sorter->heap_from = PG_UINT64_MAX;
	if (heap_is_better(&sorter->columns, (double) bound))
		sorter->heap_from = (uint64) Min(Max(bound / SMALL_FRACTION, MISJUDGED * sorter->rows_expected), 1e18);
}

void
sorter_recheck_bound(Sorter *sorter)
{
	/* runs on disk would have to be read again */
	if (unlikely(sorter->stats.rows > sorter->heap_from) && sorter->state <= SS_LOADING)
		sorter_go_tuplesort(sorter, SORTER_BOUND);
}

bool
sorter_ends_at_bound(Sorter *sorter)
{
	return sorter->tuplesort != NULL || sorter->op == GS_TOPK || sorter->left_out > 0;
}
