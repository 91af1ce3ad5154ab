/*
 * neighbours.c: compares all neighbours of an order, by words of their keys.
 *
 * Words are taken from the rows, which no engine has written: an engine, a device or memory that gave a wrong order is
 * found out.  Rows are taken in batches, column by column: the first key's words of all rows, then the next key's if
 * many neighbours are still equal.  Comparison functions decide where they are few, and where equal words may stand for
 * different values.  The caller has rows prefetched.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "neighbours.h"
#include "src/keys/key_word.h"

/* Rows whose marks are in one word. */
#define BLOCK_ROWS 64

/* Rows of a batch: a window, and the row before it. */
#define BATCH_ROWS (NEIGHBOURS_ROWS + 1)

/* Pairs that are equal so far are compared by functions if they are fewer than this part of a batch. */
#define FEW_PAIRS(count) ((count) / 8)

/* Where a value of a key comes among those of its kind. */
#define RANK_NULL_FIRST 0
#define RANK_VALUE 1
#define RANK_NULL_LAST 2

struct Neighbours
{
	RowComparer *comparer;
	SortKey    *keys;
	MemoryContext scratch;		/* for what encoders and comparison functions do not free */
	const uint32 *rows;			/* of the batch */
	uint64		count;
	uint32		npairs;			/* pairs equal so far */
	bool		equal;			/* some neighbours in the last batch had equal words at first */
	bool		nulls;			/* a row of the batch is NULL in the present key */
	uint16		pairs[BATCH_ROWS];	/* their first rows */
	uint8		ranks[BATCH_ROWS];	/* if there are nulls */
	uint64		words[BATCH_ROWS];
};

Neighbours *
neighbours_open(RowComparer *comparer, SortKey *keys)
{
	Neighbours *n = palloc(sizeof(Neighbours));

	n->comparer = comparer;
	n->keys = keys;
	n->equal = false;
	n->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort neighbours", ALLOCSET_SMALL_SIZES);
	return n;
}

/* A key whose values have one place in uniform rows. */
typedef struct UniformKey
{
	const char *values;			/* where that of row 0 would lie */
	Size		stride;
	char		align;			/* of strings */
	int			depth;
	uint64		flip;
} UniformKey;

/* The word of a row. */
static pg_attribute_always_inline uint64
uniform_word(const UniformKey *key, WordForm form, gs_type type, uint32 row)
{
	const char *value = key->values + row * key->stride;

	if (form == WORD_PLAIN)
		return element_image(type, value) ^ key->flip;
	if (form == WORD_UUID)
		return load_big_endian(value + key->depth * sizeof(uint64)) ^ key->flip;
	/* a string whose header is a single byte stands where the column before ends */
	if (unlikely(*value == 0))
		value = (const char *) att_align_nominal((uintptr_t) value, key->align);
	return string_word(PointerGetDatum(value), key->depth) ^ key->flip;
}

/* Compares all neighbours; false if they do not ascend, or if some are equal. */
static pg_attribute_always_inline bool
all_ascend(const Neighbours *n, const UniformKey *key, WordForm form, gs_type type)
{
	uint64		before = uniform_word(key, form, type, n->rows[0]);
	bool		ascend = true;

	for (uint64 i = 1; i < n->count; i++)
	{
		uint64		word = uniform_word(key, form, type, n->rows[i]);

		ascend &= before < word;
		before = word;
	}
	return ascend;
}

/* Compares all neighbours, and keeps those that are equal as pairs; false if one descends. */
static pg_attribute_always_inline bool
find_pairs(Neighbours *n, const UniformKey *key, WordForm form, gs_type type)
{
	uint64		before = n->words[0] = uniform_word(key, form, type, n->rows[0]);
	bool		descends = false;
	uint32		equal = 0;

	for (uint64 i = 1; i < n->count; i++)
	{
		uint64		word = n->words[i] = uniform_word(key, form, type, n->rows[i]);

		n->pairs[equal] = (uint16) (i - 1);
		equal += before == word;
		descends |= before > word;
		before = word;
	}
	n->npairs = equal;
	return !descends;
}

/* Compares the pairs, and keeps those that are equal; false if one descends. */
static pg_attribute_always_inline bool
keep_pairs(Neighbours *n, const UniformKey *key, WordForm form, gs_type type)
{
	bool		descends = false;
	uint32		equal = 0;

	for (uint32 i = 0; i < n->npairs; i++)
	{
		uint16		at = n->pairs[i];
		uint64		before = n->words[at] = uniform_word(key, form, type, n->rows[at]);
		uint64		word = uniform_word(key, form, type, n->rows[at + 1]);

		n->pairs[equal] = at;
		equal += before == word;
		descends |= before > word;
	}
	n->npairs = equal;
	return !descends;
}

