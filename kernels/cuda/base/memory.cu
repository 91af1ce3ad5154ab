/*
 * memory.cu: a question's device memory, and an engine's pinned host memory.
 */
#include "memory.cuh"

#include <cstring>

#define SPARE ((size_t) 1 << 20) /* of a block beside what is expected, for arguments and few results */

/* Allocates a block for an array and what is expected beside it, or at least for the array. */
static gs_status
add_block(gs_cuda_engine *e, gs_cuda_memory *m, size_t bytes)
{
	size_t all = m->expected + SPARE;
	gs_status status;
	void *data;

	if (m->nblocks == GS_MEMORY_BLOCKS)
		return GS_NOMEM;
	all = all > bytes ? all : bytes;
	status = gs_cuda_alloc_clean(e, all, &data);
	if (status == GS_NOMEM && all > bytes)
		status = gs_cuda_alloc_clean(e, all = bytes, &data);
	if (status != GS_OK)
		return status;
	m->blocks[m->nblocks++] = {(u8 *) data, all, 0};
	m->expected = 0;
	return GS_OK;
}

gs_status
gs_memory_take(gs_cuda_engine *e, gs_cuda_memory *m, size_t bytes, void **array)
{
	bytes = ((bytes == 0 ? 1 : bytes) + 255) & ~(size_t) 255;
	*array = NULL;
	if (m->measuring)
	{
		m->expected += bytes;
		return GS_OK;
	}
	if (m->nblocks == 0 || m->blocks[m->nblocks - 1].bytes - m->blocks[m->nblocks - 1].used < bytes)
		GS_TRY(add_block(e, m, bytes));

	auto &block = m->blocks[m->nblocks - 1];

	*array = block.data + block.used;
	block.used += bytes;
	return GS_OK;
}

/* What was not taken is as clean as it came. */
void
gs_memory_free(gs_cuda_engine *e, gs_cuda_memory *m)
{
	for (; m->nblocks > 0; m->nblocks--)
		gs_cuda_free_clean(e, m->blocks[m->nblocks - 1].data, m->blocks[m->nblocks - 1].used);
}

/* Returns the engine's pinned memory, which is allocated when it is first asked for. */
static u8 *
staging(gs_cuda_engine *e)
{
	if (e->staging == NULL && cudaMallocHost((void **) &e->staging, GS_STAGED_BYTES + GS_ANSWER_BYTES) != cudaSuccess)
	{
		cudaGetLastError();
		e->staging = NULL;
	}
	return e->staging;
}

void *
gs_staged_arguments(gs_cuda_engine *e, size_t bytes)
{
	if (bytes > GS_STAGED_BYTES || staging(e) == NULL)
		return NULL;
	if (e->staged && gs_sync(&e->head) != GS_OK)
		return NULL;
	e->staged = true;
	return e->staging;
}

void *
gs_staged_answer(gs_cuda_engine *e, const void *owner)
{
	e->answer_of = owner;
	return staging(e) != NULL ? e->staging + GS_STAGED_BYTES : NULL;
}

void
gs_staged_close(gs_cuda_engine *e)
{
	if (e->staging == NULL)
		return;
	memset(e->staging, 0, GS_STAGED_BYTES + GS_ANSWER_BYTES);
	cudaFreeHost(e->staging);
}
