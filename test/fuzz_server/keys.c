/*
 * keys.c: every encoder of sort keys against the comparison function of its type, in a server of its own, since both
 * need one.
 *
 * An input chooses a type, a collation and a few values.  Their keys in every form that they can take must be in the
 * order of the values.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/sortsupport.h"
#include "utils/typcache.h"

#include "src/base/guc.h"
#include "src/keys/sortkey.h"
#include "values.h"

#define MOST_VALUES 40

/* Widenings until no row of a few asks for another: steps of numerics, renumberings and forms. */
#define MOST_WIDENINGS 50

/* What an input says. */
typedef struct Example
{
	const ValueKind *kind;
	Oid			type;
	Oid			less;
	Oid			greater;
	Oid			collation;
	bool		nulls_first;
	bool		desc;
	bool		small_heap;		/* chunks are full after a few strings */
	uint32		room;			/* of prefixes */
	int			count;
	Datum		values[MOST_VALUES];
	bool		nulls[MOST_VALUES];
	SortSupportData order;		/* of the type, ascending */
} Example;

/* An encoded value. */
typedef struct Element
{
	char	   *bytes;
	Size		len;
} Element;

/* Collations of strings: the order of bytes, the C library's, ICU's; "C" in place of those that are not there. */
static Oid	collations[8];
static int	ncollations;
static Oid	types[64];
static Oid	lesses[64];
static Oid	greaters[64];

/* What an encoder may take for itself: with nothing, dictionaries are full at once. */
static Size memory_limit;

Size
gpusort_memory_limit(void)
{
	return memory_limit;
}

