/*
 * plan_junk.c: removes sort keys that are a column of the result under another collation or type name.  For "SELECT * …
 * ORDER BY s COLLATE "C"" the planner adds a copy of s to the rows, to sort by and then to drop.  As its bytes are the
 * column's, the sort can read its key there.  Copies are removed only at the top of a plan, where no node but the sort
 * refers to them.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "node.h"
#include "plan_junk.h"

/* Does a node form its rows from its target list, so that the last entries can be removed? */
static bool
makes_rows(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
		case T_FunctionScan:
		case T_NestLoop:
		case T_MergeJoin:
		case T_HashJoin:
			return true;
		default:
			return false;
	}
}

/* What an expression is beneath changes of type and collation that leave the bytes alone. */
static Expr *
bare(Expr *expr)
{
	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	return expr;
}

/* The number of the column that an expression copies, among the first entries of a target list; 0: none. */
static AttrNumber
original_of(Expr *copy, List *targets, int first)
{
	Expr	   *column = bare(copy);

	if (!IsA(column, Var))
		return 0;
	for (int i = 0; i < first; i++)
		if (equal(bare(list_nth_node(TargetEntry, targets, i)->expr), column))
			return (AttrNumber) (i + 1);
	return 0;
}

/* The number of entries before those that only serve the sort, which are last; all entries if they are not. */
static int
count_result(const List *targets)
{
	int			n = list_length(targets);

	while (n > 0 && list_nth_node(TargetEntry, targets, n - 1)->resjunk)
		n--;
	for (int i = 0; i < n; i++)
		if (list_nth_node(TargetEntry, targets, i)->resjunk)
			return list_length(targets);
	return n;
}

/* Removes the columns behind the first keep; false if one is no copy.  custom_scan_tlist keeps them for EXPLAIN. */
static bool
drop_copies(CustomScan *scan, int keep)
{
	Plan	   *child = outerPlan(&scan->scan.plan);
	int			all = list_length(scan->custom_scan_tlist);
	AttrNumber *places = palloc0(sizeof(AttrNumber) * (all + 1));
	List	   *attnos = list_nth(scan->custom_private, PRIVATE_ATTNOS);
	ListCell   *lc;

	if (keep == 0 || keep == all || !makes_rows(child))
		return false;
	for (int i = keep; i < all; i++)
	{
		places[i + 1] = original_of(list_nth_node(TargetEntry, child->targetlist, i)->expr, child->targetlist, keep);
		if (places[i + 1] == 0)
			return false;
	}
	foreach(lc, attnos)
	{
		if (places[lfirst_int(lc)] != 0)
			lfirst_int(lc) = places[lfirst_int(lc)];
	}
	child->targetlist = list_truncate(child->targetlist, keep);
	scan->scan.plan.targetlist = list_truncate(scan->scan.plan.targetlist, keep);
	return true;
}

void
drop_key_copies(PlannedStmt *stmt, GatherMerge *gather)
{
	Plan	   *top = stmt->planTree;
	Plan	   *found = IsA(top, Limit) ? outerPlan(top) : top;
	Plan	   *sort = gather ? outerPlan(&gather->plan) : found;

	if (stmt->commandType != CMD_SELECT || stmt->rowMarks != NIL || (gather && found != &gather->plan) ||
		our_node(sort) != &gpusort_node)
		return;
	/* WITH TIES compares the keys of its rows */
	if (IsA(top, Limit) && ((Limit *) top)->limitOption == LIMIT_OPTION_WITH_TIES)
		return;
	/* the top node's list knows which columns only serve the sort */
	if (!drop_copies((CustomScan *) sort, count_result(found->targetlist)))
		return;
	if (gather)
		gather->plan.targetlist = list_truncate(gather->plan.targetlist, list_length(sort->targetlist));
	if (IsA(top, Limit))
		top->targetlist = list_truncate(top->targetlist, list_length(sort->targetlist));
}
