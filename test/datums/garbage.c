/*
 * garbage.c: SQL functions for tests, about the bits of a by-value Datum that its type does not use.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "utils/lsyscache.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(with_garbage);
PG_FUNCTION_INFO_V1(datum_bits);

/* The bits that values of the argument's type use. */
static Datum
used_bits(FunctionCallInfo fcinfo)
{
	int16		len;
	bool		byval;

	get_typlenbyval(get_fn_expr_argtype(fcinfo->flinfo, 0), &len, &byval);
	if (!byval)
		elog(ERROR, "the type is passed by reference");
	return ~(Datum) 0 >> BITS_PER_BYTE * (sizeof(Datum) - len);
}

/*
 * with_garbage(value): the same value, with garbage in the unused bits that is another one at every call.  The server
 * takes any bit of a boolean for true, so false stays as it is.
 */
Datum
with_garbage(PG_FUNCTION_ARGS)
{
	static uint64 calls = 0;
	Datum		value = PG_GETARG_DATUM(0);
	Datum		used = used_bits(fcinfo);
	Datum		garbage = (Datum) (++calls * UINT64CONST(0x9e3779b97f4a7c15));

	if (get_fn_expr_argtype(fcinfo->flinfo, 0) == BOOLOID && !DatumGetBool(value))
		PG_RETURN_DATUM(value);
	PG_RETURN_DATUM((value & used) | (garbage & ~used));
}

/* datum_bits(value): the whole Datum as a bigint. */
Datum
datum_bits(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) PG_GETARG_DATUM(0));
}
