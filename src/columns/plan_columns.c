/*
 * plan_columns.c: offers answers from resident columns to the planner.
 *
 * What is offered are the aggregates, groups or different rows of one table, or of the partitions of one that pruning
 * has left, and those of a subquery that adds windows to such a table.  So are rows with what windows give.
 * The path has PostgreSQL's own aggregate as its child, with keys and the aggregates' values as its columns: it runs
 * when columns cannot answer after all.  Costs alone decide.
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
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "kernels/gs_groups.h"
#include "src/base/compat.h"
#include "src/base/costs.h"
#include "src/base/guc.h"
#include "chosen.h"
#include "columns_node.h"
#include "columns_query.h"
#include "held_tables.h"
#include "plan_columns.h"
#include "plan_columns_groups.h"
#include "plan_columns_windows.h"

/* What a query asks of a table. */
typedef struct Offer
{
	PlannerInfo *root;
	RelOptInfo *input;
	RelOptInfo *grouped;
	PathTarget *target;			/* what its paths return */
	PlannerInfo *below;			/* of the table: root, or that of a subquery with windows */
	RelOptInfo *table;
	List	   *leaves;			/* relations of the planner: the table, or the partitions that are left */
	ColumnsParts parts;
	List	   *having;			/* that is left above the groups */
	ColumnsQuery *query;
	const CustomPath *counted;	/* the groups of a subquery, whose number is asked for; or NULL */
	bool		rows;			/* with what windows give, which are counted as groups */
} Offer;

