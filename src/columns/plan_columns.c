/*
 * plan_columns.c: offers answers from resident columns to the planner.
 *
 * What is offered are the aggregates of a query without groups over one table, or over the partitions of one that
 * pruning has left.  The path has PostgreSQL's own aggregate as its child, with the aggregates' values as its columns:
 * it runs when columns cannot answer after all.  Costs alone decide.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "src/base/compat.h"
#include "src/base/costs.h"
#include "src/base/guc.h"
#include "chosen.h"
#include "columns_node.h"
#include "columns_query.h"
#include "held_tables.h"
#include "plan_columns.h"

/* What a query asks of a table. */
typedef struct Offer
{
	PlannerInfo *root;
	RelOptInfo *input;
	RelOptInfo *grouped;
	List	   *leaves;			/* relations of the planner: the table, or the partitions that are left */
	List	   *conditions;
	List	   *aggregates;
	ColumnsQuery *query;
} Offer;

/* ---------------------------------------------------------------- what can be answered */

/* Returns the range table entry of a relation. */
static const RangeTblEntry *
entry_of(const Offer *offer, const RelOptInfo *rel)
{
	return planner_rt_fetch(rel->relid, offer->root);
}

/* Adds the partitions that pruning has left, of all levels. */
static void
add_leaves(Offer *offer, RelOptInfo *rel)
{
	int			i = -1;

	if (IS_DUMMY_REL(rel))
		return;
	if (entry_of(offer, rel)->relkind != RELKIND_PARTITIONED_TABLE)
	{
		offer->leaves = lappend(offer->leaves, rel);
		return;
	}
	while ((i = bms_next_member(rel->live_parts, i)) >= 0)
		if (rel->part_rels[i] != NULL)
			add_leaves(offer, rel->part_rels[i]);
}

/*
 * Returns true if a query aggregates one table without groups, and columns of it are chosen.  Costs next to nothing for
 * all other queries.
 */
static bool
is_about_chosen(Offer *offer)
{
	const Query *parse = offer->root->parse;
	const RangeTblEntry *entry;
	ListCell   *lc;

	if (gpusort_columns == COLUMNS_OFF || !parse->hasAggs || parse->groupClause != NIL || parse->groupingSets != NIL ||
		offer->input->reloptkind != RELOPT_BASEREL || offer->input->rtekind != RTE_RELATION || !any_chosen())
		return false;
	entry = entry_of(offer, offer->input);
	if (entry->relkind != RELKIND_PARTITIONED_TABLE && !is_chosen(entry->relid))
		return false;
	add_leaves(offer, offer->input);
	foreach(lc, offer->leaves)
		if (is_chosen(entry_of(offer, lfirst(lc))->relid))
			return true;
	return false;
}

/* Returns why a table is not read from columns, or NULL. */
static const char *
table_refused(const Offer *offer)
{
	const Query *parse = offer->root->parse;
	const RangeTblEntry *entry = entry_of(offer, offer->input);
	ListCell   *lc;

	if (parse->havingQual != NULL)
		return "it has HAVING";
	if (entry->securityQuals != NIL)
		return "row security applies";
	if (entry->tablesample != NULL)
		return "it has TABLESAMPLE";
	if (parse->rowMarks != NIL)
		return "it locks rows";
	if (entry->inh != (entry->relkind == RELKIND_PARTITIONED_TABLE))
		return "the table has children";
	foreach(lc, offer->leaves)
	{
		char		relkind = entry_of(offer, lfirst(lc))->relkind;

		if (relkind != RELKIND_RELATION && relkind != RELKIND_MATVIEW)
			return "a partition is not a table";
	}
	return NULL;
}

/* Collects the conditions.  Returns NULL, or why they are not answered. */
static const char *
collect_conditions(Offer *offer)
{
	ListCell   *lc;

	foreach(lc, offer->input->baserestrictinfo)
	{
		const RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		if (info->security_level > 0)
			return "a condition is evaluated before others";
		offer->conditions = lappend(offer->conditions, info->clause);
	}
	return NULL;
}