/* Finds what inputs may choose from. */
static void
find_catalog(void)
{
	static const char *const names[] = {"en_US", "cs_CZ", "da_DK", "icu", "icu_da"};

	if (ncollations > 0)
		return;
	if (value_kinds_count > (int) lengthof(types))
		elog(ERROR, "too many types");
	for (int i = 0; i < value_kinds_count; i++)
	{
		const ValueKind *kind = &value_kinds[i];
		TypeCacheEntry *cached;

		types[i] = value_type(i);
		cached = lookup_type_cache(types[i], TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
		lesses[i] = cached->lt_opr;
		greaters[i] = cached->gt_opr;
		if (kind->less)
		{
			lesses[i] = DatumGetObjectId(DirectFunctionCall1(regoperatorin, CStringGetDatum(kind->less)));
			greaters[i] = get_commutator(lesses[i]);
		}
	}
	collations[ncollations++] = C_COLLATION_OID;
	for (size_t i = 0; i < lengthof(names); i++)
	{
		Oid			collation = get_collation_oid(list_make2(makeString("keys"), makeString(pstrdup(names[i]))), true);

		collations[ncollations++] = OidIsValid(collation) ? collation : C_COLLATION_OID;
	}
}

/* Reads an input; false if it has no two values. */
static bool
read_example(Example *example, Input *input)
{
	int			kind = take_byte(input) % value_kinds_count;
	uint8		flags = take_byte(input);
	int			collation = take_byte(input) % ncollations;
	Datum		made[MOST_VALUES];
	int			nmade = 0;
	uint8		how;

	memset(example, 0, sizeof(*example));
	example->kind = &value_kinds[kind];
	example->type = types[kind];
	example->less = lesses[kind];
	example->greater = greaters[kind];
	example->collation = example->kind->collated ? collations[collation] : InvalidOid;
	if (example->kind->less)
		example->collation = C_COLLATION_OID;
	example->nulls_first = flags & 1;
	example->desc = flags & 2;
	example->small_heap = flags & 4;
	memory_limit = flags & 8 ? 0 : 256 * 1024 * 1024;
	example->room = take_byte(input) % 80;
	while (bytes_left(input) > 0 && example->count < MOST_VALUES)
	{
		int			i = example->count++;

		how = take_byte(input);
		example->nulls[i] = how % 16 == 15;
		/* some values come again */
		if (how % 16 == 14 && i > 0 && !example->nulls[how / 16 % i])
			example->values[i] = example->values[how / 16 % i];
		else if (!example->nulls[i])
			{
			example->values[i] = make_value(example->kind, example->type, input, made, nmade);
			made[nmade++] = example->values[i];
		}
	}
	example->order.ssup_cxt = CurrentMemoryContext;
	example->order.ssup_collation = example->collation;
	PrepareSortSupportFromOrderingOp(example->less, &example->order);
	return example->count > 1;
}

/* A value as text, for messages. */
static char *
show(const Example *example, int i)
{
	Oid			output;
	bool		is_varlena;

	if (example->nulls[i])
		return "NULL";
	getTypeOutputInfo(example->type, &output, &is_varlena);
	return OidOutputFunctionCall(output, example->values[i]);
}

/* Says what is wrong with two values. */
static _Noreturn void
wrong(const Example *example, const SortKey *key, const char *what, int i, int j)
{
	elog(ERROR, "%s of %s under collation %u, %s%s: \"%s\" and \"%s\"", what, example->kind->type, example->collation,
		 key->form ? key->form : "exact", key->spec.desc ? ", descending" : "", show(example, i), show(example, j));
}

static int
sign(int order)
{
	return order < 0 ? -1 : order > 0;
}

/* How two values compare, with NULLs and direction as a key has them. */
static int
order_of(const Example *example, const SortKey *key, int i, int j)
{
	SortSupportData order = example->order;

	order.ssup_reverse = key->spec.desc;
	order.ssup_nulls_first = key->spec.nulls_first;
	return sign(ApplySortComparator(example->values[i], example->nulls[i], example->values[j], example->nulls[j],
									&order));
}

#define COMPARE(x, y) ((x) < (y) ? -1 : (x) > (y))
#define COMPARE_AS(c_type) \
	do { \
		c_type x; \
		c_type y; \
		memcpy(&x, a->bytes, sizeof(x)); \
		memcpy(&y, b->bytes, sizeof(y)); \
		return COMPARE(x, y); \
	} while (0)
/* NaNs are equal, and behind all numbers */
#define COMPARE_AS_FLOAT(c_type) \
	do { \
		c_type x; \
		c_type y; \
		memcpy(&x, a->bytes, sizeof(x)); \
		memcpy(&y, b->bytes, sizeof(y)); \
		if (x != x || y != y) \
			return (x != x) - (y != y); \
		return COMPARE(x, y); \
	} while (0)

/* Compares byte strings. */
static int
compare_bytes(const Element *a, const Element *b)
{
	int			order = memcmp(a->bytes, b->bytes, Min(a->len, b->len));

	return order != 0 ? sign(order) : COMPARE(a->len, b->len);
}

/* Compares elements as kernels/gs.h says that engines do. */
static int
compare_elements(gs_type type, const Element *a, const Element *b)
{
	switch (type)
	{
		case GS_U8:
			COMPARE_AS(uint8);
		case GS_U16:
			COMPARE_AS(uint16);
		case GS_U32:
			COMPARE_AS(uint32);
		case GS_U64:
			COMPARE_AS(uint64);
		case GS_I16:
			COMPARE_AS(int16);
		case GS_I32:
			COMPARE_AS(int32);
		case GS_I64:
			COMPARE_AS(int64);
		case GS_F32:
			COMPARE_AS_FLOAT(float4);
		case GS_F64:
			COMPARE_AS_FLOAT(float8);
		case GS_U128:
			COMPARE_AS(uint128);
		case GS_BYTES:
			return compare_bytes(a, b);
	}
	elog(ERROR, "unknown type of keys %d", (int) type);
}

/* A chunk's column for rows from some row on. */
static void
open_column(const Example *example, const SortKey *key, KeyColumn *column, uint32 heap_bytes)
{
	memset(column, 0, sizeof(*column));
	column->values = palloc0((MOST_VALUES + 1) * sizeof(uint128));
	column->nulls_bytes = (MOST_VALUES + 63) / 64 * sizeof(uint64);
	column->nulls = palloc(column->nulls_bytes);
	memset(column->nulls, 0xff, column->nulls_bytes);
	column->heap = palloc(heap_bytes + 1);
	column->heap_bytes = heap_bytes;
}

/* Copies what an encoder wrote as an element. */
static void
copy_element(const SortKey *key, const KeyColumn *column, uint32 row, Element *element)
{
	const uint32 *offsets = (const uint32 *) column->values;

	if (key->spec.type != GS_BYTES)
	{
		element->len = gs_type_width(key->spec.type);
		element->bytes = palloc(element->len);
		memcpy(element->bytes, column->values + row * element->len, element->len);
		return;
	}
	if (offsets[row + 1] < offsets[row] || offsets[row + 1] > column->heap_bytes)
		elog(ERROR, "offsets %u and %u of %u bytes", offsets[row], offsets[row + 1], column->heap_bytes);
	element->len = offsets[row + 1] - offsets[row];
	element->bytes = palloc(element->len + 1);
	memcpy(element->bytes, column->heap + offsets[row], element->len);
}

/* Encodes all values into chunks, from the first one again where the key asks for it. */
static void
encode_all(const Example *example, SortKey *key, Element *elements)
{
	uint32		heap_bytes = example->small_heap ? 200 : 64 * 1024;
	int			widenings = 0;
	KeyColumn	column;
	uint32		row = 0;

	open_column(example, key, &column, heap_bytes);
	for (int i = 0; i < example->count;)
	{
		switch (sortkey_put(key, example->values[i], example->nulls[i], &column, row))
		{
			case KEY_OK:
				if (example->nulls[i] != (column.has_nulls && (column.nulls[row / 64] >> row % 64 & 1) != 0))
					elog(ERROR, "row %u is marked as NULL, or not", row);
				copy_element(key, &column, row++, &elements[i++]);
				break;
			case KEY_FULL:
				if (row == 0)
					elog(ERROR, "an empty chunk is full");
				open_column(example, key, &column, heap_bytes);
				row = 0;
				break;
			case KEY_TOO_LARGE:
				if (row != 0 || column.wanted <= column.heap_bytes)
					elog(ERROR, "a value that has room is too large");
				open_column(example, key, &column, column.wanted);
				break;
			case KEY_WIDEN:
				if (++widenings > MOST_WIDENINGS)
					elog(ERROR, "a key widens again and again");
				sortkey_restart(key);
				open_column(example, key, &column, heap_bytes);
				row = 0;
				i = 0;
				break;
		}
	}
}

/* The form that a key has come to, against the comparison function. */
static void
check_elements(const Example *example, SortKey *key)
{
	Element		elements[MOST_VALUES];

	encode_all(example, key, elements);
	for (int i = 0; i < example->count; i++)
		for (int j = 0; j < i; j++)
		{
			SortKey		ascending = *key;
			int			order;
			int			said;

			if (example->nulls[i] || example->nulls[j])
				continue;
			/* directions are the engine's */
			ascending.spec.desc = false;
			order = order_of(example, &ascending, j, i);
			said = compare_elements(key->spec.type, &elements[j], &elements[i]);
			if (said != order && !(key->coarse && said == 0))
				wrong(example, key, "keys", j, i);
			if (key->empty && said != 0)
				wrong(example, key, "a key that tells nothing", j, i);
		}
}

/* What a coarse key leaves out must not fail. */
static void
check_guesses(const Example *example, SortKey *key)
{
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < example->count; i++)
		if (!example->nulls[i])
			(void) sortkey_guess(key, example->values[i], &out);
}

