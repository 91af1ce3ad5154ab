/*
 * windows_placed.c: a window whose rows come in its only order, in one list of spans.  Nothing is sorted: the list is
 * cut into parts, and the rows of each are copied to their places.
 */
#include "windows.h"

#define PART_ROWS		 32768 /* whose numbers of runs fit the L2 cache */
#define LEAST_ROWS		 256
#define PARTS_PER_WORKER 8
#define MOST_PARTS		 4096

/* Returns how many parts there may be, of so many rows that workers share them. */
static uint64_t
choose_parts(const gs_cpu_windows *w)
{
	uint64_t parts = w->head.rows / PART_ROWS, least = (uint64_t) w->head.workers * PARTS_PER_WORKER;

	parts = parts > least ? parts : least;
	parts = parts < w->head.rows / LEAST_ROWS ? parts : w->head.rows / LEAST_ROWS;
	return parts < MOST_PARTS ? parts : MOST_PARTS;
}

gs_status
gs_window_plan_placed(gs_cpu_windows *w)
{
	gs_placed_rows *p = &w->placed;
	gs_window_records *r = &w->records;
	const uint64_t parts = choose_parts(w);

	for (uint32_t c = 0; c < w->head.steps->ncolumns; c++)
		if (w->columns >> c & 1)
			r->columns[r->ncolumns++] = (gs_window_column){
				.column = c, .type = (gs_type) w->head.steps->types[c], .nulls = w->head.ranges[c].nulls};
	w->split_bits = parts > 1 ? gs_bits(parts - 1) : 0;
	w->nparts = 1u << w->split_bits;
	p->part_rows = (w->head.rows + w->nparts - 1) / w->nparts;
	GS_TRY(gs_block_reserve(&w->work, &p->parts, (w->nparts + 1) * sizeof(gs_placed_part)));
	p->of = memset(p->parts.data, 0, (w->nparts + 1) * sizeof(gs_placed_part));
	return GS_OK;
}

void
gs_window_release_placed(gs_cpu_windows *w)
{
	gs_block_release(&w->work, &w->placed.parts);
	gs_block_release(&w->work, &w->placed.memory);
}

gs_status
gs_window_rows_placed(gs_cpu_windows *w, const gs_held_rows *rows)
{
	gs_placed_rows *p = &w->placed;
	uint64_t n = 0, left = p->part_rows;
	uint32_t part = 0;

	if (p->spans != NULL || gs_held_rows_count(rows) > w->head.rows)
		return GS_INVALID;
	GS_TRY(gs_block_reserve(&w->work, &p->memory, (rows->nspans + w->nparts) * sizeof(gs_span)));
	p->spans = p->memory.data;
	p->columns = rows->columns;
	for (uint64_t i = 0; i < rows->nspans; i++)
		for (gs_span span = rows->spans[i], some; span.rows > 0;)
		{
			if (left == 0)
			{
				p->of[++part].first = n;
				left = p->part_rows;
			}
			some = span;
			some.rows = some.rows < left ? some.rows : (uint32_t) left;
			p->spans[n++] = some;
			p->of[part].rows += some.rows;
			left -= some.rows;
			span.first += some.rows;
			span.rows -= some.rows;
		}
	while (part < w->nparts)
		p->of[++part].first = n;
	return GS_OK;
}

/* ---------------------------------------------------------------- blocks of rows */

/* Rows of a part, block by block. */
typedef struct placed_blocks
{
	const gs_cpu_windows *w;
	gs_steps_plan *plan;
	uint64_t span, end;
	uint32_t done; /* rows of the span */
	gs_rows_block block;
	uint64_t mask[GS_STEP_WORDS];
} placed_blocks;

/* Begins with a part's rows. */
static gs_status
begin_blocks(gs_cpu_windows *w, gs_window_worker *k, const gs_cpu_engine *cpu, uint32_t part, placed_blocks *b)
{
	const gs_placed_rows *p = &w->placed;

	if (k->plan.steps == NULL)
		GS_TRY(gs_make_plan(&k->work, cpu, w->head.steps, &k->plan, &k->plan_memory));
	b->w = w;
	b->plan = &k->plan;
	b->span = p->of[part].first;
	b->end = p->of[part + 1].first;
	b->done = 0;
	return GS_OK;
}

