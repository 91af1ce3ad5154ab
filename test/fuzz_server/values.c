/*
 * values.c: values of many types out of the bytes of a fuzzer's input.
 *
 * Each is one that the type's input functions could have made, whatever the bytes: comparison functions may rely on
 * that, and so may encoders.
 */
#include "values.h"

#include <sys/socket.h>

#include "access/htup_details.h"
#include "access/toast_internals.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/date.h"
#include "utils/inet.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
#include "utils/varbit.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* What strings begin as. */
static const Datum *earlier_values;
static int	earlier_count;

/* So many bytes as a number, least significant first. */
static uint64
take_number(Input *input, int bytes)
{
	uint64		number = 0;

	for (int i = 0; i < bytes; i++)
		number |= (uint64) take_byte(input) << 8 * i;
	return number;
}

int64
take_integer(Input *input, int bits)
{
	uint8		how = take_byte(input);
	int			shift = 64 - bits;
	uint64		number;

	switch (how & 3)
	{
		case 0:
			return (int8) take_byte(input);
		case 1:
			/* a power of two, or one of its neighbours */
			number = (UINT64CONST(1) << (how >> 2) % bits) + (uint64) (int64) (int8) take_byte(input) % 3;
			return (int64) number << shift >> shift;
		default:
			return (int64) (take_number(input, bits / 8) << shift) >> shift;
	}
}

static Datum
bool_value(Input *input, Oid type)
{
	return BoolGetDatum(take_byte(input) & 1);
}

static Datum
char_value(Input *input, Oid type)
{
	return CharGetDatum((char) take_byte(input));
}

static Datum
int16_value(Input *input, Oid type)
{
	return Int16GetDatum((int16) take_integer(input, 16));
}

/* int4, oid, date */
static Datum
int32_value(Input *input, Oid type)
{
	int32		value = (int32) take_integer(input, 32);

	return type == OIDOID ? ObjectIdGetDatum((Oid) value) : Int32GetDatum(value);
}

/* int8, money, timestamps, pg_lsn, xid8 */
static Datum
int64_value(Input *input, Oid type)
{
	return Int64GetDatum(take_integer(input, 64));
}

static Datum
float4_value(Input *input, Oid type)
{
	uint32		bits = (uint32) take_integer(input, 32);
	float4		value;

	memcpy(&value, &bits, sizeof(value));
	return Float4GetDatum(value);
}

static Datum
float8_value(Input *input, Oid type)
{
	uint8		how = take_byte(input);
	uint64		bits = (uint64) take_integer(input, 64);
	float8		value;

	memcpy(&value, &bits, sizeof(value));
	return Float8GetDatum(how & 1 ? (float8) (int64) bits / 8 : value);
}

/* A number below a limit. */
static uint64
take_below(Input *input, uint64 limit)
{
	return (uint64) take_integer(input, 64) % limit;
}

static Datum
time_value(Input *input, Oid type)
{
	return TimeADTGetDatum((TimeADT) take_below(input, USECS_PER_DAY + 1));
}

static Datum
timetz_value(Input *input, Oid type)
{
	TimeTzADT  *value = palloc0(sizeof(TimeTzADT));

	/* neighbours in time and in zone often are the same moment */
	if (take_byte(input) & 1)
	{
		int			minutes = (int) take_below(input, 600);

		value->time = (300 + minutes) * USECS_PER_MINUTE + (int64) take_byte(input) % 2;
		value->zone = (300 - minutes) * SECS_PER_MINUTE;
	}
	else
	{
		value->time = (TimeADT) take_below(input, USECS_PER_DAY + 1);
		value->zone = (int32) take_below(input, 2 * 15 * SECS_PER_HOUR) - 15 * SECS_PER_HOUR;
	}
	return TimeTzADTPGetDatum(value);
}

static Datum
interval_value(Input *input, Oid type)
{
	Interval   *value = palloc0(sizeof(Interval));

	value->time = take_integer(input, 64);
	value->day = (int32) take_integer(input, 32);
	value->month = (int32) take_integer(input, 32);
	return IntervalPGetDatum(value);
}

static Datum
tid_value(Input *input, Oid type)
{
	ItemPointer value = palloc0(sizeof(ItemPointerData));

	ItemPointerSet(value, (BlockNumber) take_integer(input, 32), (OffsetNumber) take_integer(input, 16));
	return PointerGetDatum(value);
}

