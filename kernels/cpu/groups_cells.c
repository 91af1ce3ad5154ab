/*
 * groups_cells.c: aggregates that need all values of few groups: cells of a slot's values, in order.  A first pass over
 * the rows counts cells.  The counts tell which of them have values that are needed, of ranks those where they lie; a
 * second pass puts the values of these down, and each part of them is sorted.
 */
#include "groups.h"

#define LEAST_ROOM 32 /* for records in one piece */
#define PARTS	   1024 /* of a stream, if all values are needed */

/* Returns a double's bound from its order; false: it is not finite. */
static bool
finite_bound(const gs_constant *order, double *bound)
{
	*bound = gs_real_of_order(order->half[0]);
	return *bound - *bound == 0;
}

/* Spreads doubles evenly over cells, if their range is known and finite.  The map is monotone, as rounding is. */
static bool
even_cells(const gs_cpu_groups *g, const gs_stream_value *v, gs_cells *c)
{
	const gs_instruction *code = v->expression->code;
	const gs_range *range = &g->head.ranges[code->operand];
	double high;

	if (v->type != GS_F64 || code->code != GS_CODE_COLUMN || !finite_bound(&range->low, &c->low) ||
		!finite_bound(&range->high, &high))
		return false;
	c->last = (double) gs_mask(c->bits);
	c->scale = (c->last + 1) / (high - c->low);
	return high > c->low && c->scale - c->scale == 0 && high - c->low - (high - c->low) == 0;
}

void
gs_cells_plan(gs_cpu_groups *g, gs_stream *s)
{
	const gs_stream_value *v = &g->values[s->first];
	uint32_t bits = gs_bits((uint64_t) v->span);
	gs_cells *c = &s->cells;

	c->bits = g->cell_bits;
	c->shift = bits > c->bits ? bits - c->bits : 0;
	c->zeros = v->type == GS_F64;
	c->even = even_cells(g, v, c);
	c->exact = v->type != GS_F64 && bits <= c->bits;
	s->words = 1;
	s->table = g->ntables++;
}

gs_status
gs_cells_keep(const gs_cpu_groups *g, gs_group_worker *w, const gs_span *span, const gs_held *columns)
{
	size_t held = g->head.steps->ncolumns * sizeof(gs_held), bytes = sizeof(gs_kept_rows) + held;
	gs_kept_rows *rows;

	GS_TRY(gs_block_reserve(&w->work, &w->kept, (w->nkept + 1) * bytes));
	rows = (gs_kept_rows *) ((char *) w->kept.data + w->nkept++ * bytes);
	rows->span = *span;
	memcpy(rows->columns, columns, held);
	return GS_OK;
}

void
gs_cells_count(const gs_cpu_groups *g, gs_group_worker *w, uint32_t stream, const uint32_t *cells, uint32_t n,
			   gs_ahead ahead)
{
	uint32_t *counts = w->cells + (size_t) g->streams[stream].table * gs_cells_number(g);

	GS_EACH_AHEAD(n, ahead, counts[cells[i]]++;);
}

/* Returns the places of a stream's cells. */
static const uint16_t *
places_of(const gs_cpu_groups *g, uint32_t stream)
{
	return g->places + (size_t) g->streams[stream].table * gs_cells_number(g);
}

uint32_t
gs_cells_needed(const gs_cpu_groups *g, uint32_t stream, const uint32_t *cells, uint32_t n, gs_ahead ahead,
				uint32_t *rows)
{
	const uint16_t *places = places_of(g, stream);
	uint32_t found = 0;

	GS_EACH_AHEAD(n, ahead, {
		rows[found] = i;
		found += places[cells[i]] != 0;
	});
	return found;
}

gs_status
gs_cells_collect(const gs_cpu_groups *g, gs_group_worker *w, uint32_t stream, const uint32_t *cells,
				 const uint64_t *codes, uint32_t n)
{
	const gs_stream *s = &g->streams[stream];
	const uint16_t *places = places_of(g, stream);

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t part = s->first_part + places[cells[i]] - 1;

		if (w->cursors[part].at == w->cursors[part].end)
			GS_TRY(gs_new_records(g, w, s, part));
		*w->cursors[part].at++ = codes[i];
	}
	return GS_OK;
}

