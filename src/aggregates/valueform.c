/*
 * valueform.c: values of a type as bytes from an untrusted source.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "src/base/compat.h"
#include "valueform.h"

/* Parts of a numeric's header; see utils/adt/numeric.c. */
#define NUMERIC_SHORT_HEADER 0x8000
#define NUMERIC_SPECIAL_HEADER 0xC000
#define NUMERIC_SPECIAL_BITS 0xF000
#define NUMERIC_BASE 10000

void
valueform_broken(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid state of an aggregate"), errdetail_internal("%s", detail)));
}

void
valueform_reserve_slow(StringInfo bytes, Size more)
{
	if (more >= MaxAllocSize - (Size) bytes->len)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("state of an aggregate is too large to be handed over"),
				 errdetail("Between processes, and between partitions, a state is one value of at most 1 GB."),
				 errhint("Set \"max_parallel_workers_per_gather\" to 0 and \"enable_partitionwise_aggregate\" to off "
						 "for this query, or make the groups smaller.")));
	enlargeStringInfo(bytes, (int) more);
}

/* Returns true if any bits of a type's width are a valid value.  Unknown for types passed by reference. */
static bool
any_bits(Oid type, char kind, const VectorType *vtype)
{
	if (kind != TYPTYPE_BASE || vtype->len <= 0)
		return false;
	switch (type)
	{
		case UUIDOID:
		case INTERVALOID:
		case MACADDROID:
		case MACADDR8OID:
		case TIMETZOID:
		case TIDOID:
			return true;
		default:
			return vtype->byval;
	}
}

/* Returns true if a base type has send and receive functions. */
static bool
can_send(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Form_pg_type form;
	bool		can;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	form = (Form_pg_type) GETSTRUCT(tuple);
	can = form->typtype == TYPTYPE_BASE && OidIsValid(form->typsend) && OidIsValid(form->typreceive);
	ReleaseSysCache(tuple);
	return can;
}

/* Returns true if a type's send and receive functions reproduce every value, which not all of containers do. */
static bool
keeps_when_sent(Oid type)
{
	Oid			element = get_element_type(type);

	if (get_typtype(type) == TYPTYPE_ENUM)
		return true;
	/* any OID array may be cast to it, but a received one must have lower bound 0 */
	if (type == OIDVECTOROID || element == OIDVECTOROID)
		return false;
	return can_send(type) && (!OidIsValid(element) || can_send(element));
}

/* Looks up the send and receive functions. */
static void
find_functions(ValueForm *form, Oid type, MemoryContext cxt)
{
	Oid			out;
	Oid			in;
	bool		varlena;

	getTypeBinaryOutputInfo(type, &out, &varlena);
	getTypeBinaryInputInfo(type, &in, &form->ioparam);
	fmgr_info_cxt(out, &form->out, cxt);
	fmgr_info_cxt(in, &form->in, cxt);
}

/* Chooses the form of a type that is not a domain. */
static ValueHow
form_of(Oid type, const VectorType *vtype)
{
	switch (type)
	{
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			return VALUE_TEXT;
		case BYTEAOID:
			return VALUE_BYTES;
		case NUMERICOID:
			return VALUE_NUMERIC;
	}
	if (any_bits(type, get_typtype(type), vtype))
		return VALUE_FIXED;
	return keeps_when_sent(type) ? VALUE_SENT : VALUE_DATUM;
}

void
valueform_open(ValueForm *form, const VectorType *vtype, MemoryContext cxt)
{
	Oid			type = getBaseType(vtype->type);
	MemoryContext old = MemoryContextSwitchTo(cxt);

	memset(form, 0, sizeof(*form));
	form->how = form_of(type, vtype);
	form->byval = vtype->byval;
	form->len = vtype->len;
	if (form->how == VALUE_FIXED)
		form->width = (uint16) vtype->len;
	else
		initStringInfo(&form->room);
	if (form->how == VALUE_SENT)
	{
		form->scratch = AllocSetContextCreate(cxt, "gpusort values", ALLOCSET_SMALL_SIZES);
		find_functions(form, type, cxt);
	}
	MemoryContextSwitchTo(old);
}

