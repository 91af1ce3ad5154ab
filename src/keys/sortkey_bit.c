/*
 * sortkey_bit.c: bit and varbit, which compare by bytes, then by the number of bits.  If the number of bits modulo
 * eight is constant, as in every bit(n) column, the bytes alone are an exact key.  The wider form ends the bytes with a
 * mark below any byte that could follow, then adds the remainder.
 */
#include "postgres.h"

#include "sortkey_types.h"

/* The remainder of all rows so far; 0 before the first. */
typedef struct BitState
{
	uint8		remainder;
} BitState;

/* Returns the bytes of the wider form: a zero byte takes two, the mark two, the remainder one. */
static Size
marked_size(const uint8 *bytes, Size len)
{
	Size		size = len + 3;

	for (Size i = 0; i < len; i++)
		size += bytes[i] == 0;
	return size;
}

/* Writes the wider form: zero bytes as 0 255, the mark 0 0, the remainder. */
static void
write_marked(uint8 *to, const uint8 *bytes, Size len, uint8 remainder)
{
	for (Size i = 0; i < len; i++)
	{
		*to++ = bytes[i];
		if (bytes[i] == 0)
			*to++ = 255;
	}
	*to++ = 0;
	*to++ = 0;
	*to = remainder;
}

/* A bit string in place.  Neither a short datum's header nor the length after it is aligned. */
typedef struct BitView
{
	const uint8 *bytes;
	Size		len;
	uint8		remainder;		/* bits in the last byte, 1 to 8; 0 for an empty string */
} BitView;

/* Looks at a bit string. */
static BitView
view_bits(const struct varlena *varlena)
{
	const uint8 *data = (const uint8 *) VARDATA_ANY(varlena);
	BitView		view;
	int32		bits;

	memcpy(&bits, data, sizeof(bits));
	view.bytes = data + sizeof(bits);
	view.len = VARSIZE_ANY_EXHDR(varlena) - sizeof(bits);
	view.remainder = bits == 0 ? 0 : (uint8) ((bits - 1) % BITS_PER_BYTE + 1);
	return view;
}

/* Encodes any bit string: bytes, mark and remainder. */
static KeyResult
encode_bit_marked(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	struct varlena *varlena = open_varlena(value);
	BitView		view = view_bits(varlena);
	uint8	   *to;
	KeyResult	result = bytes_room(column, row, marked_size(view.bytes, view.len), &to);

	if (result == KEY_OK)
		write_marked(to, view.bytes, view.len, view.remainder);
	close_varlena(value, varlena);
	return result;
}

/* Encodes bit strings of constant remainder: bytes. */
static KeyResult
encode_bit_plain(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	BitState   *state = key->state;
	struct varlena *varlena = open_varlena(value);
	BitView		view = view_bits(varlena);
	KeyResult	result;

	if (state->remainder == 0)
		state->remainder = view.remainder;
	/* an empty string has no bytes, unlike all others, so it does not violate the assumption */
	if (view.remainder != state->remainder && view.remainder != 0)
		result = widen(key, GS_BYTES, encode_bit_marked);
	else
		result = put_bytes(column, row, view.bytes, view.len);
	close_varlena(value, varlena);
	return result;
}

/* Opens the plain form; if the key must be exact, the marked one. */
void
open_bit(SortKey *key)
{
	key->state = palloc0(sizeof(BitState));
	set_form(key, GS_BYTES, key->exact ? encode_bit_marked : encode_bit_plain);
}
