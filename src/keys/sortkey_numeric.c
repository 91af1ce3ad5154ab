/*
 * sortkey_numeric.c: numeric, in three forms.  An int64 scaled by a power of ten suits prices and counts.  A value that
 * does not fit widens the key to a larger scale, then to 128 bits, and finally to byte strings, which hold everything.
 */
#include "postgres.h"

#include "numeric_parts.h"
#include "sortkey_types.h"

/* The greatest scales at which 1 fits. */
#define INT64_SCALE			18
#define INT128_SCALE		38

/* Weights that can fit, starting from 0. */
#define WEIGHTS				10

/* From the second correction on, the scale grows by this many decimals; after the last one the form is abandoned. */
#define SCALE_STEP			4
#define MAX_CORRECTIONS		5

/* Current form: value = integer * 10^-scale. */
typedef struct NumericState
{
	int			scale;			/* -1 before the first value */
	int			groups;			/* base-10000 digits that hold scale decimals */
	uint32		divisor;		/* excess in the last of them: 1, 10, 100 or 1000 */
	uint32		factor;			/* NUMERIC_BASE / divisor */
	uint64		reciprocal;		/* 2^32 / divisor, rounded up */
	int32		first_limit[WEIGHTS];	/* greatest first digit that fits, by weight; -1: none */
	int			corrections;
} NumericState;

static KeyResult encode_numeric64(SortKey *key, Datum value, KeyColumn *column, uint32 row);
static KeyResult encode_numeric_slow(SortKey *key, Datum value, KeyColumn *column, uint32 row);
static KeyResult encode_numeric_bytes(SortKey *key, Datum value, KeyColumn *column, uint32 row);

static const int64 powers_of_ten[INT64_SCALE + 1] = {
	1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, INT64CONST(10000000000),
	INT64CONST(100000000000), INT64CONST(1000000000000), INT64CONST(10000000000000), INT64CONST(100000000000000),
	INT64CONST(1000000000000000), INT64CONST(10000000000000000), INT64CONST(100000000000000000),
	INT64CONST(1000000000000000000)
};

/* Returns a power of ten. */
static uint128
power_of_ten(int exponent)
{
	uint128		power = powers_of_ten[Min(exponent, INT64_SCALE)];

	for (; exponent > INT64_SCALE; exponent--)
		power *= 10;
	return power;
}

/* Sets the scale for elements of 8 or 16 bytes, and the limits of values that fit. */
static void
set_scale(NumericState *state, int scale, int max_scale)
{
	uint128		limit = max_scale == INT64_SCALE ? (uint128) PG_INT64_MAX : ((uint128) 1 << 127) - 1;

	state->scale = scale;
	state->groups = (scale + NUMERIC_BASE_DECIMALS - 1) / NUMERIC_BASE_DECIMALS;
	state->divisor = (uint32) powers_of_ten[state->groups * NUMERIC_BASE_DECIMALS - scale];
	state->factor = NUMERIC_BASE / state->divisor;
	state->reciprocal = ((UINT64CONST(1) << 32) + state->divisor - 1) / state->divisor;
	for (int i = 0; i < WEIGHTS; i++)
	{
		int			decimals = i * NUMERIC_BASE_DECIMALS + scale;

		/* a number of this weight is less than (first digit + 1) * 10^decimals */
		if (decimals > max_scale)
			state->first_limit[i] = -1;
		else
			state->first_limit[i] = (int32) Min(limit / power_of_ten(decimals), NUMERIC_BASE) - 1;
	}
}

/* Returns true if the scale leaves room for a value of this magnitude. */
static inline bool
size_fits(const NumericState *state, int weight, uint16 first_digit)
{
	return weight < 0 || (weight < WEIGHTS && first_digit <= state->first_limit[weight]);
}

/* Computes the integer for a number at the key's scale, without the sign.  Returns false if it does not fit. */
static bool
scale_number(const NumericState *state, const NumericParts *parts, uint128 *result)
{
	int			fraction = parts->ndigits - 1 - parts->weight;
	uint128		sum = 0;
	uint16		last;

	*result = 0;
	if (parts->ndigits == 0)
		return true;
	if (fraction > state->groups || !size_fits(state, parts->weight, numeric_half_at(parts->digits, 0)))
		return false;
	for (int i = 0; i < parts->ndigits - 1; i++)
		sum = sum * NUMERIC_BASE + numeric_half_at(parts->digits, i);
	last = numeric_half_at(parts->digits, parts->ndigits - 1);
	if (fraction == state->groups)
		*result = sum * state->factor + last / state->divisor;
	else
		*result = (sum * NUMERIC_BASE + last) * power_of_ten(state->scale - fraction * NUMERIC_BASE_DECIMALS);
	return fraction < state->groups || last % state->divisor == 0;
}

