/*
 * plan_elsewhere.c: detects queries that may run where gpusort's aggregates are unknown: on foreign servers, or on
 * Citus's nodes, to which it splits aggregates.  The queries it sends read shards, which are ordinary tables.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "access/genam.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace_d.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "src/base/compat.h"
#include "plan_elsewhere.h"

/* Citus' catalog of distributed tables, with an index on its first column. */
#define CITUS_TABLES "pg_dist_partition"
#define CITUS_TABLES_INDEX "pg_dist_partition_logical_relid_index"
#define CITUS_TABLES_RELATION 1

/* Returns true if Citus is loaded.  Its parameters alone do not prove it. */
static bool
citus_is_loaded(void)
{
	const char *parameter = "citus.shard_count";

	return GetConfigOption(parameter, true, false) != NULL &&
		(GetConfigOptionFlags(parameter, true) & GUC_CUSTOM_PLACEHOLDER) == 0;
}

/* Returns true if a function is in a library of Citus. */
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

/* Citus and its columnar storage use this hook and must be loaded first: auditing modules' hooks come before theirs. */
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

/* Returns true if Citus has distributed this relation. */
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

/* Returns true if a query aggregates only a partitioned table, not by its partition key: values are combined here. */
static bool
groups_across_partitions(Query *query, Index varno, Oid relid)
{
	List	   *from = query->jointree->fromlist;
	Bitmapset  *columns = NULL;
	Relation	rel;
	PartitionKey key;
	bool		result = false;

	if (!query->hasAggs || list_length(from) != 1 || !IsA(linitial(from), RangeTblRef) ||
		linitial_node(RangeTblRef, from)->rtindex != (int) varno)
		return false;
	pull_varattnos((Node *) group_expressions(query), varno, &columns);
	if (bms_is_member(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber, columns))
		return false;
	rel = table_open(relid, NoLock);
	key = RelationGetPartitionKey(rel);
	for (int i = 0; i < key->partnatts; i++)
		result |= key->partattrs[i] != 0 &&
			!bms_is_member(key->partattrs[i] - FirstLowInvalidHeapAttributeNumber, columns);
	table_close(rel, NoLock);
	return result;
}

/* Returns true if a relation is stored where the server's aggregates may be computed but gpusort's may not. */
static bool
is_foreign(Query *query, Index varno)
{
	const RangeTblEntry *entry = rt_fetch(varno, query->rtable);
	List	   *children;
	ListCell   *lc;

	if (entry->relkind != RELKIND_PARTITIONED_TABLE || !enable_partitionwise_aggregate)
		return entry->relkind == RELKIND_FOREIGN_TABLE;
	if (groups_across_partitions(query, varno, entry->relid))
		return false;
	children = find_all_inheritors(entry->relid, NoLock, NULL);
	foreach(lc, children)
	{
		if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_FOREIGN_TABLE)
			return true;
	}
	return false;
}

/* Walker: looks for such relations in a query and its subqueries.  context is the OID of Citus' catalog, if any. */
static bool
look_elsewhere(Node *node, void *context)
{
	Oid			tables = *(Oid *) context;
	Query	   *query = (Query *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, look_elsewhere, context);
	for (int i = 1; i <= list_length(query->rtable); i++)
	{
		const RangeTblEntry *entry = rt_fetch(i, query->rtable);

		if (entry->rtekind == RTE_RELATION &&
			(is_foreign(query, (Index) i) || (OidIsValid(tables) && is_distributed(tables, entry->relid))))
			return true;
	}
	return query_tree_walker(query, look_elsewhere, context, 0);
}

bool
is_computed_elsewhere(Query *query)
{
	Oid			tables = get_relname_relid(CITUS_TABLES, PG_CATALOG_NAMESPACE);

	return look_elsewhere((Node *) query, &tables);
}
