/*
 * sortkey_numeric.c: numeric, in three forms.
 *
 * First guess: an int64 scaled by some power of 10000, which is what prices and counts are.  Values that do not fit take the key to more
 * scale, to 128 bits, and at last to byte strings, which take everything: NaN, infinities, 130,000 digits.
 *
 * The layout of numeric is private to numeric.c, but has not changed since 9.1 and is on every user's disk, so it will not.  Behind the
 * varlena header stand 16 bits, then digits of base 10000, most significant first, each 16 bits wide, without zero digits on either end.
 * Nothing is aligned where the varlena header is one byte.  The 16 bits are:
 *
 *	10 s dddddd wwwwwww		short: sign, display scale, weight of the first digit in two's complement
 *	00 or 01 dddd...		long, positive or negative: display scale; 16 more bits are the weight
 *	1100 1101 1111 0...		NaN, +Infinity, -Infinity
 */
#include "postgres.h"

#include "sortkey_types.h"

#define SHORT_FLAGS_MASK	0xC000
#define SHORT_FLAGS			0x8000
#define SHORT_SIGN			0x2000
#define SHORT_WEIGHT_MASK	0x007F
#define SHORT_WEIGHT_SIGN	0x0040
#define LONG_NEGATIVE		0x4000
#define SPECIAL_NAN			0xC000
#define SPECIAL_PLUS_INF	0xD000

/* So many digits of base 10000 fit into an element; one more does where the first one is at most the limit here. */
#define INT64_DIGITS		4
#define INT64_FIRST_DIGIT	921
#define INT128_DIGITS		9
#define INT128_FIRST_DIGIT	169

/* The guess is given up after so many corrections. */
#define MAX_CORRECTIONS		4

/* The guess: fraction digits of base 10000 in an element. */
typedef struct NumericState
{
	int			scale;
	int			corrections;
} NumericState;

/* A value taken apart. */
typedef struct Parts
{
	enum
	{
		NUMBER_MINUS_INF,
		NUMBER_FINITE,
		NUMBER_PLUS_INF,
		NUMBER_NAN
	}			kind;
	bool		negative;
	int			weight;			/* of the first digit; 0 for zero */
	int			ndigits;
	const char *digits;			/* not aligned */
} Parts;

static KeyResult encode_numeric128(SortKey *key, Datum value, KeyColumn *column, uint32 row);
static KeyResult encode_numeric_bytes(SortKey *key, Datum value, KeyColumn *column, uint32 row);

/* Powers of 10000; the last one is for zero alone, which has no digits. */
static const int64 powers[INT64_DIGITS + 2] = {
	1, 10000, 100000000, INT64CONST(1000000000000), INT64CONST(10000000000000000), 0
};

/* Reads 16 bits that need not be aligned. */
static inline uint16
half_at(const char *bytes, int i)
{
	uint16		half;

	memcpy(&half, bytes + i * sizeof(half), sizeof(half));
	return half;
}

/* The weight in a short header. */
static inline int
short_weight(uint16 header)
{
	return (int) ((header & SHORT_WEIGHT_MASK) ^ SHORT_WEIGHT_SIGN) - SHORT_WEIGHT_SIGN;
}

/* Takes a value apart; zero digits on either end are dropped, should there be any. */
static void
take_apart(const struct varlena *varlena, Parts *parts)
{
	const char *data = VARDATA_ANY(varlena);
	int			halves = (int) (VARSIZE_ANY_EXHDR(varlena) / sizeof(uint16));
	uint16		header = half_at(data, 0);
	bool		is_short = (header & SHORT_FLAGS_MASK) == SHORT_FLAGS;
	bool		is_long = (header & SHORT_FLAGS) == 0;

	memset(parts, 0, sizeof(*parts));
	if (!is_short && !is_long)
	{
		parts->kind = header == SPECIAL_NAN ? NUMBER_NAN : header == SPECIAL_PLUS_INF ? NUMBER_PLUS_INF : NUMBER_MINUS_INF;
		return;
	}
	parts->kind = NUMBER_FINITE;
	parts->negative = (header & (is_short ? SHORT_SIGN : LONG_NEGATIVE)) != 0;
	parts->weight = is_short ? short_weight(header) : (int16) half_at(data, 1);
	parts->digits = data + (is_short ? 1 : 2) * sizeof(uint16);
	parts->ndigits = halves - (is_short ? 1 : 2);
	while (parts->ndigits > 0 && half_at(parts->digits, 0) == 0)
	{
		parts->digits += sizeof(uint16);
		parts->ndigits--;
		parts->weight--;
	}
	while (parts->ndigits > 0 && half_at(parts->digits, parts->ndigits - 1) == 0)
		parts->ndigits--;
	if (parts->ndigits <= 0)
	{
		parts->ndigits = parts->weight = 0;
		parts->negative = false;
	}
}

