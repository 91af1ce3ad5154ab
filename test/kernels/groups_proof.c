/*
 * groups_proof.c: groups of the CPU engine whose rows or sums were damaged on their way: the end says so.
 */
#include "scan_test.h"
#include "steps_table.h"

#include "../../kernels/cpu/groups.h"

/* What happens to a worker that has the rows. */
typedef enum damage
{
	NO_DAMAGE,
	OTHER_VALUE,
	LOST_ROW,
	DAMAGES
} damage;

/* Returns the place of a part of a stream that has records. */
static size_t
some_part(const gs_cpu_groups *g, const gs_group_worker *w, uint32_t stream)
{
	size_t part = (size_t) stream << g->part_bits;

	while (w->last[part] == NULL)
		part++;
	return part;
}

/* Damages what a worker has of the sum's stream. */
static void
do_damage(gs_cpu_groups *g, damage what)
{
	gs_group_worker *w = &g->workers[0];
	const gs_tally_plan *t = &g->tallies[0];
	const gs_stream *s = &g->streams[t->stream];
	size_t part;

	if (what == NO_DAMAGE)
		return;
	if (g->few)
	{
		w->few.counts[t->stream][2] -= what == LOST_ROW;
		((uint64_t *) w->few.values[0])[0] ^= what == OTHER_VALUE ? 4 : 0;
		return;
	}
	part = some_part(g, w, t->stream);
	if (what == LOST_ROW)
		w->cursors[part].at--;
	else
		w->last[part]->words[s->packed ? 0 : g->values[t->value].word * w->last[part]->room] ^= 1;
}

/* Carries out a list, with damage when all rows are there. */
static gs_status
damaged(const table *t, const gs_steps *steps, const gs_range *ranges, damage what)
{
	gs_groups *groups;
	gs_span spans[SEGMENTS];
	gs_held_rows rows = {t->types, t->ncolumns, SEGMENTS, t->held, SEGMENTS, spans};
	uint64_t all = 0, n;
	gs_status status;

	for (uint32_t s = 0; s < SEGMENTS; s++)
	{
		spans[s] = (gs_span){s, 0, t->plain[s].rows};
		all += spans[s].rows;
	}
	status = gs_groups_open(engine, steps, ranges, all, 1, &groups);
	if (status != GS_OK)
		return status;
	status = gs_groups_rows(groups, 0, engine, &rows);
	if (status == GS_OK)
		do_damage((gs_cpu_groups *) groups, what);
	if (status == GS_OK)
		status = do_parts(groups, 1);
	if (status == GS_OK)
		status = gs_groups_end(groups, engine, 0, &n);
	gs_groups_close(groups, engine);
	return status;
}

/* Every damage to sums by keys of so many values, of which TOP leaves the first. */
static void
every_damage(gs_type type, uint64_t keys)
{
	static table t;
	static steps_list l;
	const gs_type types[2] = {GS_I32, type};
	const gs_top_order order = {0, 0, 0, 0};
	gs_range ranges[2];

	make_table(&t, 2, types);
	for (uint32_t s = 0; s < SEGMENTS; s++)
		for (uint32_t c = 0; c < 2; c++)
		{
			for (uint32_t r = 0; r < t.plain[s].rows; r++)
			{
				unsigned __int128 v = c == 0 ? (s + r) * (keys / 8) % keys : rnd() >> (type == GS_I64 ? 8 : 50);

				memcpy(t.plain[s].values[c] + r * gs_type_width(types[c]), &v, gs_type_width(types[c]));
			}
			if (t.plain[s].nulls[c] != NULL)
				memset(t.plain[s].nulls[c], 0, (t.plain[s].rows + 63) / 64 * 8);
		}
	put_table(&t);
	list_begin(&l, types, 2);
	list_group(&l, 2);
	list_column(&l, GS_SUM, 1, number_of(type));
	list_aggregate(&l, GS_COUNT, NULL, 0);
	list_keys(&l, (uint32_t[]){0}, 1);
	list_top(&l, 1, &order, 1);
	for (uint32_t c = 0; c < 2; c++)
		ranges[c] = column_range(&t, c);
	for (damage what = NO_DAMAGE; what < DAMAGES; what++)
		check(damaged(&t, &l.head, ranges, what) == (what == NO_DAMAGE ? GS_OK : GS_WRONG_ORDER),
			  "damage %d to sums of %s by %llu keys", (int) what, type_name(type), (unsigned long long) keys);
	drop_table(&t);
}

void
test_groups_proof(void)
{
	static const gs_type types[] = {GS_I16, GS_I64, GS_U128};

	rnd_seed(4444);
	group("groups that were damaged");
	for (uint32_t i = 0; i < 3; i++)
	{
		every_damage(types[i], 40);
		every_damage(types[i], 1000000);
	}
}
