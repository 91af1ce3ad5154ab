/*
 * sort_testing.h: how the CUDA engine sorts, for tests and benchmarks.
 */
#ifndef GS_CUDA_BASE_SORT_TESTING_H
#define GS_CUDA_BASE_SORT_TESTING_H

#include "../../gs.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * small: 1 no order in one launch, 2 every one that fits, 0 those of at most GS_SMALL_ROWS rows (order/key.cuh).
 * buckets: 1 no order and no sort by leading digits and buckets, 2 wherever that is possible, 3 even if keys do not
 * spread evenly, 0 where it saves time (order/buckets.cu, arrays/keys_buckets.cu).
 */
void gs_cuda_sort_force(gs_engine *engine, uint32_t small, uint32_t buckets);

#ifdef __cplusplus
}
#endif

#endif