/* Does a number that needs so many digits fit into an element with room for so many, or one more if the first is small? */
static inline bool
digits_fit(int needed, const char *digits, int ndigits, int room, uint16 first_digit)
{
	return needed <= room || (needed == room + 1 && (ndigits == 0 || half_at(digits, 0) <= first_digit));
}

/* Gives the key the next form, one that takes this value. */
static KeyResult
correct_guess(SortKey *key, const Parts *parts)
{
	NumericState *state = key->state;
	int			fraction = Max(parts->ndigits - 1 - parts->weight, 0);
	int			needed;

	state->scale = Max(state->scale, fraction);
	needed = parts->weight + 1 + state->scale;
	if (parts->kind != NUMBER_FINITE || ++state->corrections > MAX_CORRECTIONS)
		return widen(key, GS_BYTES, encode_numeric_bytes);
	if (key->spec.type == GS_I64 && state->scale <= INT64_DIGITS &&
		digits_fit(needed, parts->digits, parts->ndigits, INT64_DIGITS, INT64_FIRST_DIGIT))
		return widen(key, key->spec.type, key->encode);
	if (state->scale <= INT128_DIGITS &&
		digits_fit(needed, parts->digits, parts->ndigits, INT128_DIGITS, INT128_FIRST_DIGIT))
		return widen(key, GS_U128, encode_numeric128);
	return widen(key, GS_BYTES, encode_numeric_bytes);
}

/* Encodes a value with a long header, or one that was compressed, or finds that it does not fit. */
static pg_noinline KeyResult
encode_numeric64_slow(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	NumericState *state = key->state;
	struct varlena *varlena = open_varlena(value);
	KeyResult	result = KEY_OK;
	Parts		parts;
	int			missing;

	take_apart(varlena, &parts);
	missing = state->scale - (parts.ndigits - 1 - parts.weight);
	if (parts.kind != NUMBER_FINITE || missing < 0 ||
		!digits_fit(parts.weight + 1 + state->scale, parts.digits, parts.ndigits, INT64_DIGITS, INT64_FIRST_DIGIT))
		result = correct_guess(key, &parts);
	else
	{
		int64		sum = 0;

		for (int i = 0; i < parts.ndigits; i++)
			sum = sum * 10000 + half_at(parts.digits, i);
		sum *= powers[missing];
		((int64 *) column->values)[row] = parts.negative ? -sum : sum;
	}
	close_varlena(value, varlena);
	return result;
}

/* First guess: values with a short header and few digits, read where they lie. */
static KeyResult
encode_numeric64(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	NumericState *state = key->state;
	const struct varlena *varlena = (const struct varlena *) DatumGetPointer(value);
	const char *data;
	int			ndigits;
	int			weight;
	int			missing;
	uint16		header;
	int64		sum = 0;

	if (unlikely(VARATT_IS_EXTERNAL(varlena) || VARATT_IS_COMPRESSED(varlena)))
		return encode_numeric64_slow(key, value, column, row);
	data = VARDATA_ANY(varlena);
	ndigits = (int) (VARSIZE_ANY_EXHDR(varlena) / sizeof(uint16)) - 1;
	header = half_at(data, 0);
	data += sizeof(uint16);
	weight = short_weight(header);
	missing = state->scale - (ndigits - 1 - weight);
	if (unlikely((header & SHORT_FLAGS_MASK) != SHORT_FLAGS || missing < 0 ||
				 !digits_fit(weight + 1 + state->scale, data, ndigits, INT64_DIGITS, INT64_FIRST_DIGIT)))
		return encode_numeric64_slow(key, value, column, row);
	for (int i = 0; i < ndigits; i++)
		sum = sum * 10000 + half_at(data, i);
	sum *= powers[missing];
	((int64 *) column->values)[row] = header & SHORT_SIGN ? -sum : sum;
	return KEY_OK;
}

