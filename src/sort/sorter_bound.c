/*
 * sorter_bound.c: sorts of which only the first rows are wanted: whose they are.
 */
#include "postgres.h"

#include "sorter_job.h"

bool
sorter_leaves_bound(const SortColumns *columns, double bound, double rows)
{
	const char *why;

	if (bound <= 0 || bound >= GPUSORT_BOUND_FRACTION * rows)
		return false;
	if (bound < GPUSORT_BOUND_ROWS)
		return true;
	for (int i = 0; i < columns->nkeys; i++)
		if (!sortkey_is_exact(columns->sortops[i], columns->collations[i], &why))
			return true;
	return false;
}

bool
sorter_bounded(Sorter *sorter)
{
	return sorter->core != NULL || sorter->top;
}
