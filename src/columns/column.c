/*
 * column.c: which columns can be held, and in which form.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/uuid.h"

#include "kernels/common/check_hash.h"
#include "src/base/compat.h"
#include "src/keys/numeric_parts.h"
#include "column.h"

/* Decimal digits that fit int64 and int128. */
#define DIGITS_64	18
#define DIGITS_128	38

/* Base-10000 digits of DIGITS_128, which may straddle one more. */
#define MAX_GROUPS	11

/* Types whose datum is held as it is. */
static const struct
{
	Oid			type;
	gs_type		gs;
}			types_as_is[] =
{
	{INT2OID, GS_I16},
	{INT4OID, GS_I32},
	{INT8OID, GS_I64},
	{OIDOID, GS_U32},
	{DATEOID, GS_I32},
	{TIMEOID, GS_I64},
	{TIMESTAMPOID, GS_I64},
	{TIMESTAMPTZOID, GS_I64},
	{BOOLOID, GS_U8},
	{FLOAT4OID, GS_F32},
	{FLOAT8OID, GS_F64},
	{UUIDOID, GS_U128},
};

/* Decimals of a numeric's typmod; negative ones round before the point.  numeric.c: numeric_typmod_scale. */
static int
typmod_scale(int32 typmod)
{
	return (((typmod - (int32) VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
}

/* Decimal digits of the scaled integer that a numeric's typmod allows. */
static int
typmod_digits(int32 typmod)
{
	return (((typmod - (int32) VARHDRSZ) >> 16) & 0xffff) - Min(typmod_scale(typmod), 0);
}

int
column_scale(const ColumnDescription *column)
{
	return column->form == COLUMN_AS_IS || column->form == COLUMN_CODES ? 0 : Max(typmod_scale(column->typmod), 0);
}

int
column_digits(const ColumnDescription *column)
{
	/* with a negative scale the held integers have the zeros before the point */
	return typmod_digits(column->typmod);
}

/* Chooses the form of a numeric column.  Returns NULL, or why it cannot be held. */
static const char *
describe_numeric(int32 typmod, ColumnDescription *column)
{
	if (typmod < (int32) VARHDRSZ)
		return "numeric is held only with a precision";
	if (typmod_digits(typmod) > DIGITS_128)
		return psprintf("numeric is held only up to %d digits", DIGITS_128);
	column->form = typmod_digits(typmod) <= DIGITS_64 ? COLUMN_SCALED_64 : COLUMN_SCALED_128;
	column->gs = column->form == COLUMN_SCALED_64 ? GS_I64 : GS_U128;
	return NULL;
}

/* Chooses the form of a column of strings.  Returns NULL, or why it cannot be held. */
static const char *
describe_string(Oid type, int32 typmod, ColumnDescription *column)
{
	/* with a length all values have their blanks, so that they are equal without them or not at all */
	if (type == BPCHAROID && typmod < (int32) VARHDRSZ)
		return "character is held only with a length";
	column->form = COLUMN_CODES;
	column->gs = GS_U32;
	return NULL;
}

/* Chooses the form of a column of this base type. */
static const char *
choose_form(Oid type, int32 typmod, ColumnDescription *column)
{
	for (int i = 0; i < (int) lengthof(types_as_is); i++)
		if (types_as_is[i].type == type)
		{
			column->form = COLUMN_AS_IS;
			column->gs = types_as_is[i].gs;
			return NULL;
		}
	if (type == NUMERICOID)
		return describe_numeric(typmod, column);
	if (type == TEXTOID || type == VARCHAROID || type == BPCHAROID || type == NAMEOID)
		return describe_string(type, typmod, column);
	/* by OID: a label may be renamed without a change of the page */
	if (type_is_enum(type))
	{
		column->form = COLUMN_AS_IS;
		column->gs = GS_U32;
		return NULL;
	}
	return psprintf("type %s is not held", format_type_be(type));
}

const char *
column_describe_type(Oid type, int32 typmod, ColumnDescription *column)
{
	Oid			base = getBaseTypeAndTypmod(type, &typmod);

	memset(column, 0, sizeof(*column));
	column->length = get_typlen(type);
	column->type = type;
	column->typmod = typmod;
	return choose_form(base, typmod, column);
}

bool
column_same(const ColumnDescription *a, const ColumnDescription *b)
{
	ColumnDescription other = *b;

	if (a->form == COLUMN_CODES && b->form == COLUMN_CODES)
		other.gs = a->gs;
	return memcmp(a, &other, sizeof(other)) == 0;
}

/* Returns true if the current transaction has changed the column, and may still roll that back. */
static bool
changed_here(Oid relation, AttrNumber number)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(number));
	bool		own = !HeapTupleIsValid(tuple) ||
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return own;
}

/* Hashes the value of rows that are older than the column (ALTER TABLE ... ADD COLUMN ... DEFAULT). */
static uint32
hash_missing(Relation rel, Form_pg_attribute attribute)
{
	bool		isnull;
	Datum		value;
	Size		length;

	if (!attribute->atthasmissing)
		return 0;
	value = getmissingattr(RelationGetDescr(rel), attribute->attnum, &isnull);
	if (isnull)
		return 0;
	if (attribute->attbyval)
		return hash_bytes((const unsigned char *) &value, sizeof(value));
	length = datumGetSize(value, false, attribute->attlen);
	return hash_bytes((const unsigned char *) DatumGetPointer(value), (int) length);
}

const char *
column_describe(Relation rel, AttrNumber number, bool own_changes, ColumnDescription *column)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Form_pg_attribute attribute;
	const char *why;

	memset(column, 0, sizeof(*column));
	if (number < 1 || number > desc->natts || TupleDescAttr(desc, number - 1)->attisdropped)
		return "there is no such column";
	attribute = TupleDescAttr(desc, number - 1);
	if (is_virtual_generated(attribute))
		return "virtual generated columns are not held";
	why = column_describe_type(attribute->atttypid, attribute->atttypmod, column);
	column->number = number;
	column->collation = attribute->attcollation;
	column->has_missing = attribute->atthasmissing;
	column->missing_hash = hash_missing(rel, attribute);
	if (why == NULL && own_changes && changed_here(RelationGetRelid(rel), number))
		why = "it was changed in this transaction";
	return why;
}

