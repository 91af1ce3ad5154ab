/*
 * groups_proof.c: a proof of counts, of sums of integers, and of extremes.  Each worker adds up what it gives to groups,
 * as it comes out of the columns; all groups together must hold as much, modulo 2^64, and the least of minima must be
 * that of the values.  So a record that is lost on its way, comes twice or becomes another is found, and a minimum that
 * is too great, whatever HAVING and TOP leave out.
 */
#include "groups.h"

/* Returns true if a tally is proved as a sum: of integers. */
static bool
is_sum(const gs_tally_plan *t)
{
	return t->operation == GS_SUM && t->held != GS_F64;
}

/* Returns true if a tally is proved as an extreme: of at most 64 bits. */
static bool
is_extreme(const gs_tally_plan *t)
{
	return t->operation != GS_SUM && t->held != GS_U128;
}

/* Takes over the greatest code of some integers, or orders of doubles, inverted for a minimum. */
static void
take_codes(const gs_group_loops *loops, const gs_tally_plan *t, const uint64_t *values, uint32_t n, uint64_t *code)
{
	const uint64_t signs = t->held == GS_I64 ? (uint64_t) 1 << 63 : 0;
	const uint64_t most = loops->most(values, n, t->operation == GS_MIN ? ~signs : signs);

	*code = most > *code ? most : *code;
}

void
gs_totals_give(gs_group_worker *w, const gs_cpu_groups *g, uint32_t value, const void *values, uint32_t n)
{
	uint64_t orders[GS_STEP_ROWS];
	bool ordered = false;

	if (g->values[value].summed)
		w->given.sums[value] += w->loops->sum(values, n, g->values[value].type == GS_U128);
	for (uint32_t i = 0; i < g->ntallies; i++)
	{
		const gs_tally_plan *t = &g->tallies[i];

		if (t->value != value || !is_extreme(t))
			continue;
		if (t->held == GS_U64 && !ordered)
			w->loops->order(values, n, false, 0, 0, orders);
		ordered |= t->held == GS_U64;
		take_codes(w->loops, t, t->held == GS_U64 ? orders : values, n, &w->given.codes[i]);
	}
}

void
gs_totals_hold(gs_group_worker *w, const gs_cpu_groups *g, const gs_tally *tally, uint32_t slots)
{
	for (uint32_t i = 0; i < g->nstreams; i++)
		if (!g->streams[i].whole)
			for (uint32_t s = 0; s < slots; s++)
				w->held.counts[i] += tally->counts[i][s];
	for (uint32_t i = 0; i < g->ntallies; i++)
		if (is_sum(&g->tallies[i]))
			w->held.sums[i] += w->loops->sum(tally->values[i], slots, g->tallies[i].held == GS_U128);
		else if (is_extreme(&g->tallies[i]))
			take_codes(w->loops, &g->tallies[i], tally->values[i], slots, &w->held.codes[i]);
}

/* Adds a worker's totals. */
static void
add_totals(const gs_cpu_groups *g, gs_group_totals *to, const gs_group_totals *from)
{
	for (uint32_t i = 0; i < g->nstreams; i++)
		to->counts[i] += from->counts[i];
	for (uint32_t i = 0; i < GS_MOST_VALUES; i++)
	{
		to->sums[i] += from->sums[i];
		to->codes[i] = from->codes[i] > to->codes[i] ? from->codes[i] : to->codes[i];
	}
}

bool
gs_totals_agree(const gs_cpu_groups *g)
{
	gs_group_totals given = {0}, held = {0};
	bool agree = true;

	for (uint32_t w = 0; w < g->head.workers; w++)
	{
		add_totals(g, &given, &g->workers[w].given);
		add_totals(g, &held, &g->workers[w].held);
	}
	for (uint32_t i = 0; i < g->nstreams; i++)
		agree &= given.counts[i] == held.counts[i];
	for (uint32_t i = 0; i < g->ntallies; i++)
		agree &= (!is_sum(&g->tallies[i]) || given.sums[g->tallies[i].value] == held.sums[i]) &&
				 given.codes[i] == held.codes[i];
	return agree;
}
