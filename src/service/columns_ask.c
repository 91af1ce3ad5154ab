/*
 * columns_ask.c: questions about columns: GSD_ASK with a list of steps, rows of the client's own, and the answer.
 *
 * Lists that gs_reduce_rows carries out add up as rows come, unless they are about ranks; columns_groups.c does all
 * others.  A question that fails stays one until its end: what follows is taken and not looked at, and GSD_FINISH hears
 * why.
 */
#include "columns.h"
#include "kernels/gs_steps.h"

#include <stdlib.h>
#include <string.h>

typedef struct question
{
	page_job pages;
	uint32_t columns[GS_STEPS_MAX_COLUMNS];
	gs_type types[GS_STEPS_MAX_COLUMNS];
	uint64_t bytes; /* of this, the list included */
	uint64_t added; /* rows of chunks */
	uint64_t result_bytes, temp_bytes;
	bool counted; /* groups are, and none is sent */
	bool aside;	  /* it is no query */
	bool reduces; /* otherwise: */
	grouping groups;
	_Alignas(8) gs_steps steps; /* a private copy, checked; the last member */
} question;

/*
 * A worker's memory: its results, those of a unit, and the engine's scratch.
 */
typedef struct parts
{
	gs_reduced *all, *some;
	void *temp;
} parts;

/*
 * Rounds up to the alignment of an engine's scratch.
 */
static uint64_t
aligned(uint64_t bytes)
{
	return (bytes + 255) & ~(uint64_t) 255;
}

/*
 * Returns where they are in a worker's memory.
 */
static parts
parts_of(const question *q, void *own)
{
	uint64_t room = aligned(q->result_bytes);
	char *at = own;

	return (parts){(gs_reduced *) at, (gs_reduced *) (at + room), at + 2 * room};
}

/*
 * Does some rows on the CPU, and adds their results to a worker's.
 */
static gs_status
ask_unit(void *arg, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	const question *q = arg;
	parts p = parts_of(q, gsd_pages_own(&q->pages, worker));

	GS_TRY(gs_reduce_rows(engine, rows, &q->steps, p.some, p.temp, q->temp_bytes));
	return gs_reduced_combine(&q->steps, p.all, p.some);
}

/*
 * Does all pages on a device, with the connection's engine and scratch there.
 */
static gs_status
ask_whole(void *arg, const gs_held_rows *rows)
{
	question *q = arg;
	gs_engine *engine = q->pages.c->engine;
	uint64_t bytes = gs_reduce_temp_bytes(engine, rows, &q->steps);
	parts p = parts_of(q, gsd_pages_own(&q->pages, 0));
	char *scratch = NULL;
	gs_status status;

	if (bytes > 0)
		GS_TRY(gsd_place_alloc(q->pages.t->place, bytes, &scratch));
	status = gs_reduce_rows(engine, rows, &q->steps, p.some, scratch, bytes);
	gsd_place_free(q->pages.t->place, scratch, bytes);
	return status == GS_OK ? gs_reduced_combine(&q->steps, p.all, p.some) : status;
}

/*
 * Frees a question.
 */
static void
free_question(question *q)
{
	if (q->groups.pages != NULL)
		gsd_grouping_free(&q->groups);
	gsd_pages_leave(&q->pages);
	gsd_table_leave(q->pages.t);
	gsd_work_give(q->bytes);
	free(q);
}

void
gsd_ask_drop(connection *c)
{
	if (c->question != NULL)
		free_question(c->question);
	c->question = NULL;
	c->asking = false;
}

/*
 * Gives a question up, for a reason that its end will hear.
 */
static void
refuse(connection *c, gs_status why)
{
	device *dev = c->question != NULL ? c->question->pages.t->place->dev : NULL;

	gsd_ask_drop(c);
	c->asking = true;
	c->refused = why;
	gsd_device_judge(c, dev, why);
}

/*
 * Tells what memory a worker needs, with the CPU's scratch, which depends on the list alone.
 */
