/*
 * output.c: rows that leave as messages (src/out), against the functions of their types.
 *
 * An input chooses settings, an encoding, up to four columns and some rows.  Each row becomes a DataRow, its columns in
 * text or binary, and a line of COPY; from values, and from a tuple.  Values that their type's function refuses, or the
 * encoding cannot have, are NULL.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/bytea.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#include "src/base/compat.h"
#include "src/out/format.h"
#include "values.h"

#define MOST_COLUMNS 4
#define MOST_ROWS 20

/* Columns, and one row of them. */
typedef struct Row
{
	int			ncolumns;
	const ValueKind *kinds[MOST_COLUMNS];
	TupleDesc	desc;
	int16		formats[MOST_COLUMNS];
	Datum		values[MOST_COLUMNS];
	bool		nulls[MOST_COLUMNS];
	/* as the type's functions have them, in the client's encoding */
	char	   *texts[MOST_COLUMNS];
	bytea	   *sent[MOST_COLUMNS];
} Row;

/* Takes settings that change how values look. */
static void
take_settings(Input *input)
{
	static const char *const zones[] = {"UTC", "Europe/Berlin", "America/St_Johns", "Africa/Monrovia",
	"Pacific/Apia", "Asia/Kathmandu", "CET-1CEST", "Antarctica/Troll"};
	static const int encodings[] = {PG_UTF8, PG_LATIN1, PG_GB18030, PG_SQL_ASCII};
	uint8		how = take_byte(input);

	DateStyle = how & 1 ? how >> 1 & 3 : USE_ISO_DATES;
	DateOrder = how >> 3 & 1 ? DATEORDER_DMY : DATEORDER_MDY;
	extra_float_digits = how & 16 ? how >> 5 & 3 : 1;
	how = take_byte(input);
	session_timezone = pg_tzset(zones[how & 7]);
	IntervalStyle = how >> 3 & 3;
	bytea_output = how & 32 ? BYTEA_OUTPUT_HEX : BYTEA_OUTPUT_ESCAPE;
	if (PrepareClientEncoding(encodings[how >> 6]) < 0 || SetClientEncoding(encodings[how >> 6]) < 0)
		elog(ERROR, "no encoding %d", encodings[how >> 6]);
}

/* Takes the columns. */
static void
take_columns(Row *row, Input *input)
{
	row->ncolumns = 1 + take_byte(input) % MOST_COLUMNS;
	row->desc = CreateTemplateTupleDesc(row->ncolumns);
	for (int i = 0; i < row->ncolumns; i++)
	{
		uint8		which = take_byte(input);

		row->kinds[i] = &value_kinds[which % value_kinds_count];
		row->formats[i] = which >= 128;
		TupleDescInitEntry(row->desc, (AttrNumber) (i + 1), NULL, value_type(which % value_kinds_count), -1, 0);
	}
	finish_descriptor(row->desc);
}

/* Has the type's functions write a value; false: they refuse to, or its encoding does. */
static bool
write_plainly(Row *row, int i)
{
	MemoryContext old = CurrentMemoryContext;
	Oid			type = TupleDescAttr(row->desc, i)->atttypid;
	volatile bool good = true;
	Oid			output;
	Oid			send;
	bool		varlena;

	getTypeOutputInfo(type, &output, &varlena);
	getTypeBinaryOutputInfo(type, &send, &varlena);
	PG_TRY();
	{
		char	   *text = OidOutputFunctionCall(output, row->values[i]);

		row->texts[i] = pg_server_to_client(text, (int) strlen(text));
		row->sent[i] = OidSendFunctionCall(send, row->values[i]);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(old);
		FlushErrorState();
		good = false;
	}
	PG_END_TRY();
	return good;
}

/* Takes a row. */
static void
take_row(Row *row, Input *input)
{
	for (int i = 0; i < row->ncolumns; i++)
	{
		row->nulls[i] = take_byte(input) % 16 == 15;
		if (!row->nulls[i])
		{
			row->values[i] = make_value(row->kinds[i], TupleDescAttr(row->desc, i)->atttypid, input, NULL, 0);
			row->nulls[i] = !write_plainly(row, i);
		}
	}
}

