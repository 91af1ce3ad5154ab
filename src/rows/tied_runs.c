/*
 * tied_runs.c: sorts rows that coarse keys leave tied, with the types' own comparison functions.
 *
 * A walk over the order compares each row with its successor.  If it is greater, the key in which they differ must be
 * coarse and have equal encoded values in both; the run of rows equal up to that key is then sorted.  Any other
 * inversion is a fault of the engine or the encoder, and returned as such.
 *
 * Invariant: every pair of neighbours behind the walk has been compared, so the result does not depend on the keys
 * being right.
 *
 * A run is sorted by its strings' whole sort keys, if any, and then merge-sorted, mostly at one comparison per row.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "tied_runs.h"

/* Rows of a block that is sorted by insertion. */
#define INSERTION_ROWS 16

/* How many items ahead values are loaded. */
#define AHEAD 8

/* A run of fewer rows is sorted without whole sort keys. */
#define GUESS_ROWS 8

/* Strings with more bytes are long.  A comparison skips their common prefix faster than a whole sort key is made. */
#define GUESS_LONG 128

/* A run of fewer rows with long strings is sorted without whole sort keys, as one whose sample has equal ones. */
#define GUESS_LONG_ROWS 128
#define GUESS_SAMPLE 4

/* A row of a run, and its value in the first key that matters. */
typedef struct TiedItem
{
	Datum		value;
	uint32		row;
	bool		isnull;
} TiedItem;

StaticAssertDecl(2 * sizeof(TiedItem) == TIED_RUN_BYTES, "an item, and room to merge it");

/* A row's whole sort key. */
typedef struct Guess
{
	uint64		prefix;			/* its first bytes */
	uint32		offset;			/* of the others */
	uint32		len;
	uint32		place;			/* in the run */
} Guess;

/* The state of one pass over an order. */
typedef struct TiedSort
{
	RowComparer *comparer;
	SortKey    *keys;			/* NULL: rows have no keys, and are one run */
	const RowMarks *marks;		/* NULL: all neighbours are compared */
	uint32	   *order;
	uint64		rows;
	BigMem	   *mem;
	Size		items_limit;	/* bytes of a run's items */
	Size		copies_limit;	/* bytes of copied values and of guesses at a time */
	MemoryContext scratch;		/* of one run */
	StringInfoData keys_of[2];	/* two rows' encoded keys */
	StringInfoData guesses;
	int			key;			/* the first key in which rows of the current run differ */
	TiedItem   *items;			/* of a run, and as much room to merge in */
	uint32		items_room;
} TiedSort;

/* A row's encoded value of a key. */
static void
encode(TiedSort *s, int side, int key, uint32 row)
{
	bool		isnull;
	Datum		value = rowcompare_value(s->comparer, side, row, key, &isnull);

	resetStringInfo(&s->keys_of[side]);
	sortkey_normalise(&s->keys[key], value, isnull, &s->keys_of[side]);
}

/* Compares what was encoded. */
static int
compare_encoded(const TiedSort *s)
{
	const StringInfoData *a = &s->keys_of[0];
	const StringInfoData *b = &s->keys_of[1];
	int			order = memcmp(a->data, b->data, Min(a->len, b->len));

	return order != 0 ? order : a->len - b->len;
}

/*
 * Is a row in the encoded row's run: equal in all keys before s->key, and with an equal encoded value in that one?
 * *order is its comparison in the keys before s->key, or 0 if marks differ, which are equal in a run.
 */
static bool
in_run(TiedSort *s, uint32 row, uint32 encoded_row, int *order)
{
	*order = 0;
	if (s->marks && !rowmarks_tied(s->marks, row, encoded_row))
		return false;
	for (int key = 0; key < s->key && *order == 0; key++)
		*order = rowcompare_key(s->comparer, key, encoded_row, row);
	if (*order != 0)
		return false;
	encode(s, 1, s->key, row);
	return compare_encoded(s) == 0;
}

/* Finds the run around a place, up to end.  Returns true if rows next to it differ before s->key, and so stay. */
static bool
find_run(TiedSort *s, uint64 place, uint64 *start, uint64 *end)
{
	uint32		row = s->order[place];
	int			with_last = 0;
	int			with_next = 0;

	encode(s, 0, s->key, row);
	for (*start = place; *start > 0 && in_run(s, s->order[*start - 1], row, &with_last); (*start)--)
		CHECK_FOR_INTERRUPTS();
	for (*end = place + 1; *end < s->rows && in_run(s, s->order[*end], row, &with_next); (*end)++)
		CHECK_FOR_INTERRUPTS();
	return (*start == 0 || with_last > 0) && (*end == s->rows || with_next < 0);
}

