/*
 * topk.c: the first k rows of an order.  Words, leading key bits above the row number, are kept block by block up to a
 * bound.  When the buffer is full, only the k least stay and the bound falls.  If words do not hold the complete key,
 * words that tie with the bound stay, and are refined at the end.  A full sort is made if k is large, or if leading
 * bits leave too many rows in doubt.
 */
#include "cpu.h"

#include <string.h>

#define DOUBT_FRACTION 8 /* at most 1/DOUBT_FRACTION of all rows may be in doubt */

/* Returns the words to keep: 2k and a block, and more for rows in doubt. */
static uint64_t
kept_room(const gs_order *order, uint64_t k)
{
	return 2 * k + GS_BLOCK_ROWS + (order->complete ? 0 : order->rows / DOUBT_FRACTION);
}

/* Returns the temporary memory of a full sort, as it is not known in advance whether that can be avoided. */
size_t
gs_cpu_top_k_temp(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, uint64_t k)
{
	const gs_cpu_tuning *tuning = &((const gs_cpu_engine *) engine)->tuning;

	(void) columns, (void) ncolumns, (void) k;
	return gs_words_bytes(rows) + 2 * gs_words_bytes(rows + GS_ALIGN) + gs_sorter_bytes(rows, tuning) + GS_ALIGN;
}

/* Moves the k least of n distinct words to the front. */
static gs_status
least(gs_work *work, uint64_t *words, uint64_t n, uint64_t k)
{
	uint64_t low = 0, high = n, random = 0;

	while (high - low > 1 && k > low && k < high)
	{
		uint64_t pivot, i = low, j = high - 1;

		random = random * 6364136223846793005u + 1442695040888963407u;
		pivot = words[low + (random >> 33) % (high - low)];
		GS_TRY(gs_work_add(work, high - low));
		while (i <= j)
		{
			while (words[i] < pivot)
				i++;
			while (words[j] > pivot)
				j--;
			if (i <= j)
			{
				uint64_t x = words[i];

				words[i++] = words[j];
				words[j] = x;
				if (j == 0)
					break;
				j--;
			}
		}
		/* words before i are at most the pivot, words from i on at least; between j and i lies only the pivot */
		if (k <= j + 1 && j + 1 < high)
			high = j + 1;
		else if (k >= i)
			low = i;
		else
			break;
	}
	return GS_OK;
}

/* Returns true if finding the first k rows without a full sort is possible and pays. */
bool
gs_order_first_pays(const gs_order *order, uint64_t k)
{
	return order->rows > 8192 && k > 0 && k <= order->rows / 8;
}

/* Returns the temporary memory of gs_order_first, much less than that of a full sort. */
size_t
gs_order_first_bytes(const gs_order *order, uint64_t k)
{
	uint64_t room = kept_room(order, k);

	return 2 * gs_words_bytes(room) + gs_sorter_bytes(room, order->sorter.tuning);
}

/* Keeps the k least of n words, then those whose leading bits tie with the greatest of them, which becomes *bound. */
static gs_status
leave_least(const gs_order *order, uint64_t *words, uint64_t k, uint64_t *n, uint64_t *bound)
{
	uint64_t greatest = 0, left = k;

	GS_TRY(least(order->work, words, *n, k));
	for (uint64_t i = 0; i < k; i++)
		greatest = words[i] > greatest ? words[i] : greatest;
	if (!order->complete)
		greatest |= gs_mask(order->row_bits);
	for (uint64_t i = k; i < *n; i++)
	{
		uint64_t word = words[i];

		words[left] = word;
		left += word <= greatest;
	}
	*n = left;
	*bound = greatest;
	return gs_work_add(order->work, *n);
}

