/*
 * keeper_dictionary.c: what a keeper finds out about columns of strings: how wide their codes are, and which columns
 * are not held.
 *
 * A column begins with the width that its statistics ask for.  If its codes outgrow that, the table is declared and
 * loaded anew.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "utils/syscache.h"

#include "src/base/compat.h"
#include "keeper.h"

/* A dictionary of this many entries is held whatever the number of rows. */
#define FEW_ENTRIES 1000

/* Returns the number of different values of a column, by its statistics; 0: it has none. */
static double
estimated_values(Relation rel, AttrNumber number)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(RelationGetRelid(rel)), Int16GetDatum(number),
										BoolGetDatum(false));
	double		values = HeapTupleIsValid(tuple) ? ((Form_pg_statistic) GETSTRUCT(tuple))->stadistinct : 0;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return values >= 0 ? values : -values * Max(rel->rd_rel->reltuples, 0);
}

/* Chooses the width of a column's codes, with room for as many values again. */
static gs_type
choose_width(Relation rel, AttrNumber number, ColumnLimit limit)
{
	double		values = limit == LIMIT_NONE ? estimated_values(rel, number) : 0;

	if (limit == LIMIT_32_BITS || values > PG_UINT16_MAX / 2)
		return GS_U32;
	return limit == LIMIT_16_BITS || values == 0 || values > PG_UINT8_MAX / 2 ? GS_U16 : GS_U8;
}

int
kept_table_limit(const KeptTable *table, Relation rel, ColumnDescription *columns, int ncolumns)
{
	int			left = 0;

	for (int i = 0; i < ncolumns; i++)
	{
		ColumnLimit limit = (ColumnLimit) table->shown->limits[columns[i].number - 1];

		if (columns[i].form == COLUMN_CODES && limit >= LIMIT_VALUES)
			continue;
		columns[left] = columns[i];
		if (columns[i].form == COLUMN_CODES)
			columns[left].gs = choose_width(rel, columns[i].number, limit);
		left++;
	}
	return left;
}

void
kept_table_inherit(KeptTable *table, const KeptTable *before)
{
	memcpy(table->shown->limits, before->shown->limits, sizeof(table->shown->limits));
	table->replaces = before->number;
}

/* Has the table be declared anew, with a limit of a column unless there is none. */
static void
limit_column(KeptTable *table, const ColumnDescription *column, ColumnLimit limit)
{
	ereport(DEBUG1, (errmsg_internal("gpusort declares relation %u anew: limit %d of column %d", table->relation,
									 (int) limit, column->number)));
	if (limit != LIMIT_NONE)
		table->shown->limits[column->number - 1] = (uint8) limit;
	table->gone = true;
}

void
kept_table_outgrown(KeptTable *table, int column, bool no_memory)
{
	const ColumnDescription *outgrown = &table->shown->columns[column];

	if (!table->gone)
		limit_column(table, outgrown, no_memory ? LIMIT_MEMORY : outgrown->gs == GS_U8 ? LIMIT_16_BITS : LIMIT_32_BITS);
}

/*
 * Returns the number of rows that a table will have when it is loaded, or that it has at most once it is, by those of
 * the version that this keeper has published.  While rows change they are no sample: an update takes all rows from some
 * pages and gives them to others.
 */
static double
number_of_rows(const KeptTable *table, const StoreInfo *info)
{
	BlockNumber placed = table->shown->held + table->shown->nyoung;
	BlockNumber others = Max(table->nblocks, placed) - placed;

	if (table->judged)
		return (double) info->rows + (double) others * MaxHeapTuplesPerPage;
	return placed > 0 ? (double) info->rows * ((double) others / placed + 1) : 0;
}

/* Returns true if there are entries for more than half of a table's rows. */
static bool
is_too_large(const KeptTable *table, uint32 count, const StoreInfo *info)
{
	double		rows = number_of_rows(table, info);

	return info->rows > 0 && rows > 0 && count > rows / 2;
}

void
kept_table_judge_dictionaries(KeptTable *table, ServiceLink *link, EngineFailure *why)
{
	StoreInfo	info;
	bool		informed = false;

	for (uint32 i = 0; i < table->shown->ncolumns && *why == ENGINE_OK && !table->gone; i++)
	{
		const ColumnDescription *column = &table->shown->columns[i];
		const DictionaryFile *file;
		uint32		count;

		if (column->form != COLUMN_CODES)
			continue;
		file = dictionary_map(table->dictionaries, link, table->number, i, why);
		count = file != NULL ? dictionary_count(file) : 0;
		if (count <= FEW_ENTRIES)
			continue;
		if (!informed && !store_info(link, table->relation, &info, why))
			return;
		informed = true;
		if (is_too_large(table, count, &info))
			limit_column(table, column, table->judged ? LIMIT_NONE : LIMIT_VALUES);
	}
	table->judged = table->judged || table->shown->state == PAGE_MAP_READY;
}