/* Compares neighbours, if first all of them, by words; where they were equal before it is expected again. */
static pg_attribute_always_inline bool
uniform_ascend(Neighbours *n, const UniformKey *key, WordForm form, gs_type type, bool first)
{
	bool		ascend;

	if (!first)
		return keep_pairs(n, key, form, type);
	if (!n->equal && all_ascend(n, key, form, type))
	{
		n->npairs = 0;
		return true;
	}
	ascend = find_pairs(n, key, form, type);
	n->equal = n->npairs > 0;
	return ascend;
}

/* Do the rows of a block that are not seen have greater words than a row?  Bit i of seen stands for row from + i. */
static pg_attribute_always_inline bool
block_behind(const UniformKey *key, WordForm form, gs_type type, uint32 row, uint32 from, uint64 seen)
{
	uint64		word = uniform_word(key, form, type, row);
	bool		behind = true;

	for (uint32 i = 0; i < BLOCK_ROWS; i++)
		behind &= (seen >> i & 1) != 0 || uniform_word(key, form, type, from + i) > word;
	return behind;
}

/* Specialises block_behind for frequent types. */
static bool
words_behind(const UniformKey *key, const KeyWord *word, uint32 row, uint32 from, uint64 seen)
{
	gs_type		type = word->key->spec.type;

	if (word->form == WORD_STRING)
		return block_behind(key, WORD_STRING, GS_BYTES, row, from, seen);
	if (word->form == WORD_UUID)
		return block_behind(key, WORD_UUID, GS_U128, row, from, seen);
	if (type == GS_I64)
		return block_behind(key, WORD_PLAIN, GS_I64, row, from, seen);
	return block_behind(key, WORD_PLAIN, type, row, from, seen);
}

/* Specialises uniform_ascend for frequent types. */
static bool
compare_uniform(Neighbours *n, const UniformKey *key, const KeyWord *word, bool first)
{
	gs_type		type = word->key->spec.type;

	if (word->form == WORD_STRING)
		return uniform_ascend(n, key, WORD_STRING, GS_BYTES, first);
	if (word->form == WORD_UUID)
		return uniform_ascend(n, key, WORD_UUID, GS_U128, first);
	if (type == GS_I64)
		return uniform_ascend(n, key, WORD_PLAIN, GS_I64, first);
	if (type == GS_I32)
		return uniform_ascend(n, key, WORD_PLAIN, GS_I32, first);
	return uniform_ascend(n, key, WORD_PLAIN, type, first);
}

/* Where the key of row 0 would lie if rows are uniform and it has one place in them, else NULL. */
static const char *
uniform_values(const RowStore *store, const KeyPlace *place)
{
	const char *data;
	Size		bytes;

	if (store->stride == 0 || place->kind == PLACE_VARIES)
		return NULL;
	data = rowstore_data(store, 0, &bytes);
	return place->kind == PLACE_FROM_END ? data + bytes - place->offset : data + place->offset;
}

/*
 * A value of a key where it lies in a row.  Only columns of fixed width stand before it; if none of these is NULL, it
 * lies where it does in rows without NULLs.
 */
static pg_attribute_always_inline Datum
value_of(const Neighbours *n, uint32 row, int key, bool *isnull)
{
	const RowStore *store = n->comparer->rows;
	const KeyPlace *place = &n->comparer->places[key];
	AttrNumber	attno = n->comparer->keys[key].ssup_attno;
	MinimalTuple tuple = (MinimalTuple) rowstore_address(store, row);
	const char *data;
	int			column = 0;

	if (store->stride != 0 || (tuple->t_infomask & HEAP_HASNULL) == 0 || HeapTupleHeaderGetNatts(tuple) < attno ||
		(place->kind != PLACE_FROM_START && place->kind != PLACE_STRING))
		return rowcompare_value(n->comparer, 0, row, key, isnull);
	while (column < attno && !att_isnull(column, tuple->t_bits))
		column++;
	if (column < attno - 1)
		return rowcompare_value(n->comparer, 0, row, key, isnull);
	*isnull = column < attno;
	data = (const char *) tuple + tuple->t_hoff - MINIMAL_TUPLE_OFFSET;
	return *isnull ? (Datum) 0 : keyplace_value(place, data, 0);
}

