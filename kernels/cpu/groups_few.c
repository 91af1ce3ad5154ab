/*
 * groups_few.c: few groups: each worker has a tally of all, which are joined.  Aggregates that need all values have
 * bitmaps, where only different values are counted and the range is small, or cells of values (groups_cells.c).
 */
#include "groups.h"

#define MOST_TALLY_BYTES ((uint64_t) 256 << 10) /* of a worker, which fit the L2 cache */
#define MOST_BITMAP_BITS ((uint64_t) 1 << 25)	/* of a worker */
#define MOST_CELL_SLOTS	 9						/* bits of slots whose values have cells */
#define CELL_BITS		 14						/* of slots and cells: counts and places of these fit the L1 cache */
#define FEW_ROWS		 16384					/* fewer than these have one cell for each slot */
#define UNIT_WORDS		 1024					/* of a bitmap, counted at a time */

/* Returns true if a stream's values are only counted. */
static bool
only_distinct(const gs_cpu_groups *g, uint32_t stream)
{
	for (uint32_t i = 0; i < g->nanswers; i++)
		if (g->answers[i].stream == stream && g->answers[i].operation != GS_DISTINCT)
			return false;
	return true;
}

/* Returns true if a stream that needs all values at once is to have a bitmap. */
static bool
wants_bits(const gs_cpu_groups *g, uint32_t stream, uint32_t bits)
{
	const gs_stream_value *v = &g->values[g->streams[stream].first];

	return only_distinct(g, stream) && v->type != GS_F64 && v->span < MOST_BITMAP_BITS >> bits &&
		   v->span / 8 < g->head.rows;
}

/* Returns true if a stream that needs all values at once is to have pairs. */
static bool
wants_pairs(const gs_cpu_groups *g, uint32_t stream, uint32_t bits)
{
	return bits <= MOST_CELL_SLOTS && only_distinct(g, stream) &&
		   gs_pairs_fit(g, &g->values[g->streams[stream].first], bits);
}

/* Returns true if the groups are few for all streams. */
static bool
are_few(const gs_cpu_groups *g, uint32_t bits)
{
	gs_tally tally;

	if (bits > 16 || gs_tally_make(g, &tally, (uint32_t) 1 << bits, NULL) > MOST_TALLY_BYTES)
		return false;
	for (uint32_t i = 0; i < g->nstreams; i++)
		if (g->streams[i].whole && !wants_bits(g, i, bits) && !wants_pairs(g, i, bits) &&
			(g->head.passing || bits > MOST_CELL_SLOTS || gs_value_wide(&g->values[g->streams[i].first])))
			return false;
	return true;
}

void
gs_few_plan(gs_cpu_groups *g)
{
	uint32_t bits = g->head.keys.bits;

	g->few = are_few(g, bits);
	if (!g->few)
		return;
	g->factor = g->inverse = 1;
	g->mask = gs_mask(bits);
	g->slot_bits = bits;
	g->part_bits = 0;
	g->cell_bits = g->head.rows < FEW_ROWS || bits > MOST_CELL_SLOTS ? 0 : CELL_BITS - bits;
	for (uint32_t i = 0; i < g->nstreams; i++)
	{
		gs_stream *s = &g->streams[i];

		s->bits = s->whole && wants_bits(g, i, bits);
		s->bit_words = s->bits ? (uint64_t) g->values[s->first].span / 64 + 1 : 0;
		if (s->whole && !s->bits && wants_pairs(g, i, bits))
			gs_pairs_plan(g, s);
		else if (s->whole && !s->bits)
			gs_cells_plan(g, s);
	}
}

gs_status
gs_few_begin(gs_cpu_groups *g, gs_group_worker *w)
{
	size_t tally = gs_tally_make(g, &w->few, (uint32_t) 1 << g->slot_bits, NULL), words = 0;
	uint64_t *bitmap;

	for (uint32_t i = 0; i < g->nstreams; i++)
		words += (size_t) g->streams[i].bit_words << g->slot_bits;
	words += (size_t) g->ntables * gs_cells_number(g) / 2 + 1;
	GS_TRY(gs_block_reserve(&w->work, &w->few_memory, tally + words * sizeof(uint64_t)));
	(void) gs_tally_make(g, &w->few, (uint32_t) 1 << g->slot_bits, w->few_memory.data);
	bitmap = memset((char *) w->few_memory.data + tally, 0, words * sizeof(uint64_t));
	for (uint32_t i = 0; i < g->nstreams; i++)
	{
		w->bitmaps[i] = bitmap;
		bitmap += (size_t) g->streams[i].bit_words << g->slot_bits;
	}
	w->cells = (uint32_t *) bitmap;
	/* the parts of cells are not known yet, and workers that begin after the rows have no pairs */
	return g->round == 0 ? gs_few_cursors(g, w) : GS_OK;
}

