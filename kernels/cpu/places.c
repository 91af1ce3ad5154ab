/*
 * places.c: lists with ROWS on the CPU: memory, rounds, the result.
 */
#include "places.h"

#include "select.h"

/* Rows beside the page that are taken at most: to sort more, in one thread, costs more than another round of all. */
#define MOST_BESIDE 32768

/* Implements gs_groups_open. */
static gs_status
places_open(gs_engine *engine, const gs_groups *head, gs_groups **groups)
{
	size_t bytes = sizeof(gs_places) + head->workers * sizeof(gs_place_worker);
	gs_places *p;

	if (head->rows > UINT32_MAX)
		return GS_TOO_BIG;
	p = engine->host.alloc(engine->host.arg, bytes);
	if (p == NULL)
		return GS_NOMEM;
	memset(p, 0, bytes);
	p->head = *head;
	p->engine = engine;
	p->work = (gs_work){engine->host, 0};
	p->bytes = bytes;
	p->step = gs_steps_rows(head->steps);
	p->now = head->keys.n > 0 ? GS_PLACES_COUNT : GS_PLACES_ALL;
	p->span = gs_mask(head->keys.bits);
	p->shift = head->keys.bits > GS_PLACE_BITS ? head->keys.bits - GS_PLACE_BITS : 0;
	p->rank = p->step->offset;
	*groups = &p->head;
	return GS_OK;
}

/* ---------------------------------------------------------------- rounds */

/* Moves the workers' counts to one table.  Returns their sum. */
static uint64_t
join_counts(gs_places *p, uint64_t *counts)
{
	uint64_t sum = 0;

	memset(counts, 0, GS_PLACE_BUCKETS * sizeof(*counts));
	for (uint32_t i = 0; i < p->head.workers; i++)
	{
		uint32_t *even = p->workers[i].counts.data, *odd;

		if (even == NULL)
			continue;
		odd = even + GS_PLACE_BUCKETS + 1;
		for (uint32_t b = 0; b < GS_PLACE_BUCKETS; b++)
			counts[b] += (uint64_t) even[b] + odd[b];
		memset(even, 0, 2 * (GS_PLACE_BUCKETS + 1) * sizeof(*even));
	}
	for (uint32_t b = 0; b < GS_PLACE_BUCKETS; b++)
		sum += counts[b];
	return sum;
}

/* Sets how many rows are taken, from a window of buckets; those at its ends may be one key each. */
static void
set_quotas(gs_places *p, const uint64_t *counts, uint32_t first, uint32_t last, uint64_t rows)
{
	for (int end = 0; end < GS_PLACE_ENDS; end++)
		p->quotas[end] = UINT64_MAX;
	if (p->shift > 0)
		return;
	p->quotas[GS_PLACE_LOW] = counts[first] - p->rank < p->count ? counts[first] - p->rank : p->count;
	if (last > first)
		p->quotas[GS_PLACE_HIGH] = p->count - p->quotas[GS_PLACE_LOW] - (rows - counts[first] - counts[last]);
}

/* Narrows the window to the buckets where the page lies, and decides what is done with these. */
static void
narrow(gs_places *p, const uint64_t *counts)
{
	uint32_t first = 0, last, bits;
	uint64_t rows, end;

	for (; counts[first] <= p->rank; first++)
		p->rank -= counts[first];
	last = first;
	for (rows = counts[first]; rows < p->rank + p->count; rows += counts[last])
		last++;
	end = p->low + p->span;
	p->low += (uint64_t) first << p->shift;
	p->span = ((uint64_t) (last - first + 1) << p->shift) - 1;
	p->span = p->span < end - p->low ? p->span : end - p->low;
	if (p->shift > 0 && last - first < GS_PLACE_BUCKETS / 2 && rows - p->count > p->count + MOST_BESIDE)
	{
		bits = (uint32_t) gs_bits(p->span);
		p->shift = bits > GS_PLACE_BITS ? bits - GS_PLACE_BITS : 0;
		return;
	}
	set_quotas(p, counts, first, last, rows);
	p->now = GS_PLACES_TAKE;
}

/* Implements gs_groups_parts. */
static uint32_t
places_parts(gs_groups *groups, uint32_t round)
{
	gs_places *p = (gs_places *) groups;
	uint64_t counts[GS_PLACE_BUCKETS], rows;
	uint32_t parts = 0;

	if (p->now != GS_PLACES_COUNT)
		return 0;
	rows = join_counts(p, counts);
	if (round == 0)
		p->count = gs_page_rows(p->step, rows);
	if (p->count > GS_GROUPS_MOST_BYTES / sizeof(gs_row))
		p->failure = GS_TOO_BIG;
	if (p->count == 0 || p->failure != GS_OK)
		return 0;
	narrow(p, counts);
	for (uint32_t i = 0; i < p->head.workers; i++)
		parts += p->workers[i].nunits;
	return parts;
}

/* ---------------------------------------------------------------- the result */

