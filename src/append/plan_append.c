/*
 * plan_append.c: replaces a Merge Append by a GpuMergeAppend, at the server's cost: the planner merges as before.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/core/node.h"
#include "src/nodes/plan_nodes.h"
#include "append_node.h"
#include "plan_append.h"

/* The least number of streams.  With fewer, a heap is as fast.  gpusort.min_rows = 0 overrides this. */
#define LEAST_STREAMS 8

/*
 * Returns true if gpusort takes over a Merge Append: not if nodes may be pruned at run time, another extension's node
 * may look for it, or a worker's own Sorts below it get a bound.
 */
static bool
is_ours(const MergeAppend *append, SortBound bound)
{
	bool		enough = list_length(append->mergeplans) >= LEAST_STREAMS || gpusort_min_rows == 0;

	return enough && append->plan.plan_rows >= gpusort_min_rows && append->plan.qual == NIL &&
		!prunes_at_run_time(append) && !bound.known_above && (bound.kind == BOUND_NONE || !bound.in_workers);
}

Plan *
take_merge_append(const PlannedStmt *stmt, MergeAppend *append, SortBound bound)
{
	CustomScan *scan;
	const SortColumns columns = SORT_COLUMNS_OF(append);

	if (!is_ours(append, bound))
		return &append->plan;
	scan = make_replacement(stmt, &append->plan, &gpumergeappend_scan_methods);
	scan->custom_plans = append->mergeplans;
	scan->custom_relids = append->apprelids;
	scan->custom_private = gpusort_write_columns(&columns);
	return &scan->scan.plan;
}
