/*
 * plan_citus.c: what has to be known of Citus.
 *
 * It knows how to split PostgreSQL's aggregates between its nodes, and nothing of ours.  So a query of tables that it
 * has distributed is left to it.  What it then asks of a node is a query of shards, which are tables like others.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "access/genam.h"
#include "access/table.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_namespace_d.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "src/compat.h"
#include "plan_aggregates.h"

/* Where Citus says which tables are distributed, and the first column of that, which is indexed. */
#define CITUS_TABLES "pg_dist_partition"
#define CITUS_TABLES_INDEX "pg_dist_partition_logical_relid_index"
#define CITUS_TABLES_RELATION 1

/* Is Citus in this server?  Somebody may have set its parameters without it. */
static bool
citus_is_loaded(void)
{
	const char *parameter = "citus.shard_count";

	return GetConfigOption(parameter, true, false) != NULL &&
		(GetConfigOptionFlags(parameter, true) & GUC_CUSTOM_PLACEHOLDER) == 0;
}

/* Does a function lie in a library of Citus'? */
static bool
is_of_citus(void *function)
{
	Dl_info		info;
	const char *name;

	if (dladdr(function, &info) == 0 || info.dli_fname == NULL)
		return false;
	name = strrchr(info.dli_fname, '/');
	name = name ? name + 1 : info.dli_fname;
	return strcmp(name, "citus.so") == 0 || strcmp(name, "citus_columnar.so") == 0;
}

/*
 * Citus and its columnar storage look at extensions that are made and tables that are dropped.  They have to be loaded
 * before all others, so that whoever watches functions stands before them.
 */
bool
functions_are_watched(void)
{
	static object_access_hook_type known = NULL;

	if (object_access_hook == NULL || object_access_hook == known)
		return false;
	if (!is_of_citus((void *) object_access_hook) || !citus_is_loaded())
		return true;
	known = object_access_hook;
	return false;
}

/* Has Citus distributed this relation? */
static bool
is_distributed(Oid tables, Oid relation)
{
	Relation	rel = table_open(tables, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	bool		found;

	ScanKeyInit(&key, CITUS_TABLES_RELATION, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
	scan = systable_beginscan(rel, get_relname_relid(CITUS_TABLES_INDEX, PG_CATALOG_NAMESPACE), true, NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/* Looks for such a relation in a query and all those in it; context is the OID of the table that says it. */
static bool
look_for_distributed(Node *node, void *context)
{
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, look_for_distributed, context);
	foreach(lc, ((Query *) node)->rtable)
	{
		const RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		if (entry->rtekind == RTE_RELATION && is_distributed(*(Oid *) context, entry->relid))
			return true;
	}
	return query_tree_walker((Query *) node, look_for_distributed, context, 0);
}

bool
is_planned_by_citus(Query *query)
{
	Oid			tables = get_relname_relid(CITUS_TABLES, PG_CATALOG_NAMESPACE);

	return OidIsValid(tables) && look_for_distributed((Node *) query, &tables);
}
