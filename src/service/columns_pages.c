/*
 * columns_pages.c: work over the pages of a mask, in a version that is pinned meanwhile.
 *
 * Pages become a list of spans, each of pages that follow each other in a segment, with the columns of the segments
 * beside it.  A device gets the list of all pages.  In host memory the mask is cut into units; the worker that takes a
 * unit makes the list of its pages and does them, with an engine, lists and results of its own.
 */
#include "columns.h"

#include <stdlib.h>
#include <string.h>

/* Words of the mask in a unit of work: 512 pages, some 50,000 rows, a fraction of a millisecond. */
#define UNIT_WORDS 8
#define LEAF_WORDS (LEAF_PAGES / 64)
_Static_assert(UNIT_WORDS % LEAF_WORDS == 0, "a unit begins with a leaf");

/* An array in host memory that grows, within the limits. */
typedef struct list
{
	char *data;
	uint64_t bytes, used;
} list;

struct page_worker
{
	gs_engine *engine; /* the CPU's */
	list columns, spans;
	const segment *last; /* of the last span */
	uint32_t nsegments;
	uint64_t rows, pages; /* of all its lists */
	void *own;
};

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
 * Appends the columns of another segment.
 */
static bool
add_segment(const page_job *j, page_worker *w, const segment *s)
{
	for (uint32_t i = 0; i < j->ncolumns; i++)
		if (!append(&w->columns, &s->columns[j->columns[i]], sizeof(gs_held)))
			return false;
	w->last = s;
	w->nsegments++;
	return true;
}

/* A worker's list, and the rows of a segment that are not in it yet: runs that follow each other. */
typedef struct pending
{
	const page_job *j;
	page_worker *w;
	const segment *of;
	uint32_t first, rows;
} pending;

/*
 * Appends the pending rows.
 */
static bool
add_span(const pending *p)
{
	gs_span span = {.first = p->first, .rows = p->rows};

	if (p->rows == 0)
		return true;
	if (p->j->named == NULL && p->of != p->w->last && !add_segment(p->j, p->w, p->of))
		return false;
	span.segment = p->j->named != NULL ? gsd_rows_place(p->j->named, p->of) : p->w->nsegments - 1;
	return append(&p->w->spans, &span, sizeof(span));
}

/*
 * Adds a run to the pending rows, or appends these and begins with the run.
 */
static gs_status
add_run(void *arg, const page_run *run)
{
	pending *p = arg;

	p->w->pages += run->pages;
	p->w->rows += run->rows;
	if (run->of == p->of && run->first == p->first + p->rows)
	{
		p->rows += run->rows;
		return GS_OK;
	}
	if (!add_span(p))
		return GS_NOMEM;
	p->of = run->of;
	p->first = run->first;
	p->rows = run->rows;
	return GS_OK;
}

/*
 * Returns the bits of a word that stand for blocks.
 */
static uint64_t
bits_of_blocks(uint32_t blocks, uint64_t word)
{
	return gs_mask(blocks - word * 64 < 64 ? (uint32_t) (blocks - word * 64) : 64);
}

/*
 * Gives the pages of a word one by one.
 */
static gs_status
take_pages(const page_job *j, uint64_t word, uint64_t bits, gs_status (*take)(void *arg, const page_run *run),
		   void *arg)
{
	for (; bits != 0; bits &= bits - 1)
	{
		const page_place *page = gsd_version_page(j->v, word * 64 + (uint64_t) __builtin_ctzll(bits));
		page_run run = {.pages = 1};

		if (page == NULL || page->of == NULL)
			return GS_INVALID;
		run.of = page->of;
		run.first = page->first;
		run.rows = page->rows;
		GS_TRY(take(arg, &run));
	}
	return GS_OK;
}

/*
 * Returns the bits of a word that stand for some pages of its leaf.
 */
