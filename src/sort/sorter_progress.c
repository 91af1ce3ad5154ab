/*
 * sorter_progress.c: what sorts and merges tell of themselves while they run.
 */
#include "postgres.h"

#include "merge_progress.h"
#include "sorter_job.h"

/* What can be said of a sort now. */
static ProgressFigures
figures_of(const Sorter *sorter, ProgressPhase phase, uint64 rows)
{
	ProgressFigures figures = {
		.phase = phase,
		.engine = sorter->core ? PROGRESS_CORE : (int) (sorter->job ? sorter->job->kind : sorter->stats.kind),
		.workers = -1,
		.rows = (int64) rows,
		.rows_expected = (int64) sorter->stats.rows,
		.memory_bytes = -1,
		.disk_bytes = -1,
		.runs = -1,
	};

	if (phase <= PROGRESS_WRITING && !sorter->ended)
		figures.rows_expected = (int64) Max(sorter->rows_expected, (double) sorter->stats.rows);
	if (sorter->core == NULL)
	{
		figures.memory_bytes = (int64) (rowstore_bytes(sorter->rows) + sorter->held);
		figures.disk_bytes = sorter->runs ? (int64) spill_disk_bytes(sorter->runs) : 0;
		figures.runs = sorter->runs ? spill_count(sorter->runs) - 1 : 0;
	}
	return figures;
}

void
sorter_tell(Sorter *sorter, ProgressPhase phase, uint64 rows)
{
	ProgressFigures figures;

	/* of a small sort, which may be one of many, it is enough that it takes rows, and that it gives them out */
	if (sorter->stats.rows < PROGRESS_ROWS && rows > 0)
		return;
	figures = figures_of(sorter, phase, rows);
	progress_tell(&sorter->progress, &figures);
}

void
sorter_tell_begin(Sorter *sorter)
{
	ProgressFigures figures = figures_of(sorter, PROGRESS_READING, 0);

	progress_begin(&sorter->progress, sorter->started, &figures);
}

void
sorter_tell_merged(void *arg, uint64 rows)
{
	sorter_tell(arg, PROGRESS_MERGING, rows);
}

void
merge_tell_begin(Progress *progress, double rows_expected)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	progress_begin(progress, now, &(ProgressFigures) {
		.phase = PROGRESS_READING,
		.engine = -1,
		.runs = -1,
		.rows_expected = (int64) rows_expected,
		.memory_bytes = -1,
		.disk_bytes = -1});
}

void
merge_tell(Progress *progress, uint64 rows, double rows_expected, int workers)
{
	progress_tell(progress, &(ProgressFigures) {
		.phase = PROGRESS_MERGING,
		.engine = -1,
		.runs = -1,
		.workers = workers,
		.rows = (int64) rows,
		.rows_expected = (int64) Max(rows_expected, (double) rows),
		.memory_bytes = -1,
		.disk_bytes = -1});
}
