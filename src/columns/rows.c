/*
 * rows.c: the held columns of heap tuples, taken out without a slot.
 *
 * A slot takes out all attributes up to the last one that is asked for, as datums.  Here the offsets of attributes
 * before the first of variable length are known beforehand, and values are copied from the tuple to the column.
 */
#include "postgres.h"

#include "access/tupdesc_details.h"
#include "access/tupmacs.h"
#include "catalog/pg_type_d.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "src/base/alignment.h"
#include "src/base/compat.h"
#include "rows.h"

/* Computes the offsets of attributes that have the same one in all tuples without NULLs. */
static void
find_offsets(RowReader *reader)
{
	int32		offset = 0;

	for (reader->nfixed = 0; reader->nfixed < reader->nattributes; reader->nfixed++)
	{
		RowAttribute *attribute = &reader->attributes[reader->nfixed];

		if (attribute->length <= 0)
			break;
		offset = (int32) TYPEALIGN(attribute->align, offset);
		attribute->offset = offset;
		offset += attribute->length;
	}
	reader->fixed_end = offset;
	for (int i = reader->nfixed; i < reader->nattributes; i++)
		reader->attributes[i].offset = -1;
}

/* Lists the held columns among the attributes of known offsets. */
static void
list_fixed(RowReader *reader)
{
	reader->fixed = palloc_array(RowFixed, reader->nfixed + 1);
	reader->nheld = 0;
	for (int i = 0; i < reader->nfixed; i++)
		if (reader->attributes[i].column >= 0)
			reader->fixed[reader->nheld++] = (RowFixed)
		{
			(uint32) reader->attributes[i].offset, (uint32) reader->attributes[i].column
		};
}

/* Encodes what rows have that are older than a column. */
static void
set_missing(RowColumn *column, Relation rel)
{
	bool		isnull;
	Datum		value = getmissingattr(RelationGetDescr(rel), column->description.number, &isnull);

	column->missing_null = isnull;
	column->missing_string = value;
	column->missing_bad = !isnull && column->description.form != COLUMN_CODES &&
		!column_encode(&column->description, value, column->missing);
}

void
row_reader_init(RowReader *reader, Relation rel, const ColumnDescription *columns, int ncolumns)
{
	TupleDesc	desc = RelationGetDescr(rel);

	memset(reader, 0, sizeof(*reader));
	reader->detoasted = AllocSetContextCreate(CurrentMemoryContext, "gpusort detoasted string", ALLOCSET_SMALL_SIZES);
	reader->ncolumns = ncolumns;
	reader->columns = palloc0_array(RowColumn, ncolumns);
	reader->nattributes = 0;
	for (int i = 0; i < ncolumns; i++)
		reader->nattributes = Max(reader->nattributes, columns[i].number);
	reader->attributes = palloc0_array(RowAttribute, reader->nattributes);
	for (int i = 0; i < reader->nattributes; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		reader->attributes[i].length = attribute->attlen;
		reader->attributes[i].align = alignment_bytes(attribute->attalign);
		reader->attributes[i].column = -1;
	}
	find_offsets(reader);
	for (int i = 0; i < ncolumns; i++)
	{
		int			before;

		reader->columns[i].description = columns[i];
		reader->columns[i].base = getBaseType(columns[i].type);
		reader->columns[i].width = gs_type_width((gs_type) columns[i].gs);
		before = reader->attributes[columns[i].number - 1].column;
		if (before >= 0 && columns[i].form == COLUMN_CODES)
			reader->columns[i].again = &reader->columns[before];
		reader->attributes[columns[i].number - 1].column = (int16) i;
		set_missing(&reader->columns[i], rel);
	}
	list_fixed(reader);
}

/* Sets a row's null bit.  The bits are cleared when the first is set. */
static void
set_null(RowColumn *column, uint32 row)
{
	for (; column != NULL; column = column->again)
	{
		if (!column->has_nulls)
			memset(column->nulls, 0, column->null_words * sizeof(uint64));
		column->has_nulls = true;
		column->nulls[row / 64] |= UINT64CONST(1) << (row % 64);
	}
}

