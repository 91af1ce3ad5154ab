/*
 * abbreviated.c: sort support for bigint in its usual order, with abbreviated keys of several kinds and comparators of
 * their own, as types of extensions have them; and a count of the comparisons in full.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/sortsupport.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(counted_cmp);
PG_FUNCTION_INFO_V1(full_comparisons);
PG_FUNCTION_INFO_V1(support_with_zero);
PG_FUNCTION_INFO_V1(support_signed);
PG_FUNCTION_INFO_V1(support_reversed);
PG_FUNCTION_INFO_V1(support_rotated);
PG_FUNCTION_INFO_V1(support_lying);

/* Values below have the abbreviated key 0 where that stands for all that are compared in full. */
#define LEAST_KNOWN (-1000000000)

static int64 comparisons = 0;

/* The comparison in full, which is counted. */
static int
compare_full(Datum a, Datum b, SortSupport ssup)
{
	int64		x = DatumGetInt64(a);
	int64		y = DatumGetInt64(b);

	comparisons++;
	return x < y ? -1 : x > y;
}

/* counted_cmp(bigint, bigint): the same for operator classes. */
Datum
counted_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare_full(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), NULL));
}

/* full_comparisons(): how many there were since it was called last. */
Datum
full_comparisons(PG_FUNCTION_ARGS)
{
	int64		result = comparisons;

	comparisons = 0;
	PG_RETURN_INT64(result);
}

/* Abbreviated keys are always good. */
static bool
never_abort(int rows, SortSupport ssup)
{
	return false;
}

/* Sets sort support up. */
static void
set_support(SortSupport ssup, Datum (*converter) (Datum, SortSupport), int (*comparator) (Datum, Datum, SortSupport))
{
	ssup->comparator = compare_full;
	if (!ssup->abbreviate)
		return;
	ssup->comparator = comparator;
	ssup->abbrev_converter = converter;
	ssup->abbrev_abort = never_abort;
	ssup->abbrev_full_comparator = compare_full;
}

/* Leading bits, and 0 for small values. */
static Datum
convert_with_zero(Datum value, SortSupport ssup)
{
	int64		number = DatumGetInt64(value);

	return number < LEAST_KNOWN ? (Datum) 0 : (Datum) (((uint64) number ^ (UINT64CONST(1) << 63)) >> 8);
}

/* Compares them; 0 is to be compared in full. */
static int
compare_with_zero(Datum a, Datum b, SortSupport ssup)
{
	return a == 0 || b == 0 || a == b ? 0 : a < b ? -1 : 1;
}

/* support_with_zero(internal): as geometries have it. */
Datum
support_with_zero(PG_FUNCTION_ARGS)
{
	set_support((SortSupport) PG_GETARG_POINTER(0), convert_with_zero, compare_with_zero);
	PG_RETURN_VOID();
}

/* Leading bits with their sign. */
static Datum
convert_signed(Datum value, SortSupport ssup)
{
	return Int64GetDatum(DatumGetInt64(value) / 16);
}

/* Compares them. */
static int
compare_signed(Datum a, Datum b, SortSupport ssup)
{
	return DatumGetInt64(a) < DatumGetInt64(b) ? -1 : DatumGetInt64(a) > DatumGetInt64(b);
}

/* support_signed(internal) */
Datum
support_signed(PG_FUNCTION_ARGS)
{
	set_support((SortSupport) PG_GETARG_POINTER(0), convert_signed, compare_signed);
	PG_RETURN_VOID();
}

/* Compares keys that were made negative, as those of numeric. */
static int
compare_reversed(Datum a, Datum b, SortSupport ssup)
{
	return compare_signed(b, a, ssup);
}

/* Leading bits with the other sign. */
static Datum
convert_reversed(Datum value, SortSupport ssup)
{
	return Int64GetDatum(-(DatumGetInt64(value) / 16));
}

/* support_reversed(internal) */
Datum
support_reversed(PG_FUNCTION_ARGS)
{
	set_support((SortSupport) PG_GETARG_POINTER(0), convert_reversed, compare_reversed);
	PG_RETURN_VOID();
}

/* The high half and the low half of a number change places. */
static uint64
change_halves(uint64 number)
{
	return number << 32 | number >> 32;
}

/* Leading bits whose halves have changed places: no order of integers. */
static Datum
convert_rotated(Datum value, SortSupport ssup)
{
	return (Datum) change_halves((uint64) convert_signed(value, ssup));
}

/* Compares them. */
static int
compare_rotated(Datum a, Datum b, SortSupport ssup)
{
	return compare_signed((Datum) change_halves((uint64) a), (Datum) change_halves((uint64) b), ssup);
}

/* support_rotated(internal) */
Datum
support_rotated(PG_FUNCTION_ARGS)
{
	set_support((SortSupport) PG_GETARG_POINTER(0), convert_rotated, compare_rotated);
	PG_RETURN_VOID();
}

/* All are compared in full, whatever the keys are. */
static int
compare_never(Datum a, Datum b, SortSupport ssup)
{
	return 0;
}

/* support_lying(internal): keys look like integers in an order, which is not that of the values. */
Datum
support_lying(PG_FUNCTION_ARGS)
{
	set_support((SortSupport) PG_GETARG_POINTER(0), convert_rotated, compare_never);
	PG_RETURN_VOID();
}
