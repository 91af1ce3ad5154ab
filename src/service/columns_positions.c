/*
 * columns_positions.c: questions about the order of a table's rows.  The list's last column says where they are: the
 * block above the row's number in the page, of what segments know of their pages, in memory of the question's own.
 *
 * A list that asks for nothing but the order of all rows gets them in it instead: columns_placed.c.
 */
#include "columns.h"

#include <stdlib.h>

/*
 * Returns the bytes of a segment's positions.
 */
static uint64_t
positions_bytes(const segment *s)
{
	return gsd_aligned(s->rows * sizeof(int64_t));
}

/*
 * Returns the bytes of the positions of all segments of pages; to: where they are to lie, or NULL.
 */
static uint64_t
place_positions(grouping *g, const char *to)
{
	const uint32_t ncolumns = g->pages->ncolumns;
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < g->rows_of.held; i++)
	{
		if (to != NULL)
			g->rows_of.columns[i * ncolumns + ncolumns - 1].values = to + bytes;
		bytes += positions_bytes(g->rows_of.of[i]);
	}
	return bytes;
}

/*
 * Writes the positions of a segment's rows.
 */
static void
write_positions(const segment *s, int64_t *to)
{
	for (uint32_t p = 0; p < s->npages; p++)
	{
		const uint32_t first = s->pages[p].first, end = p + 1 < s->npages ? s->pages[p + 1].first : s->rows;
		const int64_t at = (int64_t) s->pages[p].block << GSD_POSITION_BITS;

		for (uint32_t row = first; row < end; row++)
			to[row] = at + (row - first);
	}
}

/*
 * Returns where the positions of a segment of pages lie.
 */
static char *
positions_of(const grouping *g, uint32_t index)
{
	const uint32_t ncolumns = g->pages->ncolumns;

	return (char *) (uintptr_t) g->rows_of.columns[(uint64_t) index * ncolumns + ncolumns - 1].values;
}

/*
 * Writes a segment's positions in host memory, in any thread.
 */
static void
put_segment(void *arg, uint32_t worker, uint32_t index)
{
	const grouping *g = arg;

	(void) worker;
	write_positions(g->rows_of.of[index], (int64_t *) positions_of(g, index));
}

/*
 * Copies all segments' positions to a device.
 */
static gs_status
put_on_device(const grouping *g, place *p)
{
	gs_status status = GS_OK;

	for (uint32_t i = 0; i < g->rows_of.held && status == GS_OK; i++)
	{
		const segment *s = g->rows_of.of[i];
		int64_t *stage = malloc(positions_bytes(s));

		if (stage == NULL)
			return GS_NOMEM;
		write_positions(s, stage);
		status = gsd_place_put(p, positions_of(g, i), (const char *) stage, s->rows * sizeof(int64_t));
		if (status == GS_OK)
			status = gsd_place_done(p);
		free(stage);
	}
	return status;
}

/*
 * Says that rows come in the order of positions, which have no values: any address will do.
 */
static void
place_rows(grouping *g)
{
	const uint32_t ncolumns = g->pages->ncolumns;

	g->pages->placed = true;
	g->ranges[ncolumns - 1].placed = true;
	for (uint64_t i = 0; i < g->rows_of.held; i++)
		g->rows_of.columns[i * ncolumns + ncolumns - 1].values = g->rows_of.of[i];
}

gs_status
gsd_positions_put(grouping *g)
{
	const page_job *j = g->pages;
	const gs_range range = {.high = {{(uint64_t) j->blocks << GSD_POSITION_BITS, 0}}};
	place *p = gsd_place_scratch(gsd_pages_place(j));
	const uint64_t bytes = place_positions(g, NULL);

	gsd_range_join(&g->ranges[j->ncolumns - 1], &range);
	if (gs_groups_placed(g->steps, j->ncolumns - 1))
	{
		place_rows(g);
		return GS_OK;
	}
	if (bytes == 0)
		return GS_OK;
	GS_TRY(gsd_place_alloc(p, bytes, &g->positions));
	g->positions_bytes = bytes;
	(void) place_positions(g, g->positions);
	if (p->dev != NULL)
		return put_on_device(g, p);
	return gsd_pool_run(j->c, g->rows_of.held, put_segment, g) ? GS_OK : GS_CANCELLED;
}

void
gsd_positions_free(grouping *g)
{
	if (g->positions != NULL)
		gsd_place_free(gsd_place_scratch(gsd_pages_place(g->pages)), g->positions, g->positions_bytes);
	g->positions = NULL;
}