/* Goes to the next block, and filters its rows.  Returns false behind the last one. */
static bool
next_block(placed_blocks *b)
{
	const gs_placed_rows *p = &b->w->placed;
	const gs_span *span;
	uint32_t n;

	if (b->span < b->end && b->done == p->spans[b->span].rows)
	{
		b->span++;
		b->done = 0;
	}
	if (b->span == b->end)
		return false;
	span = &p->spans[b->span];
	n = span->rows - b->done < GS_STEP_ROWS ? span->rows - b->done : GS_STEP_ROWS;
	b->block = (gs_rows_block){.columns = p->columns + (uint64_t) span->segment * b->w->head.steps->ncolumns,
							   .first = (uint64_t) span->first + b->done,
							   .n = n,
							   .passed = n};
	b->done += n;
	if (b->plan->nterms == 0)
		return true;
	b->block.passed = gs_steps_mask(b->plan, b->plan->terms, b->plan->nterms, b->block.columns, b->block.first, n,
									b->mask);
	b->block.mask = b->block.passed == n ? NULL : b->mask;
	return true;
}

gs_status
gs_window_count_placed(gs_cpu_windows *w, gs_window_worker *k, gs_cpu_engine *cpu, uint32_t part)
{
	placed_blocks b;
	uint64_t passed = 0;

	GS_TRY(begin_blocks(w, k, cpu, part, &b));
	while (next_block(&b))
		passed += b.block.passed;
	GS_TRY(gs_work_add(&cpu->work, w->placed.of[part].rows * b.plan->nterms));
	w->placed.of[part].rows = passed;
	return GS_OK;
}

/* Writes which of a block's rows are NULL. */
static void
put_nulls(const gs_rows_block *b, const gs_held *column, uint8_t *to)
{
	if (column->nulls == NULL)
	{
		memset(to, 0, b->passed);
		return;
	}
	for (uint32_t w = 0; w * 64 < b->n; w++)
	{
		const uint32_t some = b->n - w * 64 < 64 ? b->n - w * 64 : 64;
		const uint64_t nulls = gs_null_bits(column->nulls, b->first + w * 64, some);

		for (uint64_t bits = b->mask != NULL ? b->mask[w] : gs_mask(some); bits != 0; bits &= bits - 1)
			*to++ = nulls >> __builtin_ctzll(bits) & 1;
	}
}

/* Copies a block's rows, from a place on. */
static void
copy_block(placed_blocks *b, const gs_ordered *to, uint64_t at)
{
	const gs_window_records *r = &b->w->records;
	const void *from[GS_STEPS_MAX_COLUMNS];

	gs_block_gather(b->plan, &b->block, b->w->columns, b->block.mask, from);
	for (uint32_t i = 0; i < r->ncolumns; i++)
	{
		const uint32_t c = r->columns[i].column;
		const size_t width = gs_width_of(r->columns[i].type);

		memcpy(to->values[c] + at * width, from[c], b->block.passed * width);
		if (to->nulls[c] != NULL)
			put_nulls(&b->block, &b->block.columns[c], to->nulls[c] + at);
	}
}

gs_status
gs_window_place(gs_cpu_windows *w, gs_window_worker *k, gs_cpu_engine *cpu, uint32_t part, const gs_ordered *to,
				uint64_t at, bool first)
{
	const uint64_t n = w->starts[part + 1] - w->starts[part], end = at + n;
	placed_blocks b;

	if (n == 0)
		return GS_OK;
	memset(to->marks + at, GS_MARK_PEERS, n);
	to->marks[at] |= first ? GS_MARK_PARTITION : 0;
	GS_TRY(begin_blocks(w, k, cpu, part, &b));
	for (uint64_t i = b.span; i < b.end; i++)
		if (!gs_nulls_known(b.plan, w->head.ranges, &w->placed.spans[i],
							w->placed.columns + (uint64_t) w->placed.spans[i].segment * w->head.steps->ncolumns))
			return GS_INVALID;
	for (; next_block(&b); at += b.block.passed)
	{
		/* columns may have become others since the rows were counted */
		if (b.block.passed > end - at)
			return GS_INVALID;
		copy_block(&b, to, at);
	}
	GS_TRY(gs_work_add(&cpu->work, n * (1 + w->records.ncolumns)));
	return at == end ? GS_OK : GS_INVALID;
}
