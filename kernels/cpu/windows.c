/*
 * windows.c: lists with windows on the CPU: rows become records, parts rows in order with more columns, which are the
 * next question's.  See windows.h.
 */
#include "windows.h"

#include "select.h"

/* Frees what a worker has. */
static void
release_worker(gs_window_worker *k)
{
	gs_block *blocks[] = {&k->sorting, &k->scratch, &k->rows,	 &k->bounds,
						  &k->places,  &k->columns, &k->nulls, &k->plan_memory};

	for (size_t i = 0; k->begun && i < sizeof(blocks) / sizeof(*blocks); i++)
		gs_block_release(&k->work, blocks[i]);
	k->begun = false;
	k->plan.steps = NULL;
}

/* Frees what the next question does not need. */
static void
release_rows(gs_cpu_windows *w)
{
	if (w->scatter != NULL)
		gs_groups_free(w->scatter);
	w->scatter = NULL;
	gs_window_release_placed(w);
	gs_block_release(&w->work, &w->rows_memory);
	for (uint32_t i = 0; i < w->head.workers; i++)
		release_worker(&w->workers[i]);
}

/* Implements gs_groups_close. */
static void
windows_close(gs_groups *groups, gs_engine *engine)
{
	gs_cpu_windows *w = (gs_cpu_windows *) groups;
	gs_work work = w->work;

	release_rows(w);
	gs_groups_close(w->after, engine);
	gs_block_release(&work, &w->memory);
	if (w->after_steps != NULL)
		work.host.release(work.host.arg, w->after_steps, w->head.steps->bytes);
	work.host.release(work.host.arg, w, w->bytes);
}

/* Finds the column of runs that are the groups of the steps behind, or GS_NO_COLUMN. */
static uint32_t
find_runs(const gs_cpu_windows *w)
{
	uint32_t runs = gs_window_runs(w->head.steps, w->after_steps);

	return runs != GS_NO_COLUMN && gs_groups_take_runs((gs_cpu_groups *) w->after) ? runs : GS_NO_COLUMN;
}

/* Makes the list and the question of the steps behind, and the plan of records. */
static gs_status
prepare(gs_cpu_windows *w, gs_engine *engine)
{
	const gs_steps *steps = w->head.steps;
	uint64_t source = gs_mask(steps->ncolumns);
	gs_groups after;

	GS_TRY(gs_window_after(&engine->host, &w->head, w->ranges, &w->after_steps, &w->taken));
	for (uint32_t c = 0; c < w->after_steps->ncolumns; c++)
		w->types[c] = (gs_type) steps->types[c];
	w->columns = (w->taken & source) | gs_window_arguments(w->step);
	w->in_place = gs_window_placed(&w->head);
	GS_TRY(w->in_place ? gs_window_plan_placed(w) : gs_window_plan(w, engine));
	after = (gs_groups){.steps = w->after_steps, .ranges = w->ranges, .rows = w->head.rows, .workers = w->head.workers};
	/* the rows given lie in memory that the next ones take */
	after.passing = true;
	GS_TRY(gs_groups_begin(engine, &after, &w->after));
	w->runs = find_runs(w);
	return GS_OK;
}

/* Implements gs_groups_open. */
static gs_status
windows_open(gs_engine *engine, const gs_groups *head, gs_groups **groups)
{
	size_t bytes = sizeof(gs_cpu_windows) + head->workers * sizeof(gs_window_worker);
	gs_cpu_windows *w = engine->host.alloc(engine->host.arg, bytes);
	gs_status status;

	if (w == NULL)
		return GS_NOMEM;
	memset(w, 0, bytes);
	w->head = *head;
	w->work = (gs_work){engine->host, 0};
	w->bytes = bytes;
	w->step = gs_steps_window(head->steps);
	status = prepare(w, engine);
	if (status != GS_OK)
		windows_close(&w->head, engine);
	else
		*groups = &w->head;
	return status;
}

/* Implements gs_groups_rows. */
static gs_status
windows_rows(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	gs_cpu_windows *w = (gs_cpu_windows *) groups;

	return w->in_place ? gs_window_rows_placed(w, rows)
					   : gs_cpu_groups_rows(&w->scatter->head, worker, engine, rows);
}

/* ---------------------------------------------------------------- parts */

/* Returns the first part of the partitions that a part belongs to. */
static uint32_t
first_part(const gs_cpu_windows *w, uint32_t part)
{
	return part >> w->split_bits << w->split_bits;
}

/* Returns the part behind the last one of those. */
static uint32_t
last_part(const gs_cpu_windows *w, uint32_t part)
{
	return first_part(w, part) + (1u << w->split_bits);
}