/* Prefetches the value of a later item, scattered in large runs.  AHEAD more items may be read behind the last. */
static inline void
load_ahead(const TiedSort *s, const TiedItem *item)
{
	if (!s->comparer->places[s->key].byval)
		__builtin_prefetch(DatumGetPointer(item[AHEAD].value));
}

/* Compares two rows of a run; never 0 for different rows. */
static inline int
compare_items(TiedSort *s, const TiedItem *a, const TiedItem *b)
{
	int			order = ApplySortComparator(a->value, a->isnull, b->value, b->isnull, &s->comparer->keys[s->key]);
	int			decided;

	if (order == 0)
		order = rowcompare(s->comparer, s->key + 1, a->row, b->row, &decided);
	CHECK_FOR_INTERRUPTS();
	return order != 0 ? order : a->row < b->row ? -1 : a->row > b->row;
}

/* The first place in items from low to high whose row is not before a given one. */
static uint32
find_item(TiedSort *s, const TiedItem *items, uint32 low, uint32 high, const TiedItem *item)
{
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (compare_items(s, &items[middle], item) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sorts a few items; those in order take one comparison each.  After one that moved, the next is searched at once. */
static void
insertion_sort(TiedSort *s, TiedItem *items, uint32 count)
{
	bool		in_place = true;

	for (uint32 i = 1; i < count; i++)
	{
		TiedItem	item = items[i];
		uint32		high = i;
		uint32		place;

		if (in_place && compare_items(s, &items[i - 1], &item) > 0)
			high = i - 1;
		else if (in_place)
			continue;
		place = find_item(s, items, 0, high, &item);
		in_place = place == i;
		memmove(&items[place + 1], &items[place], (i - place) * sizeof(TiedItem));
		items[place] = item;
	}
}

/* Merges two adjacent sorted ranges.  Items that are in place already are not moved. */
static void
merge_parts(TiedSort *s, TiedItem *items, uint32 middle, uint32 count, TiedItem *room)
{
	uint32		left = 0;
	uint32		nleft;
	uint32		right = middle;
	uint32		to;

	if (compare_items(s, &items[middle - 1], &items[middle]) < 0)
		return;
	to = find_item(s, items, 0, middle - 1, &items[middle]);
	count = find_item(s, items, middle + 1, count, &items[middle - 1]);
	nleft = middle - to;
	memcpy(room, &items[to], nleft * sizeof(TiedItem));
	while (left < nleft && right < count)
	{
		load_ahead(s, &items[right]);
		load_ahead(s, &room[left]);
		if (compare_items(s, &items[right], &room[left]) < 0)
			items[to++] = items[right++];
		else
			items[to++] = room[left++];
	}
	memcpy(&items[to], &room[left], (nleft - left) * sizeof(TiedItem));
}

/* Sorts items by comparison. */
static void
merge_sort(TiedSort *s, TiedItem *items, uint32 count, TiedItem *room)
{
	for (uint32 i = 0; i < count; i += INSERTION_ROWS)
		insertion_sort(s, items + i, Min(INSERTION_ROWS, count - i));
	for (uint64 width = INSERTION_ROWS; width < count; width *= 2)
		for (uint64 i = 0; i + width < count; i += 2 * width)
			merge_parts(s, items + i, (uint32) width, (uint32) Min(2 * width, count - i), room);
}

/* Orders guesses as byte strings, in the key's direction, and equal ones as they came. */
static int
compare_guesses(const Guess *a, const Guess *b, TiedSort *s)
{
	const char *keys = s->guesses.data;
	int			order = a->prefix < b->prefix ? -1 : a->prefix > b->prefix;

	if (order == 0)
		order = memcmp(keys + a->offset, keys + b->offset, Min(a->len, b->len));
	if (order == 0)
		order = a->len < b->len ? -1 : a->len > b->len;
	if (order != 0)
		return s->keys[s->key].spec.desc ? -order : order;
	return a->place < b->place ? -1 : a->place > b->place;
}

#define ST_SORT sort_guesses
#define ST_ELEMENT_TYPE Guess
#define ST_COMPARE(a, b, s) compare_guesses(a, b, s)
#define ST_COMPARE_ARG_TYPE TiedSort
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Replaces the bytes in keys_of[side] by the whole sort key of an item's value; false if there is none. */
static bool
make_guess(TiedSort *s, int side, const TiedItem *item)
{
	StringInfo	bytes = &s->keys_of[side];

	resetStringInfo(bytes);
	return !item->isnull && sortkey_guess(&s->keys[s->key], item->value, bytes);
}

/* Do the whole sort keys of a few items differ? */
static bool
guesses_differ(TiedSort *s, const TiedItem *items, uint32 count)
{
	bool		differ = false;

	if (!make_guess(s, 0, &items[0]))
		return false;
	for (uint32 i = 1; i < GUESS_SAMPLE && !differ; i++)
		differ = make_guess(s, 1, &items[(uint64) i * count / GUESS_SAMPLE]) && compare_encoded(s) != 0;
	return differ;
}

/* Are whole sort keys worth making?  Long strings' weights decide beyond the key; guesses only if a sample differs. */
static bool
guesses_pay(TiedSort *s, const TiedItem *items, uint32 count)
{
	if (items->isnull || s->comparer->places[s->key].len != -1 || toast_raw_datum_size(items->value) <= GUESS_LONG)
		return count >= GUESS_ROWS;
	return count >= GUESS_LONG_ROWS && guesses_differ(s, items, count);
}

/* Sorts items by their values' whole sort keys.  Does nothing if a value has none, or if memory does not suffice. */
static void
order_by_guess(TiedSort *s, TiedItem *items, uint32 count, TiedItem *room)
{
	Size		share = s->copies_limit / count;
	StringInfo	bytes = &s->keys_of[1];
	Guess	   *guesses;

	if (share <= sizeof(Guess))
		return;
	guesses = MemoryContextAllocHuge(s->scratch, count * sizeof(Guess));
	resetStringInfo(&s->guesses);
	for (uint32 i = 0; i < count; i++)
	{
		if (!make_guess(s, 1, &items[i]) || (Size) s->guesses.len + bytes->len > MaxAllocSize / 2)
			return;
		enlargeStringInfo(bytes, sizeof(uint64));
		memset(bytes->data + bytes->len, 0, sizeof(uint64));
		memcpy(&guesses[i].prefix, bytes->data, sizeof(uint64));
		guesses[i].prefix = pg_ntoh64(guesses[i].prefix);
		guesses[i].offset = s->guesses.len;
		guesses[i].len = (uint32) Min((Size) bytes->len, share - sizeof(Guess));
		guesses[i].place = i;
		appendBinaryStringInfo(&s->guesses, bytes->data, (int) guesses[i].len);
		CHECK_FOR_INTERRUPTS();
	}
	sort_guesses(guesses, count, s);
	memcpy(room, items, count * sizeof(TiedItem));
	for (uint32 i = 0; i < count; i++)
		items[i] = room[guesses[i].place];
}

/* Would comparing a value unpack it each time? */
static inline bool
is_unpacked_often(const TiedSort *s, Datum value)
{
	return rowcompare_is_packed(s->comparer, s->key, value) ||
		(s->keys && s->keys[s->key].unpack && VARATT_IS_EXTENDED(DatumGetPointer(value)));
}

/* Reads the rows of a run.  Values that every comparison would unpack are unpacked here, up to copies_limit. */
static void
read_items(TiedSort *s, const uint32 *rows, uint32 count, TiedItem *items)
{
	Size		left = s->copies_limit;

	for (uint32 i = 0; i < count; i++)
	{
		TiedItem   *item = &items[i];

		item->row = rows[i];
		item->value = rowcompare_value(s->comparer, 0, rows[i], s->key, &item->isnull);
		if (left > 0 && !item->isnull && is_unpacked_often(s, item->value))
		{
			Size		bytes = toast_raw_datum_size(item->value);

			if (bytes <= left)
				item->value = rowcompare_take(s->comparer, s->key, item->row, item->value);
			left -= Min(bytes, left);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* Makes room for the items of a run; false if there is no memory. */
static bool
make_room(TiedSort *s, uint32 count)
{
	if (count <= s->items_room)
		return true;
	if ((Size) count * TIED_RUN_BYTES > s->items_limit)
		return false;
	if (s->items)
		bigmem_free(s->mem, s->items);
	s->items_room = count;
	s->items = bigmem_alloc(s->mem, ((Size) 2 * count + AHEAD) * sizeof(TiedItem));
	return s->items != NULL;
}

/* Puts a run in order; false if there is no memory. */
static bool
order_run(TiedSort *s, uint32 *rows, uint32 count)
{
	if (!make_room(s, count))
		return false;
	read_items(s, rows, count, s->items);
	if (s->keys && guesses_pay(s, s->items, count))
		order_by_guess(s, s->items, count, s->items + count);
	merge_sort(s, s->items, count, s->items + count);
	for (uint32 i = 0; i < count; i++)
		rows[i] = s->items[i].row;
	rowcompare_unpack_in(s->comparer, s->scratch);
	MemoryContextReset(s->scratch);
	return true;
}

/* Decides why two neighbours are out of order: TIED_SORTED if a coarse key leaves them tied, else whose fault it is. */
static TiedResult
judge(TiedSort *s, uint32 row, uint32 next)
{
	for (int key = 0; key <= s->key; key++)
	{
		int			order;

		if (!s->keys[key].coarse || (key < s->key && !s->keys[key].empty &&
									 rowcompare_stored_alike(s->comparer, key, row, next)))
			continue;
		encode(s, 0, key, row);
		encode(s, 1, key, next);
		order = compare_encoded(s);
		/* in the keys before s->key they are equal */
		if (order < 0 || (order > 0 && key < s->key))
		{
			sortkey_refuse(&s->keys[key]);
			return TIED_CONTRADICTION;
		}
		if (order > 0)
			return TIED_WRONG_ORDER;
		/* nothing behind such a key has been sorted by */
		if (s->keys[key].empty)
			s->key = key;
	}
	return s->keys[s->key].coarse ? TIED_SORTED : TIED_WRONG_ORDER;
}

/* Is a row not greater than its successor?  If it is, s->key becomes the key in which they differ. */
static inline bool
is_in_order(TiedSort *s, uint64 place, TiedStats *stats)
{
	uint32		row = s->order[place];
	uint32		next = s->order[place + 1];

	if (s->marks == NULL)
		rowstore_prefetch(s->comparer->rows, s->order, place, s->rows, PREFETCH_ROWS);
	else
	{
		rowmarks_prefetch(s->marks, s->order, place, s->rows);
		if (!rowmarks_tied(s->marks, row, next))
			return true;
		stats->compared++;
	}
	return rowcompare(s->comparer, 0, row, next, &s->key) <= 0;
}

/* Compares all neighbours, and sorts the runs that are out of order. */
static TiedResult
walk(TiedSort *s, TiedStats *stats)
{
	uint64		most = s->rows * (s->comparer->nkeys + 2);	/* a run is ordered once for each key at most */
	uint64		ordered = 0;
	uint64		sorted_to = 0;	/* the end of the last run that was sorted */
	uint64		start;
	uint64		end;

	for (uint64 i = 0; i + 1 < s->rows;)
	{
		bool		parted;
		TiedResult	result;

		CHECK_FOR_INTERRUPTS();
		if (likely(is_in_order(s, i, stats)))
		{
			i = i + 1 < sorted_to ? sorted_to - 1 : i + 1;
			continue;
		}
		result = judge(s, s->order[i], s->order[i + 1]);
		if (result != TIED_SORTED)
			return result;
		parted = find_run(s, i, &start, &end);
		if (!order_run(s, s->order + start, (uint32) (end - start)))
			return TIED_NO_MEMORY;
		stats->runs++;
		stats->rows += end - start;
		ordered += end - start;
		if (ordered > most)
			return TIED_CONTRADICTION;
		sorted_to = end;
		i = parted ? end : start > 0 ? start - 1 : end - 1;
	}
	return TIED_SORTED;
}

TiedResult
tied_runs_sort(RowComparer *comparer, SortKey *keys, const RowMarks *marks, uint32 *order, uint64 rows, BigMem *mem,
				 Size items_limit, Size copies_limit, TiedStats *stats)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort tied runs", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	TiedSort	sort = {.comparer = comparer, .keys = keys, .marks = marks, .order = order, .rows = rows,
		.mem = mem, .items_limit = items_limit, .copies_limit = copies_limit};
	MemoryContext unpacking = comparer->unpacking;
	TiedResult	result;

	if (marks == NULL)
		stats->compared += rows;
	sort.scratch = AllocSetContextCreate(cxt, "gpusort tied run", ALLOCSET_DEFAULT_SIZES);
	initStringInfo(&sort.keys_of[0]);
	initStringInfo(&sort.keys_of[1]);
	initStringInfo(&sort.guesses);
	rowcompare_unpack_in(comparer, sort.scratch);
	result = walk(&sort, stats);
	rowcompare_unpack_in(comparer, unpacking);
	if (sort.items)
		bigmem_free(mem, sort.items);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return result;
}

bool
tied_runs_sort_all(RowComparer *comparer, uint32 *order, uint32 rows, BigMem *mem, Size copies_limit)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort tied run", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	TiedSort	sort = {.comparer = comparer, .order = order, .rows = rows, .mem = mem, .items_limit = SIZE_MAX,
		.copies_limit = copies_limit, .scratch = cxt};
	MemoryContext unpacking = comparer->unpacking;
	bool		sorted;

	rowcompare_unpack_in(comparer, cxt);
	sorted = order_run(&sort, order, rows);
	rowcompare_unpack_in(comparer, unpacking);
	if (sort.items)
		bigmem_free(mem, sort.items);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return sorted;
}
