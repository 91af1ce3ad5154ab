/*
 * plan_columns_rows.c: offers scans that find rows by resident columns: those that pass conditions, for any plan above,
 * and those of a page, for ORDER BY with LIMIT.
 *
 * A path has PostgreSQL's own scan as its child, which gives TIDs and runs when columns cannot answer after all.  Costs
 * alone decide.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_statistic.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"
#include "utils/typcache.h"

#include "kernels/gs_groups.h"
#include "src/base/compat.h"
#include "src/base/costs.h"
#include "src/base/guc.h"
#include "chosen.h"
#include "columns_rows_node.h"
#include "columns_terms.h"
#include "plan_columns.h"
#include "plan_columns_rows.h"

/* What doubles span in a packed order: most of 64 bits, since their exponents are on top. */
#define FLOAT8_BITS 62

/* A scan that is offered. */
typedef struct Offer
{
	PlannerInfo *root;
	RelOptInfo *rel;
	const RangeTblEntry *entry;
	List	   *infos;			/* RestrictInfos of the conditions that columns test */
	bool		all;			/* these are all conditions */
	ColumnsParts parts;
	ColumnsQuery *query;
	double		found;			/* rows that pass them */
} Offer;

/* ---------------------------------------------------------------- conditions */

/* Returns true if an expression has a value of the query around, which is the context's parent.  For walkers. */
static bool
has_outer_value(Node *node, void *context)
{
	const PlannerInfo *root = context;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Param) || ((const Param *) node)->paramkind != PARAM_EXEC)
		return expression_tree_walker(node, has_outer_value, context);
	foreach(lc, root->parent_root->plan_params)
	{
		if (((const PlannerParamItem *) lfirst(lc))->paramId == ((const Param *) node)->paramid)
			return true;
	}
	return false;
}

/*
 * Returns true for an EXISTS that is asked anew for each row around, of which one row is wanted.  The planner may hash
 * it instead, but expects far fewer rows around than there are, and few questions would seem to cost less.
 */
static bool
may_be_hashed(const Offer *offer)
{
	return offer->root->parent_root != NULL && offer->root->tuple_fraction == 1.0 &&
		has_outer_value((Node *) get_actual_clauses(offer->rel->baserestrictinfo), offer->root);
}

/* Returns why a table's rows are not found by columns, or NULL. */
static const char *
table_refused(const Offer *offer)
{
	const Query *parse = offer->root->parse;
	ListCell   *lc;

	if (offer->entry->inh || offer->entry->tablesample != NULL)
		return "the table has children or TABLESAMPLE";
	if (parse->rowMarks != NIL || bms_is_member((int) offer->rel->relid, offer->root->all_result_relids))
		return "it locks or changes rows";
	if (offer->rel->lateral_relids != NULL)
		return "it depends on other tables";
	/* above the child, a node that tests it would ask for columns, not for TIDs (createplan.c: use_physical_tlist) */
	foreach(lc, offer->rel->baserestrictinfo)
		if (lfirst_node(RestrictInfo, lc)->pseudoconstant)
			return "a condition is about no row";
	return may_be_hashed(offer) ? "an EXISTS may be hashed instead" : NULL;
}

/* Returns true if columns answer these parts of a query. */
static bool
is_answered(const Offer *offer, const ColumnsParts *parts)
{
	ColumnsQuery query;

	return columns_query(parts, &query) == NULL &&
		columns_are_chosen(offer->entry->relid, offer->entry->relid, &query);
}

/*
 * Collects the conditions that columns test.  They are tested before all others, so those that row security or a
 * security barrier has wait for it, unless they tell nothing about rows that do not pass.
 */
static void
collect_conditions(Offer *offer)
{
	ListCell   *lc;

	offer->parts.rows = offer->all = true;
	foreach(lc, offer->rel->baserestrictinfo)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);
		ColumnsParts with = offer->parts;

		with.conditions = lappend(list_copy(with.conditions), info->clause);
		if (!restriction_is_securely_promotable(info, offer->rel) || !is_answered(offer, &with))
		{
			offer->all = false;
			continue;
		}
		offer->parts = with;
		offer->infos = lappend(offer->infos, info);
	}
	offer->found = clamp_row_est(offer->rel->tuples * clauselist_selectivity(offer->root, offer->infos, 0, JOIN_INNER,
																			  NULL));
}

/* Completes the query. */
static void
make_query(Offer *offer)
{
	offer->query = palloc(sizeof(ColumnsQuery));
	if (columns_query(&offer->parts, offer->query) != NULL)
		elog(ERROR, "columns no longer answer the query");
}