/* Sets the client encoding to the server's for send and receive functions; returns the old, for end_conversion. */
static int
begin_conversion(void)
{
	int			encoding = pg_get_client_encoding();

	if (SetClientEncoding(GetDatabaseEncoding()) < 0)
		elog(ERROR, "SetClientEncoding(%d) failed", GetDatabaseEncoding());
	return encoding;
}

/* Restores the client encoding. */
static void
end_conversion(int encoding)
{
	if (SetClientEncoding(encoding) < 0)
		elog(FATAL, "SetClientEncoding(%d) failed", encoding);
}

/* Calls a value's send function. */
static bytea *
call_send(ValueForm *form, Datum value)
{
	bytea	   *volatile sent = NULL;
	int			encoding;

	if (pg_get_client_encoding() == GetDatabaseEncoding())
		return SendFunctionCall(&form->out, value);
	encoding = begin_conversion();
	PG_TRY();
	{
		sent = SendFunctionCall(&form->out, value);
	}
	PG_FINALLY();
	{
		end_conversion(encoding);
	}
	PG_END_TRY();
	return sent;
}

/* Calls a value's receive function on the bytes in the form's buffer. */
static Datum
call_receive(ValueForm *form)
{
	volatile Datum value = (Datum) 0;
	int			encoding;

	if (pg_get_client_encoding() == GetDatabaseEncoding())
		return ReceiveFunctionCall(&form->in, &form->room, form->ioparam, -1);
	encoding = begin_conversion();
	PG_TRY();
	{
		value = ReceiveFunctionCall(&form->in, &form->room, form->ioparam, -1);
	}
	PG_FINALLY();
	{
		end_conversion(encoding);
	}
	PG_END_TRY();
	return value;
}

/* Appends the output of a value's send function. */
static void
put_sent(ValueForm *form, StringInfo bytes, Datum value)
{
	MemoryContext old = MemoryContextSwitchTo(form->scratch);
	bytea	   *sent = call_send(form, value);

	valueform_put_bytes(bytes, VARDATA(sent), VARSIZE(sent) - VARHDRSZ);
	MemoryContextSwitchTo(old);
	MemoryContextReset(form->scratch);
}

/* Appends a raw datum, detoasted and flattened. */
static void
put_datum(const ValueForm *form, StringInfo bytes, Datum value)
{
	Datum		flat = form->len == -1 ? PointerGetDatum(PG_DETOAST_DATUM_PACKED(value)) : value;

	valueform_put_bytes(bytes, DatumGetPointer(flat), datumGetSize(flat, false, form->len));
	if (flat != value)
		pfree(DatumGetPointer(flat));
}

/* Appends a fixed-width value, unaligned. */
static void
put_fixed(const ValueForm *form, StringInfo bytes, Datum value)
{
	uint64		word;

	valueform_reserve(bytes, Max(form->width, sizeof(word)));
	if (form->byval)
	{
		store_att_byval(&word, value, form->width);
		memcpy(bytes->data + bytes->len, &word, form->width);
	}
	else
		memcpy(bytes->data + bytes->len, DatumGetPointer(value), form->width);
	bytes->len += form->width;
}

void
valueform_put(ValueForm *form, StringInfo bytes, Datum value)
{
	struct varlena *flat;

	switch (form->how)
	{
		case VALUE_FIXED:
			put_fixed(form, bytes, value);
			break;
		case VALUE_BYTES:
		case VALUE_TEXT:
		case VALUE_NUMERIC:
			flat = PG_DETOAST_DATUM_PACKED(value);
			valueform_put_bytes(bytes, VARDATA_ANY(flat), VARSIZE_ANY_EXHDR(flat));
			if (flat != (struct varlena *) DatumGetPointer(value))
				pfree(flat);
			break;
		case VALUE_SENT:
			put_sent(form, bytes, value);
			break;
		case VALUE_DATUM:
			put_datum(form, bytes, value);
			break;
	}
}

