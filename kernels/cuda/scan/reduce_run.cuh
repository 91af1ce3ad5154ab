/*
 * reduce_run.cuh: launches reduce-by-key for one size of keys, for reduce4.cu, reduce8.cu and reduce16.cu.
 */
#ifndef GS_CUDA_SCAN_REDUCE_RUN_CUH
#define GS_CUDA_SCAN_REDUCE_RUN_CUH

#include "scan_ops.cuh"
#include "reduce.cuh"

/* Launches a sweep with the shape of a role.  If results overwrite the keys, first saves the item before each tile. */
template <int KEY, int VALUE, class OP, gs_tuned ROLE>
static gs_status
launch(gs_cuda_engine *e, gs_reduce_args &a, void *temp, bool keys_in_place, bool in_place)
{
	constexpr size_t sum = sizeof(typename OP::value), words = sizeof(typename keyed_state<OP>::words);
	constexpr int WIDER = sum > VALUE ? (int) sum : VALUE;
	const gs_shape shape = gs_shape_of(*e->tuning, ROLE, KEY, WIDER);
	const u64 tile = gs_tile(shape, KEY);
	const size_t pitch = 16 + shape.threads * shape.vectors * 16 + tile * WIDER + 16;
	u64 tiles;

	a.shift = gs_cuda_shift(a.keys.begin, KEY);
	tiles = (a.n + a.shift + tile - 1) / tile;
	a.words = (u8 *) temp + GS_TEMP_HEAD;
	if (keys_in_place)
	{
		u128 *saved = (u128 *) ((u8 *) temp + (gs_cuda_temp(tiles, words) + 255) / 256 * 256);
		gs_status status = gs_cuda_save_halo(e, a.keys.begin, a.n, KEY, a.shift, tile, tiles, saved);

		if (status != GS_OK)
			return status;
		a.halo = saved;
	}
	return gs_cuda_sweep(e, reduce_kernel<KEY, VALUE, OP, gs_shape_here<ROLE, KEY, WIDER>>, a, temp, words, tiles,
						 shape, pitch, 0, in_place);
}

/* Few items have a shape of their own, if there is one for their widths. */
template <int KEY, int VALUE, class OP>
static gs_status
run(gs_cuda_engine *e, gs_reduce_args &a, void *temp, bool keys_in_place, bool in_place)
{
	if constexpr (KEY == 8 && VALUE == 8 && sizeof(typename OP::value) == 8)
	{
		/* another iteration would cost more than the smaller tiles gain */
		u64 tile = gs_tile(gs_shape_of(*e->tuning, GS_T_FEW, KEY, VALUE), KEY);

		if (a.n + 1 <= 2 * tile * e->properties.multiProcessorCount)
			return launch<KEY, VALUE, OP, GS_T_FEW>(e, a, temp, keys_in_place, in_place);
	}
	return launch<KEY, VALUE, OP, GS_T_REDUCE>(e, a, temp, keys_in_place, in_place);
}

/* Selects the kernel by operation and types.  Sums that may overflow are computed in twice the width. */
template <int KEY>
static gs_status
run_reduce(gs_cuda_engine *e, const gs_reduce_request *r, gs_reduce_args &a, void *temp)
{
	const gs_reduction &d = r->reduction;
	size_t width = gs_type_width(d.values);
	bool in_place = r->in_place, keys_in_place = r->keys == r->out_keys;

	if (d.op != GS_SUM)
		return width == 4 ? run<KEY, 4, min_u32>(e, a, temp, keys_in_place, in_place)
						  : run<KEY, 8, min_u64>(e, a, temp, keys_in_place, in_place);
	if (d.values == GS_F32)
		return run<KEY, 4, add_f32>(e, a, temp, keys_in_place, in_place);
	if (d.values == GS_F64)
		return run<KEY, 8, add_f64>(e, a, temp, keys_in_place, in_place);
	if (width == 4)
		return r->overflows == NULL && a.out_bytes == 4 ? run<KEY, 4, add_u32>(e, a, temp, keys_in_place, in_place)
														: run<KEY, 4, add_u64>(e, a, temp, keys_in_place, in_place);
	return r->overflows == NULL && a.out_bytes == 8 ? run<KEY, 8, add_u64>(e, a, temp, keys_in_place, in_place)
													: run<KEY, 8, add_u128>(e, a, temp, keys_in_place, in_place);
}

#endif
