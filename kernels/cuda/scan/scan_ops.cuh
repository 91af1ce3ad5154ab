/*
 * scan_ops.cuh: shared by the .cu files of the scan family.
 */
#ifndef GS_CUDA_SCAN_SCAN_OPS_CUH
#define GS_CUDA_SCAN_SCAN_OPS_CUH

#include "../../rows.h"
#include "../base/engine.cuh"
#include "../base/ops.cuh"

gs_status gs_cuda_scan(gs_engine *engine, gs_type type, gs_operation op, bool inclusive, const void *in, void *out,
					   uint64_t n, void *temp);
gs_status gs_cuda_select(gs_engine *engine, const gs_select_request *r, void *temp);
gs_status gs_cuda_split(gs_engine *engine, gs_type type, const void *in, const uint8_t *labels, uint64_t n, uint32_t k,
						void *out, uint64_t *starts, void *temp);
gs_status gs_cuda_runs(gs_engine *engine, const gs_runs_request *r, void *temp);
gs_status gs_cuda_decode(gs_engine *engine, const gs_decode_request *r, void *temp);
/* Reduce-by-key by the bytes of a key, a file each in inst/. */
struct gs_reduce_args;
gs_status gs_cuda_reduce4(gs_cuda_engine *e, const gs_reduce_request *r, gs_reduce_args &a, void *temp);
gs_status gs_cuda_reduce8(gs_cuda_engine *e, const gs_reduce_request *r, gs_reduce_args &a, void *temp);
gs_status gs_cuda_reduce16(gs_cuda_engine *e, const gs_reduce_request *r, gs_reduce_args &a, void *temp);
gs_status gs_cuda_reduce_fixed(gs_cuda_engine *e, const gs_reduce_request *r, void *temp);
gs_status gs_cuda_gather(gs_engine *engine, gs_type type, const void *in, bool wide_index, const void *index,
						 uint64_t n, void *out);
gs_status gs_cuda_positions(gs_engine *engine, const uint64_t *bits, uint64_t n, uint32_t *out, uint64_t *count,
							void *temp);
gs_status gs_cuda_sequence(gs_engine *engine, gs_type type, void *out, uint64_t n, uint64_t start, uint64_t step);
gs_status gs_cuda_extent(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *out, void *temp);

size_t gs_cuda_check_temp_bytes(const gs_held_rows *rows);
gs_status gs_cuda_check(gs_engine *engine, const gs_held_rows *rows, uint64_t *out, void *temp);
size_t gs_cuda_reduce_rows_temp_bytes(const gs_engine *engine, const gs_held_rows *rows, const struct gs_steps *steps);
gs_status gs_cuda_reduce_rows(gs_engine *engine, const gs_held_rows *rows, const struct gs_steps *steps,
							  struct gs_reduced *out, void *temp);

/* Smallest tile of split.cu, in items. */
#define GS_SPLIT_LEAST 2048

/* Items of a tile. */
static inline u64
gs_tile(const gs_shape &s, u64 item)
{
	return (u64) s.threads * s.vectors * 16 / item;
}

/* Writes a number of 4 or 8 bytes. */
__device__ __forceinline__ void
write_number(void *to, u32 bytes, u64 i, u64 x)
{
	if (bytes == 4)
		((u32 *) to)[i] = (u32) x;
	else
		((u64 *) to)[i] = x;
}

/* Returns the mapping of a type's values to order-preserving unsigned numbers, for minima or maxima. */
static inline gs_mapping
gs_cuda_mapping(gs_type type, gs_operation op)
{
	const gs_column_spec spec = {type, op == GS_MAX};
	const gs_mapping m = {gs_order_flip(&spec), gs_type_is_float(type)};

	return m;
}

/* Saves the item before each tile, the last of its vector in saved, for calls that overwrite their input. */
gs_status gs_cuda_save_halo(gs_cuda_engine *e, const void *in, u64 n, u32 width, u32 shift, u64 tile, u64 tiles,
							u128 *saved);

#endif