/* Opens a key as inputs say. */
static void
open_key(const Example *example, SortKey *key, bool exact)
{
	sortkey_open(key, example->desc ? example->greater : example->less, example->collation, example->nulls_first,
				 exact);
	if (key->spec.desc != example->desc || key->spec.nulls_first != example->nulls_first)
		elog(ERROR, "a key has another direction than its operator");
}

/* Keys as sorts in memory take them: with all bytes, with the first ones, and put off. */
static void
check_columns(const Example *example)
{
	SortKey		key;

	open_key(example, &key, false);
	check_elements(example, &key);
	check_guesses(example, &key);
	open_key(example, &key, false);
	sortkey_let_lead(&key);
	check_elements(example, &key);
	/* of first bytes, or just opened */
	if (key.leading == 0)
		open_key(example, &key, false);
	if (!sortkey_defer(&key))
		return;
	check_elements(example, &key);
	sortkey_resume(&key);
	check_elements(example, &key);
}

/* The first bytes of a normalised form are those of the whole. */
static void
check_prefix(const Example *example, SortKey *key, int i, const StringInfo whole, Size room)
{
	char	   *out = palloc(room + 1);
	Size		bytes = sortkey_prefix(key, example->values[i], example->nulls[i], out, room);

	if (bytes <= room ? bytes != (Size) whole->len : (Size) whole->len <= room)
		wrong(example, key, "length of a prefix", i, i);
	if (memcmp(out, whole->data, Min(bytes, room)) != 0)
		wrong(example, key, "prefix", i, i);
}