/* Bytes, of which some are more frequent. */
static void
fill_bytes(Input *input, uint8 *to, Size len)
{
	static const uint8 frequent[] = {0, 1, 0x7f, 0x80, 0xfe, 0xff, 'a', 'b'};

	for (Size i = 0; i < len; i++)
	{
		uint8		byte = take_byte(input);

		to[i] = byte & 1 ? byte >> 1 | (byte & 2) << 6 : frequent[(byte >> 1) % lengthof(frequent)];
	}
}

/* uuid, macaddr, macaddr8 */
static Datum
fixed_value(Input *input, Oid type)
{
	Size		len = (Size) get_typlen(type);
	uint8	   *value = palloc0(len);

	fill_bytes(input, value, len);
	return PointerGetDatum(value);
}

/* A varlena of so many bytes behind its header, which are zero. */
static struct varlena *
new_varlena(Size bytes)
{
	struct varlena *value = palloc0(VARHDRSZ + bytes);

	SET_VARSIZE(value, VARHDRSZ + bytes);
	return value;
}

/* inet; cidr, where the bits outside the netmask are zero */
static Datum
inet_value(Input *input, Oid type)
{
	uint8		how = take_byte(input);
	int			size = how & 1 ? 16 : 4;
	inet	   *value = (inet *) new_varlena(offsetof(inet_struct, ipaddr) + size);

	ip_family(value) = size == 4 ? PGSQL_AF_INET : PGSQL_AF_INET6;
	ip_bits(value) = (how & 2 ? take_byte(input) : how >> 2) % (size * 8 + 1);
	fill_bytes(input, ip_addr(value), size);
	for (int i = ip_bits(value); type == CIDROID && i < size * 8; i++)
		ip_addr(value)[i / 8] &= (uint8) ~(0x80 >> i % 8);
	return PointerGetDatum(value);
}

