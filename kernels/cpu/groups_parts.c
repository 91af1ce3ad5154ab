/*
 * groups_parts.c: a part of the groups: its keys become slots, its streams' records are added to a tally or put side by
 * side, and each slot becomes a group of the worker's list.
 */
#include "groups.h"

/*
 * Slots for each record of a part, up to which they are the keys' bits, not looked up.  Measured with a sum, 3 M rows,
 * one thread, processor time of all in ms, by bits and by a table: 10^5 keys of 10^5 27 and 36; 10^6 36 and 52; 10^7
 * 72 and 87; 10^8 87 and 83, uneven ones 77 and 80.  Sparse keys have the table: 44 for 10^3, 56 for 10^6.
 */
#define DENSE_ROWS 8
#define FEW_PLACES 1024
#define GS_NO_SLOT UINT32_MAX

/* A part's work. */
typedef struct part_job
{
	gs_cpu_groups *g;
	gs_group_worker *w;
	gs_cpu_engine *cpu;
	uint32_t part;
	bool dense;		/* the key's lower bits are the slot */
	uint32_t nslots;
	uint32_t *table; /* slots by the keys' bits below the part's, of places that follow where one is taken */
	uint32_t places_log;
	uint64_t *keys; /* of slots, without the part */
	uint64_t *wide; /* of slots, a wide key's words */
	gs_tally tally;
	gs_reduced *answers; /* of aggregates that need all values: for each slot */
} part_job;

uint64_t
gs_records_count(const gs_cpu_groups *g, size_t part)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < g->head.workers; i++)
	{
		const gs_group_worker *w = &g->workers[i];

		const gs_records *last = w->has_rows ? w->last[part] : NULL;

		n += last != NULL ? last->before + gs_records_number(w, part, last) : 0;
	}
	return n;
}

/* Returns the number of a part's records in a stream. */
static uint64_t
records_of(const part_job *j, uint32_t stream)
{
	return gs_records_count(j->g, ((size_t) stream << j->g->part_bits) + j->part);
}

/* A piece of a part's records. */
typedef struct piece
{
	const uint64_t *words[GS_RECORD_WORDS + 1]; /* of the records, and NULL; keys are first */
	uint32_t n;
	const gs_records *next; /* or this one */
} piece;

typedef gs_status (*piece_function)(part_job *j, uint32_t stream, const piece *p);

/* Calls a function for each piece of a part's records, which are unpacked. */
static gs_status
for_pieces(part_job *j, uint32_t stream, piece_function call)
{
	const gs_stream *s = &j->g->streams[stream];
	uint64_t low = s->packed && !s->whole ? (uint64_t) j->g->values[s->first].low : 0;
	uint64_t keys[GS_MOST_ROOM], values[GS_MOST_ROOM];
	piece p = {.words = {keys, values}};
	size_t part = ((size_t) stream << j->g->part_bits) + j->part;

	for (uint32_t i = 0; i < j->g->head.workers; i++)
	{
		const gs_group_worker *w = &j->g->workers[i];

		for (const gs_records *r = w->has_rows ? w->last[part] : NULL; r != NULL; r = r->next)
		{
			p.n = gs_records_number(w, part, r);
			p.next = r->next != NULL ? r->next : r;
			if (s->packed)
				j->w->loops->unpack(r->words, p.n, s->value_bits, gs_mask(j->g->slot_bits), low, keys, values);
			for (uint32_t k = 0; k < s->words && !s->packed; k++)
				p.words[k] = r->words + (size_t) k * r->room;
			GS_TRY(call(j, stream, &p));
			GS_TRY(gs_work_add(&j->cpu->work, (uint64_t) p.n * (2 + s->words)));
		}
	}
	return GS_OK;
}

/* ---------------------------------------------------------------- slots */

/* Returns the first place in the table where a key may be. */
static inline uint32_t
first_place(const part_job *j, uint64_t key)
{
	uint32_t bits = j->g->slot_bits;

	return (uint32_t) (bits >= j->places_log ? key >> (bits - j->places_log) : key) & (uint32_t) gs_mask(j->places_log);
}

/* Returns true if a record has a slot's wide key. */
static bool
is_wide_key(const part_job *j, uint32_t slot, const piece *p, uint32_t i)
{
	uint32_t words = j->g->head.keys.words;

	for (uint32_t k = 0; k < words; k++)
		if (j->wide[(size_t) slot * words + k] != p->words[1 + k][i])
			return false;
	return true;
}

