/*
 * columns_leaves.c: the tables that a query over columns reads, and which of them are held.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "utils/lsyscache.h"

#include "src/base/guc.h"
#include "columns_leaves.h"
#include "string_ranks.h"

const char *
leaves_open(Leaves *leaves, Relation table, const List *oids)
{
	ListCell   *lc;

	*leaves = (Leaves) {table, 0, palloc0_array(Leaf, list_length(oids) + 1)};
	if (oids == NIL)
		leaves->list[leaves->count++].rel = table;
	foreach(lc, oids)
	{
		Relation	rel = try_table_open(lfirst_oid(lc), AccessShareLock);

		if (rel == NULL)
			return "a partition is gone";
		leaves->list[leaves->count++].rel = rel;
		if (rel->rd_tableam != GetHeapamTableAmRoutine())
			return "its access method is not heap";
	}
	return leaves->count > 0 ? NULL : "no partition is left";
}

void
leaves_close(const Leaves *leaves)
{
	for (int i = 0; i < leaves->count; i++)
		if (leaves->list[i].rel != leaves->table)
			table_close(leaves->list[i].rel, NoLock);
}

/* Returns a leaf's number of a column of the table. */
static AttrNumber
number_in(const Leaves *leaves, const Leaf *leaf, AttrNumber number)
{
	if (leaf->rel == leaves->table)
		return number;
	return get_attnum(RelationGetRelid(leaf->rel),
					  NameStr(TupleDescAttr(RelationGetDescr(leaves->table), number - 1)->attname));
}

/* Describes a leaf's columns.  Returns NULL, or why the query's are others. */
static const char *
describe_columns(const Leaves *leaves, const ColumnsQuery *query, Leaf *leaf)
{
	for (int i = 0; i < query->ncolumns; i++)
	{
		AttrNumber	number = number_in(leaves, leaf, query->columns[i].number);

		if (column_describe(leaf->rel, number, false, &leaf->columns[i]) != NULL ||
			leaf->columns[i].type != query->columns[i].type || leaf->columns[i].form != query->columns[i].form ||
			(leaf->columns[i].form != COLUMN_CODES && leaf->columns[i].gs != query->columns[i].gs) ||
			column_scale(&leaf->columns[i]) != column_scale(&query->columns[i]))
			return "a partition's column is another one";
	}
	return NULL;
}

/* Finds the query's columns in a leaf's held table.  Without one, its rows come from the table. */
static void
find_columns(const ColumnsQuery *query, Leaf *leaf)
{
	for (int i = 0; leaf->held != NULL && i < query->ncolumns; i++)
	{
		int			index = held_column(leaf->held, leaf->rel, leaf->columns[i].number);

		leaf->indexes[i] = (uint32) index;
		if (index >= 0)
			continue;
		leaf->why = "a column is not held";
		leaf->held = NULL;
	}
}

/* Returns what it costs to count a column's rows; partitions have no codes in common. */
static uint64
counting_cost(const ColumnDescription *column)
{
	return gs_type_width((gs_type) column->gs) + (column->form == COLUMN_CODES ? 100 : 0);
}

bool
leaves_have_strings(const ColumnsQuery *query)
{
	for (int i = 0; i < query->ncolumns; i++)
		if (query->columns[i].form == COLUMN_CODES)
			return true;
	return false;
}

bool
leaves_are_apart(const ColumnsQuery *query)
{
	bool		apart = query->nkeys == 0 && !query->rows && query->nfunctions == 0 && query->ncomputed == 0;

	for (int i = 0; i < query->nrequests; i++)
		apart = apart && query->requests[i].operation <= (int) GS_COUNT && query->requests[i].terms.count == 0;
	for (int i = 0; i < query->ncolumns; i++)
		apart = apart && !OidIsValid(query->ranked[i]);
	return apart;
}

/* Takes the widths of codes from a leaf that is held, for all of them. */
static void
take_widths(const Leaves *leaves, const Leaf *held, ColumnsQuery *query)
{
	for (int i = 0; i < query->ncolumns; i++)
	{
		if (query->columns[i].form != COLUMN_CODES)
			continue;
		query->columns[i].gs = held->held->map.header->columns[held->indexes[i]].gs;
		for (int l = 0; l < leaves->count; l++)
			leaves->list[l].columns[i].gs = query->columns[i].gs;
	}
}

/* Returns the codes of a column before that is the same one of the table, or NULL. */
static StringCodes *
codes_before(const ColumnsQuery *query, int column)
{
	for (int i = 0; i < column; i++)
		if (query->columns[i].number == query->columns[column].number)
			return query->codes[i];
	return NULL;
}

