/*
 * check.cu: sums over columns in segments.  The host cuts spans into tiles of at most TILE rows and uploads them with
 * the list of columns.  A block takes tiles in turn; a thread computes the hash of a row over all columns, so that
 * neighbouring threads read neighbouring values. Each block adds its sums to the result by one atomic operation each.
 */
#include "scan_ops.cuh"
#include "../../common/check_hash.h"

#include <cstring>

#define THREADS 256
#define WARPS	(THREADS / 32)
#define TILE	4096

/* What a launch reads: pointers into temp. */
struct check_args
{
	const gs_held *columns;
	const u32 *types;
	const gs_span *tiles;
	u32 ntiles, ncolumns;
	u64 *out;
};

/* Where the lists lie in temp, and their length. */
struct check_layout
{
	size_t types, tiles, bytes;
	u64 ntiles;
};

/* Returns the layout of the lists. */
static check_layout
layout_of(const gs_held_rows *rows)
{
	check_layout l = {};

	l.types = (size_t) rows->nsegments * rows->ncolumns * sizeof(gs_held);
	l.tiles = l.types + rows->ncolumns * sizeof(u32);
	for (u64 i = 0; i < rows->nspans; i++)
		l.ntiles += (rows->spans[i].rows + TILE - 1) / TILE;
	l.bytes = l.tiles + l.ntiles * sizeof(gs_span);
	return l;
}

/* Returns a row's hash, and adds its first value to sum. */
__device__ __forceinline__ u64
row_hash(const check_args &a, const gs_held *columns, u32 row, u64 &sum)
{
	u64 hash = 0;

	for (u32 c = 0; c < a.ncolumns; c++)
	{
		const gs_type type = (gs_type) a.types[c];
		const gs_held column = columns[c];
		const bool null = column.nulls != NULL && (column.nulls[row / 64] >> row % 64 & 1);
		const u64 value = gs_check_value(type, column.values, row, 0);

		if (c == 0 && !null)
			sum += value;
		hash = gs_check_mix(hash, value, null);
		if (type == GS_U128)
			hash = gs_check_mix(hash, gs_check_value(type, column.values, row, 1), null);
	}
	return hash;
}

/* Sums over a block's tiles. */
static __global__ void __launch_bounds__(THREADS)
check_kernel(const check_args a)
{
	__shared__ u64 sums[WARPS], hashes[WARPS];
	const u32 thread = threadIdx.x;
	u64 sum = 0, hash = 0;

	for (u32 t = blockIdx.x; t < a.ntiles; t += gridDim.x)
	{
		const gs_span tile = a.tiles[t];
		const gs_held *columns = a.columns + (u64) tile.segment * a.ncolumns;

		for (u32 r = thread; r < tile.rows; r += THREADS)
			hash ^= row_hash(a, columns, tile.first + r, sum);
	}
	for (int d = 16; d > 0; d /= 2)
	{
		sum += shuffle_xor(sum, d);
		hash ^= shuffle_xor(hash, d);
	}
	if (lane_id() == 0)
	{
		sums[thread / 32] = sum;
		hashes[thread / 32] = hash;
	}
	__syncthreads();
	if (thread != 0)
		return;
	for (u32 w = 1; w < WARPS; w++)
	{
		sum += sums[w];
		hash ^= hashes[w];
	}
	atomicAdd((unsigned long long *) &a.out[0], (unsigned long long) sum);
	atomicXor((unsigned long long *) &a.out[1], (unsigned long long) hash);
}

/* Writes the lists as the kernel reads them. */
static void
write_lists(const gs_held_rows *rows, const check_layout &l, u8 *to)
{
	gs_span *tile = (gs_span *) (to + l.tiles);
	u32 *types = (u32 *) (to + l.types);

	memcpy(to, rows->columns, l.types);
	for (u32 c = 0; c < rows->ncolumns; c++)
		types[c] = rows->types[c];
	for (u64 i = 0; i < rows->nspans; i++)
	{
		const gs_span s = rows->spans[i];

		for (u32 done = 0; done < s.rows; done += TILE)
			*tile++ = {s.segment, s.first + done, s.rows - done < TILE ? s.rows - done : TILE};
	}
}

/* Implements gs_check_temp_bytes. */
size_t
gs_cuda_check_temp_bytes(const gs_held_rows *rows)
{
	return layout_of(rows).bytes;
}

/* Implements gs_check.  Pageable memory is copied before the upload returns, so the lists can be freed at once. */
gs_status
gs_cuda_check(gs_engine *engine, const gs_held_rows *rows, uint64_t *out, void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	gs_host *host = &engine->host;
	const check_layout l = layout_of(rows);
	u8 *at = (u8 *) temp, *lists;
	check_args args = {(const gs_held *) at,	   (const u32 *) (at + l.types), (const gs_span *) (at + l.tiles),
					   (u32) l.ntiles, rows->ncolumns, (u64 *) out};

	if (l.ntiles > UINT32_MAX)
		return GS_TOO_BIG;
	cudaSetDevice(e->device);
	GS_TRY(gs_cuda_status(cudaMemsetAsync(out, 0, 2 * sizeof(u64), e->stream)));
	if (l.ntiles == 0)
		return GS_OK;
	lists = (u8 *) host->alloc(host->arg, l.bytes);
	if (lists == NULL)
		return GS_NOMEM;
	write_lists(rows, l, lists);
	const cudaError_t error = cudaMemcpyAsync(temp, lists, l.bytes, cudaMemcpyHostToDevice, e->stream);
	host->release(host->arg, lists, l.bytes);
	GS_TRY(gs_cuda_status(error));
	check_kernel<<<gs_cuda_grid(e, l.ntiles, 1, 2048 / THREADS), THREADS, 0, e->stream>>>(args);
	return gs_cuda_status(cudaGetLastError());
}