/* Reads words at a depth of any rows; false if a value is another one than when it was encoded. */
static pg_attribute_always_inline bool
read_values(Neighbours *n, int key, const KeyWord *word, WordForm form, int depth)
{
	uint8		rank_of_null = word->key->spec.nulls_first ? RANK_NULL_FIRST : RANK_NULL_LAST;

	for (uint64 i = 0; i < n->count; i++)
	{
		bool		isnull;
		Datum		value = value_of(n, n->rows[i], key, &isnull);

		n->ranks[i] = isnull ? rank_of_null : RANK_VALUE;
		n->nulls |= isnull;
		n->words[i] = 0;
		if (!isnull && !keyword_write(word, form, value, depth, &n->words[i]))
			return false;
	}
	return true;
}

/* Specialises read_values for frequent forms. */
static bool
read_any(Neighbours *n, int key, const KeyWord *word, int depth)
{
	if (word->form == WORD_STRING)
		return read_values(n, key, word, WORD_STRING, depth);
	if (word->form == WORD_PLAIN)
		return read_values(n, key, word, WORD_PLAIN, depth);
	return read_values(n, key, word, word->form, depth);
}

/* Keeps the pairs whose words are equal; false if one descends.  first: all neighbours are pairs. */
static pg_attribute_always_inline bool
compare_pairs(Neighbours *n, bool first, bool nulls)
{
	uint64		pairs = first ? n->count - 1 : n->npairs;
	uint32		equal = 0;
	bool		descends = false;

	for (uint64 i = 0; i < pairs; i++)
	{
		uint64		at = first ? i : n->pairs[i];
		bool		same = n->words[at] == n->words[at + 1];
		bool		greater = n->words[at] > n->words[at + 1];

		if (nulls && n->ranks[at] != n->ranks[at + 1])
		{
			same = false;
			greater = n->ranks[at] > n->ranks[at + 1];
		}
		n->pairs[equal] = (uint16) at;
		equal += same;
		descends |= greater;
	}
	n->npairs = equal;
	return !descends;
}

/* Specialises compare_pairs. */
static bool
words_ascend(Neighbours *n, bool first)
{
	if (n->nulls)
		return compare_pairs(n, first, true);
	return first ? compare_pairs(n, true, false) : compare_pairs(n, false, false);
}

/* Are a key's words copied from its values? */
static inline bool
copies_words(const KeyWord *word)
{
	return word->form == WORD_PLAIN || word->form == WORD_UUID || word->form == WORD_STRING;
}

bool
neighbours_cheap(const RowStore *rows, const KeyPlace *places, SortKey *keys, int nkeys)
{
	for (int i = 0; i < nkeys; i++)
	{
		KeyWord		word = keyword_of(&keys[i]);

		/* strings take twice the time of numbers, and those out of line have to be fetched */
		if (uniform_values(rows, &places[i]) == NULL || (word.form != WORD_PLAIN && word.form != WORD_UUID))
			return false;
	}
	return true;
}

/* The key of uniform rows whose words are copied from one place; without values if there is none. */
static UniformKey
uniform_key(const Neighbours *n, int key, const KeyWord *word, int depth)
{
	const RowStore *store = n->comparer->rows;
	const KeyPlace *place = &n->comparer->places[key];

	return (UniformKey) {copies_words(word) ? uniform_values(store, place) : NULL, store->stride, place->align, depth,
		word->flip};
}

/* Compares the pairs by words of a key, and keeps those that are equal; false if one descends.  first: all pairs. */
static bool
compare_words(Neighbours *n, int key, const KeyWord *word, int depth, bool first)
{
	UniformKey	uniform = uniform_key(n, key, word, depth);

	n->nulls = false;
	if (uniform.values)
		return compare_uniform(n, &uniform, word, first);
	return read_any(n, key, word, depth) && words_ascend(n, first);
}

/* May the values of a pair whose words are equal still differ in the key? */
static inline bool
pair_goes_on(const Neighbours *n, uint32 at, const KeyWord *word, int depth)
{
	return keyword_goes_on(word, n->words[at], depth) && (!n->nulls || n->ranks[at] == RANK_VALUE);
}

/* How many pairs are equal so far, but may differ in the key? */
static uint32
count_open(const Neighbours *n, const KeyWord *word, int depth)
{
	uint32		count = 0;

	for (uint32 i = 0; i < n->npairs; i++)
		count += pair_goes_on(n, n->pairs[i], word, depth);
	return count;
}

/* Compares those pairs by the key's function, and keeps the equal ones; false if one descends. */
static bool
close_pairs(Neighbours *n, int key, const KeyWord *word, int depth)
{
	uint32		equal = 0;

	for (uint32 i = 0; i < n->npairs; i++)
	{
		uint16		at = n->pairs[i];
		int			order = 0;

		if (pair_goes_on(n, at, word, depth))
			order = rowcompare_key(n->comparer, key, n->rows[at], n->rows[at + 1]);
		if (order > 0)
			return false;
		n->pairs[equal] = at;
		equal += order == 0;
	}
	n->npairs = equal;
	return true;
}

