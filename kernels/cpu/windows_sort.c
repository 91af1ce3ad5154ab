/*
 * windows_sort.c: a part of a window's records in order: its keys, with places below them, are sorted by as many bits
 * at a time as fit a word, the lowest ones first; then columns follow.
 */
#include "windows.h"

#define SHORT 16 /* rows that are put in order by insertion */

size_t
gs_ordered_make(const gs_cpu_windows *w, gs_ordered *o, uint64_t rows, char *memory)
{
	size_t used = 0;

	*o = (gs_ordered){.marks = gs_take(memory, &used, rows)};
	for (uint32_t i = 0; i < w->records.ncolumns; i++)
	{
		const gs_window_column *c = &w->records.columns[i];

		o->values[c->column] = gs_take(memory, &used, rows * gs_width_of(c->type));
		if (c->nulls)
			o->nulls[c->column] = gs_take(memory, &used, rows);
	}
	return used;
}

/* A part's sort. */
typedef struct part_sort
{
	const gs_cpu_windows *w;
	gs_window_worker *k;
	gs_cpu_engine *cpu;
	uint32_t part;
	uint32_t n;
	uint32_t bits, order_bits; /* of the keys that differ; of these the orders' */
	uint32_t place_bits; /* of a place below a key, or of the values of a single record */
	uint64_t *low, *high; /* the keys; high: what leaves 64 bits, or NULL */
	uint64_t *partitions; /* their keys, unless the orders' are joined to them */
	uint64_t *rest;		  /* orders that the keys have no room for, above values, or NULL */
	uint32_t rest_shift;  /* of these orders */
	uint64_t *words, *other;
	uint32_t *places, *more; /* of records, in order */
	char *column;			 /* a column's values, or NULLs, as they came */
} part_sort;

/* Lays out what records of several words need, which are sorted by their places. */
static void
take_places(part_sort *s, char *memory, size_t *used)
{
	size_t n = s->n;

	s->low = gs_take(memory, used, n * 8);
	s->high = s->partitions = s->w->records.joined ? NULL : gs_take(memory, used, n * 8);
	s->rest = s->w->records.behind ? gs_take(memory, used, n * 8) : NULL;
	s->places = gs_take(memory, used, n * 4);
	s->more = gs_take(memory, used, n * 4);
}

/* Lays a sort out in memory. */
static gs_status
begin(part_sort *s)
{
	size_t used = 0, n = s->n;
	char *memory = NULL;

	for (int turn = 0; turn < 2; turn++)
	{
		used = 0;
		s->words = gs_take(memory, &used, n * 8);
		s->other = gs_take(memory, &used, n * 8);
		s->column = gs_take(memory, &used, n * (s->w->records.single ? 8 : 16));
		if (!s->w->records.single)
			take_places(s, memory, &used);
		if (turn == 0)
			GS_TRY(gs_block_reserve(&s->k->work, &s->k->sorting, used));
		memory = s->k->sorting.data;
	}
	return GS_OK;
}

/* Copies a word of all records of the part, of which a mask's bits count, to places that are step words apart. */
static void
load_word(const part_sort *s, uint32_t word, uint64_t mask, uint64_t *to, uint32_t step)
{
	const gs_cpu_groups *g = s->w->scatter;

	for (uint32_t i = 0; i < g->head.workers; i++)
	{
		const gs_group_worker *w = &g->workers[i];

		for (const gs_records *r = w->has_rows ? w->last[s->part] : NULL; r != NULL; r = r->next)
		{
			const uint64_t *from = r->words + (size_t) word * r->room;
			uint32_t n = gs_records_number(w, s->part, r);

			if (step == 1)
				for (uint32_t k = 0; k < n; k++)
					to[k] = from[k] & mask;
			else
				for (uint32_t k = 0; k < n; k++)
					to[(size_t) k * step] = from[k];
			to += (size_t) n * step;
		}
	}
}

/* Loads the keys, and joins those of partition and orders if what differs fits 64 bits. */
static void
load_keys(part_sort *s)
{
	const gs_packed_keys *orders = &s->w->records.orders;
	uint32_t bits = s->w->head.keys.bits + orders->bits;

	s->bits = bits - s->w->scatter->part_bits;
	s->order_bits = orders->bits < s->bits ? orders->bits : s->bits;
	if (s->w->records.single)
	{
		s->place_bits = s->w->records.values.bits;
		load_word(s, 0, gs_mask(s->bits + s->place_bits), s->words, 1);
		return;
	}
	s->place_bits = gs_row_bits(s->n);
	s->rest_shift = s->w->records.values.bits;
	load_word(s, 0, UINT64_MAX, s->w->records.joined ? s->low : s->high, 1);
	if (!s->w->records.joined)
		load_word(s, 1, UINT64_MAX, s->low, 1);
	if (s->rest != NULL)
		load_word(s, s->w->records.rest_word, UINT64_MAX, s->rest, 1);
	if (s->w->records.joined || s->bits > 64)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		s->low[i] = gs_append_bits(s->high[i], s->low[i], orders->bits);
	s->high = NULL;
}

