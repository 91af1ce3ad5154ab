/*
 * groups.c: lists with groups on the CPU: memory, the number of parts, workers, the result.
 */
#include "groups.h"

#include "select.h"

#define PART_BYTES		((uint64_t) 256 << 10) /* of the slots of a part, which fit the L2 cache */
#define MOST_PART_BITS	9
#define FEW_ROWS		65536 /* fewer than these are one part */
#define PARTS_PER_WORKER 8
#define LEAST_ROOM		32 /* for records in one piece */
#define FACTOR			0x9e3779b97f4a7c15u /* 2^64 divided by the golden ratio: multiples of it are even */

/* Returns the bytes that a slot has in a part's memory. */
static uint64_t
slot_bytes(const gs_cpu_groups *g)
{
	uint64_t bytes = 16 + 8 * (uint64_t) g->head.keys.words; /* of its key and its place */

	for (uint32_t i = 0; i < g->nstreams; i++)
		bytes += 4;
	for (uint32_t i = 0; i < g->ntallies; i++)
		bytes += gs_width_of(g->tallies[i].held);
	return bytes;
}

void
gs_groups_choose_factor(gs_cpu_groups *g)
{
	uint32_t bits = g->head.keys.bits;

	if (g->head.keys.words > 0)
	{
		g->factor = g->inverse = 1;
		g->mask = ((const gs_cpu_engine *) g->engine)->tuning.hash_mask;
		return;
	}
	g->mask = gs_mask(bits);
	g->factor = bits == 0 ? 1 : FACTOR >> (64 - bits) | 1;
	g->inverse = gs_inverse_of(g->factor);
}

/* Chooses the number of parts. */
static void
choose_parts(gs_cpu_groups *g)
{
	uint32_t bits = g->head.keys.words > 0 ? 64 : g->head.keys.bits;
	uint64_t rows = g->head.rows, most = bits < 40 && (uint64_t) 1 << bits < rows ? (uint64_t) 1 << bits : rows;
	uint64_t parts = most * slot_bytes(g) / PART_BYTES, least = (uint64_t) g->head.workers * PARTS_PER_WORKER;

	parts = parts > least ? parts : least;
	g->part_bits = rows < FEW_ROWS ? 0 : gs_bits(parts - 1);
	g->part_bits = g->part_bits < MOST_PART_BITS ? g->part_bits : MOST_PART_BITS;
	g->part_bits = g->part_bits < bits ? g->part_bits : bits;
	g->slot_bits = bits - g->part_bits;
	gs_groups_choose_factor(g);
}

/* A quarter of what a worker has of a part. */
void
gs_groups_choose_room(gs_cpu_groups *g)
{
	uint64_t each = (g->head.rows / g->head.workers >> g->part_bits) / 4;

	each = each < LEAST_ROOM ? LEAST_ROOM : each > GS_MOST_ROOM ? GS_MOST_ROOM : each;
	g->record_bytes = 0;
	for (uint32_t i = 0; i < g->nstreams; i++)
	{
		g->streams[i].room = (uint32_t) each / 8 * 8;
		g->record_bytes += g->streams[i].words * sizeof(uint64_t) * (size_t) (g->head.rows / g->head.workers);
	}
}

gs_status
gs_make_plan(gs_work *work, const gs_cpu_engine *cpu, const gs_steps *steps, gs_steps_plan *plan, gs_block *memory)
{
	GS_TRY(gs_block_reserve(work, memory, gs_steps_plan_make(plan, steps, NULL) + GS_ALIGN));
	(void) gs_steps_plan_make(plan, steps, memory->data);
	plan->loops = cpu->loops;
	plan->select = gs_select_loops_choose(cpu);
	plan->reduce = gs_step_loops_choose(cpu->tuning.vector);
	return GS_OK;
}

/* Frees what a worker has. */
static void
release_worker(gs_group_worker *w)
{
	gs_block *blocks[] = {&w->few_memory, &w->kept,	  &w->memory,	 &w->cursors_memory, &w->tally,	  &w->slots,
						  &w->wide_memory, &w->last_memory, &w->table, &w->keys, &w->wide_keys, &w->values,
						  &w->sorted,	  &w->answers,	  &w->scratch,	 &w->lines_memory};

	if (!w->begun)
		return;
	for (uint32_t i = 0; i < w->nslabs; i++)
		gs_block_release(&w->work, (gs_block *) w->slabs.data + i);
	gs_block_release(&w->work, &w->slabs);
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
		gs_block_release(&w->work, blocks[i]);
	gs_group_list_release(&w->list);
}

void
gs_groups_free(gs_cpu_groups *g)
{
	gs_work work = g->work;

	for (uint32_t i = 0; i < g->head.workers; i++)
		release_worker(&g->workers[i]);
	gs_block_release(&work, &g->few_memory);
	gs_block_release(&work, &g->parts_memory);
	gs_block_release(&work, &g->places_memory);
	gs_block_release(&work, &g->plan_memory);
	work.host.release(work.host.arg, g, g->bytes);
}

/* Implements gs_groups_close. */
static void
cpu_close(gs_groups *groups, gs_engine *engine)
{
	(void) engine;
	gs_groups_free((gs_cpu_groups *) groups);
}