const char *
leaves_begin_codes(const Leaves *leaves, const Leaf *held, ServiceLink *link, ColumnsQuery *query)
{
	const char *why = NULL;

	take_widths(leaves, held, query);
	for (int i = 0; i < query->ncolumns && why == NULL; i++)
	{
		DictionaryFile *file;

		query->codes[i] = NULL;
		if (query->columns[i].form != COLUMN_CODES)
			continue;
		if (query->columns[i].gs != GS_U8 && query->columns[i].gs != GS_U16 && query->columns[i].gs != GS_U32)
			return "its map is not readable";
		file = held_dictionary(link, held->held, (int) held->indexes[i], &why);
		if (file == NULL)
			break;
		query->codes[i] = codes_before(query, i);
		if (query->codes[i] != NULL)
			continue;
		query->codes[i] = palloc(sizeof(StringCodes));
		codes_begin(query->codes[i], file, (gs_type) query->columns[i].gs,
					gpusort_memory_limit(), false);
	}
	return why;
}

bool
leaves_codes_sound(const ColumnsQuery *query)
{
	for (int i = 0; i < query->ncolumns; i++)
		if (query->codes[i] != NULL && !codes_sound(query->codes[i]))
			return false;
	return true;
}

/* Returns true if a table lies on a device. */
static bool
is_on_device(ServiceLink *link, const Leaf *leaf)
{
	StoreInfo	info;
	EngineFailure failure;

	return store_info(link, RelationGetRelid(leaf->rel), &info, &failure) && info.device >= 0;
}

const char *
leaves_rank_codes(const Leaf *held, ServiceLink *link, ColumnsQuery *query)
{
	const char *why = NULL;

	for (int i = 0; i < query->ncolumns && why == NULL; i++)
	{
		if (!OidIsValid(query->ranked[i]) && query->mapped[i] == NULL)
			continue;
		if (is_on_device(link, held))
			return "it needs the order of strings, or functions of them, and they lie on a device";
		if (query->mapped[i] != NULL)
			continue;
		why = ranks_make(query->codes[i], &query->columns[i], query->ranked[i],
						 &held->held->dictionaries->orders[held->indexes[i]]);
	}
	return why;
}

/*
 * Chooses a column for a query that needs none, since the service counts rows of columns: the narrowest one that the
 * leaf's table holds.
 */
static void
choose_column(const Leaves *leaves, const Leaf *leaf, ColumnsQuery *query)
{
	const PageMapHeader *header = leaf->held->map.header;
	const ColumnDescription *best = NULL;

	for (uint32 i = 0; i < header->ncolumns; i++)
		if (held_column(leaf->held, leaf->rel, header->columns[i].number) >= 0 &&
			(best == NULL || counting_cost(&header->columns[i]) < counting_cost(best)))
			best = &header->columns[i];
	if (best == NULL)
		return;
	query->columns[0] = *best;
	query->ncolumns = 1;
	if (leaf->rel != leaves->table)
		query->columns[0].number = get_attnum(RelationGetRelid(leaves->table),
											  NameStr(TupleDescAttr(RelationGetDescr(leaf->rel),
																	best->number - 1)->attname));
}

const char *
leaves_find_held(Leaves *leaves, ServiceLink *link, ColumnsQuery *query)
{
	const char *why = NULL;
	int			nheld = 0;

	for (int i = 0; i < leaves->count; i++)
	{
		Leaf	   *leaf = &leaves->list[i];

		leaf->why = proof_refused_relation(leaf->rel);
		if (leaf->why == NULL)
			leaf->held = held_table(link, leaf->rel, &leaf->why);
		if (leaf->held != NULL && query->ncolumns == 0)
			choose_column(leaves, leaf, query);
	}
	if (query->ncolumns == 0)
		return leaves->list[0].why != NULL ? leaves->list[0].why : "a column is not held";
	for (int i = 0; i < leaves->count; i++)
	{
		Leaf	   *leaf = &leaves->list[i];

		if (why == NULL)
			why = describe_columns(leaves, query, leaf);
		if (why != NULL)
			return why;
		find_columns(query, leaf);
		nheld += leaf->held != NULL;
	}
	if (leaves->count > 1 && query->positions)
		return "rows of several partitions have no order";
	if (nheld > 1 && leaves_have_strings(query) && !leaves_are_apart(query))
		return "partitions have strings in different dictionaries";
	return nheld > 0 ? NULL : leaves->list[0].why;
}
