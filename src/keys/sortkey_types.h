/*
 * sortkey_types.h: what the encoders of sortkey_*.c share; not for callers of sortkey.h.
 */
#ifndef GPUSORT_SORTKEY_TYPES_H
#define GPUSORT_SORTKEY_TYPES_H

#include "src/base/compat.h"
#include "sortkey.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"

/* Sets a key up for its type: spec.type, plain or encode, state.  key->exact is set before. */
typedef void (*KeyOpener) (SortKey *key);

/* sortkey_fixed.c */
extern KeyResult encode_tid(SortKey *key, Datum value, KeyColumn *column, uint32 row);
extern KeyResult encode_uuid(SortKey *key, Datum value, KeyColumn *column, uint32 row);
extern KeyResult encode_macaddr(SortKey *key, Datum value, KeyColumn *column, uint32 row);
extern KeyResult encode_macaddr8(SortKey *key, Datum value, KeyColumn *column, uint32 row);
extern KeyResult encode_timetz(SortKey *key, Datum value, KeyColumn *column, uint32 row);
extern void open_interval(SortKey *key);

/* sortkey_text.c */
extern KeyResult encode_varlena(SortKey *key, Datum value, KeyColumn *column, uint32 row);
extern KeyResult encode_bpchar(SortKey *key, Datum value, KeyColumn *column, uint32 row);
extern KeyResult encode_name(SortKey *key, Datum value, KeyColumn *column, uint32 row);

/* Leaves a key's strings to their first bytes from now on. */
extern KeyResult take_leading(SortKey *key);

/*
 * Of which form are the strings of an operator family's type: TEXTOID, BPCHAROID, NAMEOID; InvalidOid: they are none.
 */
extern Oid	string_form(Oid opfamily, Oid opcintype);

/* sortkey_bit.c, sortkey_enum.c, sortkey_net.c, sortkey_numeric.c */
extern void open_bit(SortKey *key);
extern void open_enum(SortKey *key);
extern void open_inet(SortKey *key);
extern void open_numeric(SortKey *key);

/* sortkey_coarse.c: what has no exact encoding. */
extern void open_coarse(SortKey *key, Oid sortop, Oid collation, Oid opfamily, Oid opcintype);

/* What the catalog says of a collation; a name that it has not is NULL. */
typedef struct CollationLocale
{
	char		provider;
	const char *collate;		/* libc */
	const char *ctype;
	const char *icu_locale;
	const char *icu_rules;
} CollationLocale;

/* collation.c; strings are in the current memory context, those of the database's collation stay */
extern void collation_locale(Oid collation, CollationLocale *locale);

/* Are strings under this collation in the order of their bytes?  If not, *why says what is in the way. */
extern bool collation_orders_bytes(Oid collation, const char **why);

/* Sets the form in which a key's values go into their column. */
static inline void
set_form(SortKey *key, gs_type type, KeyEncoder encode)
{
	key->spec.type = type;
	key->width = (uint8) gs_type_width(type);
	key->encode = encode;
}

/*
 * Gives a key its next form.  The caller's rows are encoded again, so all that matters is that a key widens a few times
 * at most.
 */
static inline KeyResult
widen(SortKey *key, gs_type type, KeyEncoder encode)
{
	if (key->exact)
		elog(ERROR, "exact sort key cannot widen");
	set_form(key, type, encode);
	return KEY_WIDEN;
}

/* Stores a 128-bit element. */
static inline void
put_uint128(KeyColumn *column, uint32 row, uint64 high, uint64 low)
{
	uint64	   *element = (uint64 *) column->values + (Size) row * 2;

	element[0] = low;
	element[1] = high;
}

/* Makes room for a byte string in a GS_BYTES column, which the caller fills in. */
static inline KeyResult
bytes_room(KeyColumn *column, uint32 row, Size len, uint8 **to)
{
	uint32	   *offsets = (uint32 *) column->values;
	uint32		start = *(volatile uint32 *) &offsets[row]; /* read once: another process can write there */

	if (unlikely(start > column->heap_bytes || len > column->heap_bytes - start))
	{
		column->wanted = (uint32) len;
		return row == 0 ? KEY_TOO_LARGE : KEY_FULL;
	}
	*to = column->heap + start;
	offsets[row + 1] = start + (uint32) len;
	return KEY_OK;
}

/* Appends a byte string to a GS_BYTES column. */
static inline KeyResult
put_bytes(KeyColumn *column, uint32 row, const void *bytes, Size len)
{
	uint8	   *to;
	KeyResult	result = bytes_room(column, row, len, &to);

	if (likely(result == KEY_OK))
		memcpy(to, bytes, len);
	return result;
}

/* A varlena value with its bytes here and uncompressed, with a header of either length. */
static inline struct varlena *
open_varlena(Datum value)
{
	struct varlena *varlena = (struct varlena *) DatumGetPointer(value);

	if (unlikely(VARATT_IS_EXTERNAL(varlena) || VARATT_IS_COMPRESSED(varlena)))
		return pg_detoast_datum_packed(varlena);
	return varlena;
}

/* Frees what open_varlena may have copied. */
static inline void
close_varlena(Datum value, struct varlena *varlena)
{
	if (unlikely((Pointer) varlena != DatumGetPointer(value)))
		pfree(varlena);
}

/* A string's characters, where they lie or in a copy. */
typedef struct StringView
{
	const char *bytes;
	Size		len;
	struct varlena *varlena;
} StringView;

/* Looks at a string of some form as its comparison function does: trailing blanks of a character(n) do not count. */
static inline StringView
open_string(Oid form, Datum value)
{
	StringView	view;

	if (form == NAMEOID)
	{
		view.varlena = NULL;
		view.bytes = NameStr(*DatumGetName(value));
		view.len = strnlen(view.bytes, NAMEDATALEN);
		return view;
	}
	view.varlena = open_varlena(value);
	view.bytes = VARDATA_ANY(view.varlena);
	view.len = VARSIZE_ANY_EXHDR(view.varlena);
	while (form == BPCHAROID && view.len > 0 && view.bytes[view.len - 1] == ' ')
		view.len--;
	return view;
}

/* Frees the copy, if one had to be made. */
static inline void
close_string(Datum value, StringView *view)
{
	if (view->varlena)
		close_varlena(value, view->varlena);
}

#endif