/* Returns bits of a key, from a place on. */
static inline uint64_t
key_bits(const part_sort *s, uint32_t i, uint32_t from, uint32_t bits)
{
	uint32_t orders = s->w->records.orders.bits;
	gs_unsigned_wide key = s->low[i];

	if (s->high != NULL)
		key |= (gs_unsigned_wide) s->high[i] << orders;
	return (uint64_t) (key >> from) & gs_mask(bits);
}

/* Sorts by some bits, after those below them. */
static gs_status
sort_bits(part_sort *s, gs_sorter *sorter, uint32_t from, uint32_t bits)
{
	uint32_t *swap = s->places;

	if (s->high == NULL && from == 0)
		for (uint32_t i = 0; i < s->n; i++)
			s->words[i] = (s->low[i] & gs_mask(bits)) << s->place_bits | i;
	else
		for (uint32_t i = 0; i < s->n; i++)
			s->words[i] = key_bits(s, from == 0 ? i : s->places[i], from, bits) << s->place_bits | i;
	GS_TRY(gs_sort_words(sorter, &s->words, &s->other, s->n, s->place_bits, s->place_bits + bits, true));
	for (uint32_t i = 0; i < s->n; i++)
		s->more[i] = (uint32_t) (s->words[i] & gs_mask(s->place_bits));
	for (uint32_t i = 0; i < s->n && from > 0; i++)
		s->more[i] = s->places[s->more[i]];
	s->places = s->more;
	s->more = swap;
	return gs_work_add(&s->cpu->work, (uint64_t) s->n * 4);
}

/* Sorts by all bits. */
static gs_status
sort_keys(part_sort *s)
{
	gs_sorter sorter = {.work = &s->cpu->work, .tuning = &s->cpu->tuning};
	uint32_t most = 64 - s->place_bits;

	if (gs_sorter_bytes(s->n, &s->cpu->tuning) > 0)
	{
		GS_TRY(gs_block_reserve(&s->k->work, &s->k->scratch, gs_sorter_bytes(s->n, &s->cpu->tuning)));
		sorter.scratch = s->k->scratch.data;
	}
	if (s->w->records.single)
	{
		GS_TRY(gs_sort_words(&sorter, &s->words, &s->other, s->n, s->place_bits, s->place_bits + s->bits, true));
		return gs_work_add(&s->cpu->work, s->n);
	}
	for (uint32_t from = 0; from < s->bits || from == 0; from += most)
		GS_TRY(sort_bits(s, &sorter, from, s->bits - from < most ? s->bits - from : most));
	return GS_OK;
}

/* Marks where partitions and peers begin. */
static void
mark(const part_sort *s, uint8_t *marks, bool first)
{
	const uint32_t shift = s->place_bits, all = s->order_bits, orders = s->w->records.orders.bits;

	marks[0] = (uint8_t) (GS_MARK_PEERS | (first ? GS_MARK_PARTITION : 0));
	if (s->bits + shift <= 64)
		gs_group_loops_choose(s->cpu->tuning.vector)
			->mark(s->words, s->n, ~gs_mask(all + shift < 64 ? all + shift : 64), ~gs_mask(shift), marks);
	else
		for (uint32_t i = 1; i < s->n; i++)
		{
			uint32_t a = s->places[i], b = s->places[i - 1];
			gs_unsigned_wide differ = s->low[a] ^ s->low[b];

			if (s->high != NULL)
				differ |= (gs_unsigned_wide) (s->high[a] ^ s->high[b]) << orders;
			marks[i] = (uint8_t) ((differ >> all != 0) * GS_MARK_PARTITION | (differ != 0) * GS_MARK_PEERS);
		}
}

/* Returns the rest of the orders of a record. */
static inline uint64_t
rest_of(const part_sort *s, uint32_t place)
{
	return s->rest[place] >> s->rest_shift;
}

/* Puts n places in the order of the rest, each stretch of SHORT by insertion. */
static void
insert(const part_sort *s, uint32_t *places, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t place = places[i], k = i;

		for (; k % SHORT > 0 && rest_of(s, places[k - 1]) > rest_of(s, place); k--)
			places[k] = places[k - 1];
		places[k] = place;
	}
}

/* Merges places [0, middle) and [middle, n). */
static void
merge(const part_sort *s, const uint32_t *from, uint32_t middle, uint32_t n, uint32_t *to)
{
	uint32_t a = 0, b = middle;

	for (uint32_t i = 0; i < n; i++)
		to[i] = b == n || (a < middle && rest_of(s, from[a]) <= rest_of(s, from[b])) ? from[a++] : from[b++];
}

