/*
 * marks.c: a library for tests that plans queries with marks of its own in their range tables, as Citus does: in fields
 * that belong to other kinds of entries, lists of integers, which no walker of expressions knows.
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"

#include "src/base/compat.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static planner_hook_type planner_before;

/* Marks an entry where its kind has nothing. */
static void
mark_entry(RangeTblEntry *entry)
{
	if (entry->rtekind != RTE_VALUES)
		entry->values_lists = list_make2_int(1, 2);
	if (entry->rtekind != RTE_FUNCTION)
		entry->functions = list_make2_int(3, 4);
}

/* Marks the entries of a query and of those in it. */
static bool
mark_entries(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		mark_entry((RangeTblEntry *) node);
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, mark_entries, context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, mark_entries, context);
}

/* Plans a marked copy of a query. */
static PlannedStmt *
plan_marked(PLANNER_PARAMETERS)
{
	parse = copyObject(parse);
	mark_entries((Node *) parse, NULL);
	return planner_before ? planner_before(PLANNER_ARGUMENTS) : standard_planner(PLANNER_ARGUMENTS);
}

void
_PG_init(void)
{
	planner_before = planner_hook;
	planner_hook = plan_marked;
}