/* Writes the code of the string at p.  Returns false if it cannot be held. */
static bool
put_string(RowReader *reader, RowColumn *column, const char *p, uint32 row)
{
	MemoryContext old = MemoryContextSwitchTo(reader->detoasted);
	uint32		code = GSD_NO_CODE;
	const char *string;
	uint32		bytes;

	if (string_of_datum(column->base, column->description.typmod, p, &string, &bytes))
		code = codes_of(column->codes, string, bytes);
	MemoryContextSwitchTo(old);
	MemoryContextReset(reader->detoasted);
	for (; column != NULL; column = column->again)
	{
		if (column->width == 1)
			((uint8 *) column->values)[row] = (uint8) code;
		else if (column->width == 2)
			((uint16 *) column->values)[row] = (uint16) code;
		else
			((uint32 *) column->values)[row] = code;
	}
	return code != GSD_NO_CODE;
}

/* Notes a string out of line. */
static void
put_off(RowReader *reader, const RowColumn *column, const char *p, uint32 row)
{
	RowLater   *later;

	if (reader->nlater == reader->later_room)
	{
		reader->later_room = Max(2 * reader->later_room, 64);
		reader->later = reader->later == NULL ? palloc_array(RowLater, reader->later_room) :
			repalloc_array(reader->later, RowLater, reader->later_room);
	}
	later = &reader->later[reader->nlater++];
	later->column = (uint32) (column - reader->columns);
	later->row = row;
	memcpy(later->pointer, p, VARSIZE_EXTERNAL(p));
}

bool
rows_put_later(RowReader *reader)
{
	bool		held = true;

	for (int i = 0; i < reader->nlater && held; i++)
		held = put_string(reader, &reader->columns[reader->later[i].column], reader->later[i].pointer,
						  reader->later[i].row);
	reader->nlater = 0;
	return held;
}

/* Writes the value at p.  Returns false if it cannot be held. */
static inline bool
put_value(RowReader *reader, RowColumn *column, const char *p, uint32 row)
{
	char	   *out = column->values + column->width * row;

	if (column->description.form == COLUMN_CODES)
	{
		if (!reader->locked || column->base == NAMEOID || !VARATT_IS_EXTERNAL(p))
			return put_string(reader, column, p, row);
		put_off(reader, column, p, row);
		return true;
	}
	if (column->description.form != COLUMN_AS_IS)
		return column_encode(&column->description, PointerGetDatum(p), out);
	/* constant sizes become single instructions */
	switch (column->width)
	{
		case 1:
			*out = *p;
			break;
		case 2:
			memcpy(out, p, 2);
			break;
		case 4:
			memcpy(out, p, 4);
			break;
		case 8:
			memcpy(out, p, 8);
			break;
		default:
			memcpy(out, p, 16);
			break;
	}
	return true;
}

/* Writes the columns that a tuple is too old to have.  Returns false if a value cannot be held. */
static bool
put_missing(RowReader *reader, int natts, uint32 row)
{
	for (int i = natts; i < reader->nattributes; i++)
	{
		RowColumn  *column;

		if (reader->attributes[i].column < 0)
			continue;
		column = &reader->columns[reader->attributes[i].column];
		if (column->missing_bad)
			return false;
		if (column->missing_null)
			set_null(column, row);
		else if (column->description.form == COLUMN_CODES)
		{
			if (!put_string(reader, column, DatumGetPointer(column->missing_string), row))
				return false;
		}
		else
			memcpy(column->values + column->width * row, column->missing, column->width);
	}
	return true;
}

/* Returns the offset of an attribute that follows others at offset. */
static inline uint32
align_attribute(const RowAttribute *attribute, const char *data, uint32 offset)
{
	/* a short header is not aligned, and its first byte is not 0 as padding is */
	if (attribute->length == -1 && data[offset] != 0)
		return offset;
	return (uint32) TYPEALIGN(attribute->align, offset);
}

/* Returns the bytes of the attribute at p. */
static inline uint32
attribute_bytes(const RowAttribute *attribute, const char *p)
{
	if (attribute->length > 0)
		return (uint32) attribute->length;
	if (attribute->length == -1)
		return (uint32) VARSIZE_ANY(p);
	return (uint32) strlen(p) + 1;
}

/* Writes attributes from one on, whose offsets are found on the way. */
static bool
walk(RowReader *reader, HeapTupleHeader tuple, int first, int natts, uint32 offset, uint32 row)
{
	const char *data = (const char *) tuple + tuple->t_hoff;
	const uint8 *nulls = (tuple->t_infomask & HEAP_HASNULL) ? tuple->t_bits : NULL;

	for (int i = first; i < natts; i++)
	{
		const RowAttribute *attribute = &reader->attributes[i];

		if (nulls != NULL && att_isnull(i, nulls))
		{
			if (attribute->column >= 0)
				set_null(&reader->columns[attribute->column], row);
			continue;
		}
		offset = align_attribute(attribute, data, offset);
		if (attribute->column >= 0 && !put_value(reader, &reader->columns[attribute->column], data + offset, row))
			return false;
		offset += attribute_bytes(attribute, data + offset);
	}
	return true;
}

