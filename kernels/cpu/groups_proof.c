/*
 * groups_proof.c: a proof of counts and of sums of integers.  Each worker adds up what it gives to groups, as it comes
 * out of the columns; all groups together must hold as much, modulo 2^64.  So a record that is lost on its way, comes
 * twice or becomes another is found, whatever HAVING and TOP leave out.
 */
#include "groups.h"

void
gs_totals_give(gs_group_worker *w, const gs_cpu_groups *g, uint32_t value, const void *values, uint32_t n)
{
	if (g->values[value].summed)
		w->given.sums[value] += w->loops->sum(values, n, g->values[value].type == GS_U128);
}

/* Returns true if a tally is proved: a sum of integers. */
static bool
is_proved(const gs_tally_plan *t)
{
	return t->operation == GS_SUM && t->held != GS_F64;
}

void
gs_totals_hold(gs_group_worker *w, const gs_cpu_groups *g, const gs_tally *tally, uint32_t slots)
{
	for (uint32_t i = 0; i < g->nstreams; i++)
		if (!g->streams[i].whole)
			for (uint32_t s = 0; s < slots; s++)
				w->held.counts[i] += tally->counts[i][s];
	for (uint32_t i = 0; i < g->ntallies; i++)
		if (is_proved(&g->tallies[i]))
			w->held.sums[i] += w->loops->sum(tally->values[i], slots, g->tallies[i].held == GS_U128);
}

bool
gs_totals_agree(const gs_cpu_groups *g)
{
	gs_group_totals given = {0}, held = {0};
	bool agree = true;

	for (uint32_t w = 0; w < g->head.workers; w++)
	{
		for (uint32_t i = 0; i < g->nstreams; i++)
		{
			given.counts[i] += g->workers[w].given.counts[i];
			held.counts[i] += g->workers[w].held.counts[i];
		}
		for (uint32_t i = 0; i < g->nvalues; i++)
			given.sums[i] += g->workers[w].given.sums[i];
		for (uint32_t i = 0; i < g->ntallies; i++)
			held.sums[i] += g->workers[w].held.sums[i];
	}
	for (uint32_t i = 0; i < g->nstreams; i++)
		agree &= given.counts[i] == held.counts[i];
	for (uint32_t i = 0; i < g->ntallies; i++)
		agree &= !is_proved(&g->tallies[i]) || given.sums[g->tallies[i].value] == held.sums[i];
	return agree;
}
