/*
 * launch.cuh: one digit pass over any number of tiles; for the files that say which passes there are.
 */
#ifndef GS_CUDA_RADIX_LAUNCH_CUH
#define GS_CUDA_RADIX_LAUNCH_CUH

#include "pass.cuh"
#include "radix.cuh"

/*
 * Launches one pass; tiles are cut here, and launches where the count bits of status words would not do.  Of segments,
 * which are shorter than that, tiles are told, and their number.
 */
template <int BITS, gs_radix_io IN, gs_radix_io OUT, bool ATOMICS, int VALUE = 0, int FLOATS = 0, bool SEGMENTS = false>
gs_status
gs_radix_launch(gs_cuda_engine *e, gs_radix_args &a)
{
	const gs_radix_shape s = gs_radix_shape_of(*e->tuning, BITS, ATOMICS, IN, VALUE);
	/* a status word counts to less than 2^30 */
	const u64 tile = (u64) s.threads * s.items, most = SEGMENTS ? ~0ull : ((1u << 30) - 1) / tile;
	const size_t shared = gs_radix_shared(s);
	void (*kernel)(const gs_radix_args) = radix_pass<BITS, IN, OUT, ATOMICS, VALUE, FLOATS, SEGMENTS>;
	u64 tiles = SEGMENTS ? a.sweep.tiles : (a.n + tile - 1) / tile;
	u32 *status = a.status, *ticket = a.sweep.ticket, *next = a.next_bases;
	int blocks;

	GS_TRY(gs_cuda_blocks(e, (const void *) kernel, s.threads, shared, &blocks));
	a.sweep.watch = e->watch;
	a.sweep.patience = e->patience;
	a.sweep.stall = e->stall;
	a.bases = NULL;
	for (u64 t = 0, part = 0; t < tiles; t += most, part++)
	{
		u64 here = tiles - t < most ? tiles - t : most;
		void *list[] = {&a};

		a.first = (u32) t;
		a.sweep.tiles = (u32) here;
		a.sweep.ticket = ticket + part;
		a.status = status + (t << BITS);
		a.next_bases = t + here < tiles ? next + part * GS_PLACE : NULL;
		if (e->stall)
			GS_TRY(gs_cuda_status(cudaMemsetAsync(&e->watch->last_done, 0, sizeof(u32), e->stream)));
		GS_TRY(gs_cuda_status(cudaLaunchKernel((const void *) kernel, dim3((u32) (here < (u64) blocks ? here : blocks)),
											   dim3(s.threads), list, shared, e->stream)));
		a.bases = a.next_bases;
	}
	a.status = status;
	a.sweep.ticket = ticket;
	a.next_bases = next;
	return GS_OK;
}

#endif
