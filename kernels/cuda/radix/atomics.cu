/*
 * atomics.cu: passes that rank by the order in which shared atomics return to the lanes of a warp, and the test
 * whether this device keeps that order.
 */
#include "dispatch.cuh"

gs_status
gs_radix_pass_atomics(gs_cuda_engine *e, int bits, gs_radix_io in, gs_radix_io out, gs_radix_args &a)
{
	if (bits > GS_PLACE_BITS)
		return gs_radix_pass_wide(e, true, in, out, a);
	return bits == 8 ? radix_dispatch<8, true>(e, in, out, a) : radix_dispatch<9, true>(e, in, out, a);
}

#define LANE_DIGITS (1 << GS_PLACE_BITS)

/*
 * Many atomics on digits of four kinds (uniform, few, two, one); wrong becomes 1 if a warp's results ever leave lane
 * order.
 */
static __global__ void __launch_bounds__(1024) lane_order_kernel(u32 *wrong)
{
	extern __shared__ u32 counters[];
	u32 *mine = counters + threadIdx.x / 32 * LANE_DIGITS;
	u32 x = blockIdx.x * 1024 + threadIdx.x;
	bool bad = false;

	for (u32 i = lane_id(); i < LANE_DIGITS; i += 32)
		mine[i] = 0;
	__syncwarp();
	for (int round = 0; round < 256; round++)
	{
		const u32 keep = round & 3;
		u32 d, rank, peers;

		x = x * 1664525u + 1013904223u;
		d = x >> (32 - GS_PLACE_BITS);
		d &= keep == 0 ? LANE_DIGITS - 1 : keep == 1 ? 0x1e0 : keep == 2 ? 0x100 : 0;
		rank = atomicAdd(mine + d, 1);
		peers = __match_any_sync(GS_ALL_LANES, d);
		bad |= rank != __shfl_sync(GS_ALL_LANES, rank, __ffs(peers) - 1) + __popc(peers & lanes_below());
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
	GS_TRY(gs_cuda_blocks(e, (const void *) lane_order_kernel, 1024, 32 * LANE_DIGITS * sizeof(u32), &blocks));
	GS_TRY(gs_cuda_status(cudaMalloc(&wrong, sizeof(u32))));
	cudaMemsetAsync(wrong, 0, sizeof(u32), e->stream);
	lane_order_kernel<<<2 * blocks, 1024, 32 * LANE_DIGITS * sizeof(u32), e->stream>>>(wrong);
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
