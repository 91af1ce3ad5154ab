/*
 * sortkey_bit.c: bit and varbit, which compare by bytes and then by the number of bits.
 *
 * Unused bits of the last byte are zero, so where the number of bits leaves the same remainder in all rows, as in every bit(n) column,
 * the bytes alone are exact.  That is the guess.  The wider form makes the bytes end in a mark below every byte that could follow, and
 * adds the remainder behind it.
 */
#include "postgres.h"

#include "utils/varbit.h"

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

/* The number of bits in the last byte, 1 to 8, so that more bits are a greater number. */
static uint8
remainder_of(VarBit *bits)
{
	return (uint8) ((VARBITLEN(bits) + 7) % BITS_PER_BYTE + 1);
}

/* Any bit strings: bytes, mark and remainder. */
static KeyResult
encode_bit_marked(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	VarBit	   *bits = DatumGetVarBitP(value);
	const uint8 *bytes = (const uint8 *) VARBITS(bits);
	Size		len = VARBITBYTES(bits);
	uint8	   *to;
	KeyResult	result = bytes_room(column, row, marked_size(bytes, len), &to);

	if (result == KEY_OK)
		write_marked(to, bytes, len, remainder_of(bits));
	close_varlena(value, (struct varlena *) bits);
	return result;
}

/* Bit strings whose lengths leave the same remainder: bytes. */
static KeyResult
encode_bit_plain(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	BitState   *state = key->state;
	VarBit	   *bits = DatumGetVarBitP(value);
	uint8		remainder = remainder_of(bits);
	KeyResult	result;

	/* no bits at all are no bytes, which no other value is, so they say nothing about the guess */
	if (VARBITLEN(bits) > 0 && state->remainder == 0)
		state->remainder = remainder;
	if (VARBITLEN(bits) > 0 && state->remainder != remainder)
		result = widen(key, GS_BYTES, encode_bit_marked);
	else
		result = put_bytes(column, row, VARBITS(bits), VARBITBYTES(bits));
	close_varlena(value, (struct varlena *) bits);
	return result;
}

void
open_bit(SortKey *key)
{
	key->state = palloc0(sizeof(BitState));
	set_form(key, GS_BYTES, key->exact ? encode_bit_marked : encode_bit_plain);
}