/* Counts the parts' rows.  Returns the most that partitions have whose parts are several. */
static uint64_t
count_rows(gs_cpu_windows *w)
{
	uint64_t most = 0;

	w->starts[0] = 0;
	for (uint32_t p = 0; p < w->nparts; p++)
		w->starts[p + 1] = w->starts[p] + (w->in_place ? w->placed.of[p].rows : gs_records_count(w->scatter, p));
	for (uint32_t p = 0; p < w->nparts && w->split_bits > 0; p = last_part(w, p))
	{
		uint64_t n = w->starts[last_part(w, p)] - w->starts[p];

		most = n > most ? n : most;
	}
	return most;
}

/* Makes room for all rows and what is carried over. */
static gs_status
begin_ordering(gs_cpu_windows *w)
{
	size_t n = (size_t) w->nparts * w->step->nfunctions, bytes = (w->nparts + 1) * sizeof(uint64_t) + GS_ALIGN;

	GS_TRY(gs_block_reserve(&w->work, &w->memory, bytes + 2 * n * sizeof(gs_window_carry)));
	w->starts = w->memory.data;
	w->carries = (gs_window_carry *) ((char *) w->memory.data + bytes / GS_ALIGN * GS_ALIGN);
	w->wholes = w->carries + n;
	GS_TRY(gs_block_reserve(&w->work, &w->rows_memory,
							gs_ordered_make(w, &w->rows, w->starts[w->nparts], NULL) + GS_ALIGN));
	(void) gs_ordered_make(w, &w->rows, w->starts[w->nparts], w->rows_memory.data);
	return GS_OK;
}

/* Begins the round after the rows: of units, or of ordering where one of these would be too great a share. */
static gs_status
begin_parts(gs_cpu_windows *w)
{
	uint64_t most;

	if (!w->in_place)
		gs_groups_rows_end(w->scatter);
	GS_TRY(gs_block_reserve(&w->work, &w->memory, (w->nparts + 1) * sizeof(uint64_t)));
	w->starts = w->memory.data;
	most = count_rows(w);
	if (most > w->starts[w->nparts] / (2 * w->head.workers) && gs_window_splits(w))
	{
		w->stage = GS_WINDOW_ORDERING;
		w->nunits = w->nparts;
		return begin_ordering(w);
	}
	w->stage = GS_WINDOW_UNITS;
	w->nunits = w->nparts >> w->split_bits;
	return GS_OK;
}

/* Carries over from part to part what functions have of the rows before. */
static gs_status
carry_over(gs_cpu_windows *w, uint32_t function)
{
	uint32_t nfunctions = w->step->nfunctions;

	for (uint32_t first = 0; first < w->nparts; first = last_part(w, first))
	{
		gs_window_carry before = {.place = GS_NO_PLACE};

		for (uint32_t p = first; p < last_part(w, first); p++)
		{
			gs_window_carry *carry = &w->carries[(size_t) p * nfunctions + function], own = *carry;

			*carry = before;
			if (w->starts[p] < w->starts[p + 1])
				GS_TRY(gs_window_join(w, function, &before, &own, w->starts[p], w->starts[p] == w->starts[first]));
		}
		for (uint32_t p = first; p < last_part(w, first); p++)
			w->wholes[(size_t) p * nfunctions + function] = before;
	}
	return GS_OK;
}

/* Begins the next round. */
static gs_status
next_round(gs_cpu_windows *w)
{
	if (w->stage == GS_WINDOW_ADDING && w->in_place && gs_steps_filter(w->head.steps) != NULL)
	{
		w->stage = GS_WINDOW_COUNTING;
		w->nunits = w->nparts;
		return GS_OK;
	}
	if (w->stage <= GS_WINDOW_COUNTING)
		return begin_parts(w);
	if (w->stage == GS_WINDOW_ORDERING)
	{
		w->stage = GS_WINDOW_COMPUTING;
		for (uint32_t f = 0; f < w->step->nfunctions; f++)
			GS_TRY(carry_over(w, f));
		return GS_OK;
	}
	release_rows(w);
	w->stage = GS_WINDOW_DONE;
	return GS_OK;
}

/* Implements gs_groups_parts. */
static uint32_t
windows_parts(gs_groups *groups, uint32_t round)
{
	gs_cpu_windows *w = (gs_cpu_windows *) groups;

	(void) round;
	if (w->stage != GS_WINDOW_DONE)
		w->failure = next_round(w);
	if (w->failure != GS_OK)
		return 0;
	return w->stage == GS_WINDOW_DONE ? gs_groups_parts(w->after) : w->nunits;
}