/* Returns the place of a record's key in the table where it is, or would be. */
static inline __attribute__((always_inline)) uint32_t
place_of(const part_job *j, uint64_t key, bool wide, const piece *p, uint32_t i)
{
	uint32_t mask = (uint32_t) gs_mask(j->places_log), at = first_place(j, key);

	while (j->table[at] != GS_NO_SLOT &&
		   (j->keys[j->table[at]] != key || (wide && !is_wide_key(j, j->table[at], p, i))))
		at = (at + 1) & mask;
	return at;
}

/* Enters a slot into the table, where its key is not. */
static void
enter(part_job *j, uint32_t slot)
{
	uint32_t mask = (uint32_t) gs_mask(j->places_log), at = first_place(j, j->keys[slot]);

	while (j->table[at] != GS_NO_SLOT)
		at = (at + 1) & mask;
	j->table[at] = slot;
}

/* Makes the table larger. */
static gs_status
grow(part_job *j)
{
	uint32_t log = j->places_log == 0 ? (uint32_t) gs_bits(FEW_PLACES - 1) : j->places_log + 1;
	size_t places = (size_t) 1 << log, slots = places / 2 + GS_STEP_ROWS;
	size_t wide = slots * j->g->head.keys.words * sizeof(uint64_t);

	GS_TRY(gs_block_reserve(&j->w->work, &j->w->table, places * sizeof(uint32_t)));
	GS_TRY(gs_block_reserve(&j->w->work, &j->w->keys, slots * sizeof(uint64_t)));
	if (wide > 0)
		GS_TRY(gs_block_reserve(&j->w->work, &j->w->wide_keys, wide));
	j->table = j->w->table.data;
	j->keys = j->w->keys.data;
	j->wide = j->w->wide_keys.data;
	j->places_log = log;
	memset(j->table, 0xff, places * sizeof(uint32_t));
	for (uint32_t i = 0; i < j->nslots; i++)
		enter(j, i);
	return GS_OK;
}

/* Gives keys slots. */
static inline __attribute__((always_inline)) gs_status
add_keys_of(part_job *j, bool wide, const piece *p)
{
	uint32_t words = wide ? j->g->head.keys.words : 0;

	while (j->places_log == 0 || j->nslots + p->n > (uint32_t) 1 << j->places_log >> 1)
		GS_TRY(grow(j));
	for (uint32_t i = 0; i < p->n; i++)
	{
		uint64_t key = p->words[0][i] & gs_mask(j->g->slot_bits);
		uint32_t at = place_of(j, key, wide, p, i);

		if (j->table[at] != GS_NO_SLOT)
			continue;
		j->keys[j->nslots] = key;
		for (uint32_t k = 0; k < words; k++)
			j->wide[(size_t) j->nslots * words + k] = p->words[1 + k][i];
		j->table[at] = j->nslots++;
	}
	return GS_OK;
}

/* Gives the keys of a piece slots. */
static gs_status
add_keys(part_job *j, uint32_t stream, const piece *p)
{
	(void) stream;
	return j->g->head.keys.words > 0 ? add_keys_of(j, true, p) : add_keys_of(j, false, p);
}

/* Finds the slots of keys. */
static void
find_slots(const part_job *j, const piece *p, uint32_t *slots)
{
	uint64_t mask = gs_mask(j->g->slot_bits);
	const uint64_t *keys = p->words[0];
	uint32_t n = p->n;

	if (j->dense)
		for (uint32_t i = 0; i < n; i++)
			slots[i] = (uint32_t) keys[i] & (uint32_t) mask;
	else if (j->g->head.keys.words == 0)
		for (uint32_t i = 0; i < n; i++)
			slots[i] = j->table[place_of(j, keys[i] & mask, false, p, i)];
	else
		for (uint32_t i = 0; i < n; i++)
			slots[i] = j->table[place_of(j, keys[i] & mask, true, p, i)];
}

/* Makes slots of the part's keys. */
static gs_status
make_slots(part_job *j)
{
	uint32_t bits = j->g->slot_bits;

	j->dense = bits < 31 && (uint64_t) 1 << bits <= DENSE_ROWS * records_of(j, 0) + FEW_PLACES;
	j->nslots = j->dense ? (uint32_t) 1 << bits : 0;
	return j->dense ? GS_OK : for_pieces(j, 0, add_keys);
}

/* ---------------------------------------------------------------- streams */

