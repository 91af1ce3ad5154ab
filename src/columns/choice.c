/*
 * choice.c: which tables and columns users have chosen: rows of gpusort_columns_choice.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "nodes/value.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "src/base/compat.h"
#include "choice.h"
#include "proof.h"

/* Attributes of the table of choices. */
#define CHOICE_REL 1
#define CHOICE_COLUMNS 2

/* Returns the schema of the extension. */
static Oid
extension_namespace(Oid extension)
{
	Relation	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			result = InvalidOid;

	ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(extension));
	scan = systable_beginscan(rel, ExtensionOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		result = ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace;
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

Oid
choice_table(void)
{
	Oid			extension = get_extension_oid("gpusort", true);

	if (!OidIsValid(extension))
		return InvalidOid;
	return get_relname_relid(CHOICE_TABLE, extension_namespace(extension));
}

/* Returns the names in an array of text. */
static List *
names_of(Datum array)
{
	List	   *names = NIL;
	Datum	   *values;
	bool	   *nulls;
	int			count;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
	for (int i = 0; i < count; i++)
		if (!nulls[i])
			names = lappend(names, makeString(TextDatumGetCString(values[i])));
	return names;
}

List *
choice_read(Oid table)
{
	Relation	rel = table_open(table, NoLock);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TableScanDesc scan = table_beginscan_strat(rel, snapshot, 0, NULL, true, false);
	HeapTuple	tuple;
	List	   *choices = NIL;

	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		ColumnsChoice *choice = palloc0(sizeof(ColumnsChoice));
		bool		isnull;
		Datum		columns = heap_getattr(tuple, CHOICE_COLUMNS, RelationGetDescr(rel), &isnull);

		choice->all = isnull;
		if (!isnull)
			choice->names = names_of(columns);
		choice->relation = DatumGetObjectId(heap_getattr(tuple, CHOICE_REL, RelationGetDescr(rel), &isnull));
		choices = lappend(choices, choice);
	}
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	table_close(rel, NoLock);
	return choices;
}

List *
choice_leaves(Oid relation)
{
	List	   *leaves = NIL;
	ListCell   *lc;

	if (get_rel_relkind(relation) != RELKIND_PARTITIONED_TABLE)
		return get_rel_relkind(relation) == '\0' ? NIL : list_make1_oid(relation);
	foreach(lc, find_all_inheritors(relation, NoLock, NULL))
		if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_RELATION)
			leaves = lappend_oid(leaves, lfirst_oid(lc));
	return leaves;
}

/* Returns true if a choice names a column. */
static bool
is_chosen(const ColumnsChoice *choice, const char *name)
{
	ListCell   *lc;

	foreach(lc, choice->names)
		if (strcmp(strVal(lfirst(lc)), name) == 0)
			return true;
	return choice->all;
}

int
choice_columns(Relation rel, const ColumnsChoice *choice, ColumnDescription **columns)
{
	TupleDesc	desc = RelationGetDescr(rel);
	int			count = 0;

	*columns = palloc_array(ColumnDescription, desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (!attribute->attisdropped && is_chosen(choice, NameStr(attribute->attname)) &&
			column_describe(rel, attribute->attnum, false, &(*columns)[count]) == NULL)
			count++;
	}
	return count;
}

const char *
choice_refused(Relation rel)
{
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return NULL;
	return proof_refused_relation(rel);
}