/* ---------------------------------------------------------------- between the passes */

/* Adds what the other workers have counted to the first worker's counts. */
static void
join_counts(gs_cpu_groups *g)
{
	uint32_t *all = g->workers[0].cells, n = g->ntables * gs_cells_number(g);

	for (uint32_t i = 1; i < g->head.workers; i++)
		for (uint32_t k = 0; k < n && g->workers[i].begun; k++)
			all[k] += g->workers[i].cells[k];
}

/* Returns the counts of a slot's cells. */
static const uint32_t *
counts_of(const gs_cpu_groups *g, const gs_stream *s, uint32_t slot)
{
	return g->workers[0].cells + (size_t) s->table * gs_cells_number(g) + ((size_t) slot << g->cell_bits);
}

/* Returns true if some of n values, before which there are others, are asked for. */
static bool
asked(const uint64_t *ranks, uint32_t nranks, uint64_t before, uint64_t n)
{
	for (uint32_t i = 0; i < nranks && nranks != GS_ALL_ASKED; i++)
		if (ranks[i] - before < n)
			return true;
	return nranks == GS_ALL_ASKED && n > 0;
}

/* Adds a cell to the last part, if it continues that, or to a new one. */
static gs_status
add_cell(gs_cpu_groups *g, const gs_cell_part *cell)
{
	gs_cell_part *last = g->nparts > g->npairs ? &g->parts[g->nparts - 1] : NULL;

	if (last != NULL && last->stream == cell->stream && last->slot == cell->slot &&
		last->before + last->n == cell->before && last->n + cell->n <= g->head.rows / PARTS)
	{
		last->n += cell->n;
		return GS_OK;
	}
	GS_TRY(gs_block_reserve(&g->work, &g->parts_memory, (g->nparts + 1) * sizeof(gs_cell_part)));
	g->parts = g->parts_memory.data;
	g->parts[g->nparts++] = *cell;
	return GS_OK;
}

/* Makes parts of a slot's cells of which values are asked for. */
static gs_status
make_parts(gs_cpu_groups *g, uint32_t stream, uint32_t slot)
{
	const gs_stream *s = &g->streams[stream];
	const uint32_t *counts = counts_of(g, s, slot), cells = (uint32_t) 1 << g->cell_bits;
	uint16_t *places = g->places + (size_t) s->table * gs_cells_number(g) + ((size_t) slot << g->cell_bits);
	gs_cell_part cell = {.stream = stream, .slot = slot};
	uint64_t ranks[GS_MOST_VALUES];
	uint32_t nranks;

	for (uint32_t i = 0; i < cells; i++)
		cell.all += counts[i];
	/* of no values none has a rank */
	if (cell.all == 0)
		return GS_OK;
	nranks = gs_ranks_asked(g, stream, cell.all, ranks);
	for (uint32_t i = 0; i < cells; cell.before += cell.n, i++)
	{
		cell.n = counts[i];
		if (!asked(ranks, nranks, cell.before, cell.n))
			continue;
		GS_TRY(add_cell(g, &cell));
		places[i] = (uint16_t) (g->nparts - s->first_part);
	}
	return GS_OK;
}

/* Plans the memory of the records of parts. */
static void
plan_records(gs_cpu_groups *g)
{
	uint64_t n = 0, each;

	for (uint32_t i = g->npairs; i < g->nparts; i++)
		n += g->parts[i].n;
	each = g->nparts > g->npairs ? n / (g->nparts - g->npairs) / g->head.workers / 4 : 0;
	each = each < LEAST_ROOM ? LEAST_ROOM : each > GS_MOST_ROOM ? GS_MOST_ROOM : each;
	for (uint32_t i = 0; i < g->nstreams; i++)
		g->streams[i].room = (uint32_t) each / 8 * 8;
	g->record_bytes += n / g->head.workers * sizeof(uint64_t);
}