/* Returns the number of significant decimals. */
static int
decimals_needed(const NumericParts *parts)
{
	int			fraction = parts->ndigits - 1 - parts->weight;
	int			decimals = fraction * NUMERIC_BASE_DECIMALS;
	int			last;

	if (parts->ndigits == 0 || fraction <= 0)
		return 0;
	for (last = numeric_half_at(parts->digits, parts->ndigits - 1); last % 10 == 0; last /= 10)
		decimals--;
	return decimals;
}

/* Sets a scale.  Returns false if the number does not fit elements of that size. */
static bool
try_scale(NumericState *state, const NumericParts *parts, int scale, int max_scale)
{
	uint128		ignored;

	if (scale > max_scale)
		return false;
	set_scale(state, scale, max_scale);
	return scale_number(state, parts, &ignored);
}

/* Chooses a scale for elements of some size: the displayed decimals, or the fewest that suffice. */
static bool
guess_scale(NumericState *state, const NumericParts *parts, int max_scale)
{
	int			before = state->scale;
	int			shown = Max(parts->scale, before);
	int			needed = Max(decimals_needed(parts), before);

	if (state->corrections > 1)
		shown = TYPEALIGN(SCALE_STEP, shown);
	return try_scale(state, parts, shown, max_scale) || try_scale(state, parts, Max(needed, 0), max_scale);
}

/* Switches the key to a form that holds this number. */
static KeyResult
correct_guess(SortKey *key, const NumericParts *parts)
{
	NumericState *state = key->state;
	NumericState before = *state;

	if (parts->kind != NUMBER_FINITE || state->corrections++ == MAX_CORRECTIONS)
		return widen(key, GS_BYTES, encode_numeric_bytes);
	before.corrections = state->corrections;
	if (key->spec.type == GS_I64 && guess_scale(state, parts, INT64_SCALE))
		return widen(key, GS_I64, encode_numeric64);
	*state = before;
	if (guess_scale(state, parts, INT128_SCALE))
		return widen(key, GS_U128, encode_numeric_slow);
	return widen(key, GS_BYTES, encode_numeric_bytes);
}

/* Encodes any value in the scaled forms, and detects those that do not fit. */
static pg_noinline KeyResult
encode_numeric_slow(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	struct varlena *varlena = open_varlena(value);
	KeyResult	result = KEY_OK;
	NumericParts		parts;
	uint128		number;

	numeric_take_apart(varlena, &parts);
	if (parts.kind != NUMBER_FINITE || !scale_number(key->state, &parts, &number))
		result = correct_guess(key, &parts);
	else
	{
		if (parts.negative)
			number = -number;
		if (key->spec.type == GS_I64)
			((int64 *) column->values)[row] = (int64) number;
		else
			put_uint128(column, row, (uint64) (number >> 64) ^ (UINT64CONST(1) << 63), (uint64) number);
	}
	close_varlena(value, varlena);
	return result;
}

/* Encodes numbers with a short header that fit 64 bits, without decoding them. */
static KeyResult
encode_numeric64(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	const NumericState *state = key->state;
	const struct varlena *varlena = (const struct varlena *) DatumGetPointer(value);
	const char *digits;
	int			ndigits;
	int			weight;
	int			fraction;
	uint16		header;
	uint32		last;
	int64		sum = 0;

	if (unlikely(VARATT_IS_EXTERNAL(varlena) || VARATT_IS_COMPRESSED(varlena)))
		return encode_numeric_slow(key, value, column, row);
	digits = VARDATA_ANY(varlena) + sizeof(uint16);
	ndigits = (int) (VARSIZE_ANY_EXHDR(varlena) / sizeof(uint16)) - 1;
	header = numeric_half_at(VARDATA_ANY(varlena), 0);
	weight = numeric_short_weight(header);
	fraction = ndigits - 1 - weight;
	if (unlikely((header & NUMERIC_SHORT_FLAGS_MASK) != NUMERIC_SHORT_FLAGS))
		return encode_numeric_slow(key, value, column, row);
	if (ndigits == 0)
	{
		((int64 *) column->values)[row] = 0;
		return KEY_OK;
	}
	if (unlikely(fraction > state->groups || !size_fits(state, weight, numeric_half_at(digits, 0))))
		return encode_numeric_slow(key, value, column, row);
	for (int i = 0; i < ndigits - 1; i++)
		sum = sum * NUMERIC_BASE + numeric_half_at(digits, i);
	last = numeric_half_at(digits, ndigits - 1);
	if (fraction == state->groups)
	{
		uint32		kept = (uint32) (last * state->reciprocal >> 32);

		if (unlikely(kept * state->divisor != last))
			return encode_numeric_slow(key, value, column, row);
		sum = sum * state->factor + kept;
	}
	else
		sum = (sum * NUMERIC_BASE + last) * powers_of_ten[state->scale - fraction * NUMERIC_BASE_DECIMALS];
	((int64 *) column->values)[row] = header & NUMERIC_SHORT_SIGN ? -sum : sum;
	return KEY_OK;
}

