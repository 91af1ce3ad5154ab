/*
 * values.c: values as their types' functions write them, but straight to their place in the message.
 *
 * Whatever a setting or a value makes unusual is left to the type's function, value by value: DateStyle but ISO,
 * extra_float_digits below 1, years before 1 or past 9999, infinite numerics in binary.
 */
#include "postgres.h"

#include <math.h>

#include "common/shortest_dec.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "src/keys/numeric_parts.h"
#include "bytes.h"
#include "digits.h"
#include "times.h"
#include "values.h"

/* Converts a string to the client's encoding. */
static pg_noinline const char *
convert(OutFormat *format, const char *from, Size *bytes)
{
	MemoryContext old = MemoryContextSwitchTo(out_scratch(format));
	const char *result = pg_server_to_any(from, (int) *bytes, format->encoding);

	if (result != from)
		*bytes = strlen(result);
	MemoryContextSwitchTo(old);
	return result;
}

/* Writes a string up to a zero byte, in a message or in a line of COPY. */
static pg_attribute_always_inline char *
write_string(OutFormat *format, const char *from, Size bytes, char *to, bool in_line)
{
	if (unlikely(format->convert))
	{
		bytes = strnlen(from, bytes);
		from = convert(format, from, &bytes);
	}
	to = out_room(format, to, in_line ? 2 * bytes : bytes);
	return likely(to != NULL) ? put_string(to, from, bytes, format->delimiter, in_line) : NULL;
}

/* Makes a column's function ready and switches to the scratch context. */
static MemoryContext
begin_call(OutFormat *format, OutColumn *column)
{
	if (column->function.fn_oid == InvalidOid)
		fmgr_info_cxt(column->function_oid, &column->function, format->cxt);
	return MemoryContextSwitchTo(out_scratch(format));
}

/* Writes a value by the type's output function. */
static inline char *
call_output(OutFormat *format, OutColumn *column, Datum value, char *to, bool in_line)
{
	MemoryContext old = begin_call(format, column);
	char	   *string = OutputFunctionCall(&column->function, value);

	MemoryContextSwitchTo(old);
	return write_string(format, string, strlen(string), to, in_line);
}

pg_noinline char *
write_by_output(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	return call_output(format, column, value, to, false);
}

pg_noinline char *
write_by_output_in_line(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	return call_output(format, column, value, to, true);
}

pg_noinline char *
write_by_send(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	MemoryContext old = begin_call(format, column);
	bytea	   *bytes = SendFunctionCall(&column->function, value);

	MemoryContextSwitchTo(old);
	to = out_room(format, to, VARSIZE(bytes) - VARHDRSZ);
	return to ? put_bytes(to, VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ) : NULL;
}

/* Returns a varlena uncompressed and in memory; its header may be short. */
static inline struct varlena *
plain(OutFormat *format, Datum value)
{
	struct varlena *varlena = (struct varlena *) DatumGetPointer(value);

	if (unlikely(VARATT_IS_COMPRESSED(varlena) || VARATT_IS_EXTERNAL(varlena)))
	{
		MemoryContext old = MemoryContextSwitchTo(out_scratch(format));

		varlena = pg_detoast_datum_packed(varlena);
		MemoryContextSwitchTo(old);
	}
	return varlena;
}

/* Writes a text. */
static char *
write_text(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	struct varlena *text = plain(format, value);

	return write_string(format, VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text), to, false);
}

/* As write_text, in a line of COPY. */
static char *
write_text_in_line(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	struct varlena *text = plain(format, value);

	return write_string(format, VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text), to, true);
}

/* Writes a name, whose length is its string's. */
static char *
write_name(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	const char *name = NameStr(*DatumGetName(value));

	return write_string(format, name, strlen(name), to, false);
}

/* As write_name, in a line of COPY. */
static char *
write_name_in_line(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	const char *name = NameStr(*DatumGetName(value));

	return write_string(format, name, strlen(name), to, true);
}

/* Writes a boolean. */
static char *
write_bool(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	*to = DatumGetBool(value) ? 't' : 'f';
	return to + 1;
}

/* Writes an int2. */
static char *
write_int2(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	return put_int64(to, DatumGetInt16(value));
}

/* Writes an int4. */
static char *
write_int4(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	return put_int64(to, DatumGetInt32(value));
}

/* Writes an int8. */
static char *
write_int8(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	return put_int64(to, DatumGetInt64(value));
}

/* Writes an oid. */
static char *
write_oid(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	return put_uint64(to, DatumGetObjectId(value));
}

/* Writes what another writer returned, or leaves the value to its function if that is NULL. */
static inline char *
or_by_output(OutFormat *format, OutColumn *column, Datum value, char *to, char *end)
{
	if (likely(end != NULL))
		return end;
	return format->message == OUT_COPY_LINE ? write_by_output_in_line(format, column, value, to) :
		write_by_output(format, column, value, to);
}

