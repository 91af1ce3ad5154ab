/*
 * columns_ranks.c: questions about the order of strings.  The client knows the ranks of codes by some collation; the
 * question's columns get them instead of the codes, in memory of the question's own.  So do strings that a client knows
 * by other numbers: the codes of several tables, each with a dictionary of its own, by one number for each string.
 */
#include "columns.h"

#include <string.h>

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
 * Returns the work over a table: the first, or the further one of this number; NULL: there is none.
 */
static page_job *
table_of(const grouping *g, uint32_t number)
{
	page_job *j = g->pages;

	for (; number > 0 && j != NULL; number--)
		j = j->further;
	return j;
}

/*
 * Copies the ranks of a column, of which these bytes are there.  *used becomes the bytes that they take.
 */
static gs_status
read_ranks(grouping *g, const char *at, uint64_t available, uint64_t *used)
{
	page_job *j;
	gsd_ranks head;
	uint64_t bytes;
	gs_type type;
	char *block;

	if (available < sizeof(head))
		return GS_PROTOCOL;
	memcpy(&head, at, sizeof(head));
	*used = gsd_ranks_bytes(head.count);
	j = table_of(g, head.table);
	if (available < *used || head.zero != 0 || j == NULL || head.column >= j->ncolumns || j->ranks[head.column] != NULL)
		return GS_PROTOCOL;
	type = g->pages->types[head.column];
	if (!gsd_is_code(type))
		return GS_PROTOCOL;
	bytes = sizeof(code_ranks) + head.count * sizeof(uint32_t);
	GS_TRY(gsd_place_alloc(ranks_place(), bytes, &block));
	j->ranks[head.column] = (code_ranks *) block;
	*j->ranks[head.column] = (code_ranks){.bytes = bytes, .count = head.count};
	return copy_ranks(j->ranks[head.column], type, at + sizeof(head));
}

/*
 * Returns true if each column but positions has ranks for all tables, or for none of them and its own type there.
 */
static bool
are_complete(const grouping *g)
{
	const page_job *first = g->pages;

	for (const page_job *j = first; j != NULL; j = j->further)
		for (uint32_t c = 0; c < j->ncolumns - j->positions; c++)
			if ((j->ranks[c] != NULL) != (first->ranks[c] != NULL) ||
				(j->ranks[c] == NULL && j->t->types[j->columns[c]] != j->types[c]))
				return false;
	return true;
}

