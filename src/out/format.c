/*
 * format.c: rows as messages of the protocol.
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "mb/pg_wchar.h"
#include "port/pg_bswap.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "src/base/alignment.h"
#include "src/base/compat.h"
#include "format.h"
#include "values.h"

/* What copies of whole words write behind a value. */
#define SLACK 32

/* Notes what strings are converted to; the rule is pg_server_to_any's. */
static void
set_encoding(OutFormat *format, int encoding)
{
	format->encoding = encoding;
	format->convert = encoding != GetDatabaseEncoding() && encoding != PG_SQL_ASCII;
}

/* Prepares a column, in text or binary. */
static void
open_column(OutFormat *format, OutColumn *column, Form_pg_attribute attribute, bool binary)
{
	bool		varlena;
	const ValueKind *kind;

	if (binary)
		getTypeBinaryOutputInfo(attribute->atttypid, &column->function_oid, &varlena);
	else
		getTypeOutputInfo(attribute->atttypid, &column->function_oid, &varlena);
	kind = value_kind(column->function_oid);
	column->by_value = attribute->attbyval;
	column->length = attribute->attlen;
	column->align = alignment_bytes(attribute->attalign);
	format->bound += sizeof(uint32) + (kind ? kind->bytes : 0);
	if (format->message == OUT_COPY_LINE)
		column->write = kind ? kind->write_line : write_by_output_in_line;
	else
		column->write = kind ? kind->write : binary ? write_by_send : write_by_output;
}

/* Prepares for lines of COPY. */
static void
open_lines(OutFormat *format, const CopyOptions *copy)
{
	format->message = OUT_COPY_LINE;
	set_encoding(format, copy->encoding);
	format->delimiter = copy->delimiter;
	format->null_text = pg_server_to_any(copy->null_text, (int) strlen(copy->null_text), copy->encoding);
	format->null_bytes = strlen(format->null_text);
}

OutFormat *
out_open(TupleDesc desc, const int16 *formats, const CopyOptions *copy, OutBuffer *buffer)
{
	OutFormat  *format = palloc0(offsetof(OutFormat, columns) + sizeof(OutColumn) * (Size) desc->natts);

	format->ncolumns = desc->natts;
	format->buffer = buffer;
	format->cxt = CurrentMemoryContext;
	format->bound = MESSAGE_HEADER + sizeof(uint16) + SLACK;
	if (copy)
		open_lines(format, copy);
	else
	{
		format->follows_client = true;
		set_encoding(format, pg_get_client_encoding());
	}
	for (int i = 0; i < desc->natts; i++)
		open_column(format, &format->columns[i], TupleDescAttr(desc, i), formats != NULL && formats[i] == 1);
	return format;
}

void
out_close(OutFormat *format)
{
	if (format->scratch)
		MemoryContextDelete(format->scratch);
	pfree(format);
}

/* Where values come from: arrays, or a tuple, column by column. */
typedef struct RowSource
{
	const Datum *values;		/* NULL: from the tuple */
	const bool *nulls;
	const char *data;			/* of the tuple */
	Size		at;				/* where its next column begins, but for alignment */
	const uint8 *bitmap;		/* NULL: no column is NULL */
} RowSource;

/* Returns a tuple's next column, at an offset that need not be aligned.  A varlena with a short header is not. */
static inline Datum
next_of_tuple(RowSource *row, const OutColumn *column)
{
	const char *from;

	if (column->length != -1 || row->data[row->at] == 0)
		row->at = TYPEALIGN(column->align, row->at);
	from = row->data + row->at;
	if (column->length == -1)
		row->at += VARSIZE_ANY(from);
	else
		row->at += column->length >= 0 ? (Size) column->length : strlen(from) + 1;
	return fetch_att(from, column->by_value, column->length);
}

/* Fetches the next value, the i-th; false: it is NULL. */
static pg_attribute_always_inline bool
next_value(RowSource *row, const OutColumn *column, int i, Datum *value)
{
	if (row->values)
	{
		*value = row->values[i];
		return !row->nulls[i];
	}
	if (row->bitmap && att_isnull(i, row->bitmap))
		return false;
	*value = next_of_tuple(row, column);
	return true;
}

/* Stores a length of the protocol. */
static inline void
store_length(char *to, Size length)
{
	uint32		big_endian = pg_hton32((uint32) length);

	memcpy(to, &big_endian, sizeof(big_endian));
}

