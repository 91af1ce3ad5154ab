/*
 * engine.cuh: the CUDA engine's state, and the launch of a sweep.  Shared by all .cu files.
 */
#ifndef GS_CUDA_BASE_ENGINE_CUH
#define GS_CUDA_BASE_ENGINE_CUH

#include "../../scan.h"
#include "../../sort.h"
#include "feed.cuh"
#include "stall.h"
#include "../tuning/tuning.h"

#define GS_TEMP_HEAD 256 /* bytes: the ticket counter, then status words */
#define GS_KERNELS	 256 /* kernels whose occupancy the engine caches */

struct gs_cuda_kernel
{
	const void *function;
	size_t shared;
	int blocks; /* on the whole device */
};

struct gs_cuda_engine
{
	gs_engine head;
	int device;
	bool pooled; /* gs_cuda_alloc_clean uses the device's pool */
	cudaStream_t stream;
	cudaDeviceProp properties;
	const gs_tuning *tuning; /* tuning row of the device's code */
	gs_watch *watch; /* in device memory */
	bool unclean; /* memory could not be cleared: no more work */
	u32 stall;
	u64 patience;
	u32 force_stages, force_blocks; /* overrides of the benchmark; 0: as tuned */
	u32 force_groups;				/* base/sort_testing.h */
	int nkernels;
	gs_cuda_kernel kernels[GS_KERNELS];
	void *sort; /* state of the sort family: radix/sort_state.cuh */
	u8 *staging; /* pinned host memory: memory.cuh */
	bool staged; /* the stream may still read arguments there */
	const void *answer_of; /* whose answer is there */
	u32 damage;			   /* base/sort_testing.h */
	u32 groups;			   /* lists of groups with keys that were done */
};

extern const gs_scan_ops gs_cuda_scan_ops;
extern const struct gs_row_ops gs_cuda_row_ops;
extern const struct gs_group_ops gs_cuda_group_ops;
extern const struct gs_group_ops gs_cuda_place_ops;
extern const struct gs_group_ops gs_cuda_computed_ops;
extern const struct gs_group_ops gs_cuda_window_ops;
extern const gs_sort_ops gs_cuda_sort_family;
void gs_cuda_sort_ops(gs_engine_ops *ops);
void gs_sort_close(struct gs_cuda_engine *e);

gs_status gs_cuda_status(cudaError_t error);

/* Device memory for work in the stream, cleared before others get it.  From a pool, no call waits for the device. */
gs_status gs_cuda_alloc_clean(gs_cuda_engine *engine, size_t bytes, void **block);
void gs_cuda_free_clean(gs_cuda_engine *engine, void *block, size_t bytes);
gs_status gs_cuda_blocks(gs_cuda_engine *engine, const void *function, int threads, size_t shared, int *blocks);
gs_status gs_cuda_prepare(gs_cuda_engine *engine, gs_sweep *sweep, void *temp, size_t word_bytes, u64 tiles,
						  const void *function, const gs_shape &shape, size_t stage_bytes, size_t more_bytes,
						  bool in_place, int *grid, size_t *shared);

/* Shared memory limit of a block, from the tuning row. */
static inline size_t
gs_cuda_shared(const gs_cuda_engine *engine)
{
	return (size_t) engine->tuning->shared << 10;
}

/* Blocks of a grid-stride loop: enough for n items, at most per_sm for each multiprocessor. */
static inline u32
gs_cuda_grid(const gs_cuda_engine *engine, u64 n, u64 each, u32 per_sm)
{
	u64 most = (u64) per_sm * engine->properties.multiProcessorCount, want = (n + each - 1) / each;

	return (u32) (want < most ? want : most);
}

/* Temporary memory for this many tiles, in bytes. */
static inline size_t
gs_cuda_temp(u64 tiles, size_t word_bytes)
{
	return GS_TEMP_HEAD + tiles * word_bytes;
}

/* Items before the array in its first 16-byte vector. */
static inline u32
gs_cuda_shift(const void *array, size_t width)
{
	return (u32) ((uintptr_t) array & 15) / (u32) width;
}

/* An array's address range. */
static inline gs_input
gs_cuda_input(const void *array, u64 bytes)
{
	return gs_input{(const u8 *) array, (const u8 *) array + bytes};
}

/*
 * Resets the status words behind the ticket counter, and launches a persistent kernel.  ARGS begins with a gs_sweep.
 * (Programmatic dependent launch made calls of few items two to three microseconds slower.)
 */
template <class ARGS>
gs_status
gs_cuda_sweep(gs_cuda_engine *engine, void (*kernel)(const ARGS), ARGS &args, void *temp, size_t word_bytes, u64 tiles,
			  const gs_shape &shape, size_t stage_bytes, size_t more_bytes, bool in_place)
{
	int grid, threads = shape.threads + GS_SERVICE;
	size_t shared;
	gs_status status = gs_cuda_prepare(engine, &args.sweep, temp, word_bytes, tiles, (const void *) kernel, shape,
									   stage_bytes, more_bytes, in_place, &grid, &shared);
	void *list[] = {&args};

	if (status != GS_OK)
		return status;
	return gs_cuda_status(
		cudaLaunchKernel((const void *) kernel, dim3(grid), dim3(threads), list, shared, engine->stream));
}

#endif
