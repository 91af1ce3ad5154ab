/*
 * valueform.h: values of a type as bytes from an untrusted source.  Each value is validated when it is read: directly,
 * if any bits or any text are valid, otherwise by the type's receive function.  Types that receive cannot reproduce are
 * written as raw datums, which cannot be validated. The caller guarantees that such bytes come from this session
 * (partial.h).
 */
#ifndef GPUSORT_VALUEFORM_H
#define GPUSORT_VALUEFORM_H

#include "fmgr.h"
#include "lib/stringinfo.h"

#include "src/arrays/vector.h"

/* How values are written.  The numbers are part of the format. */
typedef enum ValueHow
{
	VALUE_FIXED = 1,			/* in native form; any bits of this width are valid */
	VALUE_BYTES = 2,			/* any bytes, as bytea */
	VALUE_TEXT = 3,				/* text in the server's encoding */
	VALUE_NUMERIC = 4,			/* the contents of a numeric */
	VALUE_SENT = 5,				/* output of the type's send function */
	VALUE_DATUM = 6				/* the raw datum, with its header if it has one */
} ValueHow;

typedef struct ValueForm
{
	ValueHow	how;
	uint16		width;			/* VALUE_FIXED */
	int16		len;			/* as pg_type.typlen */
	bool		byval;
	Oid			ioparam;
	FmgrInfo	out;
	FmgrInfo	in;
	StringInfoData room;		/* the value read last */
	MemoryContext scratch;		/* for memory that functions leak */
} ValueForm;

/* Bytes being parsed. */
typedef struct ByteSource
{
	const char *at;
	const char *end;
} ByteSource;

/* Chooses a type's form.  Allocates in cxt. */
extern void valueform_open(ValueForm *form, const VectorType *vtype, MemoryContext cxt);

/* Returns the minimal size of a value. */
static inline Size
valueform_least(const ValueForm *form)
{
	return form->how == VALUE_FIXED ? form->width : sizeof(uint32);
}

/* Appends a value.  Raises an error if a datum cannot hold the result. */
extern void valueform_put(ValueForm *form, StringInfo bytes, Datum value);

/* Reserves room.  Raises an error if a state would be too large for one value. */
extern void valueform_reserve_slow(StringInfo bytes, Size more);

/* Reserves room.  Raises an error if a datum cannot hold the result. */
static inline void
valueform_reserve(StringInfo bytes, Size more)
{
	if (unlikely(more >= (Size) (bytes->maxlen - bytes->len)))
		valueform_reserve_slow(bytes, more);
}

/* Returns true for values that are any bytes after a varlena header. */
static inline bool
valueform_is_bytes(const ValueForm *form)
{
	return form->how >= VALUE_BYTES && form->how <= VALUE_NUMERIC;
}

/* Appends a length and bytes. */
static inline void
valueform_put_bytes(StringInfo bytes, const char *data, Size length)
{
	uint32		count = (uint32) length;

	valueform_reserve(bytes, sizeof(count) + length);
	memcpy(bytes->data + bytes->len, &count, sizeof(count));
	memcpy(bytes->data + bytes->len + sizeof(count), data, length);
	bytes->len += (int) (sizeof(count) + length);
}

/* Parses and checks such a value's bytes in place. */
extern const char *valueform_get_bytes(const ValueForm *form, ByteSource *source, Size *length);

/* Parses a value, which is valid until the next call.  Raises an error if it is invalid. */
extern Datum valueform_get_slow(ValueForm *form, ByteSource *source);

/* Raises the error for invalid bytes. */
pg_noreturn extern void valueform_broken(const char *detail);

/* Consumes bytes of the source.  Raises an error if there are not enough. */
static inline const char *
take_bytes(ByteSource *source, Size bytes)
{
	const char *at = source->at;

	if (unlikely(bytes > (Size) (source->end - at)))
		valueform_broken("It ends too early.");
	source->at += bytes;
	return at;
}

/* Parses a value, with a fast path for fixed-width ones. */
static inline Datum
valueform_get(ValueForm *form, ByteSource *source)
{
	if (form->how == VALUE_FIXED && form->byval)
	{
		const char *at = take_bytes(source, form->width);
		uint64		word;
		uint32		half;
		uint16		quarter;

		switch (form->width)
		{
			case 8:
				memcpy(&word, at, sizeof(word));
				return (Datum) word;
			case 4:
				memcpy(&half, at, sizeof(half));
				return Int32GetDatum((int32) half);
			case 2:
				memcpy(&quarter, at, sizeof(quarter));
				return Int16GetDatum((int16) quarter);
			default:
				return CharGetDatum(*at);
		}
	}
	return valueform_get_slow(form, source);
}

#endif
