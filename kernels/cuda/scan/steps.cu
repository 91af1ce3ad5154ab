/*
 * steps.cu: lists of steps without keys over columns in segments: one slot, whose folds (groups.cuh) are the results.
 */
#include "groups_fold.cuh"

#include <cstring>

#define MOST_WORDS (sizeof(gs_group_state) / sizeof(u64) + 4 * GS_MOST_FOLDS)

/* Plans a list. */
static void
plan(gs_lists *lists, const gs_held_rows *rows, const gs_steps *steps)
{
	memset((void *) lists, 0, sizeof(*lists));
	gs_lists_plan(lists, steps, NULL, gs_held_rows_count(rows));
}

/* Implements gs_reduce_temp_bytes: memory comes from the device's pool, which costs less than the caller's would. */
size_t
gs_cuda_reduce_rows_temp_bytes(const gs_engine *engine, const gs_held_rows *rows, const gs_steps *steps)
{
	(void) engine, (void) rows, (void) steps;
	return 0;
}

/* Adds up all rows, with a planned list in some memory. */
static gs_status
reduce(gs_cuda_engine *e, gs_lists *lists, const gs_held_rows *rows, const gs_steps *steps, void *memory,
	   gs_reduced *out)
{
	u64 own[MOST_WORDS];
	void *answer;
	const gs_group_state *state;
	gs_device_lists device;
	gs_table table;
	bool good = true;

	GS_TRY(gs_lists_upload(e, lists, steps, rows, memory, &device));
	if (device.rows == 0)
		return GS_OK;
	if (device.rows > GS_MAX_ROWS)
		return GS_TOO_BIG;
	GS_TRY(gs_fold_tiles(e, &device, device.one, true, device.state));
	answer = gs_staged_answer(e, NULL);
	answer = answer != NULL ? answer : own;
	/* the state, and behind it the table */
	GS_TRY(gs_download(&e->head, answer, device.state, sizeof(*state) + gs_table_bytes(lists, 1)));
	GS_TRY(gs_group_poll(e));
	state = (const gs_group_state *) answer;
	table = gs_table_at(lists, 1, (u8 *) answer + sizeof(*state));
	for (u32 i = 0; i < lists->naggregates; i++)
		out[i] = gs_fold_result(&lists->folds[1 + i], &table, 0, &good);
	return good && state->failed == 0 ? GS_OK : GS_OVERFLOW;
}

/* Implements gs_reduce_rows. */
gs_status
gs_cuda_reduce_rows(gs_engine *engine, const gs_held_rows *rows, const gs_steps *steps, gs_reduced *out, void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	gs_cuda_memory memory = {};
	gs_lists lists;
	gs_status status;
	void *block;

	(void) temp;
	plan(&lists, rows, steps);
	for (u32 i = 0; i < lists.naggregates; i++)
		out[i] = gs_reduced_none();
	cudaSetDevice(e->device);
	status = gs_memory_take(e, &memory, gs_lists_bytes(&lists, steps, rows), &block);
	if (status == GS_OK)
		status = reduce(e, &lists, rows, steps, block, out);
	gs_memory_free(e, &memory);
	return status;
}