/* Writes a float4, in the shortest form that reads back as the value. */
static char *
write_float4(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	char	   *end = NULL;

	if (likely(extra_float_digits > 0))
		end = to + float_to_shortest_decimal_bufn(DatumGetFloat4(value), to);
	return or_by_output(format, column, value, to, end);
}

/*
 * Writes a number of at most two decimals and 14 digits, or returns NULL.  Decimals of at most 15 digits are all
 * different as doubles, so the only one that reads back as the value is its shortest form.
 */
static inline char *
put_cents(char *to, float8 value)
{
	float8		cents = rint(value * 100.0);
	int64		n;
	uint32		fraction;

	/* false for NaN; 0 has a sign */
	if (!(fabs(cents) >= 1.0 && fabs(cents) < 1e14) || cents / 100.0 != value)
		return NULL;
	n = (int64) cents;
	if (n < 0)
		*to++ = '-';
	n = n < 0 ? -n : n;
	fraction = (uint32) (n % 100);
	to = put_uint64(to, (uint64) n / 100);
	if (fraction == 0)
		return to;
	*to = '.';
	put_pair(to + 1, fraction);
	return to + (fraction % 10 == 0 ? 2 : 3);
}

/* Writes a float8, likewise. */
static char *
write_float8(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	float8		number = DatumGetFloat8(value);
	char	   *end = NULL;

	if (likely(extra_float_digits > 0))
	{
		end = put_cents(to, number);
		if (end == NULL)
			end = to + double_to_shortest_decimal_bufn(number, to);
	}
	return or_by_output(format, column, value, to, end);
}

/* Returns a numeric's digit of base 10000, which is 0 where none is stored. */
static inline uint32
numeric_digit(const NumericParts *number, int i)
{
	return i >= 0 && i < number->ndigits ? numeric_half_at(number->digits, i) : 0;
}

/* Writes a finite numeric as get_str_from_var does; there is room for whole digits behind it. */
static char *
put_numeric(char *to, const NumericParts *number)
{
	int			i = number->weight + 1;
	char	   *end;

	if (number->negative)
		*to++ = '-';
	if (number->weight < 0)
		*to++ = '0';
	else if (number->weight == 0)
		to = put_below_1e8(to, numeric_digit(number, 0));
	else
	{
		to = put_below_1e8(to, numeric_digit(number, 0) * NUMERIC_BASE + numeric_digit(number, 1));
		for (i = 2; i <= number->weight; i++, to += NUMERIC_BASE_DECIMALS)
			put_four(to, numeric_digit(number, i));
	}
	if (number->scale == 0)
		return to;
	*to++ = '.';
	for (end = to + number->scale; to < end; i++, to += NUMERIC_BASE_DECIMALS)
		put_four(to, numeric_digit(number, i));
	return end;
}

/* Writes a numeric with its scale's digits. */
static char *
write_numeric(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	static const char *const words[] = {[NUMBER_MINUS_INF] = "-Infinity",[NUMBER_PLUS_INF] = "Infinity",
	[NUMBER_NAN] = "NaN"};
	NumericParts number;

	numeric_take_apart(plain(format, value), &number);
	if (unlikely(number.kind != NUMBER_FINITE))
		return write_string(format, words[number.kind], strlen(words[number.kind]), to, false);
	/* sign, the digits before the point or a 0, the point, the digits behind it and what is cut off */
	to = out_room(format, to, ((Size) Max(number.weight, 0) + 3) * NUMERIC_BASE_DECIMALS + (Size) number.scale);
	return to ? put_numeric(to, &number) : NULL;
}

/* Writes a date. */
static char *
write_date(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	return or_by_output(format, column, value, to,
						DateStyle == USE_ISO_DATES ? put_date(to, DatumGetDateADT(value)) : NULL);
}

/* Writes a timestamp. */
static char *
write_timestamp(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	return or_by_output(format, column, value, to,
						DateStyle == USE_ISO_DATES ? put_timestamp(to, DatumGetTimestamp(value)) : NULL);
}

/* Writes a timestamptz in the session's time zone. */
static char *
write_timestamptz(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	return or_by_output(format, column, value, to,
						DateStyle == USE_ISO_DATES ? put_timestamptz(to, DatumGetTimestampTz(value)) : NULL);
}

/* Writes a uuid. */
static char *
write_uuid(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	const char *bytes = (const char *) DatumGetUUIDP(value)->data;

	(void) hex_encode(bytes, 4, to);
	(void) hex_encode(bytes + 4, 2, to + 9);
	(void) hex_encode(bytes + 6, 2, to + 14);
	(void) hex_encode(bytes + 8, 2, to + 19);
	(void) hex_encode(bytes + 10, 6, to + 24);
	to[8] = to[13] = to[18] = to[23] = '-';
	return to + 36;
}