static uint64_t
bits_of_run(const page_run *run, uint32_t word)
{
	uint32_t begin = run->page > word * 64 ? run->page - word * 64 : 0;
	uint32_t end = (uint32_t) run->page + run->pages > word * 64 ? run->page + run->pages - word * 64 : 0;

	return end > begin ? gs_mask(end < 64 ? end : 64) & ~gs_mask(begin) : 0;
}

/*
 * Gives the runs of a leaf of which all pages are asked for, and the pages of its others.
 */
static gs_status
take_leaf(const page_job *j, const leaf *l, uint64_t word, const uint64_t *bits,
		  gs_status (*take)(void *arg, const page_run *run), void *arg)
{
	for (uint32_t r = 0; r < l->nruns; r++)
	{
		const page_run *run = &l->runs[r];
		uint64_t of[LEAF_WORDS];
		bool all = true;

		for (uint32_t i = 0; i < LEAF_WORDS; i++)
		{
			of[i] = bits_of_run(run, i);
			all &= (bits[i] & of[i]) == of[i];
		}
		if (all)
			GS_TRY(take(arg, run));
		for (uint32_t i = 0; i < LEAF_WORDS && !all; i++)
			GS_TRY(take_pages(j, word + i, bits[i] & of[i], take, arg));
	}
	return GS_OK;
}

gs_status
gsd_pages_runs(const page_job *j, uint64_t word, uint64_t end, gs_status (*take)(void *arg, const page_run *run),
			   void *arg)
{
	while (word < end)
	{
		const uint64_t index = word / LEAF_WORDS;
		const leaf *l = index < j->v->nleaves ? j->v->leaves[index] : NULL;
		const uint64_t n = end - word < LEAF_WORDS ? end - word : LEAF_WORDS;
		uint64_t bits[LEAF_WORDS] = {0}; /* each word is read once */

		for (uint64_t i = 0; i < n; i++)
			bits[i] = j->mask[word + i] & bits_of_blocks(j->blocks, word + i);
		if (l != NULL && l->nruns > 0)
			GS_TRY(take_leaf(j, l, word, bits, take, arg));
		for (uint64_t i = 0; i < n && (l == NULL || l->nruns == 0); i++)
			GS_TRY(take_pages(j, word + i, bits[i], take, arg));
		word += n;
	}
	return GS_OK;
}

/*
 * Begins a list.
 */
static void
clear_list(page_worker *w)
{
	w->columns.used = w->spans.used = 0;
	w->last = NULL;
	w->nsegments = 0;
}

/*
 * Appends the pages of some words.
 */
static gs_status
list_pages(const page_job *j, page_worker *w, uint64_t word, uint64_t end)
{
	pending p = {.j = j, .w = w};

	GS_TRY(gsd_pages_runs(j, word, end, add_run, &p));
	return add_span(&p) ? GS_OK : GS_NOMEM;
}

/*
 * Appends an added segment.
 */
static gs_status
list_added(const page_job *j, page_worker *w, uint32_t index)
{
	const segment *s = j->added[index];
	gs_span span = {.rows = s->rows};

	span.segment = j->named != NULL ? j->named->held + index : w->nsegments++;
	if (j->named == NULL && !append(&w->columns, s->columns, j->ncolumns * sizeof(gs_held)))
		return GS_NOMEM;
	return append(&w->spans, &span, sizeof(span)) ? GS_OK : GS_NOMEM;
}

/*
 * Returns a worker's list, for an engine.
 */
static gs_held_rows
rows_of_list(const page_job *j, const page_worker *w)
{
	return (gs_held_rows){.types = j->types,
						  .ncolumns = j->ncolumns,
						  .nsegments = j->named != NULL ? j->named->n : w->nsegments,
						  .columns = j->named != NULL ? j->named->columns : (const gs_held *) w->columns.data,
						  .nspans = w->spans.used / sizeof(gs_span),
						  .spans = (const gs_span *) w->spans.data};
}

/*
 * Frees a worker.
 */
