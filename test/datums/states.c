/*
 * states.c: a deserialize function for tests that breaks states of aggregates before gpusort reads them.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(break_states);
PG_FUNCTION_INFO_V1(deserialize_broken);

/* From which the next way to break a state comes; 0 leaves states as they are. */
static uint64 seed = 0;

/* break_states(seed): how states are broken from now on. */
Datum
break_states(PG_FUNCTION_ARGS)
{
	seed = (uint64) PG_GETARG_INT64(0);
	PG_RETURN_VOID();
}

/* A number below a limit. */
static Size
chance(Size limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return limit == 0 ? 0 : (Size) (seed % limit);
}

/* A place in a state: mostly in its head, which says what the rest is. */
static Size
place(Size bytes)
{
	return chance(bytes > 48 && chance(2) == 0 ? 48 : bytes);
}

/* Changes a few bytes. */
static void
change(uint8 *data, Size bytes)
{
	static const uint8 odd[] = {0, 1, 2, 0x7f, 0x80, 0xff};

	for (Size changes = 1 + chance(3); changes > 0 && bytes > 0; changes--)
	{
		Size		at = place(bytes);

		if (chance(3) == 0)
			data[at] = odd[chance(sizeof(odd))];
		else
			data[at] ^= (uint8) (1 << chance(8));
	}
}

/* Has a state of rows say that they are runs in order: the second version, without NULLs. */
static void
call_runs(uint8 *data, Size bytes)
{
	if (bytes < 16)
		return;
	data[8] = data[11] = 2;
	data[13] = 0;
}

/* A broken copy of a state: shorter, longer, with other bits, of other contents, or nothing but bits. */
static bytea *
broken(const bytea *state)
{
	Size		bytes = VARSIZE_ANY_EXHDR(state);
	Size		kept = chance(4) == 0 ? chance(bytes) : bytes;
	Size		more = chance(8) == 0 ? chance(100) : 0;
	bytea	   *copy = palloc(VARHDRSZ + kept + more);
	uint8	   *data = (uint8 *) VARDATA(copy);

	SET_VARSIZE(copy, VARHDRSZ + kept + more);
	memcpy(data, VARDATA_ANY(state), kept);
	for (Size i = kept; i < kept + more; i++)
		data[i] = (uint8) chance(256);
	if (chance(8) == 0)
		call_runs(data, kept);
	else if (kept == bytes && more == 0)
		change(data, bytes);
	return copy;
}

/* deserialize_broken(state, internal): as gpusort_deserialize, of a broken copy. */
Datum
deserialize_broken(PG_FUNCTION_ARGS)
{
	Oid function =
		DatumGetObjectId(DirectFunctionCall1(regprocedurein, CStringGetDatum("gpusort_deserialize(bytea,internal)")));
	Datum		state = PG_GETARG_DATUM(0);

	if (seed != 0)
		state = PointerGetDatum(broken(PG_GETARG_BYTEA_PP(0)));
	return OidFunctionCall2(function, state, PointerGetDatum(NULL));
}
