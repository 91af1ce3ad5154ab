/*
 * scan_ops.cu: the operations table of the scan family, its temporary memory, and helpers.
 */
#include "scan_ops.cuh"
#include "reduce.cuh"

/* Returns the room for status words, and for the vectors before each tile that calls in place need. */
static size_t
cuda_temp_bytes(const gs_engine *engine, gs_primitive primitive, size_t bytes, uint64_t n, uint64_t extra)
{
	auto sweep = [&](gs_tuned what, int value, size_t word, u64 items) -> size_t {
		u64 tile = gs_tile(gs_shape_of(*((const gs_cuda_engine *) engine)->tuning, what, (int) bytes, value), bytes);
		u64 tiles = (items + 16 / bytes + tile - 1) / tile + 1;

		return (gs_cuda_temp(tiles, word) + 255) / 256 * 256 + tiles * sizeof(u128);
	};
	size_t a, b;

	switch (primitive)
	{
		case GS_P_SCAN:
			return sweep(GS_T_SCAN, 0, sizeof(u128), n);
		case GS_P_SELECT:
			a = sweep(GS_T_SELECT, 0, sizeof(u64), n);
			b = sweep(GS_T_MASK, 0, sizeof(u64), n);
			return a > b ? a : b;
		case GS_P_RUNS:
			a = sweep(GS_T_RUNS, 0, sizeof(u128), n);
			b = sweep(GS_T_LONG, 0, sizeof(u128), n);
			return a > b ? a : b;
		case GS_P_REDUCE:
			a = sweep(GS_T_REDUCE, (int) extra, 2 * sizeof(u128), n); /* sums as wide as values, or twice as wide */
			b = sweep(GS_T_REDUCE, 2 * (int) extra, 2 * sizeof(u128), n);
			return a > b ? a : b;
		case GS_P_REDUCE_FIXED:
			return gs_cuda_temp(n / 4096 + 1, sizeof(u128));
		case GS_P_SPLIT:
			return GS_TEMP_HEAD + (256 + (n / GS_SPLIT_LEAST + 1) * extra) * sizeof(u64);
		case GS_P_DECODE:
			bytes = 8;
			return (n * 8 + 255) / 256 * 256 + sweep(GS_T_SCAN, 0, sizeof(u128), n);
		default:
			return 256; /* extent */
	}
}

/* Implements gs_reduce_by_key except for counts, which are runs (kernels/scan.c). */
static gs_status
cuda_reduce(gs_engine *engine, const gs_reduce_request *r, void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	const gs_reduction &d = r->reduction;
	size_t key = gs_type_width(r->key);
	gs_reduce_args a = {};

	if (d.fixed_tree)
		return gs_cuda_reduce_fixed(e, r, temp);
	a.keys = gs_cuda_input(r->keys, r->n * key);
	a.values = gs_cuda_input(r->values, r->n * gs_type_width(d.values));
	a.n = r->n;
	a.floats = gs_type_is_float(r->key);
	a.is_signed = gs_type_is_signed(d.values);
	a.map = gs_cuda_mapping(d.values, d.op);
	a.out_bytes = (u32) gs_type_width(d.result);
	a.out_keys = (u8 *) r->out_keys;
	a.out = (u8 *) r->out;
	a.count = r->count;
	a.overflow = r->overflows;
	switch (key)
	{
		case 4:
			return gs_cuda_reduce4(e, r, a, temp);
		case 8:
			return gs_cuda_reduce8(e, r, a, temp);
		default:
			return gs_cuda_reduce16(e, r, a, temp);
	}
}

/* ---------------------------------------------------------------- the item before each tile */

/* Copies whole vectors, the first tile's too, so that bulk copies cover them, though none before item 0 is used. */
static __global__ void
save_halo_kernel(const u8 *in, u32 width, u32 shift, u64 tile, u64 tiles, u128 *saved)
{
	u64 t = blockIdx.x * (u64) blockDim.x + threadIdx.x;

	if (t >= tiles)
		return;
	saved[t] = u128{};
	for (u32 b = 0; t > 0 && b < width; b++)
		((u8 *) (saved + t))[16 - width + b] = in[(t * tile - shift - 1) * width + b];
}

gs_status
gs_cuda_save_halo(gs_cuda_engine *e, const void *in, u64 n, u32 width, u32 shift, u64 tile, u64 tiles, u128 *saved)
{
	cudaSetDevice(e->device);
	save_halo_kernel<<<(u32) ((tiles + 127) / 128), 128, 0, e->stream>>>((const u8 *) in, width, shift, tile, tiles,
																		 saved);
	return gs_cuda_status(cudaGetLastError());
}

const gs_scan_ops gs_cuda_scan_ops = {
	cuda_temp_bytes, gs_cuda_scan, gs_cuda_select, gs_cuda_split,	 gs_cuda_runs,
	gs_cuda_decode,	 cuda_reduce,  gs_cuda_gather, gs_cuda_sequence, gs_cuda_extent,
};