static void
free_worker(const page_job *j, page_worker *w)
{
	if (w == NULL)
		return;
	gs_engine_close(w->engine);
	free_list(&w->columns);
	free_list(&w->spans);
	free(w->own);
	free(w);
	gsd_work_give(sizeof(*w) + j->own_bytes);
}

/*
 * Makes a worker.  Returns NULL without memory.
 */
static page_worker *
make_worker(const page_job *j, uint32_t worker)
{
	gs_host host = gsd_scratch_host(j->c, worker == 0);
	page_worker *w;

	if (!gsd_work_take(sizeof(*w) + j->own_bytes))
		return NULL;
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		gsd_work_give(sizeof(*w) + j->own_bytes);
	else if (posix_memalign(&w->own, 256, j->own_bytes) != 0 ||
			 gs_cpu_open(1, j->scratch ? &host : NULL, &w->engine) != GS_OK)
	{
		free_worker(j, w);
		w = NULL;
	}
	else
		memset(w->own, 0, j->own_bytes);
	return w;
}

gs_engine *
gsd_pages_engine(page_job *j, uint32_t worker)
{
	if (j->workers[worker] == NULL)
		j->workers[worker] = make_worker(j, worker);
	return j->workers[worker] != NULL ? j->workers[worker]->engine : NULL;
}

void *
gsd_pages_own(const page_job *j, uint32_t worker)
{
	return j->workers[worker] != NULL ? j->workers[worker]->own : NULL;
}

/*
 * Returns the number of units of a table's pages.
 */
static uint32_t
page_units(const page_job *j)
{
	return (uint32_t) ((((uint64_t) j->blocks + 63) / 64 + UNIT_WORDS - 1) / UNIT_WORDS);
}

/*
 * Returns the number of units.
 */
static uint32_t
all_units(const page_job *j)
{
	uint32_t units = j->nadded;

	for (const page_job *table = j; table != NULL; table = table->further)
		units += page_units(table);
	return units;
}

/*
 * Makes the list of a unit: of a table's pages, or, behind those of all tables, an added segment.
 */
static gs_status
list_unit(const page_job *j, page_worker *w, uint32_t index)
{
	clear_list(w);
	for (const page_job *table = j; table != NULL; table = table->further)
	{
		uint64_t words = ((uint64_t) table->blocks + 63) / 64, first = (uint64_t) index * UNIT_WORDS;

		if (index < page_units(table))
			return list_pages(table, w, first, first + UNIT_WORDS < words ? first + UNIT_WORDS : words);
		index -= page_units(table);
	}
	return list_added(j, w, index);
}

/*
 * Does a unit on the CPU, in any thread.
 */
static void
do_unit(void *arg, uint32_t worker, uint32_t index)
{
	page_job *j = arg;
	gs_engine *engine;
	gs_held_rows rows;
	gs_status status = GS_NOMEM;

	if (atomic_load_explicit(&j->status, memory_order_relaxed) != GS_OK)
		return;
	engine = gsd_pages_engine(j, worker);
	if (engine != NULL)
		status = list_unit(j, j->workers[worker], index);
	if (status == GS_OK)
	{
		rows = rows_of_list(j, j->workers[worker]);
		status = rows.nspans > 0 ? j->unit(j->arg, worker, engine, &rows) : GS_OK;
	}
	if (status != GS_OK)
		atomic_store(&j->status, status);
}

/*
 * Makes one list of all rows for a device.
 */
static gs_status
do_on_device(page_job *j)
{
	gs_held_rows rows;

	if (gsd_pages_engine(j, 0) == NULL)
		return GS_NOMEM;
	clear_list(j->workers[0]);
	for (const page_job *table = j; table != NULL; table = table->further)
		GS_TRY(list_pages(table, j->workers[0], 0, ((uint64_t) table->blocks + 63) / 64));
	for (uint32_t i = 0; i < j->nadded; i++)
		GS_TRY(list_added(j, j->workers[0], i));
	rows = rows_of_list(j, j->workers[0]);
	if (rows.nspans == 0)
		return GS_OK;
	GS_TRY(gsd_open_engine(j->c, gsd_pages_place(j)->dev));
	return j->whole(j->arg, &rows);
}

