/*
 * places.cu: lists of steps with ROWS on a device: the numbers of rows that pass, sorted by packed orders if there are
 * such; the page of them becomes places.
 */
#include "groups_state.cuh"

#include <cstring>

/* Implements gs_groups_open. */
static gs_status
places_open(gs_engine *engine, const gs_groups *head, gs_groups **groups)
{
	cuda_groups *g = gs_cuda_groups_new(engine, head, sizeof(*g));

	if (g == NULL)
		return GS_NOMEM;
	g->lists.keys = head->keys;
	*groups = &g->head;
	return gs_lists_plan(&g->lists, head->steps, head->ranges, head->rows);
}

/* Takes the arrays of the sort. */
static gs_status
take_arrays(cuda_groups *g, const gs_sort_plan &plan)
{
	gs_sort_arrays *a = &g->arrays;

	for (u32 i = 0; i < 2; i++)
	{
		GS_TRY(take(g, g->device.rows * plan.first_bytes, (u8 **) &a->first[i]));
		GS_TRY(take(g, g->device.rows, (u32 **) &a->second[i]));
	}
	a->temp_bytes = gs_sort_temp_bytes(&g->e->head, plan.first_bytes == 4 ? GS_U32 : GS_U64, plan.second_bytes,
									   g->device.rows);
	return take(g, a->temp_bytes, (u8 **) &a->temp);
}

/* Uploads the list and the rows, and takes all arrays, from one block. */
static gs_status
begin_rows(cuda_groups *g, const gs_held_rows *rows, const gs_sort_plan &plan)
{
	if (g->head.rows > GS_MAX_ROWS)
		return GS_TOO_BIG;
	g->device.rows = g->head.rows; /* or less */
	g->memory.measuring = true;
	GS_TRY(take_arrays(g, plan));
	g->memory.measuring = false;
	GS_TRY(gs_groups_upload(g, g->head.steps, rows));
	return g->device.rows == 0 ? GS_OK : take_arrays(g, plan);
}

/* Turns row numbers into places. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
page_kernel(const gs_lists *lists, const u32 *numbers, u64 n, gs_row *out)
{
	const u64 *bases = lists->bases;
	const u32 nsegments = lists->nsegments;

	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < n; i += (u64) gridDim.x * blockDim.x)
	{
		/* the last segment that begins at or below the number: those before it which begin there have no rows */
		const u32 segment = (u32) numbers_below(bases, nsegments, (u64) numbers[i] + 1) - 1;

		out[i] = {segment, (u32) (numbers[i] - bases[segment])};
	}
}

/* Writes the page. */
static gs_status
write_page(cuda_groups *g, const gs_sorted &sorted)
{
	const gs_rows_step *step = gs_steps_rows(g->head.steps);

	g->nrows = gs_page_rows(step, sorted.n);
	if (g->nrows > GS_GROUPS_MOST_BYTES / sizeof(gs_row))
		return GS_TOO_BIG;
	if (g->nrows == 0)
		return GS_OK;
	GS_TRY(take(g, g->nrows, &g->page));
	page_kernel<<<gs_cuda_grid(g->e, g->nrows, GS_GROUP_THREADS, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0,
				  g->e->stream>>>(g->device.lists, (const u32 *) sorted.second + step->offset, g->nrows, g->page);
	return gs_cuda_status(cudaGetLastError());
}

/* Implements gs_groups_rows, which comes once. */
static gs_status
places_rows(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	cuda_groups *g = (cuda_groups *) groups;
	const gs_sort_plan plan = gs_sort_rows_plan(g->head.keys.bits);
	gs_sorted sorted;

	(void) worker, (void) engine;
	GS_TRY(begin_rows(g, rows, plan));
	if (g->device.rows == 0)
		return GS_OK;
	if (g->device.numbers > UINT32_MAX)
		return GS_TOO_BIG;
	g->came = true;
	GS_TRY(gs_sort_pairs(g->e, &g->device, plan, g->arrays, g->state, &sorted));
	GS_TRY(write_page(g, sorted));
	/* without orders the page is all */
	GS_TRY(gs_rows_prove(g, sorted, g->nrows == sorted.n ? g->page : NULL));
	return gs_groups_finish(g, g->page, g->nrows * sizeof(gs_row));
}

/* Implements gs_groups_end. */
static gs_status
places_end(gs_groups *groups, gs_engine *engine, uint64_t *count)
{
	(void) engine;
	*count = ((const cuda_groups *) groups)->nrows;
	return GS_OK;
}

/* Implements gs_groups_read. */
static gs_status
places_read(gs_groups *groups, gs_engine *engine, uint64_t first, uint64_t n, void *out)
{
	cuda_groups *g = (cuda_groups *) groups;

	(void) engine;
	if (first > g->nrows || n > g->nrows - first)
		return GS_INVALID;
	if (n == 0)
		return GS_OK;
	cudaSetDevice(g->e->device);
	return gs_groups_fetch(g, g->page, first * sizeof(gs_row), n * sizeof(gs_row), out);
}

const gs_group_ops gs_cuda_place_ops = {places_open, places_rows, gs_groups_no_parts, gs_groups_no_part,
										places_end,	 places_read, gs_groups_drop};
