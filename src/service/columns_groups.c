/*
 * columns_groups.c: questions whose list has keys, or aggregates that need all values, by kernels/gs_groups.h.
 *
 * Rows come twice over: the pages' ranges are joined first, which decides how groups are addressed, then workers, or
 * the device, take the rows.  Chunks that the client adds are kept until then, as segments of the question's own.
 */
#include "columns.h"

#include <stdlib.h>
#include <string.h>

/* Segments that are remembered as joined, so that pages of several which alternate cost little. */
#define KNOWN 64

/* Device memory that is reserved for each row, if there is so much. */
#define ROW_BYTES 64
#define LEAST_RESERVED ((uint64_t) 16 << 20)

/*
 * Takes the rows of a unit from a worker.
 */
static gs_status
group_unit(void *arg, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	grouping *g = arg;

	return gs_groups_rows(g->groups, worker, engine, rows);
}

/*
 * Takes all rows on a device.
 */
static gs_status
group_whole(void *arg, const gs_held_rows *rows)
{
	grouping *g = arg;

	return gs_groups_rows(g->groups, 0, g->engine, rows);
}

gs_status
gsd_grouping_begin(grouping *g, page_job *j, const gs_steps *steps)
{
	uint64_t bytes = gsd_mask_bytes(j->blocks);

	g->pages = j;
	g->steps = steps;
	g->bytes = gs_steps_result_bytes(steps);
	for (uint32_t c = 0; c < j->ncolumns; c++)
		g->ranges[c] = gsd_no_range;
	j->scratch = true;
	j->unit = group_unit;
	j->whole = group_whole;
	j->arg = g;
	if (!gsd_work_take(bytes))
		return GS_NOMEM;
	g->mask = malloc(bytes > 0 ? bytes : 1);
	if (g->mask == NULL)
	{
		gsd_work_give(bytes);
		return GS_NOMEM;
	}
	memcpy(g->mask, (const void *) j->mask, bytes);
	j->mask = g->mask;
	return GS_OK;
}

/*
 * Makes room for another added segment.
 */
static bool
added_room(grouping *g)
{
	uint64_t room = g->added_room > 0 ? 2 * g->added_room : 16;
	segment **list;

	if (g->pages->nadded < g->added_room)
		return true;
	list = realloc(g->pages->added, room * sizeof(*list));
	if (list == NULL)
		return false;
	g->pages->added = list;
	g->added_room = room;
	return true;
}

/*
 * Adds the ranges of a segment's columns, numbered as in a list, or as in the segment.
 */
static void
join_segment(grouping *g, const segment *s, const uint32_t *columns)
{
	for (uint32_t c = 0; c < g->pages->ncolumns; c++)
		gsd_range_join(&g->ranges[c], &s->ranges[columns != NULL ? columns[c] : c]);
}

gs_status
gsd_grouping_add(grouping *g, const char *slot, uint64_t slot_bytes, uint64_t *rows)
{
	page_job *j = g->pages;
	segment *s;
	gs_status status;

	if (!added_room(g))
		return GS_NOMEM;
	status = gsd_segment_of_chunk(j->t->place, g->steps->types, j->ncolumns, slot, slot_bytes, &s);
	if (status != GS_OK)
		return status == GS_INVALID ? GS_PROTOCOL : status;
	*rows = s->rows;
	if (s->rows == 0)
	{
		gsd_segment_free(j->t->place, s);
		return GS_OK;
	}
	g->rows += s->rows;
	join_segment(g, s, NULL);
	j->added[j->nadded++] = s;
	return GS_OK;
}

/* A grouping, and the segments that were joined last. */
typedef struct joining
{
	grouping *g;
	const segment *known[KNOWN];
} joining;

/*
 * Adds the ranges and the rows of a run.
 */
static gs_status
join_run(void *arg, const page_run *run)
{
	joining *join = arg;
	const segment **known = &join->known[run->of->number % KNOWN];

	join->g->rows += run->rows;
	if (*known != run->of)
		join_segment(join->g, run->of, join->g->pages->columns);
	*known = run->of;
	return GS_OK;
}

