/*
 * select.cu: launches select, partition and unique.  The kernel is in select.cuh.
 */
#include "scan_ops.cuh"
#include "select.cuh"

/* Launches a sweep.  For unique in place, first saves the item before each tile, which another tile may overwrite. */
template <int BYTES, int KIND, bool REST>
static gs_status
run(gs_cuda_engine *e, gs_select_args &a, void *temp, bool in_place)
{
	constexpr gs_tuned ROLE = KIND == GS_KEEP_MASK ? GS_T_MASK : GS_T_SELECT;
	const gs_shape shape = gs_shape_of(*e->tuning, ROLE, BYTES, 0);
	const u64 tile = gs_tile(shape, BYTES);
	const size_t pitch =
		shape.threads * shape.vectors * 16 + (KIND == GS_KEEP_FIRST ? 16 : KIND == GS_KEEP_MASK ? tile + 16 : 0);
	u64 tiles;

	a.shift = gs_cuda_shift(a.in.begin, BYTES);
	tiles = (a.n + a.shift + tile - 1) / tile;
	a.words = (count_state::words *) ((u8 *) temp + GS_TEMP_HEAD);
	if (KIND == GS_KEEP_FIRST && in_place)
	{
		u128 *saved = (u128 *) ((u8 *) temp + (gs_cuda_temp(tiles, sizeof(count_state::words)) + 255) / 256 * 256);
		gs_status status = gs_cuda_save_halo(e, a.in.begin, a.n, BYTES, a.shift, tile, tiles, saved);

		if (status != GS_OK)
			return status;
		a.halo = saved;
	}
	return gs_cuda_sweep(e, select_kernel<BYTES, KIND, REST, gs_shape_here<ROLE, BYTES>>, a, temp,
						 sizeof(count_state::words), tiles, shape, pitch, 0, in_place);
}

/* Selects the kernel by what is kept, and by whether the rest is written too.  A partition is never in place. */
template <int BYTES>
static gs_status
run_mode(gs_cuda_engine *e, const gs_select_request *r, gs_select_args &a, void *temp)
{
	if (r->mode == GS_MODE_UNIQUE)
		return run<BYTES, GS_KEEP_FIRST, false>(e, a, temp, r->in_place);
	if (r->filter->by == GS_BY_VALUE)
		return r->mode == GS_MODE_SELECT ? run<BYTES, GS_KEEP_RANGE, false>(e, a, temp, r->in_place)
										 : run<BYTES, GS_KEEP_RANGE, true>(e, a, temp, false);
	return r->mode == GS_MODE_SELECT ? run<BYTES, GS_KEEP_MASK, false>(e, a, temp, r->in_place)
									 : run<BYTES, GS_KEEP_MASK, true>(e, a, temp, false);
}

/* Implements gs_select, gs_partition and gs_unique.  Comparisons are intervals made by gs_interval_of. */
gs_status
gs_cuda_select(gs_engine *engine, const gs_select_request *r, void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	size_t width = gs_type_width(r->type);
	gs_select_args a = {};

	a.in = gs_cuda_input(r->in, r->n * width);
	a.n = r->n;
	a.floats = gs_type_is_float(r->type);
	a.out = (u8 *) r->out;
	a.rest = (u8 *) r->rest;
	a.count = r->count;
	if (r->mode != GS_MODE_UNIQUE && r->filter->by == GS_BY_VALUE)
	{
		const gs_interval &in = r->interval;

		a.negate = in.outside;
		a.lo = u128{in.low[0], in.low[1]};
		a.span = u128{in.high[0], in.high[1]};
		if (width < 16)
		{
			/* one subtraction and one comparison; undoing the sign flip makes it work for signed numbers */
			a.span.lo -= a.lo.lo;
			if (gs_type_is_signed(r->type))
				a.lo.lo ^= (u64) 1 << (8 * width - 1);
		}
	}
	else if (r->mode != GS_MODE_UNIQUE)
	{
		a.flag_bits = r->filter->by == GS_BY_BYTES ? 8 : 1;
		a.flags = gs_cuda_input(r->filter->mask, a.flag_bits == 8 ? r->n : (r->n + 63) / 64 * 8);
	}
	switch (width)
	{
		case 1:
			return run_mode<1>(e, r, a, temp);
		case 2:
			return run_mode<2>(e, r, a, temp);
		case 4:
			return run_mode<4>(e, r, a, temp);
		case 8:
			return run_mode<8>(e, r, a, temp);
		default:
			return run_mode<16>(e, r, a, temp);
	}
}