/* Encodes the first value, whose scale becomes the key's. */
static KeyResult
encode_numeric_first(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	NumericState *state = key->state;
	struct varlena *varlena = open_varlena(value);
	NumericParts		parts;

	numeric_take_apart(varlena, &parts);
	if (parts.kind != NUMBER_FINITE || !guess_scale(state, &parts, INT64_SCALE))
		set_scale(state, 0, INT64_SCALE);
	close_varlena(value, varlena);
	key->encode = encode_numeric64;
	return encode_numeric64(key, value, column, row);
}

/*
 * Bytes of positive numbers are in 1..254.  Negative ones are complemented and end with 255, so that more digits, which
 * make the string longer, sort first.  No byte is zero, which keeps the normalised form short.
 */
#define BYTE_MINUS_INF	1
#define BYTE_NEGATIVE	2
#define BYTE_ZERO		3
#define BYTE_POSITIVE	4
#define BYTE_PLUS_INF	5
#define BYTE_NAN		6
#define BYTE_END		255

/* Weights of one byte; others take an escape byte and three more. */
#define MAX_SHORT_WEIGHT	120
#define WEIGHT_MIDDLE		127
#define WEIGHT_BELOW		1
#define WEIGHT_ABOVE		254

/* Returns the bytes of a weight. */
static inline Size
weight_size(int weight)
{
	return abs(weight) <= MAX_SHORT_WEIGHT ? 1 : 4;
}

/* Writes the weight of the first digit. */
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

/* Writes a non-zero number. */
static void
write_number(uint8 *to, const NumericParts *parts)
{
	uint8		flip = parts->negative ? 255 : 0;

	*to++ = parts->negative ? BYTE_NEGATIVE : BYTE_POSITIVE;
	to = write_weight(to, parts->weight, flip);
	for (int i = 0; i < parts->ndigits; i++)
	{
		uint16		digit = numeric_half_at(parts->digits, i);

		*to++ = (uint8) ((digit >> 7) + 1) ^ flip;
		*to++ = (uint8) ((digit & 127) + 1) ^ flip;
	}
	if (parts->negative)
		*to = BYTE_END;
}

/* Encodes any value: sign, weight, digits. */
static KeyResult
encode_numeric_bytes(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	static const uint8 kinds[] = {BYTE_MINUS_INF, BYTE_ZERO, BYTE_PLUS_INF, BYTE_NAN};
	struct varlena *varlena = open_varlena(value);
	KeyResult	result;
	NumericParts		parts;

	numeric_take_apart(varlena, &parts);
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

/* Opens the scaled form; if the key must be exact, that of bytes. */
void
open_numeric(SortKey *key)
{
	NumericState *state = palloc0(sizeof(NumericState));

	state->scale = -1;
	key->state = state;
	if (key->exact)
		set_form(key, GS_BYTES, encode_numeric_bytes);
	else
		set_form(key, GS_I64, encode_numeric_first);
}

/* Limits within which base-10000 digits and powers of ten are exact in a double. */
#define DOUBLE_DIGITS		4
#define DOUBLE_INTEGERS		(INT64CONST(1) << 53)
#define DOUBLE_POWER		22

bool
sortkey_numeric_as_double(const struct varlena *value, double *result)
{
	static const double powers[DOUBLE_POWER + 1] = {
		1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
		1e20, 1e21, 1e22
	};
	NumericParts		parts;
	int64		integer = 0;
	int			exponent;

	numeric_take_apart(value, &parts);
	exponent = (parts.weight - parts.ndigits + 1) * NUMERIC_BASE_DECIMALS;
	if (parts.kind != NUMBER_FINITE || parts.ndigits > DOUBLE_DIGITS || abs(exponent) > DOUBLE_POWER)
		return false;
	for (int i = 0; i < parts.ndigits; i++)
		integer = integer * NUMERIC_BASE + numeric_half_at(parts.digits, i);
	if (integer > DOUBLE_INTEGERS)
		return false;
	/* a single operation on exact operands rounds to the nearest double */
	*result = exponent < 0 ? (double) integer / powers[-exponent] : (double) integer * powers[exponent];
	if (parts.negative)
		*result = -*result;
	return true;
}
