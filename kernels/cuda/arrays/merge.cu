/*
 * merge.cu: gs_merge_sort and gs_merge_runs: passes, temporary memory, launches.  The kernels are in merge.cuh.
 */
#include "merge_run.cuh"

/* Selects kernels by the width of a key.  places: items keep their places, by which values are fetched. */
static gs_merge_kernels
kernels_for(size_t key, bool places)
{
	switch (key)
	{
		case 4:
			return gs_merge_kernels4(places);
		case 8:
			return gs_merge_kernels8(places);
		case 16:
			return gs_merge_kernels16(places);
		case 24:
			return gs_merge_kernels24(places);
		default:
			return gs_merge_kernels32(places);
	}
}

/* Selects the kernels with the shape of the code that the driver has loaded. */
static gs_merge_kernels
choose(const gs_engine *engine, size_t key, size_t value_width)
{
	const gs_cuda_engine *e = (const gs_cuda_engine *) engine;
	gs_merge_kernels k = kernels_for(key, value_width > 0);

	k.shape = gs_merge_shape_of(*e->tuning, (int) key);
	return k;
}

/* Returns the memory for every second pass, and for the cuts of the widest one. */
size_t
gs_cuda_merge_sort_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n)
{
	return gs_merge_sort_temp(choose(engine, key_bytes, value_width), key_bytes, value_width, n);
}

/* Implements gs_merge_sort.  Not used by queries. */
gs_status
gs_cuda_merge_sort(gs_engine *engine, const gs_sort_request *r, void *temp)
{
	return gs_merge_sort_with((gs_cuda_engine *) engine, choose(engine, r->key_bytes, r->value_width), r, temp);
}

/* Returns the memory for a merge of this many runs of any lengths. */
size_t
gs_cuda_merge_runs_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n, uint64_t runs)
{
	return gs_merge_runs_temp(choose(engine, key_bytes, value_width), key_bytes, value_width, n, runs);
}

/* Implements gs_merge_runs.  On a GPU not used by queries. */
gs_status
gs_cuda_merge_runs(gs_engine *engine, const gs_sort_request *r, void *temp)
{
	return gs_merge_runs_with((gs_cuda_engine *) engine, choose(engine, r->key_bytes, r->value_width), r, temp);
}
