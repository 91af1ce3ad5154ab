/*
 * columns_copies.c: questions that a device does not answer, about columns that lie there.  The CPU answers, from
 * copies in host memory: of the segments of the pinned version, which never change, and of rows that the client added.
 *
 * A copy stays with its segment, as scratch, until the segment goes or memory is short: over 5 million rows copying
 * took up to 60 times as long as the answer.  Questions keep the columns that they read, and no others of a segment:
 * these would take the room that they work in.
 */
#include "columns.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of all copies */
static segment_copies *all;							  /* segments' that had some */

/*
 * Returns where a segment that a question names lies.
 */
static place *
place_of(const grouping *g, uint32_t index)
{
	return index < g->rows_of.held ? gsd_table_with(g, index)->t->place : g->added_at;
}

/*
 * Returns the column of a named segment that a question's column is, or GSD_POSITIONS, which has no copy.
 */
static uint32_t
column_of(const grouping *g, uint32_t index, uint32_t column)
{
	return index < g->rows_of.held ? gsd_table_with(g, index)->columns[column] : column;
}

/*
 * Frees a copy.
 */
static void
free_copy(const column_copy *copy)
{
	gsd_place_free(gsd_place_scratch(gsd_place_host()), (char *) copy->held.values, copy->bytes);
}

/*
 * Copies a segment's column to host memory, null bits behind the values.
 */
static gs_status
make_copy(const segment *s, place *from, const gs_held *held, gs_type type, column_copy *made)
{
	uint64_t values = s->rows * gs_type_width(type), nulls = ((uint64_t) s->rows + 63) / 64 * sizeof(uint64_t);
	char *to;
	gs_status status;

	made->bytes = gsd_aligned(values) + (held->nulls != NULL ? nulls : 0);
	GS_TRY(gsd_place_alloc(gsd_place_scratch(gsd_place_host()), made->bytes, &to));
	made->held.values = to;
	made->held.nulls = held->nulls != NULL ? (const uint64_t *) (to + gsd_aligned(values)) : NULL;
	status = gsd_place_get(from, to, held->values, values);
	if (status == GS_OK && held->nulls != NULL)
		status = gsd_place_get(from, to + gsd_aligned(values), (const char *) held->nulls, nulls);
	if (status == GS_OK)
		status = gsd_place_done(from);
	if (status != GS_OK)
		free_copy(made);
	return status;
}

/*
 * Returns a copy of a segment's column, or NULL; a made one becomes it unless another question was faster.
 */
static const column_copy *
keep_copy(const segment *s, uint32_t column, column_copy *made)
{
	column_copy *copy = &s->copies->columns[column];
	bool there;

	pthread_mutex_lock(&mutex);
	if (copy->bytes == 0 && made->bytes > 0)
	{
		copy->held = made->held;
		copy->bytes = made->bytes;
		*made = (column_copy){0};
	}
	there = copy->bytes > 0;
	pthread_mutex_unlock(&mutex);
	if (made->bytes > 0)
		free_copy(made);
	return there ? copy : NULL;
}

/*
 * Counts a question among the users of a copy, or no more.
 */
static void
use(segment_copies *copies, uint32_t column, bool begins)
{
	pthread_mutex_lock(&mutex);
	copies->columns[column].users += begins ? 1 : -1;
	if (begins && copies->link == NULL)
	{
		copies->next = all;
		copies->link = &all;
		if (all != NULL)
			all->link = &copies->next;
		all = copies;
	}
	pthread_mutex_unlock(&mutex);
}

/*
 * Has a column of a named segment lie in host memory.  The question is among its copy's users.
 */
static gs_status
put_column(grouping *g, uint32_t index, uint32_t column)
{
	const segment *s = g->rows_of.of[index];
	const page_job *j = gsd_table_with(g, index);
	const uint32_t own = column_of(g, index, column);
	gs_held *held = &g->rows_of.columns[(uint64_t) index * j->ncolumns + column];
	column_copy made = {0};
	const column_copy *copy = keep_copy(s, own, &made);

	if (copy == NULL)
	{
		const bool added = index >= g->rows_of.held;

		GS_TRY(make_copy(s, place_of(g, index), held, added ? j->types[column] : (gs_type) j->t->types[own], &made));
		g->copies++;
		copy = keep_copy(s, own, &made);
	}
	*held = copy->held;
	return GS_OK;
}

/*
 * Returns the copies of a named segment's column, which lies on a device, or NULL.
 */
static segment_copies *
copies_of(const grouping *g, uint32_t index, uint32_t column)
{
	const bool there = place_of(g, index)->dev != NULL && column_of(g, index, column) != GSD_POSITIONS;

	return there ? g->rows_of.of[index]->copies : NULL;
}

gs_status
gsd_copies_put(grouping *g)
{
	const uint32_t ncolumns = g->pages->ncolumns;

	while (g->copied < (uint64_t) g->rows_of.n * ncolumns)
	{
		const uint32_t index = (uint32_t) (g->copied / ncolumns), column = (uint32_t) (g->copied % ncolumns);
		segment_copies *copies = copies_of(g, index, column);

		if (copies != NULL && gsd_poll_client(g->pages->c) != 0)
			return GS_CANCELLED;
		g->copied++;
		if (copies == NULL)
			continue;
		use(copies, column_of(g, index, column), true);
		GS_TRY(put_column(g, index, column));
	}
	return GS_OK;
}

void
gsd_copies_leave(grouping *g)
{
	const uint32_t ncolumns = g->pages->ncolumns;

	for (; g->copied > 0; g->copied--)
	{
		const uint64_t last = g->copied - 1;
		const uint32_t index = (uint32_t) (last / ncolumns), column = (uint32_t) (last % ncolumns);
		segment_copies *copies = copies_of(g, index, column);

		if (copies != NULL)
			use(copies, column_of(g, index, column), false);
	}
}

/*
 * Frees a segment's copies that no question reads.  The mutex is held.
 */
static void
free_copies(segment_copies *copies)
{
	bool used = false;

	for (uint32_t c = 0; c < copies->ncolumns; c++)
	{
		column_copy *copy = &copies->columns[c];

		used |= copy->users > 0;
		if (copy->users > 0 || copy->bytes == 0)
			continue;
		free_copy(copy);
		*copy = (column_copy){0};
	}
	if (used)
		return;
	*copies->link = copies->next;
	if (copies->next != NULL)
		copies->next->link = copies->link;
	copies->link = NULL;
}

void
gsd_copies_free(segment *s)
{
	pthread_mutex_lock(&mutex);
	if (s->copies->link != NULL)
		free_copies(s->copies);
	pthread_mutex_unlock(&mutex);
}

void
gsd_copies_drop(void)
{
	segment_copies *next;

	pthread_mutex_lock(&mutex);
	for (segment_copies *copies = all; copies != NULL; copies = next)
	{
		next = copies->next;
		free_copies(copies);
	}
	pthread_mutex_unlock(&mutex);
}
