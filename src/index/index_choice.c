/*
 * index_choice.c: which btrees gpusort sorts the rows of.
 */
#include "postgres.h"

#include "optimizer/plancat.h"

#include "index_choice.h"
#include "src/base/compat.h"
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

const char *
index_left_why(Relation heap, Relation index, const IndexForm *form, double rows)
{
	const SortColumns *columns = &form->columns;

	if (gpusort_index_builds == INDEX_BUILDS_FORCE)
		return NULL;
	if (rows < gpusort_min_rows)
		return "it has few rows";
	if (sortkey_is_exact(columns->sortops[0], columns->collations[0]))
		return "PostgreSQL's sort of its first key is as fast";
	return NULL;
}