/* ---------------------------------------------------------------- costs */

/* Returns the cost of a question. */
static Cost
question_cost(const Offer *offer)
{
	int			nvalues = offer->query->where.count + offer->query->norders * COLUMNS_KEY_VALUES;

	return columns_held_cost(offer->rel, offer->entry->relid, nvalues);
}

/* Returns the cost of fetching rows from the table, whose pages come as costsize.c has them for bitmap scans. */
static Cost
fetch_cost(const Offer *offer, double rows)
{
	const RelOptInfo *rel = offer->rel;
	double		all = Max(rel->pages, 1.0);
	double		pages = Min(2.0 * all * rows / (2.0 * all + rows), all);
	Cost		page = 0;
	double		random_cost;
	double		sequential_cost;
	QualCost	qual = {0};

	get_tablespace_page_costs(rel->reltablespace, &random_cost, &sequential_cost);
	page = pages < 2 ? random_cost : random_cost - (random_cost - sequential_cost) * sqrt(pages / all);
	if (!offer->all)
		qual = rel->baserestrictcost;
	return ceil(pages) * (page + COLUMNS_FETCHED_PAGE_COST) + qual.startup +
		rows * (cpu_tuple_cost + COLUMNS_ROW_COST + qual.per_tuple + rel->reltarget->cost.per_tuple) +
		rel->reltarget->cost.startup;
}

/* Returns true if a plan of columns alone is asked for: tests do. */
static bool
is_forced(const PlannerInfo *root)
{
	/* the scan below an aggregate would be its fallback's */
	return gpusort_columns == COLUMNS_FORCE && !root->parse->hasAggs && root->parse->groupClause == NIL;
}

/* ---------------------------------------------------------------- the child */

/* Copies a scan of the server, which forgets paths that cost more than others.  Returns NULL for other paths. */
static Path *
copy_scan(const Path *path)
{
	Size		bytes;
	Path	   *copy;

	switch (nodeTag(path))
	{
		case T_Path:
			bytes = sizeof(Path);
			break;
		case T_IndexPath:
			bytes = sizeof(IndexPath);
			break;
		case T_BitmapHeapPath:
			bytes = sizeof(BitmapHeapPath);
			break;
		case T_TidPath:
			bytes = sizeof(TidPath);
			break;
		case T_TidRangePath:
			bytes = sizeof(TidRangePath);
			break;
		default:
			return NULL;
	}
	copy = palloc(bytes);
	memcpy(copy, path, bytes);
	/* what it returns is not in the index */
	if (copy->pathtype == T_IndexOnlyScan)
		copy->pathtype = T_IndexScan;
	return copy;
}

/* Returns a copy of the server's cheapest scan in an order, or in any; NULL: there is none. */
static Path *
cheapest_scan(const Offer *offer, List *order)
{
	Path	   *best = NULL;
	ListCell   *lc;

	foreach(lc, offer->rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (path->param_info == NULL && pathkeys_contained_in(order, path->pathkeys) &&
			(best == NULL || path->total_cost < best->total_cost) && !IsA(path, CustomPath))
			best = path;
	}
	return best != NULL ? copy_scan(best) : NULL;
}

/* Makes the child: it gives TIDs, and, for a sort, what they are sorted by. */
static Path *
make_child(const Offer *offer, List *order)
{
	PathTarget *target = create_empty_pathtarget();
	Path	   *scan = cheapest_scan(offer, NIL);
	Path	   *ordered = order != NIL ? cheapest_scan(offer, order) : NULL;
	Path	   *sort;
	ListCell   *lc;

	add_column_to_pathtarget(target, (Expr *) makeVar(offer->rel->relid, SelfItemPointerAttributeNumber, TIDOID, -1,
													  InvalidOid, 0), 0);
	foreach(lc, offer->parts.sorted)
		add_column_to_pathtarget(target, lfirst(lc), 0);
	(void) set_pathtarget_cost_width(offer->root, target);
	if (scan == NULL)
		scan = create_seqscan_path(offer->root, offer->rel, NULL, 0);
	scan->pathtarget = target;
	if (order == NIL)
		return scan;
	sort = (Path *) create_sort_path(offer->root, offer->rel, scan, order, offer->root->limit_tuples);
	if (ordered == NULL || ordered->total_cost > sort->total_cost)
		return sort;
	ordered->pathtarget = target;
	return ordered;
}

/* ---------------------------------------------------------------- paths */