/* Collects the aggregates.  Returns NULL, or why they are not answered. */
static const char *
collect_aggregates_of(Offer *offer)
{
	List	   *found = pull_var_clause((Node *) offer->grouped->reltarget->exprs, PVC_INCLUDE_AGGREGATES |
										PVC_RECURSE_WINDOWFUNCS | PVC_RECURSE_PLACEHOLDERS);
	ListCell   *lc;

	foreach(lc, found)
	{
		if (!IsA(lfirst(lc), Aggref))
			return "it returns a column";
		offer->aggregates = list_append_unique(offer->aggregates, lfirst(lc));
	}
	return offer->aggregates == NIL ? "it has no aggregates" : NULL;
}

/* Returns true if a leaf's columns that the query needs are chosen. */
static bool
is_leaf_chosen(const Offer *offer, const RelOptInfo *leaf)
{
	Oid			relation = entry_of(offer, leaf)->relid;
	Oid			table = entry_of(offer, offer->input)->relid;

	for (int i = 0; i < offer->query->ncolumns; i++)
		if (!is_chosen_column(relation, get_attname(table, offer->query->columns[i].number, false)))
			return false;
	return is_chosen(relation);
}

/* Returns NULL, or why columns cannot answer a query over a chosen table. */
static const char *
refused(Offer *offer)
{
	const char *why = table_refused(offer);
	ListCell   *lc;

	if (why == NULL)
		why = collect_conditions(offer);
	if (why == NULL)
		why = collect_aggregates_of(offer);
	offer->query = palloc(sizeof(ColumnsQuery));
	if (why == NULL)
		why = columns_query(offer->conditions, offer->aggregates, offer->query);
	if (why != NULL)
		return why;
	foreach(lc, offer->leaves)
		if (is_leaf_chosen(offer, lfirst(lc)))
			return NULL;
	return "a column is not chosen";
}

/* ---------------------------------------------------------------- costs */

/* Returns the cost of reading pages of a relation in the table. */
static Cost
table_cost(const RelOptInfo *rel, double pages)
{
	double		rows = rel->pages > 0 ? rel->tuples * pages / rel->pages : 0;

	return pages * seq_page_cost + rows * cpu_tuple_cost;
}

/*
 * Returns the cost of a relation whose columns are held, with its pages that have to be read in the table.  Before the
 * session's first question, all pages are taken to be held.  The keeper hears of a table that it holds badly, as no
 * query may come otherwise.
 */
static Cost
held_cost(const RelOptInfo *rel, Oid relation, int nvalues)
{
	BlockNumber held = rel->pages;
	BlockNumber young = 0;
	double		others;

	if (held_figures(relation, &held, &young) && rel->pages > 2 * ((double) held + young))
		(void) columns_demand();
	others = Max((double) rel->pages - held - young, 0.0);
	return COLUMNS_QUESTION_COST + rel->pages * COLUMNS_PAGE_COST + young * COLUMNS_YOUNG_PAGE_COST +
		rel->tuples * nvalues * COLUMNS_VALUE_COST + table_cost(rel, others);
}

/* Returns the cost of a query. */
static Cost
total_cost(const Offer *offer)
{
	const PathTarget *target = offer->grouped->reltarget;
	Cost		cost = target->cost.startup + target->cost.per_tuple;
	int			nvalues = offer->query->nterms;
	ListCell   *lc;

	if (gpusort_columns == COLUMNS_FORCE)
		return 0;
	for (int i = 0; i < offer->query->nrequests; i++)
		nvalues += Max(offer->query->requests[i].nitems, 1);
	foreach(lc, offer->leaves)
	{
		const RelOptInfo *leaf = lfirst(lc);

		cost += is_leaf_chosen(offer, leaf) ? held_cost(leaf, entry_of(offer, leaf)->relid, nvalues) :
			table_cost(leaf, leaf->pages);
	}
	return cost;
}

/* ---------------------------------------------------------------- the path */

static Plan *make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses,
					   List *children);

static const CustomPathMethods path_methods = {
	.CustomName = COLUMNS_NODE_NAME,
	.PlanCustomPath = make_plan,
};

/* Returns PostgreSQL's cheapest path that computes the aggregates from the table's rows, or NULL. */
static const AggPath *
cheapest_aggregate(const RelOptInfo *grouped)
{
	const AggPath *best = NULL;
	ListCell   *lc;

	foreach(lc, grouped->pathlist)
	{
		const AggPath *path = lfirst(lc);

		if (!IsA(path, AggPath) || path->aggstrategy != AGG_PLAIN || DO_AGGSPLIT_SKIPFINAL(path->aggsplit))
			continue;
		if (best == NULL || disabled_nodes(&path->path) < disabled_nodes(&best->path) ||
			(disabled_nodes(&path->path) == disabled_nodes(&best->path) &&
			 path->path.total_cost < best->path.total_cost))
			best = path;
	}
	return best;
}