/*
 * Adds the ranges and the rows of the mask's pages.
 */
static gs_status
join_pages(grouping *g)
{
	joining join = {.g = g};

	return gsd_pages_runs(g->pages, 0, ((uint64_t) g->pages->blocks + 63) / 64, join_run, &join);
}

/*
 * Reserves memory of the device, and less where there is little: the engine fails when it finds none.
 */
static void
reserve(grouping *g, device *dev)
{
	for (uint64_t bytes = g->rows * ROW_BYTES; bytes >= LEAST_RESERVED; bytes /= 2)
		if (gsd_device_reserve_more(dev, bytes))
		{
			g->reserved = bytes;
			return;
		}
}

/*
 * Opens the engine of the connection's own thread.
 */
static gs_status
open_engine(grouping *g)
{
	page_job *j = g->pages;
	device *dev = j->t->place->dev;

	if (dev == NULL)
	{
		g->engine = gsd_pages_engine(j, 0);
		return g->engine != NULL ? GS_OK : GS_NOMEM;
	}
	reserve(g, dev);
	GS_TRY(gsd_open_engine(j->c, dev));
	g->engine = j->c->engine;
	return GS_OK;
}

/*
 * Does a part, in any thread.
 */
static void
do_part(void *arg, uint32_t worker, uint32_t part)
{
	grouping *g = arg;
	gs_engine *engine;
	gs_status status = GS_NOMEM;

	if (atomic_load_explicit(&g->status, memory_order_relaxed) != GS_OK)
		return;
	engine = g->pages->t->place->dev != NULL ? g->engine : gsd_pages_engine(g->pages, worker);
	if (engine != NULL)
		status = gs_groups_part(g->groups, worker, engine, part);
	if (status != GS_OK)
		atomic_store(&g->status, status);
}

/*
 * Does all parts, round after round.
 */
static gs_status
do_parts(grouping *g)
{
	uint32_t parts;

	while (g->status == GS_OK && (parts = gs_groups_parts(g->groups)) > 0)
	{
		if (g->pages->t->place->dev == NULL && !gsd_pool_run(g->pages->c, parts, do_part, g))
			return GS_CANCELLED;
		for (uint32_t part = 0; g->pages->t->place->dev != NULL && part < parts; part++)
			do_part(g, 0, part);
	}
	return (gs_status) g->status;
}

/*
 * Makes the groups, in turn.
 */
static gs_status
group_in_turn(page_job *j)
{
	grouping *g = j->arg;
	uint32_t workers = j->t->place->dev != NULL ? 1 : j->c->turn.threads;

	GS_TRY(join_pages(g));
	GS_TRY(open_engine(g));
	GS_TRY(gs_groups_open(g->engine, g->steps, g->ranges, g->rows, workers, &g->groups));
	GS_TRY(gsd_pages_run(j));
	GS_TRY(do_parts(g));
	return gs_groups_end(g->groups, g->engine, GS_GROUPS_MOST_BYTES / g->bytes, &g->count);
}

gs_status
gsd_grouping_do(grouping *g)
{
	return gsd_pages_in_turn(g->pages, group_in_turn);
}

gs_status
gsd_grouping_read(grouping *g, char *out, uint64_t room_bytes, uint64_t *n)
{
	uint64_t room = room_bytes / g->bytes, left = g->count - g->given;

	*n = left < room ? left : room;
	if (*n > 0)
		GS_TRY(gs_groups_read(g->groups, g->engine, g->given, *n, (gs_reduced *) out));
	g->given += *n;
	return GS_OK;
}

void
gsd_grouping_free(grouping *g)
{
	page_job *j = g->pages;

	if (g->groups != NULL)
		gs_groups_close(g->groups, g->engine);
	if (g->reserved > 0)
		gsd_device_reserve_less(j->t->place->dev, g->reserved);
	for (uint32_t i = 0; i < j->nadded; i++)
		gsd_segment_free(j->t->place, j->added[i]);
	free(j->added);
	if (g->mask != NULL)
		gsd_work_give(gsd_mask_bytes(j->blocks));
	free(g->mask);
}
