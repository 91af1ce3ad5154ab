/*
 * sort_testing.h: overrides the CUDA engine's choice of sorts, for tests and benchmarks.
 */
#ifndef GS_CUDA_BASE_SORT_TESTING_H
#define GS_CUDA_BASE_SORT_TESTING_H

#include "../../gs.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * small (orders in one launch): 1 never, 2 whenever they fit, 0 up to GS_SMALL_ROWS rows (order/key.cuh).  buckets
 * (leading digits and buckets): 1 never, 2 whenever possible, 3 even if keys are uneven, 0 when it saves time
 * (order/buckets.cu, arrays/keys_buckets.cu).
 */
void gs_cuda_sort_force(gs_engine *engine, uint32_t small, uint32_t buckets);

#ifdef __cplusplus
}
#endif

#endif
