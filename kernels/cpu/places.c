/*
 * places.c: lists with ROWS on the CPU.
 */
#include "groups.h"

/* What a worker has of rows that pass: packed orders, and places. */
typedef struct place_worker
{
	gs_work work; /* whose memory this is */
	gs_block keys, places;
	uint64_t n;
} place_worker;

typedef struct cpu_places
{
	gs_groups head;
	gs_work work;
	size_t bytes;
	const gs_rows_step *step;
	gs_block keys, places, sorted_keys, sorted, temp;
	uint64_t first, count; /* of the sorted places, those asked for */
	place_worker workers[];
} cpu_places;

/* Implements gs_groups_open. */
static gs_status
places_open(gs_engine *engine, const gs_groups *head, gs_groups **groups)
{
	size_t bytes = sizeof(cpu_places) + head->workers * sizeof(place_worker);
	cpu_places *p = engine->host.alloc(engine->host.arg, bytes);

	if (p == NULL)
		return GS_NOMEM;
	memset(p, 0, bytes);
	p->head = *head;
	p->work = (gs_work){engine->host, 0};
	p->bytes = bytes;
	p->step = gs_steps_rows(head->steps);
	*groups = &p->head;
	return GS_OK;
}

/* Adds a row that passes. */
static gs_status
add_row(const cpu_places *p, place_worker *w, const gs_held *columns, gs_row place)
{
	uint64_t key = 0, part;
	size_t bytes = w->n < 64 ? 64 * 8 : 2 * w->n * 8;

	if (w->n * 8 == w->keys.bytes || w->keys.data == NULL)
	{
		GS_TRY(gs_block_reserve(&w->work, &w->keys, bytes));
		GS_TRY(gs_block_reserve(&w->work, &w->places, bytes));
	}
	for (uint32_t k = 0; k < p->head.keys.n; k++)
	{
		if (!gs_packed_key_part(&p->head.keys.keys[k], columns, place.row, &part))
			return GS_INVALID;
		key = gs_append_bits(key, part, p->head.keys.keys[k].bits);
	}
	((uint64_t *) w->keys.data)[w->n] = key;
	((gs_row *) w->places.data)[w->n++] = place;
	return GS_OK;
}

/* Implements gs_groups_rows. */
static gs_status
places_rows(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	cpu_places *p = (cpu_places *) groups;
	place_worker *w = &p->workers[worker];
	const gs_filter_step *filter = gs_steps_filter(p->head.steps);

	w->work.host = engine->host;
	for (uint64_t i = 0; i < rows->nspans; i++)
	{
		const gs_span *span = &rows->spans[i];
		const gs_held *columns = &rows->columns[(uint64_t) span->segment * rows->ncolumns];

		for (uint32_t row = span->first; row < span->first + span->rows; row++)
			if (gs_filter_passes(p->head.steps, filter, columns, row))
				GS_TRY(add_row(p, w, columns, (gs_row){span->segment, row}));
		GS_TRY(gs_work_add(&((gs_cpu_engine *) engine)->work, span->rows));
	}
	return GS_OK;
}

/* There are no parts. */
static uint32_t
places_parts(gs_groups *groups, uint32_t round)
{
	(void) groups, (void) round;
	return 0;
}

/* Implements gs_groups_part, which is never called. */
static gs_status
places_part(gs_groups *groups, uint32_t worker, gs_engine *engine, uint32_t part)
{
	(void) groups, (void) worker, (void) engine, (void) part;
	return GS_INVALID;
}

/* Sorts places by their keys. */
static gs_status
sort_places(cpu_places *p, gs_engine *engine, uint64_t n)
{
	gs_sort_request r = {.key = GS_U64, .value_width = 8, .n = n};
	size_t temp = gs_sort_temp_bytes(engine, GS_U64, 8, n);

	GS_TRY(gs_block_reserve(&p->work, &p->sorted_keys, n * 8));
	GS_TRY(gs_block_reserve(&p->work, &p->sorted, n * 8));
	GS_TRY(gs_block_reserve(&p->work, &p->temp, temp));
	r.keys = p->keys.data;
	r.values = p->places.data;
	r.out_keys = p->sorted_keys.data;
	r.out_values = p->sorted.data;
	return gs_sort(engine, &r, p->temp.data, temp);
}

/* Implements gs_groups_end. */
static gs_status
places_end(gs_groups *groups, gs_engine *engine, uint64_t *count)
{
	cpu_places *p = (cpu_places *) groups;
	uint64_t n = 0;

	for (uint32_t i = 0; i < p->head.workers; i++)
		n += p->workers[i].n;
	GS_TRY(gs_block_reserve(&p->work, &p->keys, n * 8 + 8));
	GS_TRY(gs_block_reserve(&p->work, &p->places, n * 8 + 8));
	n = 0;
	for (uint32_t i = 0; i < p->head.workers; i++)
	{
		const place_worker *w = &p->workers[i];

		if (w->n == 0)
			continue;
		memcpy((uint64_t *) p->keys.data + n, w->keys.data, w->n * 8);
		memcpy((uint64_t *) p->places.data + n, w->places.data, w->n * 8);
		n += w->n;
	}
	if (n > 0)
		GS_TRY(sort_places(p, engine, n));
	p->first = p->step->offset < n ? p->step->offset : n;
	p->count = n - p->first;
	if (p->step->limit > 0 && p->step->limit < p->count)
		p->count = p->step->limit;
	*count = p->count;
	return p->count > GS_GROUPS_MOST_BYTES / sizeof(gs_row) ? GS_TOO_BIG : GS_OK;
}

/* Implements gs_groups_read. */
static gs_status
places_read(gs_groups *groups, gs_engine *engine, uint64_t first, uint64_t n, void *out)
{
	cpu_places *p = (cpu_places *) groups;

	(void) engine;
	if (first > p->count || n > p->count - first)
		return GS_INVALID;
	if (n > 0)
		memcpy(out, (const gs_row *) p->sorted.data + p->first + first, n * sizeof(gs_row));
	return GS_OK;
}

/* Implements gs_groups_close. */
static void
places_close(gs_groups *groups, gs_engine *engine)
{
	cpu_places *p = (cpu_places *) groups;
	gs_work work = p->work;

	(void) engine;
	for (uint32_t i = 0; i < p->head.workers; i++)
	{
		gs_block_release(&p->workers[i].work, &p->workers[i].keys);
		gs_block_release(&p->workers[i].work, &p->workers[i].places);
	}
	gs_block_release(&work, &p->keys);
	gs_block_release(&work, &p->places);
	gs_block_release(&work, &p->sorted_keys);
	gs_block_release(&work, &p->sorted);
	gs_block_release(&work, &p->temp);
	work.host.release(work.host.arg, p, p->bytes);
}

const struct gs_group_ops gs_cpu_place_ops = {
	.open = places_open,
	.rows = places_rows,
	.parts = places_parts,
	.part = places_part,
	.end = places_end,
	.read = places_read,
	.close = places_close,
};
