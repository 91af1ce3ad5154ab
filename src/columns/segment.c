/*
 * segment.c: heap pages, read for the store: their rows as one segment, and by what each page is proved.
 *
 * A page is read in one hold of its share lock: visibility, values, LSN.  So all of them belong to one state of it.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/transam.h"
#include "utils/memutils.h"

#include "src/base/compat.h"
#include "segment.h"

/* Part of the buffer for pages and line bitmaps. */
#define PAGES_FRACTION 16
/* Part for new strings, if there is a dictionary. */
#define STRINGS_FRACTION 4
#define LINE_BYTES ((MaxHeapTuplesPerPage + 7) / 8)

/* Lays out the columns of an empty segment. */
static void
reset(SegmentWriter *writer)
{
	writer->header->rows = 0;
	writer->npages = 0;
	writer->bitmap_bytes = 0;
	for (int i = 0; i < writer->reader.ncolumns; i++)
		writer->reader.columns[i].has_nulls = false;
}

/* Begins with the dictionaries as they are now.  Returns false if one cannot be read; no page is, until all can be. */
static bool
begin_codes(SegmentWriter *writer)
{
	writer->begin_anew = true;
	for (int i = 0; i < writer->reader.ncolumns; i++)
	{
		RowColumn  *column = &writer->reader.columns[i];
		DictionaryFile *file;
		EngineFailure why;

		if (column->description.form != COLUMN_CODES)
			continue;
		file = dictionary_map(writer->maps, writer->link, writer->table, (uint32) i, &why);
		if (file == NULL)
			return false;
		if (column->codes == NULL)
			column->codes = palloc(sizeof(StringCodes));
		else
			MemoryContextDelete(column->codes->context);
		codes_begin(column->codes, file, (gs_type) column->description.gs, writer->strings_room, true);
	}
	writer->begin_anew = false;
	return true;
}

/* Returns the number of columns with dictionaries. */
static int
count_dictionaries(const ColumnDescription *columns, int ncolumns)
{
	int			ndictionaries = 0;

	for (int i = 0; i < ncolumns; i++)
		ndictionaries += columns[i].form == COLUMN_CODES;
	return ndictionaries;
}

/* Returns the bytes of a buffer that its strings, at the end, leave. */
static Size
without_strings(Size bytes, int ndictionaries)
{
	return ndictionaries == 0 ? bytes : TYPEALIGN_DOWN(GS_ALIGN, bytes - bytes / STRINGS_FRACTION);
}

/* Returns the bytes for pages and line bitmaps. */
static Size
room_for_pages(Size bytes)
{
	return TYPEALIGN_DOWN(GS_ALIGN, bytes / PAGES_FRACTION);
}

/* Lays out a chunk in a buffer without strings.  Returns false if a page's rows could be more than fit. */
static bool
lay_out(gs_chunk *header, const ColumnDescription *columns, int ncolumns, Size bytes)
{
	gs_column_spec *specs = palloc0_array(gs_column_spec, ncolumns);

	for (int i = 0; i < ncolumns; i++)
		specs[i].type = (gs_type) columns[i].gs;
	return gs_chunk_layout(header, bytes - room_for_pages(bytes), specs, (uint32) ncolumns,
						   UINT32_MAX - UINT32_MAX % 64, 0) == GS_OK &&
		header->capacity >= MaxHeapTuplesPerPage;
}

bool
segment_fits(const ColumnDescription *columns, int ncolumns, ServiceLink *link)
{
	Size		bytes;

	(void) store_buffer(link, &bytes);
	return lay_out(palloc(gs_chunk_header_bytes((uint64) ncolumns)), columns, ncolumns,
				   without_strings(bytes, count_dictionaries(columns, ncolumns)));
}

bool
segment_init(SegmentWriter *writer, Relation rel, const ColumnDescription *columns, int ncolumns, ServiceLink *link,
			 uint64 table, DictionaryMaps *maps)
{
	int			ndictionaries = count_dictionaries(columns, ncolumns);
	Size		all;
	Size		bytes;

	memset(writer, 0, sizeof(*writer));
	row_reader_init(&writer->reader, rel, columns, ncolumns);
	writer->reader.locked = true;
	writer->link = link;
	writer->table = table;
	writer->maps = maps;
	writer->outgrown = -1;
	writer->buffer = store_buffer(link, &all);
	bytes = without_strings(all, ndictionaries);
	if (ndictionaries > 0)
	{
		writer->strings = writer->buffer + bytes;
		writer->strings_room = (all - bytes) / (Size) ndictionaries;
	}
	writer->header = palloc(gs_chunk_header_bytes((uint64) ncolumns));
	writer->pages_room = room_for_pages(bytes);
	writer->max_pages = (uint32) (writer->pages_room / sizeof(StorePage));
	writer->pages = palloc_array(StorePage, writer->max_pages);
	writer->loaded = palloc_array(LoadedPage, writer->max_pages);
	writer->bitmaps = palloc(writer->pages_room);
	if (!lay_out(writer->header, columns, ncolumns, bytes))
		return false;
	row_reader_fill(&writer->reader, writer->header, writer->buffer);
	reset(writer);
	return begin_codes(writer);
}

