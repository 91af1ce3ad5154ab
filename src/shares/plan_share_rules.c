/*
 * plan_share_rules.c: which inputs every participant may read in full, and the keys that divide them.  All read equal
 * rows only if the input depends on nothing but the snapshot, nor on the order of rows: no LIMIT, no window or
 * aggregate below, and no subqueries in expressions.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/catalog.h"
#include "catalog/pg_class_d.h"
#include "catalog/pg_proc_d.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/cost/cores.h"
#include "src/cost/sort_choice.h"
#include "plan_share_node.h"
#include "plan_share_rules.h"

/* Values per participant that a key needs to divide rows evenly. */
#define VALUES_PER_PARTICIPANT 32

/* Returns true if a query returns all rows of its tables, independently of their order. */
static bool
is_plain_query(const Query *query)
{
	return !query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs && query->groupClause == NIL &&
		query->groupingSets == NIL && query->havingQual == NULL && query->distinctClause == NIL &&
		query->limitCount == NULL && query->limitOffset == NULL && query->setOperations == NULL &&
		query->rowMarks == NIL;
}

/* Returns true if a table returns equal rows to all: no sequence or catalog, which change despite the snapshot. */
static bool
is_same_for_all(const RangeTblEntry *entry)
{
	switch (entry->rtekind)
	{
		case RTE_RELATION:
			return entry->relkind != RELKIND_FOREIGN_TABLE && entry->relkind != RELKIND_SEQUENCE &&
				!IsCatalogRelationOid(entry->relid) && entry->tablesample == NULL;
		case RTE_SUBQUERY:
			return is_plain_query(entry->subquery);
		case RTE_JOIN:
		case RTE_FUNCTION:
		case RTE_VALUES:
		case RTE_RESULT:
			return true;
		default:
			return false;
	}
}

/* Returns true if an expression contains a SubPlan or SubLink.  For walkers. */
static bool
runs_subplan(Node *node, void *context)
{
	return contain_subplans(node);
}

/* Returns true if a query runs subqueries per row, whose results may depend on the order a participant reads in. */
static bool
has_subplans(PlannerInfo *root)
{
	ListCell   *lc;

	if (contain_subplans((Node *) root->parse->targetList) || contain_subplans((Node *) root->parse->jointree))
		return true;
	foreach(lc, root->append_rel_list)
	{
		if (contain_subplans((Node *) lfirst_node(AppendRelInfo, lc)->translated_vars))
			return true;
	}
	/* use the walker, as extensions misuse fields that an entry's kind leaves empty */
	foreach(lc, root->parse->rtable)
	{
		if (range_table_entry_walker(lfirst_node(RangeTblEntry, lc), runs_subplan, NULL,
									 QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_JOINALIASES))
			return true;
	}
	return false;
}

/* Returns true if all tables of a query and its remaining subqueries in FROM return equal rows to all participants. */
static bool
tables_are_same_for_all(PlannerInfo *root)
{
	if (has_subplans(root))
		return false;
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RangeTblEntry *entry = root->simple_rte_array[i];
		RelOptInfo *rel = root->simple_rel_array[i];

		/* joins, and subqueries that were pulled up */
		if (rel == NULL)
			continue;
		/* the array has the members of a UNION ALL, too */
		if (!(entry->rtekind == RTE_SUBQUERY && entry->inh) && !is_same_for_all(entry))
			return false;
		if (rel->subroot && !tables_are_same_for_all(rel->subroot))
			return false;
	}
	return true;
}

/* Returns true if values of this type refer to catalog objects. */
static bool
is_of_catalogs(Oid type)
{
	switch (type)
	{
		case OIDOID:
		case NAMEOID:
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGCLASSOID:
		case REGTYPEOID:
		case REGROLEOID:
		case REGNAMESPACEOID:
		case REGCOLLATIONOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
			return true;
		default:
			return false;
	}
}

/*
 * Returns true if a stable function of PostgreSQL may read catalogs, and so see concurrent commits.  Its types tell,
 * except for has_table_privilege and similar functions, which also take names as text.
 */
