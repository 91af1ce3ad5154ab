/*
 * compat.h: all differences between PostgreSQL 15 and 19.
 */
#ifndef GPUSORT_COMPAT_H
#define GPUSORT_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "gpusort needs PostgreSQL 15 or later"
#endif
#if SIZEOF_VOID_P < 8
#error "gpusort needs a 64-bit server"
#endif

#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

/* 16 moved variable-length datums out of postgres.h */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* 18 moved the printing functions and ExplainState out of commands/explain.h */
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/* range table entries that EXPLAIN counts, without the one that 18 adds for groups */
#if PG_VERSION_NUM >= 180000
#define explain_rtable_size(es)	((es)->rtable_size)
#else
#define explain_rtable_size(es)	list_length((es)->rtable)
#endif

/* 19 passes planners the EXPLAIN that they plan for */
#if PG_VERSION_NUM >= 190000
#define PLANNER_PARAMETERS \
	Query *parse, const char *query_string, int cursor_options, ParamListInfo params, struct ExplainState *explain
#define PLANNER_ARGUMENTS	parse, query_string, cursor_options, params, explain
#else
#define PLANNER_PARAMETERS	Query *parse, const char *query_string, int cursor_options, ParamListInfo params
#define PLANNER_ARGUMENTS	parse, query_string, cursor_options, params
#endif

/* 18 dropped a parameter of ExecutorRun */
#if PG_VERSION_NUM >= 180000
#define EXECUTOR_RUN_PARAMETERS	QueryDesc *query, ScanDirection direction, uint64 count
#define EXECUTOR_RUN_ARGUMENTS	query, direction, count
#else
#define EXECUTOR_RUN_PARAMETERS	QueryDesc *query, ScanDirection direction, uint64 count, bool once
#define EXECUTOR_RUN_ARGUMENTS	query, direction, count, once
#endif

/* a node's timing and whether it is measured; 19 keeps clock ticks, in a nested struct */
#if PG_VERSION_NUM >= 190000
#define instrument_ms(instrument)		INSTR_TIME_GET_MILLISEC((instrument)->instr.total)
#define instrument_timed(instrument)	((instrument)->instr.need_timer)
#else
#define instrument_ms(instrument)		((instrument)->total * 1000.0)
#define instrument_timed(instrument)	((instrument)->need_timer)
#endif

/* before 18 the attribute had another name and followed a declaration */
#if PG_VERSION_NUM < 180000
#define pg_noreturn _Noreturn
#endif

/* 19 has one kind of Unique left, under the shorter name */
#if PG_VERSION_NUM >= 190000
#define UpperUniquePath				UniquePath
#define T_UpperUniquePath			T_UniquePath
#define create_upper_unique_path	create_unique_path
#endif

/* 19 has IGNORE NULLS, which each window function must reject unless it supports it */
#if PG_VERSION_NUM >= 190000
#define refuse_null_treatment(window, fcinfo) WinCheckAndInitializeNullTreatment(window, false, fcinfo)
#else
#define refuse_null_treatment(window, fcinfo) ((void) 0)
#endif

/* 18 can reserve room before the tuple */
#if PG_VERSION_NUM >= 180000
#define copy_tuple_minimal(tuple) heap_copy_minimal_tuple(tuple, 0)
#else
#define copy_tuple_minimal(tuple) heap_copy_minimal_tuple(tuple)
#endif

/* Looks up family, input type and direction of an ordering operator.  18 has a new representation of directions. */
static inline bool
ordering_op_properties(Oid op, Oid *opfamily, Oid *opcintype, bool *desc)
{
#if PG_VERSION_NUM >= 180000
	CompareType direction;

	if (!get_ordering_op_properties(op, opfamily, opcintype, &direction))
		return false;
	*desc = direction == COMPARE_GT;
#else
	int16		strategy;

	if (!get_ordering_op_properties(op, opfamily, opcintype, &strategy))
		return false;
	*desc = strategy == BTGreaterStrategyNumber;
#endif
	return true;
}

/* Returns the number of disabled nodes of a path.  Before 18 disabled nodes have disable_cost added instead. */
static inline int
disabled_nodes(const Path *path)
{
#if PG_VERSION_NUM >= 180000
	return path->disabled_nodes;
#else
	return 0;
#endif
}

/* Adds disabled nodes.  Before 18 there is nothing to count. */
static inline void
add_disabled_nodes(Path *path, int count)
{
#if PG_VERSION_NUM >= 180000
	path->disabled_nodes += count;
#endif
}

/* Returns the custom_plans of a CustomScan whose only child is its lefttree, where EXPLAIN counts disabled nodes. */
static inline List *
children_for_explain(const Plan *child)
{
#if PG_VERSION_NUM >= 180000
	if (child->disabled_nodes > 0)
	{
		Result	   *stand_in = makeNode(Result);

		stand_in->plan.disabled_nodes = child->disabled_nodes;
		return list_make1(stand_in);
	}
#endif
	return NIL;
}

