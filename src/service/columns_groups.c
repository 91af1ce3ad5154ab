/*
 * columns_groups.c: questions whose list has keys, aggregates that need all values, or ROWS, by kernels/gs_groups.h.
 *
 * Rows come twice over: the pages' ranges are joined first, which decides how groups are addressed, then workers, or
 * the device, take the rows.  So masks are copied, as what the ranges are of must not change, and chunks that the
 * client adds are kept until then, as segments of the question's own.
 */
#include "columns.h"
#include "kernels/common/steps_row.h"

#include <stdlib.h>
#include <string.h>

/* Rows that become TIDs at once: of a device, one copy. */
#define ROWS_AT_ONCE 2048

/* Segments that are remembered as joined, so that pages of several which alternate cost little. */
#define KNOWN 64

/* Device memory that is reserved for each row, if there is so much. */
#define ROW_BYTES 64
#define LEAST_RESERVED ((uint64_t) 16 << 20)

/* Questions that copy a device's columns, or wait with copies: one makes its own while another computes. */
static turn_queue copying = {.left = 2};

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
	g->pages = j;
	g->steps = steps;
	g->bytes = gs_steps_result_bytes(steps);
	for (uint32_t c = 0; c < j->ncolumns; c++)
		g->ranges[c] = gsd_no_range;
	j->scratch = true;
	j->unit = group_unit;
	j->whole = group_whole;
	j->arg = g;
	return gsd_pages_copy_mask(j) ? GS_OK : GS_NOMEM;
}

/*
 * Returns the bytes of the work over a further table.
 */
static uint64_t
table_bytes(const grouping *g)
{
	return sizeof(page_job) + g->pages->ncolumns * sizeof(uint32_t);
}

/*
 * Makes the work over a further table.  Returns NULL without memory.
 */
static page_job *
make_table(grouping *g, table *t, const gsd_asked *asked, const char *columns)
{
	page_job *first = g->pages, *last = first, *j = NULL;

	if (!gsd_work_take(table_bytes(g)))
		return NULL;
	j = calloc(1, table_bytes(g));
	if (j == NULL)
	{
		gsd_work_give(table_bytes(g));
		return NULL;
	}
	j->c = first->c;
	j->t = t;
	j->mask = (const volatile uint64_t *) (columns + gsd_asked_bytes(first->ncolumns) - sizeof(gsd_asked));
	j->blocks = asked->blocks;
	j->ncolumns = first->ncolumns;
	j->columns = memcpy(j + 1, columns, first->ncolumns * sizeof(uint32_t));
	j->types = first->types;
	while (last->further != NULL)
		last = last->further;
	last->further = j;
	return j;
}

/*
 * Adds a further table, of which these bytes are there.  *used becomes the bytes that it takes.
 */
static gs_status
add_table(grouping *g, const char *at, uint64_t available, bool ranked, uint64_t *used)
{
	uint64_t own = gsd_asked_bytes(g->pages->ncolumns);
	gsd_asked asked;
	page_job *j;
	table *t;

	if (available < own)
		return GS_PROTOCOL;
	memcpy(&asked, at, sizeof(asked));
	*used = own + gsd_mask_bytes(asked.blocks);
	if (available < *used || asked.zero != 0 || asked.table == 0)
		return GS_PROTOCOL;
	t = gsd_table_find(gsd_database(g->pages->c), asked.table);
	if (t == NULL)
		return GS_INVALID;
	j = make_table(g, t, &asked, at + sizeof(asked));
	if (j == NULL)
	{
		gsd_table_leave(t);
		return GS_NOMEM;
	}
	if (t->place != g->pages->t->place)
		g->pages->on_host = true;
	if (!gsd_pages_have_columns(j, ranked))
		return GS_INVALID;
	return gsd_pages_copy_mask(j) ? gsd_pages_pin(j, asked.version) : GS_NOMEM;
}

gs_status
gsd_grouping_tables(grouping *g, const gsd_ask *m, uint64_t *at)
{
	const connection *c = g->pages->c;
	uint64_t end = c->layout.slots * c->layout.slot_bytes, used;

	*at = gsd_behind_list(c, m);
	for (uint32_t i = 0; i < m->further; i++, *at += used)
		GS_TRY(add_table(g, c->ring + *at, end - *at, m->ranked > 0, &used));
	return GS_OK;
}

/*
 * Frees the work over further tables.
 */
