/*
 * key_word.h: words of a key's value, which tell neighbours of an order apart.
 *
 * A value has a word at each depth, from 0 on; values compare as the first words in which they differ.
 */
#ifndef GPUSORT_KEY_WORD_H
#define GPUSORT_KEY_WORD_H

#include "port/pg_bswap.h"

#include "kernels/common/float_order.h"
#include "src/base/compat.h"
#include "sortkey.h"

/* How a value becomes words. */
typedef enum WordForm
{
	WORD_NONE,					/* it does not: only the comparison function orders values */
	WORD_PLAIN,					/* the Datum is the element */
	WORD_ENCODED,				/* an element of fixed width, by the key's encoder; of a wide one the high half */
	WORD_UUID,					/* both halves */
	WORD_STRING,				/* STRING_STEP bytes at each depth */
	WORD_BYTES					/* the first bytes of the normalised form */
} WordForm;

/* Bytes of a string in a word, behind which stands how many the string has from there on, up to one more. */
#define STRING_STEP 7
#define STRING_GOES_ON (STRING_STEP + 1)

/* A key as a source of words.  Valid while the key keeps its form. */
typedef struct KeyWord
{
	SortKey    *key;
	WordForm	form;
	int			depths;
	bool		whole;			/* values with equal words at depth 0 are equal */
	uint64		flip;			/* all bits set if the key descends */
} KeyWord;

/* Finds out which words the present form of a key has. */
extern KeyWord keyword_of(SortKey *key);

/* Writes a value's word by an encoder, or of the normalised form; false if the value does not fit the key's form. */
extern bool keyword_encode(const KeyWord *word, Datum value, uint64 *to);

/* A word of a string that is compressed or out of line. */
extern uint64 packed_string_word(Datum value, int depth);

/* Maps an element to an order-preserving unsigned integer: inverts the sign bit, normalises floats. */
static pg_attribute_always_inline uint64
element_image(gs_type type, const char *element)
{
	switch (type)
	{
		case GS_U8:
			return *(const uint8 *) element;
		case GS_U16:
			return *(const uint16 *) element;
		case GS_U32:
			return *(const uint32 *) element;
		case GS_U64:
			return *(const uint64 *) element;
		case GS_I16:
			return (uint16) (*(const uint16 *) element ^ 0x8000);
		case GS_I32:
			return *(const uint32 *) element ^ 0x80000000u;
		case GS_I64:
			return *(const uint64 *) element ^ (UINT64CONST(1) << 63);
		case GS_F32:
			return gs_float_order32(*(const uint32 *) element, true);
		case GS_F64:
			return gs_float_order64(*(const uint64 *) element, true);
		case GS_U128:
		case GS_BYTES:
			break;
	}
	elog(ERROR, "sort key type %d has no 64-bit image", (int) type);
}

/* Loads bytes, most significant first. */
static inline uint64
load_big_endian(const char *bytes)
{
	uint64		word;

	memcpy(&word, bytes, sizeof(word));
	return pg_ntoh64(word);
}

/* The bytes of a string of less than a word, most significant first, behind them zeros. */
static inline uint64
short_string(const char *bytes, Size len)
{
	/* the last bytes lie over the first ones where a string has less than both */
	if (len >= sizeof(uint32))
	{
		uint32		ends[2];

		memcpy(&ends[0], bytes, sizeof(uint32));
		memcpy(&ends[1], bytes + len - sizeof(uint32), sizeof(uint32));
		return (uint64) pg_ntoh32(ends[0]) << 32 | (uint64) pg_ntoh32(ends[1]) << (64 - 8 * len);
	}
	if (len >= sizeof(uint16))
	{
		uint16		ends[2];

		memcpy(&ends[0], bytes, sizeof(uint16));
		memcpy(&ends[1], bytes + len - sizeof(uint16), sizeof(uint16));
		return (uint64) pg_ntoh16(ends[0]) << 48 | (uint64) pg_ntoh16(ends[1]) << (64 - 8 * len);
	}
	return len > 0 ? (uint64) (uint8) *bytes << 56 : 0;
}

/* A word of a string. */
static pg_attribute_always_inline uint64
string_word(Datum value, int depth)
{
	struct varlena *string = (struct varlena *) DatumGetPointer(value);
	Size		skip = (Size) depth * STRING_STEP;
	Size		len;

	if (unlikely(VARATT_IS_EXTERNAL(string) || VARATT_IS_COMPRESSED(string)))
		return packed_string_word(value, depth);
	len = VARSIZE_ANY_EXHDR(string);
	len = len > skip ? len - skip : 0;
	if (len < STRING_GOES_ON)
		return short_string(VARDATA_ANY(string) + skip, len) | len;
	return (load_big_endian(VARDATA_ANY(string) + skip) & ~UINT64CONST(0xff)) | STRING_GOES_ON;
}

/* May values whose words at a depth are this one still differ? */
static inline bool
keyword_goes_on(const KeyWord *word, uint64 value, int depth)
{
	if (word->form == WORD_STRING)
		return ((value ^ word->flip) & 0xff) == STRING_GOES_ON;
	return !word->whole && (word->form != WORD_UUID || depth == 0);
}

/* Writes a value's word at a depth; false if the value does not fit the key's form. */
static pg_attribute_always_inline bool
keyword_write(const KeyWord *word, WordForm form, Datum value, int depth, uint64 *to)
{
	if (form == WORD_STRING)
		*to = string_word(value, depth);
	else if (form == WORD_PLAIN)
	{
		char		element[sizeof(uint64)] pg_attribute_aligned(8);

		sortkey_put_plain(element, value, word->key->plain, 0);
		*to = element_image(word->key->spec.type, element);
	}
	else if (form == WORD_UUID)
		*to = load_big_endian((const char *) DatumGetPointer(value) + depth * sizeof(uint64));
	else if (!keyword_encode(word, value, to))
		return false;
	*to ^= word->flip;
	return true;
}

#endif
