/*
 * sorter_verify.c: checks the order of a sort's rows that an engine returned, as gpusort.verify says.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "sorter_job.h"
#include "src/rows/neighbours.h"
#include "src/rows/verify.h"

/* Bytes of rows that are proved at hardly any cost beside the CPU's sort.  Longer ones take 5 % of a query's time. */
#define NARROW_BYTES 64

/*
 * Does it take little time beside all that is done with a row to compare it with the one before?  Where only the first
 * rows are wanted, the last one is compared with all others, beside which the CPU does little.  Words of a second key
 * take 8 % of a query with an order from a GPU, which has proved that itself.
 */
static bool
is_cheap(const Sorter *sorter)
{
	if (sorter->job->kind == ENGINE_CPU && (sorter->rows->stride > NARROW_BYTES || sorter->op == GS_TOPK))
		return false;
	if (sorter->job->kind == ENGINE_GPU && sorter->columns.nkeys > 1)
		return false;
	return neighbours_cheap(sorter->rows, sorter->places, sorter->keys, sorter->columns.nkeys);
}

GpusortVerify
sorter_verify_how(const Sorter *sorter)
{
	if (sorter->draft)
		return verify_answer_how(sorter->job->kind);
	return verify_order_how(sorter->job->kind, is_cheap(sorter));
}

/* Does an order end at this place among its numbers, without all rows that there are? */
static bool
ends_before_all(const RowOrder *order, const uint32 *end)
{
	return order->count < order->rows && order->base + (uint64) (end - order->numbers) == order->count;
}

bool
sorter_rows_follow(void *arg, const uint32 *rows, uint64 count)
{
	Sorter	   *sorter = arg;
	GpusortVerify how = sorter_verify_how(sorter);

	if (how == VERIFY_OFF)
		return true;
	if (sorter->verifier == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(sorter->cxt);

		sorter->verifier = verify_open(sorter_comparer(sorter), sorter->keys);
		MemoryContextSwitchTo(old);
	}
	if (!verify_part(sorter->verifier, how, rows, count))
		return false;
	return how == VERIFY_SAMPLE || !ends_before_all(&sorter->order, rows + count) ||
		verify_rest(sorter->verifier, rows[count - 1], sorter->order.seen);
}
