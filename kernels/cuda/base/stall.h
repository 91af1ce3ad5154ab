/*
 * stall.h: makes tiles stall, and counts fallbacks, for tests of the CUDA engine.
 */
#ifndef GS_CUDA_BASE_STALL_H
#define GS_CUDA_BASE_STALL_H

#include "../../gs.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * From now on, the chosen tiles (at most 8) of every call wait before they publish, until the call's last tile is done
 * or some seconds have passed.  patience: cycles without progress after which a waiting tile reduces its predecessor
 * itself; 0: never.  ntiles = 0 ends this, but keeps patience.
 */
gs_status gs_cuda_stall(gs_engine *engine, const uint32_t *tiles, uint32_t ntiles, uint64_t patience);

/* Counts since the engine's opening: tiles that others reduced, and stalled ones that gave up.  Waits for the GPU. */
gs_status gs_cuda_stall_counts(gs_engine *engine, uint32_t *fallbacks, uint32_t *timeouts);

/* Overrides the number of stages and the limit of blocks per multiprocessor; 0: as tuned.  For benchmarks. */
void gs_cuda_force(gs_engine *engine, uint32_t stages, uint32_t blocks);

/* The engine's stream (a cudaStream_t), for events of benchmarks. */
void *gs_cuda_stream(gs_engine *engine);

#ifdef __cplusplus
}
#endif

#endif
