/*
 * gs_library.h: primitives that no query reaches, for whoever has arrays in an engine's memory.
 *
 * Called, checked and tested as those of gs_arrays.h, on both engines.  A query has nothing to ask them that others do
 * not answer as well; doc/kernels.md tells what was measured.
 */
#ifndef GS_LIBRARY_H
#define GS_LIBRARY_H

#include "gs_arrays.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- scan family */

/*
 * Items in groups by label, 0 to k - 1 (k at most 256), in order within each group.  Group g begins at starts[g] and
 * ends at starts[g + 1]; starts has k + 1 elements.  Items with a label of k or more are dropped.  No query: rows go to
 * processes one at a time, as they come.
 */
size_t gs_split_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n, uint32_t k);
gs_status gs_split(gs_engine *engine, gs_type type, const void *in, const uint8_t *labels, uint64_t n, uint32_t k,
				   void *out, uint64_t *starts, void *temp, size_t temp_bytes);

/*
 * Runs of equal neighbours: each one's first item, its length and its first position, any of which may be NULL.  counts
 * (GS_U32 or GS_U64) is the type of lengths and starts; GS_TOO_BIG if n does not fit.  values in place allowed.  No
 * query: bits where runs begin serve columns of every type, and take 1.60 ns a row where these take 1.51.
 */
size_t gs_runs_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n);
gs_status gs_runs(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *values, gs_type counts,
				  void *lengths, void *starts, uint64_t *count, void *temp, size_t temp_bytes);

/* The same for runs of at least two items.  Not in place. */
gs_status gs_long_runs(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *values, gs_type counts,
					   void *lengths, void *starts, uint64_t *count, void *temp, size_t temp_bytes);

/* ---------------------------------------------------------------- sort family */

/*
 * Merge sort, by comparison.  Keys and values as for gs_merge_runs.  Input that is in order, or of which each key is
 * less than the one before, costs little more than a copy.  No query: row orders see by themselves what came in order,
 * and digits sort everything else faster.
 */
size_t gs_merge_sort_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n);
gs_status gs_merge_sort(gs_engine *engine, size_t key_bytes, const void *keys, void *out_keys, size_t value_width,
						const void *values, void *out_values, uint64_t n, void *temp, size_t temp_bytes);

/*
 * Sorts segments, each for itself: segment s is items starts[s] to starts[s + 1] - 1.  starts has segments + 1 elements
 * in the engine's memory, never falling; items outside of all segments are not written.  Keys and values as for
 * gs_sort.  May wait.  No query: groups come to an aggregate one at a time.
 */
size_t gs_sort_segments_temp_bytes(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n,
								   uint64_t segments);
gs_status gs_sort_segments(gs_engine *engine, gs_type key, bool desc, const void *keys, void *out_keys,
						   size_t value_width, const void *values, void *out_values, uint64_t n, const uint64_t *starts,
						   uint64_t segments, void *temp, size_t temp_bytes);

#ifdef __cplusplus
}
#endif

#endif
