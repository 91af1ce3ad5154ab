/*
 * roworder.h: the order of the rows in memory, fetched from an engine part by part.
 */
#ifndef GPUSORT_ROWORDER_H
#define GPUSORT_ROWORDER_H

#include "src/base/bigmem.h"
#include "src/base/compat.h"
#include "src/engine/engine.h"

/*
 * Holds all row numbers, or only a window of them for readers that go forward.
 *
 * Invariant: each part held was checked: no number is out of range or came before, and follows() has accepted it.
 */
typedef struct RowOrder
{
	BigMem	   *mem;
	EngineJob  *job;
	const char *engine;			/* its name, which outlives it */
	uint32		rows;			/* numbers are below this */
	uint32		count;			/* numbers in the order, which ends there if only the first rows are wanted */
	bool		keep_all;
	uint32	   *numbers;		/* from position base on */
	uint64		base;
	uint64		have;
	uint64		room;
	uint64	   *seen;			/* a bit for every row number fetched */

	/* Does each row of a part follow its predecessor, the first one the row before (-1: none)?  NULL: not asked. */
	bool		(*follows) (void *arg, int64 before, const uint32 *part, uint64 count);

	/* Called after the engine failed; gets the order from another job (roworder_resume), or returns false. */
	bool		(*recover) (void *arg, gs_status status);
	void	   *arg;			/* of both */
	bool		misordered;		/* follows() refused a part; rows that were given out before may be wrong as well */
} RowOrder;

/*
 * Begins to read the order of a finished job over rows rows, which ends after count.  Fetches at least one part, and
 * parts until first numbers are held or the order ends.  The caller has set follows, recover and arg.
 */
extern gs_status roworder_begin(RowOrder *order, BigMem *mem, EngineJob *job, uint32 rows, uint32 count,
								 bool keep_all, uint32 first);

/* Makes the order of rows that came in order, which needs no job: all numbers from 0 on. */
extern gs_status roworder_identity(RowOrder *order, BigMem *mem, uint32 rows);

/* Fetches the next part. */
extern gs_status roworder_fetch(RowOrder *order);

/* Begins again with another job, after a failure.  It must begin with the rows fetched before.  Frees the old order. */
extern gs_status roworder_resume(RowOrder *order, EngineJob *job);

/* Gives the memory back; may be called twice. */
extern void roworder_end(RowOrder *order);

/* Raises XX001: the order cannot be continued after rows of it have been given out. */
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
