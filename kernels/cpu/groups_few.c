/*
 * groups_few.c: few groups: each worker has a tally of all, which are joined.  Aggregates that need all values have
 * bitmaps, where only different values are counted and the range is small, or records in parts, which are cells of a
 * slot's values in order: of ranks, only the cells where they lie are sorted.
 */
#include "groups.h"

#define MOST_TALLY_BYTES ((uint64_t) 256 << 10) /* of a worker, which fit the L2 cache */
#define MOST_BITMAP_BITS ((uint64_t) 1 << 25)	/* of a worker */
#define MOST_CELL_SLOTS	 7						/* bits of slots whose values have cells */
#define PART_BITS		 10						/* of a slot and its cell, */
#define CELL_BITS		 9						/* of which these are the cell's at most */
#define FEW_ROWS		 65536					/* fewer than these have one cell for each slot */
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

/* Returns true if the groups are few for all streams. */
static bool
are_few(const gs_cpu_groups *g, uint32_t bits)
{
	gs_tally tally;

	if (bits > 16 || gs_tally_make(g, &tally, (uint32_t) 1 << bits, NULL) > MOST_TALLY_BYTES)
		return false;
	for (uint32_t i = 0; i < g->nstreams; i++)
		if (g->streams[i].whole && !wants_bits(g, i, bits) &&
			(bits > MOST_CELL_SLOTS || gs_value_wide(&g->values[g->streams[i].first])))
			return false;
	return true;
}

void
gs_few_plan(gs_cpu_groups *g)
{
	uint32_t bits = g->head.keys.bits;
	bool cells = false;

	g->few = are_few(g, bits);
	for (uint32_t i = 0; i < g->nstreams && g->few; i++)
	{
		gs_stream *s = &g->streams[i];

		if (!s->whole)
			continue;
		s->bits = wants_bits(g, i, bits);
		s->bit_words = s->bits ? (uint64_t) g->values[s->first].span / 64 + 1 : 0;
		s->words = 1;
		cells |= !s->bits;
	}
	if (!g->few)
		return;
	g->factor = g->inverse = 1;
	g->mask = gs_mask(bits);
	g->slot_bits = bits;
	g->cell_bits = cells && g->head.rows >= FEW_ROWS ? PART_BITS - bits : 0;
	g->cell_bits = g->cell_bits < CELL_BITS ? g->cell_bits : CELL_BITS;
	g->part_bits = cells ? bits + g->cell_bits : 0;
}

gs_status
gs_few_begin(gs_cpu_groups *g, gs_group_worker *w)
{
	size_t tally = gs_tally_make(g, &w->few, (uint32_t) 1 << g->slot_bits, NULL), words = 0;
	uint64_t *bitmap;

	for (uint32_t i = 0; i < g->nstreams; i++)
		words += (size_t) g->streams[i].bit_words << g->slot_bits;
	GS_TRY(gs_block_reserve(&w->work, &w->few_memory, tally + words * sizeof(uint64_t)));
	(void) gs_tally_make(g, &w->few, (uint32_t) 1 << g->slot_bits, w->few_memory.data);
	bitmap = memset((char *) w->few_memory.data + tally, 0, words * sizeof(uint64_t));
	for (uint32_t i = 0; i < g->nstreams; i++)
	{
		w->bitmaps[i] = bitmap;
		bitmap += (size_t) g->streams[i].bit_words << g->slot_bits;
	}
	return GS_OK;
}

/* Returns a double's bound from its order; false: it is not finite. */
static bool
finite_bound(const gs_constant *order, double *bound)
{
	uint64_t code = order->half[0];

	*bound = gs_bits_real(code >> 63 ? code ^ (uint64_t) 1 << 63 : ~code);
	return *bound - *bound == 0;
}

/* Spreads doubles evenly over cells, if their range is known and finite.  The map is monotone, as rounding is. */
static bool
even_cells(const gs_cpu_groups *g, const gs_stream_value *v, const double *x, uint64_t *slots, uint32_t n)
{
	const gs_expression_plan *e = v->expression;
	const gs_range *range = &g->head.ranges[e->code[0].operand];
	double last = (double) gs_mask(g->cell_bits), low, high, scale;

	if (e->code[0].code != GS_CODE_COLUMN || !finite_bound(&range->low, &low) || !finite_bound(&range->high, &high))
		return false;
	scale = (last + 1) / (high - low);
	if (!(high > low) || scale - scale != 0 || high - low - (high - low) != 0)
		return false;
	for (uint32_t i = 0; i < n; i++)
	{
		double cell = (x[i] - low) * scale;

		cell = cell > 0 ? cell : 0;
		cell = cell < last ? cell : last;
		slots[i] = slots[i] << g->cell_bits | (uint64_t) (int64_t) cell;
	}
	return true;
}

void
gs_few_cells(const gs_cpu_groups *g, const gs_stream_value *v, const void *values, const uint64_t *codes,
			 uint64_t *slots, uint32_t n)
{
	uint32_t bits = gs_bits((uint64_t) v->span), cell_bits = g->cell_bits;
	uint32_t shift = bits > cell_bits ? bits - cell_bits : 0;

	if (v->type == GS_F64 && even_cells(g, v, values, slots, n))
		return;
	/* the codes of -0 and +0 follow each other, and are in one cell */
	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t code = codes[i] + (v->type == GS_F64 && codes[i] == ((uint64_t) 1 << 63) - 1);

		slots[i] = slots[i] << cell_bits | (shift < 64 ? code >> shift : 0);
	}
}

/* ---------------------------------------------------------------- parts */

