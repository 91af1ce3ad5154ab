/*
 * plan_columns_rows.h: offers scans that find rows by resident columns.
 */
#ifndef GPUSORT_PLAN_COLUMNS_ROWS_H
#define GPUSORT_PLAN_COLUMNS_ROWS_H

#include "nodes/pathnodes.h"

/* Offers scans of a relation whose rows columns find, when the server has its paths: at set_rel_pathlist_hook. */
extern void offer_rows(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *entry);

#endif