/* Returns the ordering operator of a pathkey for a type, or InvalidOid if its family has none. */
static inline Oid
pathkey_operator(const PathKey *pathkey, Oid type)
{
#if PG_VERSION_NUM >= 180000
	return get_opfamily_member_for_cmptype(pathkey->pk_opfamily, type, type, pathkey->pk_cmptype);
#else
	return get_opfamily_member(pathkey->pk_opfamily, type, type, pathkey->pk_strategy);
#endif
}

/* Returns true if a pathkey's values descend. */
static inline bool
pathkey_descends(const PathKey *pathkey)
{
#if PG_VERSION_NUM >= 180000
	return pathkey->pk_cmptype == COMPARE_GT;
#else
	return pathkey->pk_strategy == BTGreaterStrategyNumber;
#endif
}

/* 16 plans sorts below aggregates that have ORDER BY or DISTINCT, unless that is disabled */
#if PG_VERSION_NUM >= 160000
#include "optimizer/cost.h"
#define aggregates_are_presorted	true
#define server_presorts_aggregates	enable_presorted_aggregate
#else
#define aggregates_are_presorted	false
#define server_presorts_aggregates	false
#endif

/* Returns true if an aggregate's input arrives sorted.  Before 16 the aggregate always sorts itself. */
static inline bool
aggregate_is_presorted(const Aggref *aggregate)
{
#if PG_VERSION_NUM >= 160000
	return aggregate->aggpresorted;
#else
	return false;
#endif
}

/* Returns an aggregate of the query, of those that the planner treats as equal. */
static inline const Aggref *
aggregate_of_info(const AggInfo *info)
{
#if PG_VERSION_NUM >= 160000
	return linitial_node(Aggref, info->aggrefs);
#else
	return info->representative_aggref;
#endif
}

/* Catalog attributes of ICU locales and rules.  16 added rules, 17 renamed attributes. */
#if PG_VERSION_NUM >= 170000
#define ATTRIBUTE_OF_DATABASE_ICU_LOCALE	Anum_pg_database_datlocale
#define ATTRIBUTE_OF_COLLATION_ICU_LOCALE	Anum_pg_collation_colllocale
#else
#define ATTRIBUTE_OF_DATABASE_ICU_LOCALE	Anum_pg_database_daticulocale
#define ATTRIBUTE_OF_COLLATION_ICU_LOCALE	Anum_pg_collation_colliculocale
#endif
#if PG_VERSION_NUM >= 160000
#define ATTRIBUTE_OF_DATABASE_ICU_RULES		Anum_pg_database_daticurules
#define ATTRIBUTE_OF_COLLATION_ICU_RULES	Anum_pg_collation_collicurules
#else
#define ATTRIBUTE_OF_DATABASE_ICU_RULES		0
#define ATTRIBUTE_OF_COLLATION_ICU_RULES	0
#endif

/* a provider that 17 added */
#if PG_VERSION_NUM < 170000
#define COLLPROVIDER_BUILTIN	'b'
#endif

/* Finishes a tuple descriptor that was filled in column by column, as 19 requires. */
#if PG_VERSION_NUM >= 190000
#define finish_descriptor(desc) TupleDescFinalize(desc)
#else
#define finish_descriptor(desc) ((void) (desc))
#endif

/* Counts tuples returned by a table scan. */
#if PG_VERSION_NUM >= 160000
#define count_heap_tuples(rel, n) \
	do { if (pgstat_should_count_relation(rel)) (rel)->pgstat_info->counts.tuples_returned += (n); } while (0)
#else
#define count_heap_tuples(rel, n) \
	do { if (pgstat_should_count_relation(rel)) (rel)->pgstat_info->t_counts.t_tuples_returned += (n); } while (0)
#endif

/* 17 takes a resource owner for wait event sets; the callers here free their own */
#if PG_VERSION_NUM >= 170000
#define compat_wait_event_set(nevents) CreateWaitEventSet(NULL, nevents)
#else
#define compat_wait_event_set(nevents) CreateWaitEventSet(CurrentMemoryContext, nevents)
#endif

/* 17 supports named wait events; before, all show as "Extension" */
#if PG_VERSION_NUM >= 170000
#define compat_wait_event(name) WaitEventExtensionNew(name)
#else
#define compat_wait_event(name) ((void) (name), PG_WAIT_EXTENSION)
#endif

/* Whether a Merge Append prunes children at run time.  18 keeps that in the statement. */
#if PG_VERSION_NUM >= 180000
#define prunes_at_run_time(append) ((append)->part_prune_index >= 0)
#else
#define prunes_at_run_time(append) ((append)->part_prune_info != NULL)
#endif

/* A query's grouping expressions before planning.  18 keeps them in its range table. */
#if PG_VERSION_NUM >= 180000
static inline List *
group_expressions(const Query *query)
{
	ListCell   *lc;

	foreach(lc, query->rtable)
		if (lfirst_node(RangeTblEntry, lc)->rtekind == RTE_GROUP)
			return lfirst_node(RangeTblEntry, lc)->groupexprs;
	return NIL;
}
#else
#define group_expressions(query) get_sortgrouplist_exprs((query)->groupClause, (query)->targetList)
#endif

