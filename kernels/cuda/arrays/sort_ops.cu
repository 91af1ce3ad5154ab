/*
 * sort_ops.cu: the table of the sort family's operations.
 */
#include "sort_ops.cuh"

const gs_sort_ops gs_cuda_sort_family = [] {
	gs_sort_ops ops = {};

	ops.sort_temp_bytes = gs_cuda_sort_keys_temp;
	ops.sort = gs_cuda_sort_keys;
	ops.merge_sort_temp_bytes = gs_cuda_merge_sort_temp_bytes;
	ops.merge_sort = gs_cuda_merge_sort;
	ops.merge_runs_temp_bytes = gs_cuda_merge_runs_temp_bytes;
	ops.merge_runs = gs_cuda_merge_runs;
	ops.segments_temp_bytes = gs_cuda_segments_temp;
	ops.segments = gs_cuda_segments;
	ops.top_k_temp_bytes = gs_cuda_top_k_temp;
	ops.top_k = gs_cuda_top_k;
	return ops;
}();