static void
free_tables(grouping *g)
{
	page_job *first = g->pages;

	while (first->further != NULL)
	{
		page_job *j = first->further;

		first->further = j->further;
		gsd_pages_leave(j);
		gsd_table_leave(j->t);
		gsd_work_give(table_bytes(g));
		free(j);
	}
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
		if (columns == NULL || columns[c] != GSD_POSITIONS)
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
	if (g->added_at == NULL)
		g->added_at = gsd_place_scratch(gsd_pages_place(j));
	status = gsd_segment_of_chunk(g->added_at, g->steps->types, j->ncolumns, slot, slot_bytes, &s);
	if (status != GS_OK)
		return status == GS_INVALID ? GS_PROTOCOL : status;
	*rows = s->rows;
	if (s->rows == 0)
	{
		gsd_segment_free(g->added_at, s);
		return GS_OK;
	}
	s->added_before = g->rows;
	g->rows += s->rows;
	join_segment(g, s, NULL);
	j->added[j->nadded++] = s;
	return GS_OK;
}

/*
 * Returns true if rows name segments by one list, rather than by those that a worker meets.
 */
static bool
is_named(const grouping *g)
{
	return g->ranked || g->pages->on_host || g->pages->positions || gs_steps_rows(g->steps) != NULL;
}

/* A grouping, one of its tables, and the segments that were joined last. */
typedef struct joining
{
	grouping *g;
	const page_job *table;
	const segment *known[KNOWN];
} joining;

/*
 * Adds the ranges and the rows of a run.
 */
static gs_status
join_run(void *arg, const page_run *run)
{
	joining *join = arg;
	grouping *g = join->g;
	const segment **known = &join->known[run->of->number % KNOWN];

	g->rows += run->rows;
	/* a segment of dead rows alone has no values */
	if (run->rows == 0 || *known == run->of)
		return GS_OK;
	*known = run->of;
	join_segment(g, run->of, join->table->columns);
	return !is_named(g) || gsd_rows_add(&g->rows_of, join->table, run->of) ? GS_OK : GS_NOMEM;
}

/*
 * Adds the ranges and the rows of the pages of a table's mask.
 */
static gs_status
join_pages(grouping *g, const page_job *table)
{
	joining join = {.g = g, .table = table};

	return gsd_pages_runs(table, 0, ((uint64_t) table->blocks + 63) / 64, join_run, &join);
}

/*
 * Has rows name segments by one list, which has all of them.
 */
static gs_status
name_segments(grouping *g)
{
	if (!is_named(g))
		return GS_OK;
	for (page_job *table = g->pages; table != NULL; table = table->further)
		table->named = &g->rows_of;
	return gsd_rows_add_added(&g->rows_of, g->pages) ? GS_OK : GS_NOMEM;
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
	device *dev = gsd_pages_place(j)->dev;

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
	engine = worker == 0 ? g->engine : gsd_pages_engine(g->pages, worker);
	if (engine != NULL)
		status = gs_groups_part(g->groups, worker, engine, part);
	if (status != GS_OK)
		atomic_store(&g->status, status);
}

/*
 * Does all parts, in rounds.  A device's engine has one worker, this thread.
 */
static gs_status
do_parts(grouping *g)
{
	const bool alone = gsd_pages_place(g->pages)->dev != NULL;
	uint32_t parts;

	while ((parts = gs_groups_parts(g->groups)) > 0)
	{
		for (uint32_t part = 0; alone && part < parts; part++)
			do_part(g, 0, part);
		if (!alone && !gsd_pool_run(g->pages->c, parts, do_part, g))
			return GS_CANCELLED;
		GS_TRY((gs_status) g->status);
	}
	return GS_OK;
}

/*
 * Begins the groups.  What an engine has no steps for is no version that is gone, which GS_INVALID would be.
 */
static gs_status
open_groups(grouping *g, uint32_t workers)
{
	gs_status status;

	if (gsd_pages_place(g->pages)->dev != NULL && gsd_fault_here(g->pages->c->chosen, FAULT_NARROW, STAGE_BEGIN))
		return GS_TOO_BIG;
	status = gs_groups_open(g->engine, g->steps, g->ranges, g->rows, workers, &g->groups);

	return status == GS_INVALID ? GS_TOO_BIG : status;
}

/*
 * Joins the ranges of all tables' pages, and has rows name segments.
 */
static gs_status
join_tables(page_job *j)
{
	grouping *g = j->arg;

	for (page_job *table = j; table != NULL; table = table->further)
	{
		GS_TRY(join_pages(g, table));
		table->named_end = g->rows_of.n;
	}
	return name_segments(g);
}

/*
 * Makes the groups, in turn.
 */
