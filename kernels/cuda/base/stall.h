/*
 * stall.h: makes tiles stall on purpose and counts how often others had to step in; for tests of the CUDA engine.
 */
#ifndef GS_CUDA_BASE_STALL_H
#define GS_CUDA_BASE_STALL_H

#include "../../gs.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * From now on the chosen tiles (at most 8) of every call wait before they publish anything until the call's last tile
 * is done, or until some seconds have passed.  patience is the number of cycles without progress after which a waiting
 * tile reduces its predecessor itself, 0 for never.  ntiles = 0 ends this; patience stays.
 */
gs_status gs_cuda_stall(gs_engine *engine, const uint32_t *tiles, uint32_t ntiles, uint64_t patience);

/*
 * Since the engine was opened: tiles that others stepped in for, and stalled tiles that gave up waiting.  Waits for the
 * device.
 */
gs_status gs_cuda_stall_counts(gs_engine *engine, uint32_t *fallbacks, uint32_t *timeouts);

/*
 * Calls as tuned, but with so many stages and at most so many blocks per multiprocessor; 0: as tuned.  For benchmarks.
 */
void gs_cuda_force(gs_engine *engine, uint32_t stages, uint32_t blocks);

/* The stream that work is enqueued on (a cudaStream_t), for events of benchmarks. */
void *gs_cuda_stream(gs_engine *engine);

#ifdef __cplusplus
}
#endif

#endif
