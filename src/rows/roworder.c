/*
 * roworder.c: the order of the rows in memory, fetched from an engine part by part.
 */
#include "postgres.h"

#include "roworder.h"

/* Row numbers fetched at a time: few enough for the cache, enough to prefetch rows by. */
#define PART_ROWS 16384

/* Takes the marks of rows away. */
static void
mark_unseen(RowOrder *order, const uint32 *part, uint64 count)
{
	for (uint64 i = 0; i < count; i++)
		order->seen[part[i] / 64] &= ~(UINT64CONST(1) << (part[i] % 64));
}

/* Marks the rows of a part as seen; GS_WRONG_ORDER, and nothing marked, if one is out of range or was seen before. */
static gs_status
check_part(RowOrder *order, const uint32 *part, uint64 count)
{
	for (uint64 i = 0; i < count; i++)
		if (!row_is_new(order->seen, part[i], order->rows))
		{
			/* roworder_resume compares a new order with the rows that are marked */
			mark_unseen(order, part, i);
			return GS_WRONG_ORDER;
		}
	return GS_OK;
}

/* Fetches a part behind those that are held. */
static gs_status
fetch_part(RowOrder *order)
{
	uint32	   *part = order->numbers + order->have;
	uint64		got = 0;
	gs_status	status = order->job->ops->next(order->job, part, Min(order->room - order->have, PART_ROWS), &got);

	if (status == GS_OK && got == 0)
		status = GS_WRONG_ORDER;
	if (status == GS_OK)
		status = check_part(order, part, got);
	if (status == GS_OK)
		order->have += got;
	return status;
}

/* Asks follows() about the next rows that are held, and makes them ready. */
static gs_status
make_ready(RowOrder *order)
{
	uint64		from = order->ready - order->base;
	uint64		count = order->have - from;
	uint64		behind = from > 0 ? 1 : 0;

	if (order->window > 0)
		count = Min(count, order->window);
	if (order->follows && !order->follows(order->arg, order->numbers + from - behind, count + behind))
	{
		order->misordered = true;
		return GS_WRONG_ORDER;
	}
	Assert(count > 0);
	order->ready += count;
	return GS_OK;
}

/* Are so few rows held that are not ready that some of the next window's, or of those prefetched by then, lack? */
static inline bool
wants_part(const RowOrder *order)
{
	uint64		held = order->base + order->have;
	uint64		wanted = order->window > 0 ? order->window + roworder_ahead(order) + PREFETCH_PLACES : 1;

	return held < order->count && held - order->ready < wanted;
}

/* Makes more rows ready, behind those that are held. */
static gs_status
get_more(RowOrder *order)
{
	gs_status	status = wants_part(order) && order->have < order->room ? fetch_part(order) : GS_OK;

	return status == GS_OK ? make_ready(order) : status;
}

/* Drops the rows that are ready, but for the last one, with which follows() compares the next. */
static void
drop_ready(RowOrder *order)
{
	uint64		dropped = order->ready - order->base - 1;

	order->have -= dropped;
	order->base += dropped;
	memmove(order->numbers, order->numbers + dropped, order->have * sizeof(uint32));
}

gs_status
roworder_fetch(RowOrder *order)
{
	if (wants_part(order) && !order->keep_all && order->ready > order->base)
		drop_ready(order);
	return get_more(order);
}

gs_status
roworder_begin(RowOrder *order, BigMem *mem, EngineJob *job, uint32 rows, uint32 count, bool keep_all,
			   uint32 first)
{
	Size		seen_bytes = ((Size) rows + 63) / 64 * sizeof(uint64);
	gs_status	status;

	*order = (RowOrder) {.mem = mem, .job = job, .engine = job->ops->name, .rows = rows, .count = count,
		.keep_all = keep_all, .follows = order->follows, .window = order->window, .recover = order->recover,
		.arg = order->arg};
	if (rows == 0)
		return GS_OK;
	order->room = keep_all ? count : Min(count, Max(first, PART_ROWS));
	order->numbers = bigmem_alloc(mem, order->room * sizeof(uint32));
	order->seen = bigmem_alloc(mem, seen_bytes);
	if (order->numbers == NULL || order->seen == NULL)
		return GS_NOMEM;
	memset(order->seen, 0, seen_bytes);
	do
		status = get_more(order);
	while (status == GS_OK && order->ready < Min(first, count));
	return status;
}

gs_status
roworder_identity(RowOrder *order, BigMem *mem, uint32 rows)
{
	*order = (RowOrder) {.mem = mem, .rows = rows, .count = rows, .keep_all = true, .have = rows, .room = rows,
		.ready = rows};
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
	uint64		checked = 0;
	gs_status	status;

	/* rows that were not ready have not been given out */
	mark_unseen(&old, old.numbers + (old.ready - old.base), old.base + old.have - old.ready);
	/* freed first, to make room for the new ones */
	bigmem_free(old.mem, old.numbers);
	old.numbers = NULL;
	status = roworder_begin(order, old.mem, job, old.rows, old.count, old.keep_all, 1);
	while (status == GS_OK && checked < old.ready)
	{
		if (!part_known(order, old.seen, checked, old.ready))
			status = GS_WRONG_ORDER;
		checked = order->base + order->have;
		if (status == GS_OK && checked < old.ready)
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