static Plan *make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses,
					   List *children);

static const CustomPathMethods path_methods = {
	.CustomName = COLUMNS_NODE_NAME,
	.PlanCustomPath = make_plan,
};

/* Adds a path that returns some rows and fetches some of them, in an order or in none. */
static void
add_rows_path(Offer *offer, List *order, double rows, double fetched)
{
	CustomPath *path = makeNode(CustomPath);

	make_query(offer);
	path->path.pathtype = T_CustomScan;
	path->path.parent = offer->rel;
	path->path.pathtarget = offer->rel->reltarget;
	path->path.rows = clamp_row_est(rows);
	path->path.pathkeys = order;
	path->path.startup_cost = question_cost(offer);
	path->path.total_cost = path->path.startup_cost + fetch_cost(offer, fetched);
	if (is_forced(offer->root))
		path->path.startup_cost = path->path.total_cost = 0;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(make_child(offer, order));
	path->custom_private = list_make4(offer->infos, offer->parts.conditions, offer->parts.sorted, offer->parts.orders);
	path->methods = &path_methods;
	add_path(offer->rel, &path->path);
}

/* PlanCustomPath: makes the plan.  The conditions that columns do not test are the node's own. */
static Plan *
make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses, List *children)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *infos = linitial(path->custom_private);
	List	   *conditions = lsecond(path->custom_private);
	List	   *others = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
		if (!list_member_ptr(infos, lfirst(lc)))
			others = lappend(others, lfirst(lc));
	scan->scan.plan.targetlist = targets;
	scan->scan.plan.qual = extract_actual_clauses(others, false);
	scan->scan.scanrelid = rel->relid;
	scan->flags = path->flags;
	scan->custom_plans = children;
	scan->custom_exprs = copyObject(list_concat_copy(conditions, lthird(path->custom_private)));
	scan->custom_private = list_make5(list_make1_int(list_length(conditions)), lfourth(path->custom_private), NIL, NIL,
									  NIL);
	scan->methods = &columns_scan_methods;
	make_variant(scan, COLUMNS_ROWS_VARIANT, NIL);
	return &scan->scan.plan;
}

/* ---------------------------------------------------------------- pages */

/*
 * Returns true if the query is ORDER BY with LIMIT over this table alone, so that nothing is between the two.  Volatile
 * functions are called for rows that OFFSET passes over.
 */
static bool
is_page(const Offer *offer)
{
	const Query *parse = offer->root->parse;
	const Const *limit = (const Const *) parse->limitCount;

	return limit != NULL && !(IsA(limit, Const) && limit->constisnull) && parse->limitOption == LIMIT_OPTION_COUNT &&
		parse->sortClause != NIL && parse->groupClause == NIL && !parse->hasAggs && parse->havingQual == NULL &&
		!parse->hasWindowFuncs && parse->distinctClause == NIL && !parse->hasTargetSRFs &&
		parse->setOperations == NULL && offer->rel->reloptkind == RELOPT_BASEREL &&
		bms_equal(offer->rel->relids, offer->root->all_baserels) &&
		!contain_volatile_functions((Node *) offer->root->processed_tlist);
}

/* Returns a column of the table that has the values of a pathkey, in their type's own order and collation, or NULL. */
static Var *
column_of(const Offer *offer, const PathKey *key)
{
	ListCell   *lc;

	foreach(lc, key->pk_eclass->ec_members)
	{
		Expr	   *expr = terms_without_casts(lfirst_node(EquivalenceMember, lc)->em_expr);
		Var		   *var = (Var *) expr;

		if (IsA(expr, Var) && var->varno == (int) offer->rel->relid && var->varattno > 0 &&
			var->varcollid == key->pk_eclass->ec_collation &&
			lookup_type_cache(getBaseType(var->vartype), TYPECACHE_BTREE_OPFAMILY)->btree_opf == key->pk_opfamily)
			return var;
	}
	return NULL;
}

/* Returns the held form of a value as a number. */
static double
held_number(const ColumnDescription *column, Datum value)
{
	union
	{
		int16		i16;
		int32		i32;
		int64		i64;
		int128		i128;
	}			held = {0};

	if (!column_encode(column, value, &held))
		return 0;
	switch ((gs_type) column->gs)
	{
		case GS_I16:
			return held.i16;
		case GS_I32:
			return held.i32;
		case GS_I64:
			return (double) held.i64;
		case GS_U128:
			return (double) held.i128;
		default:
			return (double) (uint32) held.i32;
	}
}