static gs_status
measure(question *q)
{
	gs_held_rows none = {.types = q->types, .ncolumns = q->steps.ncolumns};
	gs_engine *engine;

	GS_TRY(gs_cpu_open(1, NULL, &engine));
	q->temp_bytes = gs_reduce_temp_bytes(engine, &none, &q->steps);
	gs_engine_close(engine);
	q->pages.own_bytes = 2 * aligned(q->result_bytes) + q->temp_bytes;
	return GS_OK;
}

/*
 * Makes the work over the pages.
 */
static void
prepare(question *q, connection *c, const gsd_ask *m)
{
	q->pages.c = c;
	q->pages.mask = (const volatile uint64_t *) c->ring;
	q->pages.blocks = m->blocks;
	q->pages.ncolumns = m->ncolumns;
	q->pages.columns = q->columns;
	q->pages.types = q->types;
	q->pages.positions = m->columns[m->ncolumns - 1] == GSD_POSITIONS;
	for (uint32_t i = 0; i < m->ncolumns; i++)
	{
		q->columns[i] = m->columns[i];
		q->types[i] = (gs_type) q->steps.types[i];
	}
	q->pages.unit = ask_unit;
	q->pages.whole = ask_whole;
	q->pages.arg = q;
}

/*
 * Checks a question of which the list has been copied, and pins the version.
 */
static gs_status
begin(question *q, connection *c, const gsd_ask *m)
{
	uint64_t behind = 0;

	if (gs_steps_check(&q->steps, m->steps_bytes) != GS_OK || q->steps.ncolumns != m->ncolumns)
		return GS_PROTOCOL;
	prepare(q, c, m);
	if (!gsd_pages_have_columns(&q->pages, m->ranked > 0))
		return GS_INVALID;
	q->reduces = gs_steps_reduces(&q->steps) && m->ranked == 0;
	q->counted = m->counted != 0;
	q->aside = m->aside != 0;
	if (q->reduces + (m->further > 0) + q->pages.positions > 1)
		return GS_PROTOCOL;
	q->result_bytes = gs_steps_result_bytes(&q->steps);
	GS_TRY(q->reduces ? measure(q) : gsd_grouping_begin(&q->groups, &q->pages, &q->steps));
	GS_TRY(gsd_pages_pin(&q->pages, m->version));
	if (!q->reduces)
		GS_TRY(gsd_grouping_tables(&q->groups, m, &behind));
	if (m->ranked > 0)
		GS_TRY(gsd_ranks_read(&q->groups, m, behind));
	return gsd_pages_engine(&q->pages, 0) != NULL ? GS_OK : GS_NOMEM;
}

/*
 * Makes a question about a table.
 */
static gs_status
make_question(connection *c, table *t, const gsd_ask *m)
{
	uint64_t bytes = sizeof(question) + m->steps_bytes;
	uint64_t at = gsd_slots_end(&c->layout, 0, gsd_mask_bytes(m->blocks)) * c->layout.slot_bytes;
	bool room = gsd_work_take(bytes);
	question *q = room ? calloc(1, bytes) : NULL;

	if (q == NULL)
	{
		if (room)
			gsd_work_give(bytes);
		gsd_table_leave(t);
		return GS_NOMEM;
	}
	q->bytes = bytes;
	q->pages.t = t;
	memcpy(&q->steps, c->ring + at, m->steps_bytes);
	c->question = q;
	return begin(q, c, m);
}

void
gsd_on_ask(connection *c, const gsd_ask *m)
{
	table *t = gsd_table_find(gsd_database(c), m->table);
	gs_status status = GS_INVALID;

	c->number = m->job;
	c->state = ADDING;
	c->asking = true;
	c->chosen = gsd_fault_choose();
	c->busy_sent_ns = gsd_now_ns();
	if (t != NULL)
		status = make_question(c, t, m);
	if (status == GS_OK)
		status = gsd_fault_status(c->chosen, STAGE_BEGIN);
	if (status != GS_OK)
		refuse(c, status);
}