gs_status
gsd_pages_run(page_job *j)
{
	gs_status status;

	if (gsd_pages_place(j)->dev != NULL)
		status = do_on_device(j);
	else
		status = gsd_pool_run(j->c, all_units(j), do_unit, j) ? (gs_status) j->status : GS_CANCELLED;
	for (uint32_t i = 0; i < GSD_MAX_THREADS; i++)
	{
		j->rows += j->workers[i] != NULL ? j->workers[i]->rows : 0;
		j->pages += j->workers[i] != NULL ? j->workers[i]->pages : 0;
	}
	return status;
}

gs_status
gsd_pages_in_turn(page_job *j, turn_queue *turns, gs_status (*work)(page_job *j))
{
	gs_status status;

	if (!gsd_turn_enter(j->c, turns))
		return GS_CANCELLED;
	gsd_set_busy(j->c, true);
	status = work(j);
	gsd_turn_leave(turns);
	gsd_set_busy(j->c, false);
	return status;
}

bool
gsd_pages_have_columns(const page_job *j, bool ranked)
{
	const uint32_t own = j->ncolumns - j->positions;

	for (uint32_t i = 0; i < own; i++)
	{
		gs_type held;

		if (j->columns[i] >= j->t->ncolumns)
			return false;
		held = (gs_type) j->t->types[j->columns[i]];
		if (held != j->types[i] && !(ranked && gsd_is_code(held) && gsd_is_code(j->types[i])))
			return false;
	}
	return !j->positions || j->types[own] == GS_I64;
}

bool
gsd_pages_copy_mask(page_job *j)
{
	uint64_t bytes = gsd_mask_bytes(j->blocks);

	if (!gsd_work_take(bytes))
		return false;
	j->copied = malloc(bytes > 0 ? bytes : 1);
	if (j->copied == NULL)
	{
		gsd_work_give(bytes);
		return false;
	}
	memcpy(j->copied, (const void *) j->mask, bytes);
	j->mask = j->copied;
	return true;
}

gs_status
gsd_pages_pin(page_job *j, uint64_t number)
{
	table *t = j->t;
	version *v;

	pthread_mutex_lock(&t->mutex);
	v = t->current;
	while (v != NULL && v->number != number)
		v = v->older;
	if (v != NULL)
		v->pins++;
	if (gsd_table_want_room(t, j->blocks))
		for (uint64_t word = 0; word * 64 < j->blocks; word++)
			t->wanted[word] |= ~j->mask[word] & bits_of_blocks(j->blocks, word);
	pthread_mutex_unlock(&t->mutex);
	j->v = v;
	return v != NULL ? GS_OK : GS_INVALID;
}

void
gsd_pages_answered(const page_job *j)
{
	for (; j != NULL; j = j->further)
	{
		pthread_mutex_lock(&j->t->mutex);
		j->t->queries++;
		pthread_mutex_unlock(&j->t->mutex);
	}
}

void
gsd_pages_restart(page_job *j)
{
	for (uint32_t i = 0; i < GSD_MAX_THREADS; i++)
	{
		free_worker(j, j->workers[i]);
		j->workers[i] = NULL;
	}
	j->rows = j->pages = 0;
	j->status = GS_OK;
}

void
gsd_pages_leave(page_job *j)
{
	for (uint32_t i = 0; i < GSD_MAX_THREADS; i++)
		free_worker(j, j->workers[i]);
	if (j->copied != NULL)
		gsd_work_give(gsd_mask_bytes(j->blocks));
	free(j->copied);
	if (j->v == NULL)
		return;
	pthread_mutex_lock(&j->t->mutex);
	j->v->pins--;
	pthread_mutex_unlock(&j->t->mutex);
}
