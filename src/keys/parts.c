/*
 * parts.c: keys of composite values, as bytes that start as the type's comparison function does.  The first value gives
 * the pattern of its parts; a value with another pattern is "strange".  A byte before each part tells whether it
 * exists: the shorter of two arrays sorts first, NULL last, an open lower bound first.  Parts with an exact encoding
 * follow in normalised form.  A string under a linguistic collation ends the key, as its primary weights leave open
 * what follows, and so does an array within another value, whose dimensions may differ.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_range.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/array.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/multirangetypes.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "dictionary.h"
#include "primary_weights.h"
#include "parts.h"
#include "sortkey_types.h"

/* PostgreSQL's operator families without a name in its headers.  pg_opfamily.dat fixes their OIDs. */
#define ARRAY_BTREE_FAM_OID			397
#define RECORD_BTREE_FAM_OID		2994
#define RANGE_BTREE_FAM_OID			3901
#define JSONB_BTREE_FAM_OID			4033
#define MULTIRANGE_BTREE_FAM_OID	4199

/* Larger parts are skipped, as copying them would cost too much. */
#define LARGE_PART ((Size) 1024 * 1024)

/* The byte before a part. */
#define PART_MISSING_FIRST	0
#define PART_PRESENT		1
#define PART_MISSING_LAST	2

typedef PartsResult (*PartAppender) (Parts *part, Datum value, StringInfo out);

/* A value, or a part of one. */
struct Parts
{
	MemoryContext context;
	Oid			collation;
	PartAppender append;
	SortKey		key;			/* encoder, for a part with an exact encoding */
	bool		varlena;		/* the part is a varlena */
	Oid			strings;		/* form of a string under a linguistic collation, */
	PrimaryWeights *primary;	/* and its collation's keys */
	StringInfoData buffer;		/* for such keys, or for a string from a document */

	/* composite parts, set at the first value */
	Oid			type;			/* of array elements; of a record or range itself */
	int32		typmod;			/* of a record */
	TypeCacheEntry *cached;		/* of array elements, of a range */
	TupleDesc	desc;			/* of a record, and its columns */
	Datum	   *values;
	bool	   *nulls;
	Parts	   *parts;			/* the parts */

	/* of a document: the names of its members, while they are few */
	SortSupportData names_order;
	Dictionary *names;
};

/* Parts of a document. */
enum
{
	DOCUMENT_STRING,
	DOCUMENT_NUMBER,
	DOCUMENT_PARTS
};

static void open_part(Parts *part, Oid sortop, Oid collation);

/* Appends a part and the byte before it. */
static PartsResult
append_part(Parts *part, Datum value, bool isnull, uint8 missing, StringInfo out)
{
	if (out->len >= PARTS_BYTES)
		return PARTS_BEGUN;
	appendStringInfoCharMacro(out, isnull ? missing : PART_PRESENT);
	return isnull ? PARTS_WHOLE : part->append(part, value, out);
}

/* Appends nothing, for an unknown type. */
static PartsResult
append_nothing(Parts *part, Datum value, StringInfo out)
{
	return PARTS_BEGUN;
}

/* Appends a part with an exact encoding. */
static PartsResult
append_exact(Parts *part, Datum value, StringInfo out)
{
	if (part->varlena && toast_raw_datum_size(value) > LARGE_PART)
		return PARTS_STRANGE;
	/* the normalised form starts with its own presence byte, which open_part made equal to ours */
	out->len--;
	sortkey_normalise(&part->key, value, false, out);
	return PARTS_WHOLE;
}

/* Appends a string under a linguistic collation. */
static PartsResult
append_string(Parts *part, Datum value, StringInfo out)
{
	StringView	view = open_string(part->strings, value);

	primary_key(part->primary, view.bytes, view.len, false, &part->buffer);
	close_string(value, &view);
	appendBinaryStringInfo(out, part->buffer.data, part->buffer.len);
	return PARTS_BEGUN;
}

/* Allocates the parts of a value. */
static void
make_parts(Parts *part, int count)
{
	part->parts = palloc0(sizeof(Parts) * count);
	for (int i = 0; i < count; i++)
		part->parts[i].context = part->context;
}

/* Opens a part by the default ordering of its type. */
static void
open_part_of_type(Parts *part, Oid type, Oid collation)
{
	open_part(part, lookup_type_cache(type, TYPECACHE_LT_OPR)->lt_opr, collation);
}

/* Prepares for arrays of an element type. */
static void
learn_array(Parts *part, Oid element_type)
{
	MemoryContext old = MemoryContextSwitchTo(part->context);

	part->cached = lookup_type_cache(element_type, 0);
	make_parts(part, 1);
	open_part_of_type(part->parts, element_type, part->collation);
	part->type = element_type;
	MemoryContextSwitchTo(old);
}

