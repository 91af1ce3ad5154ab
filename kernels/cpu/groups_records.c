/*
 * groups_records.c: where records of rows go: pieces of memory of their part, word by word.  Many records take a line
 * of each part, which goes past the cache when it is full: they are read once all rows are there, and the processor
 * need not read a line that will be written over.  What lines are left with goes behind the others as a part is done.
 */
#include "groups.h"
#include "lines.h"

#define LEAST_SLAB ((size_t) 256 << 10)

/* Returns the bytes of a worker's next slab: more and more, as each is a call of the system, up to what is expected. */
static size_t
next_slab(const gs_cpu_groups *g, const gs_group_worker *w)
{
	size_t so_far = w->slab_bytes, wanted = so_far == 0 ? LEAST_SLAB : 4 * so_far;

	if (g->record_bytes <= so_far)
		return so_far / 4;
	return wanted < g->record_bytes - so_far ? wanted : g->record_bytes - so_far;
}

gs_status
gs_new_records(const gs_cpu_groups *g, gs_group_worker *w, const gs_stream *s, size_t part)
{
	size_t bytes = (sizeof(gs_records) + (size_t) s->words * s->room * 8 + GS_ALIGN - 1) & ~(size_t) (GS_ALIGN - 1);
	gs_records *records;

	if (w->slab_left < bytes)
	{
		size_t wanted = next_slab(g, w);
		gs_block *slab;

		GS_TRY(gs_block_reserve(&w->work, &w->slabs, (w->nslabs + 1) * sizeof(gs_block)));
		slab = (gs_block *) w->slabs.data + w->nslabs;
		*slab = (gs_block){0};
		w->nslabs++;
		GS_TRY(gs_block_reserve(&w->work, slab, wanted > bytes ? wanted : bytes));
		w->slab = slab->data;
		w->slab_left = slab->bytes;
		w->slab_bytes += slab->bytes;
	}
	records = (gs_records *) w->slab;
	w->slab += bytes;
	w->slab_left -= bytes;
	*records = (gs_records){.next = w->last[part], .room = s->room};
	records->before = records->next != NULL ? records->next->before + s->room : 0;
	w->last[part] = records;
	w->cursors[part] = (gs_cursor){records->words, records->words + s->room};
	return GS_OK;
}

/* ---------------------------------------------------------------- lines */

bool
gs_records_have_lines(const gs_cpu_groups *g)
{
	return g->head.rows >= ((const gs_cpu_engine *) g->engine)->tuning.combine_rows;
}

void
gs_records_lines(gs_cpu_groups *g)
{
	size_t lines = 0;

	g->lines = gs_records_have_lines(g);
	for (uint32_t i = 0; i < g->nstreams; i++)
	{
		g->streams[i].first_line = lines;
		lines += (size_t) g->streams[i].words << g->part_bits;
	}
	g->nlines = lines;
}

gs_status
gs_records_begin(const gs_cpu_groups *g, gs_group_worker *w)
{
	const size_t parts = (size_t) g->nstreams << g->part_bits;

	GS_TRY(gs_block_reserve(&w->work, &w->cursors_memory, parts * (sizeof(gs_cursor) + sizeof(gs_records *))));
	w->cursors = w->cursors_memory.data;
	memset(w->cursors, 0, parts * (sizeof(gs_cursor) + sizeof(gs_records *)));
	w->last = (gs_records **) (w->cursors + parts);
	if (g->lines)
		GS_TRY(gs_block_reserve(&w->work, &w->lines_memory, g->nlines * GS_ALIGN));
	w->lines = w->lines_memory.data;
	return GS_OK;
}

/* Returns the line of a word of a part's records. */
static inline uint64_t *
line_of(const gs_group_worker *w, const gs_stream *s, size_t part, uint32_t word)
{
	return w->lines + (s->first_line + part * s->words + word) * GS_LINE_WORDS;
}

/* Puts a word into the line of the place where it goes, which is written when it is full. */
static inline __attribute__((always_inline)) void
put(uint64_t *line, uint64_t *at, uint64_t word)
{
	const size_t k = (uintptr_t) at / sizeof(*at) % GS_LINE_WORDS;

	line[k] = word;
	if (k == GS_LINE_WORDS - 1)
		gs_store_line(at - k, line);
}

void
gs_records_flush(const gs_cpu_groups *g, uint32_t stream, uint32_t part)
{
	const gs_stream *s = &g->streams[stream];
	const size_t at = ((size_t) stream << g->part_bits) + part;

	for (uint32_t i = 0; g->lines && i < g->head.workers; i++)
	{
		const gs_group_worker *w = &g->workers[i];
		gs_records *last = w->has_rows ? w->last[at] : NULL;
		const size_t n = last != NULL ? gs_records_number(w, at, last) : 0, left = n % GS_LINE_WORDS;

		for (uint32_t k = 0; left > 0 && k < s->words; k++)
			memcpy(last->words + (size_t) k * s->room + n - left, line_of(w, s, part, k), left * sizeof(uint64_t));
	}
}

/* ---------------------------------------------------------------- records */

/* Finds the places of records, and writes their first words; lines, one: these, and no others follow. */
static inline __attribute__((always_inline)) gs_status
place_first(gs_group_job *j, uint32_t stream, const uint64_t *by, uint32_t shift, const uint64_t *first, uint32_t n,
			gs_ahead ahead, bool lines, bool one)
{
	const gs_stream *s = &j->g->streams[stream];
	const size_t begin = j->g->few ? s->first_part : (size_t) stream << j->g->part_bits;
	gs_cursor *cursors = j->w->cursors + begin;
	uint64_t *lines_of = lines ? line_of(j->w, s, 0, 0) : NULL;
	const size_t apart = (one ? 1 : s->words) * GS_LINE_WORDS;

	GS_EACH_AHEAD(n, ahead, {
		size_t part = shift < 64 ? by[i] >> shift : 0;
		uint64_t *at = cursors[part].at;

		if (at == cursors[part].end)
		{
			GS_TRY(gs_new_records(j->g, j->w, s, begin + part));
			at = cursors[part].at;
		}
		if (!one)
			j->at[i] = at;
		if (lines && !one)
			j->lines[i] = lines_of + part * apart;
		if (lines)
			put(lines_of + part * apart, at, first[i]);
		else
			*at = first[i];
		cursors[part].at = at + 1;
	});
	return GS_OK;
}

gs_status
gs_place_first(gs_group_job *j, uint32_t stream, const uint64_t *by, uint32_t shift, const uint64_t *first, uint32_t n,
			   gs_ahead ahead)
{
	const bool one = j->g->streams[stream].words == 1;

	if (!j->g->lines)
		return place_first(j, stream, by, shift, first, n, ahead, false, false);
	return one ? place_first(j, stream, by, shift, first, n, ahead, true, true)
			   : place_first(j, stream, by, shift, first, n, ahead, true, false);
}

void
gs_place_word(const gs_group_job *j, const gs_stream *s, uint32_t word, const uint64_t *values, uint32_t step,
			  uint32_t n, gs_ahead ahead)
{
	const size_t apart = (size_t) word * s->room, line = (size_t) word * GS_LINE_WORDS;

	if (j->g->lines)
		GS_EACH_AHEAD(n, ahead, { put(j->lines[i] + line, j->at[i] + apart, values[(size_t) i * step]); });
	else
		GS_EACH_AHEAD(n, ahead, { j->at[i][apart] = values[(size_t) i * step]; });
}
