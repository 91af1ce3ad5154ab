/*
 * plan_append.c: a Merge Append becomes a GpuMergeAppend over the same nodes.
 *
 * The server's price of it stays: what it is planned for is planned as without us.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "commands/defrem.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "src/compat.h"
#include "src/guc.h"
#include "src/sort/append_node.h"
#include "src/sort/node.h"
#include "plan.h"

/*
 * A heap of fewer is as fast, so that they are ours only if there are servers to be asked at the same time; but with
 * gpusort.min_rows = 0 all that can be is to be ours.
 */
#define LEAST_STREAMS 8

/*
 * May a Merge Append be ours?  Not where some of its nodes may be left out at run time, nor where another extension's
 * node above may look for one, nor where the server would tell Sorts of its own below it, in a worker, how many rows
 * are wanted.
 */
static bool
may_be_ours(const MergeAppend *append, SortBound bound)
{
	return append->plan.plan_rows >= gpusort_min_rows && append->plan.qual == NIL &&
		!prunes_at_run_time(append) && !bound.known_above && (bound.kind == BOUND_NONE || !bound.in_workers);
}

/* Is the option async_capable on in a list of options, if it is there? */
static bool
capable_by(const List *options, bool otherwise)
{
	ListCell   *lc;

	foreach(lc, options)
		if (strcmp(lfirst_node(DefElem, lc)->defname, "async_capable") == 0)
			return defGetBoolean(lfirst_node(DefElem, lc));
	return otherwise;
}

/* May a foreign scan be asked for rows before they are needed?  As postgres_fdw says it of paths, by its options. */
static bool
may_be_asynchronous(const PlannedStmt *stmt, const ForeignScan *scan)
{
	const FdwRoutine *routine = GetFdwRoutineByServerId(scan->fs_server);
	bool		capable = capable_by(GetForeignServer(scan->fs_server)->options, false);
	int			relid = -1;

	if (!routine->IsForeignPathAsyncCapable || !routine->ForeignAsyncRequest || !routine->ForeignAsyncConfigureWait ||
		!routine->ForeignAsyncNotify)
		return false;
	while ((relid = bms_next_member(scan->fs_relids, relid)) >= 0)
	{
		const RangeTblEntry *rte = rt_fetch(relid, stmt->rtable);

		if (!capable_by(rte->rtekind == RTE_RELATION ? GetForeignTable(rte->relid)->options : NIL, capable))
			return false;
	}
	return true;
}

/* Might a function run queries? */
static bool
may_run_queries(Oid function, void *context)
{
	return function >= FirstNormalObjectId && func_volatile(function) != PROVOLATILE_IMMUTABLE;
}

/* Might an expression ask a server, on a connection where others wait for their rows? */
static bool
may_ask(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
		check_functions_in_node(node, may_run_queries, context) || expression_tree_walker(node, may_ask, context);
}

/*
 * The nodes of a Merge Append that can be asked at the same time, as below an Append.  Not in a subquery that runs by
 * itself: postgres_fdw may call for its result, a parameter, just when the connection must have nothing under way.
 */
static List *
find_asynchronous(const PlannedStmt *stmt, const MergeAppend *append)
{
	List	   *found = NIL;
	ListCell   *lc;

	if (!enable_async_append || append->plan.parallel_safe || plan_walks_subplans)
		return NIL;
	foreach(lc, append->mergeplans)
	{
		Plan	   *plan = lfirst(lc);

		if (IsA(plan, ForeignScan) && may_be_asynchronous(stmt, (ForeignScan *) plan) &&
			!may_ask((Node *) plan->qual, NULL) && !may_ask((Node *) plan->targetlist, NULL))
			found = lappend(found, plan);
	}
	return found;
}

/* Are these on several servers, which can sort at the same time? */
static bool
have_several_servers(const List *scans)
{
	ListCell   *lc;

	foreach(lc, scans)
	{
		if (lfirst_node(ForeignScan, lc)->fs_server != linitial_node(ForeignScan, scans)->fs_server)
			return true;
	}
	return false;
}

Plan *
take_merge_append(const PlannedStmt *stmt, MergeAppend *append, SortBound bound)
{
	CustomScan *scan;
	List	   *columns = NIL;
	List	   *sortops = NIL;
	List	   *collations = NIL;
	List	   *nulls_first = NIL;
	List	   *asynchronous;
	ListCell   *lc;

	if (!may_be_ours(append, bound))
		return &append->plan;
	asynchronous = find_asynchronous(stmt, append);
	if (list_length(append->mergeplans) < LEAST_STREAMS && gpusort_min_rows > 0 && !have_several_servers(asynchronous))
		return &append->plan;
	foreach(lc, asynchronous)
		((Plan *) lfirst(lc))->async_capable = true;
	for (int i = 0; i < append->numCols; i++)
	{
		columns = lappend_int(columns, append->sortColIdx[i]);
		sortops = lappend_oid(sortops, append->sortOperators[i]);
		collations = lappend_oid(collations, append->collations[i]);
		nulls_first = lappend_int(nulls_first, append->nullsFirst[i]);
	}
	scan = makeNode(CustomScan);
	scan->scan.plan = append->plan;
	scan->scan.plan.type = T_CustomScan;
	scan->scan.plan.targetlist = number_columns(append->plan.targetlist, INDEX_VAR);
	scan->custom_plans = append->mergeplans;
	scan->custom_relids = append->apprelids;
	/* where EXPLAIN finds the columns' names, as in a Merge Append; it is never run from there */
	scan->scan.plan.righttree = linitial(append->mergeplans);
	scan->custom_scan_tlist = append->plan.targetlist;
	ChangeVarNodes((Node *) scan->custom_scan_tlist, OUTER_VAR, INNER_VAR, 0);
	scan->custom_private = list_make5(columns, sortops, collations, nulls_first, list_copy(columns));
	scan->methods = &gpumergeappend_scan_methods;
	return &scan->scan.plan;
}
