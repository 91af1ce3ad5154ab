/*
 * sortcolumns.h: what to sort by.
 */
#ifndef GPUSORT_SORTCOLUMNS_H
#define GPUSORT_SORTCOLUMNS_H

#include "access/attnum.h"

/* What to sort by. */
typedef struct SortColumns
{
	int			nkeys;
	AttrNumber *attnos;
	Oid		   *sortops;
	Oid		   *collations;
	bool	   *nulls_first;
} SortColumns;

/* Initializes a SortColumns: what a Sort sorts by, or a Merge Append or Gather Merge merges by. */
#define SORT_COLUMNS_OF(node) \
	{(node)->numCols, (node)->sortColIdx, (node)->sortOperators, (node)->collations, (node)->nullsFirst}

/* Returns true if one order begins with the other. */
static inline bool
sortcolumns_begin(const SortColumns *order, const SortColumns *with)
{
	if (with->nkeys > order->nkeys)
		return false;
	for (int i = 0; i < with->nkeys; i++)
		if (order->attnos[i] != with->attnos[i] || order->sortops[i] != with->sortops[i] ||
			order->collations[i] != with->collations[i] || order->nulls_first[i] != with->nulls_first[i])
			return false;
	return true;
}

#endif