gs_status
gsd_ranks_read(grouping *g, const gsd_ask *m, uint64_t at)
{
	const connection *c = g->pages->c;
	uint64_t end = c->layout.slots * c->layout.slot_bytes, used;

	/* engines of devices do not reach them */
	g->pages->on_host = true;
	g->ranked = true;
	for (uint32_t i = 0; i < m->ranked; i++, at += used)
		GS_TRY(read_ranks(g, c->ring + at, end - at, &used));
	return are_complete(g) ? GS_OK : GS_PROTOCOL;
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

/* Defines a function that writes ranks of codes of a type in 1, 2 or 4 bytes each. */
#define WRITE_RANKS(name, codes_type)                                                         \
	static void name(const code_ranks *ranks, const codes_type *codes, gs_type type, void *out, uint32_t rows) \
	{                                                                                         \
		if (type == GS_U8)                                                                    \
			for (uint32_t i = 0; i < rows; i++)                                               \
				((uint8_t *) out)[i] = (uint8_t) rank_of(ranks, codes[i]);                    \
		else if (type == GS_U16)                                                              \
			for (uint32_t i = 0; i < rows; i++)                                               \
				((uint16_t *) out)[i] = (uint16_t) rank_of(ranks, codes[i]);                  \
		else                                                                                  \
			for (uint32_t i = 0; i < rows; i++)                                               \
				((uint32_t *) out)[i] = rank_of(ranks, codes[i]);                             \
	}

WRITE_RANKS(write_ranks_u8, uint8_t)
WRITE_RANKS(write_ranks_u16, uint16_t)
WRITE_RANKS(write_ranks_u32, uint32_t)

/*
 * Writes the ranks of a segment's codes, as values of a type.
 */
static void
write_ranks(const code_ranks *ranks, gs_type held, const void *codes, gs_type type, void *out, uint32_t rows)
{
	if (held == GS_U8)
		write_ranks_u8(ranks, codes, type, out, rows);
	else if (held == GS_U16)
		write_ranks_u16(ranks, codes, type, out, rows);
	else
		write_ranks_u32(ranks, codes, type, out, rows);
}

/* A grouping, and the named segments' columns as they were before they got room for ranks. */
typedef struct ranking
{
	const grouping *g;
	const gs_held *codes;
} ranking;

/*
 * Writes the ranks of a named segment's columns, in any thread.
 */
static void
put_segment(void *arg, uint32_t worker, uint32_t index)
{
	const ranking *r = arg;
	const grouping *g = r->g;
	const page_job *j = gsd_table_with(g, index);
	const bool added = index >= g->rows_of.held;
	const uint64_t first = (uint64_t) index * j->ncolumns;

	(void) worker;
	for (uint32_t c = 0; c < j->ncolumns; c++)
	{
		gs_type type;

		/* nor has the column of positions an index */
		if (j->ranks[c] == NULL)
			continue;
		/* added segments have the list's types */
		type = added ? j->types[c] : (gs_type) j->t->types[j->columns[c]];
		write_ranks(j->ranks[c], type, r->codes[first + c].values, j->types[c],
					(void *) (uintptr_t) g->rows_of.columns[first + c].values, g->rows_of.of[index]->rows);
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

		if (g->pages->ranks[c] == NULL)
			continue;
		if (to != NULL)
			g->rows_of.columns[i].values = to + bytes;
		bytes += gsd_aligned(g->rows_of.of[i / g->pages->ncolumns]->rows * gs_type_width(g->pages->types[c]));
	}
	return bytes;
}

/*
 * Returns the highest rank of a column in any table.
 */
static uint32_t
highest_rank(const grouping *g, uint32_t column)
{
	uint32_t highest = 0;

	for (const page_job *j = g->pages; j != NULL; j = j->further)
		if (j->ranks[column]->highest > highest)
			highest = j->ranks[column]->highest;
	return highest;
}

/*
 * Writes the ranks of all segments to their room.
 */
static gs_status
put_all(grouping *g)
{
	const uint64_t bytes = (uint64_t) g->rows_of.n * g->pages->ncolumns * sizeof(gs_held);
	ranking r = {.g = g};
	bool done;
	char *codes;

	GS_TRY(gsd_place_alloc(ranks_place(), bytes, &codes));
	memcpy(codes, g->rows_of.columns, bytes);
	r.codes = (const gs_held *) codes;
	place_values(g, g->ranked_values);
	done = gsd_pool_run(g->pages->c, g->rows_of.n, put_segment, &r);
	gsd_place_free(ranks_place(), codes, bytes);
	return done ? GS_OK : GS_CANCELLED;
}

gs_status
gsd_ranks_put(grouping *g)
{
	uint64_t bytes = place_values(g, NULL);

	if (bytes == 0)
		return GS_OK;
	GS_TRY(gsd_place_alloc(ranks_place(), bytes, &g->ranked_values));
	g->ranked_bytes = bytes;
	GS_TRY(put_all(g));
	for (uint32_t c = 0; c < g->pages->ncolumns; c++)
		if (g->pages->ranks[c] != NULL)
		{
			const bool nulls = g->ranges[c].nulls;

			g->ranges[c] = (gs_range){.high = {{highest_rank(g, c), 0}}, .nulls = nulls};
		}
	return GS_OK;
}

void
gsd_ranks_free(grouping *g)
{
	for (const page_job *j = g->pages; j != NULL; j = j->further)
		for (uint32_t c = 0; c < j->ncolumns; c++)
			if (j->ranks[c] != NULL)
				gsd_place_free(ranks_place(), (char *) j->ranks[c], j->ranks[c]->bytes);
	if (g->ranked_values != NULL)
		gsd_place_free(ranks_place(), g->ranked_values, g->ranked_bytes);
}