/* Compares the pairs by a key, and keeps those that are equal in it; false if one descends. */
static bool
compare_key(Neighbours *n, int key, const KeyWord *word, bool first)
{
	for (int depth = 0;; depth++)
	{
		uint32		open;

		if (!compare_words(n, key, word, depth, first && depth == 0))
			return false;
		open = word->whole ? 0 : count_open(n, word, depth);
		if (open == 0)
			return true;
		if (depth + 1 == word->depths || open <= FEW_PAIRS(n->count))
			return close_pairs(n, key, word, depth);
	}
}

/* Compares the pairs, equal before a key, by functions from it on. */
static bool
values_ascend(Neighbours *n, int key)
{
	for (uint32 i = 0; i < n->npairs; i++)
	{
		const uint32 *pair = &n->rows[n->pairs[i]];
		int			decided;
		int			order = rowcompare(n->comparer, key, pair[0], pair[1], &decided);

		if (order > 0 || (order == 0 && pair[0] > pair[1]))
			return false;
	}
	return true;
}

/* Do the rows of pairs that are equal in all keys come in order of arrival? */
static bool
numbers_ascend(const Neighbours *n)
{
	bool		ascend = true;

	for (uint32 i = 0; i < n->npairs; i++)
		ascend &= n->rows[n->pairs[i]] < n->rows[n->pairs[i] + 1];
	return ascend;
}

/* Makes all neighbours of the batch pairs. */
static void
take_all_pairs(Neighbours *n)
{
	n->npairs = (uint32) n->count - 1;
	for (uint32 i = 0; i < n->npairs; i++)
		n->pairs[i] = (uint16) i;
}

/* Do the rows of the batch ascend? */
static bool
batch_ascends(Neighbours *n)
{
	for (int key = 0; key < n->comparer->nkeys; key++)
	{
		KeyWord		word = keyword_of(&n->keys[key]);

		if (key == 0 && word.form == WORD_NONE)
			take_all_pairs(n);
		if (word.form == WORD_NONE || (key > 0 && n->npairs <= FEW_PAIRS(n->count)))
			return values_ascend(n, key);
		if (!compare_key(n, key, &word, key == 0))
			return false;
	}
	return numbers_ascend(n);
}

bool
neighbours_ascend(Neighbours *n, const uint32 *rows, uint64 count)
{
	MemoryContext old = MemoryContextSwitchTo(n->scratch);
	bool		ascend = true;

	/* the last row of a batch is the first one of the next */
	for (uint64 from = 0; ascend && from + 1 < count; from += BATCH_ROWS - 1)
	{
		CHECK_FOR_INTERRUPTS();
		n->rows = rows + from;
		n->count = Min(BATCH_ROWS, count - from);
		ascend = batch_ascends(n);
		MemoryContextReset(n->scratch);
	}
	MemoryContextSwitchTo(old);
	return ascend;
}

/* Do the rows from one until another that are not seen sort behind a row?  Calls comparison functions. */
static bool
values_behind(Neighbours *n, uint32 row, const uint64 *seen, uint32 from, uint32 until)
{
	for (uint32 other = from; other < until; other++)
	{
		int			decided;
		int			order;

		if ((seen[other / 64] >> (other % 64) & 1) != 0)
			continue;
		order = rowcompare(n->comparer, 0, row, other, &decided);
		if (order > 0 || (order == 0 && row > other))
			return false;
	}
	return true;
}

bool
neighbours_behind(Neighbours *n, uint32 row, const uint64 *seen)
{
	const RowStore *store = n->comparer->rows;
	KeyWord		word = keyword_of(&n->keys[0]);
	UniformKey	key = uniform_key(n, 0, &word, 0);
	MemoryContext old = MemoryContextSwitchTo(n->scratch);
	bool		behind = true;

	for (uint32 from = 0; behind && from < store->rows; from += BLOCK_ROWS)
	{
		bool		by_words = key.values && store->rows - from >= BLOCK_ROWS;

		CHECK_FOR_INTERRUPTS();
		if (by_words && words_behind(&key, &word, row, from, seen[from / BLOCK_ROWS]))
			continue;
		behind = values_behind(n, row, seen, from, (uint32) Min((uint64) from + BLOCK_ROWS, store->rows));
		MemoryContextReset(n->scratch);
	}
	MemoryContextSwitchTo(old);
	return behind;
}
