/*
 * plan_merge.c: turns a Gather Merge over gpusort's sorts into one of blocks.
 *
 *		Gather Merge					Custom Scan (GpuMerge)
 *		  -> Custom Scan (GpuSort)		  -> Gather Merge
 *										       -> Custom Scan (GpuSort)
 *
 * Below the new Gather Merge a tuple is a block of many sorted rows, preceded by the key of the first one
 * (parallel/blocks.h).  Gather Merge orders the blocks, and GpuMerge the rows.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_operator_d.h"
#include "nodes/makefuncs.h"
#include "optimizer/tlist.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/core/node.h"
#include "src/core/plan_junk.h"
#include "src/nodes/plan_nodes.h"
#include "src/cost/sort_cost.h"
#include "src/keys/sortkey.h"
#include "block_node.h"
#include "merge_node.h"
#include "plan_merge.h"

/* Returns true if the bytes of the keys can order blocks. */
static bool
keys_are_process_independent(const SortColumns *columns)
{
	for (int i = 0; i < columns->nkeys; i++)
		if (!sortkey_is_process_independent(columns->sortops[i]))
			return false;
	return true;
}

/* Returns the sort below a Gather Merge if it is gpusort's and its columns pass unchanged, else NULL. */
static CustomScan *
sort_below(const GatherMerge *gather)
{
	CustomScan *sort = (CustomScan *) outerPlan(&gather->plan);

	if (our_node(&sort->scan.plan) != &gpusort_node || gather->plan.qual != NIL ||
		!passes_through(gather->plan.targetlist, get_tlist_exprs(sort->custom_scan_tlist, true)))
		return NULL;
	return sort;
}

/* Makes a sort return blocks. */
static void
give_blocks(CustomScan *sort, const SortColumns *by, bool encoded)
{
	List	   *scan_columns = list_copy(sort->custom_scan_tlist);
	List	   *all = NIL;
	List	   *columns = NIL;

	/* the list may have more columns than the rows: the original forms of keys */
	for (int i = 1; i <= list_length(sort->scan.plan.targetlist); i++)
		all = lappend_int(all, i);
	if (encoded)
		columns = lappend(columns, make_row_column(&scan_columns,
												   list_nth(sort->custom_private, PRIVATE_ATTNOS), 1, "key"));
	for (int i = 0; i < by->nkeys && !encoded; i++)
	{
		TargetEntry *entry = list_nth_node(TargetEntry, scan_columns, by->attnos[i] - 1);

		columns = lappend(columns, makeTargetEntry(make_column(INDEX_VAR, by->attnos[i], entry->expr),
												   (AttrNumber) (i + 1), pstrdup("key"), false));
	}
	columns = lappend(columns, make_row_column(&scan_columns, all, list_length(columns) + 1, "block"));
	sort->custom_scan_tlist = scan_columns;
	sort->scan.plan.targetlist = columns;
	make_variant(sort, BLOCK_VARIANT, list_make1_int(encoded));
}

/* Makes a Gather Merge merge the blocks of the sort below. */
static void
gather_blocks(GatherMerge *gather, const CustomScan *sort, const SortColumns *by, bool encoded)
{
	int			nkeys = encoded ? 1 : by->nkeys;
	double		block_rows = rows_of_block(gather->plan.plan_width);

	gather->plan.targetlist = number_columns(sort->scan.plan.targetlist, OUTER_VAR);
	gather->plan.plan_rows = Max(1, rint(gather->plan.plan_rows / block_rows));
	gather->plan.plan_width = (int) (gather->plan.plan_width * block_rows);
	gather->numCols = nkeys;
	gather->sortColIdx = palloc(sizeof(AttrNumber) * nkeys);
	gather->sortOperators = palloc(sizeof(Oid) * nkeys);
	gather->collations = palloc(sizeof(Oid) * nkeys);
	gather->nullsFirst = palloc(sizeof(bool) * nkeys);
	for (int i = 0; i < nkeys; i++)
	{
		gather->sortColIdx[i] = (AttrNumber) (i + 1);
		gather->sortOperators[i] = encoded ? ByteaLessOperator : by->sortops[i];
		gather->collations[i] = encoded ? InvalidOid : by->collations[i];
		gather->nullsFirst[i] = encoded ? false : by->nulls_first[i];
	}
}

/* Makes the GpuMerge above a Gather Merge, while the Gather Merge still returns rows. */
static CustomScan *
make_gpumerge(const PlannedStmt *stmt, GatherMerge *gather, const CustomScan *sort)
{
	CustomScan *merge = make_custom_scan(&gather->plan, new_node_id(stmt), &gpumerge_scan_methods);
	Plan	   *plan = &merge->scan.plan;

	plan->lefttree = &gather->plan;
	/* the result has the column names of the Gather Merge */
	plan->targetlist = number_columns(gather->plan.targetlist, INDEX_VAR);
	merge->custom_plans = children_for_explain(&gather->plan);
	merge->custom_scan_tlist = copyObject(sort->custom_scan_tlist);
	merge->custom_private = copyObject(sort->custom_private);
	return merge;
}

Plan *
gather_merge_in_blocks(PlannedStmt *stmt, GatherMerge *gather)
{
	const SortColumns merged = SORT_COLUMNS_OF(gather);
	CustomScan *sort = sort_below(gather);
	CustomScan *merge;
	SortColumns by;
	bool		encoded;

	if (sort == NULL || !gpusort_parallel_blocks)
		return &gather->plan;
	gpusort_read_columns(&by, sort);
	if (!sortcolumns_begin(&by, &merged))
		return &gather->plan;
	drop_key_copies(stmt, gather);
	gpusort_read_columns(&by, sort);
	encoded = keys_are_process_independent(&by);
	merge = make_gpumerge(stmt, gather, sort);
	give_blocks(sort, &by, encoded);
	gather_blocks(gather, sort, &by, encoded);
	return &merge->scan.plan;
}