/*
 * Carries out a list that reduces over a chunk, whose owner may be writing to it: what is read where is copied and
 * checked.
 */
static gs_status
reduce_chunk(question *q, const gs_chunk *chunk, uint64_t available)
{
	gs_held columns[GS_STEPS_MAX_COLUMNS];
	gs_held_rows rows = {
		.types = q->types, .ncolumns = q->pages.ncolumns, .nsegments = 1, .columns = columns, .nspans = 1};
	gs_view view;
	gs_span span;

	if (gs_view_open(&view, chunk, available, rows.ncolumns) != GS_OK)
		return GS_PROTOCOL;
	for (uint32_t i = 0; i < rows.ncolumns; i++)
	{
		gs_chunk_column column;

		if (gs_view_column(&view, i, q->types[i], &column) != GS_OK)
			return GS_PROTOCOL;
		columns[i].values = (const char *) chunk + column.values;
		columns[i].nulls = column.has_nulls ? (const uint64_t *) ((const char *) chunk + column.nulls) : NULL;
	}
	span = (gs_span){.rows = view.rows};
	rows.spans = &span;
	q->added += view.rows;
	return ask_unit(q, 0, gsd_pages_engine(&q->pages, 0), &rows);
}

/*
 * Adds a chunk.
 */
static gs_status
add_chunk(question *q, const char *slot, uint64_t slot_bytes)
{
	uint64_t rows = 0;

	if (q->reduces)
		return reduce_chunk(q, (const gs_chunk *) slot, slot_bytes);
	GS_TRY(gsd_grouping_add(&q->groups, slot, slot_bytes, &rows));
	q->added += rows;
	return GS_OK;
}

void
gsd_ask_add(connection *c, const gsd_slot *m)
{
	gs_status status = GS_OK;
	gsd_slot answer;

	if (c->question != NULL)
	{
		gsd_set_busy(c, true);
		status = gsd_fault_status(c->chosen, STAGE_ADD);
		if (status == GS_OK)
			status = add_chunk(c->question, c->ring + m->slot * c->layout.slot_bytes, c->layout.slot_bytes);
		gsd_set_busy(c, false);
	}
	if (status != GS_OK)
		refuse(c, status);
	gsd_head(&answer.head, GSD_FREE, sizeof(answer));
	answer.job = c->number;
	answer.slot = m->slot;
	gsd_reply(c, &answer.head);
}

/*
 * Adds the results of all workers to those of the first.
 */
static gs_status
collect(question *q)
{
	gs_reduced *all = parts_of(q, gsd_pages_own(&q->pages, 0)).all;

	for (uint32_t i = 1; i < GSD_MAX_THREADS; i++)
	{
		void *own = gsd_pages_own(&q->pages, i);

		if (own != NULL)
			GS_TRY(gs_reduced_combine(&q->steps, all, parts_of(q, own).all));
	}
	return GS_OK;
}

/*
 * Makes the answer of a list that reduces, in area 0.
 */
static gs_status
reduce(question *q, char *area, gsd_answered *answer)
{
	GS_TRY(gsd_pages_in_turn(&q->pages, gsd_pages_turns(&q->pages), gsd_pages_run));
	GS_TRY(collect(q));
	answer->groups = 1;
	memcpy(area, parts_of(q, gsd_pages_own(&q->pages, 0)).all, q->result_bytes);
	return GS_OK;
}

/*
 * Makes the groups of a list, and writes them to area 0 if all fit there and are not only counted.
 */
static gs_status
group(question *q, char *area, uint64_t area_bytes, gsd_answered *answer)
{
	uint64_t given;

	GS_TRY(gsd_grouping_do(&q->groups));
	answer->groups = q->groups.count;
	if (q->counted)
		q->groups.given = q->groups.count;
	if (q->counted || answer->groups > area_bytes / q->result_bytes)
		return GS_OK;
	return gsd_grouping_read(&q->groups, area, area_bytes, &given);
}

/*
 * Answers.
 */
