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
	for (int i = 0; i < query->ncomputed; i++)
		if (query->columns[QUERY_GIVEN + i].form == COLUMN_CODES)
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

AskedLeaves
leaves_asked(Leaf *list, int count)
{
	AskedLeaves asked = {.list = list, .count = count};

	for (int i = 0; i < count; i++)
	{
		if (list[i].held == NULL)
			continue;
		asked.shared = asked.held != NULL;
		if (asked.shared)
			break;
		asked.held = &list[i];
	}
	return asked;
}

/* Takes the widths of codes from the leaf whose they are; shared ones have the greatest.  Returns false for others. */
static bool
take_widths(const AskedLeaves *asked, ColumnsQuery *query)
{
	for (int i = 0; i < query->ncolumns; i++)
	{
		uint32		gs = asked->held->held->map.header->columns[asked->held->indexes[i]].gs;

		if (query->columns[i].form != COLUMN_CODES)
			continue;
		if (gs != GS_U8 && gs != GS_U16 && gs != GS_U32)
			return false;
		query->columns[i].gs = asked->shared ? GS_U32 : gs;
	}
	return true;
}

/* Returns the column before that is the same one of the table; itself: there is none. */
static int
column_before(const ColumnsQuery *query, int column)
{
	int			i = 0;

	while (query->columns[i].number != query->columns[column].number)
		i++;
	return i;
}

/* Gives the strings of a column of other leaves codes.  Returns NULL, or why that cannot be. */
static const char *
share_codes(const AskedLeaves *asked, ServiceLink *link, const ColumnsQuery *query, int column)
{
	const char *why = NULL;

	for (int l = 0; l < asked->count && why == NULL; l++)
	{
		Leaf	   *leaf = &asked->list[l];
		DictionaryFile *file;

		if (leaf->held == NULL || leaf == asked->held)
			continue;
		file = held_dictionary(link, leaf->held, (int) leaf->indexes[column], &why);
		if (file != NULL)
			leaf->shared[column] = codes_of_dictionary(query->codes[column], file, &leaf->nshared[column], &why);
	}
	return why;
}

/* Takes the codes of a column that is the same one of the table. */
static void
take_codes(const AskedLeaves *asked, ColumnsQuery *query, int column, int before)
{
	query->codes[column] = query->codes[before];
	for (int l = 0; l < asked->count; l++)
	{
		asked->list[l].shared[column] = asked->list[l].shared[before];
		asked->list[l].nshared[column] = asked->list[l].nshared[before];
	}
}

/* Begins the codes of a column of strings. */
static const char *
begin_codes(const AskedLeaves *asked, ServiceLink *link, ColumnsQuery *query, int column)
{
	const char *why = NULL;
	DictionaryFile *file = held_dictionary(link, asked->held->held, (int) asked->held->indexes[column], &why);
	int			before = column_before(query, column);

	if (file == NULL)
		return why;
	if (before != column)
	{
		take_codes(asked, query, column, before);
		return NULL;
	}
	query->codes[column] = palloc(sizeof(StringCodes));
	codes_begin(query->codes[column], file, (gs_type) query->columns[column].gs, gpusort_memory_limit(), false);
	return asked->shared ? share_codes(asked, link, query, column) : NULL;
}

const char *
leaves_begin_codes(const AskedLeaves *asked, ServiceLink *link, ColumnsQuery *query)
{
	const char *why = NULL;

	if (!take_widths(asked, query))
		return "its map is not readable";
	for (int i = 0; i < query->ncolumns && why == NULL; i++)
	{
		query->codes[i] = NULL;
		if (query->columns[i].form == COLUMN_CODES)
			why = begin_codes(asked, link, query, i);
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

const char *
leaves_rank_codes(const Leaf *held, ColumnsQuery *query)
{
	const char *why = NULL;

	for (int i = 0; i < query->ncolumns && why == NULL; i++)
	{
		if (!OidIsValid(query->ranked[i]) || query->mapped[i] != NULL)
			continue;
		why = ranks_make(query->codes[i], &query->columns[i], query->ranked[i],
						 &held->held->dictionaries->orders[held->indexes[i]]);
	}
	return why;
}

/* Returns the numbers by which the service is to know strings, by their codes, instead of these; NULL: by these. */
static const uint32 *
numbers_of(const ColumnsQuery *query, int column, uint32 *count)
{
	const StringRanks *ranks = query->codes[column] != NULL ? query->codes[column]->ranks : NULL;

	if (query->mapped[column] != NULL)
	{
		*count = query->mapped[column]->count;
		return query->mapped[column]->numbers;
	}
	*count = ranks != NULL ? ranks->count : 0;
	return ranks != NULL ? ranks->ranks : NULL;
}

/* Returns these numbers by a leaf's codes, which are shared; NULL: of codes.  *why: there is no room for them. */
static const uint32 *
numbers_of_leaf(const AskedLeaves *asked, const Leaf *leaf, const ColumnsQuery *query, int column, uint32 *count,
				const char **why)
{
	const uint32 *numbers = numbers_of(query, column, count);
	const uint32 *codes = leaf->shared[column];
	StringCodes *all = query->codes[column];
	uint32	   *own;

	if (!asked->shared || all == NULL || (leaf == asked->held && numbers != NULL))
		return numbers;
	if (leaf != asked->held && numbers == NULL)
	{
		*count = leaf->nshared[column];
		return codes;
	}
	*count = leaf != asked->held ? leaf->nshared[column] : all->limit + all->count;
	own = codes_alloc_numbers(all, *count);
	if (own == NULL)
		*why = codes_no_room;
	for (uint32 code = 0; own != NULL && code < *count; code++)
		own[code] = leaf != asked->held ? numbers[codes[code]] : code;
	return own;
}

void
leaves_begin_question(const ColumnsQuery *query)
{
	for (int i = 0; i < query->ncolumns; i++)
		if (query->codes[i] != NULL)
			codes_begin_question(query->codes[i]);
}

const char *
leaves_put_ranks(const AskedLeaves *asked, const Leaf *leaf, const ColumnsQuery *query, StoreQuestion *about)
{
	const char *why = NULL;

	for (int i = 0; i < query->ncolumns && why == NULL; i++)
		about->ranks[i] = numbers_of_leaf(asked, leaf, query, i, &about->nranks[i], &why);
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

	held_forget();
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
	return nheld > 0 ? NULL : leaves->list[0].why;
}

void
leaves_find_engine(const Leaves *leaves, ServiceLink *link, char *name, Size room)
{
	StoreInfo	info;
	EngineFailure failure;

	strlcpy(name, engine_kind_text(ENGINE_CPU), room);
	for (int i = 0; i < leaves->count; i++)
		if (leaves->list[i].held != NULL &&
			store_info(link, RelationGetRelid(leaves->list[i].rel), &info, &failure) && info.device >= 0)
			strlcpy(name, info.name, room);
}

bool
leaves_lie_aside(const Leaves *leaves, ServiceLink *link, uint32 aside)
{
	StoreInfo	info;
	EngineFailure failure;

	for (int i = 0; i < leaves->count && aside != 0; i++)
		if (leaves->list[i].held != NULL &&
			store_info(link, RelationGetRelid(leaves->list[i].rel), &info, &failure) &&
			info.device >= 0 && (aside >> info.device & 1) != 0)
			return true;
	return false;
}
