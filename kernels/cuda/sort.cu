/*
 * sort.cu: the sort family on a GPU: the table of its operations.
 */
#include "sort.cuh"

const gs_sort_ops gs_cuda_sort_family = [] {
	gs_sort_ops ops = {};

	ops.sort_temp_bytes = gs_cuda_sort_keys_temp;
	ops.sort = gs_cuda_sort_keys;
	return ops;
}();