static bool
looks_into_catalogs(Oid function)
{
	Oid		   *types;
	int			count;
	bool		found = is_of_catalogs(get_func_signature(function, &types, &count));

	for (int i = 0; i < count; i++)
		found = found || is_of_catalogs(types[i]);
	pfree(types);
	return found || strncmp(get_func_name(function), "has_", 4) == 0;
}

/* Returns true if a function's result may differ: not PostgreSQL's own that depend on snapshot and settings alone. */
static bool
may_differ(Oid function, void *context)
{
	switch (func_volatile(function))
	{
		case PROVOLATILE_IMMUTABLE:
			return false;
		case PROVOLATILE_STABLE:
			return function >= FirstNormalObjectId || looks_into_catalogs(function);
		default:
			return true;
	}
}

/* Returns true for system columns that another transaction updates by locking or deleting a visible row. */
static bool
is_written_by_others(const Var *column)
{
	return column->varattno == MaxTransactionIdAttributeNumber || column->varattno == MinCommandIdAttributeNumber ||
		column->varattno == MaxCommandIdAttributeNumber;
}

/* Returns true if an expression or query calls such a function or reads such a column.  For walkers. */
static bool
calls_what_may_differ(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return is_written_by_others((const Var *) node);
	if (IsA(node, NextValueExpr) || check_functions_in_node(node, may_differ, context))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, calls_what_may_differ, context, 0);
	return expression_tree_walker(node, calls_what_may_differ, context);
}

/* Returns true if a query or one of its subqueries may differ between participants, although it is parallel safe. */
static bool
may_differ_anywhere(PlannerInfo *root)
{
	ListCell   *lc;

	if (calls_what_may_differ((Node *) root->parse, NULL))
		return true;
	foreach(lc, root->glob->subroots)
	{
		if (calls_what_may_differ((Node *) lfirst_node(PlannerInfo, lc)->parse, NULL))
			return true;
	}
	return false;
}

/* Returns the cheapest path that every participant can run in full, or NULL. */
static Path *
path_for_all(const RelOptInfo *rel)
{
	Path	   *best = NULL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (path->parallel_safe && path->param_info == NULL &&
			(best == NULL || path->total_cost < best->total_cost))
			best = path;
	}
	return best;
}

/* Window functions of expressions: their arguments, and whether one is not parallel safe. */
typedef struct Windows
{
	List	   *given;
	bool		unsafe;
} Windows;

/* Collects window functions, and replaces them by NULL constants of their types. */
static Node *
take_windows_out(Node *node, void *context)
{
	Windows    *windows = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, WindowFunc))
	{
		const WindowFunc *window = (WindowFunc *) node;

		windows->unsafe |= func_parallel(window->winfnoid) != PROPARALLEL_SAFE;
		windows->given = lappend(lappend(windows->given, window->args), window->aggfilter);
		return (Node *) makeNullConst(exprType(node), -1, exprCollation(node));
	}
	return expression_tree_mutator(node, take_windows_out, context);
}

bool
safe_in_shares(PlannerInfo *root, List *exprs)
{
	Windows		windows = {NIL, false};
	Node	   *rest = take_windows_out((Node *) exprs, &windows);

	return !windows.unsafe && is_parallel_safe(root, rest) && is_parallel_safe(root, (Node *) windows.given);
}

/* Returns true if workers may compute the output of a stage. */
static bool
output_is_safe(PlannerInfo *root, const RelOptInfo *output)
{
	const Path *path = linitial(output->pathlist);

	return safe_in_shares(root, path->pathtarget->exprs) && safe_in_shares(root, root->parse->windowClause);
}

bool
share_begin(ShareBuild *build, PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, const List *pathkeys)
{
	if (!gpusort_parallel_windows || !input->consider_parallel || input->partial_pathlist == NIL ||
		IS_OTHER_REL(output) || !output_is_safe(root, output))
		return false;
	memset(build, 0, sizeof(ShareBuild));
	build->root = root;
	build->output = output;
	build->input = path_for_all(input);
	build->partial = linitial(input->partial_pathlist);
	/* more workers would only compete for cores */
	build->workers = workers_at_once(build->partial->parallel_workers);
	build->divisor = divisor_of(build->workers);
	build->scale = 1;
	return build->workers > 0 && build->input != NULL &&
		path_sort_is_ours(build->input->rows, pathkeys, UNBOUNDED) &&
		tables_are_same_for_all(root) && !may_differ_anywhere(root);
}

