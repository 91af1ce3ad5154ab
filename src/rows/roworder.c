/*
 * roworder.c: the order of the rows in memory, fetched from an engine part by part.
 */
#include "postgres.h"

#include "roworder.h"

/* Row numbers fetched at a time: few enough for the cache, enough to prefetch rows by. */
#define PART_ROWS 16384

/* Marks the rows of a part as seen; GS_WRONG_ORDER, and nothing marked, if one is out of range or was seen before. */
static gs_status
check_part(RowOrder *order, const uint32 *part, uint64 count)
{
	uint64	   *seen = order->seen;

	for (uint64 i = 0; i < count; i++)
		if (!row_is_new(seen, part[i], order->rows))
		{
			/* roworder_resume compares a new order with the rows that are marked */
			while (i-- > 0)
				seen[part[i] / 64] &= ~(UINT64CONST(1) << (part[i] % 64));
			return GS_WRONG_ORDER;
		}
	return GS_OK;
}

/* Fetches a part behind those that are held; before is the row before it, -1: none. */
static gs_status
fetch_part(RowOrder *order, int64 before)
{
	uint32	   *part = order->numbers + order->have;
	uint64		got = 0;
	gs_status	status = order->job->ops->next(order->job, part, Min(order->room - order->have, PART_ROWS), &got);

	if (status == GS_OK && got == 0)
		status = GS_WRONG_ORDER;
	if (status == GS_OK)
		status = check_part(order, part, got);
	if (status == GS_OK && order->follows && !order->follows(order->arg, before, part, got))
	{
		order->misordered = true;
		status = GS_WRONG_ORDER;
	}
	if (status == GS_OK)
		order->have += got;
	return status;
}

/* The row fetched last, -1: none. */
static int64
last_row(const RowOrder *order)
{
	return order->have > 0 ? (int64) order->numbers[order->have - 1] : -1;
}

gs_status
roworder_fetch(RowOrder *order)
{
	int64		before = last_row(order);

	if (!order->keep_all)
	{
		order->base += order->have;
		order->have = 0;
	}
	return fetch_part(order, before);
}

gs_status
roworder_begin(RowOrder *order, BigMem *mem, EngineJob *job, uint32 rows, uint32 count, bool keep_all,
			   uint32 first)
{
	Size		seen_bytes = ((Size) rows + 63) / 64 * sizeof(uint64);
	gs_status	status;

	*order = (RowOrder) {.mem = mem, .job = job, .engine = job->ops->name, .rows = rows, .count = count,
		.keep_all = keep_all, .follows = order->follows, .recover = order->recover, .arg = order->arg};
	if (rows == 0)
		return GS_OK;
	order->room = keep_all ? count : Min(count, Max(first, PART_ROWS));
	order->numbers = bigmem_alloc(mem, order->room * sizeof(uint32));
	order->seen = bigmem_alloc(mem, seen_bytes);
	if (order->numbers == NULL || order->seen == NULL)
		return GS_NOMEM;
	memset(order->seen, 0, seen_bytes);
	do
		status = fetch_part(order, last_row(order));
	while (status == GS_OK && order->have < Min(first, count));
	return status;
}

gs_status
roworder_identity(RowOrder *order, BigMem *mem, uint32 rows)
{
	*order = (RowOrder) {.mem = mem, .rows = rows, .count = rows, .keep_all = true, .have = rows, .room = rows};
	order->numbers = rows > 0 ? bigmem_alloc(mem, rows * sizeof(uint32)) : NULL;
	if (rows > 0 && order->numbers == NULL)
		return GS_NOMEM;
	for (uint32 row = 0; row < rows; row++)
		order->numbers[row] = row;
	return GS_OK;
}

/* Are the rows held at positions from from until until among those seen? */
static bool
part_known(const RowOrder *order, const uint64 *seen, uint64 from, uint64 until)
{
	uint64		end = Min(until, order->base + order->have);

	for (uint64 i = from; i < end; i++)
	{
		uint32		row = order->numbers[i - order->base];

		if ((seen[row / 64] & (UINT64CONST(1) << (row % 64))) == 0)
			return false;
	}
	return true;
}

gs_status
roworder_resume(RowOrder *order, EngineJob *job)
{
	RowOrder	old = *order;
	uint64		given = old.base + old.have;
	uint64		checked = 0;
	gs_status	status;

	/* freed first, to make room for the new ones */
	bigmem_free(old.mem, old.numbers);
	old.numbers = NULL;
	status = roworder_begin(order, old.mem, job, old.rows, old.count, old.keep_all, 1);
	while (status == GS_OK && checked < given)
	{
		if (!part_known(order, old.seen, checked, given))
			status = GS_WRONG_ORDER;
		checked = order->base + order->have;
		if (status == GS_OK && checked < given)
			status = roworder_fetch(order);
	}
	bigmem_free(old.mem, old.seen);
	return status;
}

void
roworder_failed(const RowOrder *order, gs_status status)
{
	if (order->misordered)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("gpusort found rows in a wrong order after others were returned"),
				 errdetail("Engine \"%s\": rows were compared with their neighbours, as \"gpusort.verify\" says.",
						   order->engine),
				 errhint("Do not use the rows returned so far. Repeat the query with gpusort.engine set to cpu, "
						 "or gpusort.enabled to off.")));
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("gpusort cannot go on with a sort after rows of it were returned"),
			 errdetail("Engine \"%s\": %s.", order->engine, gs_status_text(status)),
			 errhint("Repeat the query with gpusort.enabled set to off.")));
}

void
roworder_end(RowOrder *order)
{
	if (order->numbers)
		bigmem_free(order->mem, order->numbers);
	if (order->seen)
		bigmem_free(order->mem, order->seen);
	order->numbers = NULL;
	order->seen = NULL;
	order->room = 0;
}
