/*
 * sort.h: operations of the sort family that an engine implements, or leaves NULL.  Internal to kernels/.  sort.c has
 * checked the request: types and sizes are valid, arrays do not overlap, n > 0, temp is large enough.  Where the caller
 * names a type, sort.c has filled in key_bytes, and end_bit if it was 0.
 */
#ifndef GS_SORT_H
#define GS_SORT_H

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gs_sort_ops
{
	size_t (*sort_temp_bytes)(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n);
	/* begin_bit < end_bit */
	gs_status (*sort)(gs_engine *engine, const gs_sort_request *r, void *temp);

	size_t (*merge_sort_temp_bytes)(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n);
	gs_status (*merge_sort)(gs_engine *engine, const gs_sort_request *r, void *temp);

	/* starts is checked as well; parts > 0 */
	size_t (*merge_runs_temp_bytes)(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n,
									uint64_t runs);
	gs_status (*merge_runs)(gs_engine *engine, const gs_sort_request *r, void *temp);

	/* starts is in the engine's memory and not checked; parts > 0 */
	size_t (*segments_temp_bytes)(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n,
								  uint64_t segments);
	gs_status (*segments)(gs_engine *engine, const gs_sort_request *r, void *temp);

	/* 0 < k <= rows */
	size_t (*top_k_temp_bytes)(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows,
							   uint64_t k);
	gs_status (*top_k)(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, uint64_t k,
					   uint32_t *order, void *temp, size_t temp_bytes);
};

#ifdef __cplusplus
}
#endif

#endif