/* The clauses of GROUP BY and DISTINCT that are planned.  16 leaves out those that others determine. */
#if PG_VERSION_NUM >= 160000
#define planned_group_clause(root)	((root)->processed_groupClause)
#define planned_distinct_clause(root)	((root)->processed_distinctClause)
#else
#define planned_group_clause(root)	((root)->parse->groupClause)
#define planned_distinct_clause(root)	((root)->parse->distinctClause)
#endif

/* 19 has IGNORE NULLS */
#if PG_VERSION_NUM >= 190000
#define ignores_nulls(window) ((window)->ignore_nulls != NO_NULLTREATMENT)
#else
#define ignores_nulls(window) (false)
#endif

/*
 * The conditions above a query that end its windows, and which nobody else tests: 15 and 16 keep them with the windows,
 * 17 with their functions.
 */
static inline List *
window_run_conditions(const PlannerInfo *root)
{
	List	   *conditions = NIL;
	ListCell   *lc;

#if PG_VERSION_NUM >= 170000
	List	   *functions = pull_var_clause((Node *) root->processed_tlist,
											PVC_INCLUDE_AGGREGATES | PVC_INCLUDE_WINDOWFUNCS |
											PVC_INCLUDE_PLACEHOLDERS);

	foreach(lc, functions)
	{
		WindowFunc *function = lfirst(lc);
		ListCell   *condition;

		if (!IsA(function, WindowFunc))
			continue;
		foreach(condition, function->runCondition)
		{
			WindowFuncRunCondition *run = lfirst(condition);
			Expr	   *left = run->wfunc_left ? (Expr *) function : run->arg;
			Expr	   *right = run->wfunc_left ? run->arg : (Expr *) function;

			conditions = lappend(conditions, make_opclause(run->opno, BOOLOID, false, left, right, InvalidOid,
														   run->inputcollid));
		}
	}
#else
	foreach(lc, root->parse->windowClause)
		conditions = list_concat(conditions, lfirst_node(WindowClause, lc)->runCondition);
#endif
	return conditions;
}

/* 18 has generated columns that are not stored */
#if PG_VERSION_NUM >= 180000
#define is_virtual_generated(attribute) ((attribute)->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
#else
#define is_virtual_generated(attribute) (false)
#endif

/* Where a relation's files are.  16 renamed the parts. */
#if PG_VERSION_NUM >= 160000
#define relation_locator(rel)		((rel)->rd_locator)
#define relation_filenode(rel)		((rel)->rd_locator.relNumber)
#define relation_tablespace(rel)	((rel)->rd_locator.spcOid)
#define relation_new_filenode_subid(rel)	((rel)->rd_newRelfilelocatorSubid)
#define relation_first_filenode_subid(rel)	((rel)->rd_firstRelfilelocatorSubid)
#else
#define relation_locator(rel)		((rel)->rd_node)
#define relation_filenode(rel)		((rel)->rd_node.relNode)
#define relation_tablespace(rel)	((rel)->rd_node.spcNode)
#define relation_new_filenode_subid(rel)	((rel)->rd_newRelfilenodeSubid)
#define relation_first_filenode_subid(rel)	((rel)->rd_firstRelfilenodeSubid)
#endif

/* Whether snapshots may be older than the horizon, a setting that 17 removed. */
#if PG_VERSION_NUM >= 170000
#define old_snapshots_possible()	(false)
#else
#define old_snapshots_possible()	(old_snapshot_threshold >= 0)
#endif

/* The hook that sees each relation when it is planned.  19 replaced it by one that gets the range table's entry. */
#if PG_VERSION_NUM >= 190000
#include "optimizer/pathnode.h"
#define relation_planned_hook		build_simple_rel_hook
#define relation_planned_hook_type	build_simple_rel_hook_type
#define RELATION_PLANNED_PARAMETERS	PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define RELATION_PLANNED_ARGUMENTS	root, rel, rte
#define RELATION_PLANNED_OID		((rte)->relid)
#define RELATION_PLANNED_INHERITS	((rte)->inh)
#else
#include "optimizer/plancat.h"
#define relation_planned_hook		get_relation_info_hook
#define relation_planned_hook_type	get_relation_info_hook_type
#define RELATION_PLANNED_PARAMETERS	PlannerInfo *root, Oid relation, bool inherits, RelOptInfo *rel
#define RELATION_PLANNED_ARGUMENTS	root, relation, inherits, rel
#define RELATION_PLANNED_OID		(relation)
#define RELATION_PLANNED_INHERITS	(inherits)
#endif

/* Attaches to a parallel scan, for which 19 takes options. */
#if PG_VERSION_NUM >= 190000
#define begin_parallel_scan(rel, shared)	table_beginscan_parallel(rel, shared, 0)
#else
#define begin_parallel_scan(rel, shared)	table_beginscan_parallel(rel, shared)
#endif

/* Returns true if a role owns a relation, or may act as its owner. */
#if PG_VERSION_NUM >= 160000
#define owns_relation(relation, role)	object_ownercheck(RelationRelationId, relation, role)
#else
#define owns_relation(relation, role)	pg_class_ownercheck(relation, role)
#endif

#endif
