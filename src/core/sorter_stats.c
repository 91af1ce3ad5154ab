/*
 * sorter_stats.c: what a sort has done, for EXPLAIN and the counters.
 */
#include "postgres.h"

#include "sorter_job.h"

const char *
sorter_fallback_text(SorterFallback fallback)
{
	static const char *const texts[] = {
		[SORTER_OURS] = "none",
		[SORTER_DISABLED] = "gpusort.enabled is off",
		[SORTER_BOUND] = "only the first rows are wanted",
		[SORTER_LARGE_KEYS] = "keys are too large for gpusort.work_mem",
		[SORTER_THEIR_KEYS] = "abbreviated keys that only PostgreSQL can compare",
		[SORTER_LONG_TEXT] = "long text that PostgreSQL sorts by its first characters",
		[SORTER_NO_MEMORY] = "out of memory",
		[SORTER_WRONG_ORDER] = "an order failed its check",
		[SORTER_CONTRADICTION] = "sort keys contradict the comparison function",
	};

	return texts[fallback];
}

/* The memory limit that would have avoided runs on disk, with a margin; 0 if no limit would. */
static uint64
wanted_bytes(const Sorter *sorter)
{
	return sorter->limit_no_help ? 0 : sorter->run_bytes + sorter->run_bytes / 16;
}

void
sorter_add_stages(SorterStages *sum, const SorterStages *one)
{
	sum->in_ms += one->in_ms;
	sum->sort_ms += one->sort_ms;
	sum->wait_in_ms += one->wait_in_ms;
	sum->wait_sort_ms += one->wait_sort_ms;
	sum->wait_out_ms += one->wait_out_ms;
	sum->upload_bytes += one->upload_bytes;
	sum->upload_ns += one->upload_ns;
	sum->device_ns += one->device_ns;
}

void
sorter_note_job(Sorter *sorter, SorterStats *stats)
{
	EngineJob  *job = sorter->job;

	if (job == NULL)
		return;
	job->ops->info(job, &stats->job);
	stats->kind = job->kind;
	stats->engine = job->name;
	if (job->kind == ENGINE_CPU)
		return;
	sorter_add_stages(&stats->stages, &(SorterStages) {
		.wait_in_ms = job->wait_in_ms,
		.wait_sort_ms = job->wait_sort_ms,
		.wait_out_ms = job->wait_out_ms,
		.upload_bytes = stats->job.upload_bytes,
		.upload_ns = stats->job.upload_ns,
		.device_ns = stats->job.device_ns});
}

/* Says what tuplesort did and took. */
static void
note_tuplesort(Tuplesortstate *tuplesort, SorterStats *stats)
{
	TuplesortInstrumentation took;
	bool		disk;

	tuplesort_get_stats(tuplesort, &took);
	disk = took.spaceType == SORT_SPACE_TYPE_DISK;
	stats->tuplesort = tuplesort_method_name(took.sortMethod);
	stats->memory_bytes = disk ? 0 : (uint64) took.spaceUsed * 1024;
	stats->disk_bytes = disk ? (uint64) took.spaceUsed * 1024 : 0;
}

const SorterStats *
sorter_stats(Sorter *sorter)
{
	sorter->shown = sorter->stats;
	sorter->shown.top = sorter->op == GS_TOPK;
	sorter_note_job(sorter, &sorter->shown);
	if (sorter->runs)
	{
		sorter->shown.wanted_bytes = wanted_bytes(sorter);
		sorter->shown.runs = spill_count(sorter->runs);
		sorter->shown.disk_bytes = spill_disk_bytes(sorter->runs);
	}
	if (sorter->tuplesort)
		note_tuplesort(sorter->tuplesort, &sorter->shown);
	return &sorter->shown;
}

const SortKey *
sorter_keys(const Sorter *sorter)
{
	return sorter->tuplesort ? NULL : sorter->keys;
}

const char *
sorter_key_form(const Sorter *sorter, int key)
{
	if (sorter->keys == NULL || sorter->keys[key].form == NULL)
		return NULL;
	return key < sorter->ncolumns ? sorter->keys[key].form : FORM_COMPARED;
}