/* Begins a worker's work, by its engine. */
static gs_window_worker *
begin_worker(gs_cpu_windows *w, uint32_t worker, gs_engine *engine)
{
	gs_window_worker *k = &w->workers[worker];

	if (!k->begun)
		k->work = (gs_work){engine->host, 0};
	k->begun = true;
	return k;
}

/* Puts the rows of a part in order, from a place on; first: of its partition. */
static gs_status
order_part(gs_cpu_windows *w, gs_window_worker *k, gs_cpu_engine *cpu, uint32_t part, const gs_ordered *to,
		   uint64_t at, bool first)
{
	return w->in_place ? gs_window_place(w, k, cpu, part, to, at, first)
					   : gs_window_sort(w, k, cpu, part, to, at, first);
}

/* Does a unit: whole partitions, of one part or several. */
static gs_status
do_unit(gs_cpu_windows *w, uint32_t worker, gs_engine *engine, uint32_t unit)
{
	gs_window_worker *k = begin_worker(w, worker, engine);
	uint32_t first = unit << w->split_bits, last = last_part(w, first);
	uint64_t n = w->starts[last] - w->starts[first];
	gs_ordered rows;
	gs_window_job j = {.w = w, .worker = worker, .cpu = (gs_cpu_engine *) engine, .rows = &rows, .to = n};

	if (n == 0)
		return GS_OK;
	GS_TRY(gs_block_reserve(&k->work, &k->rows, gs_ordered_make(w, &rows, n, NULL) + GS_ALIGN));
	(void) gs_ordered_make(w, &rows, n, k->rows.data);
	for (uint32_t p = first; p < last; p++)
		GS_TRY(order_part(w, k, j.cpu, p, &rows, w->starts[p] - w->starts[first],
						  w->starts[p] == w->starts[first]));
	return gs_window_give(&j);
}

/* Orders a part of a partition and summarizes its rows, or computes with what was carried over. */
static gs_status
do_part(gs_cpu_windows *w, uint32_t worker, gs_engine *engine, uint32_t part)
{
	gs_window_worker *k = begin_worker(w, worker, engine);
	uint32_t nfunctions = w->step->nfunctions;
	size_t at = (size_t) part * nfunctions;
	gs_window_job j = {.w = w, .worker = worker, .cpu = (gs_cpu_engine *) engine, .rows = &w->rows, .npartitions = 1};

	j.from = w->starts[part];
	j.to = w->starts[part + 1];
	j.begin = w->starts[first_part(w, part)];
	j.end = w->starts[last_part(w, part)];
	if (j.from == j.to)
		return GS_OK;
	if (w->stage == GS_WINDOW_COMPUTING)
	{
		j.before = w->carries + at;
		j.whole = w->wholes + at;
		return gs_window_give(&j);
	}
	GS_TRY(order_part(w, k, j.cpu, part, &w->rows, j.from, j.from == j.begin));
	for (uint32_t f = 0; f < nfunctions; f++)
		GS_TRY(gs_window_summarize(&j, f, &w->carries[at + f]));
	return GS_OK;
}

/* Implements gs_groups_part. */
static gs_status
windows_part(gs_groups *groups, uint32_t worker, gs_engine *engine, uint32_t part)
{
	gs_cpu_windows *w = (gs_cpu_windows *) groups;

	if (w->stage == GS_WINDOW_DONE)
		return gs_groups_part(w->after, worker, engine, part);
	if (part >= w->nunits)
		return GS_INVALID;
	if (w->stage == GS_WINDOW_COUNTING)
		return gs_window_count_placed(w, begin_worker(w, worker, engine), (gs_cpu_engine *) engine, part);
	return w->stage == GS_WINDOW_UNITS ? do_unit(w, worker, engine, part) : do_part(w, worker, engine, part);
}

/* Implements gs_groups_end. */
static gs_status
windows_end(gs_groups *groups, gs_engine *engine, uint64_t *count)
{
	gs_cpu_windows *w = (gs_cpu_windows *) groups;

	GS_TRY(w->failure);
	return gs_groups_end(w->after, engine, 0, count);
}

/* Implements gs_groups_read. */
static gs_status
windows_read(gs_groups *groups, gs_engine *engine, uint64_t first, uint64_t n, void *out)
{
	return gs_groups_read(((gs_cpu_windows *) groups)->after, engine, first, n, out);
}

const struct gs_group_ops gs_cpu_window_ops = {
	.open = windows_open,
	.rows = windows_rows,
	.parts = windows_parts,
	.part = windows_part,
	.end = windows_end,
	.read = windows_read,
	.close = windows_close,
	.placed = true,
};