static gs_status
group_in_turn(page_job *j)
{
	grouping *g = j->arg;
	uint32_t workers = gsd_pages_place(j)->dev != NULL ? 1 : j->c->turn.threads;

	if (!j->on_host)
		GS_TRY(join_tables(j));
	if (g->ranked)
		GS_TRY(gsd_ranks_put(g));
	if (j->positions)
		GS_TRY(gsd_positions_put(g));
	GS_TRY(open_engine(g));
	GS_TRY(open_groups(g, workers));
	GS_TRY(j->placed ? gsd_placed_run(g) : gsd_pages_run(j));
	GS_TRY(do_parts(g));
	if (gsd_pages_place(j)->dev != NULL && gsd_fault_here(j->c->chosen, FAULT_NARROW, STAGE_FINISH))
		return GS_NOMEM;
	g->ended = true;
	return gs_groups_end(g->groups, g->engine, GS_GROUPS_MOST_BYTES / g->bytes, &g->count);
}

/*
 * Makes the groups in host memory, of columns that are copied before the question has all threads.
 */
static gs_status
copy_and_group(page_job *j)
{
	GS_TRY(join_tables(j));
	GS_TRY(gsd_copies_put(j->arg));
	return gsd_pages_in_turn(j, gsd_pages_turns(j), group_in_turn);
}

/*
 * Makes the groups.
 */
static gs_status
group(page_job *j)
{
	if (j->on_host)
		return gsd_pages_in_turn(j, &copying, copy_and_group);
	return gsd_pages_in_turn(j, gsd_pages_turns(j), group_in_turn);
}

/*
 * Returns true if a device refused what the CPU may do: keys that are too wide, or more groups than it has room for.
 * Results that are too many are so everywhere.
 */
static bool
is_for_host(const grouping *g, gs_status status)
{
	return gsd_pages_place(g->pages)->dev != NULL && (status == GS_NOMEM || (status == GS_TOO_BIG && !g->ended));
}

/*
 * Frees what a device has made, up to the added rows.
 */
static void
free_made(grouping *g)
{
	if (g->groups != NULL)
		gs_groups_close(g->groups, g->engine);
	g->groups = NULL;
	gsd_copies_leave(g);
	gsd_rows_free(&g->rows_of);
	g->rows_of = (row_segments){0};
	gsd_positions_free(g);
	if (g->reserved > 0)
		gsd_device_reserve_less(gsd_pages_place(g->pages)->dev, g->reserved);
	g->reserved = 0;
}

/*
 * Begins anew in host memory, with the ranges and the rows of what was added.
 */
static void
go_to_host(grouping *g)
{
	page_job *j = g->pages;

	free_made(g);
	gsd_pages_restart(j);
	g->engine = NULL;
	g->status = GS_OK;
	g->ended = false;
	g->rows = 0;
	for (uint32_t i = 0; i < j->nadded; i++)
		g->rows += j->added[i]->rows;
	j->on_host = true;
}

gs_status
gsd_grouping_do(grouping *g)
{
	gs_status status = group(g->pages);

	if (!is_for_host(g, status))
		return status;
	go_to_host(g);
	return group(g->pages);
}

/*
 * Copies TIDs of the next rows.  The client may write to out, so rows never lie there.
 */
static gs_status
read_rows(grouping *g, uint64_t *out, uint64_t n)
{
	gs_row rows[ROWS_AT_ONCE];
	uint64_t tids[ROWS_AT_ONCE];

	for (uint64_t done = 0, some; done < n; done += some)
	{
		some = n - done < ROWS_AT_ONCE ? n - done : ROWS_AT_ONCE;
		GS_TRY(gs_groups_read(g->groups, g->engine, g->given + done, some, rows));
		GS_TRY(gsd_rows_tids(&g->rows_of, rows, some, tids));
		memcpy(out + done, tids, some * sizeof(*tids));
	}
	return GS_OK;
}

gs_status
gsd_grouping_read(grouping *g, char *out, uint64_t room_bytes, uint64_t *n)
{
	uint64_t room = room_bytes / g->bytes, left = g->count - g->given;

	*n = left < room ? left : room;
	if (*n > 0 && gs_steps_rows(g->steps) != NULL)
		GS_TRY(read_rows(g, (uint64_t *) out, *n));
	else if (*n > 0)
		GS_TRY(gs_groups_read(g->groups, g->engine, g->given, *n, out));
	g->given += *n;
	return GS_OK;
}

void
gsd_grouping_free(grouping *g)
{
	page_job *j = g->pages;

	free_made(g);
	gsd_ranks_free(g);
	for (uint32_t i = 0; i < j->nadded; i++)
		gsd_segment_free(g->added_at, j->added[i]);
	free(j->added);
	free_tables(g);
}
