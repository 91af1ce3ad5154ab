/*
 * valueform.h: values of a type as bytes that may come back from anywhere.
 *
 * What is read may be anything, so each value is checked before it is one: by a look at it where any bits, or any text,
 * are a value, and else by the type's own receive function.  What that would not give back as it was goes as the datum
 * that it is, which nobody can check: such bytes must come from this session, and it is the caller who sees to that
 * (partial.h).  Types are known to both sides; the bytes name none.
 */
#ifndef GPUSORT_VALUEFORM_H
#define GPUSORT_VALUEFORM_H

#include "fmgr.h"
#include "lib/stringinfo.h"

#include "src/arrays/vector.h"

/* How values are written; the numbers stand in bytes that are kept and sent. */
typedef enum ValueHow
{
	VALUE_FIXED = 1,			/* as they lie in memory: any bits of this width are a value */
	VALUE_BYTES = 2,			/* any bytes, as in bytea */
	VALUE_TEXT = 3,				/* text in the server's encoding */
	VALUE_NUMERIC = 4,			/* as numeric keeps it */
	VALUE_SENT = 5,				/* as the type's send function has it */
	VALUE_DATUM = 6				/* the datum itself, with its header if it has one */
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
	StringInfoData room;		/* the value that was read last */
	MemoryContext scratch;		/* what functions leave behind */
} ValueForm;

/* Bytes on their way in. */
typedef struct ByteSource
{
	const char *at;
	const char *end;
} ByteSource;

/* Finds a type's form; what it needs lives in cxt. */
extern void valueform_open(ValueForm *form, const VectorType *vtype, MemoryContext cxt);

/* The fewest bytes of a value. */
static inline Size
valueform_least(const ValueForm *form)
{
	return form->how == VALUE_FIXED ? form->width : sizeof(uint32);
}

/* Appends a value to bytes, or stops with an error if no datum could hold them. */
extern void valueform_put(ValueForm *form, StringInfo bytes, Datum value);

/* Makes room, or stops where a state would be too large for one value. */
extern void valueform_reserve_slow(StringInfo bytes, Size more);

/* Room for so many bytes more, or the error that no datum could hold them. */
static inline void
valueform_reserve(StringInfo bytes, Size more)
{
	if (unlikely(more >= (Size) (bytes->maxlen - bytes->len)))
		valueform_reserve_slow(bytes, more);
}

/* Is a value bytes of any number behind the header of a variable-length type? */
static inline bool
valueform_is_bytes(const ValueForm *form)
{
	return form->how >= VALUE_BYTES && form->how <= VALUE_NUMERIC;
}

/* Appends bytes behind their length. */
static inline void
valueform_put_bytes(StringInfo bytes, const char *data, Size length)
{
	uint32		count = (uint32) length;

	valueform_reserve(bytes, sizeof(count) + length);
	memcpy(bytes->data + bytes->len, &count, sizeof(count));
	memcpy(bytes->data + bytes->len + sizeof(count), data, length);
	bytes->len += (int) (sizeof(count) + length);
}

/* Reads and checks the bytes of a value that is such; they stay where they are. */
extern const char *valueform_get_bytes(const ValueForm *form, ByteSource *source, Size *length);

/* Reads a value that stays until the next one is read, or stops with an error. */
extern Datum valueform_get_slow(ValueForm *form, ByteSource *source);

/* Stops with the error that bytes are not what they should be. */
pg_noreturn extern void valueform_broken(const char *detail);

/* So many bytes of the source, of which there must be as many. */
static inline const char *
take_bytes(ByteSource *source, Size bytes)
{
	const char *at = source->at;

	if (unlikely(bytes > (Size) (source->end - at)))
		valueform_broken("It ends too early.");
	source->at += bytes;
	return at;
}

/* The same as valueform_get_slow. */
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
