/*
 * sortkey_bit.c: bit and varbit, which compare by bytes and then by the number of bits.
 *
 * Unused bits of the last byte are zero, so where the number of bits leaves the same remainder in all rows, as in every
 * bit(n) column, the bytes alone are exact.  That is the guess.  The wider form makes the bytes end in a mark below
 * every byte that could follow, and adds the remainder behind it.
 */
#include "postgres.h"

#include "sortkey_types.h"

/* The remainder that all rows so far have, 0 before the first. */
typedef struct BitState
{
	uint8		remainder;
} BitState;

/* Bytes of the wider form: a zero byte becomes two, the mark has two, the remainder one. */
static Size
marked_size(const uint8 *bytes, Size len)
{
	Size		size = len + 3;

	for (Size i = 0; i < len; i++)
		size += bytes[i] == 0;
	return size;
}

/* Writes the wider form: zero bytes as 0 255, then the mark 0 0, then the remainder. */
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

/* A bit string where it lies: neither the header of a short datum nor the length behind it need be aligned. */
typedef struct BitView
{
	const uint8 *bytes;
	Size		len;
	uint8		remainder;		/* bits in the last byte, 1 to 8; 0 without any */
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

/* Any bit strings: bytes, mark and remainder. */
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

/* Bit strings whose lengths leave the same remainder: bytes. */
static KeyResult
encode_bit_plain(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	BitState   *state = key->state;
	struct varlena *varlena = open_varlena(value);
	BitView		view = view_bits(varlena);
	KeyResult	result;

	if (state->remainder == 0)
		state->remainder = view.remainder;
	/* no bits at all are no bytes, which no other value is, so they do not break the guess */
	if (view.remainder != state->remainder && view.remainder != 0)
		result = widen(key, GS_BYTES, encode_bit_marked);
	else
		result = put_bytes(column, row, view.bytes, view.len);
	close_varlena(value, varlena);
	return result;
}

/* Bytes alone as a guess; with their mark where keys have to be exact. */
void
open_bit(SortKey *key)
{
	key->state = palloc0(sizeof(BitState));
	set_form(key, GS_BYTES, key->exact ? encode_bit_marked : encode_bit_plain);
}
