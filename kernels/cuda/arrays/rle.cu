/*
 * rle.cu: launches run-length encode.  The kernel is in rle.cuh.
 */
#include "../scan/scan_ops.cuh"
#include "rle.cuh"

/* Launches a sweep for items of BYTES bytes.  In place, first saves the item before each tile. */
template <int BYTES, bool LONG>
static gs_status
run(gs_cuda_engine *e, gs_runs_args &a, void *temp, bool in_place)
{
	constexpr gs_tuned ROLE = LONG ? GS_T_LONG : GS_T_RUNS;
	const gs_shape shape = gs_shape_of(*e->tuning, ROLE, BYTES, 0);
	const u64 tile = gs_tile(shape, BYTES);
	const size_t pitch = 16 + shape.threads * shape.vectors * 16 + (LONG ? 16 : 0);
	const size_t positions = (GS_DEPTH + 1) * ((LONG ? 2 : 1) * tile + 8) * sizeof(u16);
	u64 tiles;

	a.shift = gs_cuda_shift(a.in.begin, BYTES);
	tiles = (a.n + a.shift + tile - 1) / tile;
	a.words = (u128 *) ((u8 *) temp + GS_TEMP_HEAD);
	if (in_place)
	{
		u128 *saved = (u128 *) ((u8 *) temp + (gs_cuda_temp(tiles, sizeof(u128)) + 255) / 256 * 256);
		gs_status status = gs_cuda_save_halo(e, a.in.begin, a.n, BYTES, a.shift, tile, tiles, saved);

		if (status != GS_OK)
			return status;
		a.halo = saved;
	}
	return gs_cuda_sweep(e, runs_kernel<BYTES, LONG, gs_shape_here<ROLE, BYTES>>, a, temp, sizeof(u128),
						 tiles, shape, pitch, positions, in_place);
}

/* Implements gs_runs and gs_long_runs. */
gs_status
gs_cuda_runs(gs_engine *engine, const gs_runs_request *r, void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	size_t width = gs_type_width(r->type);
	gs_runs_args a = {};

	a.in = gs_cuda_input(r->in, r->n * width);
	a.n = r->n;
	a.floats = gs_type_is_float(r->type);
	a.wide = r->wide;
	a.values = (u8 *) r->values;
	a.lengths = r->lengths;
	a.starts = r->starts;
	a.count = r->count;
	switch (width)
	{
		case 1:
			return r->only_long ? run<1, true>(e, a, temp, false) : run<1, false>(e, a, temp, r->in_place);
		case 2:
			return r->only_long ? run<2, true>(e, a, temp, false) : run<2, false>(e, a, temp, r->in_place);
		case 4:
			return r->only_long ? run<4, true>(e, a, temp, false) : run<4, false>(e, a, temp, r->in_place);
		case 8:
			return r->only_long ? run<8, true>(e, a, temp, false) : run<8, false>(e, a, temp, r->in_place);
		default:
			return r->only_long ? run<16, true>(e, a, temp, false) : run<16, false>(e, a, temp, r->in_place);
	}
}
