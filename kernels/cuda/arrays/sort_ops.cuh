/*
 * sort_ops.cuh: implementations of the sort family.  kernels/sort.h describes the calls.
 */
#ifndef GS_CUDA_ARRAYS_SORT_OPS_CUH
#define GS_CUDA_ARRAYS_SORT_OPS_CUH

#include "../base/engine.cuh"

/* ---------------------------------------------------------------- arrays/keys.cu */

size_t gs_cuda_sort_keys_temp(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n);
gs_status gs_cuda_sort_keys(gs_engine *engine, const gs_sort_request *r, void *temp);

/* segments.cu */
size_t gs_cuda_segments_temp(const gs_engine *engine, gs_type key, size_t value_width, u64 n, u64 segments);
gs_status gs_cuda_segments(gs_engine *engine, const gs_sort_request *r, void *temp);

/* topk.cu */
size_t gs_cuda_top_k_temp(gs_engine *engine, const gs_column *columns, u32 ncolumns, u64 rows, u64 k);
gs_status gs_cuda_top_k(gs_engine *engine, const gs_column *columns, u32 ncolumns, u64 rows, u64 k, u32 *out,
						void *temp, size_t temp_bytes);

/* ---------------------------------------------------------------- merge.cu */

size_t gs_cuda_merge_sort_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n);
gs_status gs_cuda_merge_sort(gs_engine *engine, const gs_sort_request *r, void *temp);
size_t gs_cuda_merge_runs_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n,
									 uint64_t runs);
gs_status gs_cuda_merge_runs(gs_engine *engine, const gs_sort_request *r, void *temp);

#endif
