/*
 * columns_ranks.c: questions about the order of strings.  The client knows the ranks of codes by some collation; the
 * question's columns get them instead of the codes, in memory of the question's own.
 */
#include "columns.h"

#include <string.h>

/* The columns of segments begin at multiples of this. */
#define ALIGNED(bytes) (((bytes) + GS_ALIGN - 1) & ~(uint64_t) (GS_ALIGN - 1))

/*
 * Returns the place of ranks and ranked values.
 */
static place *
ranks_place(void)
{
	return gsd_place_scratch(gsd_place_host());
}

/*
 * Copies ranks that fit a type.  GS_PROTOCOL: one does not.
 */
static gs_status
copy_ranks(code_ranks *ranks, gs_type type, const char *from)
{
	const uint64_t most = (uint64_t) 1 << 8 * gs_type_width(type);

	memcpy(ranks->of, from, ranks->count * sizeof(uint32_t));
	for (uint32_t code = 0; code < ranks->count; code++)
		if (ranks->of[code] > ranks->highest)
			ranks->highest = ranks->of[code];
	return ranks->highest < most ? GS_OK : GS_PROTOCOL;
}

/*
 * Copies the ranks of a column, of which these bytes are there.  *used becomes the bytes that they take.
 */
static gs_status
read_ranks(grouping *g, const char *at, uint64_t available, uint64_t *used)
{
	gsd_ranks head;
	uint64_t bytes;
	gs_type type;
	char *block;

	if (available < sizeof(head))
		return GS_PROTOCOL;
	memcpy(&head, at, sizeof(head));
	*used = gsd_ranks_bytes(head.count);
	if (available < *used || head.column >= g->pages->ncolumns || g->ranks[head.column] != NULL)
		return GS_PROTOCOL;
	type = g->pages->types[head.column];
	if (type != GS_U8 && type != GS_U16 && type != GS_U32)
		return GS_PROTOCOL;
	bytes = sizeof(code_ranks) + head.count * sizeof(uint32_t);
	GS_TRY(gsd_place_alloc(ranks_place(), bytes, &block));
	g->ranks[head.column] = (code_ranks *) block;
	*g->ranks[head.column] = (code_ranks){.bytes = bytes, .count = head.count};
	return copy_ranks(g->ranks[head.column], type, at + sizeof(head));
}

gs_status
gsd_ranks_read(grouping *g, const gsd_ask *m)
{
	const connection *c = g->pages->c;
	uint64_t at = gsd_behind_list(c, m), end = c->layout.slots * c->layout.slot_bytes, used;

	/* engines of devices do not reach them */
	if (g->pages->t->place->dev != NULL)
		return GS_TOO_BIG;
	g->ranked = true;
	for (uint32_t i = 0; i < m->ranked; i++, at += used)
		GS_TRY(read_ranks(g, c->ring + at, end - at, &used));
	return GS_OK;
}

/*
 * Returns the rank of a code.
 */
static inline uint32_t
rank_of(const code_ranks *ranks, uint32_t code)
{
	/* what is NULL has any value */
	return code < ranks->count ? ranks->of[code] : 0;
}

/*
 * Writes the ranks of a segment's codes.
 */
static void
write_ranks(const code_ranks *ranks, gs_type type, const void *codes, void *out, uint32_t rows)
{
	if (type == GS_U8)
		for (uint32_t i = 0; i < rows; i++)
			((uint8_t *) out)[i] = (uint8_t) rank_of(ranks, ((const uint8_t *) codes)[i]);
	else if (type == GS_U16)
		for (uint32_t i = 0; i < rows; i++)
			((uint16_t *) out)[i] = (uint16_t) rank_of(ranks, ((const uint16_t *) codes)[i]);
	else
		for (uint32_t i = 0; i < rows; i++)
			((uint32_t *) out)[i] = rank_of(ranks, ((const uint32_t *) codes)[i]);
}

/*
 * Writes the ranks of a named segment's columns, in any thread.
 */
static void
put_segment(void *arg, uint32_t worker, uint32_t index)
{
	const grouping *g = arg;
	const page_job *j = g->pages;
	const segment *s = g->rows_of.of[index];
	const gs_held *named = &g->rows_of.columns[(uint64_t) index * j->ncolumns];

	(void) worker;
	for (uint32_t c = 0; c < j->ncolumns; c++)
	{
		/* added segments have the list's columns alone */
		const uint32_t column = index < g->rows_of.held ? j->columns[c] : c;

		if (g->ranks[c] != NULL)
			write_ranks(g->ranks[c], j->types[c], s->columns[column].values, (void *) (uintptr_t) named[c].values,
						s->rows);
	}
}

/*
 * Returns the bytes of all ranked values; to: where they are to lie, or NULL.
 */
static uint64_t
place_values(grouping *g, char *to)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < (uint64_t) g->rows_of.n * g->pages->ncolumns; i++)
	{
		uint32_t c = (uint32_t) (i % g->pages->ncolumns);

		if (g->ranks[c] == NULL)
			continue;
		if (to != NULL)
			g->rows_of.columns[i].values = to + bytes;
		bytes += ALIGNED(g->rows_of.of[i / g->pages->ncolumns]->rows * gs_type_width(g->pages->types[c]));
	}
	return bytes;
}

gs_status
gsd_ranks_put(grouping *g)
{
	uint64_t bytes = place_values(g, NULL);

	if (bytes == 0)
		return GS_OK;
	GS_TRY(gsd_place_alloc(ranks_place(), bytes, &g->ranked_values));
	g->ranked_bytes = bytes;
	place_values(g, g->ranked_values);
	if (!gsd_pool_run(g->pages->c, g->rows_of.n, put_segment, g))
		return GS_CANCELLED;
	for (uint32_t c = 0; c < g->pages->ncolumns; c++)
		if (g->ranks[c] != NULL)
		{
			const bool nulls = g->ranges[c].nulls;

			g->ranges[c] = (gs_range){.high = {{g->ranks[c]->highest, 0}}, .nulls = nulls};
		}
	return GS_OK;
}

void
gsd_ranks_free(grouping *g)
{
	for (uint32_t c = 0; c < GS_STEPS_MAX_COLUMNS; c++)
		if (g->ranks[c] != NULL)
			gsd_place_free(ranks_place(), (char *) g->ranks[c], g->ranks[c]->bytes);
	if (g->ranked_values != NULL)
		gsd_place_free(ranks_place(), g->ranked_values, g->ranked_bytes);
}