/* Sends a text, with all its bytes. */
static char *
send_text(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	struct varlena *text = plain(format, value);
	const char *from = VARDATA_ANY(text);
	Size		bytes = VARSIZE_ANY_EXHDR(text);

	if (unlikely(format->convert))
		from = convert(format, from, &bytes);
	to = out_room(format, to, bytes);
	return likely(to != NULL) ? put_bytes(to, from, bytes) : NULL;
}

/* Sends a boolean. */
static char *
send_bool(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	*to = DatumGetBool(value) ? 1 : 0;
	return to + 1;
}

/* Stores 16 bits, big-endian. */
static inline char *
put_half(char *to, int number)
{
	uint16		half = pg_hton16((uint16) number);

	return (char *) memcpy(to, &half, sizeof(half)) + sizeof(half);
}

/* Sends 16 bits. */
static char *
send_2(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	return put_half(to, DatumGetInt16(value));
}

/* Sends 32 bits, which are those of the value. */
static char *
send_4(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	uint32		word = pg_hton32(DatumGetUInt32(value));

	return (char *) memcpy(to, &word, sizeof(word)) + sizeof(word);
}

/* Sends 64 bits, likewise. */
static char *
send_8(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	uint64		word = pg_hton64((uint64) DatumGetInt64(value));

	return (char *) memcpy(to, &word, sizeof(word)) + sizeof(word);
}

/* Sends a uuid. */
static char *
send_uuid(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	return (char *) memcpy(to, DatumGetUUIDP(value)->data, UUID_LEN) + UUID_LEN;
}

/* Sends a numeric: its counts, then its digits. */
static char *
send_numeric(OutFormat *format, OutColumn *column, Datum value, char *to)
{
	NumericParts number;

	numeric_take_apart(plain(format, value), &number);
	if (unlikely(number.kind != NUMBER_FINITE))
		return write_by_send(format, column, value, to);
	to = out_room(format, to, (4 + (Size) number.ndigits) * sizeof(uint16));
	if (unlikely(to == NULL))
		return NULL;
	to = put_half(to, number.ndigits);
	to = put_half(to, number.weight);
	to = put_half(to, number.negative ? NUMERIC_LONG_NEGATIVE : 0);
	to = put_half(to, number.scale);
	for (int i = 0; i < number.ndigits; i++)
		to = put_half(to, numeric_half_at(number.digits, i));
	return to;
}

/* Types by the functions that write them in text, then by those that do in binary, which COPY's lines never have. */
static const ValueKind kinds[] = {
	{F_INT4OUT, 11, write_int4, write_int4},
	{F_INT8OUT, 20, write_int8, write_int8},
	{F_INT2OUT, 6, write_int2, write_int2},
	{F_TEXTOUT, 0, write_text, write_text_in_line},
	{F_VARCHAROUT, 0, write_text, write_text_in_line},
	{F_BPCHAROUT, 0, write_text, write_text_in_line},
	{F_NAMEOUT, 0, write_name, write_name_in_line},
	{F_BOOLOUT, 1, write_bool, write_bool},
	{F_OIDOUT, 10, write_oid, write_oid},
	{F_FLOAT4OUT, FLOAT_SHORTEST_DECIMAL_LEN, write_float4, write_float4},
	{F_FLOAT8OUT, DOUBLE_SHORTEST_DECIMAL_LEN, write_float8, write_float8},
	{F_NUMERIC_OUT, 0, write_numeric, write_numeric},
	{F_DATE_OUT, TIME_BYTES, write_date, write_date},
	{F_TIMESTAMP_OUT, TIME_BYTES, write_timestamp, write_timestamp},
	{F_TIMESTAMPTZ_OUT, TIME_BYTES, write_timestamptz, write_timestamptz},
	{F_UUID_OUT, 36, write_uuid, write_uuid},
	{F_INT4SEND, 4, send_4, NULL},
	{F_INT8SEND, 8, send_8, NULL},
	{F_INT2SEND, 2, send_2, NULL},
	{F_TEXTSEND, 0, send_text, NULL},
	{F_VARCHARSEND, 0, send_text, NULL},
	{F_BPCHARSEND, 0, send_text, NULL},
	{F_NAMESEND, 0, write_name, NULL},
	{F_BOOLSEND, 1, send_bool, NULL},
	{F_OIDSEND, 4, send_4, NULL},
	{F_FLOAT4SEND, 4, send_4, NULL},
	{F_FLOAT8SEND, 8, send_8, NULL},
	{F_NUMERIC_SEND, 0, send_numeric, NULL},
	{F_DATE_SEND, 4, send_4, NULL},
	{F_TIMESTAMP_SEND, 8, send_8, NULL},
	{F_TIMESTAMPTZ_SEND, 8, send_8, NULL},
	{F_UUID_SEND, UUID_LEN, send_uuid, NULL},
};

const ValueKind *
value_kind(Oid function)
{
	for (size_t i = 0; i < lengthof(kinds); i++)
		if (kinds[i].function == function)
			return &kinds[i];
	return NULL;
}
