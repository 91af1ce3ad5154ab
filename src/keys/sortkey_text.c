/*
 * sortkey_text.c: strings that are in the order of their bytes: text, bpchar, name and bytea.
 *
 * The bytes themselves are the key.  What is stored plain is copied once, straight into the column; only compressed or
 * external values are detoasted, and the copy is freed at once, since a chunk may take thousands of them.
 *
 * Once a string is long, a sort of rows takes the first bytes only of all of them (sortkey_let_lead): to unpack,
 * copy and keep long strings costs more than to compare the few whose first bytes are the same.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_opfamily_d.h"

#include "sortkey_types.h"

/* Strings of more bytes than that, with their header, are long. */
#define LONG_STRING 256

/* Is a string that long?  What lies elsewhere is not fetched to be measured. */
static inline bool
is_long(Datum value)
{
	struct varlena *varlena = (struct varlena *) DatumGetPointer(value);

	return (!VARATT_IS_SHORT(varlena) || VARATT_IS_EXTERNAL(varlena)) && toast_raw_datum_size(value) > LONG_STRING;
}

/* The first bytes of text, varchar and bytea; of a compressed or external value no more is unpacked. */
static KeyResult
encode_varlena_leading(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	struct varlena *varlena = (struct varlena *) DatumGetPointer(value);
	KeyResult	result;

	if (VARATT_IS_EXTERNAL(varlena) || VARATT_IS_COMPRESSED(varlena))
		varlena = PG_DETOAST_DATUM_SLICE(value, 0, key->leading);
	result = put_bytes(column, row, VARDATA_ANY(varlena), Min(VARSIZE_ANY_EXHDR(varlena), key->leading));
	close_varlena(value, varlena);
	return result;
}

/* The same of bpchar, whose trailing blanks do not count. */
static KeyResult
encode_bpchar_leading(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	StringView	view = open_string(BPCHAROID, value);
	KeyResult	result = put_bytes(column, row, view.bytes, Min(view.len, key->leading));

	close_string(value, &view);
	return result;
}

KeyResult
take_leading(SortKey *key)
{
	key->leading = Max(key->leading, LEADING_BYTES);
	key->coarse = key->unpack = true;
	key->form = "leading bytes";
	return widen(key, GS_BYTES, key->leader);
}

/* text, varchar and bytea: the bytes. */
KeyResult
encode_varlena(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	struct varlena *varlena;
	KeyResult	result;

	if (key->leader && unlikely(is_long(value)))
		return take_leading(key);
	varlena = open_varlena(value);
	result = put_bytes(column, row, VARDATA_ANY(varlena), VARSIZE_ANY_EXHDR(varlena));
	close_varlena(value, varlena);
	return result;
}

/* bpchar: trailing blanks do not count. */
KeyResult
encode_bpchar(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	StringView	view;
	KeyResult	result;

	if (key->leader && unlikely(is_long(value)))
		return take_leading(key);
	view = open_string(BPCHAROID, value);
	result = put_bytes(column, row, view.bytes, view.len);
	close_string(value, &view);
	return result;
}

void
sortkey_let_lead(SortKey *key)
{
	if (key->encode == encode_varlena)
		key->leader = encode_varlena_leading;
	else if (key->encode == encode_bpchar)
		key->leader = encode_bpchar_leading;
}

/* name: up to its zero byte. */
KeyResult
encode_name(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	const char *name = NameStr(*DatumGetName(value));

	return put_bytes(column, row, name, strnlen(name, NAMEDATALEN));
}

Oid
string_form(Oid opfamily, Oid opcintype)
{
	if (opfamily == TEXT_BTREE_FAM_OID && (opcintype == TEXTOID || opcintype == NAMEOID))
		return opcintype;
	return opfamily == BPCHAR_BTREE_FAM_OID && opcintype == BPCHAROID ? BPCHAROID : InvalidOid;
}