/* Puts the rows [from, to), which are equal by their keys, in the order of the rest, and marks peers among them. */
static gs_status
order_equal(const part_sort *s, uint32_t from, uint32_t to, uint8_t *marks)
{
	uint32_t *places = s->places + from, *other = s->more + from, n = to - from;

	insert(s, places, n);
	for (uint64_t width = SHORT; width < n; width *= 2)
	{
		uint32_t *swap = places;

		for (uint64_t i = 0; i < n; i += 2 * width)
			merge(s, places + i, (uint32_t) (i + width < n ? width : n - i),
				  (uint32_t) (i + 2 * width < n ? 2 * width : n - i), other + i);
		places = other;
		other = swap;
		GS_TRY(gs_work_add(&s->cpu->work, (uint64_t) n * 4));
	}
	if (places != s->places + from)
		memcpy(s->places + from, places, n * sizeof(*places));
	for (uint32_t i = from + 1; i < to; i++)
		marks[i] |= rest_of(s, s->places[i]) != rest_of(s, s->places[i - 1]) ? GS_MARK_PEERS : 0;
	return GS_OK;
}

/* Puts all rows that are equal by their keys in the order of the rest. */
static gs_status
order_all_equal(const part_sort *s, uint8_t *marks)
{
	for (uint32_t from = 0, to; from < s->n; from = to)
	{
		for (to = from + 1; to < s->n && marks[to] == 0;)
			to++;
		if (to - from > 1)
			GS_TRY(order_equal(s, from, to, marks));
	}
	return GS_OK;
}

/* Puts values, which came as words or pairs of them, in order. */
static void
put_column(part_sort *s, const gs_window_column *c, char *to)
{
	const uint32_t *places = s->places;
	uint32_t n = s->n, width = gs_width_of(c->type);

	load_word(s, c->word, UINT64_MAX, (uint64_t *) s->column, width == 16 ? 2 : 1);
	if (width == 16)
	{
		load_word(s, c->word + 1, UINT64_MAX, (uint64_t *) s->column + 1, 2);
		for (uint32_t i = 0; i < n; i++)
			memcpy(to + (size_t) i * 16, s->column + (size_t) places[i] * 16, 16);
		return;
	}
#define PUT(TYPE)                                                                                                      \
	for (uint32_t i = 0; i < n; i++)                                                                                   \
	((TYPE *) to)[i] = (TYPE) ((const uint64_t *) s->column)[places[i]]
	GS_BY_WIDTH(width, PUT)
#undef PUT
}

/* Where the parts of a packed key are, in order: (words[i] >> shift & mask) | above. */
typedef struct told
{
	const uint64_t *words;
	uint32_t shift;
	uint64_t mask, above;
} told;

/* Returns what the number of the part tells of bits, from a place of the joined key on. */
static uint64_t
bits_above(const part_sort *s, uint32_t from, uint32_t bits)
{
	gs_unsigned_wide key = s->bits < 128 ? (gs_unsigned_wide) s->part << s->bits : 0;

	return from < 128 ? (uint64_t) (key >> from) & gs_mask(bits) : 0;
}

/* Computes the keys of the orders, or of the partition, in order, of records of several words. */
static const uint64_t *
keys_by_places(const part_sort *s, bool order)
{
	const uint64_t *from = order || s->w->records.joined ? s->low : s->partitions;
	uint32_t low = order || !s->w->records.joined ? 0 : s->w->records.orders.bits;
	uint64_t *to = (uint64_t *) s->column;

	if (s->w->records.joined && s->bits + s->place_bits <= 64)
	{
		uint64_t above = s->bits < 64 ? (uint64_t) s->part << s->bits : 0;

		for (uint32_t i = 0; i < s->n; i++)
			to[i] = above | s->words[i] >> s->place_bits;
	}
	else
		for (uint32_t i = 0; i < s->n; i++)
			to[i] = from[s->places[i]];
	for (uint32_t i = 0; i < s->n; i++)
		to[i] = low < 64 ? to[i] >> low : 0;
	return to;
}

/* Computes the keys of the partition, in order, of single records. */
static const uint64_t *
partitions_of_words(const part_sort *s)
{
	uint32_t orders = s->w->records.orders.bits, below = s->place_bits + orders;
	uint64_t above = bits_above(s, orders, s->w->head.keys.bits), *to = (uint64_t *) s->column;

	for (uint32_t i = 0; i < s->n; i++)
		to[i] = above | (below < 64 ? s->words[i] >> below : 0);
	return to;
}

