/*
 * columns_copies.c: questions that a device does not answer, about columns that lie there.  Their columns are copied to
 * host memory, of scratch, for as long as the question lives, and the CPU answers.  What is copied are the segments of
 * the pinned version, which never change, and the rows that the client added.
 */
#include "columns.h"

/*
 * Returns the bytes of a segment's null bits.
 */
static uint64_t
null_bytes(const segment *s)
{
	return ((uint64_t) s->rows + 63) / 64 * sizeof(uint64_t);
}

/*
 * Copies a column of a named segment from a device to where its copy begins (to NULL: not yet), and has it lie there.
 * *bytes becomes what it takes; nothing of a column that has no values, as that of positions.
 */
static gs_status
copy_column(const grouping *g, place *from, uint32_t index, uint32_t column, char *to, uint64_t *bytes)
{
	const segment *s = g->rows_of.of[index];
	const page_job *j = gsd_table_with(g, index);
	const bool added = index >= g->rows_of.held;
	gs_held *held = &g->rows_of.columns[(uint64_t) index * j->ncolumns + column];
	uint64_t values, nulls;

	*bytes = 0;
	if (held->values == NULL)
		return GS_OK;
	values = s->rows * gs_type_width(added ? j->types[column] : (gs_type) j->t->types[j->columns[column]]);
	nulls = held->nulls != NULL ? null_bytes(s) : 0;
	*bytes = gsd_aligned(values) + gsd_aligned(nulls);
	if (to == NULL)
		return GS_OK;
	GS_TRY(gsd_place_get(from, to, held->values, values));
	held->values = to;
	if (nulls == 0)
		return GS_OK;
	GS_TRY(gsd_place_get(from, to + gsd_aligned(values), (const char *) held->nulls, nulls));
	held->nulls = (const uint64_t *) (to + gsd_aligned(values));
	return GS_OK;
}

/*
 * Copies the columns of all segments that lie on devices; to: where they are to lie, or NULL.  *bytes becomes what they
 * take.
 */
static gs_status
copy_all(const grouping *g, char *to, uint64_t *bytes)
{
	*bytes = 0;
	for (uint32_t i = 0; i < g->rows_of.n; i++)
	{
		const page_job *j = gsd_table_with(g, i);
		place *from = i < g->rows_of.held ? j->t->place : g->added_at;
		uint64_t more;

		if (from->dev == NULL)
			continue;
		if (to != NULL && gsd_poll_client(g->pages->c) != 0)
			return GS_CANCELLED;
		for (uint32_t c = 0; c < j->ncolumns; c++, *bytes += more)
			GS_TRY(copy_column(g, from, i, c, to != NULL ? to + *bytes : NULL, &more));
		if (to != NULL)
			GS_TRY(gsd_place_done(from));
	}
	return GS_OK;
}

gs_status
gsd_copies_put(grouping *g)
{
	uint64_t bytes;

	GS_TRY(copy_all(g, NULL, &bytes));
	if (bytes == 0)
		return GS_OK;
	GS_TRY(gsd_place_alloc(gsd_place_scratch(gsd_place_host()), bytes, &g->copies));
	g->copies_bytes = bytes;
	return copy_all(g, g->copies, &bytes);
}

void
gsd_copies_free(grouping *g)
{
	if (g->copies != NULL)
		gsd_place_free(gsd_place_scratch(gsd_place_host()), g->copies, g->copies_bytes);
}
