/*
 * composite.c: values that are made of others, out of the bytes of a fuzzer's input.
 */
#include "values.h"

#include "access/htup_details.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/multirangetypes.h"
#include "utils/numeric.h"
#include "utils/rangetypes.h"
#include "utils/typcache.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* How values are made of which others are. */
static MakeValue
maker_of(Oid type)
{
	for (int i = 0; i < value_kinds_count; i++)
		if (value_kinds[i].less == NULL && strcmp(value_kinds[i].type, format_type_be(type)) == 0)
			return value_kinds[i].make;
	elog(ERROR, "no values of type %s", format_type_be(type));
}

/* The same for domains and varchar. */
static Datum
part_value(Input *input, Oid type)
{
	return maker_of(type) (input, type);
}

Datum
array_value(Input *input, Oid type)
{
	Oid			element = get_element_type(type);
	uint8		how = take_byte(input);
	int			count = how & 0x40 ? how & 15 : how & 3;
	int			dims[2] = {count, 1};
	int			bounds[2] = {how & 0x80 ? (int8) take_byte(input) : 1, 1};
	Datum	   *values = palloc(sizeof(Datum) * 16);
	bool	   *nulls = palloc(sizeof(bool) * 16);
	TypeCacheEntry *cached = lookup_type_cache(element, 0);

	for (int i = 0; i < count; i++)
	{
		nulls[i] = (take_byte(input) & 15) == 15;
		values[i] = nulls[i] ? (Datum) 0 : part_value(input, element);
	}
	/* one element, or some in two dimensions */
	if (how & 0x20 && count % 2 == 0)
	{
		dims[0] = count / 2;
		dims[1] = 2;
	}
	return PointerGetDatum(construct_md_array(values, nulls, count == 0 ? 0 : how & 0x20 ? 2 : 1, dims, bounds, element,
											  cached->typlen, cached->typbyval, cached->typalign));
}

Datum
record_value(Input *input, Oid type)
{
	TupleDesc	desc = lookup_rowtype_tupdesc_copy(type, -1);
	Datum	   *values = palloc0(sizeof(Datum) * desc->natts);
	bool	   *nulls = palloc0(sizeof(bool) * desc->natts);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		nulls[i] = attribute->attisdropped || (take_byte(input) & 7) == 7;
		if (!nulls[i])
			values[i] = part_value(input, attribute->atttypid);
	}
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/* A bound of a range. */
static RangeBound
take_bound(Input *input, const TypeCacheEntry *range, bool lower)
{
	uint8		how = take_byte(input);
	RangeBound	bound = {.infinite = (how & 7) == 7, .inclusive = (how & 8) != 0, .lower = lower};

	if (bound.infinite)
		bound.inclusive = false;
	else if (range->rngelemtype->type_id == INT4OID)
		bound.val = Int32GetDatum((int8) take_byte(input));
	else
		bound.val = part_value(input, range->rngelemtype->type_id);
	return bound;
}

Datum
range_value(Input *input, Oid type)
{
	TypeCacheEntry *range = lookup_type_cache(type, TYPECACHE_RANGE_INFO);
	RangeBound	lower = take_bound(input, range, true);
	RangeBound	upper = take_bound(input, range, false);

	if (!lower.infinite && !upper.infinite && range_cmp_bound_values(range, &lower, &upper) > 0)
	{
		Datum		value = lower.val;

		lower.val = upper.val;
		upper.val = value;
	}
#if PG_VERSION_NUM >= 160000
	return RangeTypePGetDatum(make_range(range, &lower, &upper, take_byte(input) > 250, NULL));
#else
	return RangeTypePGetDatum(make_range(range, &lower, &upper, take_byte(input) > 250));
#endif
}

Datum
multirange_value(Input *input, Oid type)
{
	TypeCacheEntry *cached = lookup_type_cache(type, TYPECACHE_MULTIRANGE_INFO);
	int			count = take_byte(input) & 3;
	RangeType  *ranges[3];

	for (int i = 0; i < count; i++)
		ranges[i] = DatumGetRangeTypeP(range_value(input, cached->rngtype->type_id));
	return PointerGetDatum(make_multirange(type, cached->rngtype, count, ranges));
}

/* A document being made; 19 keeps what has come of it within the state. */
typedef struct Document
{
#if PG_VERSION_NUM >= 190000
	JsonbInState state;
#else
	JsonbParseState *state;
	JsonbValue *result;
#endif
} Document;

/* Takes a step. */
static void
push(Document *document, JsonbIteratorToken token, JsonbValue *value)
{
#if PG_VERSION_NUM >= 190000
	pushJsonbValue(&document->state, token, value);
#else
	document->result = pushJsonbValue(&document->state, token, value);
#endif
}

/* A member of a document, and what is in it. */
static void
push_value(Document *document, Input *input, JsonbIteratorToken token, int depth)
{
	uint8		how = take_byte(input);
	JsonbValue	value;
	Datum		text;
	int			count;

	switch (how & 7)
	{
		case 0:
			value.type = jbvNull;
			break;
		case 1:
			value.type = jbvBool;
			value.val.boolean = (how & 8) != 0;
			break;
		case 2:
		case 3:
			do
				value.val.numeric = DatumGetNumeric(numeric_value(input, NUMERICOID));
			while (numeric_is_nan(value.val.numeric) || numeric_is_inf(value.val.numeric));
			value.type = jbvNumeric;
			break;
		case 4:
		case 5:
			text = text_value(input, TEXTOID);
			value.type = jbvString;
			value.val.string.val = VARDATA(DatumGetPointer(text));
			value.val.string.len = (int) VARSIZE(DatumGetPointer(text)) - VARHDRSZ;
			break;
		default:
			if (depth > 3)
			{
				value.type = jbvNull;
				break;
			}
			count = how >> 4 & 3;
			push(document, how & 8 ? WJB_BEGIN_OBJECT : WJB_BEGIN_ARRAY, NULL);
			for (int i = 0; i < count; i++)
			{
				JsonbValue	name = {.type = jbvString};
				static char names[] = "aaabbbz";

				if (how & 8)
				{
					uint8		which = take_byte(input);

					name.val.string.val = names + which % 7;
					name.val.string.len = which / 7 % (8 - which % 7);
					push(document, WJB_KEY, &name);
				}
				push_value(document, input, how & 8 ? WJB_VALUE : WJB_ELEM, depth + 1);
			}
			push(document, how & 8 ? WJB_END_OBJECT : WJB_END_ARRAY, NULL);
			return;
	}
	if (depth == 0)
	{
		/* a value by itself is an array of one, which says so */
		JsonbValue	array = {.type = jbvArray, .val.array = {.rawScalar = true, .nElems = 1}};

		push(document, WJB_BEGIN_ARRAY, &array);
		push(document, WJB_ELEM, &value);
		push(document, WJB_END_ARRAY, NULL);
		return;
	}
	push(document, token, &value);
}

Datum
jsonb_value(Input *input, Oid type)
{
	Document	document = {0};

	push_value(&document, input, WJB_ELEM, 0);
#if PG_VERSION_NUM >= 190000
	return JsonbPGetDatum(JsonbValueToJsonb(document.state.result));
#else
	return JsonbPGetDatum(JsonbValueToJsonb(document.result));
#endif
}

/* oidvector: no encoding but those of all types */
Datum
oidvector_value(Input *input, Oid type)
{
	Oid			oids[4];
	int			count = take_byte(input) & 3;

	for (int i = 0; i < count; i++)
		oids[i] = (Oid) take_integer(input, 32);
	return PointerGetDatum(buildoidvector(oids, count));
}
