/*
 * plan_share_node.c: the path of a sort of shares, and the node that stands for it until the plan is walked.
 *
 * The node has a planned Sort below, so that it is the server that finds the columns to sort by.
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
#include "src/base/guc.h"
#include "src/cost/cores.h"
#include "src/cost/sort_cost.h"
#include "plan_share_node.h"

/* What looking at a row of others takes, in operators for each key. */
#define PASSED_ROW_OPERATORS 1.0

/*
 * What a row of the input takes beyond its price, unless it is read by the page, in cpu_tuple_cost: measured, an
 * index-only scan takes three times its price against a plain one, joins more.
 */
#define PASSED_ON_TUPLES 3.0

/*
 * What expressions of the input take beyond their price: most functions are dearer than the operator that they are
 * priced as, and every participant computes them for all rows.
 */
#define COMPUTED_PRICE 4.0

/*
 * What a row takes that is handed on to another participant, in cpu_tuple_cost, and each byte of it.  The files for
 * that are charged as much as the workers are.
 */
#define HANDED_ON_TUPLES 3.0
#define HANDED_ON_BYTE 0.03

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
is_share(const Plan *plan)
{
	return IsA(plan, CustomScan) && ((const CustomScan *) plan)->methods == &scan_methods;
}

List *
share_description(const Plan *plan)
{
	return ((const CustomScan *) plan)->custom_private;
}

/* CreateCustomScanState: the node is gone when a plan is run. */
static Node *
no_state(CustomScan *scan)
{
	elog(ERROR, "a share was planned that no sort does");
	return NULL;
}

/* PlanCustomPath: a node over the planned Sort, which the walk makes one. */
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

/* Does each participant read a part only? */
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

/* What reading a row of an input takes beyond its price, and what other plans share out among their workers. */
static Cost
unpriced(const Path *input)
{
	return COMPUTED_PRICE * input->pathtarget->cost.per_tuple +
		(is_read_by_page(input) ? 0 : PASSED_ON_TUPLES * cpu_tuple_cost);
}

/*
 * What it takes that every participant reads all pages of a table: a large one passes through a few buffers, again for
 * each, where other plans' workers read a part each, which the server's price of theirs leaves out.
 */
static Cost
price_of_pages(const ShareBuild *build)
{
	const RelOptInfo *table = build->input->parent;

	if (build->input->pathtype != T_SeqScan || table->pages <= (BlockNumber) NBuffers / 4)
		return 0;
	return table->pages * seq_page_cost * (1 - 1 / build->divisor);
}

/* Price of a share's sort where every participant reads all. */
static Cost
price_of_scans(const ShareBuild *build)
{
	const Path *input = build->input;
	Cost		passing = PASSED_ROW_OPERATORS * cpu_operator_cost * list_length(build->keys);

	return input->total_cost + input->rows * (passing + unpriced(input)) + price_of_pages(build);
}

/* What it takes to read an input in parts, by fewer workers than the server would have perhaps. */
static Cost
price_of_parts(const ShareBuild *build)
{
	double		fewer = divisor_of(build->partial->parallel_workers) / build->divisor;

	return Min(build->partial->total_cost * fewer, Max(build->partial->total_cost, build->input->total_cost));
}

/* Price of a sort of a share where each reads a part and hands rows on. */
static Cost
price_of_exchange(const ShareBuild *build)
{
	Cost		handing = build->input->rows * cpu_tuple_cost *
		(HANDED_ON_TUPLES + HANDED_ON_BYTE * build->partial->pathtarget->width);

	return price_of_parts(build) + parallel_setup_cost + handing / build->divisor;
}

/* Do rows go through an exchange? */
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
			return price_of_exchange(build) < price_of_scans(build);
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
	Cost		sorting = sort_price(build->root, build->input, pathkeys, kept) +
		memory_price(kept, build->input->pathtarget->width);

	share->path.pathtype = T_CustomScan;
	share->path.parent = build->output;
	share->path.pathtarget = sort->path.pathtarget;
	share->path.parallel_aware = true;
	share->path.parallel_safe = true;
	share->path.parallel_workers = build->workers;
	share->path.rows = clamp_row_est(build->input->rows / build->divisor);
	share->path.total_cost = ((exchanged ? price_of_exchange(build) : price_of_scans(build)) + sorting) * build->scale;
	share->path.startup_cost = share->path.total_cost;
	add_disabled_nodes(&share->path, disabled_nodes(input));
	share->custom_paths = list_make1(sort);
	share->custom_private = build->keys;
	share->methods = &path_methods;
	return &share->path;
}