/* Returns the frequency of the most common value of an expression, or of NULL; 0 if unknown. */
static double
most_common(PlannerInfo *root, Node *expr)
{
	VariableStatData variable;
	AttStatsSlot slot;
	double		share = 0;

	examine_variable(root, expr, 0, &variable);
	if (HeapTupleIsValid(variable.statsTuple))
	{
		share = ((Form_pg_statistic) GETSTRUCT(variable.statsTuple))->stanullfrac;
		if (get_attstatsslot(&slot, variable.statsTuple, STATISTIC_KIND_MCV, InvalidOid, ATTSTATSSLOT_NUMBERS))
		{
			if (slot.nnumbers > 0)
				share = Max(share, slot.numbers[0]);
			free_attstatsslot(&slot);
		}
	}
	ReleaseVariableStats(variable);
	return share;
}

/* Estimates the number of distinct combinations of keys, by the server's default if there are no statistics. */
static double
count_values(const ShareBuild *build, List *exprs)
{
	return estimate_num_groups(build->root, exprs, build->input->rows, NULL, NULL);
}

/* Estimates the busiest participant's fraction of all rows: groups are not split, and it may have the largest. */
static double
busiest(double values, double common, double divisor)
{
	double		even;

	common = Max(common, 1 / Max(values, 1));
	even = (1 + 1.2 * sqrt(divisor / Max(values, 1))) / divisor;
	return Min(1, common + (1 - common) * even);
}

/* Returns true if a key has enough values for each participant. */
static bool
is_fine(double values, const ShareBuild *build)
{
	return values >= VALUES_PER_PARTICIPANT * (build->workers + 1);
}

/* Returns true if equal values of a type have equal hashes, under nondeterministic collations text and bpchar only. */
static bool
has_hash(Oid type, int32 typmod, Oid collation)
{
	RegProcedure hash;
	TupleDesc	row;
	bool		good = true;

	type = getBaseTypeAndTypmod(type, &typmod);
	if (OidIsValid(get_element_type(type)))
		return has_hash(get_element_type(type), typmod, collation);
	if (type_is_multirange(type))
		type = get_multirange_range(type);
	if (type_is_range(type))
		return has_hash(get_range_subtype(type), -1, get_range_collation(type));
	if (type_is_rowtype(type))
	{
		row = lookup_rowtype_tupdesc_noerror(type, typmod, true);
		for (int i = 0; row != NULL && good && i < row->natts; i++)
		{
			Form_pg_attribute att = TupleDescAttr(row, i);

			good = att->attisdropped || has_hash(att->atttypid, att->atttypmod, att->attcollation);
		}
		if (row != NULL)
			ReleaseTupleDesc(row);
		return row != NULL && good;
	}
	hash = lookup_type_cache(type, TYPECACHE_HASH_PROC)->hash_proc;
	return !OidIsValid(collation) || get_collation_isdeterministic(collation) || hash == F_HASHTEXT ||
		hash == F_HASHBPCHAR;
}

bool
share_choose_keys(ShareBuild *build, List *keys)
{
	List	   *targets = build->root->processed_tlist;
	double		common = 1;
	ListCell   *lc;

	build->fraction = 1;
	foreach(lc, keys)
	{
		SortGroupClause *key = lfirst_node(SortGroupClause, lc);
		Node	   *expr = get_sortgroupclause_expr(key, targets);
		double		values = count_values(build, list_make1(expr));
		double		most = most_common(build->root, expr);
		double		fraction = busiest(values, most, build->divisor);

		if (!key->hashable || !has_hash(exprType(expr), exprTypmod(expr), exprCollation(expr)))
			continue;
		common *= most;
		build->keys = lappend(build->keys, key);
		if (is_fine(values, build) && fraction < build->fraction)
		{
			build->fraction = fraction;
			keys = list_make1(key);
		}
	}
	if (build->keys == NIL)
		return false;
	if (build->fraction < 1)
		build->keys = keys;
	else
		build->fraction = busiest(count_values(build, get_sortgrouplist_exprs(build->keys, targets)), common,
								  build->divisor);
	return build->fraction < 1;
}

