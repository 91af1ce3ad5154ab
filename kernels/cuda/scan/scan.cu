/*
 * scan.cu: launches scans.  The kernel is in scan.cuh.
 */
#include "../base/engine.cuh"
#include "scan_ops.cuh"
#include "scan.cuh"

/* Launches a sweep with an operation. */
template <class OP>
static gs_status
run(gs_cuda_engine *e, gs_scan_args &a, void *temp)
{
	constexpr int BYTES = sizeof(typename OP::value);
	const gs_shape shape = gs_shape_of(*e->tuning, GS_T_SCAN, BYTES, 0);
	const u64 tile = gs_tile(shape, BYTES);

	a.shift = gs_cuda_shift(a.in.begin, BYTES);
	a.words = (u8 *) temp + GS_TEMP_HEAD;
	return gs_cuda_sweep(e, scan_kernel<OP, gs_shape_here<GS_T_SCAN, BYTES>>, a, temp,
						 sizeof(typename value_state<OP>::words), (a.n + a.shift + tile - 1) / tile, shape,
						 shape.threads * shape.vectors * 16, 0, a.in.begin == a.out);
}

/* Selects one of eight kernels: sums of two integer sizes and two of floats, minima of two sizes, maps. */
gs_status
gs_cuda_scan(gs_engine *engine, gs_type type, gs_operation op, bool inclusive, const void *in, void *out, uint64_t n,
			 void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	size_t width = gs_type_width(type);
	gs_scan_args a = {};

	a.in = gs_cuda_input(in, n * width);
	a.n = n;
	a.exclusive = !inclusive;
	a.out = (u8 *) out;
	a.map = gs_cuda_mapping(type, op);
	if (op == GS_MIN || op == GS_MAX)
	{
		/* result of no values: the end of the type's range that every value improves on */
		u64 none = gs_type_is_float(type) ? (op == GS_MIN ? (width == 4 ? 0x7fc00000u : 0x7ff8000000000000ull)
														  : (width == 4 ? 0xff800000u : 0xfff0000000000000ull))
										  : ~a.map.flip;

		a.first = none;
		return width == 4 ? run<min_u32>(e, a, temp) : run<min_u64>(e, a, temp);
	}
	if (op == GS_COMPOSE)
	{
		a.first = 1;
		return run<affine>(e, a, temp);
	}
	switch (type)
	{
		case GS_F32:
			return run<add_f32>(e, a, temp);
		case GS_F64:
			return run<add_f64>(e, a, temp);
		default:
			return width == 4 ? run<add_u32>(e, a, temp) : run<add_u64>(e, a, temp);
	}
}
