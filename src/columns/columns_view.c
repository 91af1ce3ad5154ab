/*
 * columns_view.c: the function behind the view gpusort_columns.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "funcapi.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "src/base/compat.h"
#include "choice.h"
#include "codes.h"
#include "held_tables.h"
#include "page_map.h"
#include "store.h"

PG_FUNCTION_INFO_V1(gpusort_columns_get);

#define VIEW_COLUMNS 14

/* What is known of a table. */
typedef struct TableState
{
	Relation	rel;
	ServiceLink *link;
	bool		held;			/* by the service */
	bool		details;		/* the user may see all */
	StoreInfo	info;
	PageMapHeader *header;		/* a copy of the map's; NULL: not held */
	BlockNumber pages;
} TableState;

/* Returns why a column of a table is not held, or NULL. */
static const char *
limit_text(const TableState *table, const ColumnDescription *column)
{
	switch (table->header != NULL ? (ColumnLimit) table->header->limits[column->number - 1] : LIMIT_NONE)
	{
		case LIMIT_VALUES:
			return "it has different values in more than half of the rows";
		case LIMIT_MEMORY:
			return "gpusort.columns_memory is used up";
		default:
			return NULL;
	}
}

/* Returns the state of a column, as text. */
static const char *
state_text(const TableState *table, const ColumnDescription *column)
{
	if (limit_text(table, column) != NULL)
		return "not held";
	if (RecoveryInProgress())
		return "standby";
	if (table->header == NULL)
		return "pending";
	switch ((PageMapState) table->header->state)
	{
		case PAGE_MAP_READY:
			return "ready";
		case PAGE_MAP_NO_MEMORY:
			return "out of memory";
		case PAGE_MAP_DROPPED:
			return "pending";
		default:
			return "loading";
	}
}

/* Returns the form of a column, as text. */
static const char *
encoding_text(const ColumnDescription *column)
{
	switch ((ColumnForm) column->form)
	{
		case COLUMN_SCALED_64:
			return "scaled to 8 bytes";
		case COLUMN_SCALED_128:
			return "scaled to 16 bytes";
		case COLUMN_CODES:
			return psprintf("dictionary, codes of %d bits", 8 * (int) gs_type_width((gs_type) column->gs));
		default:
			return "as is";
	}
}

/* Returns the column as it is held, or else the one that was chosen. */
static const ColumnDescription *
held_form(const TableState *table, const ColumnDescription *column, int *index)
{
	for (*index = 0; table->header != NULL && *index < (int) table->header->ncolumns; (*index)++)
		if (column_same(&table->header->columns[*index], column))
			return &table->header->columns[*index];
	*index = -1;
	return column;
}

/* Looks at a column's dictionary.  Returns false if there is none. */
static bool
dictionary_figures(const TableState *table, int index, int64 *entries, int64 *bytes)
{
	DictionaryMaps *maps;
	const DictionaryFile *file;
	EngineFailure why;

	if (index < 0 || !table->held || table->header->columns[index].form != COLUMN_CODES)
		return false;
	maps = palloc0(sizeof(DictionaryMaps));
	file = dictionary_map(maps, table->link, table->info.table, (uint32) index, &why);
	if (file != NULL)
	{
		*entries = dictionary_count(file);
		*bytes = (int64) dictionary_bytes(file);
	}
	dictionary_unmap(maps);
	pfree(maps);
	return file != NULL;
}