/* Forms of fixed width as other functions write them. */
static void
check_fixed(const Example *example, SortKey *key, int i, const StringInfo whole)
{
	char		written[SORTKEY_WRITTEN];

	if (sortkey_write(key, example->values[i], example->nulls[i], written) - written != whole->len ||
		memcmp(written, whole->data, whole->len) != 0)
		wrong(example, key, "written form", i, i);
}

/* Words of fixed width are in the order of the key. */
static void
check_words(const Example *example, SortKey *key, int i, int j)
{
	uint64		x;
	uint64		y;

	if (example->nulls[i] || example->nulls[j])
		return;
	x = sortkey_word(key, example->values[i]);
	y = sortkey_word(key, example->values[j]);
	if (COMPARE(x, y) != order_of(example, key, i, j))
		wrong(example, key, "words", i, j);
}

/* Two normalised forms: in order by memcmp alone, and none is the beginning of another. */
static void
check_normalised(const Example *example, SortKey *key, const StringInfoData *wholes, int i, int j)
{
	const StringInfoData *x = &wholes[i];
	const StringInfoData *y = &wholes[j];
	int			order = sign(memcmp(x->data, y->data, Min(x->len, y->len)));

	if (order != order_of(example, key, i, j) || (order == 0 && x->len != y->len))
		wrong(example, key, "normalised forms", i, j);
}

/* Keys as runs on disk take them. */
static void
check_exact(const Example *example)
{
	StringInfoData wholes[MOST_VALUES];
	SortKey		key;

	if (!sortkey_is_exact(example->less, example->collation))
		return;
	open_key(example, &key, true);
	if (!key.exact || key.coarse)
		elog(ERROR, "an exact key is not");
	check_elements(example, &key);
	for (int i = 0; i < example->count; i++)
	{
		initStringInfo(&wholes[i]);
		sortkey_normalise(&key, example->values[i], example->nulls[i], &wholes[i]);
		check_prefix(example, &key, i, &wholes[i], example->room);
		check_prefix(example, &key, i, &wholes[i], wholes[i].len);
		check_prefix(example, &key, i, &wholes[i], wholes[i].len - 1);
		if (key.width > 0)
			check_fixed(example, &key, i, &wholes[i]);
		for (int j = 0; j < i; j++)
		{
			check_normalised(example, &key, wholes, j, i);
			if (key.width > 0 && key.width <= sizeof(uint64))
				check_words(example, &key, j, i);
		}
	}
}

/* A numeric as a double is the server's. */
static void
check_doubles(const Example *example)
{
	for (int i = 0; example->type == NUMERICOID && i < example->count; i++)
	{
		struct varlena *value = (struct varlena *) DatumGetPointer(example->values[i]);
		double		quick;
		double		right;

		if (example->nulls[i] || !sortkey_numeric_as_double(pg_detoast_datum_packed(value), &quick))
			continue;
		right = DatumGetFloat8(OidFunctionCall1(fmgr_internal_function("numeric_float8"), example->values[i]));
		if (quick != right)
			elog(ERROR, "%s as a double is %.17g, not %.17g", show(example, i), quick, right);
	}
}

void
check_keys(const uint8 *bytes, Size n)
{
	Input		input = {bytes, bytes + n};
	Example		example;
	volatile bool made = false;
	MemoryContext context = CurrentMemoryContext;

	find_catalog();
	/* bytes that make no values break no rule */
	PG_TRY();
	{
		made = read_example(&example, &input);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	if (!made)
		return;
	check_columns(&example);
	check_exact(&example);
	check_doubles(&example);
}