/* Returns true if this page fits, whatever it has.  Pages of a segment ascend. */
static bool
has_room(const SegmentWriter *writer, BlockNumber block)
{
	if (writer->npages > 0 && block <= writer->pages[writer->npages - 1].block)
		return false;
	return writer->header->rows + MaxHeapTuplesPerPage <= writer->header->capacity &&
		(writer->npages + 1) * sizeof(StorePage) + writer->bitmap_bytes + LINE_BYTES <= writer->pages_room;
}

/* Adds an xid that snapshots may not see yet to a page's oldest and newest. */
static void
note_xid(LoadedPage *loaded, TransactionId xid, TransactionId horizon)
{
	if (!TransactionIdIsNormal(xid) || TransactionIdPrecedes(xid, horizon))
		return;
	if (!TransactionIdIsValid(loaded->oldest) || TransactionIdPrecedes(xid, loaded->oldest))
		loaded->oldest = xid;
	if (!TransactionIdIsValid(loaded->newest) || TransactionIdFollows(xid, loaded->newest))
		loaded->newest = xid;
}

/* A tuple of a young page. */
typedef enum TupleFate
{
	TUPLE_HELD,
	TUPLE_LEFT_OUT,
	TUPLE_IN_PROGRESS
} TupleFate;

/*
 * Judges a tuple of a page that is not all-visible.  HeapTupleSatisfiesVacuumHorizon asks TransactionIdIsInProgress
 * before the commit log, so whoever it calls committed has left the list of running transactions.
 */
static TupleFate
judge(HeapTuple tuple, Buffer buffer, TransactionId horizon, LoadedPage *loaded)
{
	TransactionId dead_after = InvalidTransactionId;

	switch (HeapTupleSatisfiesVacuumHorizon(tuple, buffer, &dead_after))
	{
		case HEAPTUPLE_LIVE:
			note_xid(loaded, HeapTupleHeaderGetXmin(tuple->t_data), horizon);
			return TUPLE_HELD;
		case HEAPTUPLE_DEAD:
			return TUPLE_LEFT_OUT;
		case HEAPTUPLE_RECENTLY_DEAD:
			note_xid(loaded, HeapTupleHeaderGetXmin(tuple->t_data), horizon);
			note_xid(loaded, dead_after, horizon);
			return TUPLE_LEFT_OUT;
		default:
			return TUPLE_IN_PROGRESS;
	}
}

/* Writes the bits of a page's lines behind those of other pages, unless the lines are 1 to rows. */
static void
put_lines(SegmentWriter *writer, StorePage *record, const uint8 *lines, OffsetNumber last)
{
	record->lines = 0;
	if (last == record->rows)
		return;
	record->lines = last;
	memcpy(writer->bitmaps + writer->bitmap_bytes, lines, (last + 7) / 8);
	writer->bitmap_bytes += (last + 7) / 8;
}

/* Notes a column whose strings found no code.  Returns true if one found no room to be sent. */
static bool
strings_full(SegmentWriter *writer)
{
	bool		full = false;

	for (int i = 0; i < writer->reader.ncolumns; i++)
	{
		const StringCodes *codes = writer->reader.columns[i].codes;

		if (codes == NULL)
			continue;
		if (codes->too_wide)
			writer->outgrown = i;
		full = full || codes->full;
	}
	return full;
}

/*
 * Takes back a page, some value of which was not taken.  It may be the next segment's, whose strings are others: those
 * that were new are sent with this one.
 */
static PageOutcome
give_up(SegmentWriter *writer, uint32 first, uint32 end)
{
	row_forget(&writer->reader, first, end);
	if (!strings_full(writer))
		return PAGE_BUSY;
	writer->begin_anew = writer->npages == 0;
	return writer->begin_anew ? PAGE_BUSY : PAGE_NO_ROOM;
}

