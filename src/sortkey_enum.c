/*
 * sortkey_enum.c: enums.
 *
 * As in core, values with even OIDs are in OID order among themselves: those that CREATE TYPE made, and later ones that happened to fit.
 * That is the first guess, and needs no catalog.  The first odd OID takes the key to pg_enum.enumsortorder, read once for the type.
 * Sort orders of existing values stay as they are when others are added, but for the rare moment when all are numbered anew.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_enum.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "sortkey_types.h"

/* A value of the type. */
typedef struct EnumValue
{
	Oid			oid;
	float4		sort_order;
} EnumValue;

/* What is known of the type. */
typedef struct EnumState
{
	EnumValue  *values;			/* by OID */
	int			nvalues;
	EnumValue	last;			/* found last: neighbours often are the same */
} EnumState;

static KeyResult encode_enum_order(SortKey *key, Datum value, KeyColumn *column, uint32 row);

/* The type of a value. */
static Oid
type_of_value(Oid oid)
{
	HeapTuple	tuple = SearchSysCache1(ENUMOID, ObjectIdGetDatum(oid));
	Oid			type;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid internal value for enum: %u", oid)));
	type = ((Form_pg_enum) GETSTRUCT(tuple))->enumtypid;
	ReleaseSysCache(tuple);
	return type;
}

/* Orders values by OID. */
static int
compare_oids(const void *a, const void *b)
{
	Oid			x = ((const EnumValue *) a)->oid;
	Oid			y = ((const EnumValue *) b)->oid;

	return x < y ? -1 : x > y;
}

/* Reads all values of a type. */
static void
load_values(SortKey *key, EnumState *loaded, Oid type)
{
	Relation	relation = table_open(EnumRelationId, AccessShareLock);
	SysScanDesc scan;
	ScanKeyData by_type;
	HeapTuple	tuple;
	int			room = 64;

	loaded->values = MemoryContextAlloc(key->context, room * sizeof(EnumValue));
	loaded->nvalues = 0;
	ScanKeyInit(&by_type, Anum_pg_enum_enumtypid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(type));
	scan = systable_beginscan(relation, EnumTypIdLabelIndexId, true, NULL, 1, &by_type);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_enum form = (Form_pg_enum) GETSTRUCT(tuple);

		if (loaded->nvalues == room)
		{
			room *= 2;
			loaded->values = repalloc(loaded->values, room * sizeof(EnumValue));
		}
		loaded->values[loaded->nvalues].oid = form->oid;
		loaded->values[loaded->nvalues++].sort_order = form->enumsortorder;
	}
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	qsort(loaded->values, loaded->nvalues, sizeof(EnumValue), compare_oids);
}

/* Finds a value, NULL if it is not known. */
static const EnumValue *
find_value(const EnumState *state, Oid oid)
{
	EnumValue	wanted = {.oid = oid};

	if (state->nvalues == 0)
		return NULL;
	return bsearch(&wanted, state->values, state->nvalues, sizeof(EnumValue), compare_oids);
}

/* Reads the type again after an unknown value came; true if values known before have another sort order now. */
static bool
reload_values(SortKey *key, Oid oid)
{
	EnumState  *state = key->state;
	EnumState	loaded = {0};
	bool		renumbered = false;

	load_values(key, &loaded, type_of_value(oid));
	for (int i = 0; i < state->nvalues; i++)
	{
		const EnumValue *now = find_value(&loaded, state->values[i].oid);

		renumbered |= now && now->sort_order != state->values[i].sort_order;
	}
	if (state->values)
		pfree(state->values);
	*state = loaded;
	return renumbered;
}

/* Finds a value that is not the one of the row before. */
static pg_noinline KeyResult
look_up(SortKey *key, Oid oid)
{
	EnumState  *state = key->state;
	const EnumValue *found = find_value(state, oid);
	bool		renumbered = false;

	if (found == NULL)
	{
		renumbered = reload_values(key, oid);
		found = find_value(state, oid);
	}
	if (found == NULL)
		elog(ERROR, "enum value %u not found in pg_enum", oid);
	state->last = *found;
	if (!renumbered)
		return KEY_OK;
	if (key->exact)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("an enum type was changed while its values were being sorted")));
	return widen(key, GS_F32, encode_enum_order);
}

/* Values in the order of pg_enum. */
static KeyResult
encode_enum_order(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	EnumState  *state = key->state;
	Oid			oid = DatumGetObjectId(value);

	if (oid != state->last.oid)
	{
		KeyResult	result = look_up(key, oid);

		if (unlikely(result != KEY_OK))
			return result;
	}
	((float4 *) column->values)[row] = state->last.sort_order;
	return KEY_OK;
}

/* Values with even OIDs. */
static KeyResult
encode_enum_oid(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	Oid			oid = DatumGetObjectId(value);

	if (unlikely(oid & 1))
		return widen(key, GS_F32, encode_enum_order);
	((uint32 *) column->values)[row] = oid;
	return KEY_OK;
}

void
open_enum(SortKey *key)
{
	key->state = palloc0(sizeof(EnumState));
	if (key->exact)
		set_form(key, GS_F32, encode_enum_order);
	else
		set_form(key, GS_U32, encode_enum_oid);
}
