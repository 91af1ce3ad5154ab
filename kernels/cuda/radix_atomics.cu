/*
 * radix_atomics.cu: passes that rank by the order in which shared atomics return to the lanes of a warp, and the test
 * whether this device keeps that order.
 */
#include "radix_dispatch.cuh"

/*
 * The one pass that a row order of few bits takes is ranked by ballots: nothing is gained by more kernels.
 */
gs_status
gs_radix_pass_atomics(gs_cuda_engine *e, int bits, gs_radix_io in, gs_radix_io out, gs_radix_args &a)
{
	if (in != GS_WORDS && out == GS_ROWS)
		return gs_radix_pass_ballots(e, bits, in, out, a);
	if (in == GS_WORDS)
	{
		if (out == GS_ROWS)
			return bits == 8 ? gs_radix_launch<8, GS_WORDS, GS_ROWS, true>(e, a)
							 : gs_radix_launch<9, GS_WORDS, GS_ROWS, true>(e, a);
		return bits == 8 ? gs_radix_launch<8, GS_WORDS, GS_WORDS, true>(e, a)
						 : gs_radix_launch<9, GS_WORDS, GS_WORDS, true>(e, a);
	}
	if (in == GS_COLUMN8)
		return bits == 8 ? gs_radix_launch<8, GS_COLUMN8, GS_WORDS, true>(e, a)
						 : gs_radix_launch<9, GS_COLUMN8, GS_WORDS, true>(e, a);
	return bits == 8 ? gs_radix_launch<8, GS_COLUMN4, GS_WORDS, true>(e, a)
					 : gs_radix_launch<9, GS_COLUMN4, GS_WORDS, true>(e, a);
}

/*
 * Many atomics on digits of four kinds (uniform, few, two, one); wrong becomes 1 if a warp's results ever leave lane order.
 */
static __global__ void __launch_bounds__(1024) lane_order_kernel(u32 *wrong)
{
	extern __shared__ u32 counters[];
	u32 *mine = counters + threadIdx.x / 32 * GS_PLACE;
	u32 x = blockIdx.x * 1024 + threadIdx.x;
	bool bad = false;

	for (u32 i = lane_id(); i < GS_PLACE; i += 32)
		mine[i] = 0;
	__syncwarp();
	for (int round = 0; round < 256; round++)
	{
		const u32 keep = round & 3;
		u32 d, rank, alike;

		x = x * 1664525u + 1013904223u;
		d = x >> (32 - GS_PLACE_BITS);
		d &= keep == 0 ? GS_PLACE - 1 : keep == 1 ? 0x1e0 : keep == 2 ? 0x100 : 0;
		rank = atomicAdd(mine + d, 1);
		alike = __match_any_sync(GS_ALL_LANES, d);
		bad |= rank != __shfl_sync(GS_ALL_LANES, rank, __ffs(alike) - 1) + __popc(alike & lanes_below());
	}
	if (bad)
		*wrong = 1;
}

/*
 * Runs the test; waits for it.
 */
gs_status
gs_lane_order_test(gs_cuda_engine *e, bool *in_order)
{
	gs_cuda_sort *sort;
	u32 *wrong, *answer;
	int blocks;

	GS_TRY(gs_sort_state(e, &sort));
	answer = (u32 *) sort->host;
	GS_TRY(gs_cuda_blocks(e, (const void *) lane_order_kernel, 1024, 32 * GS_PLACE * sizeof(u32), &blocks));
	GS_TRY(gs_cuda_status(cudaMalloc(&wrong, sizeof(u32))));
	cudaMemsetAsync(wrong, 0, sizeof(u32), e->stream);
	lane_order_kernel<<<2 * blocks, 1024, 32 * GS_PLACE * sizeof(u32), e->stream>>>(wrong);
	/* what has not run has not passed */
	gs_status status = gs_cuda_status(cudaGetLastError());

	if (status == GS_OK)
		status = gs_cuda_status(cudaMemcpyAsync(answer, wrong, sizeof(u32), cudaMemcpyDeviceToHost, e->stream));
	if (status == GS_OK)
		status = gs_cuda_status(cudaStreamSynchronize(e->stream));
	cudaFree(wrong);
	*in_order = status == GS_OK && *answer == 0;
	return status;
}