static gs_status
finish(connection *c, question *q, const gsd_count *m, gsd_answered *answer)
{
	char *area = c->ring + c->layout.slots * c->layout.slot_bytes;
	uint64_t began = gsd_now_ns();

	if (m->count != q->added)
		return GS_PROTOCOL;
	GS_TRY(gsd_fault_status(c->chosen, STAGE_FINISH));
	GS_TRY(q->reduces ? reduce(q, area, answer) : group(q, area, c->layout.area_bytes, answer));
	answer->engine_ns = gsd_now_ns() - began;
	answer->rows = q->pages.rows;
	answer->pages = q->pages.pages;
	answer->on_host = q->pages.on_host && q->pages.t->place->dev != NULL;
	answer->copied = answer->on_host ? q->groups.copies : 0;
	answer->bytes = answer->groups * q->result_bytes;
	if (!q->aside)
		gsd_pages_answered(&q->pages);
	gsd_fault_answer(c->chosen, area, c->layout.area_bytes, &q->steps, answer);
	return GS_OK;
}

/*
 * Ends a question that is over.
 */
static void
end_question(connection *c)
{
	gsd_ask_drop(c);
	c->state = NO_JOB;
}

/*
 * Says that no more groups come; only GSD_END may follow.
 */
static void
fail_reading(connection *c, gs_status status)
{
	device *dev = c->question->pages.t->place->dev;

	refuse(c, status);
	c->state = OVER;
	if (status != GS_CANCELLED)
		gsd_reply_result(c, GSD_FAILED, status, NULL);
	gsd_device_judge(c, dev, status);
}

void
gsd_ask_send_parts(connection *c)
{
	question *q = c->question;

	for (uint32_t area = 0; area < c->layout.areas && c->state == READING && !c->closed; area++)
	{
		char *out = c->ring + c->layout.slots * c->layout.slot_bytes + area * c->layout.area_bytes;
		uint64_t before = q->groups.given, n;
		gsd_result_part m;
		gs_status status;
		bool last;

		if (!(c->areas_free >> area & 1))
			continue;
		gsd_set_busy(c, true);
		status = gsd_fault_status(c->chosen && before > 0, STAGE_NEXT);
		if (status == GS_OK)
			status = gsd_grouping_read(&q->groups, out, c->layout.area_bytes, &n);
		gsd_set_busy(c, false);
		if (status != GS_OK)
		{
			fail_reading(c, status);
			return;
		}
		gsd_fault_groups(c->chosen, before, out, n, &q->steps);
		gsd_head(&m.head, GSD_PART, sizeof(m));
		m.job = c->number;
		m.area = area;
		m.rows = (uint32_t) n;
		c->areas_free &= ~((uint64_t) 1 << area);
		last = q->groups.given == q->groups.count;
		gsd_reply(c, &m.head);
		if (last)
			end_question(c);
	}
}

/*
 * Judges the devices on which a question's tables lie.
 */
static void
judge_devices(connection *c, gs_status status)
{
	for (const page_job *j = c->question != NULL ? &c->question->pages : NULL; j != NULL; j = j->further)
		gsd_device_judge(c, j->t->place->dev, status);
}

void
gsd_ask_finish(connection *c, const gsd_count *m)
{
	gs_status status = c->question != NULL ? GS_OK : c->refused;
	gsd_answered answer;

	gsd_head(&answer.head, GSD_ANSWERED, sizeof(answer));
	answer.job = c->number;
	if (status == GS_OK)
		status = finish(c, c->question, m, &answer);
	answer.status = status;
	if (status == GS_OK && !c->question->reduces && c->question->groups.given < c->question->groups.count)
	{
		c->state = READING;
		c->areas_free = ~(uint64_t) 0;
	}
	/* the client need not wait until memory is freed */
	if (status != GS_CANCELLED)
		gsd_reply(c, &answer.head);
	judge_devices(c, status);
	if (c->state != READING)
		end_question(c);
	if (c->state == READING)
		gsd_ask_send_parts(c);
}
