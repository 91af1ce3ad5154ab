/*
 * sorter_bound.c: sorts of which only the first rows are wanted: whose they are, and where they end.
 */
#include "postgres.h"

#include "sorter_job.h"

/* Who expected less than a row in so many has guessed. */
#define MISJUDGED 2.0

/* Is a bound that is small against the rows left to PostgreSQL's heap? */
static bool
small_is_left(const SortColumns *columns, double bound)
{
	const char *why;

	if (bound <= 0 || bound < GPUSORT_BOUND_ROWS)
		return bound > 0;
	for (int i = 0; i < columns->nkeys; i++)
		if (!sortkey_is_exact(columns->sortops[i], columns->collations[i], &why))
			return true;
	return false;
}

/* Is a bound small against so many rows? */
static inline bool
is_small(double bound, double rows)
{
	return bound < GPUSORT_BOUND_FRACTION * rows;
}

bool
sorter_leaves_bound(const SortColumns *columns, double bound, double rows)
{
	return is_small(bound, rows) && small_is_left(columns, bound);
}

void
sorter_set_bound(Sorter *sorter, int64 bound)
{
	sorter->bound = bound;
	sorter->leaves_small = small_is_left(&sorter->columns, (double) bound);
}

bool
sorter_bound_is_small(const Sorter *sorter)
{
	double		rows = (double) sorter->stats.rows;

	/* runs on disk would have to be read again */
	return sorter->leaves_small && rows > MISJUDGED * sorter->rows_expected && sorter->core == NULL &&
		sorter->runs == NULL && is_small((double) sorter->bound, rows);
}

bool
sorter_bounded(Sorter *sorter)
{
	return sorter->core != NULL || sorter->top || sorter->cut;
}

TupleTableSlot *
sorter_get_core(Sorter *sorter, bool forward, TupleTableSlot *slot)
{
	/* who fills a block, or a share, asks until there is none */
	if (forward && sorter->bound > 0 && sorter->current >= (uint64) sorter->bound)
		ExecClearTuple(slot);
	else
		coresort_get(sorter->core, forward, slot);
	sorter_gave(sorter, forward, !TupIsNull(slot));
	return slot;
}