gs_status
gs_few_cursors(const gs_cpu_groups *g, gs_group_worker *w)
{
	uint32_t n = g->nparts, before = w->ncursors;

	if (n == before)
		return GS_OK;
	GS_TRY(gs_block_reserve(&w->work, &w->cursors_memory, n * sizeof(gs_cursor)));
	GS_TRY(gs_block_reserve(&w->work, &w->last_memory, n * sizeof(gs_records *)));
	w->cursors = w->cursors_memory.data;
	w->last = w->last_memory.data;
	memset(w->cursors + before, 0, (n - before) * sizeof(gs_cursor));
	memset(w->last + before, 0, (n - before) * sizeof(gs_records *));
	w->ncursors = n;
	return GS_OK;
}

/* ---------------------------------------------------------------- parts */

/* Returns the units of a stream's bitmaps. */
static uint32_t
bit_units(const gs_cpu_groups *g, const gs_stream *s)
{
	return (uint32_t) ((s->bit_words + UNIT_WORDS - 1) / UNIT_WORDS) << g->slot_bits;
}

/* Begins the second half: joins tallies into the first worker's, and what is counted of cells. */
gs_status
gs_few_join(gs_cpu_groups *g)
{
	size_t bytes = ((size_t) g->nwhole << g->slot_bits) * sizeof(gs_reduced);

	GS_TRY(gs_block_reserve(&g->work, &g->few_memory, bytes));
	g->few_answers = g->few_memory.data;
	if (bytes > 0)
		memset((void *) g->few_answers, 0, bytes);
	for (uint32_t i = 1; i < g->head.workers; i++)
		if (g->workers[i].begun && !gs_tally_join(g, &g->workers[0].few, &g->workers[i].few))
			return GS_OVERFLOW;
	gs_totals_hold(&g->workers[0], g, &g->workers[0].few, g->workers[0].few.slots);
	return gs_cells_join(g);
}

uint32_t
gs_few_units(gs_cpu_groups *g)
{
	uint32_t units = 0;

	while (units == 0 && ++g->round < 3)
		if (g->round == 1)
			units = gs_cells_units(g);
		else
		{
			units = g->nparts;
			for (uint32_t i = 0; i < g->nstreams; i++)
				units += bit_units(g, &g->streams[i]);
		}
	return units;
}

/* Counts the bits of a piece of a slot's bitmap, in all workers' together. */
static void
count_bits(gs_cpu_groups *g, uint32_t stream, uint32_t unit)
{
	const gs_stream *s = &g->streams[stream];
	uint32_t slot = unit & (uint32_t) gs_mask(g->slot_bits);
	uint64_t begin = (uint64_t) (unit >> g->slot_bits) * UNIT_WORDS, found = 0, words[UNIT_WORDS] = {0};
	uint64_t n = s->bit_words - begin < UNIT_WORDS ? s->bit_words - begin : UNIT_WORDS;

	for (uint32_t i = 0; i < g->head.workers; i++)
	{
		const uint64_t *bitmap = g->workers[i].has_rows ? g->workers[i].bitmaps[stream] : NULL;

		if (bitmap != NULL)
			for (uint64_t k = 0; k < n; k++)
				words[k] |= bitmap[slot * s->bit_words + begin + k];
	}
	for (uint64_t k = 0; k < n; k++)
		found += (uint64_t) __builtin_popcountll(words[k]);
	for (uint32_t i = 0; i < g->nanswers; i++)
		if (g->answers[i].stream == stream)
			(void) __atomic_add_fetch(&g->few_answers[(size_t) slot * g->nwhole + g->answers[i].whole].count, found,
									  __ATOMIC_RELAXED);
}

/* Reads rows again in the first round, then counts bits or pairs, or answers a part of cells. */
gs_status
gs_few_part(gs_cpu_groups *g, gs_group_worker *w, gs_cpu_engine *cpu, uint32_t unit)
{
	if (g->round == 1)
		return gs_cells_unit(g, w, cpu, unit);
	if (unit < g->npairs)
		return gs_pairs_part(g, w, cpu, unit);
	if (unit < g->nparts)
		return gs_cells_part(g, w, cpu, unit);
	unit -= g->nparts;
	for (uint32_t i = 0; i < g->nstreams; unit -= bit_units(g, &g->streams[i++]))
		if (unit < bit_units(g, &g->streams[i]))
		{
			count_bits(g, i, unit);
			return gs_work_add(&cpu->work, UNIT_WORDS * g->head.workers);
		}
	return GS_OK;
}

gs_status
gs_few_end(gs_cpu_groups *g, gs_group_list *list)
{
	const gs_tally *tally = &g->workers[0].few;

	gs_cells_end(g);
	for (uint32_t slot = 0; slot < tally->slots; slot++)
	{
		const uint64_t key = slot;

		if (tally->counts[0][slot] == 0 && g->head.keys.n > 0)
			continue;
		GS_TRY(gs_add_group(g, list, tally, g->few_answers, &key, slot));
	}
	return GS_OK;
}