/*
 * Scales a numeric to an integer: all its digits, then as many zeros as the display scale still asks for.  A value of
 * the column's typmod has that display scale (numeric.c: apply_typmod rounds to it).
 */
static bool
scale_numeric(const ColumnDescription *column, const NumericParts *parts, int128 *scaled)
{
	int			scale = Max(typmod_scale(column->typmod), 0);
	int			groups = parts->ndigits;
	int			decimals = (groups - 1 - parts->weight) * NUMERIC_BASE_DECIMALS;	/* of all groups together */
	uint128		sum = 0;

	*scaled = 0;
	if (parts->kind != NUMBER_FINITE || parts->scale != scale || groups > MAX_GROUPS)
		return false;
	if (groups == 0)
		return true;
	if ((parts->weight + 1) * NUMERIC_BASE_DECIMALS + scale > DIGITS_128 + NUMERIC_BASE_DECIMALS)
		return false;
	for (int i = 0; i < groups - 1; i++)
		sum = sum * NUMERIC_BASE + numeric_half_at(parts->digits, i);
	/* the last group may have zeros after the scale, which are dropped before they could overflow */
	if (decimals > scale)
	{
		uint32		divisor = 1;

		for (; decimals > scale; decimals--)
			divisor *= 10;
		if (divisor >= NUMERIC_BASE || numeric_half_at(parts->digits, groups - 1) % divisor != 0)
			return false;
		sum = sum * (NUMERIC_BASE / divisor) + numeric_half_at(parts->digits, groups - 1) / divisor;
	}
	else
		sum = sum * NUMERIC_BASE + numeric_half_at(parts->digits, groups - 1);
	for (; decimals < scale; decimals++)
		sum *= 10;
	*scaled = parts->negative ? -(int128) sum : (int128) sum;
	return true;
}

/*
 * Encodes a numeric with one-byte and short headers whose digits fit int64 with those of the scale, in the way of
 * scale_numeric.  Returns false if it is another one, or cannot be held.
 */
