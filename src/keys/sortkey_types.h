/*
 * sortkey_types.h: shared by the encoders in sortkey_*.c.  Private to them.
 */
#ifndef GPUSORT_SORTKEY_TYPES_H
#define GPUSORT_SORTKEY_TYPES_H

#include "src/base/compat.h"
#include "sortkey.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"

/* Initializes a key for its type: spec.type, plain or encode, state.  key->exact is set already. */
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

/* Is a key's encoding the bytes of a varlena, or the first ones? */
extern bool is_varlena_key(const SortKey *key);

/* Switches a key of strings to leading bytes. */
extern KeyResult take_leading(SortKey *key);

/* Returns the form of an operator family's strings: TEXTOID, BPCHAROID or NAMEOID; InvalidOid for others. */
extern Oid	string_form(Oid opfamily, Oid opcintype);

/* sortkey_bit.c, sortkey_enum.c, sortkey_net.c, sortkey_numeric.c */
extern void open_bit(SortKey *key);
extern void open_enum(SortKey *key);
extern void open_inet(SortKey *key);
extern void open_numeric(SortKey *key);

/* sortkey_coarse.c: types without an exact encoding. */
extern void open_coarse(SortKey *key, Oid sortop, Oid collation, Oid opfamily, Oid opcintype);

/* Catalog data of a collation.  Absent names are NULL. */
typedef struct CollationLocale
{
	char		provider;
	const char *collate;		/* libc */
	const char *ctype;
	const char *icu_locale;
	const char *icu_rules;
} CollationLocale;

/* collation.c.  Strings are in the current memory context; those of the database's collation are permanent. */
extern void collation_locale(Oid collation, CollationLocale *locale);

/* Returns true if a collation orders strings bytewise. */
extern bool collation_orders_bytes(Oid collation);

/* Sets the form in which a key's values are encoded. */
static inline void
set_form(SortKey *key, gs_type type, KeyEncoder encode)
{
	key->spec.type = type;
	key->width = (uint8) gs_type_width(type);
	key->encode = encode;
}

/* Switches a key to its next form.  The caller encodes its rows again, so a key must widen only a few times. */
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

/* Reserves room for a byte string in a GS_BYTES column, which the caller fills in. */
static inline KeyResult
bytes_room(KeyColumn *column, uint32 row, Size len, uint8 **to)
{
	uint32	   *offsets = (uint32 *) column->values;
	uint32		start = *(volatile uint32 *) &offsets[row]; /* read once: other processes can write there */

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

/* Returns a varlena inline and uncompressed, with a header of either length. */
static inline struct varlena *
open_varlena(Datum value)
{
	struct varlena *varlena = (struct varlena *) DatumGetPointer(value);

	if (unlikely(VARATT_IS_EXTERNAL(varlena) || VARATT_IS_COMPRESSED(varlena)))
		return pg_detoast_datum_packed(varlena);
	return varlena;
}

/* Frees a copy made by open_varlena. */
static inline void
close_varlena(Datum value, struct varlena *varlena)
{
	if (unlikely((Pointer) varlena != DatumGetPointer(value)))
		pfree(varlena);
}

/* A string's characters, in place or in a copy. */
typedef struct StringView
{
	const char *bytes;
	Size		len;
	struct varlena *varlena;
} StringView;

/* Opens a string as its comparison function sees it, without trailing blanks of bpchar. */
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

/* Frees the copy, if there is one. */
static inline void
close_string(Datum value, StringView *view)
{
	if (view->varlena)
		close_varlena(value, view->varlena);
}

#endif
