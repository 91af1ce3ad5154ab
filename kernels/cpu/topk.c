/*
 * topk.c: the first k rows of an order.
 *
 * Where the whole key fits a word beside the row number, words are made block by block, and those below the greatest
 * that may still matter are kept, at most 2k; whenever that is full, the k least stay and the bound falls.  These are
 * sorted.  Longer keys, and a k that is a large part of the rows, take a whole order.
 */
#include "cpu.h"

#include <string.h>

static size_t
words_bytes(uint64_t n)
{
	return (n * sizeof(uint64_t) + GS_ALIGN - 1) & ~(size_t) (GS_ALIGN - 1);
}

/* Room for kept words: 2k, and a block more. */
static uint64_t
kept_room(uint64_t k)
{
	return 2 * k + GS_BLOCK_ROWS;
}

size_t
gs_cpu_top_k_temp(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, uint64_t k)
{
	const gs_cpu_tuning *tuning = &((const gs_cpu_engine *) engine)->tuning;

	(void) columns, (void) ncolumns, (void) k;
	return words_bytes(rows) + 2 * words_bytes(rows + GS_ALIGN) + gs_sorter_bytes(rows, tuning) + GS_ALIGN;
}

/*
 * Moves the k least of n different words to the front.
 */
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
		/* words before i are at most the pivot, words from i on at least; between j and i it is the pivot alone */
		if (k <= j + 1 && j + 1 < high)
			high = j + 1;
		else if (k >= i)
			low = i;
		else
			break;
	}
	return GS_OK;
}

/*
 * True if the first k rows can be found without sorting the others, and that pays.
 */
bool
gs_order_first_pays(const gs_order *order, uint64_t k)
{
	return order->complete && order->rows > 8192 && k > 0 && k <= order->rows / 8;
}

size_t
gs_order_first_bytes(uint64_t k, const gs_cpu_tuning *tuning)
{
	return 2 * words_bytes(kept_room(k)) + gs_sorter_bytes(k, tuning);
}

/*
 * The first k of an order that has been started, whose first step is the whole key.  temp is aligned to a line.
 */
gs_status
gs_order_first(const gs_order *order, uint64_t k, uint32_t *out, void *temp)
{
	uint64_t keys[GS_BLOCK_ROWS], words[GS_BLOCK_ROWS];
	uint64_t *kept = temp, *other = (uint64_t *) ((char *) temp + words_bytes(kept_room(k)));
	uint64_t n = 0, bound = UINT64_MAX;
	gs_sorter sorter = {.work = order->work, .tuning = order->sorter.tuning};

	if (gs_sorter_bytes(k, order->sorter.tuning) > 0)
		sorter.scratch = (char *) other + words_bytes(kept_room(k));
	for (uint64_t row = 0; row < order->rows; row += GS_BLOCK_ROWS)
	{
		size_t block = order->rows - row < GS_BLOCK_ROWS ? order->rows - row : GS_BLOCK_ROWS;

		memset(keys, 0, sizeof(keys));
		if (order->step.nparts > 0)
			gs_step_rows(order->key, &order->step, row, block, keys);
		order->loops->number(words, keys, block, order->row_bits, row);
		for (size_t i = 0; i < block; i++)
		{
			kept[n] = words[i];
			n += words[i] <= bound;
		}
		if (n > 2 * k)
		{
			GS_TRY(least(order->work, kept, n, k));
			n = k;
			bound = 0;
			for (uint64_t i = 0; i < k; i++)
				bound = kept[i] > bound ? kept[i] : bound;
		}
		GS_TRY(gs_work_add(order->work, block * (order->step.nparts + 1)));
	}
	GS_TRY(least(order->work, kept, n, k));
	GS_TRY(gs_sort_words(&sorter, &kept, &other, k, 0, order->row_bits + order->step.bits, true));
	order->loops->extract(out, kept, k, gs_mask(order->row_bits));
	return GS_OK;
}

/*
 * Runs a plan and keeps the begin of the order.
 */
static gs_status
whole_order(gs_engine *engine, const gs_plan *plan, uint64_t rows, uint64_t k, uint32_t *out, char *temp,
			size_t temp_bytes)
{
	uint32_t *order = (uint32_t *) temp;

	GS_TRY(engine->ops->order_run(engine, plan, temp + words_bytes(rows), temp_bytes - words_bytes(rows), order, NULL));
	memcpy(out, order, k * sizeof(*out));
	return GS_OK;
}

gs_status
gs_cpu_top_k(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, uint64_t k, uint32_t *out,
			 void *temp, size_t temp_bytes)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	gs_order order;
	gs_plan *plan;
	gs_status status;

	GS_TRY(engine->ops->order_plan(engine, columns, ncolumns, rows, &plan));
	gs_order_init(&order, &((gs_cpu_plan *) plan)->key, &cpu->work, &cpu->tuning);
	if (gs_order_first_pays(&order, k))
		status = gs_order_first(&order, k, out, temp);
	else
		status = whole_order(engine, plan, rows, k, out, temp, temp_bytes);
	engine->ops->plan_free(engine, plan);
	return status;
}