/* Appends an array: its elements, which compare one by one whatever its dimensions. */
static PartsResult
append_array(Parts *part, Datum value, StringInfo out)
{
	ArrayType  *array = DatumGetArrayTypeP(value);
	int			count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	const uint8 *present = ARR_NULLBITMAP(array);
	char	   *at = (char *) array + (present ? array->dataoffset : (int32) ARR_OVERHEAD_NONULLS(ARR_NDIM(array)));
	PartsResult result = PARTS_WHOLE;

	if (!OidIsValid(part->type))
		learn_array(part, ARR_ELEMTYPE(array));
	if (ARR_ELEMTYPE(array) != part->type)
		result = PARTS_STRANGE;
	for (int i = 0; i < count && result == PARTS_WHOLE; i++)
	{
		const TypeCacheEntry *type = part->cached;
		bool		isnull = present && att_isnull(i, present);
		Datum		element = 0;

		if (!isnull)
		{
			element = fetch_att(at, type->typbyval, type->typlen);
			at = att_addlength_pointer(at, type->typlen, at);
			at = (char *) att_align_nominal(at, type->typalign);
		}
		result = append_part(part->parts, element, isnull, PART_MISSING_LAST, out);
	}
	if (result == PARTS_WHOLE)
	{
		appendStringInfoCharMacro(out, PART_MISSING_FIRST);
		result = PARTS_BEGUN;
	}
	if ((Pointer) array != DatumGetPointer(value))
		pfree(array);
	return result;
}

/* Prepares for records of a type. */
static void
learn_record(Parts *part, Oid type, int32 typmod)
{
	MemoryContext old = MemoryContextSwitchTo(part->context);

	part->desc = lookup_rowtype_tupdesc_copy(type, typmod);
	part->values = palloc(sizeof(Datum) * (part->desc->natts + 1));
	part->nulls = palloc(sizeof(bool) * (part->desc->natts + 1));
	make_parts(part, part->desc->natts);
	for (int i = 0; i < part->desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(part->desc, i);

		if (!attribute->attisdropped)
			open_part_of_type(&part->parts[i], attribute->atttypid, attribute->attcollation);
	}
	part->typmod = typmod;
	part->type = type;
	MemoryContextSwitchTo(old);
}

/* Appends a record: its columns. */
static PartsResult
append_record(Parts *part, Datum value, StringInfo out)
{
	HeapTupleHeader record = DatumGetHeapTupleHeader(value);
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(record), .t_data = record};
	PartsResult result = PARTS_WHOLE;

	if (!OidIsValid(part->type))
		learn_record(part, HeapTupleHeaderGetTypeId(record), HeapTupleHeaderGetTypMod(record));
	if (HeapTupleHeaderGetTypeId(record) == part->type && HeapTupleHeaderGetTypMod(record) == part->typmod)
		heap_deform_tuple(&tuple, part->desc, part->values, part->nulls);
	else
		result = PARTS_STRANGE;
	for (int i = 0; i < part->desc->natts && result == PARTS_WHOLE; i++)
		if (!TupleDescAttr(part->desc, i)->attisdropped)
			result = append_part(&part->parts[i], part->values[i], part->nulls[i], PART_MISSING_LAST, out);
	if ((Pointer) record != DatumGetPointer(value))
		pfree(record);
	return result;
}

/* Opens a part for the bounds of a range type. */
static void
open_bound(Parts *part, Oid range_type)
{
	HeapTuple	tuple = SearchSysCache1(RANGETYPE, ObjectIdGetDatum(range_type));
	Form_pg_range range;
	Oid			opfamily;
	Oid			opcintype;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for range type %u", range_type);
	range = (Form_pg_range) GETSTRUCT(tuple);
	if (!get_opclass_opfamily_and_input_type(range->rngsubopc, &opfamily, &opcintype))
		elog(ERROR, "cache lookup failed for operator class %u", range->rngsubopc);
	open_part(part, get_opfamily_member(opfamily, opcintype, opcintype, BTLessStrategyNumber), range->rngcollation);
	ReleaseSysCache(tuple);
}

/* Prepares for ranges or multiranges of a type, which values carry themselves. */
static void
learn_range(Parts *part, Oid type, int flags)
{
	MemoryContext old = MemoryContextSwitchTo(part->context);
	TypeCacheEntry *cached = lookup_type_cache(type, flags);

	part->cached = flags == TYPECACHE_MULTIRANGE_INFO ? cached->rngtype : cached;
	make_parts(part, 1);
	open_bound(part->parts, part->cached->type_id);
	part->type = type;
	MemoryContextSwitchTo(old);
}