gs_status
gs_groups_make(gs_engine *engine, const gs_groups *head, gs_cpu_groups **groups)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	size_t bytes = sizeof(gs_cpu_groups) + head->workers * sizeof(gs_group_worker);
	gs_cpu_groups *g;
	gs_status status;

	if (head->rows > UINT32_MAX)
		return GS_TOO_BIG;
	g = engine->host.alloc(engine->host.arg, bytes);
	if (g == NULL)
		return GS_NOMEM;
	memset(g, 0, bytes);
	g->head = *head;
	g->engine = engine;
	g->work = (gs_work){engine->host, 0};
	g->bytes = bytes;
	status = gs_make_plan(&g->work, cpu, head->steps, &g->plan, &g->plan_memory);
	if (status != GS_OK)
		gs_groups_free(g);
	else
		*groups = g;
	return status;
}

/* Implements gs_groups_open. */
static gs_status
cpu_open(gs_engine *engine, const gs_groups *head, gs_groups **groups)
{
	gs_cpu_groups *g;

	GS_TRY(gs_groups_make(engine, head, &g));
	gs_groups_plan(g);
	choose_parts(g);
	gs_few_plan(g);
	if (!g->few)
	{
		gs_records_plan(g);
		gs_groups_choose_room(g);
		gs_records_lines(g);
	}
	*groups = &g->head;
	return GS_OK;
}

gs_status
gs_group_worker_begin(gs_cpu_groups *g, gs_group_worker *w, gs_engine *engine)
{
	size_t wide = (size_t) g->head.keys.words * GS_STEP_ROWS * sizeof(uint64_t);

	if (w->begun)
		return GS_OK;
	w->begun = true;
	w->work = (gs_work){engine->host, 0};
	w->loops = gs_group_loops_choose(((gs_cpu_engine *) engine)->tuning.vector);
	gs_group_list_init(&w->list, g->head.steps, &engine->host);
	GS_TRY(gs_make_plan(&w->work, (gs_cpu_engine *) engine, g->head.steps, &w->plan, &w->memory));
	if (g->few)
		return gs_few_begin(g, w);
	if (wide > 0)
		GS_TRY(gs_block_reserve(&w->work, &w->wide_memory, wide));
	w->wide = w->wide_memory.data;
	return gs_records_begin(g, w);
}

void
gs_groups_rows_end(gs_cpu_groups *g)
{
	for (uint32_t i = 0; i < g->head.workers; i++)
		g->workers[i].has_rows = g->workers[i].begun;
}

/* Begins the first worker, which may have had no rows, and with few groups joins what workers have. */
static gs_status
begin_parts(gs_cpu_groups *g)
{
	gs_groups_rows_end(g);
	GS_TRY(gs_group_worker_begin(g, &g->workers[0], g->engine));
	return g->few ? gs_few_join(g) : GS_OK;
}

/* Implements gs_groups_parts. */
static uint32_t
cpu_parts(gs_groups *groups, uint32_t round)
{
	gs_cpu_groups *g = (gs_cpu_groups *) groups;

	if (round == 0)
		g->failure = begin_parts(g);
	if (g->failure != GS_OK)
		return 0;
	if (g->few)
		return gs_few_units(g);
	return round == 0 ? (uint32_t) 1 << g->part_bits : 0;
}

/* Joins the lists of workers, or with TOP the groups in them. */
static gs_status
cpu_end(gs_groups *groups, gs_engine *engine, uint64_t *count)
{
	gs_cpu_groups *g = (gs_cpu_groups *) groups;
	gs_group_list *first = &g->workers[0].list;

	(void) engine;
	if (g->failure == GS_OK && g->few)
		g->failure = gs_few_end(g, first);
	if (g->failure != GS_OK)
		return g->failure;
	if (!gs_totals_agree(g))
		return GS_WRONG_ORDER;
	*count = 0;
	for (uint32_t i = 0; i < g->head.workers; i++)
	{
		gs_group_list *list = &g->workers[i].list;

		if (i > 0 && first->top != NULL)
		{
			GS_TRY(gs_group_list_join(first, list));
			list->n = 0;
		}
		else
			*count += list->n;
	}
	if (first->top != NULL)
		*count = first->n;
	gs_group_list_finish(first);
	return GS_OK;
}

/* Implements gs_groups_read: the workers' lists follow each other. */
static gs_status
cpu_read(gs_groups *groups, gs_engine *engine, uint64_t first, uint64_t n, void *out)
{
	gs_cpu_groups *g = (gs_cpu_groups *) groups;
	gs_reduced *to = out;

	(void) engine;
	for (uint32_t i = 0; i < g->head.workers && n > 0; i++)
	{
		const gs_group_list *list = &g->workers[i].list;
		uint64_t some = first < list->n ? list->n - first : 0;

		some = some < n ? some : n;
		if (some == 0)
		{
			first -= first < list->n ? first : list->n;
			continue;
		}
		memcpy(to, list->groups + first * list->members, some * list->members * sizeof(gs_reduced));
		to += some * list->members;
		n -= some;
		first = 0;
	}
	return n == 0 ? GS_OK : GS_INVALID;
}

const struct gs_group_ops gs_cpu_group_ops = {
	.open = cpu_open,
	.rows = gs_cpu_groups_rows,
	.parts = cpu_parts,
	.part = gs_cpu_groups_part,
	.end = cpu_end,
	.read = cpu_read,
	.close = cpu_close,
	.wide = true,
};