gs_status
gs_cells_join(gs_cpu_groups *g)
{
	size_t bytes = (size_t) g->ntables * gs_cells_number(g) * sizeof(uint16_t);

	if (g->ntables == 0)
		return GS_OK;
	join_counts(g);
	GS_TRY(gs_block_reserve(&g->work, &g->places_memory, bytes));
	g->places = memset(g->places_memory.data, 0, bytes);
	for (uint32_t i = 0; i < g->nstreams; i++)
	{
		gs_stream *s = &g->streams[i];

		if (!gs_has_cells(s))
			continue;
		s->first_part = g->nparts;
		for (uint32_t slot = 0; slot < 1u << g->slot_bits && !s->cells.exact; slot++)
			GS_TRY(make_parts(g, i, slot));
		s->nparts = g->nparts - s->first_part;
	}
	plan_records(g);
	return GS_OK;
}

/* ---------------------------------------------------------------- the second pass */

uint32_t
gs_cells_units(const gs_cpu_groups *g)
{
	uint32_t units = 0;

	for (uint32_t i = 0; i < g->head.workers && g->nparts > g->npairs; i++)
		units += g->workers[i].nkept;
	return units;
}

gs_status
gs_cells_unit(gs_cpu_groups *g, gs_group_worker *w, gs_cpu_engine *cpu, uint32_t unit)
{
	size_t bytes = sizeof(gs_kept_rows) + g->head.steps->ncolumns * sizeof(gs_held);
	const gs_group_worker *from = g->workers;

	GS_TRY(gs_few_cursors(g, w));
	for (; unit >= from->nkept; from++)
		unit -= from->nkept;
	return gs_collect_rows(g, w, cpu, (const gs_kept_rows *) ((const char *) from->kept.data + unit * bytes));
}

/* Puts the values of a part one behind another. */
static void
gather(const gs_cpu_groups *g, uint32_t part, uint64_t *to)
{
	for (uint32_t i = 0; i < g->head.workers; i++)
	{
		const gs_group_worker *w = &g->workers[i];

		for (const gs_records *r = part < w->ncursors ? w->last[part] : NULL; r != NULL; r = r->next)
		{
			uint32_t n = gs_records_number(w, part, r);

			memcpy(to, r->words, n * sizeof(*to));
			to += n;
		}
	}
}

gs_status
gs_cells_part(gs_cpu_groups *g, gs_group_worker *w, gs_cpu_engine *cpu, uint32_t part)
{
	gs_cell_part *p = &g->parts[part];

	GS_TRY(gs_block_reserve(&w->work, &w->values, p->n * sizeof(uint64_t)));
	gather(g, part, w->values.data);
	return gs_cell_answer(g, w, cpu, p->stream, w->values.data, p->n, p->before, p->all,
						  g->few_answers + (size_t) p->slot * g->nwhole, &p->mode);
}

/* Finds the modes of a stream's slots: of their parts' modes the first of the most frequent. */
static void
join_modes(gs_cpu_groups *g, const gs_stream *s, uint32_t whole)
{
	for (uint32_t i = s->first_part; i < s->first_part + s->nparts; i++)
	{
		const gs_cell_part *p = &g->parts[i];
		gs_reduced *to = &g->few_answers[(size_t) p->slot * g->nwhole + whole];

		if (p->before == 0 || p->mode.count > to->count)
			*to = p->mode;
		if (p->before + p->n == p->all)
			to->count = p->all;
	}
}

void
gs_cells_end(gs_cpu_groups *g)
{
	for (uint32_t i = 0; i < g->nanswers; i++)
		if (g->answers[i].operation == GS_MODE)
			join_modes(g, &g->streams[g->answers[i].stream], g->answers[i].whole);
	for (uint32_t i = 0; i < g->nstreams; i++)
		for (uint32_t slot = 0; slot < 1u << g->slot_bits && g->streams[i].cells.exact; slot++)
			gs_counts_answer(g, i, counts_of(g, &g->streams[i], slot), (uint32_t) 1 << g->cell_bits,
							 g->few_answers + (size_t) slot * g->nwhole);
}
