/*
 * plan_share_node.c: the path of a sort of shares, and its placeholder node, above a planned Sort, until the walk.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"

#include "src/base/compat.h"
#include "src/base/costs.h"
#include "src/base/guc.h"
#include "src/cost/cores.h"
#include "src/cost/sort_cost.h"
#include "plan_share_node.h"

static Plan *plan_share(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses,
						List *plans);
static Node *no_state(CustomScan *scan);
static bool is_partial(const CustomPath *share);

static const CustomPathMethods path_methods = {
	.CustomName = "GpuShare",
	.PlanCustomPath = plan_share,
};

static const CustomScanMethods scan_methods = {
	.CustomName = "GpuShare",
	.CreateCustomScanState = no_state,
};

bool
is_share_sort(const Plan *plan)
{
	return IsA(plan, CustomScan) && ((const CustomScan *) plan)->methods == &scan_methods;
}

List *
share_description(const Plan *plan)
{
	return ((const CustomScan *) plan)->custom_private;
}

/* CreateCustomScanState: fails, as the walk replaces this node. */
static Node *
no_state(CustomScan *scan)
{
	elog(ERROR, "a share was planned that no sort does");
	return NULL;
}

/* PlanCustomPath: makes a node over the planned Sort.  The walk turns both into one node. */
static Plan *
plan_share(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses, List *plans)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan	   *sort = linitial(plans);
	List	   *attnos = NIL;
	List	   *equals = NIL;
	List	   *collations = NIL;
	ListCell   *lc;

	foreach(lc, path->custom_private)
	{
		SortGroupClause *key = lfirst_node(SortGroupClause, lc);
		TargetEntry *entry = get_sortgroupclause_tle(key, sort->targetlist);

		attnos = lappend_int(attnos, entry->resno);
		equals = lappend_oid(equals, key->eqop);
		collations = lappend_oid(collations, exprCollation((Node *) entry->expr));
	}
	scan->scan.plan.targetlist = copyObject(sort->targetlist);
	scan->scan.plan.lefttree = sort;
	scan->custom_scan_tlist = copyObject(sort->targetlist);
	scan->custom_private = list_make4(attnos, equals, collations, list_make1_int(is_partial(path)));
	scan->methods = &scan_methods;
	return (Plan *) scan;
}

/* Returns true if each participant reads only a part. */
static bool
is_partial(const CustomPath *share)
{
	return ((const SortPath *) linitial(share->custom_paths))->subpath->parallel_workers > 0;
}

List *
keys_of_share_path(const Path *path)
{
	const CustomPath *share = (const CustomPath *) path;

	return IsA(path, CustomPath) && share->methods == &path_methods ? share->custom_private : NIL;
}

/* Returns the cost of an input row that the server's model leaves out, and that other plans divide among workers. */
static Cost
omitted_row_cost(const Path *input)
{
	return EXPRESSIONS_COST * input->pathtarget->cost.per_tuple +
		(is_read_by_page(input) ? 0 : SINGLY_READ_ROW_COST * cpu_tuple_cost);
}

/* Returns the additional cost if every participant reads all pages of a table, a large one through few buffers. */
static Cost
cost_of_pages(const ShareBuild *build)
{
	const RelOptInfo *table = build->input->parent;

	if (build->input->pathtype != T_SeqScan || table->pages <= (BlockNumber) NBuffers / 4)
		return 0;
	return table->pages * seq_page_cost * (1 - 1 / build->divisor);
}

/* Returns the cost of the input of a share if every participant reads all rows. */
static Cost
cost_of_scans(const ShareBuild *build)
{
	const Path *input = build->input;
	Cost		passing = SKIPPED_ROW_COST * cpu_operator_cost * list_length(build->keys);

	return input->total_cost + input->rows * (passing + omitted_row_cost(input)) + cost_of_pages(build);
}

/* Returns the cost of reading the partial path, possibly with fewer workers than it was planned for. */
static Cost
cost_of_parts(const ShareBuild *build)
{
	double		fewer = divisor_of(build->partial->parallel_workers) / build->divisor;

	return Min(build->partial->total_cost * fewer, Max(build->partial->total_cost, build->input->total_cost));
}

/* Returns the cost of the input of a share if participants exchange rows. */
static Cost
cost_of_exchange(const ShareBuild *build)
{
	Cost		handing = build->input->rows * cpu_tuple_cost *
		(SENT_ROW_COST + SENT_BYTE_COST * build->partial->pathtarget->width);

	return cost_of_parts(build) + parallel_setup_cost + handing / build->divisor;
}

/*
 * Returns true if participants exchange rows.  Scanning everything stays: for six of eleven queries, two participants
 * that exchange rows take 1.1 to 1.4 times the processor time (bench/results/shares-cpu2.txt).
 */
static bool
is_exchanged(const ShareBuild *build)
{
	switch (gpusort_parallel_windows)
	{
		case SHARES_SCAN:
			return false;
		case SHARES_EXCHANGE:
			return true;
		default:
			return cost_of_exchange(build) < cost_of_scans(build);
	}
}

Path *
make_share_path(const ShareBuild *build, List *pathkeys)
{
	CustomPath *share = makeNode(CustomPath);
	bool		exchanged = is_exchanged(build);
	Path	   *input = exchanged ? build->partial : build->input;
	SortPath   *sort = create_sort_path(build->root, build->output, input, pathkeys, -1.0);
	double		kept = build->input->rows * build->fraction;
	Cost		sorting = sort_cost_of(build->root, build->input, pathkeys, kept) +
		memory_cost(kept, build->input->pathtarget->width);

	share->path.pathtype = T_CustomScan;
	share->path.parent = build->output;
	share->path.pathtarget = sort->path.pathtarget;
	share->path.parallel_aware = true;
	share->path.parallel_safe = true;
	share->path.parallel_workers = build->workers;
	share->path.rows = clamp_row_est(build->input->rows / build->divisor);
	share->path.total_cost = ((exchanged ? cost_of_exchange(build) : cost_of_scans(build)) + sorting) * build->scale;
	share->path.startup_cost = share->path.total_cost;
	add_disabled_nodes(&share->path, disabled_nodes(input));
	share->custom_paths = list_make1(sort);
	share->custom_private = build->keys;
	share->methods = &path_methods;
	return &share->path;
}
