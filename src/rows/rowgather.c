/*
 * rowgather.c: copies the columns that a projection picks out of a table's tuples, in two loops: one finds the columns,
 * one copies their bytes.  The executor has five, from slot to slot.
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "nodes/primnodes.h"

#include "src/base/compat.h"
#include "rowgather.h"

struct RowGather
{
	int			nsource;		/* columns of a tuple up to the last one that is wanted */
	int			ncolumns;		/* of a row */
	struct GatherSource *sources;
	struct GatherColumn *columns;
	bool		fixed;			/* all columns have their places in every tuple without NULLs; then: */
	uint16		fixed_natts;	/* that such a tuple has, if it has all columns */
	uint32		fixed_bytes;	/* of a row's data */
	const char **places;		/* of a tuple's columns */
	Size		overhead;		/* of a row, at most: what it has beyond the data of its tuple */
	MinimalTuple row;			/* room for the longest row */
};

/* A column of the table. */
typedef struct GatherSource
{
	int16		len;			/* -1: a varlena */
	uint8		align;			/* in bytes */
} GatherSource;

/* A column of the row. */
typedef struct GatherColumn
{
	uint16		source;			/* number of the table's column, from 0 */
	int16		len;
	uint8		align;
	bool		packable;		/* may have a short header */
	uint16		from;			/* fixed place: in the tuple's data */
	uint16		to;				/* and in the row's */
} GatherColumn;

/* Finds where a column lies in all tuples without NULLs; false if that varies. */
static bool
fixed_place(const RowGather *gather, GatherColumn *column)
{
	uint32		offset = 0;

	for (int i = 0; i <= column->source; i++)
	{
		if (gather->sources[i].len < 0)
			return false;
		offset = TYPEALIGN(gather->sources[i].align, offset);
		if (i < column->source)
			offset += gather->sources[i].len;
	}
	column->from = (uint16) offset;
	return true;
}

/* Finds whether all columns have fixed places, and where. */
static void
find_fixed_places(RowGather *gather, int natts)
{
	uint32		offset = 0;

	gather->fixed = true;
	gather->fixed_natts = (uint16) natts;
	for (int i = 0; gather->fixed && i < gather->ncolumns; i++)
	{
		GatherColumn *column = &gather->columns[i];

		gather->fixed = fixed_place(gather, column);
		offset = TYPEALIGN(column->align, offset);
		column->to = (uint16) offset;
		offset += column->len;
	}
	gather->fixed_bytes = offset;
}

/* Reads the target list; false if it has anything but columns of the table, each once. */
static bool
read_targets(RowGather *gather, List *targets, TupleDesc source, TupleDesc result)
{
	bool	   *seen = palloc0(sizeof(bool) * source->natts);
	ListCell   *lc;

	foreach(lc, targets)
	{
		Var		   *var = (Var *) lfirst_node(TargetEntry, lc)->expr;
		Form_pg_attribute attribute = TupleDescAttr(result, gather->ncolumns);
		GatherColumn *column = &gather->columns[gather->ncolumns++];

		if (!IsA(var, Var) || var->varattno <= 0 || attribute->attlen < -1 || seen[var->varattno - 1])
			return false;
		seen[var->varattno - 1] = true;
		column->source = (uint16) (var->varattno - 1);
		column->len = attribute->attlen;
		column->align = (uint8) att_align_nominal(1, attribute->attalign);
		column->packable = attribute->attlen == -1 && attribute->attstorage != TYPSTORAGE_PLAIN;
		gather->nsource = Max(gather->nsource, var->varattno);
	}
	for (int i = 0; i < gather->nsource; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(source, i);

		if (attribute->attlen < -1)
			return false;
		gather->sources[i].len = attribute->attlen;
		gather->sources[i].align = (uint8) att_align_nominal(1, attribute->attalign);
	}
	return true;
}