/* Reads a page under its lock. */
static PageOutcome
take_page(SegmentWriter *writer, Relation rel, Buffer buffer, LoadedPage *loaded, TransactionId horizon)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber max = PageIsNew(page) ? InvalidOffsetNumber : PageGetMaxOffsetNumber(page);
	StorePage  *record = &writer->pages[writer->npages];
	uint32		first = writer->header->rows;
	uint32		row = first;
	OffsetNumber last = InvalidOffsetNumber;
	uint8		lines[LINE_BYTES] = {0};

	/* the flag, too: the map's bit may be stale after a torn page */
	loaded->all_visible = loaded->all_visible && !PageIsNew(page) && PageIsAllVisible(page);
	for (OffsetNumber line = FirstOffsetNumber; line <= max; line++)
	{
		ItemId		item = PageGetItemId(page, line);
		HeapTupleData tuple;
		TupleFate	fate = TUPLE_HELD;

		if (!ItemIdIsNormal(item))
			continue;
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		tuple.t_tableOid = RelationGetRelid(rel);
		ItemPointerSet(&tuple.t_self, loaded->block, line);
		if (!loaded->all_visible)
			fate = judge(&tuple, buffer, horizon, loaded);
		if (fate == TUPLE_LEFT_OUT)
			continue;
		if (fate == TUPLE_IN_PROGRESS || !row_read(&writer->reader, tuple.t_data, row))
			return give_up(writer, first, row + 1);
		lines[(line - 1) / 8] |= (uint8) (1 << ((line - 1) % 8));
		last = line;
		row++;
	}
	loaded->lsn = BufferGetLSNAtomic(buffer);
	/* what no window can prove needs an LSN that is valid */
	if (!loaded->all_visible && XLogRecPtrIsInvalid(loaded->lsn))
		return give_up(writer, first, row);
	record->block = loaded->block;
	record->rows = (uint16) (row - first);
	put_lines(writer, record, lines, last);
	writer->header->rows = row;
	return PAGE_TAKEN;
}

/* Takes the strings of a page that are out of line, which is no longer locked.  The page is the last one. */
static PageOutcome
take_later_strings(SegmentWriter *writer, Size bitmap_bytes)
{
	const StorePage *record = &writer->pages[writer->npages];
	uint32		rows = writer->header->rows;

	if (rows_put_later(&writer->reader))
		return PAGE_TAKEN;
	writer->header->rows -= record->rows;
	writer->bitmap_bytes = bitmap_bytes;
	return give_up(writer, writer->header->rows, rows);
}

PageOutcome
segment_add(SegmentWriter *writer, Relation rel, BlockNumber block, bool visible, TransactionId horizon,
			BufferAccessStrategy strategy)
{
	LoadedPage *loaded = &writer->loaded[writer->npages];
	Size		bitmap_bytes = writer->bitmap_bytes;
	PageOutcome outcome;
	Buffer		buffer;

	if (!has_room(writer, block))
		return PAGE_NO_ROOM;
	if (writer->begin_anew && !begin_codes(writer))
		return PAGE_BUSY;
	memset(loaded, 0, sizeof(*loaded));
	loaded->block = block;
	loaded->all_visible = visible;
	buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
	loaded->buffer = buffer;
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	outcome = take_page(writer, rel, buffer, loaded, horizon);
	UnlockReleaseBuffer(buffer);
	if (outcome == PAGE_TAKEN)
		outcome = take_later_strings(writer, bitmap_bytes);
	if (outcome == PAGE_TAKEN)
		writer->npages++;
	return outcome;
}

/* Copies to the buffer what was kept apart from it. */
static uint64
complete(SegmentWriter *writer)
{
	gs_chunk   *header = writer->header;
	uint64		pages_at = TYPEALIGN(8, header->bytes);

	for (uint32 i = 0; i < header->ncolumns; i++)
		header->columns[i].has_nulls = writer->reader.columns[i].has_nulls;
	memcpy(writer->buffer, header, gs_chunk_header_bytes(header->ncolumns));
	memcpy(writer->buffer + pages_at, writer->pages, writer->npages * sizeof(StorePage));
	memcpy(writer->buffer + pages_at + writer->npages * sizeof(StorePage), writer->bitmaps, writer->bitmap_bytes);
	return pages_at;
}

/* Writes the new strings of all columns.  Returns their bytes. */
static uint32
put_strings(SegmentWriter *writer)
{
	char	   *to = writer->strings;

	for (int i = 0; i < writer->reader.ncolumns; i++)
		if (writer->reader.columns[i].codes != NULL)
			to = codes_write(writer->reader.columns[i].codes, to);
	return (uint32) (to - writer->strings);
}

bool
segment_store(SegmentWriter *writer, uint32 *segment, uint32 *npages, EngineFailure *why)
{
	StoreSegment sent = {.table = writer->table, .pages_at = complete(writer), .npages = writer->npages};
	bool		stored;

	if (writer->strings != NULL)
	{
		sent.strings_at = (uint64) (writer->strings - writer->buffer);
		sent.strings_bytes = put_strings(writer);
	}
	stored = store_segment(writer->link, &sent, segment, why);
	*npages = writer->npages;
	reset(writer);
	if (!stored && *segment > 0)
	{
		writer->outgrown = (int) *segment - 1;
		writer->no_strings = *why == ENGINE_NO_MEMORY;
		*why = ENGINE_OK;
	}
	/* what is stored stays so; without dictionaries no more is */
	if (stored)
		(void) begin_codes(writer);
	return stored;
}