/* Emits a row. */
static void
put_column(ReturnSetInfo *result, const TableState *table, const ColumnDescription *chosen)
{
	Datum		values[VIEW_COLUMNS] = {0};
	bool		nulls[VIEW_COLUMNS] = {false};
	const PageMapHeader *header = table->header;
	int64		entries = 0;
	int64		bytes = 0;
	int			index;
	const ColumnDescription *column = held_form(table, chosen, &index);
	const char *limit = limit_text(table, column);
	bool		dictionary = dictionary_figures(table, index, &entries, &bytes);

	values[0] = ObjectIdGetDatum(RelationGetRelid(table->rel));
	values[1] = NameGetDatum(&TupleDescAttr(RelationGetDescr(table->rel), column->number - 1)->attname);
	nulls[2] = limit != NULL;
	values[2] = CStringGetTextDatum(encoding_text(column));
	nulls[3] = !dictionary || !table->details;
	values[3] = Int64GetDatum(entries);
	if (table->held && limit == NULL)
		bytes += (int64) (table->info.rows * gs_type_width((gs_type) column->gs));
	values[4] = Int64GetDatum(bytes);
	values[5] = CStringGetTextDatum(state_text(table, column));
	values[6] = Int64GetDatum(table->pages);
	values[7] = Int64GetDatum(header ? header->held : 0);
	values[8] = Int64GetDatum(header ? header->nyoung : 0);
	values[9] = Int64GetDatum(header ? header->changed : table->pages);
	values[10] = Int64GetDatum(table->held ? (int64) table->info.queries : 0);
	values[11] = Int64GetDatum(table->held ? (int64) table->info.refused : 0);
	nulls[12] = header == NULL || header->ready_since == 0;
	values[12] = nulls[12] ? 0 : TimestampTzGetDatum(header->ready_since);
	if (limit == NULL && table->held && table->info.reason[0] != '\0')
		limit = table->info.reason;
	nulls[13] = !table->details || limit == NULL;
	if (!nulls[13])
		values[13] = CStringGetTextDatum(limit);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Returns true if the user may read a column. */
static bool
may_read(Oid relation, AttrNumber number)
{
	return pg_class_aclcheck(relation, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck(relation, number, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
}

/* Copies the header of a table's map. */
static PageMapHeader *
copy_header(ServiceLink *link, Oid relation)
{
	EngineFailure why;
	uint64		number;
	PageMap		map = {.fd = -1};
	PageMapHeader *copy;

	if (!held_map(link, relation, &number, &map, &why) || map.header == NULL)
		return NULL;
	copy = palloc(sizeof(*copy));
	memcpy(copy, map.header, sizeof(*copy));
	page_map_detach(&map);
	return copy;
}

/* Emits the rows of a table. */
static void
put_table(ReturnSetInfo *result, ServiceLink *link, const ColumnsChoice *choice, Relation rel)
{
	TableState	table = {.rel = rel, .link = link};
	ColumnDescription *columns;
	int			ncolumns = choice_columns(rel, choice, &columns);
	EngineFailure why;

	table.pages = RelationGetNumberOfBlocks(rel);
	table.details = owns_relation(RelationGetRelid(rel), GetUserId()) ||
		has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
	if (link != NULL)
	{
		table.header = copy_header(link, RelationGetRelid(rel));
		table.held = store_info(link, RelationGetRelid(rel), &table.info, &why) && table.info.table != 0;
	}
	for (int i = 0; i < ncolumns; i++)
		if (may_read(RelationGetRelid(rel), columns[i].number))
			put_column(result, &table, &columns[i]);
}

/* Emits the rows of all chosen tables. */
static void
put_choices(ReturnSetInfo *result, ServiceLink *link, const List *chosen)
{
	ListCell   *lc;
	ListCell   *leaf;

	foreach(lc, chosen)
	{
		const ColumnsChoice *choice = lfirst(lc);

		foreach(leaf, choice_leaves(choice->relation))
		{
			Relation	rel = try_relation_open(lfirst_oid(leaf), AccessShareLock);

			if (rel == NULL)
				continue;
			put_table(result, link, choice, rel);
			relation_close(rel, AccessShareLock);
		}
	}
}

/* gpusort_columns: a row for each chosen column of each table. */
Datum
gpusort_columns_get(PG_FUNCTION_ARGS)
{
	Oid			choices = choice_table();
	ServiceLink *link = NULL;
	EngineFailure why;
	List	   *chosen = NIL;

	InitMaterializedSRF(fcinfo, 0);
	if (OidIsValid(choices))
	{
		LockRelationOid(choices, AccessShareLock);
		chosen = choice_read(choices);
	}
	if (chosen != NIL)
		link = store_open(&why);
	PG_TRY();
	{
		put_choices((ReturnSetInfo *) fcinfo->resultinfo, link, chosen);
	}
	PG_CATCH();
	{
		if (link != NULL)
			store_close(link);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (link != NULL)
		store_park(link);
	return (Datum) 0;
}
