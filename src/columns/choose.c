/*
 * choose.c: gpusort_columns_add, gpusort_columns_remove, and what keeps the table of choices.
 *
 * Only a choice's table is written, by its owner's rights; who may choose is decided by the chosen table's owner.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "kernels/gs.h"
#include "src/base/compat.h"
#include "choice.h"
#include "request.h"
#include "shared.h"

PG_FUNCTION_INFO_V1(gpusort_columns_add);
PG_FUNCTION_INFO_V1(gpusort_columns_remove);
PG_FUNCTION_INFO_V1(gpusort_columns_restored);

/* Returns the table of choices. */
static Oid
require_choice_table(void)
{
	Oid			table = choice_table();

	if (!OidIsValid(table))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("this database has no table %s", CHOICE_TABLE),
						errhint("Use ALTER EXTENSION gpusort UPDATE.")));
	return table;
}

/* Returns the owner of a relation. */
static Oid
owner_of(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

/*
 * Executes a statement on the table of choices, in the place of %s, as its owner.  Of its arguments, the first is a
 * relation, the second an array of names, or NULL.  Returns the number of rows.
 */
static uint64
write_choice(const char *statement, int narguments, Oid relation, ArrayType *names)
{
	Oid			table = require_choice_table();
	Oid			types[] = {REGCLASSOID, TEXTARRAYOID};
	Datum		values[] = {ObjectIdGetDatum(relation), PointerGetDatum(names)};
	char		nulls[] = {' ', names == NULL ? 'n' : ' ', '\0'};
	const char *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(table)), CHOICE_TABLE);
	Oid			user;
	int			context;
	uint64		rows;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(owner_of(table), context | SECURITY_LOCAL_USERID_CHANGE);
	SPI_connect();
	if (SPI_execute_with_args(psprintf(statement, name), narguments, types, values, nulls, false, 0) < 0)
		elog(ERROR, "could not write %s", CHOICE_TABLE);
	rows = SPI_processed;
	SPI_finish();
	SetUserIdAndSecContext(user, context);
	return rows;
}

/* Invalidates keepers' lists of choices, and cached plans over the table. */
static void
invalidate(Oid relation)
{
	CacheInvalidateRelcacheByRelid(require_choice_table());
	CacheInvalidateRelcacheByRelid(relation);
}

/* Raises the error of a column that cannot be held. */
static void
refuse_column(Relation rel, const char *name, const char *reason)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("column \"%s\" of \"%s\" cannot be held", name, RelationGetRelationName(rel)),
					errdetail("Reason: %s.", reason),
					errhint("Leave it out of the columns that gpusort_columns_add is given.")));
}

/* Returns the attribute numbers of the columns that are named. */
static Bitmapset *
named_columns(Relation rel, ArrayType *array)
{
	Bitmapset  *columns = NULL;
	Datum	   *names;
	bool	   *nulls;
	int			count;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		char	   *name = nulls[i] ? NULL : TextDatumGetCString(names[i]);
		AttrNumber	number = name ? get_attnum(RelationGetRelid(rel), name) : InvalidAttrNumber;
		ColumnDescription description;
		const char *reason;

		if (name == NULL)
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("a column's name must not be NULL")));
		if (number == InvalidAttrNumber)
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
							errmsg("column \"%s\" of \"%s\" does not exist", name, RelationGetRelationName(rel))));
		reason = number < 0 ? "it is a system column" : column_describe(rel, number, true, &description);
		if (reason != NULL)
			refuse_column(rel, name, reason);
		columns = bms_add_member(columns, number);
	}
	if (columns == NULL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("no column is named"),
						errhint("NULL stands for all columns that can be held.")));
	return columns;
}

/* Returns the attribute numbers of all columns that can be held. */
static Bitmapset *
all_columns(Relation rel)
{
	Bitmapset  *columns = NULL;
	const char *reason = "it has no columns";

	for (AttrNumber number = 1; number <= RelationGetDescr(rel)->natts; number++)
	{
		ColumnDescription description;
		const char *why;

		if (TupleDescAttr(RelationGetDescr(rel), number - 1)->attisdropped)
			continue;
		why = column_describe(rel, number, true, &description);
		if (why == NULL)
			columns = bms_add_member(columns, number);
		else
			reason = why;
	}
	if (columns == NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("no column of \"%s\" can be held", RelationGetRelationName(rel)),
						errdetail("Reason: %s.", reason)));
	return columns;
}

