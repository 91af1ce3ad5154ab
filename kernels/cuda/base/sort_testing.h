/*
 * sort_testing.h: overrides the CUDA engine's choice of sorts and of ways to groups, for tests and benchmarks.
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

/*
 * Orders of jobs get n numbers from a place on before they are proved (order/proof.cu); NULL: none.  The numbers remain
 * the caller's.  Orders that have no such places stay as they are.
 */
void gs_cuda_order_damage(gs_engine *engine, const uint32_t *numbers, uint64_t at, uint64_t n);

/* Orders of jobs are not proved, or are again. */
void gs_cuda_order_trust(gs_engine *engine, bool trusted);

/* Ways of rows to groups (scan/groups.cu), each taken where it is possible. */
typedef enum gs_cuda_groups_way
{
	GS_CUDA_GROUPS_CHOSEN,
	GS_CUDA_GROUPS_SHARED,
	GS_CUDA_GROUPS_DENSE,
	GS_CUDA_GROUPS_SORTED
} gs_cuda_groups_way;

void gs_cuda_groups_force(gs_engine *engine, gs_cuda_groups_way way);

/* What becomes of the first group's first aggregate, or of rows, before they are proved (scan/groups_proof.cu). */
typedef enum gs_cuda_damage
{
	GS_CUDA_DAMAGE_NONE,
	GS_CUDA_DAMAGE_VALUE, /* it is one more; the first row comes twice */
	GS_CUDA_DAMAGE_COUNT  /* one value is lost */
} gs_cuda_damage;

void gs_cuda_groups_damage(gs_engine *engine, gs_cuda_damage what);

#ifdef __cplusplus
}
#endif

#endif
