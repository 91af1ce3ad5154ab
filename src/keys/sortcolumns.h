/*
 * sortcolumns.h: what to sort by.
 */
#ifndef GPUSORT_SORTCOLUMNS_H
#define GPUSORT_SORTCOLUMNS_H

#include "access/attnum.h"

/* What to sort by, as in a Sort node. */
typedef struct SortColumns
{
	int			nkeys;
	AttrNumber *attnos;
	Oid		   *sortops;
	Oid		   *collations;
	bool	   *nulls_first;
} SortColumns;

#endif
