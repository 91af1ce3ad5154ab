/*
 * sortkey_enum.c: enums.
 *
 * As in core, values with even OIDs are in OID order among themselves: those that CREATE TYPE made, and later ones that
 * happened to fit. That is the first guess, and needs no catalog.  The first odd OID takes the key to
 * pg_enum.enumsortorder, read once for the type.
 *
 * When a value comes that was added since, the type is read again.  Values already known keep their numbers, as keys
 * with them have been written, even if the server has numbered all values anew; the others get numbers between those of
 * their neighbours.
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

/* What is known of the type. */
typedef struct EnumState
{
	EnumValue  *values;			/* by OID */
	int			nvalues;
	EnumValue	last;			/* found last: neighbours often are the same */
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

/* Orders values by OID. */
static int
compare_oids(const void *a, const void *b)
{
	Oid			x = ((const EnumValue *) a)->oid;
	Oid			y = ((const EnumValue *) b)->oid;

	return x < y ? -1 : x > y;
}

/* Orders values as the type does. */
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

/* Finds a value, NULL if it is not known. */
static const EnumValue *
find_value(const EnumState *state, Oid oid)
{
	EnumValue	wanted = {.oid = oid};

	if (state->nvalues == 0)
		return NULL;
	return bsearch(&wanted, state->values, state->nvalues, sizeof(EnumValue), compare_oids);
}

/* Numbers count values that were not known between two that were, of which either may be missing. */
static void
number_between(EnumValue *values, int count, const EnumValue *before, const EnumValue *behind)
{
	float8		low = before ? before->sort_order : behind ? behind->sort_order - count - 1 : 0;
	float8		step = before && behind ? (behind->sort_order - low) / (count + 1) : 1;

	for (int i = 0; i < count; i++)
		values[i].sort_order = low + step * (i + 1);
}

/* Gives values the numbers by which they were known before, and the others some that fit. */
static void
keep_numbers(EnumState *loaded, const EnumState *known)
{
	EnumValue  *values = loaded->values;
	int			begin = 0;		/* of the values not known that come before the next known one */

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
	/* some fifty values that each came between the one before and the same neighbour use up the numbers */
	for (int i = 1; i < loaded->nvalues; i++)
		if (values[i].sort_order <= values[i - 1].sort_order)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("an enum type was changed too often while its values were being sorted")));
	qsort(values, loaded->nvalues, sizeof(EnumValue), compare_oids);
}

/* Finds a value that is not the one of the row before. */
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

/* Values in the order of pg_enum. */
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

/* Values with even OIDs. */
static KeyResult
encode_enum_oid(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	Oid			oid = DatumGetObjectId(value);

	if (unlikely(oid & 1))
		return widen(key, GS_F64, encode_enum_order);
	((uint32 *) column->values)[row] = oid;
	return KEY_OK;
}

/* OIDs as a guess; where keys have to be exact, the order that pg_enum has. */
void
open_enum(SortKey *key)
{
	key->state = palloc0(sizeof(EnumState));
	if (key->exact)
		set_form(key, GS_F64, encode_enum_order);
	else
		set_form(key, GS_U32, encode_enum_oid);
}
