/*
 * memory.cuh: memory of a question: arrays in device memory, one after another in one block; pinned host memory for its
 * arguments and its answer, which the stream copies while the host goes on.
 */
#ifndef GS_CUDA_BASE_MEMORY_CUH
#define GS_CUDA_BASE_MEMORY_CUH

#include "engine.cuh"

#define GS_MEMORY_BLOCKS 24
#define GS_STAGED_BYTES	 ((size_t) 256 << 10) /* of arguments; longer ones are copied from where they are */
#define GS_ANSWER_BYTES	 ((size_t) 64 << 10)

/* A question's device memory.  Begins as zeros. */
struct gs_cuda_memory
{
	struct
	{
		u8 *data;
		size_t bytes, used;
	} blocks[GS_MEMORY_BLOCKS];
	u32 nblocks;
	bool measuring;	 /* arrays are added up, and not taken: */
	size_t expected; /* bytes of arrays for which the next block has room */
};

/* Takes an array, behind the one before if the block has room.  While measuring, only counts it. */
gs_status gs_memory_take(gs_cuda_engine *e, gs_cuda_memory *m, size_t bytes, void **array);
/* Frees all arrays, cleared, in stream order. */
void gs_memory_free(gs_cuda_engine *e, gs_cuda_memory *m);

/*
 * Returns pinned memory for arguments that the caller writes and then uploads, once the stream has read those before;
 * NULL: there is none for so many bytes.
 */
void *gs_staged_arguments(gs_cuda_engine *e, size_t bytes);
/*
 * Returns pinned memory of GS_ANSWER_BYTES for downloads; NULL: there is none.  What an owner has there is gone once
 * answer_of is another one.
 */
void *gs_staged_answer(gs_cuda_engine *e, const void *owner);
/* Frees both, cleared. */
void gs_staged_close(gs_cuda_engine *e);

#endif
