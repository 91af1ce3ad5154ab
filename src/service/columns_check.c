/*
 * columns_check.c: GSD_CHECK: sums over the pages of a mask, in a version that is pinned meanwhile.
 *
 * The pages of the mask become a list of spans, each of pages that follow each other in a segment, with the columns of
 * the segments beside it.  A device gets the whole list; in host memory it is cut into units for the threads.
 */
#include "columns.h"

#include <stdlib.h>
#include <string.h>

/* Rows and spans of a unit of work, a fraction of a millisecond. */
#define UNIT_ROWS 65536
#define UNIT_SPANS 1024

/* An array in host memory that grows, within the limits. */
typedef struct list
{
	char *data;
	uint64_t bytes, used;
} list;

/* Where a unit begins. */
typedef struct unit
{
	uint32_t segment; /* in the list of columns; its spans count segments from here */
	uint64_t span;
} unit;

typedef struct work
{
	connection *c;
	table *t;
	const version *v;
	const gsd_check *m;
	gs_type types[GSD_TABLE_COLUMNS];
	list columns, spans, units;
	const segment *last; /* of the last span */
	uint32_t nsegments;
	uint64_t unit_rows;
	uint64_t rows, pages;
	_Atomic uint64_t sum, hash;
	_Atomic uint32_t status; /* of a unit that failed */
} work;

/*
 * Appends to a list.  Returns false without memory.
 */
static bool
append(list *l, const void *item, uint64_t bytes)
{
	if (l->used + bytes > l->bytes)
	{
		uint64_t more = l->bytes > 0 ? l->bytes : 4096 > bytes ? 4096 : bytes;
		bool room = gsd_work_take(more);
		char *data = room ? realloc(l->data, l->bytes + more) : NULL;

		if (data == NULL && room)
			gsd_work_give(more);
		if (data == NULL)
			return false;
		l->data = data;
		l->bytes += more;
	}
	memcpy(l->data + l->used, item, bytes);
	l->used += bytes;
	return true;
}

/*
 * Frees a list.
 */
static void
free_list(list *l)
{
	free(l->data);
	gsd_work_give(l->bytes);
}

/*
 * Begins a unit of work if the last one is full.  A device takes one unit.
 */
static bool
begin_unit(work *w)
{
	uint64_t span = w->spans.used / sizeof(gs_span);
	uint64_t units = w->units.used / sizeof(unit);

	if (units > 0)
	{
		const unit *last = (const unit *) w->units.data + units - 1;

		if (w->t->place->dev != NULL || (w->unit_rows < UNIT_ROWS && span - last->span < UNIT_SPANS))
			return true;
	}
	w->unit_rows = 0;
	w->last = NULL;
	return append(&w->units, &(unit){w->nsegments, span}, sizeof(unit));
}

/*
 * Appends the columns of another segment.
 */
static bool
add_segment(work *w, const segment *s)
{
	for (uint32_t i = 0; i < w->m->ncolumns; i++)
		if (!append(&w->columns, &s->columns[w->m->columns[i]], sizeof(gs_held)))
			return false;
	w->last = s;
	w->nsegments++;
	return true;
}

/*
 * Appends rows of a segment, in units.
 */
static bool
add_span(work *w, const segment *s, uint32_t first, uint32_t rows)
{
	while (rows > 0)
	{
		const unit *u;
		gs_span span = {.first = first, .rows = rows};

		if (!begin_unit(w) || (s != w->last && !add_segment(w, s)))
			return false;
		u = (const unit *) (w->units.data + w->units.used) - 1;
		span.segment = w->nsegments - 1 - u->segment;
		if (w->t->place->dev == NULL && rows > UNIT_ROWS)
			span.rows = UNIT_ROWS;
		if (!append(&w->spans, &span, sizeof(span)))
			return false;
		w->unit_rows += span.rows;
		first += span.rows;
		rows -= span.rows;
	}
	return true;
}

/* Rows of a segment that are not in the list yet: pages that follow each other. */
typedef struct pending
{
	const segment *of;
	uint32_t first, rows;
} pending;

/*
 * Adds a page to the pending rows, or appends these and begins with the page.
 */
static gs_status
add_page(work *w, pending *p, const page_place *page)
{
	if (page == NULL || page->of == NULL)
		return GS_INVALID;
	w->pages++;
	w->rows += page->rows;
	if (page->of == p->of && page->first == p->first + p->rows)
	{
		p->rows += page->rows;
		return GS_OK;
	}
	if (p->rows > 0 && !add_span(w, p->of, p->first, p->rows))
		return GS_NOMEM;
	*p = (pending){page->of, page->first, page->rows};
	return GS_OK;
}

/*
 * Returns the bits of a word of a mask that stand for blocks.
 */
static uint64_t
bits_of_blocks(uint32_t blocks, uint64_t word)
{
	uint64_t left = blocks - word * 64;

	return left < 64 ? ((uint64_t) 1 << left) - 1 : ~(uint64_t) 0;
}

/*
 * Makes the list.  The mask's owner may be writing to it: each word is read once.
 */
static gs_status
make_list(work *w, const volatile uint64_t *mask)
{
	pending p = {0};

	for (uint64_t word = 0; word * 64 < w->m->blocks; word++)
	{
		uint64_t bits = mask[word] & bits_of_blocks(w->m->blocks, word);

		for (; bits != 0; bits &= bits - 1)
			GS_TRY(add_page(w, &p, gsd_version_page(w->v, word * 64 + (uint64_t) __builtin_ctzll(bits))));
	}
	if (p.rows > 0 && !add_span(w, p.of, p.first, p.rows))
		return GS_NOMEM;
	return GS_OK;
}

/*
 * Returns the rows of a unit, for the engine.
 */
