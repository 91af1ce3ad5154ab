/*
 * groups_proof.c: groups, and rows, that were damaged on their way or in the end: the engine says so.
 */
#include "scan_test.h"
#include "steps_table.h"

#include "../../kernels/cpu/places.h"
#include "../../kernels/cpu/select.h"
#ifdef WITH_CUDA
#include "../../kernels/cuda/base/sort_testing.h"
#endif

/* What happens to a worker that has the rows, or to results of a device. */
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

/* Damages what a worker has of the first aggregate's stream. */
static void
do_damage(gs_cpu_groups *g, damage what)
{
	gs_group_worker *w = &g->workers[0];
	const gs_tally_plan *t = &g->tallies[0];
	const gs_stream *s = &g->streams[t->stream];
	size_t part;

	if (what == NO_DAMAGE || on_gpu)
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

/* Writes the positions of bits, but the first one twice. */
static uint64_t
positions_but_one(uint32_t *to, uint32_t first, uint64_t bits)
{
	const uint64_t n = (uint64_t) __builtin_popcountll(bits);
	uint32_t *at = to;

	for (; bits != 0; bits &= bits - 1)
		*at++ = first + (uint32_t) __builtin_ctzll(bits);
	if (n > 1)
		to[1] = to[0];
	return n;
}

/* Has a worker write such positions. */
static void
damage_positions(gs_groups *groups, const table *t)
{
	static gs_select_loops loops;
	gs_steps_plan *plan = &((gs_places *) groups)->workers[0].plan;
	gs_held_rows none = {t->types, t->ncolumns, SEGMENTS, t->held, 0, NULL};

	ok(gs_groups_rows(groups, 0, engine, &none), "no rows, which make a plan");
	loops = *plan->select;
	loops.positions = positions_but_one;
	plan->select = &loops;
}

/* Has a device damage its results. */
static void
damage_results(damage what)
{
#ifdef WITH_CUDA
	if (on_gpu)
		gs_cuda_groups_damage(engine, what == NO_DAMAGE ? GS_CUDA_DAMAGE_NONE
									  : what == OTHER_VALUE ? GS_CUDA_DAMAGE_VALUE : GS_CUDA_DAMAGE_COUNT);
#else
	(void) what;
#endif
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
	if (!on_gpu && gs_steps_rows(steps) != NULL && what != NO_DAMAGE)
		damage_positions(groups, t);
	damage_results(what);
	status = gs_groups_rows(groups, 0, engine, &rows);
	damage_results(NO_DAMAGE);
	if (status == GS_OK && gs_steps_rows(steps) == NULL)
		do_damage((gs_cpu_groups *) groups, what);
	if (status == GS_OK)
		status = do_parts(groups, 1);
	if (status == GS_OK)
		status = gs_groups_end(groups, engine, 0, &n);
	gs_groups_close(groups, engine);
	return status;
}

/* Makes a table of keys and values without NULLs.  An extreme is that of the first group. */
static void
make_values(table *t, gs_type type, uint64_t keys, gs_operation operation)
{
	const gs_type types[2] = {GS_I32, type};

	make_table(t, 2, types);
	for (uint32_t s = 0; s < SEGMENTS; s++)
		for (uint32_t c = 0; c < 2; c++)
		{
			for (uint32_t r = 0; r < t->plain[s].rows; r++)
			{
				const uint64_t key = (s + r) * (keys / 8) % keys, place = 8 * key / keys;
				unsigned __int128 v = c == 0 ? key : operation == GS_SUM ? rnd() >> (type == GS_I64 ? 8 : 50)
					: operation == GS_MIN ? 1 + place : 9 - place;
				const double real = (double) v;
				const void *from = type == GS_F64 && c > 0 ? (const void *) &real : &v;

				memcpy(t->plain[s].values[c] + r * gs_type_width(types[c]), from, gs_type_width(types[c]));
			}
			if (t->plain[s].nulls[c] != NULL)
				memset(t->plain[s].nulls[c], 0, (t->plain[s].rows + 63) / 64 * 8);
		}
	put_table(t);
}

/* Every damage to an aggregate by so many keys, with a condition or none, of which TOP may leave the first. */
static void
every_damage(gs_type type, uint64_t keys, gs_operation operation, bool filtered, bool top)
{
	static table t;
	static steps_list l;
	const gs_type types[2] = {GS_I32, type};
	const gs_top_order order = {0, 0, 0, 0};
	gs_range ranges[2];

	make_values(&t, type, keys, operation);
	list_begin(&l, types, 2);
	if (filtered)
	{
		list_filter(&l, 1);
		list_compare(&l, 0, GS_TEST_GE, 0);
	}
	list_group(&l, 2);
	list_column(&l, operation, 1, number_of(type));
	list_aggregate(&l, GS_COUNT, NULL, 0);
	list_keys(&l, (uint32_t[]){0}, 1);
	if (top)
		list_top(&l, 1, &order, 1);
	for (uint32_t c = 0; c < 2; c++)
		ranges[c] = column_range(&t, c);
	for (damage what = NO_DAMAGE; what < DAMAGES; what++)
		check(damaged(&t, &l.head, ranges, what) == (what == NO_DAMAGE ? GS_OK : GS_WRONG_ORDER),
			  "damage %d to operation %d of %s by %llu keys%s%s", (int) what, (int) operation, type_name(type),
			  (unsigned long long) keys, filtered ? ", filtered" : "", top ? ", the first" : "");
	drop_table(&t);
}

/* A row that comes twice, of those that a condition passes, or of a page. */
static void
doubled_row(uint32_t norders, uint64_t limit)
{
	static table t;
	static steps_list l;
	const gs_type types[2] = {GS_I32, GS_I64};
	const gs_row_order order = {.column = 1};
	gs_range ranges[2];

	make_values(&t, GS_I64, 40, GS_SUM);
	list_begin(&l, types, 2);
	list_filter(&l, 1);
	list_compare(&l, 0, GS_TEST_GE, 5);
	list_rows(&l, 0, limit, &order, norders);
	for (uint32_t c = 0; c < 2; c++)
		ranges[c] = column_range(&t, c);
	for (damage what = NO_DAMAGE; what <= OTHER_VALUE; what++)
		check(damaged(&t, &l.head, ranges, what) == (what == NO_DAMAGE ? GS_OK : GS_WRONG_ORDER),
			  "damage %d to rows by %u orders, limit %llu", (int) what, norders, (unsigned long long) limit);
	drop_table(&t);
}

/* Every damage to all types that are proved, by few and many groups. */
static void
every_list(void)
{
	static const gs_type types[] = {GS_I16, GS_I64, GS_F64, GS_U128};

	for (uint32_t i = 0; i < (on_gpu ? 3 : 4); i++)
		for (int many = 0; many < 2; many++)
		{
			const uint64_t keys = many ? 1000000 : 40;

			for (int top = 0; top < 2 && types[i] != GS_F64; top++)
				every_damage(types[i], keys, GS_SUM, top == 0, top);
			for (gs_operation o = GS_MIN; o <= GS_MAX && on_gpu; o++)
				every_damage(types[i], keys, o, o == GS_MAX, false);
		}
}

void
test_groups_proof(void)
{
	rnd_seed(4444);
	group("groups that were damaged");
	every_list();
#ifdef WITH_CUDA
	for (gs_cuda_groups_way way = GS_CUDA_GROUPS_SHARED; way <= GS_CUDA_GROUPS_SORTED && on_gpu; way++)
	{
		gs_cuda_groups_force(engine, way);
		every_list();
	}
	gs_cuda_groups_force(engine, GS_CUDA_GROUPS_CHOSEN);
#endif
	group("rows that were damaged");
	doubled_row(0, 0);
	if (!on_gpu)
		return;
	doubled_row(1, 0);
	doubled_row(1, 10);
}