/* Writes a DataRow's body; NULL if it is too large. */
static pg_attribute_always_inline char *
write_data_row(OutFormat *format, RowSource *row, char *to)
{
	uint16		ncolumns = pg_hton16((uint16) format->ncolumns);

	memcpy(to, &ncolumns, sizeof(ncolumns));
	to += sizeof(ncolumns);
	for (int i = 0; i < format->ncolumns; i++)
	{
		OutColumn  *column = &format->columns[i];
		Size		start = (Size) (to - format->buffer->data);
		Datum		value;

		if (!next_value(row, column, i, &value))
		{
			store_length(to, PG_UINT32_MAX);
			to += sizeof(uint32);
			continue;
		}
		to = column->write(format, column, value, to + sizeof(uint32));
		if (unlikely(to == NULL))
			return NULL;
		store_length(format->buffer->data + start, (Size) (to - format->buffer->data) - start - sizeof(uint32));
	}
	return to;
}

/* Writes a line of COPY; NULL if it is too large. */
static pg_attribute_always_inline char *
write_line(OutFormat *format, RowSource *row, char *to)
{
	for (int i = 0; i < format->ncolumns; i++)
	{
		OutColumn  *column = &format->columns[i];
		Datum		value;

		if (i > 0)
			*to++ = format->delimiter;
		if (likely(next_value(row, column, i, &value)))
			to = column->write(format, column, value, to);
		else
		{
			to = out_room(format, to, format->null_bytes);
			if (to)
				to = (char *) memcpy(to, format->null_text, format->null_bytes) + format->null_bytes;
		}
		if (unlikely(to == NULL))
			return NULL;
	}
	*to++ = '\n';
	return to;
}

/* Appends a row's message. */
static pg_attribute_always_inline bool
append_row(OutFormat *format, RowSource *row)
{
	OutBuffer  *buffer = format->buffer;
	char	   *to;

	if (unlikely(format->follows_client && pg_get_client_encoding() != format->encoding))
		set_encoding(format, pg_get_client_encoding());
	to = out_room(format, buffer->data + buffer->len, 0) + MESSAGE_HEADER;
	to = format->message == OUT_DATAROW ? write_data_row(format, row, to) : write_line(format, row, to);
	if (likely(to != NULL))
	{
		char	   *start = buffer->data + buffer->len;

		start[0] = format->message == OUT_DATAROW ? 'D' : 'd';
		store_length(start + 1, (Size) (to - start) - 1);
		buffer->len = (Size) (to - buffer->data);
	}
	if (format->dirty)
	{
		MemoryContextReset(format->scratch);
		format->dirty = false;
	}
	return to != NULL;
}

bool
out_values(OutFormat *format, const Datum *values, const bool *nulls)
{
	RowSource	row = {.values = values, .nulls = nulls};

	return append_row(format, &row);
}

bool
out_tuple(OutFormat *format, HeapTupleHeader tuple)
{
	RowSource	row = {.data = (const char *) tuple + tuple->t_hoff};

	if (unlikely(HeapTupleHeaderGetNatts(tuple) < format->ncolumns))
		return false;
	if (tuple->t_infomask & HEAP_HASNULL)
		row.bitmap = tuple->t_bits;
	return append_row(format, &row);
}

/* Returns the tuple that a slot points to, or NULL: its values are in arrays. */
static inline HeapTupleHeader
tuple_of_slot(const TupleTableSlot *slot)
{
	if (TTS_IS_MINIMALTUPLE(slot))
	{
		MinimalTuple tuple = ((const MinimalTupleTableSlot *) slot)->mintuple;

		return tuple ? HEADER_OF_MINIMAL(tuple) : NULL;
	}
	if (TTS_IS_HEAPTUPLE(slot) || TTS_IS_BUFFERTUPLE(slot))
	{
		HeapTuple	tuple = ((const HeapTupleTableSlot *) slot)->tuple;

		return tuple ? tuple->t_data : NULL;
	}
	return NULL;
}

bool
out_slot(OutFormat *format, TupleTableSlot *slot)
{
	HeapTupleHeader tuple = tuple_of_slot(slot);

	if (tuple && out_tuple(format, tuple))
		return true;
	slot_getallattrs(slot);
	return out_values(format, slot->tts_values, slot->tts_isnull);
}