/* Widens a range of numbers by the values of a kind of statistics. */
static void
widen(HeapTuple statistics, int kind, const ColumnDescription *column, double *low, double *high)
{
	AttStatsSlot slot;

	if (!get_attstatsslot(&slot, statistics, kind, InvalidOid, ATTSTATSSLOT_VALUES))
		return;
	for (int i = 0; i < slot.nvalues; i++)
	{
		double		number = held_number(column, slot.values[i]);

		*low = Min(*low, number);
		*high = Max(*high, number);
	}
	free_attstatsslot(&slot);
}

/* Returns the bits that a column's values span in a packed order, by the planner's statistics; 0: not known. */
static double
spanned_bits(const Offer *offer, Var *var)
{
	VariableStatData variable;
	ColumnDescription column;
	double		low = INFINITY;
	double		high = -INFINITY;
	bool		is_default;

	if (getBaseType(var->vartype) == FLOAT8OID)
		return FLOAT8_BITS;
	examine_variable(offer->root, (Node *) var, 0, &variable);
	if (terms_is_string(getBaseType(var->vartype)))
	{
		/* their ranks have no gaps */
		low = 1;
		high = get_variable_numdistinct(&variable, &is_default);
	}
	else if (HeapTupleIsValid(variable.statsTuple) &&
			 column_describe_type(var->vartype, var->vartypmod, &column) == NULL)
	{
		widen(variable.statsTuple, STATISTIC_KIND_HISTOGRAM, &column, &low, &high);
		widen(variable.statsTuple, STATISTIC_KIND_MCV, &column, &low, &high);
	}
	ReleaseVariableStats(variable);
	return high >= low ? log2(high - low + 1) : 0;
}

/* Returns true if the columns of an order are expected to fit one key of the engines, which is known when it runs. */
static bool
fits_key(const Offer *offer, const List *columns)
{
	double		bits = 0;
	ListCell   *lc;

	foreach(lc, columns)
		bits += spanned_bits(offer, lfirst_node(Var, lc));
	return bits <= GS_GROUPS_KEY_BITS;
}

/* Adds the order of the query, if columns have it. */
static bool
add_order(Offer *offer, List *order)
{
	ColumnsParts with = offer->parts;
	ListCell   *lc;

	foreach(lc, order)
	{
		const PathKey *key = lfirst_node(PathKey, lc);
		Var		   *var = column_of(offer, key);

		if (var == NULL)
			return false;
		with.orders = lappend_int(with.orders, list_length(with.sorted));
		with.orders = lappend_int(with.orders, pathkey_descends(key));
		with.orders = lappend_int(with.orders, key->pk_nulls_first);
		with.sorted = lappend(with.sorted, var);
	}
	if (order == NIL || !is_answered(offer, &with) || !fits_key(offer, with.sorted))
		return false;
	offer->parts = with;
	return true;
}

/* Returns the rows that OFFSET passes over, as far as that is known. */
static double
passed_rows(const PlannerInfo *root)
{
	const Const *offset = (const Const *) root->parse->limitOffset;

	return offset != NULL && IsA(offset, Const) && !offset->constisnull ? (double) DatumGetInt64(offset->constvalue) :
		0;
}

/* Offers the rows of a page. */
static void
offer_page(Offer offer)
{
	List	   *order = offer.root->query_pathkeys;
	double		wanted = offer.root->limit_tuples > 0 ? Min(offer.root->limit_tuples, offer.found) : offer.found;
	double		fetched = Max(wanted - passed_rows(offer.root), 1);

	if (!offer.all || !is_page(&offer) || !add_order(&offer, order))
		return;
	add_rows_path(&offer, order, wanted, fetched);
}

void
offer_rows(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *entry)
{
	Offer		offer = {.root = root, .rel = rel, .entry = entry};
	const char *why;

	if (gpusort_columns == COLUMNS_OFF || entry->rtekind != RTE_RELATION || !any_chosen() || !is_chosen(entry->relid) ||
		(entry->relkind != RELKIND_RELATION && entry->relkind != RELKIND_MATVIEW) || IS_DUMMY_REL(rel))
		return;
	why = table_refused(&offer);
	if (why != NULL)
	{
		ereport(DEBUG1, (errmsg_internal("gpusort: rows not found by columns: %s", why)));
		return;
	}
	collect_conditions(&offer);
	offer_page(offer);
	if (offer.infos != NIL && row_places_fit(offer.found))
		add_rows_path(&offer, NIL, rel->rows, offer.found);
}