/* Calls a type's receive function. */
static Datum
receive(PGFunction function, StringInfo message)
{
	return DirectFunctionCall3(function, PointerGetDatum(message), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

Datum
numeric_value(Input *input, Oid type)
{
	static const uint16 kinds[] = {0x0000, 0x4000, 0xC000, 0xD000, 0xF000};
	uint8		how = take_byte(input);
	uint8		odd = take_byte(input);
	int			ndigits = how & 0x80 ? take_byte(input) : how & 7;
	int			weight = odd & 0x80 ? (int16) take_number(input, 2) : (odd & 15) - 7;
	int			kind = (how >> 3 & 15) < 14 ? how >> 3 & 1 : 2 + odd % 3;
	int			scale = Max(0, (ndigits - weight - 1) * 4) + (odd >> 4 & 7) - 3;
	StringInfoData message;

	if (kind >= 2)
		ndigits = weight = scale = 0;
	if (weight > 32767 || ndigits - weight > 4000)
		weight = 0, scale = ndigits * 4;
	initStringInfo(&message);
	pq_sendint16(&message, (uint16) ndigits);
	pq_sendint16(&message, (uint16) weight);
	pq_sendint16(&message, kinds[kind]);
	pq_sendint16(&message, (uint16) Min(Max(scale, 0), 0x3FFF));
	for (int i = 0; i < ndigits; i++)
	{
		uint8		digit = take_byte(input);

		if (digit & 1)
			pq_sendint16(&message, (uint16) (((digit >> 1) * 256 + take_byte(input)) % 10000));
		else
			pq_sendint16(&message, (uint16) ((digit & 2 ? 9999 : 0) + (digit >> 2) * (digit & 2 ? -100 : 100)));
	}
	return receive(numeric_recv, &message);
}

/* One of the values that the type has. */
static Datum
enum_value(Input *input, Oid type)
{
	CatCList   *list = SearchSysCacheList1(ENUMTYPOIDNAME, ObjectIdGetDatum(type));
	HeapTuple	tuple = &list->members[take_byte(input) % list->n_members]->tuple;
	Oid			value = ((Form_pg_enum) GETSTRUCT(tuple))->oid;

	ReleaseCatCacheList(list);
	return ObjectIdGetDatum(value);
}

/* How long a string is; seldom very long. */
static Size
take_length(Input *input)
{
	uint8		length = take_byte(input);

	if (length < 0x80)
		return length & 15;
	return length < 0xf0 ? length & 0x3f : (Size) (length & 15) * 90 + take_byte(input) % 8;
}

/* bit, varbit; their unused bits are zero */
static Datum
bits_value(Input *input, Oid type)
{
	int			bits = (int) take_length(input) + (take_byte(input) & 7);
	VarBit	   *value = (VarBit *) new_varlena(VARBITTOTALLEN(bits) - VARHDRSZ);

	VARBITLEN(value) = bits;
	fill_bytes(input, VARBITS(value), VARBITBYTES(value));
	if (bits % BITS_PER_BYTE != 0)
		VARBITS(value)[bits / BITS_PER_BYTE] &= (uint8) (0xff << (BITS_PER_BYTE - bits % BITS_PER_BYTE));
	return PointerGetDatum(value);
}

/* How an earlier string begins: its bytes, without a broken character at the end if it is text. */
static Size
earlier_bytes(Input *input, const char **bytes, bool is_text)
{
	uint8		which = take_byte(input);
	struct varlena *value;
	Size		len;

	if (which < 0x80 || earlier_count == 0)
		return 0;
	value = pg_detoast_datum_packed((struct varlena *) DatumGetPointer(earlier_values[which % earlier_count]));
	*bytes = VARDATA_ANY(value);
	len = VARSIZE_ANY_EXHDR(value);
	len = len * take_byte(input) / 255;
	return is_text ? (Size) pg_mbcliplen(*bytes, (int) VARSIZE_ANY_EXHDR(value), (int) len) : len;
}

static Datum
bytea_value(Input *input, Oid type)
{
	const char *begin = NULL;
	Size		begins = earlier_bytes(input, &begin, false);
	Size		len = take_length(input);
	struct varlena *value = new_varlena(begins + len);

	if (begins > 0)
		memcpy(VARDATA(value), begin, begins);
	fill_bytes(input, (uint8 *) VARDATA(value) + begins, len);
	return PointerGetDatum(value);
}

/* Characters that collations treat in ways of their own. */
static const pg_wchar characters[] = {
	' ', '-', '\'', '.', '0', '9', 'A', 'a', 'B', 'b', 'c', 'd', 'h', 'i', 'j', 'l', 'n', 's', 'y', 'z',
	'Z', '_', '~', 1, 127, 0x80, 0xad, 0xc4, 0xdf, 0xe4, 0xe5, 0xe6, 0xe9, 0xf1, 0x130, 0x131, 0x17f, 0x1c6,
	0x300, 0x301, 0x308, 0x30a, 0x3b1, 0x3c2, 0x430, 0x5d0, 0x627, 0xe01, 0xe40, 0x200b, 0x2019, 0x3042,
	0x30a2, 0x30fc, 0x4e00, 0xac00, 0xfb01, 0xfeff, 0xff21, 0xfffd, 0xffff, 0x10000, 0x1f600, 0x10ffff
};

/* A character that is not zero. */
static pg_wchar
take_character(Input *input)
{
	uint8		byte = take_byte(input);
	pg_wchar	character;

	if (byte < 0x80)
		return byte == 0 ? 'a' : byte;
	if (byte < 0xf0)
		return characters[byte % lengthof(characters)];
	character = (pg_wchar) (take_number(input, 3) % 0x110000);
	return character == 0 || (character >= 0xd800 && character < 0xe000) ? 0xfffd : character;
}

/* Appends characters. */
static void
append_characters(StringInfo out, Input *input, Size count, Size most_bytes)
{
	for (Size i = 0; i < count; i++)
	{
		unsigned char bytes[MAX_MULTIBYTE_CHAR_LEN];
		int			len;

		unicode_to_utf8(take_character(input), bytes);
		len = pg_utf_mblen(bytes);
		if (out->len + len > (int) most_bytes)
			return;
		appendBinaryStringInfo(out, (char *) bytes, len);
	}
}

/* text, varchar; bpchar, with blanks at its end */
Datum
text_value(Input *input, Oid type)
{
	const char *begin = NULL;
	Size		begins = earlier_bytes(input, &begin, true);
	StringInfoData out;

	initStringInfo(&out);
	if (begins > 0)
		appendBinaryStringInfo(&out, begin, (int) begins);
	append_characters(&out, input, take_length(input), MaxAllocSize / 2);
	for (int i = type == BPCHAROID ? take_byte(input) & 3 : 0; i > 0; i--)
		appendStringInfoChar(&out, ' ');
	return PointerGetDatum(cstring_to_text_with_len(out.data, out.len));
}

static Datum
name_value(Input *input, Oid type)
{
	Name		value = palloc0(NAMEDATALEN);
	StringInfoData out;

	initStringInfo(&out);
	append_characters(&out, input, take_length(input), NAMEDATALEN - 1);
	memcpy(NameStr(*value), out.data, out.len);
	return NameGetDatum(value);
}

const ValueKind value_kinds[] = {
	{"boolean", bool_value},
	{"\"char\"", char_value},
	{"smallint", int16_value},
	{"integer", int32_value},
	{"bigint", int64_value},
	{"oid", int32_value},
	{"real", float4_value},
	{"double precision", float8_value},
	{"date", int32_value},
	{"timestamp without time zone", int64_value},
	{"timestamp with time zone", int64_value},
	{"time without time zone", time_value},
	{"money", int64_value},
	{"pg_lsn", int64_value},
	{"xid8", int64_value},
	{"time with time zone", timetz_value},
	{"interval", interval_value},
	{"tid", tid_value},
	{"uuid", fixed_value},
	{"macaddr", fixed_value},
	{"macaddr8", fixed_value},
	{"inet", inet_value},
	{"cidr", inet_value},
	{"numeric", numeric_value},
	{"keys.plain_enum", enum_value},
	{"keys.grown_enum", enum_value},
	{"bit", bits_value},
	{"bit varying", bits_value},
	{"bytea", bytea_value},
	{"text", text_value, NULL, true},
	{"name", name_value, NULL, true},
	{"character", text_value, NULL, true},
	{"text", text_value, "~<~(text,text)"},
	{"character", text_value, "~<~(character,character)"},
	{"integer[]", array_value},
	{"numeric[]", array_value},
	{"text[]", array_value, NULL, true},
	{"name[]", array_value, NULL, true},
	{"keys.pair", record_value},
	{"keys.nested", record_value},
	{"keys.dropped", record_value},
	{"int4range", range_value},
	{"numrange", range_value},
	{"tsrange", range_value},
	{"keys.textrange", range_value},
	{"int4multirange", multirange_value},
	{"nummultirange", multirange_value},
	{"jsonb", jsonb_value},
	{"oidvector", oidvector_value},
	{"uuid", fixed_value, "keys.<#(uuid,uuid)"},
	{"inet", inet_value, "keys.<#(inet,inet)"},
	{"bytea", bytea_value, "keys.<#(bytea,bytea)"}
};
const int	value_kinds_count = lengthof(value_kinds);

Oid
value_type(int kind)
{
	static Oid	types[lengthof(value_kinds)];

	if (types[kind] == InvalidOid)
		types[kind] = DatumGetObjectId(DirectFunctionCall1(regtypein, CStringGetDatum(value_kinds[kind].type)));
	return types[kind];
}

/* Another form of the same varlena: with a short header, or compressed. */
static Datum
reshape(Datum value, uint8 how)
{
	struct varlena *varlena = (struct varlena *) DatumGetPointer(value);
	Size		bytes = VARSIZE_ANY_EXHDR(varlena);
	Datum		compressed;

	if (how % 3 == 1 && VARATT_IS_4B_U(varlena) && bytes + VARHDRSZ_SHORT <= VARATT_SHORT_MAX)
	{
		/* where nothing is aligned */
		struct varlena *packed = (struct varlena *) ((char *) palloc(bytes + VARHDRSZ_SHORT + 1) + (how & 1));

		SET_VARSIZE_SHORT(packed, bytes + VARHDRSZ_SHORT);
		memcpy(VARDATA_SHORT(packed), VARDATA(varlena), bytes);
		return PointerGetDatum(packed);
	}
	if (how % 3 == 2 && VARATT_IS_4B_U(varlena))
	{
		compressed = toast_compress_datum(value, TOAST_PGLZ_COMPRESSION);
		return DatumGetPointer(compressed) == NULL ? value : compressed;
	}
	return value;
}

Datum
make_value(const ValueKind *kind, Oid type, Input *input, const Datum *earlier, int nearlier)
{
	Datum		value;
	uint8		how = take_byte(input);

	earlier_values = earlier;
	earlier_count = kind->make == bytea_value || (kind->make == text_value && type != NAMEOID) ? nearlier : 0;
	value = kind->make(input, type);
	/* the server unpacks oidvectors nowhere */
	return get_typlen(type) == -1 && type != OIDVECTOROID ? reshape(value, how) : value;
}
