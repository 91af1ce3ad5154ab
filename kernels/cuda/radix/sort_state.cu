/*
 * sort_state.cu: what the sort family keeps in an engine, and which ranking a device allows.
 */
#include "sort_state.cuh"
#include "../base/sort_testing.h"

#include <cstring>

#define FEW_ROWS ((u64) 1 << 21)

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

void
gs_sort_close(gs_cuda_engine *e)
{
	gs_cuda_sort *s = (gs_cuda_sort *) e->sort;

	if (s == NULL)
		return;
	/* what was seen of keys */
	if (s->host != NULL)
		memset(s->host, 0, GS_SORT_HOST);
	cudaFreeHost(s->host);
	/* what cannot be cleared stays where it is */
	if (s->block != NULL && cudaMemset(s->block, 0, GS_SORT_BLOCK) == cudaSuccess)
		cudaFree(s->block);
	gs_small_close(s);
	e->head.host.release(e->head.host.arg, s, sizeof(*s));
	e->sort = NULL;
}

/*
 * May passes rank by the order of returning atomics?  Tested once per engine; few rows gain less than the check costs.
 */
bool
gs_sort_atomics(gs_cuda_engine *e, u64 rows)
{
	gs_cuda_sort *s;
	bool in_order = false;

	if (gs_sort_state(e, &s) != GS_OK)
		return false;
	if (s->force_ranking != 0)
		return s->force_ranking == 2 && e->tuning->atomics;
	if (rows < FEW_ROWS || !e->tuning->atomics)
		return false;
	if (s->ranking == 0)
	{
		if (gs_lane_order_test(e, &in_order) != GS_OK)
			return false;
		s->ranking = in_order ? 2 : 1;
	}
	return s->ranking == 2;
}

extern "C" void
gs_cuda_sort_force(gs_engine *engine, int ranking, uint32_t small, uint32_t buckets)
{
	gs_cuda_sort *s;

	if (gs_sort_state((gs_cuda_engine *) engine, &s) == GS_OK)
	{
		s->force_ranking = ranking;
		s->force_small = small;
		s->force_buckets = buckets;
	}
}