static gs_held_rows
rows_of_unit(const work *w, uint64_t index)
{
	uint64_t units = w->units.used / sizeof(unit), spans = w->spans.used / sizeof(gs_span);
	const unit *u = (const unit *) w->units.data + index;
	bool last = index + 1 == units;

	return (gs_held_rows){.types = w->types,
						  .ncolumns = w->m->ncolumns,
						  .nsegments = (last ? w->nsegments : u[1].segment) - u->segment,
						  .columns = (const gs_held *) w->columns.data + (uint64_t) u->segment * w->m->ncolumns,
						  .nspans = (last ? spans : u[1].span) - u->span,
						  .spans = (const gs_span *) w->spans.data + u->span};
}

/*
 * Does a unit on the CPU, in any thread.
 */
static void
check_unit(void *arg, uint32_t index)
{
	work *w = arg;
	gs_held_rows rows = rows_of_unit(w, index);
	uint64_t sums[2] = {0, 0};
	gs_engine *engine;
	gs_status status = gs_cpu_open(1, NULL, &engine);

	if (status == GS_OK)
	{
		status = gs_check(engine, &rows, sums, NULL, 0);
		gs_engine_close(engine);
	}
	if (status != GS_OK)
		atomic_store(&w->status, status);
	atomic_fetch_add(&w->sum, sums[0]);
	atomic_fetch_xor(&w->hash, sums[1]);
}

/*
 * Does all on a device, with the connection's engine and scratch there.
 */
static gs_status
check_on_device(work *w)
{
	connection *c = w->c;
	place *p = w->t->place;
	gs_held_rows rows = rows_of_unit(w, 0);
	uint64_t sums[2], bytes = 256;
	char *scratch;
	gs_status status;

	GS_TRY(gsd_open_engine(c, p->dev));
	bytes += gs_check_temp_bytes(c->engine, &rows);
	GS_TRY(gsd_place_alloc(p, bytes, &scratch));
	status = gs_check(c->engine, &rows, (uint64_t *) scratch, scratch + 256, bytes - 256);
	if (status == GS_OK)
		status = gs_download(c->engine, sums, scratch, sizeof(sums));
	if (status == GS_OK)
		status = gs_sync(c->engine);
	gsd_place_free(p, scratch, bytes);
	if (status == GS_OK)
	{
		w->sum = sums[0];
		w->hash = sums[1];
	}
	return status;
}

/*
 * Computes the sums over the list.
 */
static gs_status
compute(work *w)
{
	uint64_t units = w->units.used / sizeof(unit);
	gs_status status;

	if (units == 0)
		return GS_OK;
	if (units > UINT32_MAX)
		return GS_TOO_BIG;
	if (w->t->place->dev == NULL)
		return gsd_pool_run(w->c, (uint32_t) units, check_unit, w) ? (gs_status) w->status : GS_CANCELLED;
	gsd_set_busy(w->c, true);
	status = check_on_device(w);
	gsd_set_busy(w->c, false);
	return status;
}

/*
 * Pins a version of a table, and notes the pages that the query has to read elsewhere.  NULL: no such version.
 */
static version *
pin(table *t, const gsd_check *m, const volatile uint64_t *mask)
{
	version *v;

	pthread_mutex_lock(&t->mutex);
	v = t->current;
	while (v != NULL && v->number != m->version)
		v = v->older;
	if (v != NULL)
		v->pins++;
	if (gsd_table_want_room(t, m->blocks))
		for (uint64_t word = 0; word * 64 < m->blocks; word++)
			t->wanted[word] |= ~mask[word] & bits_of_blocks(m->blocks, word);
	pthread_mutex_unlock(&t->mutex);
	return v;
}

/*
 * Lets a version go, and counts an answer.
 */
static void
unpin(table *t, version *v, bool answered)
{
	pthread_mutex_lock(&t->mutex);
	v->pins--;
	t->queries += answered;
	pthread_mutex_unlock(&t->mutex);
}

/*
 * Answers for a table.
 */
static gs_status
check_table(connection *c, table *t, const gsd_check *m, gsd_checked *answer)
{
	const volatile uint64_t *mask = (const volatile uint64_t *) (c->ring + m->slot * c->layout.slot_bytes);
	work w = {.c = c, .t = t, .m = m};
	version *v;
	gs_status status;

	for (uint32_t i = 0; i < m->ncolumns; i++)
	{
		if (m->columns[i] >= t->ncolumns)
			return GS_INVALID;
		w.types[i] = (gs_type) t->types[m->columns[i]];
	}
	w.v = v = pin(t, m, mask);
	if (v == NULL)
		return GS_INVALID;
	status = make_list(&w, mask);
	answer->engine_ns = gsd_now_ns();
	if (status == GS_OK)
		status = compute(&w);
	answer->engine_ns = gsd_now_ns() - answer->engine_ns;
	unpin(t, v, status == GS_OK);
	free_list(&w.columns);
	free_list(&w.spans);
	free_list(&w.units);
	answer->rows = w.rows;
	answer->pages = w.pages;
	answer->sum = w.sum;
	answer->hash = w.hash;
	return status;
}

void
gsd_on_check(connection *c, const gsd_check *m)
{
	table *t = gsd_table_find(gsd_database(c), m->table);
	gs_status status = GS_INVALID;
	gsd_checked answer;

	gsd_head(&answer.head, GSD_CHECKED, sizeof(answer));
	c->number = answer.job = m->job;
	c->busy_sent_ns = gsd_now_ns();
	if (t != NULL)
	{
		status = check_table(c, t, m, &answer);
		gsd_table_leave(t);
	}
	answer.status = status;
	if (status != GS_CANCELLED)
		gsd_reply(c, &answer.head);
}
