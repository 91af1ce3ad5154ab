/*
 * places_rows.c: the rows of a list with ROWS, block by block: their places are added, their packed keys counted, or
 * those of the window taken.
 */
#include "places.h"

#include "select.h"

/* A block's work. */
typedef struct job
{
	gs_places *p;
	gs_place_worker *w;
	uint32_t segment;
	gs_rows_block block;
	uint64_t keys[GS_STEP_ROWS];
	uint32_t at[GS_STEP_ROWS + 64]; /* row numbers */
} job;

/* Begins a worker's work, by its engine. */
static gs_status
begin_worker(const gs_places *p, gs_place_worker *w, gs_engine *engine)
{
	const gs_cpu_engine *cpu = (const gs_cpu_engine *) engine;
	size_t bytes = 2 * (GS_PLACE_BUCKETS + 1) * sizeof(uint32_t);

	if (w->begun)
		return GS_OK;
	w->begun = true;
	w->work = (gs_work){engine->host, 0};
	w->loops = gs_group_loops_choose(cpu->tuning.vector);
	GS_TRY(gs_make_plan(&w->work, cpu, p->head.steps, &w->plan, &w->memory));
	GS_TRY(gs_block_reserve(&w->work, &w->counts, bytes));
	memset(w->counts.data, 0, bytes);
	return GS_OK;
}

/* Makes room for n more rows. */
static gs_status
make_room(gs_place_worker *w, bool keys, uint32_t n)
{
	if (keys)
		GS_TRY(gs_block_reserve(&w->work, &w->keys, (w->n + n) * sizeof(uint64_t)));
	return gs_block_reserve(&w->work, &w->places, (w->n + n) * sizeof(gs_row));
}

/* Finds the numbers of a mask's rows. */
static void
number_rows(job *j, const uint64_t *mask)
{
	uint32_t *to = j->at, first = (uint32_t) j->block.first;

	for (uint32_t w = 0; w * 64 < j->block.n; w++)
		if (mask != NULL)
			to += j->w->plan.select->positions(to, first + w * 64, mask[w]);
		else
			for (uint32_t i = 0; i < 64; i++)
				*to++ = first + w * 64 + i;
}

/* Returns the sum of a mask's row numbers, bit by bit. */
static uint64_t
sum_of_mask(const gs_rows_block *b, const uint64_t *mask)
{
	uint64_t sum = 0;

	if (mask == NULL)
		return b->n * b->first + (uint64_t) b->n * (b->n - 1) / 2;
	for (uint32_t w = 0; w * 64 < b->n; w++)
		for (uint64_t bits = mask[w]; bits != 0; bits &= bits - 1)
			sum += b->first + w * 64 + (uint32_t) __builtin_ctzll(bits);
	return sum;
}

/* Returns true if n places are those of a mask's rows, as far as their sum tells. */
static bool
places_agree(const gs_rows_block *b, const uint64_t *mask, const gs_row *places, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += places[i].row;
	return sum == sum_of_mask(b, mask);
}

/* Adds the places of n rows. */
static gs_status
add_places(job *j, const uint64_t *mask, uint32_t n)
{
	gs_row *to;

	if (__atomic_add_fetch(&j->p->kept, n, __ATOMIC_RELAXED) > GS_GROUPS_MOST_BYTES / sizeof(gs_row))
		return GS_TOO_BIG;
	GS_TRY(make_room(j->w, false, n));
	number_rows(j, mask);
	to = (gs_row *) j->w->places.data + j->w->n;
	for (uint32_t i = 0; i < n; i++)
		to[i] = (gs_row){j->segment, j->at[i]};
	j->w->n += n;
	return places_agree(&j->block, mask, to, n) ? GS_OK : GS_WRONG_ORDER;
}

/* Returns the bucket of a key. */
static inline uint32_t
bucket_of(const gs_places *p, uint64_t key)
{
	uint64_t x = key - p->low;

	return x <= p->span ? (uint32_t) (x >> p->shift) : GS_PLACE_BUCKETS;
}

/* Counts the keys of n rows by two tables: keys that follow each other are often in one bucket. */
static void
count_keys(job *j, uint32_t n)
{
	uint32_t *even = j->w->counts.data, *odd = even + GS_PLACE_BUCKETS + 1, i = 0;
	const gs_places p = {.low = j->p->low, .span = j->p->span, .shift = j->p->shift};

	for (; i + 1 < n; i += 2)
	{
		even[bucket_of(&p, j->keys[i])]++;
		odd[bucket_of(&p, j->keys[i + 1])]++;
	}
	if (i < n)
		even[bucket_of(&p, j->keys[i])]++;
}

/* Takes those rows of a group of 64 that bits tell, as far as the quotas go. */
static void
take_rows(job *j, uint32_t group, uint64_t bits)
{
	gs_place_worker *w = j->w;
	uint64_t *keys = w->keys.data;
	gs_row *places = w->places.data;

	for (; bits != 0; bits &= bits - 1)
	{
		uint32_t i = group * 64 + (uint32_t) __builtin_ctzll(bits);
		uint64_t key = j->keys[i] - j->p->low;
		int end = key == 0 ? GS_PLACE_LOW : key == j->p->span ? GS_PLACE_HIGH : GS_PLACE_BETWEEN;

		if (w->seen[end]++ >= j->p->quotas[end])
			continue;
		keys[w->n] = key;
		places[w->n++] = (gs_row){j->segment, j->at[i]};
	}
}

