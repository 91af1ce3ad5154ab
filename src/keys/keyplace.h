/*
 * keyplace.h: where the keys of a sort lie in its rows.
 */
#ifndef GPUSORT_KEYPLACE_H
#define GPUSORT_KEYPLACE_H

#include "access/tupdesc.h"
#include "access/tupmacs.h"

#include "sortcolumns.h"
#include "src/base/compat.h"

/* Where a key lies in the data of a row that has all columns and no NULLs. */
typedef struct KeyPlace
{
	enum
	{
		PLACE_VARIES,
		PLACE_FROM_START,		/* offset bytes behind the data's start */
		PLACE_FROM_END,			/* offset bytes before its end */
		PLACE_STRING			/* a varlena there; what stands before it decides whether it is aligned */
	}			kind;
	int			offset;
	bool		byval;
	int16		len;
	char		align;
} KeyPlace;

/* Finds the places of all keys; in the current memory context. */
extern KeyPlace *keyplaces_find(const SortColumns *columns, TupleDesc desc);

/* A key that does not vary, from a row's data of so many bytes. */
static inline Datum
keyplace_value(const KeyPlace *place, const char *data, Size data_bytes)
{
	switch (place->kind)
	{
		case PLACE_FROM_START:
			return fetch_att(data + place->offset, place->byval, place->len);
		case PLACE_FROM_END:
			return fetch_att(data + data_bytes - place->offset, place->byval, place->len);
		default:
			return PointerGetDatum(data + att_align_pointer(place->offset, place->align, -1, data + place->offset));
	}
}

#endif
