/*
 * sorter_progress.c: what gpusort_progress shows of a sort.
 */
#include "postgres.h"

#include "sorter_job.h"

/* Fills in what only a sort with runs on disk has. */
static pg_noinline void
put_runs(const SpillRuns *runs, ProgressFigures *figures)
{
	figures->disk_bytes = (int64) spill_disk_bytes(runs);
	figures->runs = spill_count(runs) - 1;
}

/* Writes the figures of a sort into its slot, whose change has begun, and ends the change. */
static inline void
put_figures(const Sorter *sorter, ProgressSlot *slot, ProgressPhase phase, uint64 rows, int64 rows_expected)
{
	ProgressFigures *figures = &slot->figures;

	figures->phase = phase;
	figures->rows = (int64) rows;
	figures->rows_expected = rows_expected;
	if (likely(sorter->tuplesort == NULL))
	{
		figures->engine = (int) (sorter->job ? sorter->job->kind : sorter->stats.kind);
		figures->memory_bytes = (int64) (rowstore_bytes(sorter->rows) + sorter->held);
		figures->disk_bytes = figures->runs = 0;
		if (unlikely(sorter->runs != NULL))
			put_runs(sorter->runs, figures);
	}
	else
		figures->engine = PROGRESS_CORE;
	progress_end_change(slot);
}

/* The rows that a plan expects, -1 (unknown) if they do not fit. */
static inline int64
countable(double rows)
{
	return rows < 1e18 ? (int64) rows : -1;
}

/* Writes the figures of a sort if it has a slot. */
static pg_noinline void
report_now(Sorter *sorter, ProgressPhase phase, uint64 rows)
{
	ProgressSlot *slot = sorter->progress.slot;
	int64		rows_expected = (int64) sorter->stats.rows;

	if (slot == NULL)
		return;
	if (phase <= PROGRESS_WRITING && sorter->state < SS_FINISHING)
		rows_expected = countable(Max(sorter->rows_expected, (double) sorter->stats.rows));
	progress_begin_change(slot);
	put_figures(sorter, slot, phase, rows, rows_expected);
}

void
sorter_report(Sorter *sorter, ProgressPhase phase, uint64 rows)
{
	/* a small sort, which may be one of many, reports only when a phase begins */
	if (sorter->stats.rows >= PROGRESS_ROWS || rows == 0)
		report_now(sorter, phase, rows);
}

void
sorter_report_begin(Sorter *sorter)
{
	ProgressSlot *slot = progress_begin(&sorter->progress, sorter->started);

	if (slot)
		put_figures(sorter, slot, PROGRESS_READING, 0, countable(sorter->rows_expected));
}

void
sorter_report_merged(void *arg, uint64 rows)
{
	sorter_report(arg, PROGRESS_MERGING, rows);
}