/* Adds records to the tally. */
static gs_status
add_records(part_job *j, uint32_t stream, const piece *p)
{
	const gs_stream *s = &j->g->streams[stream];
	gs_ahead ahead = {(const char *) p->next->words, sizeof(uint64_t)};
	uint32_t slots[GS_STEP_ROWS];
	bool good = true;

	find_slots(j, p, slots);
	gs_tally_count(&j->tally, stream, slots, p->n, ahead);
	for (uint32_t v = s->first; v != GS_NO_VALUE; v = j->g->values[v].next)
	{
		uint32_t word = j->g->values[v].word;

		ahead.at = (const char *) (p->next->words + (s->packed ? 0 : (size_t) word * p->next->room));
		good &= gs_tally_value(j->g, &j->tally, v, slots, p->words[word], p->words[word + 1], 1, p->n, ahead);
	}
	return good ? GS_OK : GS_OVERFLOW;
}

/* Counts the records of slots, each in the place of the next one. */
static gs_status
count_records(part_job *j, uint32_t stream, const piece *p)
{
	uint32_t slots[GS_STEP_ROWS], *begins = j->w->slots.data;

	(void) stream;
	find_slots(j, p, slots);
	for (uint32_t i = 0; i < p->n; i++)
		begins[slots[i] + 1]++;
	return GS_OK;
}

/* Puts the values of slots side by side; begins become ends. */
static gs_status
put_values(part_job *j, uint32_t stream, const piece *p)
{
	uint32_t slots[GS_STEP_ROWS], *begins = j->w->slots.data;
	const gs_stream_value *v = &j->g->values[j->g->streams[stream].first];
	const uint64_t *low = p->words[v->word], *high = p->words[v->word + 1];

	find_slots(j, p, slots);
	if (gs_value_wide(v))
		for (uint32_t i = 0; i < p->n; i++)
			((gs_wide *) j->w->values.data)[begins[slots[i]]++] = gs_wide_of(low[i], high[i]);
	else
		for (uint32_t i = 0; i < p->n; i++)
			((uint64_t *) j->w->values.data)[begins[slots[i]]++] = low[i];
	return GS_OK;
}

/* Answers the aggregates of a stream that need all values of a slot. */
static gs_status
answer_whole(part_job *j, uint32_t stream)
{
	const gs_stream_value *v = &j->g->values[j->g->streams[stream].first];
	uint64_t records = records_of(j, stream);
	size_t bytes = ((size_t) j->nslots + 1) * sizeof(uint32_t);
	uint32_t *ends, begin = 0;

	GS_TRY(gs_block_reserve(&j->w->work, &j->w->slots, bytes));
	GS_TRY(gs_block_reserve(&j->w->work, &j->w->values, (records + 1) * v->words * sizeof(uint64_t)));
	ends = memset(j->w->slots.data, 0, bytes);
	GS_TRY(for_pieces(j, stream, count_records));
	for (uint32_t i = 0; i < j->nslots; i++)
		ends[i + 1] += ends[i];
	GS_TRY(for_pieces(j, stream, put_values));
	for (uint32_t i = 0; i < j->nslots; begin = ends[i++])
		GS_TRY(gs_whole_answer(j->g, j->w, j->cpu, stream,
							   (uint64_t *) j->w->values.data + (size_t) begin * v->words, ends[i] - begin,
							   j->answers + (size_t) i * j->g->nwhole));
	return GS_OK;
}

/* ---------------------------------------------------------------- groups */

/* Returns a member of the group of a slot: a key, or behind these an aggregate. */
static gs_reduced
make_member(const gs_cpu_groups *g, const gs_tally *tally, const gs_reduced *answers, const uint64_t *key,
			uint32_t slot, uint32_t member)
{
	const gs_packed_keys *keys = &g->head.keys;
	const gs_answer_plan *a;
	gs_reduced r;

	if (member >= keys->n)
	{
		a = &g->answers[member - keys->n];
		return g->streams[a->stream].whole ? answers[(size_t) slot * g->nwhole + a->whole]
										   : gs_tally_answer(g, tally, a, slot);
	}
	r = keys->words > 0 ? gs_wide_key_value(&keys->keys[member], key)
						: gs_packed_key_value(&keys->keys[member], *key * g->inverse & g->mask);
	if (keys->keys[member].zeros && r.count > 0 && r.value[0] << 1 == 0)
		r = gs_tally_answer(g, tally, &g->answers[g->hidden_answer[member]], slot);
	r.count = r.count > 0;
	return r;
}

gs_status
gs_add_group(const gs_cpu_groups *g, gs_group_list *list, const gs_tally *tally, const gs_reduced *answers,
			 const uint64_t *key, uint32_t slot)
{
	gs_reduced group[GS_MOST_VALUES];
	const uint32_t members = g->head.keys.n + g->plan.group->naggregates;

	for (uint32_t t = 0; list->having != NULL && t < list->having->nterms; t++)
	{
		uint32_t member = list->having->terms[t].column;

		group[member] = make_member(g, tally, answers, key, slot, member);
	}
	if (!gs_having_passes(list->steps, list->having, list->kinds, group))
		return GS_OK;
	for (uint32_t m = 0; m < members; m++)
		group[m] = make_member(g, tally, answers, key, slot, m);
	return gs_group_list_put(list, group);
}