/* Second guess: 128 bits, raised above zero. */
static KeyResult
encode_numeric128(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	NumericState *state = key->state;
	struct varlena *varlena = open_varlena(value);
	KeyResult	result = KEY_OK;
	Parts		parts;
	int			missing;

	take_apart(varlena, &parts);
	missing = state->scale - (parts.ndigits - 1 - parts.weight);
	if (unlikely(parts.kind != NUMBER_FINITE || missing < 0 ||
				 !digits_fit(parts.weight + 1 + state->scale, parts.digits, parts.ndigits,
							 INT128_DIGITS, INT128_FIRST_DIGIT)))
		result = correct_guess(key, &parts);
	else
	{
		uint128		sum = 0;

		for (int i = 0; i < parts.ndigits; i++)
			sum = sum * 10000 + half_at(parts.digits, i);
		for (int i = 0; sum != 0 && i < missing; i++)
			sum *= 10000;
		if (parts.negative)
			sum = -sum;
		put_uint128(column, row, (uint64) (sum >> 64) ^ (UINT64CONST(1) << 63), (uint64) sum);
	}
	close_varlena(value, varlena);
	return result;
}

/*
 * The bytes of positive numbers are all in 1..254.  Negative ones have the complement of each, and 255 at the end: so more digits, which
 * make a longer string, come before.  No byte is zero, which keeps the normalised form short.
 */
#define BYTE_MINUS_INF	1
#define BYTE_NEGATIVE	2
#define BYTE_ZERO		3
#define BYTE_POSITIVE	4
#define BYTE_PLUS_INF	5
#define BYTE_NAN		6
#define BYTE_END		255

/* Weights in one byte; others have a byte beyond them, then three more. */
#define MAX_SHORT_WEIGHT	120
#define WEIGHT_MIDDLE		127
#define WEIGHT_BELOW		1
#define WEIGHT_ABOVE		254

/* Bytes that a weight takes. */
static inline Size
weight_size(int weight)
{
	return abs(weight) <= MAX_SHORT_WEIGHT ? 1 : 4;
}

/* Writes the weight of a number's first digit. */
static uint8 *
write_weight(uint8 *to, int weight, uint8 flip)
{
	uint32		biased = (uint32) (weight - PG_INT16_MIN);

	if (weight_size(weight) == 1)
	{
		*to++ = (uint8) (WEIGHT_MIDDLE + weight) ^ flip;
		return to;
	}
	*to++ = (weight < 0 ? WEIGHT_BELOW : WEIGHT_ABOVE) ^ flip;
	*to++ = (uint8) ((biased >> 12) + 1) ^ flip;
	*to++ = (uint8) ((biased >> 6 & 63) + 1) ^ flip;
	*to++ = (uint8) ((biased & 63) + 1) ^ flip;
	return to;
}

/* Writes a number that is not zero. */
static void
write_number(uint8 *to, const Parts *parts)
{
	uint8		flip = parts->negative ? 255 : 0;

	*to++ = parts->negative ? BYTE_NEGATIVE : BYTE_POSITIVE;
	to = write_weight(to, parts->weight, flip);
	for (int i = 0; i < parts->ndigits; i++)
	{
		uint16		digit = half_at(parts->digits, i);

		*to++ = (uint8) ((digit >> 7) + 1) ^ flip;
		*to++ = (uint8) ((digit & 127) + 1) ^ flip;
	}
	if (parts->negative)
		*to = BYTE_END;
}

/* Any value: sign, weight, digits. */
static KeyResult
encode_numeric_bytes(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	static const uint8 kinds[] = {BYTE_MINUS_INF, BYTE_ZERO, BYTE_PLUS_INF, BYTE_NAN};
	struct varlena *varlena = open_varlena(value);
	KeyResult	result;
	Parts		parts;

	take_apart(varlena, &parts);
	if (parts.ndigits == 0)
		result = put_bytes(column, row, &kinds[parts.kind], 1);
	else
	{
		Size		len = 1 + weight_size(parts.weight) + 2 * (Size) parts.ndigits + (parts.negative ? 1 : 0);
		uint8	   *to;

		result = bytes_room(column, row, len, &to);
		if (result == KEY_OK)
			write_number(to, &parts);
	}
	close_varlena(value, varlena);
	return result;
}

void
open_numeric(SortKey *key)
{
	key->state = palloc0(sizeof(NumericState));
	if (key->exact)
		set_form(key, GS_BYTES, encode_numeric_bytes);
	else
		set_form(key, GS_I64, encode_numeric64);
}