/* Returns the range table entry of a relation. */
static const RangeTblEntry *
entry_of(const Offer *offer, const RelOptInfo *rel)
{
	return planner_rt_fetch(rel->relid, offer->below);
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
 * Returns true if a query aggregates one table, and columns of it are chosen.  Costs next to nothing for
 * all other queries.
 */
static bool
is_about_chosen(Offer *offer)
{
	const Query *parse = offer->root->parse;
	const RangeTblEntry *entry;
	ListCell   *lc;

	if (gpusort_columns == COLUMNS_OFF || parse->groupingSets != NIL || parse->hasDistinctOn ||
		offer->input->reloptkind != RELOPT_BASEREL || !any_chosen())
		return false;
	offer->below = offer->root;
	offer->table = offer->input->rtekind == RTE_RELATION ? offer->input :
		plan_windows_table(offer->input, &offer->below);
	if (offer->table == NULL)
		return false;
	entry = entry_of(offer, offer->table);
	if (entry->relkind != RELKIND_PARTITIONED_TABLE && !is_chosen(entry->relid))
		return false;
	add_leaves(offer, offer->table);
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
	const RangeTblEntry *entry = entry_of(offer, offer->table);
	ListCell   *lc;

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

	foreach(lc, offer->table->baserestrictinfo)
	{
		const RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		if (info->security_level > 0)
			return "a condition is evaluated before others";
		offer->parts.conditions = lappend(offer->parts.conditions, info->clause);
	}
	return NULL;
}

bool
columns_are_chosen(Oid relation, Oid table, const ColumnsQuery *query)
{
	for (int i = 0; i < query->ncolumns; i++)
	{
		const char *name = get_attname(table, query->columns[i].number, false);

		if (!is_chosen_column(relation, name) ||
			(query->columns[i].form == COLUMN_CODES && held_refuses(relation, get_attnum(relation, name))))
			return false;
	}
	return true;
}

/* Returns true if a leaf's columns that the query needs are chosen. */
static bool
is_leaf_chosen(const Offer *offer, const RelOptInfo *leaf)
{
	Oid			relation = entry_of(offer, leaf)->relid;

	return is_chosen(relation) && columns_are_chosen(relation, entry_of(offer, offer->table)->relid, offer->query);
}

/* Returns NULL, or why columns cannot answer a query over a chosen table. */
static const char *
refused(Offer *offer)
{
	const char *why = table_refused(offer);
	ListCell   *lc;

	if (why == NULL)
		why = collect_conditions(offer);
	if (why == NULL && offer->table != offer->input)
		why = plan_windows(offer->input, offer->below, &offer->parts);
	if (why == NULL)
		why = offer->rows ? plan_window_rows(offer->root, offer->target, &offer->parts) :
			plan_groups(offer->root, offer->target, &offer->parts);
	offer->query = palloc(sizeof(ColumnsQuery));
	if (why == NULL)
		why = columns_query(&offer->parts, offer->query);
	if (why == NULL && offer->query->positions && list_length(offer->leaves) > 1)
		why = "rows of several partitions have no order";
	if (why != NULL)
		return why;
	if (offer->rows)
		plan_chosen_rows(offer->root, offer->input, &offer->parts);
	else
		offer->having = plan_chosen_groups(offer->root, &offer->parts);
	(void) columns_query(&offer->parts, offer->query);
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
 * Before the session's first question, all pages are taken to be held.  The keeper hears of a table that it holds
 * badly, as no query may come otherwise.
 */
Cost
columns_held_cost(const RelOptInfo *rel, Oid relation, int nvalues)
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

/* Returns the number of values that are looked at for each row that passes the conditions of the table. */
static int
count_values(const ColumnsQuery *query)
{
	int			nvalues = query->above.count + query->nkeys * COLUMNS_KEY_VALUES + query->ncomputed +
		query->nwindows * COLUMNS_WINDOW_VALUES + query->nfunctions * COLUMNS_KEY_VALUES;

	for (int i = 0; i < query->nrequests; i++)
	{
		nvalues += Max(query->requests[i].nitems, 1) + query->requests[i].terms.count;
		nvalues += query->requests[i].operation > (int) GS_COUNT ? COLUMNS_KEY_VALUES : 0;
	}
	return nvalues;
}

/* Returns the cost of a query that returns some groups. */
static Cost
total_cost(const Offer *offer, double groups)
{
	Cost		cost = offer->target->cost.startup + offer->target->cost.per_tuple * groups;
	int			nvalues = count_values(offer->query);
	ListCell   *lc;

	/* rows below an aggregate would be its fallback's */
	if (gpusort_columns == COLUMNS_FORCE && (!offer->rows || !plan_aggregates(offer->root)))
		return 0;
	if (offer->query->nkeys > 0)
		cost += groups * (offer->rows ? offer->query->nkeys * COLUMNS_WINDOW_VALUE_COST : COLUMNS_GROUP_COST);
	foreach(lc, offer->leaves)
	{
		const RelOptInfo *leaf = lfirst(lc);

		cost += leaf->rows * nvalues * COLUMNS_VALUE_COST;
		cost += is_leaf_chosen(offer, leaf) ? columns_held_cost(leaf, entry_of(offer, leaf)->relid,
																offer->query->where.count) :
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

/*
 * Returns PostgreSQL's aggregate with keys and the aggregates' values as its columns, or its path of rows; NULL: there
 * is none.
 */
static Path *
make_child(const Offer *offer)
{
	PathTarget *target = create_empty_pathtarget();
	ListCell   *lc;

	foreach(lc, offer->parts.members)
		add_column_to_pathtarget(target, lfirst(lc), 0);
	(void) set_pathtarget_cost_width(offer->root, target);
	return offer->rows ? plan_window_rows_child(offer->grouped, target) :
		plan_groups_child(offer->root, offer->input, offer->grouped, target);
}

/* Returns the OIDs of the partitions to read; NIL for a table without partitions. */
static List *
leaf_oids(const Offer *offer)
{
	List	   *oids = NIL;
	ListCell   *lc;

	if (entry_of(offer, offer->table)->relkind == RELKIND_PARTITIONED_TABLE)
		foreach(lc, offer->leaves)
			oids = lappend_oid(oids, entry_of(offer, lfirst(lc))->relid);
	return oids;
}

/* The members of a path's custom_private. */
typedef enum PathPrivate
{
	PATH_COLUMNS,				/* list of lists: the columns of the scan, by ColumnsCounts */
	PATH_KINDS,
	PATH_ORDERS,
	PATH_HAVING,				/* what is left of it */
	PATH_LEAVES,				/* OIDs */
	PATH_RELATION,				/* int list: of the range table; 0: that of a subquery */
	PATH_SUBQUERY,				/* as in the plan */
	PATH_COUNTED				/* int list: of groups, their number is returned; they stand for their rows */
} PathPrivate;

/* Returns what the plan is made of. */
static List *
path_private(const Offer *offer)
{
	const ColumnsParts *parts = &offer->parts;
	List	   *columns = list_concat(list_make4(parts->members, parts->keys, parts->aggregates, parts->conditions),
									  list_make5(parts->window_keys, parts->above, parts->having, parts->limits,
												 parts->checks));
	List	   *result = list_make5(columns, parts->kinds, parts->orders, offer->having, leaf_oids(offer));
	int			relid = offer->table == offer->input ? (int) offer->input->relid : 0;

	result = lappend(result, list_make1_int(relid));
	result = lappend(result, lcons(list_make1_oid(entry_of(offer, offer->table)->relid), list_copy(parts->windows)));
	return lappend(result, list_make2_int(false, offer->rows));
}

/* Returns the number of groups that the service returns: with an array they are its elements. */
static double
returned_groups(const Offer *offer, double groups)
{
	const Aggref *array = offer->query->array;
	double		rows = offer->table->tuples;

	if (array == NULL)
		return groups;
	/* how many runs there are is not known */
	if (offer->query->array_runs)
		return Max(groups, rows / COLUMNS_RUN_ROWS);
	return clamp_row_est(Min(rows, groups * estimate_num_groups(
		offer->root, list_make1(linitial_node(TargetEntry, array->args)->expr), rows, NULL, NULL)));
}

/* Makes the path over its child. */
static Path *
make_path(const Offer *offer, Path *child)
{
	CustomPath *path = makeNode(CustomPath);
	double		wanted = plan_wanted_groups(&offer->parts);
	double		all = !offer->rows ? child->rows :
		plan_window_rows_passed(offer->below, &offer->parts, offer->table->rows, child->rows);
	double		groups = offer->parts.keys == NIL ? 1 : wanted > 0 ? Min(wanted, all) : all;

	path->path.pathtype = T_CustomScan;
	path->path.parent = offer->grouped;
	path->path.pathtarget = offer->target;
	path->path.rows = clamp_row_est(groups);
	path->path.startup_cost = path->path.total_cost = total_cost(offer, returned_groups(offer, groups));
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(child);
	path->custom_private = path_private(offer);
	path->methods = &path_methods;
	return &path->path;
}

/* ---------------------------------------------------------------- numbers of groups */

/* Returns true if a query's rows are its groups. */
static bool
has_only_groups(const Query *query)
{
	return (query->groupClause != NIL || query->distinctClause != NIL) && query->setOperations == NULL &&
		query->limitCount == NULL && query->limitOffset == NULL && query->rowMarks == NIL && !query->hasWindowFuncs &&
		!query->hasTargetSRFs && (query->distinctClause == NIL || (query->groupClause == NIL && !query->hasAggs));
}

/* Returns the path of a subquery's groups that columns answer as a whole, or NULL. */
static const CustomPath *
groups_of(const RelOptInfo *input)
{
	PlannerInfo *below = input->subroot;
	ListCell   *rel;
	ListCell   *lc;

	if (below == NULL || !has_only_groups(below->parse) || below->init_plans != NIL || input->lateral_relids != NULL ||
		input->baserestrictinfo != NIL)
		return NULL;
	foreach(rel, below->upper_rels[plan_is_distinct(below) ? UPPERREL_DISTINCT : UPPERREL_GROUP_AGG])
		foreach(lc, ((RelOptInfo *) lfirst(rel))->pathlist)
		{
			const CustomPath *path = lfirst(lc);

			if (IsA(path, CustomPath) && path->methods == &path_methods &&
				list_nth(path->custom_private, PATH_HAVING) == NIL && linitial_int(list_nth(path->custom_private,
																						   PATH_COUNTED)) == 0)
				return path;
		}
	return NULL;
}

/* Returns true if a query asks for nothing but the number of its rows, once and always. */
static bool
is_count(Offer *offer)
{
	const Query *parse = offer->root->parse;
	const Aggref *aggregate;

	if (parse->groupingSets != NIL || parse->havingQual != NULL)
		return false;
	if (plan_is_distinct(offer->root) || plan_groups(offer->root, offer->target, &offer->parts) != NULL ||
		list_length(offer->parts.members) != 1)
		return false;
	aggregate = linitial(offer->parts.members);
	return IsA(aggregate, Aggref) && aggregate->aggfnoid == F_COUNT_ && aggregate->aggfilter == NULL;
}

/* Returns what the plan is made of. */
static List *
counted_private(const Offer *offer)
{
	List	   *result = list_copy(offer->counted->custom_private);
	List	   *columns = list_copy(linitial(result));

	list_nth_cell(columns, COLUMNS_MEMBERS)->ptr_value = offer->parts.members;
	if (list_nth(columns, COLUMNS_HAVING) == NIL)
		list_nth_cell(columns, COLUMNS_AGGREGATES)->ptr_value = NIL;
	list_nth_cell(result, PATH_COLUMNS)->ptr_value = columns;
	list_nth_cell(result, PATH_RELATION)->ptr_value = list_make1_int(0);
	list_nth_cell(result, PATH_COUNTED)->ptr_value = list_make2_int(true, false);
	return result;
}

/* Offers the number of a subquery's groups, none of which is returned. */
static void
offer_count(Offer *offer)
{
	CustomPath *path = makeNode(CustomPath);
	const Path *groups = &offer->counted->path;

	path->path.pathtype = T_CustomScan;
	path->path.parent = offer->grouped;
	path->path.pathtarget = offer->target;
	path->path.rows = 1;
	path->path.total_cost = offer->target->cost.startup + offer->target->cost.per_tuple +
		Max(groups->total_cost - groups->rows * COLUMNS_GROUP_COST, 0);
	path->path.startup_cost = path->path.total_cost;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(make_child(offer));
	path->custom_private = counted_private(offer);
	path->methods = &path_methods;
	add_path(offer->grouped, &path->path);
}

/* Returns an expression that no other one equals, since no scalar is tested as a row. */
static Expr *
hidden(Expr *expr)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = expr;
	test->nulltesttype = IS_NULL;
	test->argisrow = true;
	test->location = -1;
	return (Expr *) test;
}

/*
 * Appends an expression to the columns of the node's scan.  The server looks there for what the plan computes, and
 * parts of the query have no values: they are hidden.
 */
static void
append_column(List **columns, Expr *expr, bool part)
{
	expr = copyObject(expr);
	*columns = lappend(*columns, makeTargetEntry(part ? hidden(expr) : expr, (AttrNumber) (list_length(*columns) + 1),
												 NULL, part));
}

/* Returns the parts of a query that a path is about. */
static ColumnsParts
parts_of(const List *of)
{
	List	   *columns = list_nth(of, PATH_COLUMNS);

	return (ColumnsParts) {
		.keys = list_nth(columns, COLUMNS_KEYS), .aggregates = list_nth(columns, COLUMNS_AGGREGATES),
		.conditions = list_nth(columns, COLUMNS_CONDITIONS), .window_keys = list_nth(columns, COLUMNS_WINDOW_KEYS),
		.above = list_nth(columns, COLUMNS_ABOVE), .having = list_nth(columns, COLUMNS_HAVING),
		.limits = list_nth(columns, COLUMNS_LIMITS), .kinds = list_nth(of, PATH_KINDS),
		.orders = list_nth(of, PATH_ORDERS), .checks = list_nth(columns, COLUMNS_CHECKS),
		.windows = list_copy_tail(list_nth(of, PATH_SUBQUERY), 1), .repeated = lsecond_int(list_nth(of, PATH_COUNTED))
	};
}

/*
 * PlanCustomPath: makes the plan.  Keys and aggregates, as the plan above has them, are the columns of its scan; the
 * parts of the query follow them, since the server adapts what stands there to the finished plan.  The values that all
 * of these need are its expressions, in which the server looks for parameters.
 */
static Plan *
make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses, List *children)
{
	CustomScan *scan = makeNode(CustomScan);
	ColumnsParts parts = parts_of(path->custom_private);
	List	   *counts = NIL;
	ColumnsQuery query;
	ListCell   *kind;
	ListCell   *lc;

	if (columns_query(&parts, &query) != NULL)
		elog(ERROR, "columns no longer answer the query");
	scan->scan.plan.targetlist = targets;
	scan->scan.plan.qual = copyObject(list_nth(path->custom_private, PATH_HAVING));
	scan->scan.scanrelid = (Index) linitial_int(list_nth(path->custom_private, PATH_RELATION));
	scan->flags = path->flags;
	scan->custom_plans = children;
	scan->custom_exprs = copyObject(query.values);
	foreach(kind, (List *) list_nth(path->custom_private, PATH_COLUMNS))
	{
		counts = lappend_int(counts, list_length(lfirst(kind)));
		foreach(lc, (List *) lfirst(kind))
			append_column(&scan->custom_scan_tlist, lfirst(lc), foreach_current_index(kind) > COLUMNS_MEMBERS);
	}
	counts = list_concat(counts, list_nth(path->custom_private, PATH_COUNTED));
	scan->custom_private = list_make5(list_nth(path->custom_private, PATH_LEAVES), counts, parts.kinds, parts.orders,
									  list_nth(path->custom_private, PATH_SUBQUERY));
	scan->methods = &columns_scan_methods;
	return &scan->scan.plan;
}

/* Offers rows, of which the service gives no more than fit. */
static void
add_rows_path(const Offer *offer)
{
	Path	   *child = make_child(offer);
	Path	   *path;

	/* a subquery of which all rows are wanted offers them itself */
	if (child == NULL ||
		(offer->parts.limits == NIL && offer->input == offer->grouped && offer->input->baserestrictinfo == NIL))
		return;
	path = make_path(offer, child);
	if (path->rows * (offer->query->nkeys + 1) * sizeof(gs_reduced) < GS_GROUPS_MOST_BYTES)
		add_path(offer->grouped, path);
}

void
offer_window_rows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output)
{
	Offer		offer = {.root = root, .input = input, .grouped = output, .rows = true};
	const char *why;

	if (!is_about_chosen(&offer) || (offer.table == input) == (input == output))
		return;
	offer.target = input == output ? output->reltarget : root->upper_targets[UPPERREL_WINDOW];
	why = refused(&offer);
	if (why == NULL)
		add_rows_path(&offer);
	else if (input != output)
		ereport(DEBUG1, (errmsg_internal("gpusort: rows of windows not from columns: %s", why)));
}

void
offer_columns(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *grouped)
{
	bool		distinct = plan_is_distinct(root);
	Offer		offer = {.root = root, .input = input, .grouped = grouped,
	.target = distinct ? input->reltarget : grouped->reltarget};
	const char *why;

	if (stage != (distinct ? UPPERREL_DISTINCT : UPPERREL_GROUP_AGG))
		return;
	if (!is_about_chosen(&offer))
	{
		offer.counted = offer.table == NULL && gpusort_columns != COLUMNS_OFF ? groups_of(input) : NULL;
		if (offer.counted != NULL && is_count(&offer))
			offer_count(&offer);
		return;
	}
	why = refused(&offer);
	if (why == NULL)
		add_path(grouped, make_path(&offer, make_child(&offer)));
	else
		ereport(DEBUG1, (errmsg_internal("gpusort: not answered from columns: %s", why)));
}