/*
 * Returns PostgreSQL's aggregate with the aggregates' values as its columns.  A plan that reads an index, or one row,
 * for each min and max is not taken, since it replaces these aggregates wherever they stand.
 */
static Path *
make_child(const Offer *offer)
{
	const AggPath *best = cheapest_aggregate(offer->grouped);
	AggPath    *child;
	PathTarget *target = create_empty_pathtarget();
	ListCell   *lc;

	foreach(lc, offer->aggregates)
		add_column_to_pathtarget(target, lfirst(lc), 0);
	target = set_pathtarget_cost_width(offer->root, target);
	if (best == NULL)
	{
		AggClauseCosts costs = {0};

		get_agg_clause_costs(offer->root, AGGSPLIT_SIMPLE, &costs);
		return &create_agg_path(offer->root, offer->grouped, offer->input->cheapest_total_path, target, AGG_PLAIN,
								AGGSPLIT_SIMPLE, NIL, NIL, &costs, 1)->path;
	}
	child = makeNode(AggPath);
	*child = *best;
	child->path.pathtarget = target;
	return &child->path;
}

/* Returns the OIDs of the partitions to read; NIL for a table without partitions. */
static List *
leaf_oids(const Offer *offer)
{
	List	   *oids = NIL;
	ListCell   *lc;

	if (entry_of(offer, offer->input)->relkind == RELKIND_PARTITIONED_TABLE)
		foreach(lc, offer->leaves)
			oids = lappend_oid(oids, entry_of(offer, lfirst(lc))->relid);
	return oids;
}

/* Makes the path over its child. */
static Path *
make_path(const Offer *offer, Path *child)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = offer->grouped;
	path->path.pathtarget = offer->grouped->reltarget;
	path->path.rows = 1;
	path->path.startup_cost = path->path.total_cost = total_cost(offer);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(child);
	path->custom_private = list_make4(offer->aggregates, offer->conditions, leaf_oids(offer),
									  list_make1_int((int) offer->input->relid));
	path->methods = &path_methods;
	return &path->path;
}

/* Appends an expression to the columns of the node's scan. */
static void
append_column(List **columns, Expr *expr, bool junk)
{
	*columns = lappend(*columns, makeTargetEntry(copyObject(expr), (AttrNumber) (list_length(*columns) + 1), NULL,
												 junk));
}

/*
 * PlanCustomPath: makes the plan.  The aggregates are the columns of its scan; the conditions follow them, since the
 * server adapts what stands there to the finished plan.  The values that both need are its expressions, in which the
 * server looks for parameters.
 */
static Plan *
make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses, List *children)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *aggregates = linitial(path->custom_private);
	List	   *conditions = lsecond(path->custom_private);
	ColumnsQuery query;
	ListCell   *lc;

	if (columns_query(conditions, aggregates, &query) != NULL)
		elog(ERROR, "columns no longer answer the query");
	scan->scan.plan.targetlist = targets;
	scan->scan.scanrelid = (Index) linitial_int(lfourth(path->custom_private));
	scan->flags = path->flags;
	scan->custom_plans = children;
	scan->custom_exprs = copyObject(query.values);
	foreach(lc, aggregates)
		append_column(&scan->custom_scan_tlist, lfirst(lc), false);
	foreach(lc, conditions)
		append_column(&scan->custom_scan_tlist, lfirst(lc), true);
	scan->custom_private = list_make2(lthird(path->custom_private), makeInteger(list_length(aggregates)));
	scan->methods = &columns_scan_methods;
	return &scan->scan.plan;
}

void
offer_columns(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped)
{
	Offer		offer = {.root = root, .input = input, .grouped = grouped};
	const char *why;

	if (!is_about_chosen(&offer))
		return;
	why = refused(&offer);
	if (why == NULL)
		add_path(grouped, make_path(&offer, make_child(&offer)));
	else
		ereport(DEBUG1, (errmsg_internal("gpusort: not answered from columns: %s", why)));
}
