/*
 * sortkey_text.c: strings that are in the order of their bytes: text, bpchar, name and bytea.
 *
 * The bytes themselves are the key.  What is stored plain is copied once, straight into the column; only compressed or
 * external values are detoasted, and the copy is freed at once, since a chunk may take thousands of them.
 */
#include "postgres.h"

#include "catalog/pg_opfamily_d.h"

#include "sortkey_types.h"

/* text, varchar and bytea: the bytes. */
KeyResult
encode_varlena(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	struct varlena *varlena = open_varlena(value);
	KeyResult	result = put_bytes(column, row, VARDATA_ANY(varlena), VARSIZE_ANY_EXHDR(varlena));

	close_varlena(value, varlena);
	return result;
}

/* bpchar: trailing blanks do not count. */
KeyResult
encode_bpchar(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	struct varlena *varlena = open_varlena(value);
	const char *bytes = VARDATA_ANY(varlena);
	Size		len = VARSIZE_ANY_EXHDR(varlena);
	KeyResult	result;

	while (len > 0 && bytes[len - 1] == ' ')
		len--;
	result = put_bytes(column, row, bytes, len);
	close_varlena(value, varlena);
	return result;
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
