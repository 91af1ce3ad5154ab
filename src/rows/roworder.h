/*
 * roworder.h: the order of the rows in memory, fetched from an engine part by part.
 */
#ifndef GPUSORT_ROWORDER_H
#define GPUSORT_ROWORDER_H

#include "src/base/bigmem.h"
#include "src/base/compat.h"
#include "src/engine/engine.h"
#include "rowstore.h"

/*
 * Holds all row numbers, or only a window of them for readers that go forward.
 *
 * Invariants: no number held is out of range or came before; follows() has accepted all rows before ready.
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
	uint64		ready;			/* rows at positions before it may be given out */
	uint64	   *seen;			/* a bit for every row number fetched */

	/* Does each of the rows, one behind a row that is ready among them, follow its predecessor?  NULL: not asked. */
	bool		(*follows) (void *arg, const uint32 *rows, uint64 count);
	uint32		window;			/* rows that follows() is asked about at a time; 0: all that are fetched */

	/* Called after the engine failed; gets the order from another job (roworder_resume), or returns false. */
	bool		(*recover) (void *arg, gs_status status);
	void	   *arg;			/* of both */
	bool		misordered;		/* follows() refused a part; rows that were given out before may be wrong as well */
} RowOrder;

/*
 * Begins to read the order of a finished job over rows rows, which ends after count.  Fetches and checks
 * rows until at least first are ready or the order ends.  The caller has set follows, window, recover and arg.
 */
extern gs_status roworder_begin(RowOrder *order, BigMem *mem, EngineJob *job, uint32 rows, uint32 count,
								 bool keep_all, uint32 first);

/* Makes the order of rows that came in order, which needs no job: all numbers from 0 on. */
extern gs_status roworder_identity(RowOrder *order, BigMem *mem, uint32 rows);

/* Makes more rows ready; those that were before may be dropped. */
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

/* How many rows ahead of the one given out rows are prefetched: those of a window before follows() reads them. */
static inline uint32
roworder_ahead(const RowOrder *order)
{
	return order->window + PREFETCH_ROWS;
}

/* The row number at a position below count; positions must ascend unless keep_all. */
static inline uint32
roworder_at(RowOrder *order, uint64 position)
{
	while (unlikely(position >= order->ready))
	{
		gs_status	status = roworder_fetch(order);

		if (status != GS_OK && !(order->recover && order->recover(order->arg, status)))
			roworder_failed(order, status);
	}
	return order->numbers[position - order->base];
}

#endif
