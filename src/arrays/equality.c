/*
 * equality.c: a type's equality operator, for single values.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "equality.h"

void
equality_open(Equality *equality, Oid type, Oid collation)
{
	TypeCacheEntry *entry;

	equality->mask = 0;
	equality->collation = collation;
	equality->function = NULL;
	switch (type)
	{
		case BOOLOID:
		case CHAROID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			equality->how = EQUAL_BITS;
			equality->mask = ~(Datum) 0 >> BITS_PER_BYTE * (sizeof(Datum) - get_typlen(type));
			return;
		case FLOAT4OID:
			equality->how = EQUAL_FLOAT4;
			return;
		case FLOAT8OID:
			equality->how = EQUAL_FLOAT8;
			return;
		default:
			equality->how = EQUAL_BY_CALL;
	}
	entry = lookup_type_cache(type, TYPECACHE_EQ_OPR_FINFO);
	if (!OidIsValid(entry->eq_opr_finfo.fn_oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify an equality operator for type %s", format_type_be(type)),
				 errhint("Only types with a default btree or hash operator class have one.")));
	equality->function = &entry->eq_opr_finfo;
}