/* An expression that is equal for all rows of a group. */
typedef struct GroupKey
{
	Node	   *expr;
	Oid			equals;
} GroupKey;

/* Returns true if a list of GroupKeys contains this one. */
static bool
has_key(List *keys, Node *expr, Oid equals)
{
	ListCell   *lc;

	foreach(lc, keys)
	{
		const GroupKey *key = lfirst(lc);

		if (key->equals == equals && equal(key->expr, expr))
			return true;
	}
	return false;
}

/* Returns true if groups by these keys are whole in a path divided by share_keys. */
static bool
keys_cover(PlannerInfo *root, List *keys, List *share_keys)
{
	ListCell   *lc;

	foreach(lc, share_keys)
	{
		SortGroupClause *key = lfirst_node(SortGroupClause, lc);

		if (!has_key(keys, get_sortgroupclause_expr(key, root->processed_tlist), key->eqop))
			return false;
	}
	return true;
}

/* Translates keys to a subquery's expressions, leaving out keys that are not its columns. */
static List *
keys_in_subquery(const RelOptInfo *rel, List *keys)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, keys)
	{
		const GroupKey *key = lfirst(lc);
		const Var  *var = (const Var *) key->expr;
		TargetEntry *entry;
		GroupKey   *inner;

		if (!IsA(var, Var) || (Index) var->varno != rel->relid || var->varlevelsup != 0)
			continue;
		entry = get_tle_by_resno(rel->subroot->processed_tlist, var->varattno);
		if (entry == NULL || exprCollation((Node *) entry->expr) != var->varcollid)
			continue;
		inner = palloc(sizeof(GroupKey));
		inner->expr = (Node *) entry->expr;
		inner->equals = key->equals;
		result = lappend(result, inner);
	}
	return result;
}

/* Returns true if each participant of a partial path has whole groups by these keys. */
static bool
groups_are_whole(PlannerInfo *root, const Path *path, List *keys)
{
	check_stack_depth();
	switch (nodeTag(path))
	{
		case T_ProjectionPath:
			return groups_are_whole(root, ((const ProjectionPath *) path)->subpath, keys);
		case T_SortPath:
			return groups_are_whole(root, ((const SortPath *) path)->subpath, keys);
		case T_WindowAggPath:
			return groups_are_whole(root, ((const WindowAggPath *) path)->subpath, keys);
		case T_UpperUniquePath:
			return groups_are_whole(root, ((const UpperUniquePath *) path)->subpath, keys);
		case T_AggPath:
			return groups_are_whole(root, ((const AggPath *) path)->subpath, keys);
		case T_SubqueryScanPath:
			return groups_are_whole(path->parent->subroot, ((const SubqueryScanPath *) path)->subpath,
									keys_in_subquery(path->parent, keys));
		case T_CustomPath:
			return keys_of_share_path(path) != NIL && keys_cover(root, keys, keys_of_share_path(path));
		default:
			return false;
	}
}

bool
share_begin_shared(ShareBuild *build, PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, List *keys)
{
	List	   *known = NIL;
	ListCell   *lc;

	if (!gpusort_parallel_windows || !input->consider_parallel || !output_is_safe(root, output))
		return false;
	foreach(lc, keys)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		GroupKey   *key = palloc(sizeof(GroupKey));

		key->expr = get_sortgroupclause_expr(clause, root->processed_tlist);
		key->equals = clause->eqop;
		known = lappend(known, key);
	}
	foreach(lc, input->partial_pathlist)
	{
		Path	   *path = lfirst(lc);

		if (!groups_are_whole(root, path, known))
			continue;
		memset(build, 0, sizeof(ShareBuild));
		build->root = root;
		build->output = output;
		build->input = input->cheapest_total_path;
		build->shared = path;
		build->workers = path->parallel_workers;
		build->divisor = divisor_of(build->workers);
		build->fraction = 1 / build->divisor;
		build->scale = 1;
		return true;
	}
	return false;
}