RowGather *
rowgather_create(List *targets, TupleDesc source, TupleDesc result)
{
	RowGather  *gather = palloc0(sizeof(RowGather));
	int			ncolumns = list_length(targets);

	gather->sources = palloc(sizeof(GatherSource) * source->natts);
	gather->columns = palloc(sizeof(GatherColumn) * ncolumns);
	if (ncolumns == 0 || !read_targets(gather, targets, source, result))
		return NULL;
	find_fixed_places(gather, source->natts);
	gather->places = palloc(sizeof(char *) * gather->nsource);
	/* no column is there twice, so a row has no more data than the tuple, alignment aside */
	gather->overhead = ROW_HEADER_BYTES + MAXALIGN(BITMAPLEN(ncolumns)) + (Size) (ncolumns + 1) * MAXIMUM_ALIGNOF;
	gather->row = palloc(BLCKSZ + gather->overhead);
	return gather;
}

/* Finds the columns of a tuple; the place of a NULL is NULL. */
static inline void
find_columns(RowGather *gather, HeapTupleHeader tuple)
{
	const char *data = (char *) tuple + tuple->t_hoff;
	const uint8 *bits = tuple->t_infomask & HEAP_HASNULL ? tuple->t_bits : NULL;
	Size		offset = 0;

	for (int i = 0; i < gather->nsource; i++)
	{
		GatherSource source = gather->sources[i];

		gather->places[i] = NULL;
		if (bits && att_isnull(i, bits))
			continue;
		/* a short varlena is not aligned; its first byte is never zero, and padding is */
		if (source.len > 0 || data[offset] == 0)
			offset = TYPEALIGN(source.align, offset);
		gather->places[i] = data + offset;
		offset += source.len > 0 ? (Size) source.len : VARSIZE_ANY(data + offset);
	}
}

/* Writes zeros up to the next multiple of align. */
static inline char *
pad(char *to, uint8 align)
{
	while ((uintptr_t) to % align != 0)
		*to++ = 0;
	return to;
}

/* Copies a varlena, with a short header if possible, as heap_fill_tuple does; returns its end. */
static inline char *
copy_varlena(char *to, const char *from, const GatherColumn *column, uint16 *infomask)
{
	Size		bytes;

	*infomask |= HEAP_HASVARWIDTH;
	if (VARATT_IS_1B(from))
	{
		if (VARATT_IS_EXTERNAL(from))
			*infomask |= HEAP_HASEXTERNAL;
		bytes = VARSIZE_ANY(from);
	}
	else if (column->packable && VARATT_CAN_MAKE_SHORT(from))
	{
		bytes = VARATT_CONVERTED_SHORT_SIZE(from);
		SET_VARSIZE_SHORT(to, bytes);
		memcpy(to + VARHDRSZ_SHORT, VARDATA(from), bytes - VARHDRSZ_SHORT);
		return to + bytes;
	}
	else
	{
		to = pad(to, column->align);
		bytes = VARSIZE_4B(from);
	}
	memcpy(to, from, bytes);
	return to + bytes;
}

/* Copies a value of fixed width, which is mostly 8 or 4. */
static inline void
copy_fixed(char *to, const char *from, int16 len)
{
	if (len == 8)
		memcpy(to, from, 8);
	else if (len == 4)
		memcpy(to, from, 4);
	else
		memcpy(to, from, len);
}

/* Is any of the row's columns NULL? */
static bool
has_null(const RowGather *gather)
{
	for (int i = 0; i < gather->ncolumns; i++)
		if (gather->places[gather->columns[i].source] == NULL)
			return true;
	return false;
}