/* Checks that this is valid text in the server's encoding. */
static void
check_text(const char *text, Size length)
{
	if (memchr(text, 0, length) || !pg_verify_mbstr(GetDatabaseEncoding(), text, (int) length, true))
		valueform_broken("A text is not in the server's encoding.");
}

/* Checks that these are the contents of a numeric. */
static void
check_numeric(const char *data, Size length)
{
	uint16		header = 0;
	int16		digit;
	Size		at = sizeof(header);

	if (length >= sizeof(header))
		memcpy(&header, data, sizeof(header));
	if ((header & NUMERIC_SPECIAL_HEADER) == NUMERIC_SPECIAL_HEADER)
	{
		/* NaN and both infinities are valid; the fourth combination is not */
		if (length != sizeof(header) || (header & ~NUMERIC_SPECIAL_BITS) != 0 || header == 0xE000)
			valueform_broken("A number is not a numeric.");
		return;
	}
	if ((header & NUMERIC_SHORT_HEADER) == 0)
		at += sizeof(int16);	/* the weight */
	if (length < at || (length - at) % sizeof(digit) != 0)
		valueform_broken("A number is not a numeric.");
	for (; at < length; at += sizeof(digit))
	{
		memcpy(&digit, data + at, sizeof(digit));
		if (digit < 0 || digit >= NUMERIC_BASE)
			valueform_broken("A number is not a numeric.");
	}
}

/* Copies bytes into a varlena datum, with a short header if possible. */
static Datum
as_varlena(StringInfo room, const char *data, Size length)
{
	Size		header = length + VARHDRSZ_SHORT <= VARATT_SHORT_MAX ? VARHDRSZ_SHORT : VARHDRSZ;

	resetStringInfo(room);
	valueform_reserve(room, header + length);
	if (header == VARHDRSZ_SHORT)
		SET_VARSIZE_SHORT(room->data, header + length);
	else
		SET_VARSIZE(room->data, header + length);
	memcpy(room->data + header, data, length);
	return PointerGetDatum(room->data);
}

/* Copies bytes to the buffer, where they are maximally aligned. */
static void
fill_room(StringInfo room, const char *data, Size length)
{
	resetStringInfo(room);
	valueform_reserve(room, length);
	appendBinaryStringInfo(room, data, (int) length);
}

/* Parses a value with its receive function. */
static Datum
get_sent(ValueForm *form, const char *data, Size length)
{
	MemoryContext old;
	Datum		value;

	MemoryContextReset(form->scratch);
	fill_room(&form->room, data, length);
	old = MemoryContextSwitchTo(form->scratch);
	value = call_receive(form);
	MemoryContextSwitchTo(old);
	if (form->room.cursor != form->room.len)
		valueform_broken("A value is shorter than its bytes.");
	return value;
}

const char *
valueform_get_bytes(const ValueForm *form, ByteSource *source, Size *length)
{
	uint32		count;
	const char *data;

	memcpy(&count, take_bytes(source, sizeof(count)), sizeof(count));
	data = take_bytes(source, count);
	if (form->how == VALUE_TEXT)
		check_text(data, count);
	else if (form->how == VALUE_NUMERIC)
		check_numeric(data, count);
	*length = count;
	return data;
}

Datum
valueform_get_slow(ValueForm *form, ByteSource *source)
{
	Size		length;
	const char *data;

	if (form->how == VALUE_FIXED)
		return PointerGetDatum(take_bytes(source, form->width));
	data = valueform_get_bytes(form, source, &length);
	if (valueform_is_bytes(form))
		return as_varlena(&form->room, data, length);
	if (form->how == VALUE_SENT)
		return get_sent(form, data, length);
	fill_room(&form->room, data, length);
	return PointerGetDatum(form->room.data);
}
