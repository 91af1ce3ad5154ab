/*
 * columns_placed.c: rows in the order in which they lie in the table, for questions that ask for no other.  Runs of
 * pages come so by the mask, added rows go between them by their blocks: spans are put in order, rows never are.
 */
#include "columns.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a segment, and the position of the first one. */
typedef struct placed_span
{
	int64_t at;
	gs_span span;
} placed_span;

/* A list of them in the making. */
typedef struct placing
{
	grouping *g;
	placed_span *spans;
	uint64_t n, room;
	bool sorted;
} placing;

/*
 * Frees the list.
 */
static void
free_list(placing *p)
{
	gsd_place_free(gsd_place_scratch(gsd_place_host()), (char *) p->spans, p->room * sizeof(*p->spans));
}

/*
 * Makes room for as many spans more, of scratch: a question of many pages is no directory.
 */
static gs_status
make_room(placing *p)
{
	const uint64_t room = p->room > 0 ? 2 * p->room : 256;
	char *larger;

	GS_TRY(gsd_place_alloc(gsd_place_scratch(gsd_place_host()), room * sizeof(*p->spans), &larger));
	if (p->n > 0)
		memcpy(larger, p->spans, p->n * sizeof(*p->spans));
	free_list(p);
	p->spans = (placed_span *) larger;
	p->room = room;
	return GS_OK;
}

/*
 * Appends rows of a segment.
 */
static gs_status
add_span(placing *p, int64_t at, gs_span span)
{
	if (p->n == p->room)
		GS_TRY(make_room(p));
	p->sorted &= p->n == 0 || p->spans[p->n - 1].at < at;
	p->spans[p->n++] = (placed_span){at, span};
	return GS_OK;
}

/*
 * Appends the rows of a run of pages, between which there are no added rows.
 */
static gs_status
add_run(void *arg, const page_run *run)
{
	placing *p = arg;
	const segment *s = run->of;

	p->g->pages->rows += run->rows;
	p->g->pages->pages += run->pages;
	if (run->rows == 0)
		return GS_OK;
	return add_span(p, (int64_t) s->pages[gsd_rows_page(s, run->first)].block << GSD_POSITION_BITS,
					(gs_span){gsd_rows_place(&p->g->rows_of, s), run->first, run->rows});
}

/*
 * Appends the rows of an added segment, those of each block by themselves.  at: their positions.
 */
static gs_status
add_blocks(placing *p, uint32_t named, const segment *s, const int64_t *at)
{
	for (uint32_t first = 0, end; first < s->rows; first = end)
	{
		for (end = first + 1; end < s->rows && at[end] >> GSD_POSITION_BITS == at[first] >> GSD_POSITION_BITS;)
			end++;
		GS_TRY(add_span(p, at[first], (gs_span){named, first, end - first}));
	}
	return GS_OK;
}

/*
 * Appends the rows of an added segment, whose positions are copied from a device.
 */
static gs_status
add_added(placing *p, uint32_t index)
{
	const page_job *j = p->g->pages;
	const segment *s = j->added[index];
	const uint32_t named = p->g->rows_of.held + index;
	const uint64_t bytes = s->rows * sizeof(int64_t);
	const char *at = p->g->rows_of.columns[(uint64_t) (named + 1) * j->ncolumns - 1].values;
	place *from = p->g->added_at;
	gs_status status;
	char *copy;

	if (from->dev == NULL || j->on_host)
		return add_blocks(p, named, s, (const int64_t *) at);
	GS_TRY(gsd_place_alloc(gsd_place_scratch(gsd_place_host()), bytes, &copy));
	status = gsd_place_get(from, copy, at, bytes);
	if (status == GS_OK)
		status = gsd_place_done(from);
	if (status == GS_OK)
		status = add_blocks(p, named, s, (const int64_t *) copy);
	gsd_place_free(gsd_place_scratch(gsd_place_host()), copy, bytes);
	return status;
}

/*
 * Makes the list of all rows.
 */
static gs_status
make_list(placing *p)
{
	const page_job *j = p->g->pages;

	GS_TRY(gsd_pages_runs(j, 0, ((uint64_t) j->blocks + 63) / 64, add_run, p));
	for (uint32_t i = 0; i < j->nadded; i++)
		GS_TRY(add_added(p, i));
	return GS_OK;
}

/*
 * Compares positions, as qsort's comparison.
 */
static int
compare(const void *a, const void *b)
{
	const placed_span *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/*
 * Joins spans that follow each other in a segment, at the beginning of the memory.  Returns their list.
 */
static const gs_span *
join_spans(placing *p, uint64_t *n)
{
	gs_span *to = (gs_span *) p->spans;

	*n = 0;
	for (uint64_t i = 0; i < p->n; i++)
	{
		const gs_span span = p->spans[i].span;

		if (*n > 0 && to[*n - 1].segment == span.segment && to[*n - 1].first + to[*n - 1].rows == span.first)
			to[*n - 1].rows += span.rows;
		else
			to[(*n)++] = span;
	}
	return to;
}

gs_status
gsd_placed_run(grouping *g)
{
	const page_job *j = g->pages;
	placing p = {.g = g, .sorted = true};
	gs_held_rows rows = {.types = j->types,
						 .ncolumns = j->ncolumns,
						 .nsegments = g->rows_of.n,
						 .columns = g->rows_of.columns};
	gs_status status = make_list(&p);

	if (status == GS_OK && !p.sorted)
		qsort(p.spans, p.n, sizeof(*p.spans), compare);
	if (status == GS_OK && p.n > 0)
	{
		rows.spans = join_spans(&p, &rows.nspans);
		status = gs_groups_rows(g->groups, 0, g->engine, &rows);
	}
	free_list(&p);
	return status;
}
