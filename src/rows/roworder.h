/*
 * roworder.h: the order of the rows in memory, fetched from an engine part by part.
 */
#ifndef GPUSORT_ROWORDER_H
#define GPUSORT_ROWORDER_H

#include "src/base/bigmem.h"
#include "src/base/compat.h"
#include "src/engine/engine.h"

/*
 * Holds all row numbers, or for readers that only go forward a window of them.  Every part is checked before a row of
 * it is given out: no number out of range, none twice, and whatever else the owner asks.
 */
typedef struct RowOrder
{
	BigMem	   *mem;
	EngineJob  *job;
	const char *engine;			/* its name, which outlives it */
	uint32		rows;			/* numbers are below this */
	uint32		count;			/* of the order: the first ones of all rows */
	bool		keep_all;
	uint32	   *numbers;		/* from position base on */
	uint64		base;
	uint64		have;
	uint64		room;
	uint64	   *seen;			/* a bit for every row number fetched */

	/* Do the rows of a part follow each other, and the row before it (-1: none)?  NULL: nobody asks. */
	bool		(*follows) (void *arg, int64 before, const uint32 *part, uint64 count);

	/*
	 * May bring the order from elsewhere after its engine failed, up to and beyond what was fetched; false: it cannot.
	 */
	bool		(*recover) (void *arg, gs_status status);
	void	   *arg;			/* of both */
	bool		misordered;		/* a part does not follow: what was given out before it may be as wrong */
} RowOrder;

/*
 * Begins to read the order of a finished job of rows rows, which ends after count; fetches so many of them, if there
 * are as many, and at least one part.  What the caller has set is kept: follows, recover and arg.
 */
extern gs_status roworder_begin(RowOrder *order, BigMem *mem, EngineJob *job, uint32 rows, uint32 count,
								 bool keep_all, uint32 first);

/* The order of rows that came in order: all numbers from 0 on, with no job behind them. */
extern gs_status roworder_identity(RowOrder *order, BigMem *mem, uint32 rows);

/* Fetches the next part. */
extern gs_status roworder_fetch(RowOrder *order);

/*
 * Begins again with another job over the same rows, after the engine of this order failed: the new order must start
 * with the rows that were fetched from the old one, and goes on behind them.  The old order is gone whatever the
 * outcome.
 */
extern gs_status roworder_resume(RowOrder *order, EngineJob *job);

/* Gives the memory back; may be called twice. */
extern void roworder_end(RowOrder *order);

/* An order found wrong after rows of it have been given out: XX001. */
pg_noreturn extern void roworder_failed(const RowOrder *order, gs_status status);

/* Marks a row as seen.  Returns false, with nothing done, if there is no such row or it has been seen. */
static inline bool
row_is_new(uint64 *seen, uint64 row, uint64 rows)
{
	uint64		bit = UINT64CONST(1) << (row % 64);

	if (unlikely(row >= rows || (seen[row / 64] & bit) != 0))
		return false;
	seen[row / 64] |= bit;
	return true;
}

/* The row number at a position below count; positions must ascend unless keep_all. */
static inline uint32
roworder_at(RowOrder *order, uint64 position)
{
	while (unlikely(position >= order->base + order->have))
	{
		gs_status	status = roworder_fetch(order);

		if (status != GS_OK && !(order->recover && order->recover(order->arg, status)))
			roworder_failed(order, status);
	}
	return order->numbers[position - order->base];
}

#endif