/* Finds the parts of a packed key. */
static told
find_told(const part_sort *s, const gs_window_column *c)
{
	const gs_window_records *r = &s->w->records;
	const gs_packed_key *key = c->key;
	told t = {.shift = key->bits > 0 ? key->shift : 0, .mask = gs_mask(key->bits)};

	if (c->source == GS_TOLD_BY_PARTITION)
	{
		const gs_cpu_groups *g = s->w->scatter;
		const uint64_t *keys = r->single ? partitions_of_words(s) : keys_by_places(s, false);
		uint64_t *to = (uint64_t *) s->column;

		for (uint32_t i = 0; i < s->n; i++)
			to[i] = keys[i] * g->inverse & g->mask;
		t.words = to;
		return t;
	}
	if (!r->single && c->source == GS_TOLD_BY_VALUES)
	{
		uint64_t *to = (uint64_t *) s->column;

		for (uint32_t i = 0; i < s->n; i++)
			to[i] = s->rest[s->places[i]];
		t.words = to;
		return t;
	}
	t.words = r->single ? s->words : keys_by_places(s, true);
	if (r->single && c->source == GS_TOLD_BY_ORDERS)
	{
		uint32_t there = s->bits > t.shift ? s->bits - t.shift : 0;

		t.above = bits_above(s, t.shift, key->bits);
		t.mask &= gs_mask(there);
		t.shift = there > 0 ? t.shift + s->place_bits : 0;
	}
	return t;
}

/* Computes the values that a part of a key tells. */
static void
put_key(const part_sort *s, const gs_window_column *c, char *to, uint8_t *nulls)
{
	const gs_packed_key *key = c->key;
	const told t = find_told(s, c);
	/* a descending part is what is missing to the greatest value */
	const uint64_t apart = key->descending ? 0 - key->apart : key->apart;
	const gs_unsigned_wide least = (gs_unsigned_wide) key->low;
	const gs_unsigned_wide greatest = least + ((gs_unsigned_wide) key->span + key->bump) * key->apart;
	const gs_unsigned_wide low = key->descending ? greatest : least - key->bump * key->apart;

#define PART(I) ((t.words[I] >> t.shift & t.mask) | t.above)
#define PUT(TYPE)                                                                                                      \
	for (uint32_t i = 0; i < s->n; i++)                                                                                \
	((TYPE *) to)[i] = (TYPE) ((uint64_t) low + PART(i) * apart)
	if (gs_width_of(c->type) == 16)
		for (uint32_t i = 0; i < s->n; i++)
			((gs_held_wide *) to)[i] = (gs_wide) (key->descending ? low - PART(i) : low + PART(i));
	else
		GS_BY_WIDTH(gs_width_of(c->type), PUT)
#undef PUT
	for (uint32_t i = 0; i < s->n && nulls != NULL; i++)
		nulls[i] = PART(i) == key->null_code;
#undef PART
}

/* Puts the bits of NULLs in order. */
static void
put_nulls(part_sort *s, const gs_ordered *to, uint64_t at)
{
	const gs_window_records *r = &s->w->records;
	const uint64_t *bits = (const uint64_t *) s->column;
	uint32_t bit = r->nnulls;

	load_word(s, r->nulls_word, UINT64_MAX, (uint64_t *) s->column, 1);
	for (uint32_t c = 0; c < r->ncolumns; c++)
	{
		uint8_t *nulls = to->nulls[r->columns[c].column];

		if (!r->columns[c].bit)
			continue;
		bit--;
		for (uint32_t i = 0; i < s->n; i++)
			nulls[at + i] = bits[s->places[i]] >> bit & 1;
	}
}

gs_status
gs_window_sort(gs_cpu_windows *w, gs_window_worker *k, gs_cpu_engine *cpu, uint32_t part, const gs_ordered *to,
			   uint64_t at, bool first)
{
	part_sort s = {.w = w, .k = k, .cpu = cpu, .part = part};

	s.n = (uint32_t) (w->starts[part + 1] - w->starts[part]);
	if (s.n == 0)
		return GS_OK;
	GS_TRY(begin(&s));
	gs_records_flush(w->scatter, 0, part);
	load_keys(&s);
	GS_TRY(sort_keys(&s));
	mark(&s, to->marks + at, first);
	if (w->records.rest.n > 0)
		GS_TRY(order_all_equal(&s, to->marks + at));
	for (uint32_t i = 0; i < w->records.ncolumns; i++)
	{
		const gs_window_column *c = &w->records.columns[i];

		char *values = to->values[c->column] + at * gs_width_of(c->type);

		if (c->key != NULL)
			put_key(&s, c, values, c->nulls ? to->nulls[c->column] + at : NULL);
		else
			put_column(&s, c, values);
		GS_TRY(gs_work_add(&cpu->work, (uint64_t) s.n * 2));
	}
	if (w->records.nnulls > 0)
		put_nulls(&s, to, at);
	return GS_OK;
}