/* Writes the values of a tuple that has NULLs, or is older than a column. */
static bool
read_other(RowReader *reader, HeapTupleHeader tuple, uint32 row)
{
	int			natts = Min((int) HeapTupleHeaderGetNatts(tuple), reader->nattributes);

	return (natts == reader->nattributes || put_missing(reader, natts, row)) && walk(reader, tuple, 0, natts, 0, row);
}

bool
row_read(RowReader *reader, HeapTupleHeader tuple, uint32 row)
{
	const char *data = (const char *) tuple + tuple->t_hoff;

	if ((tuple->t_infomask & HEAP_HASNULL) != 0 || (int) HeapTupleHeaderGetNatts(tuple) < reader->nattributes)
		return read_other(reader, tuple, row);
	for (int i = 0; i < reader->nheld; i++)
	{
		const RowFixed *fixed = &reader->fixed[i];

		if (!put_value(reader, &reader->columns[fixed->column], data + fixed->offset, row))
			return false;
	}
	/* known attributes end where the next begins, but for its alignment */
	return reader->nfixed == reader->nattributes ||
		walk(reader, tuple, reader->nfixed, reader->nattributes, (uint32) reader->fixed_end, row);
}

/* Copies the values at an offset of all tuples.  Inlined for each width, so that a copy is an instruction. */
static pg_attribute_always_inline void
copy_values(char *out, const HeapTupleHeader *tuples, int count, uint32 offset, Size width)
{
	for (int row = 0; row < count; row++)
		memcpy(out + width * row, (const char *) tuples[row] + tuples[row]->t_hoff + offset, width);
}

/* Copies a column of known offset from all tuples, as rows from first on. */
static void
copy_column(RowColumn *column, const HeapTupleHeader *tuples, int count, uint32 offset, uint32 first)
{
	char	   *out = column->values + column->width * first;

	switch (column->width)
	{
		case 1:
			copy_values(out, tuples, count, offset, 1);
			break;
		case 2:
			copy_values(out, tuples, count, offset, 2);
			break;
		case 4:
			copy_values(out, tuples, count, offset, 4);
			break;
		case 8:
			copy_values(out, tuples, count, offset, 8);
			break;
		default:
			copy_values(out, tuples, count, offset, 16);
			break;
	}
}

/* Returns true if all tuples have values for all attributes, so that known offsets apply. */
static bool
all_complete(const RowReader *reader, const HeapTupleHeader *tuples, int count)
{
	for (int row = 0; row < count; row++)
		if ((tuples[row]->t_infomask & HEAP_HASNULL) != 0 ||
			(int) HeapTupleHeaderGetNatts(tuples[row]) < reader->nattributes)
			return false;
	return true;
}

bool
rows_read(RowReader *reader, const HeapTupleHeader *tuples, int count, uint32 first)
{
	if (!all_complete(reader, tuples, count))
		return false;
	for (int i = 0; i < reader->nheld; i++)
	{
		RowColumn  *column = &reader->columns[reader->fixed[i].column];

		if (column->description.form != COLUMN_AS_IS)
			return false;
		copy_column(column, tuples, count, reader->fixed[i].offset, first);
	}
	for (int row = 0; row < count && reader->nfixed < reader->nattributes; row++)
		if (!walk(reader, tuples[row], reader->nfixed, reader->nattributes, (uint32) reader->fixed_end,
				  first + (uint32) row))
			return false;
	return true;
}

void
row_reader_fill(RowReader *reader, const gs_chunk *header, char *buffer)
{
	for (int i = 0; i < reader->ncolumns; i++)
	{
		RowColumn  *column = &reader->columns[i];

		column->values = buffer + header->columns[i].values;
		column->nulls = (uint64 *) (buffer + header->columns[i].nulls);
		column->null_words = header->capacity / 64;
		column->has_nulls = false;
	}
}

void
row_forget(RowReader *reader, uint32 first, uint32 end)
{
	for (int i = 0; i < reader->ncolumns; i++)
	{
		RowColumn  *column = &reader->columns[i];

		for (uint32 row = first; column->has_nulls && row < end; row++)
			column->nulls[row / 64] &= ~(UINT64CONST(1) << (row % 64));
		column->has_nulls = column->has_nulls && first > 0;
	}
	reader->nlater = 0;
}