/* Keeps the words of rows that may be first.  *n: 0 if there are too many, or the alphabet lacks a character. */
static gs_status
keep_first(const gs_order *order, uint64_t k, uint64_t *kept, uint64_t *n)
{
	const uint64_t room = kept_room(order, k) - GS_BLOCK_ROWS;
	uint64_t codes[GS_BLOCK_ROWS], words[GS_BLOCK_ROWS], bound = UINT64_MAX, many = 0, last = UINT64_MAX;
	int seen = 0;

	*n = 0;
	for (uint64_t row = 0; row < order->rows; row += GS_BLOCK_ROWS)
	{
		size_t block = order->rows - row < GS_BLOCK_ROWS ? order->rows - row : GS_BLOCK_ROWS;

		if (!gs_order_codes(order, row, block, codes))
			return GS_OK;
		seen |= order->loops->number(words, codes, block, order->row_bits, row) | (codes[0] < last ? 0 : GS_RISES);
		last = codes[block - 1];
		for (size_t i = 0; i < block; i++)
		{
			kept[many] = words[i];
			many += words[i] <= bound;
		}
		GS_TRY(gs_work_add(order->work, block * (order->step.nparts + 1)));
		if (many <= room)
			continue;
		if (!(seen & GS_RISES))
		{
			/* each is less than all before it */
			memmove(kept, kept + many - k, k * sizeof(*kept));
			many = k;
			continue;
		}
		GS_TRY(leave_least(order, kept, k, &many, &bound));
		if (many > room - room / 4)
			return GS_OK;
	}
	*n = many;
	return leave_least(order, kept, k, n, &bound);
}

/* Finds the first k rows of an order; *done: false if that takes a full sort.  temp is aligned to a cache line. */
gs_status
gs_order_first(const gs_order *order, uint64_t k, uint32_t *out, void *temp, bool *done)
{
	uint64_t room = kept_room(order, k);
	gs_order first = *order;

	first.words = temp;
	first.other = (uint64_t *) ((char *) temp + gs_words_bytes(room));
	first.sorter.scratch = NULL;
	GS_TRY(keep_first(order, k, first.words, &first.rows));
	*done = first.rows > 0;
	if (!*done)
		return GS_OK;
	if (gs_sorter_bytes(first.rows, order->sorter.tuning) > 0)
		first.sorter.scratch = (char *) first.other + gs_words_bytes(room);
	GS_TRY(gs_sort_words(&first.sorter, &first.words, &first.other, first.rows, 0, order->row_bits + order->step.bits,
						 true));
	if (!order->complete)
		GS_TRY(gs_refine(&first));
	order->loops->extract(out, first.words, k, gs_mask(order->row_bits));
	return GS_OK;
}

/* Sorts all rows and keeps the first k. */
static gs_status
whole_order(gs_engine *engine, const gs_plan *plan, uint64_t rows, uint64_t k, uint32_t *out, char *temp,
			size_t temp_bytes)
{
	uint32_t *order = (uint32_t *) temp;

	GS_TRY(engine->ops->order_run(engine, plan, temp + gs_words_bytes(rows), temp_bytes - gs_words_bytes(rows), order,
								  NULL));
	memcpy(out, order, k * sizeof(*out));
	return GS_OK;
}

/* Implements gs_top_k: finds the first rows alone if that pays and succeeds, otherwise sorts all. */
gs_status
gs_cpu_top_k(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, uint64_t k, uint32_t *out,
			 void *temp, size_t temp_bytes)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	gs_order order;
	gs_plan *plan;
	gs_status status;
	bool done = false;

	GS_TRY(engine->ops->order_plan(engine, columns, ncolumns, rows, &plan));
	gs_order_init(&order, &((gs_cpu_plan *) plan)->key, &cpu->work, &cpu->tuning);
	gs_order_clip_outliers(&order);
	status = gs_order_first_pays(&order, k) ? gs_order_first(&order, k, out, temp, &done) : GS_OK;
	if (status == GS_OK && !done)
		status = whole_order(engine, plan, rows, k, out, temp, temp_bytes);
	engine->ops->plan_free(engine, plan);
	return status;
}
