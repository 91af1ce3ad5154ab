/*
 * decimal.c: numerics as integers of 128 bits, times a power of ten.
 *
 * They are converted through text, the one public form of a numeric, as only constants and results are.
 */
#include "postgres.h"

#include <ctype.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "decimal.h"

/* Decimal digits of any held integer and its result. */
#define MAX_DIGITS 38

/* Returns the text of a numeric. */
static char *
text_of(Datum numeric)
{
	return DatumGetCString(DirectFunctionCall1(numeric_out, numeric));
}

/*
 * Reads decimal digits, with a point behind which scale of them count.  Returns false if they are too many.
 */
static bool
read_digits(const char *digits, int scale, uint128 *sum, bool *exact)
{
	int			decimals = -1;	/* behind the point; -1: before it */
	int			significant = 0;

	*sum = 0;
	*exact = true;
	for (; *digits; digits++)
	{
		if (*digits == '.')
		{
			decimals = 0;
			continue;
		}
		if (decimals == scale)
		{
			*exact = *exact && *digits == '0';
			continue;
		}
		decimals += decimals >= 0;
		significant += significant > 0 || *digits != '0';
		if (significant > MAX_DIGITS)
			return false;
		*sum = *sum * 10 + (uint128) (*digits - '0');
	}
	for (decimals = Max(decimals, 0); *sum != 0 && decimals < scale; decimals++)
	{
		if (++significant > MAX_DIGITS)
			return false;
		*sum *= 10;
	}
	return true;
}

Decimal
decimal_of(Datum numeric, int scale)
{
	Decimal		decimal = {.exact = true};
	const char *text = text_of(numeric);
	bool		negative = *text == '-';
	uint128		sum;

	text += negative;
	if (!isdigit((unsigned char) *text) || !read_digits(text, scale, &sum, &decimal.exact))
		decimal.beyond = negative ? -1 : 1;
	else if (negative)
		decimal.floor = -(int128) sum - (decimal.exact ? 0 : 1);
	else
		decimal.floor = (int128) sum;
	return decimal;
}

int
decimal_scale(Datum numeric)
{
	const char *point = strchr(text_of(numeric), '.');

	return point ? (int) strlen(point + 1) : 0;
}

Datum
decimal_numeric(int128 value, int scale)
{
	uint128		left = value < 0 ? -(uint128) value : (uint128) value;
	Size		room = 64 + (Size) scale;
	char	   *text = palloc(room);
	char	   *at = text + room;

	*--at = '\0';
	for (int digit = 0; left != 0 || digit <= scale; digit++)
	{
		if (digit == scale && scale > 0)
			*--at = '.';
		*--at = (char) ('0' + (int) (left % 10));
		left /= 10;
	}
	if (value < 0)
		*--at = '-';
	return DirectFunctionCall3(numeric_in, CStringGetDatum(at), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}
