/*
 * gs_library.h: primitives that no query reaches, called, checked and tested as those of gs_arrays.h, on both engines.
 *  doc/kernels.md has the measurements that keep queries from using them.
 */
#ifndef GS_LIBRARY_H
#define GS_LIBRARY_H

#include "gs_arrays.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- scan family */

/*
 * Groups items by label, 0 to k - 1 (k at most 256), stably.  Group g is items starts[g] to starts[g + 1] - 1; starts
 * has k + 1 elements.  Items with a label of k or more are dropped.  Not used by queries: rows reach processes one at a
 * time.
 */
size_t gs_split_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n, uint32_t k);
gs_status gs_split(gs_engine *engine, gs_type type, const void *in, const uint8_t *labels, uint64_t n, uint32_t k,
				   void *out, uint64_t *starts, void *temp, size_t temp_bytes);

/*
 * Runs of equal neighbours: first item, length and first position of each; any output may be NULL.  counts (GS_U32 or
 * GS_U64) is the type of lengths and starts; returns GS_TOO_BIG if n does not fit.  values in place allowed.  Not used
 * by queries: bitmaps of run heads serve columns of every type, at 1.60 ns a row against 1.51.
 */
size_t gs_runs_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n);
gs_status gs_runs(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *values, gs_type counts,
				  void *lengths, void *starts, uint64_t *count, void *temp, size_t temp_bytes);

/* Runs of at least two items.  Not in place. */
gs_status gs_long_runs(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *values, gs_type counts,
					   void *lengths, void *starts, uint64_t *count, void *temp, size_t temp_bytes);

/* ---------------------------------------------------------------- sort family */

/*
 * Merge sort, by comparison.  Keys and values as for gs_merge_runs.  Ascending and strictly descending input costs
 * little more than a copy.  Not used by queries: row orders detect ordered input themselves, and radix sorts are faster
 * otherwise.
 */
size_t gs_merge_sort_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n);
gs_status gs_merge_sort(gs_engine *engine, const gs_sort_request *request, void *temp, size_t temp_bytes);

/*
 * Sorts each segment separately, by all bits: segment s is items starts[s] to starts[s + 1] - 1.  starts is in the
 * engine's memory and never decreases; items outside all segments are not written.  Keys and values as for gs_sort.
 * May wait.  Not used by queries: groups reach an aggregate one at a time.
 */
size_t gs_sort_segments_temp_bytes(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n,
								   uint64_t segments);
gs_status gs_sort_segments(gs_engine *engine, const gs_sort_request *request, void *temp, size_t temp_bytes);

#ifdef __cplusplus
}
#endif

#endif
