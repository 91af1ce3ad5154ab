/*
 * sort_state.cu: the sort family's state in an engine.
 */
#include "sort_state.cuh"
#include "../base/sort_testing.h"

#include <cstring>

/* Returns the state, which is created on first use. */
gs_status
gs_sort_state(gs_cuda_engine *e, gs_cuda_sort **sort)
{
	gs_cuda_sort *s = (gs_cuda_sort *) e->sort;

	if (s == NULL)
	{
		s = (gs_cuda_sort *) e->head.host.alloc(e->head.host.arg, sizeof(*s));
		if (s == NULL)
			return GS_NOMEM;
		memset((void *) s, 0, sizeof(*s));
		e->sort = s;
	}
	if (s->host == NULL)
		GS_TRY(gs_cuda_status(cudaMallocHost((void **) &s->host, GS_SORT_HOST)));
	*sort = s;
	return GS_OK;
}

/* Frees the state.  Clears its memory, which has held keys. */
void
gs_sort_close(gs_cuda_engine *e)
{
	gs_cuda_sort *s = (gs_cuda_sort *) e->sort;

	if (s == NULL)
		return;
	/* contains data of keys */
	if (s->host != NULL)
		memset(s->host, 0, GS_SORT_HOST);
	cudaFreeHost(s->host);
	/* memory that cannot be cleared is leaked */
	if (s->block != NULL && cudaMemset(s->block, 0, GS_SORT_BLOCK) == cudaSuccess)
		cudaFree(s->block);
	gs_small_close(s);
	e->head.host.release(e->head.host.arg, s, sizeof(*s));
	e->sort = NULL;
}

extern "C" void
gs_cuda_sort_force(gs_engine *engine, uint32_t small, uint32_t buckets)
{
	gs_cuda_sort *s;

	if (gs_sort_state((gs_cuda_engine *) engine, &s) == GS_OK)
	{
		s->force_small = small;
		s->force_buckets = buckets;
	}
}

extern "C" void
gs_cuda_order_damage(gs_engine *engine, const uint32_t *numbers, uint64_t at, uint64_t n)
{
	gs_cuda_sort *s;

	if (gs_sort_state((gs_cuda_engine *) engine, &s) == GS_OK)
	{
		s->damage = numbers;
		s->damage_at = at;
		s->damage_rows = n;
	}
}

extern "C" void
gs_cuda_order_trust(gs_engine *engine, bool trusted)
{
	gs_cuda_sort *s;

	if (gs_sort_state((gs_cuda_engine *) engine, &s) == GS_OK)
		s->unproved = trusted;
}
