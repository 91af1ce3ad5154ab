/*
 * sort_state.cuh: the sort family's state in an engine.
 */
#ifndef GS_CUDA_RADIX_SORT_STATE_CUH
#define GS_CUDA_RADIX_SORT_STATE_CUH

#include "../base/engine.cuh"

/* The sort family's state, created on first use. */
struct gs_cuda_sort
{
	u8 *host;		   /* pinned, for small results */
	u8 *block;		   /* device memory for one plan at a time, allocated on first use */
	bool block_borrowed; /* in use by a plan */
	u32 force_small;   /* base/sort_testing.h */
	u32 force_buckets;
	bool small_asked;  /* small_most is known */
	u64 small_most;	   /* limit of rows for an order in one launch */
	void *small_state; /* device memory of such launches */
	bool unproved;	   /* orders of jobs, base/sort_testing.h */
	const u32 *damage; /* numbers that they get there */
	u64 damage_at, damage_rows;
};

#define GS_SORT_HOST  65536
#define GS_SORT_BLOCK (1 << 20)

gs_status gs_sort_state(gs_cuda_engine *e, gs_cuda_sort **sort);
void gs_sort_close(gs_cuda_engine *e);
void gs_small_close(gs_cuda_sort *sort); /* order/small.cu */

/* Rounds up to 256 bytes, the alignment of arrays in temporary memory, as cudaMalloc's. */
static inline size_t
gs_round256(size_t bytes)
{
	return (bytes + 255) & ~(size_t) 255;
}

/* Hashes a number. */
static __device__ __forceinline__ u64
gs_scramble(u64 z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

#endif
