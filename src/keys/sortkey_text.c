/*
 * sortkey_text.c: strings in bytewise order: text, bpchar, name and bytea.  The bytes are the key.  Only compressed and
 * external values are detoasted, and freed at once: a chunk may hold thousands.  After the first long string, a sort of
 * rows may use leading bytes only (sortkey_let_lead): long strings cost more than comparing the few whose leading bytes
 * are equal.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_opfamily_d.h"

#include "sortkey_types.h"

/* Strings with more bytes than this, including their header, are long. */
#define LONG_STRING 256

/* Returns true if a string is long.  Does not fetch external values. */
static inline bool
is_long(Datum value)
{
	struct varlena *string = (struct varlena *) DatumGetPointer(value);

	return (!VARATT_IS_SHORT(string) || VARATT_IS_EXTERNAL(string)) && toast_raw_datum_size(value) > LONG_STRING;
}

/* Encodes the leading bytes of text, varchar and bytea.  Detoasts no more than these. */
static KeyResult
encode_varlena_leading(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	struct varlena *string = (struct varlena *) DatumGetPointer(value);
	KeyResult	result;

	if (VARATT_IS_EXTERNAL(string) || VARATT_IS_COMPRESSED(string))
		string = PG_DETOAST_DATUM_SLICE(value, 0, key->leading);
	result = put_bytes(column, row, VARDATA_ANY(string), Min(VARSIZE_ANY_EXHDR(string), key->leading));
	close_varlena(value, string);
	return result;
}

/* Encodes the leading bytes of bpchar, without trailing blanks. */
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

/* Encodes text, varchar and bytea. */
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

/* Encodes bpchar, without trailing blanks. */
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

bool
is_varlena_key(const SortKey *key)
{
	return key->encode == encode_varlena || key->encode == encode_varlena_leading;
}

/* Encodes name, up to its zero byte. */
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
