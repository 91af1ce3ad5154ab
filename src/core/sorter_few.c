/*
 * sorter_few.c: sorts of which far fewer rows come than the planner expects.
 *
 * Encoders, a job of the engine and its chunk take longer to set up than a few dozen rows take to be compared.  So the
 * first rows go into the store alone.  Once more than FEW_ROWS have come, keys are opened and the rows encoded.  If
 * input ends before, the rows are sorted by comparison.
 */
#include "postgres.h"

#include "sorter_job.h"
#include "src/base/guc.h"

/* Up to this number of rows comparisons cost less. */
#define FEW_ROWS 64

bool
sorter_begin_few(Sorter *sorter)
{
	/* who asks for gpusort's sorts of fewer rows gets them */
	sorter->few = Min(FEW_ROWS, (uint32) gpusort_min_rows);
	if (sorter->few == 0)
		return false;
	sorter->state = SS_LOADING_FEW;
	/* leaves room for the keys of all rows, as in sorter_expect_order */
	sorter->rows_limit = sorter->limit / 2;
	sorter->writer.capacity = sorter->few;
	return true;
}

gs_status
sorter_finish_few(Sorter *sorter)
{
	uint32		rows = sorter->rows->rows;
	gs_status	status = roworder_identity(&sorter->order, sorter->mem, rows);

	sorter->stats.kind = ENGINE_CPU;
	sorter->stats.engine = engine_cpu.name;
	/* a single row is in order */
	sorter->stats.job.order.input = GS_ASCENDING;
	sorter->stats.tied = (TiedStats) {.compared = rows, .runs = rows > 1, .rows = rows};
	sorter->stats.memory_bytes = rowstore_bytes(sorter->rows) + (Size) rows * (sizeof(uint32) + TIED_RUN_BYTES);
	if (status == GS_OK && rows > 1 &&
		!tied_runs_sort_all(sorter_comparer(sorter), sorter->order.numbers, rows, sorter->mem, sorter->limit / 2))
		status = GS_NOMEM;
	return status;
}