/* Opens a relation whose owner the current user must be. */
static Relation
open_own(Oid relation)
{
	Relation	rel = try_relation_open(relation, AccessShareLock);

	if (rel == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", relation)));
	if (!owns_relation(relation, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(rel->rd_rel->relkind), RelationGetRelationName(rel));
	return rel;
}

/* Raises the error of a relation that a loader would wait for. */
static void
check_lock(Relation rel)
{
	if (CheckRelationLockedByMe(rel, AccessExclusiveLock, false))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("columns of \"%s\" cannot be loaded in a transaction that has locked it",
							   RelationGetRelationName(rel)),
						errhint("Call gpusort_columns_add after the transaction.")));
}

/* Likewise of a partition.  What is new in this transaction no loader sees. */
static void
check_leaves(Oid relation)
{
	ListCell   *lc;

	foreach(lc, choice_leaves(relation))
	{
		Relation	leaf = RelationIdGetRelation(lfirst_oid(lc));

		if (leaf != NULL && leaf->rd_createSubid == InvalidSubTransactionId)
			check_lock(leaf);
		if (leaf != NULL)
			RelationClose(leaf);
	}
}

/* Raises the error of a relation that cannot be held, or that a loader would wait for. */
static void
check_relation(Relation rel)
{
	const char *reason = choice_refused(rel);

	if (reason == NULL && rel->rd_rel->reltuples >= (float4) GS_MAX_ROWS)
		reason = "it has too many rows";
	if (reason != NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("columns of \"%s\" cannot be held", RelationGetRelationName(rel)),
						errdetail("Reason: %s.", reason)));
	check_lock(rel);
	check_leaves(RelationGetRelid(rel));
}

/* gpusort_columns_add(regclass, text[]) */
Datum
gpusort_columns_add(PG_FUNCTION_ARGS)
{
	Oid			relation;
	bool		all = PG_ARGISNULL(1);
	Relation	rel;
	Bitmapset  *columns;
	char	   *name;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	relation = PG_GETARG_OID(0);
	PreventCommandDuringRecovery("gpusort_columns_add()");
	rel = open_own(relation);
	check_relation(rel);
	columns = all ? all_columns(rel) : named_columns(rel, PG_GETARG_ARRAYTYPE_P(1));
	name = pstrdup(RelationGetRelationName(rel));
	/* whoever waits for the table goes first */
	relation_close(rel, AccessShareLock);
	(void) write_choice("DELETE FROM %s c WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class r"
						" WHERE r.oid OPERATOR(pg_catalog.=) c.rel)", 0, relation, NULL);
	(void) write_choice("INSERT INTO %s (rel, columns) VALUES ($1, $2)"
						" ON CONFLICT (rel) DO UPDATE SET columns = excluded.columns",
						2, relation, all ? NULL : PG_GETARG_ARRAYTYPE_P(1));
	invalidate(relation);
	request_columns(relation, name, columns);
	PG_RETURN_VOID();
}

/* gpusort_columns_remove(regclass) */
Datum
gpusort_columns_remove(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	Relation	rel;

	PreventCommandDuringRecovery("gpusort_columns_remove()");
	rel = open_own(relation);
	if (write_choice("DELETE FROM %s WHERE rel OPERATOR(pg_catalog.=) $1", 1, relation, NULL) == 0)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("no columns of \"%s\" were chosen", RelationGetRelationName(rel))));
	invalidate(relation);
	relation_close(rel, NoLock);
	/* one that runs frees what is held, once this transaction has committed */
	(void) columns_demand();
	PG_RETURN_VOID();
}

/*
 * Trigger before rows come into the table of choices.  Rows that a dump brings are accepted from whoever owns that
 * table; others are told to choose again.
 */
Datum
gpusort_columns_restored(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("gpusort_columns_restored() must be called by its trigger")));
	if (owns_relation(RelationGetRelid(trigger->tg_relation), GetUserId()))
		return PointerGetDatum(trigger->tg_trigtuple);
	ereport(WARNING, (errmsg("a choice of columns was not restored"),
					  errhint("Call gpusort_columns_add as the table's owner.")));
	return PointerGetDatum(NULL);
}