/* Appends both bounds of a non-empty range. */
static PartsResult
append_bounds(Parts *part, const RangeBound *lower, const RangeBound *upper, StringInfo out)
{
	PartsResult result = append_part(part->parts, lower->val, lower->infinite, PART_MISSING_FIRST, out);

	if (result != PARTS_WHOLE)
		return result;
	if (!lower->infinite)
		appendStringInfoCharMacro(out, !lower->inclusive);
	result = append_part(part->parts, upper->val, upper->infinite, PART_MISSING_LAST, out);
	if (result == PARTS_WHOLE && !upper->infinite)
		appendStringInfoCharMacro(out, upper->inclusive);
	return result;
}

/* Appends a range: its bounds. */
static PartsResult
append_range(Parts *part, Datum value, StringInfo out)
{
	RangeType  *range = DatumGetRangeTypeP(value);
	PartsResult result = PARTS_WHOLE;
	RangeBound	lower;
	RangeBound	upper;
	bool		empty;

	if (!OidIsValid(part->type))
		learn_range(part, RangeTypeGetOid(range), TYPECACHE_RANGE_INFO);
	if (RangeTypeGetOid(range) == part->type)
	{
		range_deserialize(part->cached, range, &lower, &upper, &empty);
		appendStringInfoCharMacro(out, empty ? PART_MISSING_FIRST : PART_PRESENT);
		if (!empty)
			result = append_bounds(part, &lower, &upper, out);
	}
	else
		result = PARTS_STRANGE;
	if ((Pointer) range != DatumGetPointer(value))
		pfree(range);
	return result;
}

/* Appends a multirange: the bounds of its ranges. */
static PartsResult
append_multirange(Parts *part, Datum value, StringInfo out)
{
	MultirangeType *multirange = DatumGetMultirangeTypeP(value);
	PartsResult result = PARTS_WHOLE;

	if (!OidIsValid(part->type))
		learn_range(part, MultirangeTypeGetOid(multirange), TYPECACHE_MULTIRANGE_INFO);
	if (MultirangeTypeGetOid(multirange) != part->type)
		result = PARTS_STRANGE;
	for (uint32 i = 0; i < multirange->rangeCount && result == PARTS_WHOLE; i++)
	{
		RangeBound	lower;
		RangeBound	upper;

		multirange_get_bounds(part->cached, multirange, i, &lower, &upper);
		appendStringInfoCharMacro(out, PART_PRESENT);
		result = append_bounds(part, &lower, &upper, out);
	}
	if (result == PARTS_WHOLE)
		appendStringInfoCharMacro(out, PART_MISSING_FIRST);
	if ((Pointer) multirange != DatumGetPointer(value))
		pfree(multirange);
	return result;
}

/* Prepares for documents. */
static void
learn_document(Parts *part)
{
	MemoryContext old = MemoryContextSwitchTo(part->context);
	SortSupport ssup = &part->names_order;

	make_parts(part, DOCUMENT_PARTS);
	open_part_of_type(&part->parts[DOCUMENT_STRING], TEXTOID, DEFAULT_COLLATION_OID);
	open_part_of_type(&part->parts[DOCUMENT_NUMBER], NUMERICOID, InvalidOid);
	ssup->ssup_cxt = part->context;
	ssup->ssup_collation = DEFAULT_COLLATION_OID;
	PrepareSortSupportFromOrderingOp(lookup_type_cache(TEXTOID, TYPECACHE_LT_OPR)->lt_opr, ssup);
	part->names = dictionary_create(ssup, -1, false);
	part->type = JSONBOID;
	MemoryContextSwitchTo(old);
}

/* Returns a document's string as a text Datum, valid until the next call. */
static Datum
text_of(Parts *part, const JsonbValue *string)
{
	resetStringInfo(&part->buffer);
	enlargeStringInfo(&part->buffer, VARHDRSZ + string->val.string.len);
	SET_VARSIZE(part->buffer.data, VARHDRSZ + string->val.string.len);
	memcpy(VARDATA(part->buffer.data), string->val.string.val, string->val.string.len);
	return PointerGetDatum(part->buffer.data);
}

/* Appends an integer such that memcmp orders it. */
static void
append_number(StringInfo out, uint32 number)
{
	number = pg_hton32(number);
	appendBinaryStringInfo(out, (char *) &number, sizeof(number));
}

/* Appends the name of a document's member. */
static PartsResult
append_name(Parts *part, const JsonbValue *name, StringInfo out)
{
	uint32		number = 0;

	if (part->names == NULL)
		return PARTS_BEGUN;
	switch (dictionary_number(part->names, text_of(part, name), &number))
	{
		case DICTIONARY_OK:
			append_number(out, number);
			return PARTS_WHOLE;
		case DICTIONARY_RENUMBERED:
			return PARTS_CHANGED;
		case DICTIONARY_FULL:
			break;
	}
	dictionary_free(part->names);
	part->names = NULL;
	return PARTS_CHANGED;
}

