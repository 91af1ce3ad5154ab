/*
 * columns_added.c: rows of pages that columns do not have, sent along with a question.
 */
#include "postgres.h"

#include "columns_added.h"

StaticAssertDecl(MaxHeapTuplesPerPage <= 1 << GSD_POSITION_BITS, "a page's rows have numbers");

/* Returns why a value cannot be held. */
static const char *
not_held(const ColumnsQuery *query)
{
	for (int i = 0; i < query->ncolumns; i++)
		if (query->codes[i] != NULL && query->codes[i]->full)
			return codes_no_room;
	return "a value cannot be held";
}

/* Notes a failure of the service. */
static void
fail(AddedRows *added, EngineFailure failure)
{
	added->failure = failure;
	added->why = engine_failure_text(failure);
}

/* Takes a slot for rows.  Returns false with the reason. */
static bool
open_chunk(AddedRows *added)
{
	const ColumnsQuery *query = added->query;
	uint32		ncolumns = (uint32) query->ncolumns + query->positions;
	gs_column_spec specs[GS_STEPS_MAX_COLUMNS] = {0};
	EngineFailure failure = ENGINE_OK;
	Size		bytes;

	added->slot = store_rows_buffer(added->link, &bytes, &failure);
	if (added->slot == NULL)
	{
		fail(added, failure);
		return false;
	}
	for (int i = 0; i < query->ncolumns; i++)
		specs[i].type = (gs_type) query->columns[i].gs;
	if (query->positions)
		specs[query->ncolumns].type = GS_I64;
	added->chunk = palloc(gs_chunk_header_bytes(ncolumns));
	if (gs_chunk_layout(added->chunk, bytes, specs, ncolumns, UINT32_MAX - UINT32_MAX % 64, 0) != GS_OK)
	{
		added->why = "a row is too wide";
		return false;
	}
	row_reader_fill(&added->reader, added->chunk, added->slot);
	return true;
}

/* Adds rows to the chunk that its columns have: row number first of a page and those that follow. */
static void
count_rows(AddedRows *added, BlockNumber block, int first, int count)
{
	gs_chunk   *chunk = added->chunk;

	if (added->query->positions)
	{
		int64	   *to = (int64 *) (added->slot + chunk->columns[added->query->ncolumns].values) + chunk->rows;

		for (int i = 0; i < count; i++)
			to[i] = ((int64) block << GSD_POSITION_BITS) + first + i;
	}
	chunk->rows += (uint32) count;
}

/* Sends the slot's rows.  Returns false with the reason. */
static bool
close_chunk(AddedRows *added)
{
	gs_chunk   *chunk = added->chunk;
	EngineFailure failure = ENGINE_OK;

	for (int i = 0; i < added->query->ncolumns; i++)
		chunk->columns[i].has_nulls = added->reader.columns[i].has_nulls;
	memcpy(added->slot, chunk, gs_chunk_header_bytes(chunk->ncolumns));
	added->count += chunk->rows;
	pfree(chunk);
	added->chunk = NULL;
	if (store_rows_send(added->link, &failure))
		return true;
	fail(added, failure);
	return false;
}

/* Adds a page's rows at once.  Returns false if they do not fit the slot, or are to be read one by one. */
static bool
take_page(AddedRows *added, const HeapPageRows *rows)
{
	gs_chunk   *chunk = added->chunk;

	if (chunk == NULL || chunk->rows + (uint32) rows->count >= chunk->capacity ||
		!rows_read(&added->reader, rows->tuples, rows->count, chunk->rows))
		return false;
	count_rows(added, rows->block, 0, rows->count);
	return true;
}

/* Adds a page's rows, as a HeapRowsTaker. */
static bool
take_rows(const HeapPageRows *rows, void *arg)
{
	AddedRows  *added = arg;

	if (added->places != NULL && !row_places_note(added->places, rows))
	{
		added->why = row_places_too_many;
		return false;
	}
	if (take_page(added, rows))
		return true;
	for (int i = 0; i < rows->count; i++)
	{
		if (added->chunk == NULL && !open_chunk(added))
			return false;
		if (!row_read(&added->reader, rows->tuples[i], added->chunk->rows))
		{
			added->why = not_held(added->query);
			return false;
		}
		count_rows(added, rows->block, i, 1);
		if (added->chunk->rows == added->chunk->capacity && !close_chunk(added))
			return false;
	}
	return true;
}

/* Prepares to read rows. */
static void
begin_reader(RowReader *reader, const ColumnsQuery *query, Relation rel, const ColumnDescription *columns)
{
	row_reader_init(reader, rel, columns, query->ncolumns);
	for (int i = 0; i < query->ncolumns; i++)
	{
		reader->columns[i].codes = query->codes[i];
		reader->columns[i].width = gs_type_width((gs_type) query->columns[i].gs);
	}
}

BlockNumber
added_rows_send(AddedRows *added, Relation rel, const ColumnDescription *columns, const PageProof *proof,
				const PageMap *map)
{
	BlockNumber pages;

	begin_reader(&added->reader, added->query, rel, columns);
	pages = heap_unproved_rows(rel, added->snapshot, proof, map, take_rows, added);
	if (added->why == NULL && added->chunk != NULL)
		(void) close_chunk(added);
	return pages;
}

/* Rows that are only looked at. */
typedef struct NotedRows
{
	RowReader	reader;
	bool		bad;			/* a value cannot be held */
} NotedRows;

/* Reads a page's rows, each in the place of the one before, as a HeapRowsTaker. */
static bool
note_rows(const HeapPageRows *rows, void *arg)
{
	NotedRows  *noted = arg;

	for (int i = 0; i < rows->count && !noted->bad; i++)
		noted->bad = !row_read(&noted->reader, rows->tuples[i], 0);
	return !noted->bad;
}

const char *
added_rows_note(const ColumnsQuery *query, Snapshot snapshot, Relation rel, const ColumnDescription *columns,
				const PageProof *proof, const PageMap *map)
{
	NotedRows	noted = {.bad = false};
	uint64		place[2];
	uint64		nulls;

	begin_reader(&noted.reader, query, rel, columns);
	for (int i = 0; i < query->ncolumns; i++)
	{
		noted.reader.columns[i].values = (char *) place;
		noted.reader.columns[i].nulls = &nulls;
		noted.reader.columns[i].null_words = 1;
	}
	(void) heap_unproved_rows(rel, snapshot, proof, map, note_rows, &noted);
	return noted.bad ? not_held(query) : NULL;
}
