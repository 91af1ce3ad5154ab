/*
 * sortkey.c: which encoder serves an ordering operator.
 */
#include "postgres.h"

#include "catalog/pg_opfamily_d.h"
#include "catalog/pg_type_d.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "sortkey.h"

/* An int8: the engine sorts it as it is. */
static KeyResult
encode_int8(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	((int64 *) column->values)[row] = DatumGetInt64(value);
	return KEY_OK;
}

/* An int4: the engine sorts it as it is. */
static KeyResult
encode_int4(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	((int32 *) column->values)[row] = DatumGetInt32(value);
	return KEY_OK;
}

bool
sortkey_supported(Oid sortop, Oid collation, const char **why)
{
	Oid			opfamily;
	Oid			opcintype;
	int16		strategy;

	if (!get_ordering_op_properties(sortop, &opfamily, &opcintype, &strategy))
	{
		*why = "it is not an ordering operator";
		return false;
	}
	if (opfamily == 1976 && (opcintype == INT8OID || opcintype == INT4OID))
		return true;
	*why = "its type has no exact encoding";
	return false;
}

void
sortkey_open(SortKey *key, Oid sortop, Oid collation, bool nulls_first, bool exact)
{
	Oid			opfamily;
	Oid			opcintype;
	int16		strategy;

	if (!get_ordering_op_properties(sortop, &opfamily, &opcintype, &strategy))
		elog(ERROR, "operator %u is not a valid ordering operator", sortop);
	memset(key, 0, sizeof(*key));
	key->collation = collation;
	key->spec.nulls_first = nulls_first;
	key->spec.desc = strategy == 5;
	key->spec.type = opcintype == INT8OID ? GS_I64 : GS_I32;
	key->encode = opcintype == INT8OID ? encode_int8 : encode_int4;
	key->scratch = makeStringInfo();
}