/* A DataRow as printtup.c has it. */
static void
expect_data_row(StringInfo to, const Row *row)
{
	pq_sendint16(to, (uint16) row->ncolumns);
	for (int i = 0; i < row->ncolumns; i++)
	{
		uint32		bytes;

		if (row->nulls[i])
		{
			pq_sendint32(to, PG_UINT32_MAX);
			continue;
		}
		bytes = (uint32) (row->formats[i] ? VARSIZE(row->sent[i]) - VARHDRSZ : strlen(row->texts[i]));
		pq_sendint32(to, bytes);
		appendBinaryStringInfo(to, row->formats[i] ? VARDATA(row->sent[i]) : row->texts[i], (int) bytes);
	}
}

/* A line of COPY, whose documentation tells what is escaped. */
static void
expect_line(StringInfo to, const Row *row, char delimiter)
{
	static const char special[] = "\b\f\n\r\t\v\\";
	static const char letters[] = "bfnrtv\\";

	for (int i = 0; i < row->ncolumns; i++)
	{
		if (i > 0)
			appendStringInfoChar(to, delimiter);
		if (row->nulls[i])
			appendStringInfoString(to, "\\N");
		for (const char *c = row->nulls[i] ? "" : row->texts[i]; *c != '\0'; c++)
		{
			const char *found = strchr(special, *c);

			if (found != NULL || *c == delimiter)
				appendStringInfoChar(to, '\\');
			appendStringInfoChar(to, found != NULL ? letters[found - special] : *c);
		}
	}
	appendStringInfoChar(to, '\n');
}

/* Compares a message behind those before it. */
static void
check_message(const OutBuffer *buffer, Size before, char type, const StringInfoData *body, const char *from)
{
	const char *message = buffer->data + before;
	uint32		length;

	if (buffer->len != before + MESSAGE_HEADER + (Size) body->len)
		elog(ERROR, "a message %c from %s of %zu bytes, not %d", type, from, buffer->len - before - MESSAGE_HEADER,
			 body->len);
	memcpy(&length, message + 1, sizeof(length));
	if (message[0] != type || pg_ntoh32(length) != (uint32) body->len + sizeof(length))
		elog(ERROR, "the head of a message %c from %s", type, from);
	for (int i = 0; i < body->len; i++)
		if (message[MESSAGE_HEADER + i] != body->data[i])
			elog(ERROR, "a message %c from %s differs from byte %d on: \"%s\", not \"%s\"", type, from, i,
				 pnstrdup(message + MESSAGE_HEADER + i, (Size) (body->len - i)), body->data + i);
}

/* Writes a row from values and from a tuple. */
static void
check_row(OutFormat *format, const Row *row, char type, const StringInfoData *body)
{
	HeapTuple	tuple = heap_form_tuple(row->desc, (Datum *) row->values, (bool *) row->nulls);
	Size		before = format->buffer->len;

	if (!out_values(format, row->values, row->nulls))
		elog(ERROR, "a row is too large");
	check_message(format->buffer, before, type, body, "values");
	before = format->buffer->len;
	if (!out_tuple(format, tuple->t_data))
		elog(ERROR, "a tuple is too large");
	check_message(format->buffer, before, type, body, "a tuple");
}

void
check_output(const uint8 *bytes, Size n)
{
	Input		input = {bytes, bytes + n};
	Row			row = {0};
	Size		room;
	OutBuffer	buffers[2] = {{0}};
	CopyOptions copy = {.null_text = "\\N"};
	OutFormat  *data_rows;
	OutFormat  *lines = NULL;

	take_settings(&input);
	copy.delimiter = "\t,|;"[take_byte(&input) & 3];
	copy.encoding = pg_get_client_encoding();
	room = 1 + take_byte(&input);
	take_columns(&row, &input);
	for (int i = 0; i < 2; i++)
		buffers[i] = (OutBuffer) {.data = palloc(room), .size = room};
	data_rows = out_open(row.desc, row.formats, NULL, &buffers[0]);
	if (!PG_ENCODING_IS_CLIENT_ONLY(copy.encoding))
		lines = out_open(row.desc, NULL, &copy, &buffers[1]);
	for (int i = 0; i < MOST_ROWS && bytes_left(&input) > 0; i++)
	{
		StringInfoData body;

		take_row(&row, &input);
		initStringInfo(&body);
		expect_data_row(&body, &row);
		check_row(data_rows, &row, 'D', &body);
		resetStringInfo(&body);
		expect_line(&body, &row, copy.delimiter);
		if (lines != NULL)
			check_row(lines, &row, 'd', &body);
	}
	out_close(data_rows);
	if (lines != NULL)
		out_close(lines);
}