/* Forms a row as heap_form_minimal_tuple does; false if the tuple lacks columns added to the table later. */
static inline bool
form_row(RowGather *gather, HeapTupleHeader tuple, MinimalTuple row)
{
	uint16		infomask = 0;
	Size		header = SizeofMinimalTupleHeader;
	char	   *to;

	if (HeapTupleHeaderGetNatts(tuple) < gather->nsource)
		return false;
	find_columns(gather, tuple);
	if (tuple->t_infomask & HEAP_HASNULL && has_null(gather))
	{
		infomask = HEAP_HASNULL;
		header += BITMAPLEN(gather->ncolumns);
	}
	header = MAXALIGN(header);
	memset(row, 0, header);
	to = (char *) row + header;
	for (int i = 0; i < gather->ncolumns; i++)
	{
		const GatherColumn *column = &gather->columns[i];
		const char *from = gather->places[column->source];

		if (from == NULL)
			continue;
		if (infomask & HEAP_HASNULL)
			row->t_bits[i / 8] |= 1 << i % 8;
		if (column->len < 0)
		{
			to = copy_varlena(to, from, column, &infomask);
			continue;
		}
		to = pad(to, column->align);
		copy_fixed(to, from, column->len);
		to += column->len;
	}
	row->t_len = (uint32) (to - (char *) row);
	row->t_infomask2 = gather->ncolumns;
	row->t_infomask = infomask;
	row->t_hoff = (uint8) (header + MINIMAL_TUPLE_OFFSET);
	return true;
}

/* Appends a row, formed in the store itself where there is room; false without memory, or if columns lack. */
static inline bool
put_row(RowGather *gather, RowStore *store, ItemId item, HeapTupleHeader tuple)
{
	MinimalTuple place = rowstore_place(store, ItemIdGetLength(item) + gather->overhead);

	if (!form_row(gather, tuple, place ? place : gather->row))
		return false;
	if (place == NULL)
		return rowstore_put_row(store, gather->row);
	rowstore_keep(store, place);
	return true;
}

/* Copies columns at fixed places to a row's data; false if the tuple has NULLs or lacks columns. */
static inline bool
copy_columns(const RowGather *gather, HeapTupleHeader tuple, char *to)
{
	const char *from = (char *) tuple + ROW_HEADER_BYTES + MINIMAL_TUPLE_OFFSET;

	if (unlikely((tuple->t_infomask & HEAP_HASNULL) || HeapTupleHeaderGetNatts(tuple) != gather->fixed_natts ||
				 tuple->t_hoff != ROW_HEADER_BYTES + MINIMAL_TUPLE_OFFSET))
		return false;
	for (int i = 0; i < gather->ncolumns; i++)
	{
		const GatherColumn *column = &gather->columns[i];

		copy_fixed(to + column->to, from + column->from, column->len);
	}
	return true;
}

/* Appends uniform rows, columns at fixed places, up to the first tuple with NULLs. */
static uint32
put_uniform_rows(RowGather *gather, RowStore *store, Page page, const OffsetNumber *items, uint32 count)
{
	char	   *to = rowstore_room(store, count);
	uint32		taken;

	if (to == NULL)
		return 0;
	memset(to, 0, (Size) count * store->stride);
	for (taken = 0; taken < count; taken++)
	{
		HeapTupleHeader tuple = (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, items[taken]));

		if (!copy_columns(gather, tuple, to + (store->bare ? 0 : ROW_HEADER_BYTES)))
			break;
		if (!store->bare)
			memcpy(to, store->uniform, ROW_HEADER_BYTES);
		to += store->stride;
	}
	rowstore_advance(store, taken);
	return taken;
}

uint32
rowgather_put_page(RowGather *gather, RowStore *store, Page page, const OffsetNumber *items, uint32 count)
{
	uint32		taken;

	count = Min(count, GS_MAX_ROWS - store->rows);
	if (store->rows == 0)
		return 0;
	if (store->stride != 0 && gather->fixed && gather->fixed_bytes == rowstore_data_bytes(store))
		return put_uniform_rows(gather, store, page, items, count);
	for (taken = 0; taken < count; taken++)
	{
		ItemId		item = PageGetItemId(page, items[taken]);

		if (!put_row(gather, store, item, (HeapTupleHeader) PageGetItem(page, item)))
			break;
	}
	return taken;
}
