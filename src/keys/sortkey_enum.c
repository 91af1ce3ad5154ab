/*
 * sortkey_enum.c: enums.  As in PostgreSQL, values with even OIDs are in OID order among themselves, which needs no
 * catalog.  The first odd OID switches the key to pg_enum.enumsortorder, read once for the type, and again for a value
 * added since. Known values keep their numbers, as keys with them have been written; new ones get numbers between their
 * neighbours'.
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
	float8		sort_order;
} EnumValue;

/* Values of a type. */
typedef struct EnumState
{
	EnumValue  *values;			/* by OID */
	int			nvalues;
	EnumValue	last;			/* found last, since neighbours are often equal */
} EnumState;

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

/* Compares values by OID. */
static int
compare_oids(const void *a, const void *b)
{
	Oid			x = ((const EnumValue *) a)->oid;
	Oid			y = ((const EnumValue *) b)->oid;

	return x < y ? -1 : x > y;
}

/* Compares values by the type's order. */
static int
compare_orders(const void *a, const void *b)
{
	float8		x = ((const EnumValue *) a)->sort_order;
	float8		y = ((const EnumValue *) b)->sort_order;

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

/* Finds a value.  Returns NULL if it is unknown. */
static const EnumValue *
find_value(const EnumState *state, Oid oid)
{
	EnumValue	wanted = {.oid = oid};

	if (state->nvalues == 0)
		return NULL;
	return bsearch(&wanted, state->values, state->nvalues, sizeof(EnumValue), compare_oids);
}

/* Numbers unknown values between two known ones, either of which may be absent. */
static void
number_between(EnumValue *values, int count, const EnumValue *before, const EnumValue *behind)
{
	float8		low = before ? before->sort_order : behind ? behind->sort_order - count - 1 : 0;
	float8		step = before && behind ? (behind->sort_order - low) / (count + 1) : 1;

	for (int i = 0; i < count; i++)
		values[i].sort_order = low + step * (i + 1);
}

/* Keeps the numbers of known values and finds numbers for the others. */
static void
keep_numbers(EnumState *loaded, const EnumState *known)
{
	EnumValue  *values = loaded->values;
	int			begin = 0;		/* first unknown value before the next known one */

	qsort(values, loaded->nvalues, sizeof(EnumValue), compare_orders);
	for (int i = 0; i <= loaded->nvalues; i++)
	{
		const EnumValue *found = i < loaded->nvalues ? find_value(known, values[i].oid) : NULL;

		if (found)
			values[i].sort_order = found->sort_order;
		if (found || i == loaded->nvalues)
		{
			number_between(values + begin, i - begin, begin > 0 ? &values[begin - 1] : NULL, found);
			begin = i + 1;
		}
	}
	/* some fifty values, each added between the previous one and the same neighbour, exhaust the numbers */
	for (int i = 1; i < loaded->nvalues; i++)
		if (values[i].sort_order <= values[i - 1].sort_order)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("an enum type was changed too often while its values were being sorted")));
	qsort(values, loaded->nvalues, sizeof(EnumValue), compare_oids);
}

/* Finds a value that differs from that of the previous row. */
static pg_noinline void
look_up(SortKey *key, Oid oid)
{
	EnumState  *state = key->state;
	const EnumValue *found = find_value(state, oid);

	if (found == NULL)
	{
		EnumState	loaded = {0};

		load_values(key, &loaded, type_of_value(oid));
		if (state->values)
		{
			keep_numbers(&loaded, state);
			pfree(state->values);
		}
		*state = loaded;
		found = find_value(state, oid);
	}
	if (found == NULL)
		elog(ERROR, "enum value %u not found in pg_enum", oid);
	state->last = *found;
}

/* Encodes values by the order in pg_enum. */
static KeyResult
encode_enum_order(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	EnumState  *state = key->state;
	Oid			oid = DatumGetObjectId(value);

	if (oid != state->last.oid)
		look_up(key, oid);
	((float8 *) column->values)[row] = state->last.sort_order;
	return KEY_OK;
}

/* Encodes values with even OIDs. */
static KeyResult
encode_enum_oid(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	Oid			oid = DatumGetObjectId(value);

	if (unlikely(oid & 1))
		return widen(key, GS_F64, encode_enum_order);
	((uint32 *) column->values)[row] = oid;
	return KEY_OK;
}

/* Opens the form of OIDs; if the key must be exact, that of pg_enum's order. */
void
open_enum(SortKey *key)
{
	key->state = palloc0(sizeof(EnumState));
	if (key->exact)
		set_form(key, GS_F64, encode_enum_order);
	else
		set_form(key, GS_U32, encode_enum_oid);
}