/* Puts what the workers have taken one behind another. */
static gs_status
gather(gs_places *p, uint64_t n)
{
	GS_TRY(gs_block_reserve(&p->work, &p->keys, n * sizeof(uint64_t)));
	GS_TRY(gs_block_reserve(&p->work, &p->places, n * sizeof(gs_row)));
	n = 0;
	for (uint32_t i = 0; i < p->head.workers; i++)
	{
		const gs_place_worker *w = &p->workers[i];

		if (w->n == 0)
			continue;
		memcpy((uint64_t *) p->keys.data + n, w->keys.data, w->n * sizeof(uint64_t));
		memcpy((gs_row *) p->places.data + n, w->places.data, w->n * sizeof(gs_row));
		n += w->n;
	}
	return GS_OK;
}

/* Sorts what the workers have taken, of which the page is a part. */
static gs_status
sort_places(gs_places *p, gs_engine *engine)
{
	gs_sort_request r = {.key = GS_U64, .key_bytes = 8, .end_bit = p->span > 0 ? (uint32_t) gs_bits(p->span) : 1};
	size_t temp;

	for (uint32_t i = 0; i < p->head.workers; i++)
		r.n += p->workers[i].n;
	r.value_width = sizeof(gs_row);
	temp = gs_cpu_sort_keys_temp(engine, r.key, r.value_width, r.n);
	GS_TRY(gather(p, r.n));
	GS_TRY(gs_block_reserve(&p->work, &p->sorted_keys, r.n * sizeof(uint64_t)));
	GS_TRY(gs_block_reserve(&p->work, &p->sorted, r.n * sizeof(gs_row)));
	GS_TRY(gs_block_reserve(&p->work, &p->temp, temp));
	r.keys = p->keys.data;
	r.values = p->places.data;
	r.out_keys = p->sorted_keys.data;
	r.out_values = p->sorted.data;
	return gs_cpu_sort_keys(engine, &r, p->temp.data);
}

/* Finds the page's first row among those that were taken: more than its quota may be of the first key. */
static void
find_first(gs_places *p)
{
	uint64_t low = 0, quota = p->quotas[GS_PLACE_LOW];

	if (quota == UINT64_MAX)
		return;
	for (uint32_t i = 0; i < p->head.workers; i++)
	{
		uint64_t seen = p->workers[i].seen[GS_PLACE_LOW];

		low += seen < quota ? seen : quota;
	}
	p->rank = low - quota;
}

/* Implements gs_groups_end. */
static gs_status
places_end(gs_groups *groups, gs_engine *engine, uint64_t *count)
{
	gs_places *p = (gs_places *) groups;

	if (p->failure != GS_OK)
		return p->failure;
	if (p->now == GS_PLACES_ALL)
		p->count = p->kept;
	else if (p->count > 0)
	{
		find_first(p);
		GS_TRY(sort_places(p, engine));
	}
	*count = p->count;
	return GS_OK;
}

/* Implements gs_groups_read.  Without orders the workers' rows follow each other. */
static gs_status
places_read(gs_groups *groups, gs_engine *engine, uint64_t first, uint64_t n, void *out)
{
	gs_places *p = (gs_places *) groups;
	gs_row *to = out;

	(void) engine;
	if (first > p->count || n > p->count - first)
		return GS_INVALID;
	if (n > 0 && p->now != GS_PLACES_ALL)
		memcpy(out, (const gs_row *) p->sorted.data + p->rank + first, n * sizeof(gs_row));
	for (const gs_place_worker *w = p->workers; n > 0 && p->now == GS_PLACES_ALL; w++)
	{
		uint64_t some = first < w->n ? w->n - first : 0;

		some = some < n ? some : n;
		if (some > 0)
			memcpy(to, (const gs_row *) w->places.data + first, some * sizeof(gs_row));
		first -= first < w->n ? first : w->n;
		to += some;
		n -= some;
	}
	return GS_OK;
}

/* Implements gs_groups_close. */
static void
places_close(gs_groups *groups, gs_engine *engine)
{
	gs_places *p = (gs_places *) groups;
	gs_block *own[] = {&p->keys, &p->places, &p->sorted_keys, &p->sorted, &p->temp};
	gs_work work = p->work;

	(void) engine;
	for (uint32_t i = 0; i < p->head.workers; i++)
	{
		gs_place_worker *w = &p->workers[i];
		gs_block *blocks[] = {&w->memory, &w->units, &w->spans, &w->counts, &w->keys, &w->places};

		for (size_t k = 0; k < sizeof(blocks) / sizeof(*blocks) && w->begun; k++)
			gs_block_release(&w->work, blocks[k]);
	}
	for (size_t k = 0; k < sizeof(own) / sizeof(*own); k++)
		gs_block_release(&work, own[k]);
	work.host.release(work.host.arg, p, p->bytes);
}

const struct gs_group_ops gs_cpu_place_ops = {
	.open = places_open,
	.rows = gs_cpu_places_rows,
	.parts = places_parts,
	.part = gs_cpu_places_part,
	.end = places_end,
	.read = places_read,
	.close = places_close,
};
