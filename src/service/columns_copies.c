/*
 * columns_copies.c: questions that a device does not answer, about columns that lie there.  The CPU answers, from
 * copies in host memory: of the segments of the pinned version, which never change, and of rows that the client added.
 *
 * A copy stays with its segment, as scratch, until the segment goes or memory is short: over 5 million rows copying
 * took up to 60 times as long as the answer.
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
settle(const segment *s, uint32_t column, column_copy *made)
{
	column_copy *copy = &s->copies->columns[column];
	bool there;

	pthread_mutex_lock(&mutex);
	if (copy->bytes == 0 && made->bytes > 0)
	{
		*copy = *made;
		*made = (column_copy){0};
	}
	there = copy->bytes > 0;
	pthread_mutex_unlock(&mutex);
	if (made->bytes > 0)
		free_copy(made);
	return there ? copy : NULL;
}

/*
 * Has a column of a named segment lie in host memory; nothing for one that has no values, as that of positions.
 */
static gs_status
put_column(grouping *g, uint32_t index, uint32_t column)
{
	const segment *s = g->rows_of.of[index];
	const page_job *j = gsd_table_with(g, index);
	const bool added = index >= g->rows_of.held;
	const uint32_t own = added ? column : j->columns[column]; /* column of the segment */
	gs_held *held = &g->rows_of.columns[(uint64_t) index * j->ncolumns + column];
	column_copy made = {0};
	const column_copy *copy;

	if (held->values == NULL)
		return GS_OK;
	copy = settle(s, own, &made);
	if (copy == NULL)
	{
		GS_TRY(make_copy(s, place_of(g, index), held, added ? j->types[column] : (gs_type) j->t->types[own], &made));
		g->copies++;
		copy = settle(s, own, &made);
	}
	*held = copy->held;
	return GS_OK;
}

/*
 * Counts a question among the users of a segment's copies, or no more.
 */
static void
use(segment_copies *copies, bool begins)
{
	pthread_mutex_lock(&mutex);
	copies->users += begins ? 1 : -1;
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

gs_status
gsd_copies_put(grouping *g)
{
	for (uint32_t i = 0; i < g->rows_of.n; i++, g->copied = i)
	{
		if (place_of(g, i)->dev == NULL)
			continue;
		if (gsd_poll_client(g->pages->c) != 0)
			return GS_CANCELLED;
		use(g->rows_of.of[i]->copies, true);
		for (uint32_t c = 0; c < g->pages->ncolumns; c++)
		{
			gs_status status = put_column(g, i, c);

			if (status == GS_OK)
				continue;
			use(g->rows_of.of[i]->copies, false);
			return status;
		}
	}
	return GS_OK;
}

void
gsd_copies_leave(grouping *g)
{
	for (uint32_t i = 0; i < g->copied; i++)
		if (place_of(g, i)->dev != NULL)
			use(g->rows_of.of[i]->copies, false);
	g->copied = 0;
}

/*
 * Frees a segment's copies.  The mutex is held.
 */
static void
free_copies(segment_copies *copies)
{
	*copies->link = copies->next;
	if (copies->next != NULL)
		copies->next->link = copies->link;
	copies->link = NULL;
	for (uint32_t c = 0; c < copies->ncolumns; c++)
		if (copies->columns[c].bytes > 0)
		{
			free_copy(&copies->columns[c]);
			copies->columns[c] = (column_copy){0};
		}
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
		if (copies->users == 0)
			free_copies(copies);
	}
	pthread_mutex_unlock(&mutex);
}