/* Returns the units of a stream: pieces of its bitmap, or parts. */
static uint32_t
units_of(const gs_cpu_groups *g, const gs_stream *s)
{
	if (!s->whole)
		return 0;
	if (s->bits)
		return (uint32_t) ((s->bit_words + UNIT_WORDS - 1) / UNIT_WORDS) << g->slot_bits;
	return (uint32_t) 1 << g->part_bits;
}

/* Counts the records of all parts. */
static void
count_records(gs_cpu_groups *g)
{
	for (uint32_t i = 0; i < g->head.workers; i++)
		for (uint32_t k = 0; k < g->nstreams << g->part_bits && g->workers[i].cursors != NULL; k++)
			for (const gs_records *r = g->workers[i].last[k]; r != NULL; r = r->next)
				g->few_records[k] += gs_records_number(&g->workers[i], k, r);
}

/* Begins the second half: joins tallies into the first worker's, and counts records. */
gs_status
gs_few_join(gs_cpu_groups *g)
{
	size_t parts = (size_t) g->nstreams << g->part_bits, answers = (size_t) g->nwhole << g->slot_bits;
	size_t bytes = (answers + parts) * sizeof(gs_reduced) + parts * sizeof(uint32_t);

	GS_TRY(gs_block_reserve(&g->work, &g->few_memory, bytes));
	g->few_answers = memset(g->few_memory.data, 0, bytes);
	g->modes = g->few_answers + answers;
	g->few_records = (uint32_t *) (g->modes + parts);
	for (uint32_t i = 1; i < g->head.workers; i++)
		if (g->workers[i].begun && !gs_tally_join(g, &g->workers[0].few, &g->workers[i].few))
			return GS_OVERFLOW;
	count_records(g);
	g->nunits = 0;
	for (uint32_t i = 0; i < g->nstreams; i++)
		g->nunits += units_of(g, &g->streams[i]);
	return GS_OK;
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

/* Puts the values of a part one behind another. */
static void
gather(const gs_cpu_groups *g, size_t part, uint64_t *to)
{
	for (uint32_t i = 0; i < g->head.workers; i++)
		for (const gs_records *r = g->workers[i].has_rows ? g->workers[i].last[part] : NULL; r != NULL; r = r->next)
		{
			uint32_t n = gs_records_number(&g->workers[i], part, r);

			memcpy(to, r->words, n * sizeof(*to));
			to += n;
		}
}

/* Answers what the values of a cell tell. */
static gs_status
answer_cell(gs_cpu_groups *g, gs_group_worker *w, gs_cpu_engine *cpu, uint32_t stream, uint32_t part)
{
	uint32_t slot = part >> g->cell_bits, first = slot << g->cell_bits;
	const uint32_t *records = g->few_records + ((size_t) stream << g->part_bits);
	uint64_t n = records[part], before = 0, all = 0;

	for (uint32_t i = first; i < first + (1u << g->cell_bits); i++)
	{
		before += i < part ? records[i] : 0;
		all += records[i];
	}
	if (n == 0 || !gs_cell_asked(g, stream, n, before, all))
		return GS_OK;
	GS_TRY(gs_block_reserve(&w->work, &w->values, n * sizeof(uint64_t)));
	gather(g, ((size_t) stream << g->part_bits) + part, w->values.data);
	return gs_cell_answer(g, w, cpu, stream, w->values.data, n, before, all, g->few_answers + (size_t) slot * g->nwhole,
						  &g->modes[((size_t) stream << g->part_bits) + part]);
}

gs_status
gs_few_part(gs_cpu_groups *g, gs_group_worker *w, gs_cpu_engine *cpu, uint32_t unit)
{
	for (uint32_t i = 0; i < g->nstreams; i++)
	{
		uint32_t units = units_of(g, &g->streams[i]);

		if (unit >= units)
		{
			unit -= units;
			continue;
		}
		if (!g->streams[i].bits)
			return answer_cell(g, w, cpu, i, unit);
		count_bits(g, i, unit);
		return gs_work_add(&cpu->work, UNIT_WORDS * g->head.workers);
	}
	return GS_OK;
}

/* Finds the modes of slots: of their cells' modes the first of the most frequent. */
static void
join_modes(gs_cpu_groups *g, const gs_answer_plan *a)
{
	const gs_reduced *modes = g->modes + ((size_t) a->stream << g->part_bits);
	const uint32_t *records = g->few_records + ((size_t) a->stream << g->part_bits);

	for (uint32_t part = 0; part < 1u << g->part_bits; part++)
	{
		gs_reduced *to = &g->few_answers[(size_t) (part >> g->cell_bits) * g->nwhole + a->whole];

		if (modes[part].count > to->count)
			*to = modes[part];
	}
	for (uint32_t slot = 0; slot < 1u << g->slot_bits; slot++)
	{
		gs_reduced *to = &g->few_answers[(size_t) slot * g->nwhole + a->whole];

		to->count = 0;
		for (uint32_t i = 0; i < 1u << g->cell_bits; i++)
			to->count += records[(slot << g->cell_bits) + i];
	}
}

gs_status
gs_few_end(gs_cpu_groups *g, gs_group_list *list)
{
	gs_reduced group[GS_MOST_VALUES];
	const gs_tally *tally = &g->workers[0].few;

	for (uint32_t i = 0; i < g->nanswers; i++)
		if (g->streams[g->answers[i].stream].whole && g->answers[i].operation == GS_MODE)
			join_modes(g, &g->answers[i]);
	for (uint32_t slot = 0; slot < tally->slots; slot++)
	{
		if (tally->counts[0][slot] == 0 && g->head.keys.n > 0)
			continue;
		gs_make_group(g, tally, g->few_answers, slot, slot, group);
		GS_TRY(gs_group_list_add(list, group));
	}
	return GS_OK;
}