/* Returns the multiplied key of a slot. */
static uint64_t
key_of(const part_job *j, uint32_t slot)
{
	uint64_t lower = j->dense ? slot : j->keys[slot];

	return (j->g->slot_bits < 64 ? (uint64_t) j->part << j->g->slot_bits : 0) | lower;
}

/* Of TOP's first order, if it is of a sum or extreme of 64 bits: what the slots have, and the last of the list. */
typedef struct bar
{
	const int64_t *values;
	const uint32_t *counts;
	bool descending;
} bar;

/* Finds what TOP's first order is about. */
static bar
find_bar(const part_job *j)
{
	const gs_top_step *top = j->w->list.top;
	const gs_cpu_groups *g = j->g;
	const gs_answer_plan *a;
	bar b = {NULL, NULL, false};

	if (top == NULL || top->orders[0].member < g->head.keys.n)
		return b;
	a = &g->answers[top->orders[0].member - g->head.keys.n];
	if (a->tally == GS_NO_TALLY || g->tallies[a->tally].held != GS_I64)
		return b;
	return (bar){j->tally.values[a->tally], j->tally.counts[a->stream], top->orders[0].descending != 0};
}

/* Returns true if a slot's group comes behind the last of a full list.  NULL is left to the list. */
static bool
below_bar(const bar *b, const gs_group_list *list, uint32_t slot)
{
	const gs_reduced *last;

	if (b->values == NULL || list->n < list->top->limit || b->counts[slot] == 0)
		return false;
	last = &list->groups[list->top->orders[0].member];
	return last->count > 0 && (b->descending ? b->values[slot] < (int64_t) last->value[0]
											 : b->values[slot] > (int64_t) last->value[0]);
}

gs_status
gs_groups_keep(gs_cpu_groups *g, const gs_group_list *list, uint64_t more)
{
	uint64_t kept = __atomic_add_fetch(&g->kept, more, __ATOMIC_RELAXED);

	if (list->top == NULL && kept > GS_GROUPS_MOST_BYTES / (list->members * sizeof(gs_reduced)))
		return GS_TOO_BIG;
	return GS_OK;
}

/* Adds the part's groups to the worker's list.  Without keys there is one, even of no rows. */
static gs_status
add_groups(part_job *j)
{
	gs_group_list *list = &j->w->list;
	uint64_t before = list->n, key;
	uint32_t words = j->g->head.keys.words;
	bar b = find_bar(j);

	for (uint32_t i = 0; i < j->nslots; i++)
	{
		if ((j->tally.counts[0][i] == 0 && j->g->head.keys.n > 0) || below_bar(&b, list, i))
			continue;
		key = key_of(j, i);
		GS_TRY(gs_add_group(j->g, list, &j->tally, j->answers, words > 0 ? j->wide + (size_t) i * words : &key, i));
		GS_TRY(gs_work_add(&j->cpu->work, 8 * list->members));
	}
	return gs_groups_keep(j->g, list, list->n - before);
}

/* Implements gs_groups_part. */
gs_status
gs_cpu_groups_part(gs_groups *groups, uint32_t worker, gs_engine *engine, uint32_t part)
{
	gs_cpu_groups *g = (gs_cpu_groups *) groups;
	part_job j = {.g = g, .w = &g->workers[worker], .cpu = (gs_cpu_engine *) engine, .part = part};
	size_t answers;

	GS_TRY(gs_group_worker_begin(g, j.w, engine));
	if (g->few)
		return gs_few_part(g, j.w, j.cpu, part);
	for (uint32_t i = 0; i < g->nstreams; i++)
		gs_records_flush(g, i, part);
	GS_TRY(make_slots(&j));
	GS_TRY(gs_block_reserve(&j.w->work, &j.w->tally, gs_tally_make(g, &j.tally, j.nslots, NULL)));
	(void) gs_tally_make(g, &j.tally, j.nslots, j.w->tally.data);
	answers = (size_t) j.nslots * g->nwhole * sizeof(gs_reduced);
	GS_TRY(gs_block_reserve(&j.w->work, &j.w->answers, answers));
	j.answers = j.w->answers.data;
	for (uint32_t i = 0; i < g->nstreams; i++)
		GS_TRY(g->streams[i].whole ? answer_whole(&j, i) : for_pieces(&j, i, add_records));
	gs_totals_hold(j.w, g, &j.tally, j.nslots);
	return add_groups(&j);
}