/* Appends an iterator step of a document: a start, a name or a value, by type; arrays and objects by size. */
static PartsResult
append_step(Parts *part, JsonbIteratorToken token, const JsonbValue *value, StringInfo out)
{
	if (token == WJB_KEY)
		return append_name(part, value, out);
	if (token == WJB_END_ARRAY || token == WJB_END_OBJECT)
		return PARTS_WHOLE;
	appendStringInfoCharMacro(out, (char) value->type);
	switch (value->type)
	{
		case jbvString:
			return append_part(&part->parts[DOCUMENT_STRING], text_of(part, value), false, PART_MISSING_LAST, out);
		case jbvNumeric:
			return append_part(&part->parts[DOCUMENT_NUMBER], NumericGetDatum(value->val.numeric), false,
							   PART_MISSING_LAST, out);
		case jbvBool:
			appendStringInfoCharMacro(out, value->val.boolean);
			return PARTS_WHOLE;
		case jbvArray:
			append_number(out, value->val.array.nElems);
			appendStringInfoCharMacro(out, !value->val.array.rawScalar);
			return PARTS_WHOLE;
		case jbvObject:
			append_number(out, value->val.object.nPairs);
			return PARTS_WHOLE;
		default:
			return PARTS_WHOLE;		/* null */
	}
}

/* Appends a jsonb, iterating as its comparison function does. */
static PartsResult
append_jsonb(Parts *part, Datum value, StringInfo out)
{
	Jsonb	   *jsonb = DatumGetJsonbP(value);
	JsonbIterator *iterator = JsonbIteratorInit(&jsonb->root);
	PartsResult result = PARTS_WHOLE;
	JsonbIteratorToken token;
	JsonbValue	step;

	if (!OidIsValid(part->type))
		learn_document(part);
	while (result == PARTS_WHOLE && (token = JsonbIteratorNext(&iterator, &step, false)) != WJB_DONE)
		result = out->len < PARTS_BYTES ? append_step(part, token, &step, out) : PARTS_BEGUN;
	while (iterator != NULL)
	{
		JsonbIterator *parent = iterator->parent;

		pfree(iterator);
		iterator = parent;
	}
	if ((Pointer) jsonb != DatumGetPointer(value))
		pfree(jsonb);
	return result;
}

/* Returns the function for composite values of a family, or NULL. */
static PartAppender
appender_of(Oid opfamily)
{
	switch (opfamily)
	{
		case ARRAY_BTREE_FAM_OID:
			return append_array;
		case RECORD_BTREE_FAM_OID:
			return append_record;
		case RANGE_BTREE_FAM_OID:
			return append_range;
		case MULTIRANGE_BTREE_FAM_OID:
			return append_multirange;
		case JSONB_BTREE_FAM_OID:
			return append_jsonb;
		default:
			return NULL;
	}
}

/* Opens a part for an operator and a collation, in the current memory context. */
static void
open_part(Parts *part, Oid sortop, Oid collation)
{
	Oid			opfamily;
	Oid			opcintype;
	bool		desc;

	check_stack_depth();
	part->collation = collation;
	part->append = append_nothing;
	if (!OidIsValid(sortop) || !ordering_op_properties(sortop, &opfamily, &opcintype, &desc))
		return;
	initStringInfo(&part->buffer);
	if (appender_of(opfamily) != NULL)
		part->append = appender_of(opfamily);
	else if (sortkey_is_exact(sortop, collation))
	{
		/* NULLS FIRST, so that the byte before a value is PART_PRESENT */
		sortkey_open(&part->key, sortop, collation, true, true);
		part->varlena = get_typlen(opcintype) == -1;
		part->append = append_exact;
	}
	else if (OidIsValid(part->strings = string_form(opfamily, opcintype)))
	{
		part->primary = primary_open(collation);
		if (part->primary != NULL)
			part->append = append_string;
	}
}

bool
parts_known(Oid sortop)
{
	Oid			opfamily;
	Oid			opcintype;
	bool		desc;

	return ordering_op_properties(sortop, &opfamily, &opcintype, &desc) && appender_of(opfamily) != NULL;
}

Parts *
parts_open(Oid sortop, Oid collation)
{
	Parts	   *parts = palloc0(sizeof(Parts));

	parts->context = CurrentMemoryContext;
	open_part(parts, sortop, collation);
	return parts;
}

PartsResult
parts_key(Parts *parts, Datum value, StringInfo buffer)
{
	PartsResult result;

	resetStringInfo(buffer);
	result = parts->append(parts, value, buffer);
	buffer->len = Min(buffer->len, PARTS_BYTES);
	return result;
}
