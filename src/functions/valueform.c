/*
 * valueform.c: values of a type as bytes that may come back from anywhere.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "src/compat.h"
#include "valueform.h"

/* Parts of a numeric's header, as utils/adt/numeric.c has them. */
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

/* Are any bits of the type's width one of its values?  Not known of types that are passed by reference. */
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

static bool can_send(Oid type);

/* Can all columns of a row type be sent and received? */
static bool
can_send_columns(Oid type)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(type, -1);
	bool		can = true;

	for (int i = 0; can && i < desc->natts; i++)
		can = TupleDescAttr(desc, i)->attisdropped || can_send(TupleDescAttr(desc, i)->atttypid);
	ReleaseTupleDesc(desc);
	return can;
}

/* Has a type functions to send and receive values, and has each type that it is made of? */
static bool
can_send(Oid type)
{
	Oid			base = getBaseType(type);
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(base));
	Form_pg_type form;
	Oid			element;
	char		kind;
	bool		can;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", base);
	form = (Form_pg_type) GETSTRUCT(tuple);
	can = OidIsValid(form->typsend) && OidIsValid(form->typreceive);
	kind = form->typtype;
	ReleaseSysCache(tuple);
	if (!can)
		return false;
	element = get_element_type(base);
	if (OidIsValid(element))
		return can_send(element);
	if (kind == TYPTYPE_RANGE)
		return can_send(get_range_subtype(base));
	if (kind == TYPTYPE_MULTIRANGE)
		return can_send(get_multirange_range(base));
	return kind != TYPTYPE_COMPOSITE || can_send_columns(base);
}

/* Finds the functions that write and read values. */
static void
find_functions(ValueForm *form, Oid type, MemoryContext cxt)
{
	Oid			out;
	Oid			in;
	bool		varlena;

	if (form->how == VALUE_WRITTEN)
	{
		getTypeOutputInfo(type, &out, &varlena);
		getTypeInputInfo(type, &in, &form->ioparam);
	}
	else
	{
		getTypeBinaryOutputInfo(type, &out, &varlena);
		getTypeBinaryInputInfo(type, &in, &form->ioparam);
	}
	fmgr_info_cxt(out, &form->out, cxt);
	fmgr_info_cxt(in, &form->in, cxt);
}

/* The form of a type that is no domain. */
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
		case RECORDOID:
			return VALUE_RECORD;
	}
	if (any_bits(type, get_typtype(type), vtype))
		return VALUE_FIXED;
	return can_send(type) ? VALUE_SENT : VALUE_WRITTEN;
}

void
valueform_open(ValueForm *form, const VectorType *vtype, MemoryContext cxt)
{
	Oid			type = getBaseType(vtype->type);
	MemoryContext old = MemoryContextSwitchTo(cxt);

	memset(form, 0, sizeof(*form));
	form->how = form_of(type, vtype);
	form->byval = vtype->byval;
	if (form->how == VALUE_FIXED)
		form->width = (uint16) vtype->len;
	else
	{
		initStringInfo(&form->room);
		form->scratch = AllocSetContextCreate(cxt, "gpusort values", ALLOCSET_SMALL_SIZES);
		if (form->how >= VALUE_SENT)
			find_functions(form, type, cxt);
	}
	MemoryContextSwitchTo(old);
}

/* Appends what a value's own function makes of it. */
static void
put_by_function(ValueForm *form, StringInfo bytes, Datum value)
{
	MemoryContext old = MemoryContextSwitchTo(form->scratch);

	if (form->how == VALUE_WRITTEN)
	{
		char	   *text = OutputFunctionCall(&form->out, value);

		valueform_put_bytes(bytes, text, strlen(text));
	}
	else
	{
		bytea	   *sent;

		if (form->how == VALUE_RECORD)
		{
			HeapTupleHeader row = DatumGetHeapTupleHeader(value);
			int32		typmod = HeapTupleHeaderGetTypMod(row);

			value = PointerGetDatum(row);
			valueform_reserve(bytes, sizeof(typmod));
			memcpy(bytes->data + bytes->len, &typmod, sizeof(typmod));
			bytes->len += sizeof(typmod);
		}
		sent = SendFunctionCall(&form->out, value);
		valueform_put_bytes(bytes, VARDATA(sent), VARSIZE(sent) - VARHDRSZ);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(form->scratch);
}

/* Appends a value as it lies in memory, at a place that need not be aligned. */
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
	struct varlena *varlena;

	switch (form->how)
	{
		case VALUE_FIXED:
			put_fixed(form, bytes, value);
			break;
		case VALUE_BYTES:
		case VALUE_TEXT:
		case VALUE_NUMERIC:
			varlena = PG_DETOAST_DATUM_PACKED(value);
			valueform_put_bytes(bytes, VARDATA_ANY(varlena), VARSIZE_ANY_EXHDR(varlena));
			if (varlena != (struct varlena *) DatumGetPointer(value))
				pfree(varlena);
			break;
		default:
			put_by_function(form, bytes, value);
			break;
	}
}

/* Is this text as the server keeps it? */
static void
check_text(const char *text, Size length)
{
	if (memchr(text, 0, length) || !pg_verify_mbstr(GetDatabaseEncoding(), text, (int) length, true))
		valueform_broken("A text is not in the server's encoding.");
}

/* Is this the inside of a numeric? */
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
		/* not a number, and both infinities; the fourth would be none of them */
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

/* A copy of bytes as a variable-length datum, with a short header if it can have one. */
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

/* Has a value's own function read it. */
static Datum
get_by_function(ValueForm *form, const char *data, Size length, int32 typmod)
{
	MemoryContext old;
	Datum		value;

	MemoryContextReset(form->scratch);
	resetStringInfo(&form->room);
	valueform_reserve(&form->room, length);
	appendBinaryStringInfo(&form->room, data, (int) length);
	old = MemoryContextSwitchTo(form->scratch);
	if (form->how == VALUE_WRITTEN)
	{
		check_text(data, length);
		value = InputFunctionCall(&form->in, form->room.data, form->ioparam, -1);
	}
	else
	{
		value = ReceiveFunctionCall(&form->in, &form->room, form->ioparam, typmod);
		if (form->room.cursor != form->room.len)
			valueform_broken("A value is shorter than its bytes.");
	}
	MemoryContextSwitchTo(old);
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
	int32		typmod = -1;
	Size		length;
	const char *data;

	if (form->how == VALUE_FIXED)
		return PointerGetDatum(take_bytes(source, form->width));
	if (form->how == VALUE_RECORD)
		memcpy(&typmod, take_bytes(source, sizeof(typmod)), sizeof(typmod));
	data = valueform_get_bytes(form, source, &length);
	if (valueform_is_bytes(form))
		return as_varlena(&form->room, data, length);
	return get_by_function(form, data, length, typmod);
}
