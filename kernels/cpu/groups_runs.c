/*
 * groups_runs.c: rows of which those of a group follow each other, all of it: a block's groups are slots of a tally,
 * and all but the last one are complete at the block's end.
 */
#include "groups.h"

bool
gs_groups_take_runs(const gs_cpu_groups *g)
{
	return !g->few && g->nwhole == 0 && g->head.keys.words == 0;
}

/* Gives a block's rows slots, of which the first is that of the last block's last row. */
gs_status
gs_runs_begin_block(gs_group_job *j)
{
	gs_group_runs *r = j->runs;
	const gs_rows_block *b = &j->block;
	uint32_t slots[GS_STEP_ROWS], at = 0;

	if (!gs_pack_keys(&j->g->head.keys, j->w->loops, &j->w->plan, &j->block, b->mask, b->passed, j->keys))
		return GS_INVALID;
	if (j->g->factor != 1)
		j->w->loops->mix(j->keys, b->passed, j->g->factor, j->g->mask);
	for (uint32_t i = 0; i < b->passed; i++)
	{
		if (r->n == 0 || j->keys[i] != r->keys[r->n - 1])
			r->keys[r->n++] = j->keys[i];
		slots[i] = r->n - 1;
	}
	if (b->mask == NULL)
		memcpy(r->slots, slots, b->n * sizeof(*slots));
	for (uint32_t w = 0; b->mask != NULL && w * 64 < b->n; w++)
		for (uint64_t bits = b->mask[w]; bits != 0; bits &= bits - 1)
			r->slots[w * 64 + (uint32_t) __builtin_ctzll(bits)] = slots[at++];
	return GS_OK;
}

void
gs_runs_slots(gs_group_job *j, const uint64_t *mask, uint32_t n)
{
	uint32_t at = 0;

	if (mask == NULL)
		memcpy(j->slots, j->runs->slots, n * sizeof(*j->slots));
	for (uint32_t w = 0; at < n && mask != NULL; w++)
		for (uint64_t bits = mask[w]; bits != 0; bits &= bits - 1)
			j->slots[at++] = j->runs->slots[w * 64 + (uint32_t) __builtin_ctzll(bits)];
}

/* Makes groups of the first slots. */
static gs_status
make_groups(gs_group_job *j, uint32_t n)
{
	gs_group_list *list = &j->w->list;
	uint64_t before = list->n;

	gs_totals_hold(j->w, j->g, &j->w->few, n);
	for (uint32_t i = 0; i < n; i++)
		GS_TRY(gs_add_group(j->g, list, &j->w->few, NULL, &j->runs->keys[i], i));
	return gs_groups_keep(j->g, list, list->n - before);
}

gs_status
gs_runs_end_block(gs_group_job *j)
{
	gs_group_runs *r = j->runs;

	if (r->n < 2)
		return GS_OK;
	GS_TRY(make_groups(j, r->n - 1));
	gs_tally_restart(j->g, &j->w->few, r->n - 1);
	r->keys[0] = r->keys[r->n - 1];
	r->n = 1;
	return GS_OK;
}

gs_status
gs_groups_runs(gs_cpu_groups *g, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	gs_group_worker *w = &g->workers[worker];
	gs_group_runs runs;
	gs_group_job j;

	GS_TRY(gs_group_worker_begin(g, w, engine));
	GS_TRY(gs_block_reserve(&w->work, &w->few_memory, gs_tally_make(g, &w->few, GS_STEP_ROWS + 1, NULL)));
	(void) gs_tally_make(g, &w->few, GS_STEP_ROWS + 1, w->few_memory.data);
	gs_group_job_begin(&j, g, w);
	j.runs = &runs;
	runs.n = 0;
	for (uint64_t i = 0; i < rows->nspans; i++)
	{
		const gs_span *span = &rows->spans[i];
		const gs_held *columns = &rows->columns[(uint64_t) span->segment * rows->ncolumns];

		if (!gs_nulls_known(&w->plan, g->head.ranges, span, columns))
			return GS_INVALID;
		GS_TRY(gs_groups_add_span(&j, &((gs_cpu_engine *) engine)->work, span, columns));
	}
	return make_groups(&j, runs.n);
}