static inline bool
encode_short(const ColumnDescription *column, const char *p, int64 *scaled)
{
	static const uint64 powers[] = {
		1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000,
		1000000000000, 10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
	1000000000000000000};
	const int	scale = Max(typmod_scale(column->typmod), 0);
	const char *digits = VARDATA_SHORT(p) + sizeof(uint16);
	int			last = (int) ((VARSIZE_SHORT(p) - VARHDRSZ_SHORT) / sizeof(uint16)) - 2;
	uint16		header = numeric_half_at(VARDATA_SHORT(p), 0);
	int			weight = numeric_short_weight(header);
	int			more = scale - (last - weight) * NUMERIC_BASE_DECIMALS; /* zeros to append, or to drop */
	uint64		sum = 0;

	if ((header & (NUMERIC_SHORT_FLAGS_MASK | NUMERIC_SHORT_SCALE_MASK)) !=
		(NUMERIC_SHORT_FLAGS | (scale << NUMERIC_SHORT_SCALE_SHIFT)) ||
		more <= -NUMERIC_BASE_DECIMALS || (weight + 1) * NUMERIC_BASE_DECIMALS + scale > DIGITS_64)
		return false;
	*scaled = 0;
	if (last < 0)
		return true;
	for (int i = 0; i < last; i++)
		sum = sum * NUMERIC_BASE + numeric_half_at(digits, i);
	if (more >= 0)
		sum = (sum * NUMERIC_BASE + numeric_half_at(digits, last)) * powers[more];
	else
	{
		uint32		half = numeric_half_at(digits, last);
		/* by constants, which become multiplications */
		uint32		whole = more == -2 ? half / 100 : more == -1 ? half / 10 : half / 1000;

		if (whole * powers[-more] != half)
			return false;
		sum = sum * powers[NUMERIC_BASE_DECIMALS + more] + whole;
	}
	*scaled = (header & NUMERIC_SHORT_SIGN) != 0 ? -(int64) sum : (int64) sum;
	return true;
}

/* Encodes a numeric, whose datum may have a short header. */
static bool
encode_numeric(const ColumnDescription *column, Datum value, void *out)
{
	NumericParts parts;
	int128		scaled;
	int64		narrow;

	if (column->form == COLUMN_SCALED_64 && VARATT_IS_SHORT(DatumGetPointer(value)) &&
		encode_short(column, DatumGetPointer(value), &narrow))
	{
		memcpy(out, &narrow, sizeof(narrow));
		return true;
	}
	if (VARATT_IS_EXTENDED(DatumGetPointer(value)) && !VARATT_IS_SHORT(DatumGetPointer(value)))
		return false;			/* compressed or out of line: no value that fits is */
	numeric_take_apart((const struct varlena *) DatumGetPointer(value), &parts);
	if (!scale_numeric(column, &parts, &scaled))
		return false;
	if (column->form == COLUMN_SCALED_128)
	{
		memcpy(out, &scaled, sizeof(scaled));
		return true;
	}
	narrow = (int64) scaled;
	memcpy(out, &narrow, sizeof(narrow));
	return narrow == scaled;
}

bool
column_encode(const ColumnDescription *column, Datum value, void *out)
{
	if (column->form != COLUMN_AS_IS)
		return encode_numeric(column, value, out);
	switch (column->length)
	{
		case 1:
			*(uint8 *) out = DatumGetUInt8(value);
			break;
		case 2:
			*(uint16 *) out = DatumGetUInt16(value);
			break;
		case 4:
			*(uint32 *) out = DatumGetUInt32(value);
			break;
		case 8:
			memcpy(out, &value, sizeof(value));
			break;
		default:
			memcpy(out, DatumGetPointer(value), UUID_LEN);
			break;
	}
	return true;
}

uint64
column_hash(const ColumnDescription *column, Datum value, bool isnull, uint64 hash, uint64 *low)
{
	uint64		held[2] = {0, 0};

	*low = 0;
	/* a value that is not held has some hash, since its page comes from the table */
	if (!isnull && !column_encode(column, value, held))
		return gs_check_mix(hash, column->type, false);
	if (!isnull)
		*low = gs_check_value((gs_type) column->gs, held, 0, 0);
	for (int half = 0; half < (column->gs == GS_U128 ? 2 : 1); half++)
		hash = gs_check_mix(hash, isnull ? 0 : gs_check_value((gs_type) column->gs, held, 0, half), isnull);
	return hash;
}