/* Finds the part of the window whose rows are still taken.  Returns false if there is none. */
static bool
window_left(const job *j, gs_select_rule *rule)
{
	bool low = j->w->seen[GS_PLACE_LOW] >= j->p->quotas[GS_PLACE_LOW];
	bool high = j->w->seen[GS_PLACE_HIGH] >= j->p->quotas[GS_PLACE_HIGH];

	*rule = (gs_select_rule){.low = j->p->low + low, .span = j->p->span - low - high};
	return j->p->span >= (uint64_t) low + high;
}

/* Takes the rows of the window, of n that a mask tells. */
static gs_status
take_keys(job *j, const uint64_t *mask, uint32_t n)
{
	gs_select_rule rule;
	bool numbered = false;

	if (!window_left(j, &rule))
		return GS_OK;
	for (uint32_t w = 0; w * 64 < n; w++)
	{
		uint64_t bits = j->w->plan.select->range[3](j->keys + w * 64, &rule);

		bits &= gs_mask(n - w * 64 < 64 ? n - w * 64 : 64);
		if (bits == 0)
			continue;
		if (!numbered)
			number_rows(j, mask);
		numbered = true;
		GS_TRY(make_room(j->w, true, 64));
		take_rows(j, w, bits);
	}
	return GS_OK;
}

/* Does a block. */
static gs_status
do_block(job *j)
{
	const gs_places *p = j->p;
	gs_rows_block *b = &j->block;
	gs_steps_plan *plan = &j->w->plan;
	uint64_t mask[GS_STEP_WORDS];

	b->passed = b->n;
	if (plan->nterms > 0)
	{
		b->passed = gs_steps_mask(plan, plan->terms, plan->nterms, b->columns, b->first, b->n, mask);
		b->mask = b->passed == b->n ? NULL : mask;
	}
	if (b->passed == 0)
		return GS_OK;
	if (p->now == GS_PLACES_ALL)
		return add_places(j, b->mask, b->passed);
	if (!gs_pack_keys(&p->head.keys, j->w->loops, plan, b, b->mask, b->passed, j->keys))
		return GS_INVALID;
	if (p->now == GS_PLACES_TAKE)
		return take_keys(j, b->mask, b->passed);
	count_keys(j, b->passed);
	return GS_OK;
}

/* Does spans of a call's rows. */
static gs_status
do_spans(gs_places *p, gs_place_worker *w, gs_engine *engine, const gs_held *columns, const gs_span *spans,
		 uint64_t nspans)
{
	uint32_t ncolumns = p->head.steps->ncolumns, work = w->plan.nterms + p->head.keys.n + 1;
	job j = {.p = p, .w = w};

	for (uint64_t i = 0; i < nspans; i++)
	{
		const gs_span *span = &spans[i];
		const gs_held *held = &columns[(uint64_t) span->segment * ncolumns];

		if (!gs_nulls_known(&w->plan, p->head.ranges, span, held))
			return GS_INVALID;
		j.segment = span->segment;
		for (uint32_t done = 0; done < span->rows; done += GS_STEP_ROWS)
		{
			uint32_t n = span->rows - done < GS_STEP_ROWS ? span->rows - done : GS_STEP_ROWS;

			j.block = (gs_rows_block){.columns = held, .first = (uint64_t) span->first + done, .n = n};
			GS_TRY(do_block(&j));
			GS_TRY(gs_work_add(&((gs_cpu_engine *) engine)->work, (uint64_t) n * work));
		}
	}
	return GS_OK;
}

/* Keeps a call's spans for the rounds that follow. */
static gs_status
keep_unit(gs_place_worker *w, const gs_held_rows *rows)
{
	gs_place_unit unit = {rows->columns, w->nspans, rows->nspans};

	GS_TRY(gs_block_reserve(&w->work, &w->units, (w->nunits + 1) * sizeof(unit)));
	GS_TRY(gs_block_reserve(&w->work, &w->spans, (w->nspans + rows->nspans) * sizeof(gs_span)));
	((gs_place_unit *) w->units.data)[w->nunits++] = unit;
	memcpy((gs_span *) w->spans.data + w->nspans, rows->spans, rows->nspans * sizeof(gs_span));
	w->nspans += rows->nspans;
	return GS_OK;
}

/* Implements gs_groups_rows. */
gs_status
gs_cpu_places_rows(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	gs_places *p = (gs_places *) groups;
	gs_place_worker *w = &p->workers[worker];

	GS_TRY(begin_worker(p, w, engine));
	if (rows->nspans == 0)
		return GS_OK;
	if (p->now != GS_PLACES_ALL)
		GS_TRY(keep_unit(w, rows));
	return do_spans(p, w, engine, rows->columns, rows->spans, rows->nspans);
}

/* Implements gs_groups_part: a part is what a call of gs_groups_rows told. */
gs_status
gs_cpu_places_part(gs_groups *groups, uint32_t worker, gs_engine *engine, uint32_t part)
{
	gs_places *p = (gs_places *) groups;
	const gs_place_worker *of = p->workers;
	const gs_place_unit *unit;

	GS_TRY(begin_worker(p, &p->workers[worker], engine));
	for (; part >= of->nunits; of++)
		part -= of->nunits;
	unit = (const gs_place_unit *) of->units.data + part;
	return do_spans(p, &p->workers[worker], engine, unit->columns, (const gs_span *) of->spans.data + unit->first,
					unit->n);
}
