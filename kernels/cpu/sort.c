/*
 * sort.c: the sort family on the CPU: the table of its operations.
 */
#include "cpu.h"

const struct gs_sort_ops gs_cpu_sort_ops = {
	.sort_temp_bytes = gs_cpu_sort_keys_temp,
	.sort = gs_cpu_sort_keys,
	.merge_sort_temp_bytes = gs_cpu_merge_sort_temp,
	.merge_sort = gs_cpu_merge_sort,
	.merge_runs_temp_bytes = gs_cpu_merge_runs_temp,
	.merge_runs = gs_cpu_merge_runs,
	.segments_temp_bytes = gs_cpu_segments_temp,
	.segments = gs_cpu_segments,
	.top_k_temp_bytes = gs_cpu_top_k_temp,
	.top_k = gs_cpu_top_k,
};
